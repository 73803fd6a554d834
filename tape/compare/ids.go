// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// minID is how long an id must be before a value that equals it counts as this id: "1" is a value like any other.
const minID = 8

// declaredIDs collects what a tape itself declares to be an id.
func declaredIDs(t *tape.Tape) map[string]struct{} {
	ids := map[string]struct{}{}
	add := func(all ...string) {
		for _, id := range all {
			if len(id) >= minID && strings.ContainsAny(id, "0123456789") {
				ids[id] = struct{}{}
			}
		}
	}
	r := &t.Run
	add(r.RunID, r.TraceID, r.RootSpanID, r.ConversationID, r.InvocationID, r.CorrelationID, r.WorkflowID, r.TaskID, r.ReplayRunID)
	add(r.Joined...)
	add(t.Sources.TraceIDs...)
	for i := range t.Events {
		e := &t.Events[i]
		add(e.SpanIDs...)
		add(e.ToolCallID)
		if e.Response != nil {
			add(e.Response.ID)
		}
	}
	for _, m := range t.Messages {
		for i := range m.Parts {
			add(m.Parts[i].ID)
		}
	}
	return ids
}

// withoutIDs replaces strings that are an id of this very run. An id of the run inside a longer text stays.
func (s *sequence) withoutIDs(v exactjson.Value) exactjson.Value {
	switch v.Kind() {
	case exactjson.String:
		if _, own := s.own[v.Str()]; own {
			return exactjson.StringValue("<id of the run>")
		}
	case exactjson.Array, exactjson.Object:
		return v.Map(func(_ int, m exactjson.Member) exactjson.Value { return s.withoutIDs(m.Value) })
	}
	return v
}
