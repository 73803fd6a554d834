// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// turnOver hangs a model call below the agent that says it lies below the call: no agent runs in a call of a model that
// is over.
//
// Needs: a model call that is the first of its trace; an agent that goes on after it; the same question to both.
// Refuses: an agent that was asked something else, which a tool may have called while the span of the model was open.
// Seen in: LangSmith's package for the Claude Agent SDK in JavaScript, which begins the span of a run when the first
// answer has come.
func turnOver(nodes []*node) {
	for _, n := range nodes {
		p := n.up
		if p == nil || p.up != nil || p.obs.Class != genai.Model || n.obs.Class != genai.Agent || p.spans == 0 || p.end >= n.end || p.start > n.start {
			continue
		}
		asked := lastUserText(n.obs.Input)
		if asked != "" && slices.ContainsFunc(p.obs.Request, func(m genai.Message) bool { return lastUserText([]genai.Message{m}) == asked }) {
			n.up, p.up = nil, n
			n.sole, p.sole = n.sole || p.sole, false
		}
	}
}
