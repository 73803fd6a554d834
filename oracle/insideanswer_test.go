// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// The provider ran one tool within the answer that asks a client for the other.
func TestCallsInsideAnAnswerAreNoEntries(t *testing.T) {
	args := exactjson.ObjectValue()
	call := func(seq int, id string, kind tape.ToolKind) tape.Event {
		return tape.Event{Seq: seq, Type: tape.EventToolCall, Status: tape.EventOK, Name: "search", ToolCallID: id, ToolKind: kind, Args: args, ArgsHash: tape.ArgsHash(args),
			Result: exactjson.StringValue("found"), RequestedBy: 1}
	}
	tp := &tape.Tape{
		Messages: map[string]tape.Message{"m": {Role: tape.RoleAssistant, Parts: []tape.Part{
			{Type: tape.PartData, Value: exactjson.StringValue("ran")}, {Type: tape.PartToolCall, ID: "client", Name: "search", Args: args},
		}}},
		Events: []tape.Event{
			{Seq: 1, Type: tape.EventModelCall, Status: tape.EventOK, Response: &tape.Response{Message: "m"}},
			call(2, "provider", tape.ToolServer), call(3, "client", tape.ToolServer),
		},
	}
	entries := FromTape(tp)
	if len(entries) != 1 || entries[0].Seq != 3 || entries[0].Occurrence != 1 {
		t.Errorf("entries %+v", entries)
	}
	Assess(tp)
	if p := tp.Fidelity.Proof; p.Expected != 1 || tp.Events[1].Type != tape.EventToolCall {
		t.Errorf("proof %+v, event %s", p, tp.Events[1].Type)
	}
}
