// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestAnAnswerThatSaysNothingYieldsToOneThatDoes(t *testing.T) {
	empty := []decode.Message{{Role: tape.RoleAssistant}}
	full := []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart("yes")}}}
	for name, c := range map[string]struct{ outer, inner, want []decode.Message }{
		"the other one says more": {empty, full, full},
		"both say nothing":        {empty, empty, empty},
		"the other one has none":  {empty, nil, empty},
		"both say something":      {full, []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart("no")}}}, full},
	} {
		var o, other dialect.Draft
		o.Response, other.Response = c.outer, c.inner
		o.Fill(&other)
		if len(o.Response) != len(c.want) || len(o.Response[0].Parts) != len(c.want[0].Parts) || len(c.want[0].Parts) > 0 && o.Response[0].Parts[0].Text != c.want[0].Parts[0].Text {
			t.Errorf("%s: %+v", name, o.Response)
		}
	}
}

func TestParameterThatWasNotGivenIsNone(t *testing.T) {
	var o dialect.Draft
	o.AddParam("temperature", exactjson.StringValue("<openai.Omit object at 0x7f6e1eb9a930>"))
	o.AddParam("top_p", exactjson.StringValue("<1>"))
	if len(o.Params) != 1 || o.Params[0].Name != "top_p" {
		t.Errorf("parameters %v", o.Params)
	}
}

// What was returned is a text where it was written as one, whatever stands in it; an object and the state of a graph are none.
func TestTextThatIsJSONIsTheAnswerOfAFunctionThatReturnedIt(t *testing.T) {
	for out, want := range map[string]string{
		`"{\"job\": \"12\"}"`: `{"job": "12"}`,
		`{"job": "12"}`:       "",
		`"{\"messages\":[{\"role\":\"assistant\",\"content\":\"hi\"}]}"`: "hi",
	} {
		o := &dialect.Draft{}
		dialect.ReadWholeAgent(o, exactjson.Value{}, exactjson.StringValue(out))
		got := ""
		if len(o.Output) > 0 {
			got = o.Output[0].Parts[0].Text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", out, got, want)
		}
	}
}

func TestArgumentsBesideTheNameOfTheirToolComeOut(t *testing.T) {
	for recorded, want := range map[string]string{
		`{"tool":"look","input":{"a":1}}`:                     `{"a":1}`,
		`{"id":"c1","name":"look","arguments":"{\"a\":1}"}`:   `{"a":1}`,
		`{"tool":"find","input":{"a":1}}`:                     "", // another name
		`{"tool":"look","input":{"a":1},"to":"x"}`:            "", // something else beside it
		`{"tool":"look","input":{"a":1},"output":{"b":1}}`:    "",
		`{"tool":"look","input":"a"}`:                         "",
		`{"look":{"a":1},"tool":"look","name":"look","x":{}}`: "",
	} {
		value, err := exactjson.Parse(recorded)
		if err != nil {
			t.Fatal(err)
		}
		o := &dialect.Draft{ToolCall: dialect.ToolCall{Name: "look", CallID: "c1", Args: decode.Content{Value: value}}}
		if want == "" {
			want = recorded
		}
		if dialect.TakeFromName(o); o.Args.Value.JSON() != want {
			t.Errorf("%s: %s, want %s", recorded, o.Args.Value.JSON(), want)
		}
	}
}

func TestConversationByPositionAndSettingsByName(t *testing.T) {
	read := func(in string) *dialect.Draft {
		o := &dialect.Draft{Base: dialect.Base{Class: dialect.Model}}
		dialect.ReadWholeModel(o, exactjson.StringValue(in), exactjson.Value{})
		return o
	}
	o := read(`{"args":[[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"hi"}]}]],"kwargs":{"tools":[{"type":"function","function":{"name":"look"}}],"tool_choice":null}}`)
	if len(o.Request) != 2 || o.Request[1].Parts[0].Text != "hi" || len(o.Tools) != 1 || o.Tools[0].Name != "look" {
		t.Errorf("%+v, tools %v", o.Request, o.Tools)
	}
	for _, in := range []string{
		`{"args":[["a","b"]],"kwargs":{"tools":[]}}`,                                     // no conversation
		`{"args":[[{"role":"user","content":"hi"}],{"stream":true}],"kwargs":{}}`,        // more by position: of another function
		`{"args":[[{"role":"user","content":"hi"}]],"kwargs":{"messages":[]}}`,           // two conversations
		`{"args":[[{"role":"user","content":"hi"}]],"kwargs":{"tools":[]},"model":"m1"}`, // more than a call
	} {
		if o := read(in); len(o.Request) == 1 && len(o.Request[0].Parts) == 1 && o.Request[0].Parts[0].Text == "hi" {
			t.Errorf("%s is read", in)
		}
	}
}
