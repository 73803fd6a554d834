// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// unaskedTools finds calls of tools that ran and that no recorded answer asks for, where a model must have.
//
// Needs:    a call with a span and an id, which an answer gives; or of a tool that a model was offered or
//
//	asked for; or one whose result a request shows as that of a tool; or one that ran in the time of a
//	model call: its span stands for a loop; or one before all model calls, where the request of the first
//	is recorded in a form that leaves results out
//
// Refuses:  what another tool called, while that ran and no model was asked; what the program calls by itself,
//
//	for it has no id, and no model knows of it; what may stand in an answer that was not recorded whole
//
// Seen in:  spans that a sampler dropped, model spans around a whole loop, frameworks that leave out the steps
//
//	of a stream
func unaskedTools(of *calls) (missing []missingTurn) {
	t := of.t
	var known, shown map[string]bool // read when a call asks for them
	around := of.around()
	asks := map[int]bool{} // by seq: tools in whose time a model was asked
	for i := range t.Events {
		if t.Events[i].Type == tape.EventModelCall {
			for _, tool := range around[i] {
				asks[tool.Seq] = true
			}
		}
	}
	byTool := func(tool *tape.Event) bool { return !asks[tool.Seq] }
	var models []*tape.Event // the last ones
	untold := false          // what one of them answered is not known
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type == tape.EventModelCall {
			models = append(models[max(0, len(models)-maxAround):], e)
			untold = untold || e.Error == nil && (e.Response == nil || e.Response.Message == "") || damaged(e.Provenance["response.message"])
		}
		if e.Type != tape.EventToolCall || e.RequestedBy != 0 || len(e.SpanIDs) == 0 || untold || slices.ContainsFunc(around[i], byTool) {
			continue
		}
		if known == nil {
			known, shown = toolNames(of), shownResults(t)
		}
		inModel := slices.ContainsFunc(models, func(m *tape.Event) bool { return ranIn(e, m) })
		told := !e.Result.IsEmpty() && shown[Hash(plain(e.Result))]
		unshown := len(models) == 0 && lossyRequests(t)
		if e.ToolCallID != "" || known[e.Name] || told || inModel || unshown {
			missing = append(missing, missingTurn{e.Seq, "requested_by", "no recorded answer asks for the call"})
		}
	}
	return missing
}

// lossyRequests reports that the first model call of a tape holds a request that is not what was sent.
func lossyRequests(t *tape.Tape) bool {
	i := slices.IndexFunc(t.Events, func(e tape.Event) bool { return e.Type == tape.EventModelCall })
	return i >= 0 && t.Events[i].Provenance["request.messages"] == tape.Lossy
}

// toolNames are the names of the tools that models were offered or asked for.
func toolNames(of *calls) map[string]bool {
	names := map[string]bool{}
	for _, tool := range of.t.Tools {
		names[tool.Name] = true
	}
	for i := range of.t.Events {
		if e := &of.t.Events[i]; e.Type == tape.EventModelCall && e.Response != nil && e.Response.Message != "" {
			for _, c := range of.response(e) {
				names[c.Name] = true
			}
		}
	}
	return names
}

// shownResults are the results in messages, by their hash.
func shownResults(t *tape.Tape) map[string]bool {
	shown := map[string]bool{}
	for _, m := range t.Messages {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == tape.PartToolResult && !p.Result.IsEmpty() {
				shown[Hash(plain(p.Result))] = true
			}
		}
	}
	return shown
}
