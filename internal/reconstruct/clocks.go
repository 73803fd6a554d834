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

// setClocks moves the calls of tools whose clock lags behind, and what these called, to where the conversation has them.
// Services of one trace have clocks of their own, and by times alone such a call would belong to no turn, or to an earlier one.
//
// Needs: a tool that seems to have ended before the span around it began, or before the answer that asks for it by its id was
// asked for. A lower bound of the lag is what the conversation says: a call begins when the answer that asks for it has ended.
// Refuses: a call that was moved with its trace already.
// Seen in: tools in services of their own, as MCP servers.
func (c *collector) setClocks() {
	late := c.lateTools()
	at := map[*node]reporter{}
	for of, tools := range late.inOrder() {
		for _, t := range tools {
			at[t.nodes[0]] = of
		}
	}
	if len(at) == 0 {
		return
	}
	asks := c.asksAbove(at)
	behind := map[reporter]uint64{}
	for of, tools := range late.inOrder() {
		slices.SortStableFunc(tools, compareCalls)
		behind[of] = lag(tools, asks)
		for _, t := range tools {
			t.notes = append(t.notes, genai.Note{Code: tape.CodeClockSkew, Field: "started_at", Detail: fmt.Sprintf("the clock of the tool is at least %d ms behind: it ended before it was asked for", behind[of]/1_000_000)})
		}
	}
	for _, list := range [][]*call{c.models, c.tools, c.agents, c.retrievals} {
		for _, k := range list {
			if n := nearest(k, at); n != nil && k.shift == 0 {
				k.shift = behind[at[n]]
				k.start, k.end = k.start+k.shift, k.end+k.shift
			}
		}
	}
	slices.SortStableFunc(c.tools, compareCalls)
}

// lateTools lists the tools whose clock lags behind by who reported them: what moves the clock of one does not move that of
// another.
func (c *collector) lateTools() (late lists[reporter, *call]) {
	asking := c.askingByID()
	for _, t := range c.tools {
		if len(t.nodes) == 0 || t.shift > 0 {
			continue
		}
		if endsBeforeParent(t.nodes[0]) || endsBeforeAsked(t, asking[t.obs.CallID]) {
			late.add(t.reporter(), t)
		}
	}
	return late
}

// lag is a lower bound, in ns, on how far the clock of some tools lags behind. A tool that ran within a stream may have begun
// before the answer ended.
func lag(tools []*call, asks []askedFor) (behind uint64) {
	for i, m := range askedInOrder(tools, asks) {
		t := tools[i]
		if endsBeforeParent(t.nodes[0]) {
			behind = max(behind, t.nodes[0].up.start-t.start)
		}
		if m == nil {
			continue
		}
		asked := m.end
		if ranWithin(m, t) {
			asked = m.start
		}
		if asked > t.start {
			behind = max(behind, asked-t.start)
		}
	}
	return behind
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

// askingByID are the model calls whose recorded answers ask for the call of an id, nil where several ask for it.
func (c *collector) askingByID() map[string]*call {
	asking := map[string]*call{}
	for _, a := range asksOf(c.models) {
		if id := a.part.ID; len(id) >= decode.MinDrawnID {
			if known, some := asking[id]; some && known != a.model {
				asking[id] = nil
			} else {
				asking[id] = a.model
			}
		}
	}
	return asking
}

// endsBeforeParent reports a span that was over when the one that it names as its parent began.
func endsBeforeParent(n *node) bool {
	return n.up != nil && !n.adopted && n.parent == n.up.id && n.end+clockSlack < n.up.start
}

// endsBeforeAsked reports a tool that was over when the model call of its trace that asked for it began.
func endsBeforeAsked(t, m *call) bool {
	return m != nil && len(m.nodes) > 0 && t.end+clockSlack < m.start && !liesBelow(m, t.nodes[0]) && m.nodes[0].span.TraceID() == t.nodes[0].span.TraceID()
}

// askedFor is a call that a recorded answer asks for.
type askedFor struct {
	model *call
	part  genai.Part
}

// asksOf are the calls that the recorded answers of model calls ask for.
func asksOf(models []*call) (asks []askedFor) {
	for _, m := range models {
		for _, said := range m.obs.Response {
			for _, p := range callsOf(said.Parts) {
				asks = append(asks, askedFor{m, *p})
			}
		}
	}
	return asks
}

// asksAbove are the calls that the recorded answers ask for, in order of time, those aside that were given at or below some
// spans.
func (c *collector) asksAbove(at map[*node]reporter) []askedFor {
	models := slices.DeleteFunc(slices.Clone(c.models), func(m *call) bool { return nearest(m, at) != nil })
	slices.SortStableFunc(models, compareCalls)
	return asksOf(models)
}

// maxInOrder is how many calls of a clock are told apart by their names and arguments: the lag is the same for all.
const maxInOrder = 128

// askedInOrder are the model calls that asked for each of the tools, nil where it is not known: by the id of the call, else in
// the order of the calls that have the same name and arguments, if there are as many.
func askedInOrder(tools []*call, asks []askedFor) []*call {
	models := make([]*call, len(tools))
	byID := map[string][]*call{}
	for _, a := range asks {
		byID[a.part.ID] = append(byID[a.part.ID], a.model)
	}
	delete(byID, "")
	for i, t := range tools {
		models[i] = only(byID[t.obs.CallID])
		if models[i] != nil || i >= maxInOrder {
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
