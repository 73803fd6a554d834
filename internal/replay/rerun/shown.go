// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// A replay without telemetry is known by its model calls alone. What it is compared with is then what the
// model calls of the recording show.

// NotShown are the fields of which no model call tells, or not as telemetry does: chat completions do not say
// that a tool failed.
var NotShown = []compare.Field{
	compare.FieldCaller, compare.FieldRelation, compare.FieldServer, compare.FieldExecutedArgs, compare.FieldFailed, compare.FieldError, compare.FieldStatus,
}

// AsShown is a run as its model calls show it: without calls of agents and retrievers, with the tool calls
// that a model asked for, and of each the result that a model was told.
func AsShown(t *tape.Tape) *tape.Tape {
	type callKey struct{ id, name string }
	asked, told := map[callKey]bool{}, map[string]*tape.Part{}
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type != tape.EventModelCall {
			continue
		}
		if e.Response != nil {
			for _, p := range t.Messages[e.Response.Message].Parts {
				if p.Type == tape.PartToolCall {
					asked[callKey{p.ID, p.Name}] = true
				}
			}
		}
		if e.Request == nil {
			continue
		}
		for _, id := range e.Request.Messages {
			parts := t.Messages[id].Parts
			for k := range parts {
				if p := &parts[k]; p.Type == tape.PartToolResult && p.ID != "" && told[p.ID] == nil && !p.Result.IsAbsent() {
					told[p.ID] = p
				}
			}
		}
	}
	shown := *t
	shown.Events = nil
	for i := range t.Events {
		e := t.Events[i]
		switch e.Type {
		case tape.EventModelCall:
		case tape.EventToolCall:
			if !asked[callKey{e.ToolCallID, e.Name}] && e.RequestedBy == 0 {
				continue
			}
			if p := told[e.ToolCallID]; p != nil {
				e.Result = p.Result
			}
		default:
			continue
		}
		shown.Events = append(shown.Events, e)
	}
	return &shown
}

// Callers counts the agents that asked a model.
func Callers(t *tape.Tape) int {
	var names []string
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventModelCall && !slices.Contains(names, e.Caller) {
			names = append(names, e.Caller)
		}
	}
	return len(names)
}
