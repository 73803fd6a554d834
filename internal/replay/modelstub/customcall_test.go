// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"maps"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// A call that takes a text is a custom call of the responses protocol, whole and streamed: an agent does not
// know it as a function. Broken arguments of a function are none.
func TestACallThatTakesATextIsACustomOne(t *testing.T) {
	const patch = "*** Begin Patch\n-VERSION = 1\n+VERSION = 2\n*** End Patch, which is longer than one piece of a stream"
	for what, of := range map[string]struct {
		args   exactjson.Value
		tools  string
		custom bool
	}{
		"offered as custom":       {exactjson.StringValue(patch), `[{"type":"custom","name":"apply_patch"}]`, true},
		"not offered":             {exactjson.StringValue(patch), `[]`, true},
		"offered as a function":   {exactjson.StringValue(patch), `[{"type":"function","name":"apply_patch"}]`, false},
		"broken arguments":        {exactjson.StringValue(` {"patch": "x`), `[]`, false},
		"a text that is JSON":     {exactjson.ObjectValue(exactjson.Member{Name: "input", Value: exactjson.StringValue(patch)}), `[{"type":"custom","name":"apply_patch"}]`, true},
		"a text like JSON, asked": {exactjson.StringValue(`{"x`), `[{"type":"custom","name":"apply_patch"}]`, true},
	} {
		body, err := exactjson.Parse(`{"tools":` + of.tools + `}`)
		if err != nil {
			t.Fatal(err)
		}
		part := tape.Part{Type: tape.PartToolCall, ID: "call_1", Name: "apply_patch", Args: of.args}
		r := &reply{body: body}
		if got := r.custom(part); got != of.custom {
			t.Errorf("%s: %v", what, got)
		}
	}
	tp := conversationTape(t)
	for id, m := range tp.Messages {
		for i := range m.Parts {
			if m.Parts[i].Type == tape.PartToolCall {
				m.Parts[i].Args, m.Parts[i].ArgsText = exactjson.StringValue(patch), ""
			}
		}
		tp.Messages[id] = m
	}
	s := server(t, tp, Options{}, Config{})
	for _, r := range requests {
		if r.protocol != "openai-responses" {
			continue
		}
		for _, streamed := range []bool{false, true} {
			asked := maps.Clone(r.first)
			asked["stream"] = streamed
			_, got := post(t, s.URL+r.path, asked)
			wants := []string{`"type":"custom_tool_call"`, `"input":"*** Begin Patch`, `"call_id":"call_a"`}
			if streamed {
				wants = append(wants, "event: response.custom_tool_call_input.delta\n", "event: response.custom_tool_call_input.done\n")
			}
			for _, want := range wants {
				if !strings.Contains(got, want) {
					t.Errorf("streamed %v: no %q in %s", streamed, want, got)
				}
			}
			if strings.Contains(got, "function_call_arguments") {
				t.Errorf("streamed %v: %s", streamed, got)
			}
			s = server(t, tp, Options{}, Config{})
		}
	}
}
