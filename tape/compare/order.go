// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// maxNesting bounds how deep agents lie within agents. In a tape that claims more, deeper agents stand beside one another.
const maxNesting = 64

// causality puts the events of a tape into an order in which time plays no part.
type causality struct {
	t        *tape.Tape
	items    []item
	children [][]int       // per agent_call, by index; the last one: top level
	on       map[int][]int // seq of a tool call → the agents that ran on its behalf
	done     []bool
	order    []int
}

// causal returns the indexes of the events in causal order. What an agent did stands behind its agent_call, also when agents ran side by
// side. Calls that one response asked for are sorted by what they are. Everything else stays in the order of the tape. causal also returns,
// per event, the index of the agent_call that it lies in. For an event at top level that is the number of events.
func causal(t *tape.Tape, items []item) (order, under []int) {
	top := len(t.Events)
	c := &causality{t: t, items: items, children: make([][]int, top+1), on: map[int][]int{}, done: make([]bool, top)}
	index := make(map[int]int, top)
	depth := make([]int, top+1)
	under = make([]int, top)
	for i := range t.Events {
		e := &t.Events[i]
		under[i] = top
		if p, ok := index[e.Parent]; ok { // what encloses stands before
			if under[i] = p; depth[p] == maxNesting {
				under[i] = under[p]
			}
		}
		depth[i] = depth[under[i]] + 1
		index[e.Seq] = i
		c.children[under[i]] = append(c.children[under[i]], i)
		if via, ok := index[e.Via]; ok && e.Type == tape.EventAgentCall && under[via] == under[i] {
			c.on[e.Via] = append(c.on[e.Via], i)
		}
	}
	c.level(top)
	return c.order, under
}

// level appends the events below one agent_call.
func (c *causality) level(under int) {
	siblings := c.children[under]
	for at, i := range siblings {
		switch {
		case c.done[i]:
		case c.items[i].group < 0:
			c.take(i)
		default:
			c.parallel(siblings[at:])
		}
	}
}

func (c *causality) take(i int) {
	c.done[i] = true
	c.order = append(c.order, i)
	if c.t.Events[i].Type == tape.EventToolCall {
		for _, j := range c.on[c.t.Events[i].Seq] {
			if !c.done[j] {
				c.take(j)
			}
		}
	}
	c.level(i)
}

// parallel appends the calls at the head of a list that the same response asked for, sorted, each with its agents.
func (c *causality) parallel(siblings []int) {
	type block struct {
		events []int
		key    []int32
	}
	group, before := c.items[siblings[0]].group, len(c.order)
	var blocks []block
	for _, i := range siblings {
		if c.done[i] {
			continue
		}
		if c.items[i].group != group {
			break
		}
		start := len(c.order)
		c.take(i)
		b := block{events: slices.Clone(c.order[start:])}
		for _, j := range b.events {
			b.key = append(b.key, c.items[j].field(FieldName).id, c.items[j].field(FieldArgs).id, c.items[j].ids[len(Levels)-1])
		}
		blocks = append(blocks, b)
	}
	slices.SortStableFunc(blocks, func(a, b block) int { return slices.Compare(a.key, b.key) })
	c.order = c.order[:before]
	for _, b := range blocks {
		c.order = append(c.order, b.events...)
	}
}
