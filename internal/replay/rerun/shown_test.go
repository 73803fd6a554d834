// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestARunAsItsModelCallsShowIt(t *testing.T) {
	text := exactjson.StringValue
	recorded := &tape.Tape{
		Messages: map[string]tape.Message{
			"asks":  {Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartToolCall, ID: "c1", Name: "f"}, {Type: tape.PartToolCall, ID: "c2", Name: "g"}}},
			"told":  {Role: tape.RoleTool, Parts: []tape.Part{{Type: tape.PartToolResult, ID: "c1", Result: text("shown")}}},
			"later": {Role: tape.RoleTool, Parts: []tape.Part{{Type: tape.PartToolResult, ID: "c1", Result: text("rewritten")}}},
		},
		Events: []tape.Event{
			{Seq: 1, Type: tape.EventAgentCall},
			{Seq: 2, Type: tape.EventModelCall, Caller: "a", Response: &tape.Response{Message: "asks"}},
			{Seq: 3, Type: tape.EventToolCall, ToolCallID: "c1", Name: "f", Result: text("returned"), RequestedBy: 2},
			{Seq: 4, Type: tape.EventToolCall, ToolCallID: "c2", Name: "g", Result: text("never shown")},
			{Seq: 5, Type: tape.EventToolCall, Name: "inner", Result: text("no model asked for it")},
			{Seq: 6, Type: tape.EventRetrieval},
			{Seq: 7, Type: tape.EventModelCall, Caller: "b", Request: &tape.Request{Messages: []string{"told", "later"}}},
		},
	}
	shown := AsShown(recorded)
	want := []struct {
		seq    int
		result string
	}{{2, ""}, {3, "shown"}, {4, "never shown"}, {7, ""}}
	if len(shown.Events) != len(want) {
		t.Fatalf("%+v", shown.Events)
	}
	for i, w := range want {
		if e := shown.Events[i]; e.Seq != w.seq || e.Result.Str() != w.result {
			t.Errorf("%d: event %d %q", i, e.Seq, e.Result.Str())
		}
	}
	if recorded.Events[2].Result.Str() != "returned" || len(recorded.Events) != 7 {
		t.Error("the recording was changed")
	}
	if n := Callers(recorded); n != 2 {
		t.Errorf("%d callers", n)
	}
}
