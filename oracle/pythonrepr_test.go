// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestSmallValueThatPythonWroteIsTheSame(t *testing.T) {
	for text, c := range map[string]struct {
		value string
		want  bool
	}{
		`{'result': []}`:              {`{"result":[]}`, true},
		`{'a': None, 'b': [True, 1]}`: {`{"a":null,"b":[true,1]}`, true},
		`[]`:                          {`[]`, true},
		`['a', 'b']`:                  {`["b","a"]`, false},
		`{'result': {}}`:              {`{"result":[]}`, false},
		`{'result': []} `:             {`{"result":[]}`, false},
		`{'a': 'it's'}`:               {`{"a":"it's"}`, false},
		`{'a': 2}`:                    {`{"a":1}`, false},
		`{'a': 1, 'b': 2}`:            {`{"a":1}`, false},
	} {
		value := parse(t, c.value)
		if isRepr(value, exactjson.StringValue(text)) != c.want || isRepr(exactjson.StringValue(text), value) != c.want {
			t.Errorf("%s of %s: want %v", text, c.value, c.want)
		}
	}
	if isRepr(exactjson.StringValue("'a'"), exactjson.StringValue("a")) {
		t.Error("a text is no object")
	}
	if got := agreementOf(parse(t, `{"result":[]}`), exactjson.StringValue(`{'result': []}`)); got != rewritten {
		t.Error(got)
	}
}
