// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// isAgentInModel reports an agent that says it lies below a model call.
func isAgentInModel(n *spantree.Node) bool {
	return n.Up != nil && n.Up.Obs.Class == genai.Model && n.Obs.Class == genai.Agent
}

// turnOver hangs a model call below the agent that says it lies below the call: no agent runs in a call of a
// model that is over.
//
// Needs: a model call that is the first of its trace; an agent that goes on after it; the same question to
// both.
// Refuses: an agent that was asked something else, which a tool may have called while the span of the model
// was open.
// Seen in: LangSmith's package for the Claude Agent SDK in JavaScript, which begins the span of a run when
// the first answer has come.
func turnOver(nodes []*spantree.Node) {
	for _, n := range nodes {
		p := n.Up
		if !isAgentInModel(n) || p.Up != nil || p.Spans == 0 || p.End >= n.End || p.Start > n.Start {
			continue
		}
		asked := chat.LastUserText(n.Obs.Input)
		if asked != "" && slices.ContainsFunc(p.Obs.Request, func(m genai.Message) bool { return chat.LastUserText([]genai.Message{m}) == asked }) {
			n.Up, p.Up = nil, n
			n.Sole, p.Sole = n.Sole || p.Sole, false
		}
	}
}
