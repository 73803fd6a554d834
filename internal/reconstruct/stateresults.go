// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"maps"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// resultsInStates takes the results that no request shows from what steps of a graph recorded as their state, or from
// what agents sent each other: those of the last calls of a run, or before a model call that failed.
//
// Needs: an id that one call of the run alone has.
// Refuses: a state that was over before the model call that asked; a result without content, which is a plan for a
// call.
// Seen in: OpenLIT in JavaScript, whose span of a tool may say no more than that the result was an object.
func (c *collector) resultsInStates(open map[string]*asked) {
	maps.DeleteFunc(open, func(_ string, a *asked) bool { return a.shown != nil })
	if len(open) == 0 {
		return
	}
	look := func(n *node, state []genai.Message) {
		for _, m := range state {
			for i := range m.Parts {
				p := &m.Parts[i]
				if p.Type != tape.PartToolResult || p.Result.IsAbsent() && p.Label == "" {
					continue
				}
				if a := open[p.ID]; a != nil && a.shown == nil && n.end >= a.model.start {
					a.show(p, nil)
				}
			}
		}
	}
	for _, n := range c.states[:min(len(c.states), maxTranscripts)] {
		look(n, conversationIn(n.obs.OutputData))
	}
	for _, n := range c.unfinished[:min(len(c.unfinished), maxTranscripts)] {
		look(n, conversationIn(n.obs.InputData))
	}
	for _, p := range c.posts {
		look(p.n, []genai.Message{p.Message})
	}
}
