// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"regexp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// markRequired finds the tools by which models answer that may not answer in words: what a framework makes of a schema
// for the answer.
//
// Needs: a last request of an agent that requires a call, or an agent that says that it ended with that call, see
// isReturned; a response that asks for one call alone, with arguments.
// Refuses: a tool of which a span, or a result in a request, shows that it ran: a limit cut it off.
// Seen in: structured output of frameworks; the agents of the AI SDK 7 that stop at a tool without a function.
func (c *collector) markRequired() {
	last, ran := c.lastModels(), map[string]bool{}
	for _, t := range c.tools {
		ran[nameOf(t)] = true
	}
	for a := range c.asks {
		ran[a.part.Name] = ran[a.part.Name] || a.by != nil
	}
	for _, m := range c.models {
		l := last[m.agent]
		if len(l.asked) != 1 || ran[l.asked[0].part.Name] || !requiresCall(l.obs) && !isReturned(l) {
			continue
		}
		if args := l.asked[0].part.Args; args.Kind() == exactjson.Object && args.Len() > 0 {
			m.answersBy(l.asked[0].part.Name)
		}
	}
}

// requiresCall reports a request that lets the model answer by nothing but the call of a tool, of any or of a named one.
func requiresCall(o *genai.Observation) bool {
	i := slices.IndexFunc(o.Params, func(p exactjson.Member) bool { return p.Name == "tool_choice" })
	if i < 0 {
		return false
	}
	choice := o.Params[i].Value.Str()
	if object, ok := decode.Structure(o.Params[i].Value); ok {
		choice = object.Get("type").Str()
	}
	return slices.Contains([]string{"required", "any", "tool", "function"}, choice)
}

// isReturned reports a model call whose only call is what the agent around it says that it ended with, well: one
// argument for an offered tool that has the name of an answer. What waits for somebody has another name.
func isReturned(l *call) bool {
	part := l.asked[0].part
	if len(l.nodes) == 0 || part.Args.Kind() != exactjson.Object || part.Args.Len() != 1 ||
		!namesAnswer.MatchString(part.Name) || actsOnAnswer.MatchString(part.Name) || !isOffered(l, part.Name) {
		return false
	}
	n := agentAbove(l.nodes[0])
	if n == nil || n.obs.Failed || n.obs.StatusError || len(n.obs.Output) == 0 {
		return false
	}
	calls := callsOf(n.obs.Output[len(n.obs.Output)-1].Parts)
	if len(calls) == 0 {
		return false
	}
	ended := calls[len(calls)-1]
	return ended.Name == part.Name && ended.ID == part.ID && sameValue(ended.Args, part.Args)
}

var namesAnswer = regexp.MustCompile(`(?i)(answer|response|reply|conclusion|output|result)$|^(answer|respond|reply|conclude|finish)$`)
