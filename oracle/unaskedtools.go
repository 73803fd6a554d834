// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// unaskedTools finds calls of tools that ran and that no recorded answer asks for, where a model must have.
//
// Needs:    a call with a span and an id, which an answer gives; or of a tool that a model was offered or asked for; or one that ran behind a model call where no
// record tells what was offered
// Refuses:  what another tool called, while that ran and no model was asked; what the program calls by itself: it has no id, and no model knows of it
// Seen in:  spans that a sampler dropped, model spans around a whole loop, frameworks that leave out the steps of a stream
func unaskedTools(of *calls) (missing []missingTurn) {
	t := of.t
	known, offered := newHeard(), map[string]bool{}
	for i := range t.Events {
		if e := &t.Events[i]; e.Type == tape.EventModelCall {
			known.answer(of, e)
		}
	}
	for _, tool := range t.Tools {
		offered[tool.Name] = true
	}
	around := toolsAround(t)
	asks := map[int]bool{} // by seq: tools in whose time a model was asked
	for i := range t.Events {
		if t.Events[i].Type == tape.EventModelCall {
			for _, tool := range around[i] {
				asks[tool.Seq] = true
			}
		}
	}
	behind := false
	for i := range t.Events {
		e := &t.Events[i]
		behind = behind || e.Type == tape.EventModelCall
		if e.Type != tape.EventToolCall || e.RequestedBy != 0 || len(e.SpanIDs) == 0 || slices.ContainsFunc(around[i], func(tool *tape.Event) bool { return !asks[tool.Seq] }) {
			continue
		}
		if e.ToolCallID != "" || offered[e.Name] || known.names[e.Name] || behind && len(offered) == 0 {
			missing = append(missing, missingTurn{e.Seq, "requested_by", "no recorded answer asks for the call"})
		}
	}
	return missing
}
