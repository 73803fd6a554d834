// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestContentIsAListAnObjectOrNumberedLines(t *testing.T) {
	for body, want := range map[string]string{
		" [1.0, 9007199254740993]\n": "[1.0, 9007199254740993]",
		`{"parts":[]}`:               `{"parts":[]}`,
		"{\"role\":\"user\",\"n\":1.0,\"index\":0}\n{\"index\":1,\"role\":\"tool\"}\n": `[{"role":"user","n":1.0},{"role":"tool"}]`,
		`{"role":"user","index":0}`:                       `[{"role":"user"}]`,
		`{"role":"user","index":7}`:                       `{"role":"user","index":7}`,
		"{\"index\":0}\n{\"index\":2}\n":                  "",
		"{\"index\":0}\n\n{\"index\":1}\n":                "",
		"{\"index\":0}\n[1]\n":                            "",
		"{\"role\":\"user\"}\n{\"role\":\"assistant\"}\n": "",
		`{"a":1,"a":2}`:                                   "",
		"":                                                "",
		"<html>":                                          "",
		"null":                                            "",
		"\xff[]":                                          "",
	} {
		got, err := contentOf([]byte(body))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", body, got, err)
		}
	}
}

func FuzzContentIsReadable(f *testing.F) {
	for _, s := range []string{"[1]", `{"a":1}`, "{\"index\":0}\n{\"index\":1}\n", "{\"index\":0,\"x\":[", "\"x\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		content, err := contentOf(body)
		if err != nil {
			return
		}
		if _, err := exactjson.Parse(content); err != nil {
			t.Errorf("%q: %v", content, err)
		}
	})
}
