// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// A package that hooks into the client of a provider writes a model call on the span that is the current one.
// Where that is the span of the agent, each call of the run writes over the one before, and the span holds
// the last: its request shows what the others were answered.

// holdsModelCalls reports a span on which model calls stand.
func holdsModelCalls(n *spantree.Node) bool { return n.Obs.Held != nil || len(n.Obs.Exchanges) > 0 }

// giveHeld hangs the model calls that the span of an agent holds below it, as spans of their own.
//
// Needs: the attributes of a model call on the span, or events that are model calls.
// Refuses: an agent below which a span reports a model call.
// Seen in: OpenInference with ADK 2.13; mcp-agent, whose loops hold calls as events.
func giveHeld(nodes []*spantree.Node) {
	for _, n := range nodes {
		if len(n.Obs.Exchanges) > 0 && !reportsModel(n) {
			for _, x := range n.Obs.Exchanges {
				h := hang(n, x.Said)
				h.Span, h.Start, h.End = x.Span, uint64(x.Span.StartTimestamp()), uint64(x.Span.EndTimestamp())
			}
		}
		if n.Obs.Held != nil && !reportsModel(n) {
			h := hang(n, n.Obs.Held)
			h.HeldBy = n
			placeHeld(h)
		}
	}
}

// hang hangs a model call that stands on the span of n below it, as a span of its own.
func hang(n *spantree.Node, said *genai.Report) *spantree.Node {
	h := *n
	h.Obs, h.Up, h.Kids, h.Messages, h.Followed = said, n, nil, nil, nil
	n.Kids = append(n.Kids, &h)
	return &h
}

// reportsModel reports a model call below an agent, not below one of its tools.
func reportsModel(n *spantree.Node) bool {
	return len(spantree.Search(n.Kids, spantree.Is(genai.Model), spantree.Is(genai.Tool))) > 0
}

// placeHeld settles when the last call began: when the tools had ended that its request shows. Where it was
// never answered, the answer of the one before still stands on the span. It is then the last thing that the
// assistant says in the request, and no tool ran once more for it.
func placeHeld(n *spantree.Node) {
	open := spantree.Search(n.HeldBy.Kids, spantree.Is(genai.Tool), spantree.Is(genai.Tool))
	slices.SortFunc(open, spantree.CompareNodes)
	ran := func(said genai.Message) (ended uint64) {
		for p := range chat.EachCall(said.Parts) {
			if t, ok := TakeFirst(&open, func(t *spantree.Node) bool { return RanFor(t.Obs, p) }); ok {
				ended = max(ended, t.End)
			}
		}
		return ended
	}
	var last *genai.Message
	for i := range n.Obs.Request {
		if m := &n.Obs.Request[i]; m.Role == tape.RoleAssistant {
			last = m
			n.Start = min(max(n.Start, ran(*m)), n.End)
		}
	}
	if last == nil || len(n.Obs.Response) == 0 || ran(n.Obs.Response[0]) > 0 {
		return
	}
	if same, _ := chat.NewMessage(*last).Equal(chat.NewMessage(n.Obs.Response[0])); same {
		o := n.Obs.Draft()
		o.Response, o.FinishReasons, o.Usage = nil, nil, tape.Usage{}
		n.Obs = o.Seal()
	}
}

// RanFor reports that a tool was called as an answer asked for. The instrumentation may have given the call
// another id than the framework.
func RanFor(t *genai.Report, p *genai.Part) bool {
	return t.Name == p.Name && (p.ID != "" && t.CallID == p.ID || chat.EqualArgs(t.Args.Value, p.Args, chat.SameValue) || !t.Args.Present() && p.Args.Len() == 0)
}

// TakeFirst takes the first fitting one out of a list; ok is false if there is none.
func TakeFirst[T any](list *[]T, fits func(T) bool) (first T, ok bool) {
	i := slices.IndexFunc(*list, fits)
	if i >= 0 {
		first = (*list)[i]
		*list = slices.Delete(*list, i, i+1)
	}
	return first, i >= 0
}
