// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"bytes"
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// Order numbers all calls of the run by start, but an enclosing call before the enclosed and a cause before
// its effect. Ties go by position in the response that asked, then by end, then by span id. Millisecond
// clocks make ties common. Equal calls that one response asked for and that ran at the same time stand as
// they were asked for.
func Order(c *ledger.Ledger) []*ledger.Call {
	all := slices.Concat(c.Agents, c.Models, c.Tools, c.Retrievals)
	rank(c, all)
	ordered := causesOf(c, all).sort(all)
	for i, k := range ordered {
		k.Seq = i + 1
	}
	for _, k := range ordered { // of circular claims, the ones that the order contradicts are left out
		if k.Via != nil && k.Via.Seq > k.Seq {
			k.Via = nil
		}
	}
	return ordered
}

// causes says which calls a call comes before, and how many it waits for.
type causes struct {
	after map[*ledger.Call][]*ledger.Call
	waits map[*ledger.Call]int
}

func causesOf(c *ledger.Ledger, all []*ledger.Call) causes {
	g := causes{make(map[*ledger.Call][]*ledger.Call, len(all)), make(map[*ledger.Call]int, len(all))}
	modelOf, toolOf := byReport(c.Models), byReport(c.Tools)
	for _, k := range all {
		if k.Kind == tape.EventToolCall && k.By == nil {
			if m := modelAbove(k, modelOf); m != nil {
				g.add(m, k)
			}
		}
		if t := toolAround(k, toolOf); t != nil {
			g.cause(t, k)
			if t.By != nil && t.By.By != k {
				g.cause(k, t.By.By)
			}
		}
		g.cause(k.Agent, k)
		g.cause(k.Via, k)
		if k.By != nil {
			g.cause(k.By.Model, k)
			g.cause(k, k.By.By)
		}
	}
	return g
}

// byReport finds calls by the spans that report them.
func byReport(calls []*ledger.Call) map[*spantree.Node]*ledger.Call {
	of := make(map[*spantree.Node]*ledger.Call, len(calls))
	for _, k := range calls {
		for _, n := range k.Nodes {
			of[n] = k
		}
	}
	return of
}

func (g causes) add(cause, effect *ledger.Call) {
	g.after[cause] = append(g.after[cause], effect)
	g.waits[effect]++
}

// cause adds an edge, and a note where the clocks contradict it.
func (g causes) cause(cause, effect *ledger.Call) {
	if cause == nil || effect == nil || cause == effect {
		return
	}
	g.add(cause, effect)
	if len(cause.Nodes) > 0 && len(effect.Nodes) > 0 && effect.Start+spantree.ClockSlack < cause.Start {
		effect.Notes = append(effect.Notes, genai.Note{Code: tape.CodeClockSkew, Field: "started_at", Detail: fmt.Sprintf("starts %d ms before its cause", (cause.Start-effect.Start)/1_000_000)})
	}
}

// sort takes the first of the calls that wait for nothing, again and again.
func (g causes) sort(all []*ledger.Call) []*ledger.Call {
	var ready queue
	for _, k := range all {
		if g.waits[k] == 0 {
			heap.Push(&ready, k)
		}
	}
	ordered, placed := make([]*ledger.Call, 0, len(all)), make(map[*ledger.Call]bool, len(all))
	for len(ordered) < len(all) {
		if ready.Len() == 0 { // lying ids can make causes circular: the earliest call breaks the circle
			i := slices.IndexFunc(all, func(k *ledger.Call) bool { return !placed[k] && (k.Agent == nil || placed[k.Agent]) })
			g.waits[all[i]] = 0
			heap.Push(&ready, all[i])
		}
		k := heap.Pop(&ready).(*ledger.Call)
		if placed[k] {
			continue
		}
		placed[k] = true
		ordered = append(ordered, k)
		for _, effect := range g.after[k] {
			if g.waits[effect]--; g.waits[effect] == 0 {
				heap.Push(&ready, effect)
			}
		}
	}
	return ordered
}

// rank sets what calls are ordered by, their start. Equal calls at the same time, which any order of their
// starts can be true of, change places: a replay asks for them in the order of the response.
func rank(c *ledger.Ledger, all []*ledger.Call) {
	for _, k := range all {
		k.Rank = k.Start
		if k.By != nil && len(k.Nodes) == 0 {
			// Of the end of the answer that asked for it no more is known than of starts, some of which are
			// rounded down.
			k.Rank = max(k.By.Model.Start, k.Start-min(k.Start, spantree.Rounding))
		}
	}
	type key struct{ name, args string }
	for _, m := range c.Models {
		if len(m.Asked) < 2 {
			continue
		}
		equal := map[key][]*ledger.Call{} // in the order of the response
		for _, a := range m.Asked {
			if a.Tool != nil {
				k := key{a.Part.Name, a.Part.Args.JSON()}
				equal[k] = append(equal[k], a.Tool)
			}
		}
		for _, calls := range equal {
			for i, first := range calls {
				for _, k := range calls[i+1:] { // the earliest start to the first, in turn to each of them
					if k.Rank < first.Rank && mayOverlap(first, k) {
						k.Rank, first.Rank = first.Rank, k.Rank
					}
				}
			}
		}
	}
}

// mayOverlap reports calls that ran at the same time. Of one without a span nothing says when it ran. Of two
// clocks only the least difference is known.
func mayOverlap(a, b *ledger.Call) bool {
	return len(a.Nodes) == 0 || len(b.Nodes) == 0 || a.Shift != b.Shift || ledger.Overlap(a, b)
}

// modelAbove finds the model call in whose answer a tool already ran: its span hangs below that of the model
// call. The start of the innermost report of a model call may be later.
func modelAbove(k *ledger.Call, modelOf map[*spantree.Node]*ledger.Call) *ledger.Call {
	for n := k.Up(); n != nil && !spantree.IsAgent(n); n = n.Up {
		if m := modelOf[n]; m != nil {
			return m
		}
	}
	return nil
}

// toolAround finds the call of a tool that a call is a part of: its span lies below that of the tool, also
// where the context of the trace was lost, and in its time. The model is shown what the tool returned after
// all of them.
func toolAround(k *ledger.Call, toolOf map[*spantree.Node]*ledger.Call) *ledger.Call {
	if len(k.Nodes) == 0 {
		return nil
	}
	around := toolOf[k.Within]
	for n := k.Up(); n != nil; n = n.Up {
		if t := toolOf[n]; t != nil {
			around = t
			break
		}
	}
	if around == nil || around == k || k.Start < around.Start || k.End > around.End {
		return nil
	}
	return around
}

// queue is a heap of calls that may come next.
type queue []*ledger.Call

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool { return comesBefore(q[i], q[j]) < 0 }

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

func (q *queue) Push(x any) { *q = append(*q, x.(*ledger.Call)) }

func (q *queue) Pop() any {
	old := *q
	k := old[len(old)-1]
	*q = old[:len(old)-1]
	return k
}

func comesBefore(a, b *ledger.Call) int {
	if c := cmp.Compare(a.Rank, b.Rank); c != 0 {
		return c
	}
	if c := cmp.Compare(depth(a), depth(b)); c != 0 {
		return c
	}
	if a.By != nil && b.By != nil && a.By.Model == b.By.Model {
		return cmp.Compare(a.By.Index, b.By.Index)
	}
	return cmp.Or(cmp.Compare(beganAs(a), beganAs(b)), cmp.Compare(a.End, b.End), compareSpans(a, b))
}

// beganAs orders calls of one depth that began at once, as clocks of milliseconds have it. A model call that
// was over at once may have asked for a tool. One that went on when the tool began has not: an agent that the
// tool runs made it.
func beganAs(k *ledger.Call) int {
	switch {
	case k.Kind != tape.EventModelCall:
		return 1
	case k.End > k.Start:
		return 2
	}
	return 0
}

func compareSpans(a, b *ledger.Call) int {
	if len(a.Nodes) > 0 && len(b.Nodes) > 0 {
		return bytes.Compare(a.Nodes[0].ID[:], b.Nodes[0].ID[:])
	}
	if c := cmp.Compare(len(b.Nodes), len(a.Nodes)); c != 0 || a.By == nil || b.By == nil {
		return c
	}
	return cmp.Or(compareSpans(a.By.Model, b.By.Model), cmp.Compare(a.By.Index, b.By.Index))
}

// depth counts the agents around a call.
func depth(k *ledger.Call) (n int) {
	for a := k.Agent; a != nil; a = a.Agent {
		n++
	}
	return n
}
