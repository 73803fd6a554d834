// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// A package that hooks into the client of a provider writes a model call on the span that is the current one. Where that
// is the span of the agent, each call of the run writes over the one before, and the span holds the last: its request
// shows what the others were answered.

// giveHeld hangs the model calls that the span of an agent holds below it, as spans of their own.
//
// Needs: the attributes of a model call on the span, or events that are model calls.
// Refuses: an agent below which a span reports a model call.
// Seen in: OpenInference with ADK 2.13; mcp-agent, whose loops hold calls as events.
func giveHeld(nodes []*node) {
	for _, n := range nodes {
		if len(n.obs.Exchanges) > 0 && !reportsModel(n) {
			for _, x := range n.obs.Exchanges {
				h := n.hang(x.Said)
				h.span, h.start, h.end = x.Span, uint64(x.Span.StartTimestamp()), uint64(x.Span.EndTimestamp())
			}
		}
		if n.obs.Held != nil && !reportsModel(n) {
			h := n.hang(n.obs.Held)
			h.heldBy = n
			h.placeHeld()
		}
	}
}

// hang hangs a model call that stands on the span of n below it, as a span of its own.
func (n *node) hang(said *genai.Observation) *node {
	h := *n
	h.obs, h.up, h.kids, h.messages, h.followed = said, n, nil, nil, nil
	n.kids = append(n.kids, &h)
	return &h
}

// reportsModel reports a model call below an agent, not below one of its tools.
func reportsModel(n *node) bool { return len(search(n.kids, is(genai.Model), is(genai.Tool))) > 0 }

// placeHeld settles when the last call began: when the tools had ended that its request shows. Where it was never
// answered, the answer of the one before still stands on the span. It is then the last thing that the assistant says in
// the request, and no tool ran once more for it.
func (n *node) placeHeld() {
	open := search(n.heldBy.kids, is(genai.Tool), is(genai.Tool))
	slices.SortFunc(open, compareNodes)
	ran := func(said genai.Message) (ended uint64) {
		for _, p := range callsOf(said.Parts) {
			if t, ok := takeFirst(&open, func(t *node) bool { return ranFor(t.obs, p) }); ok {
				ended = max(ended, t.end)
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
		o := *n.obs
		o.Response, o.FinishReasons, o.Usage = nil, nil, tape.Usage{}
		n.obs = &o
	}
}

// ranFor reports that a tool was called as an answer asked for. The instrumentation may have given the call another id
// than the framework.
func ranFor(t *genai.Observation, p *genai.Part) bool {
	return t.Name == p.Name && (p.ID != "" && t.CallID == p.ID || equalArgs(t.Args.Value, p.Args, sameValue) || !t.Args.Present() && p.Args.Len() == 0)
}

// takeFirst takes the first fitting one out of a list; ok is false if there is none.
func takeFirst[T any](list *[]T, fits func(T) bool) (first T, ok bool) {
	i := slices.IndexFunc(*list, fits)
	if i >= 0 {
		first = (*list)[i]
		*list = slices.Delete(*list, i, i+1)
	}
	return first, i >= 0
}
