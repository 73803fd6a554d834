// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

func TestCallsThatWereWrittenAsTheTextOfAnAnswer(t *testing.T) {
	for text, called := range map[string]bool{
		`{"name": "look", "arguments": "{\"x\": 1}"}`: true,
		`{"type": "function_call", "name": "look", "arguments": "{}", "call_id": "c1", "id": "fc_1", "status": "completed"}`: true,
		`{"name": "look", "arguments": {"x": 1}}`:                     false, // what a model writes itself
		`{"name": "look", "arguments": "x, y"}`:                       false,
		`{"name": "Ada Lovelace", "arguments": "{\"x\": 1}"}`:         false,
		`{"name": "look", "arguments": "{\"x\": 1}", "answer": "no"}`: false,
		`{"type": "proof", "name": "a", "arguments": "{\"x\": 1}"}`:   false,
		`look {"name": "look", "arguments": "{\"x\": 1}"}`:            false,
	} {
		said := []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart("One moment.")}}, {Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text)}}}
		got := decode.OpenWrittenCalls(said)
		if !called {
			if len(got) != 2 || got[1].Parts[0].Text != text {
				t.Errorf("%s is taken for a call", text)
			}
			continue
		}
		if len(got) != 1 || len(got[0].Parts) != 2 || got[0].Parts[1].Name != "look" || got[0].Parts[1].Type != tape.PartToolCall {
			t.Errorf("%s: got %+v", text, got)
		}
		if said[1].Parts[0].Type != tape.PartText {
			t.Error("what was handed in has changed")
		}
	}
	user := []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{decode.TextPart(`{"name": "look", "arguments": "{\"x\": 1}"}`)}}}
	if got := decode.OpenWrittenCalls(user); got[0].Parts[0].Type != tape.PartText {
		t.Error("what a user says is taken for a call")
	}
}

// A framework may list the calls of an answer behind its text. What a model writes itself has no ids of calls.
func TestCallsThatAFrameworkListedBehindTheText(t *testing.T) {
	for text, want := range map[string]int{ // parts
		"\n\nTool calls: [{'name': 'look', 'args': {'x': 1}, 'id': 'call_1', 'type': 'tool_call'}]":                                                                           1,
		"I look.\n\nTool calls: [{'name': 'look', 'args': {'x': None}, 'id': 'call_1', 'type': 'tool_call'}, {'name': 'g', 'args': {}, 'id': 'call_2', 'type': 'tool_call'}]": 3,
		`Tool calls: [{"name":"look","args":{"x":1},"id":"call_1","type":"tool_call"}]`:                                                                                       1,
		"Tool calls: [{'name': 'look', 'args': {'x': 1}}]":                                                                                                                    0,
		"Tool calls: [{'name': 'look', 'args': {'x': 1}, 'id': 'call_1', 'type': 'tool_call'}] were made.":                                                                    0,
		"There were Tool calls: [{'name': 'look', 'args': {'x': 1}, 'id': 'call_1', 'type': 'tool_call'}]":                                                                    0,
		"Tool calls: []": 0,
	} {
		got := decode.OpenWrittenCalls([]decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text)}}})
		last := got[0].Parts[len(got[0].Parts)-1]
		if want == 0 && (len(got[0].Parts) != 1 || last.Text != text) || want > 0 && (len(got[0].Parts) != want || last.Type != tape.PartToolCall || last.ID == "") {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}
