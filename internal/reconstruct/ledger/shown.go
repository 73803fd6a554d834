// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// IdsAsked are the ids of the calls that answers on record ask for.
type IdsAsked map[string]bool

func (c *Ledger) IdsAsked() IdsAsked {
	known := IdsAsked{}
	for _, m := range c.Models {
		if m.Response != nil {
			for p := range chat.EachCall(m.Response.Parts) {
				known[p.ID] = true
			}
		}
	}
	return known
}

func (known IdsAsked) Add(calls []*genai.Part) {
	for _, p := range calls {
		known[p.ID] = true
	}
}

// Followed is what stands behind the answer in the request of a model call.
func (t *Call) Followed() []*chat.Message {
	for _, n := range t.Nodes {
		if n.Request(); len(n.Followed) > 0 {
			return n.Followed
		}
	}
	return nil
}

// FirstReported is the place of the first model call with a span at the run's own level, -1 if there is none.
func (c *Ledger) FirstReported() int {
	return slices.IndexFunc(c.Models, func(m *Call) bool { return m.Agent == nil && len(m.Nodes) > 0 })
}

// LastReported is the last model call with a span at the run's own level, nil if there is none.
func (c *Ledger) LastReported() (last *Call) {
	for _, m := range c.Models {
		if m.Agent == nil && len(m.Nodes) > 0 && (last == nil || m.Start >= last.Start) {
			last = m
		}
	}
	return last
}

// MayBeGlued reports a message of nothing but a text as the result of the last of several calls. It is asked
// of every message of every request.
func MayBeGlued(said, m *chat.Message) bool {
	if said.Tape.Role != tape.RoleAssistant || len(m.Parts) != 1 || m.Parts[0].Type != tape.PartToolResult || m.Parts[0].Label != "" || m.Parts[0].Result.Kind() != exactjson.String || m.Parts[0].ID == "" {
		return false
	}
	calls, last := 0, ""
	for i := range said.Parts {
		if said.Parts[i].Type == tape.PartToolCall {
			calls, last = calls+1, said.Parts[i].ID
		}
	}
	return calls > 1 && m.Parts[0].ID == last
}

// Show notes the result of a requested call, and the model call whose request shows it: nil, if none does.
func (a *Asked) Show(p *genai.Part, by *Call) { a.Shown, a.By = p, by }

// ShowByPosition gives results in the order of the calls to those, if there are as many and neither ids nor
// names contradict. Calls with an id have a result already, unless the id is of another kind.
func ShowByPosition(m *Call, results []*genai.Part, by *Call) {
	if len(results) != len(m.Asked) {
		return
	}
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	for k, a := range m.Asked {
		r := results[k]
		if differ(a.Part.ID, r.ID) && !chat.OtherKind(a.Part.ID, r.ID) || differ(r.Name, a.Part.Name) {
			return
		}
	}
	for k, a := range m.Asked {
		r := results[k]
		if a.Shown == nil && (r.ID == "" || a.Part.ID == "" || chat.OtherKind(a.Part.ID, r.ID)) {
			a.Show(r, by)
			if a.Part.ID == "" {
				a.Part.ID = r.ID
			}
		}
	}
}
