// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// A package that hooks into the client of a provider writes a model call on the span that is the current one. Where that is the span of the agent, each call of the run writes
// over the one before, and the span holds the last: its request shows what the others were answered.

// giveHeld hangs the model call that the span of an agent holds below it, as a span of its own, where nothing else below it reports a model call of that agent.
func giveHeld(nodes []*node) {
	for _, n := range nodes {
		if len(n.obs.Exchanges) > 0 && !reportsModel(n) {
			n.giveExchanges()
		}
		if n.obs.Held == nil || reportsModel(n) {
			continue
		}
		h := *n
		o := *n.obs.Held
		h.obs, h.heldBy, h.up, h.kids, h.messages, h.followed = &o, n, n, nil, nil, nil
		h.placeHeld()
		n.kids = append(n.kids, &h)
	}
}

// giveExchanges hangs the model calls that stand on the span of a loop as events below it, as spans of their own.
func (n *node) giveExchanges() {
	for _, x := range n.obs.Exchanges {
		h := *n
		h.span, h.obs, h.up, h.kids, h.messages, h.followed = x.Span, x.Said, n, nil, nil, nil
		h.start, h.end = uint64(x.Span.StartTimestamp()), uint64(x.Span.EndTimestamp())
		n.kids = append(n.kids, &h)
	}
}

// loopCalledBy is the loop within a span that was taken for a model call for the model it names and the text that came out: the span says nothing of what it is or of how the answer ended, and
// in it lies one loop whose calls stand on that as events. If a text came out, it is what the model said in that loop, in order: all of it, or the last alone; said tells how many answers it
// holds. The span is the function around the loop then. nil for any other span.
func loopCalledBy(n *node) (loop *node, said int) {
	o := n.obs
	if o.Class != genai.Model || n.spans == 0 || o.ResponseID != "" || len(o.Request) > 0 || len(o.FinishReasons) > 0 || usageKnown(o.Usage) {
		return nil, 0
	}
	var loops []*node
	for _, k := range n.kids {
		walk(k, func(m *node) bool {
			if len(m.obs.Exchanges) > 0 {
				loops = append(loops, m)
			}
			return !isCall(m)
		})
	}
	if len(loops) != 1 {
		return nil, 0
	}
	if len(o.Response) == 0 {
		return loops[0], 0
	}
	rest := partsText(o.Response[0].Parts)
	for _, x := range loops[0].obs.Exchanges {
		for _, m := range x.Said.Response {
			text := partsText(m.Parts)
			at := strings.Index(rest, text)
			if text == "" || at < 0 {
				continue
			}
			rest, said = rest[at+len(text):], said+1
		}
	}
	if said == 0 || strings.TrimSpace(rest) != "" {
		return nil, 0
	}
	return loops[0], said
}

// handBack gives a loop what the function around it handed back, with so many of its answers.
func handBack(from, loop *node, said int) {
	if said == 0 {
		return
	}
	o := loop.obs
	o.Output, o.HandsAll = from.obs.Response, said > 1
	if !from.obs.StatusError && !from.obs.Failed {
		o.StatusError, o.Failed, o.Error = false, false, nil // its last call failed, and what had been said before was handed back
	}
}

// reportsModel reports a model call below an agent, not below one of its tools.
func reportsModel(n *node) (found bool) {
	for _, k := range n.kids {
		walk(k, func(m *node) bool {
			found = found || m.obs.Class == genai.Model
			return !found && m.obs.Class != genai.Tool
		})
	}
	return found
}

// placeHeld settles when the last call began: when the tools had ended that its request shows. Where it was never answered, the answer of the one before still stands on the span: it is
// the last thing that the assistant says in the request, and no tool ran once more for it.
func (n *node) placeHeld() {
	var open []*node
	for _, k := range n.heldBy.kids {
		walk(k, func(m *node) bool {
			if m.obs.Class == genai.Tool {
				open = append(open, m)
			}
			return m.obs.Class != genai.Tool
		})
	}
	slices.SortFunc(open, compareNodes)
	ran := func(said genai.Message) (ended uint64) {
		for _, p := range callsOf(said.Parts) {
			i := slices.IndexFunc(open, func(t *node) bool { return ranFor(t.obs, p) })
			if i >= 0 {
				ended = max(ended, open[i].end)
				open = slices.Delete(open, i, i+1)
			}
		}
		return ended
	}
	var last *genai.Message
	for i := range n.obs.Request {
		if m := &n.obs.Request[i]; m.Role == tape.RoleAssistant {
			last = m
			n.start = min(max(n.start, ran(*m)), n.end)
		}
	}
	if last == nil || len(n.obs.Response) == 0 || ran(n.obs.Response[0]) > 0 {
		return
	}
	if same, _ := newMessage(*last).equal(newMessage(n.obs.Response[0])); same {
		n.obs.Response, n.obs.FinishReasons, n.obs.Usage = nil, nil, tape.Usage{}
	}
}

// ranFor reports that a tool was called as an answer asked for. The instrumentation may have given the call another id than the framework.
func ranFor(t *genai.Observation, p *genai.Part) bool {
	return t.Name == p.Name && (p.ID != "" && t.CallID == p.ID || equalArgs(t.Args.Value, p.Args, sameValue) || !t.Args.Present() && p.Args.Len() == 0)
}

// recoverHeld makes the model calls over which the last one was written from the request of that: each message in it that asks for tools, of which one ran below the agent, is what one
// of them was answered. What the agent was handed of earlier runs asks for tools that did not.
func (c *collector) recoverHeld() {
	var made []*call
	for _, m := range c.models {
		if len(m.nodes) != 1 || m.nodes[0].heldBy == nil {
			continue
		}
		open := slices.DeleteFunc(slices.Clone(c.tools), func(t *call) bool {
			return t.agent != m.agent || len(t.nodes) == 0 || !below(t.nodes[0], m.nodes[0].heldBy)
		})
		for k, said := range m.request {
			if said.tape.Role != tape.RoleAssistant || k == 0 {
				continue
			}
			began, found := m.start, false
			for _, p := range callsOf(said.parts) {
				i := slices.IndexFunc(open, func(t *call) bool { return ranFor(t.obs, p) })
				if i >= 0 {
					began, found = min(began, open[i].start), true
					open = slices.Delete(open, i, i+1)
				}
			}
			if !found {
				continue
			}
			made = append(made, m.another(began, slices.Clip(m.request[:k]), said, "a later call was written over it on the same span, and its request holds the answer"))
		}
	}
	if len(made) > 0 {
		c.models = append(c.models, made...)
		slices.SortStableFunc(c.models, compareCalls)
	}
}
