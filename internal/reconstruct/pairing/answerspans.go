// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// dropAnswers drops the spans of tools by which the model of the same agent answers.
//
// Needs: the name of such a tool on a model call of the agent; no arguments, or a result that is the
// arguments.
// Refuses: a tool that runs an agent.
// Seen in: DSPy, whose agents end with a tool.
func dropAnswers(c *ledger.Ledger) {
	by := map[*ledger.Call][]string{} // agent → tools by which its models answer
	for _, m := range c.Models {
		by[m.Agent] = append(by[m.Agent], m.Obs.OutputTools...)
	}
	dropAnswerSpans(c, func(t *ledger.Call) bool {
		return slices.Contains(by[t.Agent], ledger.NameOf(t)) && len(t.Nodes) > 0 && t.Holds == nil &&
			(t.Obs.Args.Value.Len() == 0 || chat.SameContent(t.Obs.Args.Value, t.Obs.Result.Value))
	})
}

// dropAnswerSpans drops the tool calls that are answers of a model, and counts their spans as noise.
func dropAnswerSpans(c *ledger.Ledger, answers func(*ledger.Call) bool) {
	c.Tools = slices.DeleteFunc(c.Tools, func(t *ledger.Call) bool {
		if !answers(t) {
			return false
		}
		c.Noise["tool by which the model answers"] += int64(t.Nodes[0].Spans)
		return true
	})
}
