// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// Services of one trace have clocks of their own. Where a tool seems to have ended before the span around it began, or before the answer that asks for it by its id was even asked for,
// its clock is behind, and times alone would give its call to no turn, or to one before. How far it is behind, at least, is what the conversation says: a call begins when the answer that asks for it has ended.

// setClocks moves the calls of tools whose clock is behind, and what they called, to where the conversation has them.
func (c *collector) setClocks() {
	late := map[reporter][]*call{}
	asking := c.askingByID()
	for _, t := range c.tools {
		if len(t.nodes) == 0 || t.shift > 0 {
			continue
		}
		m := asking[t.obs.CallID]
		if endsBeforeParent(t.nodes[0]) || m != nil && len(m.nodes) > 0 && t.end+clockSlack < m.start && !liesBelow(m, t.nodes[0]) && m.nodes[0].span.TraceID() == t.nodes[0].span.TraceID() {
			late[t.reporter()] = append(late[t.reporter()], t)
		}
	}
	if len(late) == 0 {
		return
	}
	asks := c.asksAbove(late)
	for _, tools := range late {
		slices.SortStableFunc(tools, compareCalls)
		behind := uint64(0)
		for _, t := range tools {
			if up := t.nodes[0].up; endsBeforeParent(t.nodes[0]) {
				behind = max(behind, up.start-t.start)
			}
		}
		for i, m := range askedInOrder(tools, asks) {
			if m != nil && m.end > tools[i].start {
				behind = max(behind, m.end-tools[i].start)
			}
		}
		for _, t := range tools {
			t.notes = append(t.notes, genai.Note{Code: tape.CodeClockSkew, Field: "started_at", Detail: fmt.Sprintf("the clock of the tool is at least %d ms behind: it ended before it was asked for", behind/1_000_000)})
			for _, list := range [][]*call{{t}, c.models, c.tools, c.agents, c.retrievals} {
				for _, k := range list {
					if k.shift == 0 && (k == t || liesBelow(k, t.nodes[0])) {
						k.start, k.end, k.shift = k.start+behind, k.end+behind, behind
					}
				}
			}
		}
	}
	slices.SortStableFunc(c.tools, compareCalls)
}

// askingByID are the model calls whose recorded answers ask for a call of an id that no other asks for.
func (c *collector) askingByID() map[string]*call {
	asking, twice := map[string]*call{}, map[string]bool{}
	for _, m := range c.models {
		for _, said := range m.obs.Response {
			for _, p := range said.Parts {
				if p.Type == tape.PartToolCall && len(p.ID) >= minCallID {
					twice[p.ID] = twice[p.ID] || asking[p.ID] != nil && asking[p.ID] != m
					asking[p.ID] = m
				}
			}
		}
	}
	for id := range twice {
		if twice[id] {
			delete(asking, id)
		}
	}
	return asking
}

// endsBeforeParent reports a span that was over when the one that it names as its parent began.
func endsBeforeParent(n *node) bool {
	return n.up != nil && !n.adopted && n.parent == n.up.id && n.end+clockSlack < n.up.start
}

// askedFor is a call that a recorded answer asks for.
type askedFor struct {
	model *call
	part  genai.Part
}

// asksAbove are the calls that the recorded answers ask for, those aside that were given below a tool whose clock is behind: in the order of time.
func (c *collector) asksAbove(late map[reporter][]*call) (asks []askedFor) {
	models := slices.Clone(c.models)
	slices.SortStableFunc(models, compareCalls)
	for _, m := range models {
		below := false
		for _, tools := range late {
			below = below || slices.ContainsFunc(tools, func(t *call) bool { return liesBelow(m, t.nodes[0]) })
		}
		for _, said := range m.obs.Response {
			for _, p := range said.Parts {
				if p.Type == tape.PartToolCall && !below {
					asks = append(asks, askedFor{m, p})
				}
			}
		}
	}
	return asks
}

// askedInOrder are the model calls that asked for each of the tools: by the id of the call, else in the order of the calls that have the same name and arguments, if there are
// as many. nil: not known.
func askedInOrder(tools []*call, asks []askedFor) []*call {
	models := make([]*call, len(tools))
	for i, t := range tools {
		var same, equal []askedFor
		for _, a := range asks {
			if t.obs.CallID != "" && a.part.ID == t.obs.CallID {
				same = append(same, a)
			}
			if a.part.Name == nameOf(t) && sameArgs(t, &asked{model: a.model, part: a.part}) {
				equal = append(equal, a)
			}
		}
		if len(same) == 1 {
			models[i] = same[0].model
			continue
		}
		before, all := 0, 0
		for j, other := range tools {
			if nameOf(other) == nameOf(t) && sameValue(other.obs.Args.Value, t.obs.Args.Value) {
				if all++; j < i {
					before++
				}
			}
		}
		if len(equal) == all {
			models[i] = equal[before].model
		}
	}
	return models
}
