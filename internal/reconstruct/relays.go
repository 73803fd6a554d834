// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// This file reads runs whose agents send each other messages. Every message may be handed over in a trace of its own, whose first span links to the one that
// made the message; and where no span reports the calls of models, the messages tell what they answered.

// relays makes a fragment of each message on its way around which there is no run, and below which no run begins: alone it is none, see byRelay.
func relays(roots []*node, loose map[*node]bool) (frags []*fragment) {
	begins := map[*node]bool{} // a run, there or below
	for _, r := range roots {
		if !relaysIn(r, nil) {
			continue
		}
		var seen []*node
		walk(r, func(n *node) bool {
			seen = append(seen, n)
			begins[n] = n.obs.Class == genai.Agent || loose[n]
			return !begins[n]
		})
		for _, n := range slices.Backward(seen) {
			if begins[n] && n != r {
				begins[n.up] = true
			}
		}
		walk(r, func(n *node) bool {
			switch {
			case n.obs.Class == genai.Agent || loose[n]:
				return false
			case n.obs.Relay && !begins[n]:
				frags = append(frags, &fragment{heads: []*node{n}})
				return false
			}
			return true
		})
	}
	return frags
}

// relays reports a fragment that made or got a message.
func (f *fragment) relays() bool {
	return slices.ContainsFunc(f.tops(), func(h *node) bool { return relaysIn(h, nil) })
}

// answersByPost reports the run of an agent whose messages tell what a model answered.
func (f *fragment) answersByPost() (found bool) {
	for _, h := range f.heads {
		walk(h, func(n *node) bool {
			found = found || slices.ContainsFunc(n.obs.Posted, func(p genai.Posted) bool { return p.Answered })
			return !found
		})
	}
	return found && f.ownRun()
}

// relaysIn walks over the spans of messages and reports whether there is one.
func relaysIn(h *node, each func(*node)) (found bool) {
	walk(h, func(n *node) bool {
		if n.obs.Relay && n.spans > 0 {
			found = true
			if each != nil {
				each(n)
			}
		}
		return each != nil || !found
	})
	return found
}

// byRelay unites what handed a message over with what made it, as its link says: who gets a message goes on with the run of its sender.
func (s *stitcher) byRelay() {
	made := map[spanKey]*fragment{}
	for _, f := range s.all {
		for _, top := range f.tops() {
			relaysIn(top, func(n *node) { made[spanKey{n.span.TraceID(), n.id}] = f })
		}
	}
	if len(made) == 0 {
		return
	}
	for _, f := range s.all {
		for _, top := range f.tops() {
			relaysIn(top, func(n *node) {
				links := n.span.Links()
				for i := range min(links.Len(), maxLinks) {
					if of := made[spanKey{links.At(i).TraceID(), links.At(i).SpanID()}]; of != nil && sameService(of, f) {
						s.unite(of, f, byLinks)
					}
				}
			})
		}
	}
}

// tops are the heads of a fragment, or what handed over the messages that began them.
func (f *fragment) tops() (tops []*node) {
	if len(f.heads) == 1 && (f.heads[0].up == nil || !f.heads[0].up.obs.Relay) {
		return f.heads
	}
	known := map[*node]bool{}
	for _, h := range f.heads {
		for h.up != nil && h.up.obs.Relay && !known[h] {
			known[h] = true
			h = h.up
		}
		if !known[h] {
			known[h] = true
			tops = append(tops, h)
		}
	}
	return tops
}

// post is a message that one part of the program sent another, the span that holds it and the nested agent around that.
type post struct {
	n     *node
	agent *call
	*genai.Posted
}

// maxHeard bounds how many of the messages before an answer are taken for what the model was sent.
const maxHeard = 512

// recoverPosted makes model calls of a run in which no span reports any, from the messages that its agents sent each other: one of each message that tells what
// it cost, when it was made. A text of the same sender right before the calls belongs to that answer.
func (c *collector) recoverPosted(f *fragment) {
	if len(c.models) > 0 || len(c.posts) == 0 {
		return
	}
	made := map[spanKey]uint64{} // when
	for _, top := range f.tops() {
		relaysIn(top, func(n *node) { made[spanKey{n.span.TraceID(), n.id}] = n.start })
	}
	at := func(n *node) uint64 {
		links := n.span.Links()
		for i := range min(links.Len(), maxLinks) {
			if t := made[spanKey{links.At(i).TraceID(), links.At(i).SpanID()}]; t > 0 {
				return min(t, n.start)
			}
		}
		return n.start
	}
	slices.SortStableFunc(c.posts, func(a, b post) int { return compareNodes(a.n, b.n) })
	seen := map[string]bool{}
	said := map[*call][]genai.Message{} // of an agent, so far
	held := map[*call]*post{}           // the text behind that, of which nothing says that a model wrote it
	for i := range c.posts {
		p := &c.posts[i]
		if p.ID != "" && seen[p.ID] {
			continue
		}
		seen[p.ID] = true
		so, m := said[p.agent], p.Message
		switch thought := held[p.agent]; {
		case thought == nil:
		case p.Answered && p.Source == thought.Source && len(callsOf(m.Parts)) > 0:
			m.Parts = slices.Concat(thought.Message.Parts, m.Parts)
		default:
			so = append(so, thought.Message)
		}
		held[p.agent] = nil
		if !p.Answered && m.Role == tape.RoleAssistant {
			held[p.agent], said[p.agent] = p, so
			continue
		}
		said[p.agent] = append(so, m)
		if !p.Answered {
			continue
		}
		when, label := at(p.n), tape.Recovered
		if len(so) > maxHeard {
			so, label = so[len(so)-maxHeard:], tape.Truncated
		}
		c.models = append(c.models, &call{
			kind: tape.EventModelCall,
			obs: &genai.Observation{
				Class: genai.Model, Operation: "chat", Request: slices.Clip(so), RequestLabel: label,
				Response: []genai.Message{m}, ResponseLabel: tape.Recovered, Usage: p.Usage,
			},
			agent: p.agent, start: when, end: when,
			notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: "no span reports this call; a message between agents holds its answer"}},
		})
	}
	if last := held[nil]; last != nil {
		c.closing = newMessage(last.Message)
	}
}
