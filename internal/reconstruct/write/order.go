// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"bytes"
	"cmp"
	"container/heap"
	"fmt"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// Order numbers all calls of the run by start, but an enclosing call before the enclosed and a cause before its effect. Ties go
// by position in the response that asked, then by end, then by span id. Millisecond clocks make ties common. Equal calls that one response asked for
// and that ran at the same time stand as they were asked for.
func Order(c *ledger.Ledger) []*ledger.Call {
	rankEqual(c)
	all := make([]*ledger.Call, 0, len(c.Models)+len(c.Tools)+len(c.Agents)+len(c.Retrievals))
	for _, list := range [][]*ledger.Call{c.Agents, c.Models, c.Tools, c.Retrievals} {
		all = append(all, list...)
	}
	after := map[*ledger.Call][]*ledger.Call{}
	waits := map[*ledger.Call]int{}
	edge := func(cause, effect *ledger.Call) {
		if cause == nil || effect == nil || cause == effect {
			return
		}
		after[cause] = append(after[cause], effect)
		waits[effect]++
		if len(cause.Nodes) > 0 && len(effect.Nodes) > 0 && effect.Start+spantree.ClockSlack < cause.Start {
			effect.Notes = append(effect.Notes, genai.Note{Code: tape.CodeClockSkew, Field: "started_at", Detail: fmt.Sprintf("starts %d ms before its cause", (cause.Start-effect.Start)/1_000_000)})
		}
	}
	modelOf, toolOf := map[*spantree.Node]*ledger.Call{}, map[*spantree.Node]*ledger.Call{}
	for _, m := range c.Models {
		for _, n := range m.Nodes {
			modelOf[n] = m
		}
	}
	for _, t := range c.Tools {
		for _, n := range t.Nodes {
			toolOf[n] = t
		}
	}
	for _, k := range all {
		if m := modelAbove(k, modelOf); m != nil && k.Kind == tape.EventToolCall && k.By == nil {
			after[m] = append(after[m], k)
			waits[k]++
		}
		if t := toolAround(k, toolOf); t != nil {
			edge(t, k)
			if t.By != nil && t.By.By != k {
				edge(k, t.By.By)
			}
		}
		edge(k.Agent, k)
		edge(k.Via, k)
		if k.By != nil {
			edge(k.By.Model, k)
			edge(k, k.By.By)
		}
	}
	var ready queue
	for _, k := range all {
		if waits[k] == 0 {
			heap.Push(&ready, k)
		}
	}
	ordered := make([]*ledger.Call, 0, len(all))
	placed := map[*ledger.Call]bool{}
	for len(ordered) < len(all) {
		if ready.Len() == 0 { // lying ids can make causes circular: the earliest call breaks the circle
			for _, k := range all {
				if !placed[k] && waits[k] > 0 && (k.Agent == nil || placed[k.Agent]) {
					waits[k] = 0
					heap.Push(&ready, k)
					break
				}
			}
			continue
		}
		k := heap.Pop(&ready).(*ledger.Call)
		if placed[k] {
			continue
		}
		placed[k] = true
		k.Seq = len(ordered) + 1
		ordered = append(ordered, k)
		for _, effect := range after[k] {
			if waits[effect]--; waits[effect] == 0 {
				heap.Push(&ready, effect)
			}
		}
	}
	for _, k := range ordered { // of circular claims, the ones that the order contradicts are left out
		if k.Via != nil && k.Via.Seq > k.Seq {
			k.Via = nil
		}
	}
	return ordered
}

// rankEqual lets equal calls at the same time, which any order of their starts can be true of, change places: a replay asks for them in the order of the
// response.
func rankEqual(c *ledger.Ledger) {
	for _, list := range [][]*ledger.Call{c.Agents, c.Models, c.Tools, c.Retrievals} {
		for _, k := range list {
			k.Rank = k.Start
			if k.By != nil && len(k.Nodes) == 0 { // of the end of the answer that asked for it no more is known than of starts, some of which are rounded down
				k.Rank = max(k.By.Model.Start, k.Start-min(k.Start, spantree.Rounding))
			}
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

// mayOverlap reports calls that ran at the same time; of one without a span nothing says when it ran, nor of two whose clocks differ, for only the least
// difference is known.
func mayOverlap(a, b *ledger.Call) bool {
	return len(a.Nodes) == 0 || len(b.Nodes) == 0 || a.Shift != b.Shift || ledger.Overlap(a, b)
}

// modelAbove finds the model call in whose answer a tool already ran: its span hangs below that of the model call. The start of the innermost report
// of a model call may be later.
func modelAbove(k *ledger.Call, modelOf map[*spantree.Node]*ledger.Call) *ledger.Call {
	if len(k.Nodes) == 0 {
		return nil
	}
	for n := k.Nodes[0].Up; n != nil && n.Obs.Class != genai.Agent; n = n.Up {
		if m := modelOf[n]; m != nil {
			return m
		}
	}
	return nil
}

// toolAround finds the call of a tool that a call is a part of: its span lies below that of the tool, also where the context of the trace was lost, and in its time. The model is shown what the tool returned after all of them.
func toolAround(k *ledger.Call, toolOf map[*spantree.Node]*ledger.Call) *ledger.Call {
	if len(k.Nodes) == 0 {
		return nil
	}
	n := k.Nodes[0].Up
	for n != nil && toolOf[n] == nil {
		n = n.Up
	}
	if n == nil {
		n = k.Within
	}
	if t := toolOf[n]; t != nil && t != k && k.Start >= t.Start && k.End <= t.End {
		return t
	}
	return nil
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
	if c := cmp.Compare(beganAs(a), beganAs(b)); c != 0 {
		return c
	}
	if c := cmp.Compare(a.End, b.End); c != 0 {
		return c
	}
	return compareSpans(a, b)
}

// beganAs orders calls of one depth that began at once, as clocks of milliseconds have it: a model call that was over at once may have asked for a tool, and one that went on when the tool
// began has not: an agent that the tool runs made it.
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
	if c := cmp.Compare(len(b.Nodes), len(a.Nodes)); c != 0 {
		return c
	}
	if a.By != nil && b.By != nil {
		if c := compareSpans(a.By.Model, b.By.Model); c != 0 {
			return c
		}
		return cmp.Compare(a.By.Index, b.By.Index)
	}
	return 0
}

// depth counts the agents around a call.
func depth(k *ledger.Call) int {
	n := 0
	for a := k.Agent; a != nil; a = a.Agent {
		n++
	}
	return n
}
