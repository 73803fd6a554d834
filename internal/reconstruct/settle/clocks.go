// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// SetClocks moves the calls of tools whose clock lags behind, and what these called, to where the
// conversation has them. Services of one trace have clocks of their own, and by times alone such a call would
// belong to no turn, or to an earlier one.
//
// Needs: a tool that seems to have ended before the span around it began, or before the answer that asks for
// it by its id was asked for. A lower bound of the lag is what the conversation says: a call begins when the
// answer that asks for it has ended.
// Refuses: a call that was moved with its trace already.
// Seen in: tools in services of their own, as MCP servers.
func SetClocks(c *ledger.Ledger) {
	late := lateTools(c)
	at := map[*spantree.Node]ledger.Reporter{}
	for of, tools := range late.InOrder() {
		for _, t := range tools {
			at[t.Nodes[0]] = of
		}
	}
	if len(at) == 0 {
		return
	}
	asks := asksAbove(c, at)
	behind := map[ledger.Reporter]uint64{}
	for of, tools := range late.InOrder() {
		slices.SortStableFunc(tools, ledger.CompareCalls)
		behind[of] = lag(tools, asks)
		for _, t := range tools {
			t.Notes = append(t.Notes, genai.Note{Code: tape.CodeClockSkew, Field: "started_at", Detail: fmt.Sprintf("the clock of the tool is at least %d ms behind: it ended before it was asked for", behind[of]/1_000_000)})
		}
	}
	for _, list := range [][]*ledger.Call{c.Models, c.Tools, c.Agents, c.Retrievals} {
		for _, k := range list {
			if n := nearest(k, at); n != nil && k.Shift == 0 {
				k.Shift = behind[at[n]]
				k.Start, k.End = k.Start+k.Shift, k.End+k.Shift
			}
		}
	}
	slices.SortStableFunc(c.Tools, ledger.CompareCalls)
}

// lateTools lists the tools whose clock lags behind by who reported them: what moves the clock of one does
// not move that of another.
func lateTools(c *ledger.Ledger) (late chat.Lists[ledger.Reporter, *ledger.Call]) {
	asking := AskingByID(c)
	for _, t := range c.Tools {
		if isLate(t, asking) {
			late.Add(t.Reporter(), t)
		}
	}
	return late
}

// HasLateTools reports a run with a tool whose clock lags behind.
func HasLateTools(c *ledger.Ledger) bool {
	if len(c.Tools) == 0 {
		return false
	}
	asking := AskingByID(c)
	return slices.ContainsFunc(c.Tools, func(t *ledger.Call) bool { return isLate(t, asking) })
}

func isLate(t *ledger.Call, asking map[string]*ledger.Call) bool {
	return len(t.Nodes) > 0 && t.Shift == 0 && (endsBeforeParent(t.Nodes[0]) || endsBeforeAsked(t, asking[t.Obs.CallID]))
}

// lag is a lower bound, in ns, on how far the clock of some tools lags behind. A tool that ran within a
// stream may have begun before the answer ended.
func lag(tools []*ledger.Call, asks []askedFor) (behind uint64) {
	for i, m := range askedInOrder(tools, asks) {
		t := tools[i]
		if endsBeforeParent(t.Nodes[0]) {
			behind = max(behind, t.Nodes[0].Up.Start-t.Start)
		}
		if m == nil {
			continue
		}
		asked := m.End
		if ranWithin(m, t) {
			asked = m.Start
		}
		if asked > t.Start {
			behind = max(behind, asked-t.Start)
		}
	}
	return behind
}

// nearest is the first of some spans on the way up from a call, itself among them; nil if there is none.
func nearest(k *ledger.Call, at map[*spantree.Node]ledger.Reporter) *spantree.Node {
	for _, n := range k.Nodes {
		for ; n != nil; n = n.Up {
			if _, there := at[n]; there {
				return n
			}
		}
	}
	return nil
}

// ranWithin reports a tool whose span lies below one of a model call, which may have asked for it before it
// was over.
func ranWithin(m, tool *ledger.Call) bool {
	return slices.ContainsFunc(m.Nodes, func(n *spantree.Node) bool { return spantree.CloseBelow(tool.Nodes[0], n) })
}

// AskingByID are the model calls whose recorded answers ask for the call of an id, nil where several ask for
// it.
func AskingByID(c *ledger.Ledger) map[string]*ledger.Call {
	asking := make(map[string]*ledger.Call, len(c.Tools))
	for _, a := range asksOf(c.Models) {
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
func endsBeforeParent(n *spantree.Node) bool {
	return n.Up != nil && !n.Adopted && n.Parent == n.Up.ID && n.End+spantree.ClockSlack < n.Up.Start
}

// endsBeforeAsked reports a tool that was over when the model call of its trace that asked for it began.
func endsBeforeAsked(t, m *ledger.Call) bool {
	return m != nil && len(m.Nodes) > 0 && t.End+spantree.ClockSlack < m.Start && !ledger.LiesBelow(m, t.Nodes[0]) && m.Nodes[0].Span.TraceID() == t.Nodes[0].Span.TraceID()
}

// askedFor is a call that a recorded answer asks for.
type askedFor struct {
	model *ledger.Call
	part  *genai.Part
}

// asksOf are the calls that the recorded answers of model calls ask for.
func asksOf(models []*ledger.Call) (asks []askedFor) {
	for _, m := range models {
		for _, said := range m.Obs.Response {
			for p := range chat.EachCall(said.Parts) {
				asks = append(asks, askedFor{m, p})
			}
		}
	}
	return asks
}

// asksAbove are the calls that the recorded answers ask for, in order of time, those aside that were given at
// or below some spans.
func asksAbove(c *ledger.Ledger, at map[*spantree.Node]ledger.Reporter) []askedFor {
	models := slices.DeleteFunc(slices.Clone(c.Models), func(m *ledger.Call) bool { return nearest(m, at) != nil })
	slices.SortStableFunc(models, ledger.CompareCalls)
	return asksOf(models)
}

// maxInOrder is how many calls of a clock are told apart by their names and arguments: the lag is the same
// for all.
const maxInOrder = 128

// askedInOrder are the model calls that asked for each of the tools, nil where it is not known: by the id of
// the call, else in the order of the calls that have the same name and arguments, if there are as many.
func askedInOrder(tools []*ledger.Call, asks []askedFor) []*ledger.Call {
	models := make([]*ledger.Call, len(tools))
	byID := map[string][]*ledger.Call{}
	for _, a := range asks {
		byID[a.part.ID] = append(byID[a.part.ID], a.model)
	}
	delete(byID, "")
	for i, t := range tools {
		models[i] = chat.Only(byID[t.Obs.CallID])
		if models[i] != nil || i >= maxInOrder {
			continue
		}
		var equal []*ledger.Call
		for _, a := range asks {
			if a.part.Name == ledger.NameOf(t) && ledger.SameArgs(t, &ledger.Asked{Model: a.model, Part: *a.part}) {
				equal = append(equal, a.model)
			}
		}
		before, all := 0, 0
		for j, other := range tools {
			if ledger.NameOf(other) == ledger.NameOf(t) && chat.SameValue(other.Obs.Args.Value, t.Obs.Args.Value) {
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
