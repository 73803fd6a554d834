// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// minPassedOn is the length of the shortest text that is known again in what went into a span and in what
// came out of it.
const minPassedOn = 4

// handedOn reports that the program took what the model said beside calls for the answer: a span tells that
// text and no other, whatever it calls it.
//
// Needs: none of the calls ran, or all of them did and the model was not asked again.
// Refuses: a short text, which a span may tell by chance; a span that failed.
// Seen in: Koog's node __finish__; the AI SDK and AgentScope for Java at the limit of their steps.
func (o *outputFacts) handedOn() bool {
	switch ran := chat.Count(o.last.Asked, ran); {
	case ran == 0:
		return o.endsWithSaid() || len(o.said) >= minPassedOn && spantree.AnySpan(o.Fragment.Heads, o.tellsSaid)
	case ran < len(o.last.Asked) || len(o.said) < chat.MinQuoted:
		return false
	}
	for n := range o.last.Above(nil) {
		if (n == o.root || o.surrounds(n)) && n.Obs.Class != genai.Model && n.Obs.Class != genai.Tool && !n.Failed() && tellsText(n, o.said) {
			return true
		}
	}
	return false
}

// tellsSaid reports that a span tells what the model said: the run span, a span around all calls, or a step
// of the program that began when the model had answered. A step that was given a text and gave it on tells a
// short one too.
func (o *outputFacts) tellsSaid(n *spantree.Node) bool {
	if n.Failed() {
		return false
	}
	later := (n.Obs.Class == genai.Structure || n.Obs.Class == genai.Unclassified) && n.Start >= o.last.End
	if later && tellings(n, o.said) > 1 {
		return true
	}
	around := later || n == o.root || n.Obs.Class != genai.Model && o.surrounds(n) && slices.Contains(o.Fragment.Heads, n)
	return around && len(o.said) >= chat.MinQuoted && tellsText(n, o.said)
}

// ran reports a call of which a span or a later request tells that it ran.
func ran(a *ledger.Asked) bool { return a.Shown != nil || a.Tool != nil && len(a.Tool.Nodes) > 0 }

// endsWithSaid reports that the run span recorded what the model said as what it ended with, by a finish
// reason of its own that asks for no tools.
func (o *outputFacts) endsWithSaid() bool {
	out := o.run.Output
	if o.said == "" || !ledger.StopsForTools(o.last) || len(out) == 0 {
		return false
	}
	end := out[len(out)-1]
	return strings.TrimSpace(end.FinishReason) != "" && !tape.AsksForTools(end.FinishReason) && chat.PartsText(end.Parts) == o.said
}

// surrounds reports a span that lies around all calls in time.
func (b *Builder) surrounds(n *spantree.Node) bool {
	return !slices.ContainsFunc(b.Ordered, func(k *ledger.Call) bool { return k.Start < n.Start || k.End > n.End })
}

// tellsText reports a span of which an attribute is the text, as it is or as JSON.
func tellsText(n *spantree.Node, text string) bool { return tellings(n, text) > 0 }

// tellings is how many attributes of a span are the text, as it is or as JSON.
func tellings(n *spantree.Node, text string) (found int) {
	for _, v := range n.Source.Span.Attributes().All() {
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

// concludedAround is what the assistant says at the end of the state with which a step around all calls
// ended, behind the request of the last model call.
//
// Needs: a state that is that request and one answer.
// Refuses: a last model call of which a tool ran.
// Seen in: frameworks that stop at a limit with words of their own, where no span stands for the run.
func (o *outputFacts) concludedAround() string {
	sent := chat.AfterSystem(o.last.Request)
	if len(sent) == 0 || slices.ContainsFunc(o.last.Asked, ran) {
		return ""
	}
	for n := range o.last.Above(nil) {
		out := n.Obs.OutputData
		if called := n.Obs.Called; called != nil && !out.Present() {
			out.Value = called.Out
		}
		if !out.Present() || out.Label != "" || !o.surrounds(n) {
			continue
		}
		state := chat.ConversationIn(out)
		if k := len(sent); len(state) == k+1 && state[k].Role == tape.RoleAssistant && !decode.HasCalls(state[k]) && areMessages(state[:k], sent) {
			return chat.TextOf(&chat.Message{Parts: state[k].Parts})
		}
	}
	return ""
}
