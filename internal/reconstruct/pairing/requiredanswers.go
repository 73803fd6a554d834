// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"regexp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// markRequired finds the tools by which models answer that may not answer in words: what a framework makes of
// a schema for the answer.
//
// Needs: a last request of an agent that requires a call, or an agent that says that it ended with that call,
// see isReturned; a response that asks for one call alone, with arguments.
// Refuses: a tool of which a span, or a result in a request, shows that it ran: a limit cut it off.
// Seen in: structured output of frameworks; the agents of the AI SDK 7 that stop at a tool without a
// function.
func markRequired(c *ledger.Ledger) {
	last, ran := c.LastModels(), map[string]bool{}
	for _, t := range c.Tools {
		ran[ledger.NameOf(t)] = true
	}
	for a := range c.Asks {
		ran[a.Part.Name] = ran[a.Part.Name] || a.By != nil
	}
	for _, m := range c.Models {
		l := last[m.Agent]
		if len(l.Asked) != 1 || ran[l.Asked[0].Part.Name] || !requiresCall(l.Obs) && !isReturned(l) {
			continue
		}
		if args := l.Asked[0].Part.Args; args.Kind() == exactjson.Object && args.Len() > 0 {
			answersBy(m, l.Asked[0].Part.Name)
		}
	}
}

// requiresCall reports a request that lets the model answer by nothing but the call of a tool, of any or of a
// named one.
func requiresCall(o *genai.Report) bool {
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

// isReturned reports a model call whose only call is what the agent around it says that it ended with, well:
// one argument for an offered tool that has the name of an answer. What waits for somebody has another name.
func isReturned(l *ledger.Call) bool {
	part := l.Asked[0].Part
	if len(l.Nodes) == 0 || part.Args.Kind() != exactjson.Object || part.Args.Len() != 1 ||
		!namesAnswer.MatchString(part.Name) || actsOnAnswer.MatchString(part.Name) || !ledger.IsOffered(l, part.Name) {
		return false
	}
	n := spantree.AgentAbove(l.Nodes[0])
	if n == nil || n.Obs.Failed || n.Obs.StatusError || len(n.Obs.Output) == 0 {
		return false
	}
	calls := chat.CallsOf(n.Obs.Output[len(n.Obs.Output)-1].Parts)
	if len(calls) == 0 {
		return false
	}
	ended := calls[len(calls)-1]
	return ended.Name == part.Name && ended.ID == part.ID && chat.SameValue(ended.Args, part.Args)
}

var namesAnswer = regexp.MustCompile(`(?i)(answer|response|reply|conclusion|output|result)$|^(answer|respond|reply|conclude|finish)$`)
