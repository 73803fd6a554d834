// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// Services of one trace have clocks of their own. Where a tool seems to have ended before the span around it began, or before the answer that asks for it by its id was even asked for,
// its clock is behind, and times alone would give its call to no turn, or to one before. How far it is behind, at least, is what the conversation says: a call begins when the answer that asks for it has ended.

// setClocks moves the calls of tools whose clock is behind, and what they called, to where the conversation has them.
func (c *collector) setClocks() {
	late := map[reporter][]*call{}
	var clocks []reporter // in the order of their first call: what one moves, another does not
	asking := c.askingByID()
	for _, t := range c.tools {
		if len(t.nodes) == 0 || t.shift > 0 {
			continue
		}
		m := asking[t.obs.CallID]
		if endsBeforeParent(t.nodes[0]) || m != nil && len(m.nodes) > 0 && t.end+clockSlack < m.start && !liesBelow(m, t.nodes[0]) && m.nodes[0].span.TraceID() == t.nodes[0].span.TraceID() {
			of := t.reporter()
			if late[of] == nil {
				clocks = append(clocks, of)
			}
			late[of] = append(late[of], t)
		}
	}
	if len(late) == 0 {
		return
	}
	behind, at := map[reporter]uint64{}, map[*node]reporter{}
	for _, of := range clocks {
		for _, t := range late[of] {
			at[t.nodes[0]] = of
		}
	}
	asks := c.asksAbove(at)
	for _, of := range clocks {
		tools := late[of]
		slices.SortStableFunc(tools, compareCalls)
		for _, t := range tools {
			if up := t.nodes[0].up; endsBeforeParent(t.nodes[0]) {
				behind[of] = max(behind[of], up.start-t.start)
			}
		}
		for i, m := range askedInOrder(tools, asks) {
			if m == nil {
				continue
			}
			asked := m.end
			if ranWithin(m, tools[i]) { // of a stream, say
				asked = m.start
			}
			if asked > tools[i].start {
				behind[of] = max(behind[of], asked-tools[i].start)
			}
		}
		for _, t := range tools {
			t.notes = append(t.notes, genai.Note{Code: tape.CodeClockSkew, Field: "started_at", Detail: fmt.Sprintf("the clock of the tool is at least %d ms behind: it ended before it was asked for", behind[of]/1_000_000)})
		}
	}
	for _, list := range [][]*call{c.models, c.tools, c.agents, c.retrievals} {
		for _, k := range list {
			if n := nearest(k, at); n != nil && k.shift == 0 {
				by := behind[at[n]]
				k.start, k.end, k.shift = k.start+by, k.end+by, by
			}
		}
	}
	slices.SortStableFunc(c.tools, compareCalls)
}

// nearest is the first of some spans on the way up from a call, itself among them; nil if there is none.
func nearest(k *call, at map[*node]reporter) *node {
	for _, n := range k.nodes {
		for ; n != nil; n = n.up {
			if _, there := at[n]; there {
				return n
			}
		}
	}
	return nil
}

// ranWithin reports a tool whose span lies below one of a model call, which may have asked for it before it was over.
func ranWithin(m, tool *call) bool {
	return slices.ContainsFunc(m.nodes, func(n *node) bool { return isAbove(n, tool.nodes[0]) })
}

// askingByID are the model calls whose recorded answers ask for a call of an id that no other asks for.
func (c *collector) askingByID() map[string]*call {
	asking, twice := map[string]*call{}, map[string]bool{}
	for _, m := range c.models {
		for _, said := range m.obs.Response {
			for _, p := range said.Parts {
				if p.Type == tape.PartToolCall && len(p.ID) >= decode.MinDrawnID {
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

// asksAbove are the calls that the recorded answers ask for, those aside that were given at or below some spans: in the order of time.
func (c *collector) asksAbove(at map[*node]reporter) (asks []askedFor) {
	models := slices.Clone(c.models)
	slices.SortStableFunc(models, compareCalls)
	for _, m := range models {
		if nearest(m, at) != nil {
			continue
		}
		for _, said := range m.obs.Response {
			for _, p := range said.Parts {
				if p.Type == tape.PartToolCall {
					asks = append(asks, askedFor{m, p})
				}
			}
		}
	}
	return asks
}

// maxInOrder is how many calls of a clock are told apart by their names and arguments: how far it is behind is the same for all.
const maxInOrder = 128

// askedInOrder are the model calls that asked for each of the tools: by the id of the call, else in the order of the calls that have the same name and arguments, if there are
// as many. nil: not known.
func askedInOrder(tools []*call, asks []askedFor) []*call {
	models := make([]*call, len(tools))
	byID := map[string][]*call{}
	for _, a := range asks {
		if a.part.ID != "" {
			byID[a.part.ID] = append(byID[a.part.ID], a.model)
		}
	}
	for i, t := range tools {
		if same := byID[t.obs.CallID]; len(same) == 1 {
			models[i] = same[0]
			continue
		}
		if i >= maxInOrder {
			continue
		}
		var equal []*call
		for _, a := range asks {
			if a.part.Name == nameOf(t) && sameArgs(t, &asked{model: a.model, part: a.part}) {
				equal = append(equal, a.model)
			}
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
			models[i] = equal[before]
		}
	}
	return models
}
