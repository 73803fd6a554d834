// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// minPassedOn is the length of the shortest text that is known again in what went into a span and in what came out of it.
const minPassedOn = 4

// handedOn reports that the program took what the model said beside calls for the answer: a span tells that text and no
// other, whatever it calls it.
//
// Needs: none of the calls ran, or all of them did and the model was not asked again.
// Refuses: a short text, which a span may tell by chance; a span that failed.
// Seen in: Koog's node __finish__; the AI SDK and AgentScope for Java at the limit of their steps.
func (o *outputFacts) handedOn() bool {
	switch ran := count(o.last.asked, (*asked).ran); {
	case ran == 0:
		return o.endsWithSaid() || len(o.said) >= minPassedOn && anySpan(o.fragment.heads, o.tellsSaid)
	case ran < len(o.last.asked) || len(o.said) < minQuoted:
		return false
	}
	for n := range o.last.above(nil) {
		if (n == o.root || o.surrounds(n)) && n.obs.Class != genai.Model && n.obs.Class != genai.Tool && !failedSpan(n) && tellsText(n, o.said) {
			return true
		}
	}
	return false
}

// tellsSaid reports that a span tells what the model said: the run span, a span around all calls, or a step of the
// program that began when the model had answered. A step that was given a text and gave it on tells a short one too.
func (o *outputFacts) tellsSaid(n *node) bool {
	if failedSpan(n) {
		return false
	}
	later := (n.obs.Class == genai.Structure || n.obs.Class == genai.Unclassified) && n.start >= o.last.end
	if later && tellings(n, o.said) > 1 {
		return true
	}
	around := later || n == o.root || n.obs.Class != genai.Model && o.surrounds(n) && slices.Contains(o.fragment.heads, n)
	return around && len(o.said) >= minQuoted && tellsText(n, o.said)
}

// ran reports a call of which a span or a later request tells that it ran.
func (a *asked) ran() bool { return a.shown != nil || a.tool != nil && len(a.tool.nodes) > 0 }

// endsWithSaid reports that the run span recorded what the model said as what it ended with, by a finish reason of its
// own that asks for no tools.
func (o *outputFacts) endsWithSaid() bool {
	out := o.run.Output
	if o.said == "" || !stopsForTools(o.last) || len(out) == 0 {
		return false
	}
	end := out[len(out)-1]
	return strings.TrimSpace(end.FinishReason) != "" && !tape.AsksForTools(end.FinishReason) && partsText(end.Parts) == o.said
}

// surrounds reports a span that lies around all calls in time.
func (b *builder) surrounds(n *node) bool {
	return !slices.ContainsFunc(b.ordered, func(k *call) bool { return k.start < n.start || k.end > n.end })
}

// tellsText reports a span of which an attribute is the text, as it is or as JSON.
func tellsText(n *node, text string) bool { return tellings(n, text) > 0 }

// tellings is how many attributes of a span are the text, as it is or as JSON.
func tellings(n *node, text string) (found int) {
	for _, v := range n.source.Span.Attributes().All() {
		if v.Type() != pcommon.ValueTypeStr {
			continue
		}
		held := strings.TrimSpace(v.Str())
		if held != text && strings.HasPrefix(held, `"`) {
			inner, _ := exactjson.Parse(held)
			held = strings.TrimSpace(inner.Str())
		}
		if held == text {
			found++
		}
	}
	return found
}

// concludedAround is what the assistant says at the end of the state with which a step around all calls ended, behind
// the request of the last model call.
//
// Needs: a state that is that request and one answer.
// Refuses: a last model call of which a tool ran.
// Seen in: frameworks that stop at a limit with words of their own, where no span stands for the run.
func (o *outputFacts) concludedAround() string {
	sent := afterSystem(o.last.request)
	if len(sent) == 0 || slices.ContainsFunc(o.last.asked, (*asked).ran) {
		return ""
	}
	for n := range o.last.above(nil) {
		out := n.obs.OutputData
		if called := n.obs.Called; called != nil && !out.Present() {
			out.Value = called.Out
		}
		if !out.Present() || out.Label != "" || !o.surrounds(n) {
			continue
		}
		state := conversationIn(out)
		if k := len(sent); len(state) == k+1 && state[k].Role == tape.RoleAssistant && !decode.HasCalls(state[k]) && areMessages(state[:k], sent) {
			return textOf(&message{parts: state[k].Parts})
		}
	}
	return ""
}
