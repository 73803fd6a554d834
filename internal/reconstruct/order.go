// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"bytes"
	"cmp"
	"container/heap"
	"fmt"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// order numbers all calls of the run by start, but an enclosing call before the enclosed and a cause before its effect. Ties go
// by position in the response that asked, then by end, then by span id. Millisecond clocks make ties common. Equal calls that one response asked for
// and that ran at the same time stand as they were asked for.
func (c *collector) order() []*call {
	c.rankEqual()
	all := make([]*call, 0, len(c.models)+len(c.tools)+len(c.agents)+len(c.retrievals))
	for _, list := range [][]*call{c.agents, c.models, c.tools, c.retrievals} {
		all = append(all, list...)
	}
	after := map[*call][]*call{}
	waits := map[*call]int{}
	edge := func(cause, effect *call) {
		if cause == nil || effect == nil || cause == effect {
			return
		}
		after[cause] = append(after[cause], effect)
		waits[effect]++
		if len(cause.nodes) > 0 && len(effect.nodes) > 0 && effect.start+clockSlack < cause.start {
			effect.notes = append(effect.notes, genai.Note{Code: tape.CodeClockSkew, Field: "started_at", Detail: fmt.Sprintf("starts %d ms before its cause", (cause.start-effect.start)/1_000_000)})
		}
	}
	modelOf, toolOf := map[*node]*call{}, map[*node]*call{}
	for _, m := range c.models {
		for _, n := range m.nodes {
			modelOf[n] = m
		}
	}
	for _, t := range c.tools {
		for _, n := range t.nodes {
			toolOf[n] = t
		}
	}
	for _, k := range all {
		if m := modelAbove(k, modelOf); m != nil && k.kind == tape.EventToolCall && k.by == nil {
			after[m] = append(after[m], k)
			waits[k]++
		}
		if t := toolAround(k, toolOf); t != nil {
			edge(t, k)
			if t.by != nil && t.by.by != k {
				edge(k, t.by.by)
			}
		}
		edge(k.agent, k)
		edge(k.via, k)
		if k.by != nil {
			edge(k.by.model, k)
			edge(k, k.by.by)
		}
	}
	var ready queue
	for _, k := range all {
		if waits[k] == 0 {
			heap.Push(&ready, k)
		}
	}
	ordered := make([]*call, 0, len(all))
	placed := map[*call]bool{}
	for len(ordered) < len(all) {
		if ready.Len() == 0 { // lying ids can make causes circular: the earliest call breaks the circle
			for _, k := range all {
				if !placed[k] && waits[k] > 0 && (k.agent == nil || placed[k.agent]) {
					waits[k] = 0
					heap.Push(&ready, k)
					break
				}
			}
			continue
		}
		k := heap.Pop(&ready).(*call)
		if placed[k] {
			continue
		}
		placed[k] = true
		k.seq = len(ordered) + 1
		ordered = append(ordered, k)
		for _, effect := range after[k] {
			if waits[effect]--; waits[effect] == 0 {
				heap.Push(&ready, effect)
			}
		}
	}
	for _, k := range ordered { // of circular claims, the ones that the order contradicts are left out
		if k.via != nil && k.via.seq > k.seq {
			k.via = nil
		}
	}
	return ordered
}

// rankEqual lets equal calls at the same time, which any order of their starts can be true of, change places: a replay asks for them in the order of the
// response.
func (c *collector) rankEqual() {
	for _, list := range [][]*call{c.agents, c.models, c.tools, c.retrievals} {
		for _, k := range list {
			k.rank = k.start
			if k.by != nil && len(k.nodes) == 0 { // of the end of the answer that asked for it no more is known than of starts, some of which are rounded down
				k.rank = max(k.by.model.start, k.start-min(k.start, rounding))
			}
		}
	}
	type key struct{ name, args string }
	for _, m := range c.models {
		if len(m.asked) < 2 {
			continue
		}
		equal := map[key][]*call{} // in the order of the response
		for _, a := range m.asked {
			if a.tool != nil {
				k := key{a.part.Name, a.part.Args.JSON()}
				equal[k] = append(equal[k], a.tool)
			}
		}
		for _, calls := range equal {
			for i, first := range calls {
				for _, k := range calls[i+1:] { // the earliest start to the first, in turn to each of them
					if k.rank < first.rank && mayOverlap(first, k) {
						k.rank, first.rank = first.rank, k.rank
					}
				}
			}
		}
	}
}

// mayOverlap reports calls that ran at the same time; of one without a span nothing says when it ran, nor of two whose clocks differ, for only the least
// difference is known.
func mayOverlap(a, b *call) bool {
	return len(a.nodes) == 0 || len(b.nodes) == 0 || a.shift != b.shift || overlap(a, b)
}

// modelAbove finds the model call in whose answer a tool already ran: its span hangs below that of the model call. The start of the innermost report
// of a model call may be later.
func modelAbove(k *call, modelOf map[*node]*call) *call {
	if len(k.nodes) == 0 {
		return nil
	}
	for n := k.nodes[0].up; n != nil && n.obs.Class != genai.Agent; n = n.up {
		if m := modelOf[n]; m != nil {
			return m
		}
	}
	return nil
}

// toolAround finds the call of a tool that a call is a part of: its span lies below that of the tool, also where the context of the trace was lost, and in its time. The model is shown what the tool returned after all of them.
func toolAround(k *call, toolOf map[*node]*call) *call {
	if len(k.nodes) == 0 {
		return nil
	}
	n := k.nodes[0].up
	for n != nil && toolOf[n] == nil {
		n = n.up
	}
	if n == nil {
		n = k.within
	}
	if t := toolOf[n]; t != nil && t != k && k.start >= t.start && k.end <= t.end {
		return t
	}
	return nil
}

// queue is a heap of calls that may come next.
type queue []*call

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return comesBefore(q[i], q[j]) < 0 }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*call)) }
func (q *queue) Pop() any {
	old := *q
	k := old[len(old)-1]
	*q = old[:len(old)-1]
	return k
}

func comesBefore(a, b *call) int {
	if c := cmp.Compare(a.rank, b.rank); c != 0 {
		return c
	}
	if c := cmp.Compare(depth(a), depth(b)); c != 0 {
		return c
	}
	if a.by != nil && b.by != nil && a.by.model == b.by.model {
		return cmp.Compare(a.by.index, b.by.index)
	}
	if c := cmp.Compare(beganAs(a), beganAs(b)); c != 0 {
		return c
	}
	if c := cmp.Compare(a.end, b.end); c != 0 {
		return c
	}
	return compareSpans(a, b)
}

// beganAs orders calls of one depth that began at once, as clocks of milliseconds have it: a model call that was over at once may have asked for a tool, and one that went on when the tool
// began has not: an agent that the tool runs made it.
func beganAs(k *call) int {
	switch {
	case k.kind != tape.EventModelCall:
		return 1
	case k.end > k.start:
		return 2
	}
	return 0
}

func compareSpans(a, b *call) int {
	if len(a.nodes) > 0 && len(b.nodes) > 0 {
		return bytes.Compare(a.nodes[0].id[:], b.nodes[0].id[:])
	}
	if c := cmp.Compare(len(b.nodes), len(a.nodes)); c != 0 {
		return c
	}
	if a.by != nil && b.by != nil {
		if c := compareSpans(a.by.model, b.by.model); c != 0 {
			return c
		}
		return cmp.Compare(a.by.index, b.by.index)
	}
	return 0
}

// depth counts the agents around a call.
func depth(k *call) int {
	n := 0
	for a := k.agent; a != nil; a = a.agent {
		n++
	}
	return n
}
