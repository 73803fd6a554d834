// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// unfinished says why nothing shows that a run without a failure ended; "" when it did: by an answer, or in a way that needs none.
func (b *builder) unfinished(last *call) string {
	root := b.fragment.ending()
	switch {
	case root != nil && root.end == root.start && root.span.EndTimestamp() == 0:
		return "the run span never ended"
	case root == nil && slices.ContainsFunc(b.tape.Events, neverRan) && !b.answeredSince(last):
		return "a tool that was asked for shows no answer"
	case root != nil && (answersWithoutText(root) || b.tape.Output.Text != nil && b.tape.Output.Message == ""):
		return ""
	case last == nil && root != nil && b.recordsNothing():
		return "" // the run span ended well, and who records no content at all does not show an answer either
	case last == nil:
		return "no record holds an answer"
	case b.wentOn(last):
		return "a tool ran after the last model call, and no record shows what the model made of it"
	case b.tape.Output.Text != nil:
		return ""
	case root == nil && b.hidesCalls(last):
		return "the last model call shows an empty answer, as those do that asked for tools"
	case root == nil && emptyAnswer(last):
		return "the last model call shows an empty answer"
	case finalAnswer(last) && answered(last), last.response == nil && answered(last) && !stopsForTools(last):
		return ""
	case last.response == nil || !hasToolCall(last.response) && !stopsForTools(last):
		return "the last model call shows no answer"
	case b.needsNoAnswer(last):
		return ""
	default:
		return "the last response asks for tools, and no record shows what the model made of them"
	}
}

// hidesCalls reports an answer that was recorded as empty in a run whose answers with calls, as later requests show them, were so too.
func (b *builder) hidesCalls(last *call) bool {
	empty := func(k *call) bool {
		return len(k.obs.Request) > 0 && len(k.obs.Response) > 0 && len(k.obs.Response[0].Parts) == 0
	}
	return empty(last) && !slices.ContainsFunc(b.calls.models, func(k *call) bool {
		return k != last && k.agent == last.agent && !(empty(k) && k.response != nil && hasToolCall(k.response))
	}) && len(b.calls.models) > 1
}

// recordsNothing reports a run of which neither input nor any argument or result of a tool was recorded.
func (b *builder) recordsNothing() bool {
	return b.tape.Input.UserMessage == nil && !slices.ContainsFunc(b.tape.Events, func(e tape.Event) bool {
		return e.Type == tape.EventToolCall && (!e.Args.IsAbsent() || !e.Result.IsAbsent())
	})
}

// wentOn reports a tool call of the run's own agent after what would be its last model call. That model call asked for it, whatever was
// recorded of its answer.
func (b *builder) wentOn(last *call) bool {
	return slices.ContainsFunc(b.ordered, func(k *call) bool {
		return k.kind == tape.EventToolCall && len(k.nodes) > 0 && k.by == nil && k.agent == last.agent && k.start >= last.end
	})
}

// answeredSince reports that the last model call, with the request of those before, ended with an answer after the calls without one: their results were not recorded, and the run
// went on all the same.
func (b *builder) answeredSince(last *call) bool {
	return last != nil && finalAnswer(last) && answered(last) && textOf(last.response) != "" && !slices.ContainsFunc(b.calls.models, func(m *call) bool {
		return m != last && (m.agent != last.agent || m.end > last.start || len(m.request) == 0 || commonPrefix(m.request, last.request) < len(m.request))
	})
}

// neverRan is a tool call that was asked for, which no span and no request answers.
func neverRan(e tape.Event) bool {
	return e.Type == tape.EventToolCall && e.Provenance["result"] == tape.Missing && e.Status == tape.EventError && len(e.SpanIDs) == 0
}

// answersWithoutText reports a run span that recorded an answer which is no text, or is not kept. Such an answer is media, a masked
// value, or the result of a tool with which the run ended.
func answersWithoutText(root *node) bool {
	if len(root.obs.Output) == 0 {
		return root.obs.OutputData.Label != "" && !root.obs.WeakAgent
	}
	return slices.ContainsFunc(ownAnswer(root).Parts, isContent)
}

// ownAnswer is the last message of what a run span recorded as its output, unless that asks for a tool, or is null as Python writes it.
func ownAnswer(root *node) genai.Message {
	if root == nil || len(root.obs.Output) == 0 {
		return genai.Message{}
	}
	final := root.obs.Output[len(root.obs.Output)-1]
	if endsAsking(final.Parts) || len(final.Parts) == 1 && final.Parts[0].Text == "None" {
		return genai.Message{}
	}
	return final
}

// isContent reports a part that answers: anything but thoughts and empty text.
func isContent(p genai.Part) bool {
	return p.Type != tape.PartReasoning && (p.Type != tape.PartText || p.Text != "" || p.Label != "")
}

// endsAsking reports that the last thing said is a request for a tool. Some packages record several turns as one message.
func endsAsking(parts []genai.Part) bool {
	for _, p := range slices.Backward(parts) {
		if isContent(p) {
			return p.Type == tape.PartToolCall
		}
	}
	return false
}

// emptyAnswer reports an answer that was recorded and holds nothing, where calls may be missing.
func emptyAnswer(k *call) bool {
	return k.response != nil && len(k.response.parts) > 0 && !slices.ContainsFunc(k.response.parts, func(p genai.Part) bool { return p.Type != tape.PartText || p.Text != "" || p.Label != "" })
}

// answered reports a model call that got an answer: the answer itself, or what only comes with one.
func answered(k *call) bool {
	o := k.obs
	return k.response != nil && slices.ContainsFunc(k.response.parts, isContent) || o.ResponseLabel != "" || o.ResponseID != "" ||
		slices.ContainsFunc(o.FinishReasons, func(reason string) bool { return strings.TrimSpace(reason) != "" }) ||
		o.Usage.OutputTokens != nil && *o.Usage.OutputTokens > 0
}

// stopsForTools reports a finish reason that tells of calls, whether they were recorded or not.
func stopsForTools(k *call) bool { return slices.ContainsFunc(k.obs.FinishReasons, tape.AsksForTools) }

// needsNoAnswer reports that the calls with which a run ended are an end. Such calls are structured output, a hand-off, or tools whose
// results are the answer of an agent of that kind.
func (b *builder) needsNoAnswer(last *call) bool {
	root := b.fragment.ending()
	results := root != nil && root.obs.EndsWithTools && len(last.asked) > 0
	for _, a := range last.asked {
		if slices.Contains(last.obs.OutputTools, a.part.Name) {
			return true
		}
		ran := a.shown != nil || a.tool != nil && len(a.tool.nodes) > 0
		if ran && a.tool != nil && (a.tool.obs.Handoff || transferTarget(a.tool) != "") {
			return true
		}
		results = results && ran
	}
	return results
}

// failedAround returns the innermost step of the run around its last event that failed.
func (b *builder) failedAround() *node {
	if len(b.ordered) == 0 {
		return nil
	}
	k := b.ordered[len(b.ordered)-1]
	if len(k.nodes) == 0 && k.by != nil {
		k = k.by.model
	}
	if len(k.nodes) == 0 {
		return nil
	}
	for n := k.nodes[0]; n != nil && n != b.fragment.ending(); n = n.up {
		if (n.obs.Failed || n.obs.StatusError) && (n.obs.Class != genai.Tool && n.obs.Class != genai.Retrieval) {
			return n
		}
	}
	return nil
}
