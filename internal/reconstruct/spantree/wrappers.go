// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
)

// IsWrapper reports a span that calls itself a model call and holds a whole agent.
//
// Needs: no model on the span, or nothing below it but an agent that was asked the same.
// Refuses: a span that names a model and asks something else.
// Seen in: OpenLIT with generateText of the AI SDK, which writes spans of its own.
func IsWrapper(n *Node) bool {
	o := n.Obs
	if o.Class != genai.Model || len(n.Kids) == 0 {
		return false
	}
	return o.Model == "" && o.ResponseModel == "" && o.ResponseID == "" && HoldsAgent(n) || asksAgent(n)
}

// asksAgent reports a model span with nothing below it but one agent whose first model call was sent the same
// question. A wrapper that failed tells no question.
func asksAgent(n *Node) bool {
	asked := chat.LastUserText(n.Obs.Request)
	if asked == "" && len(n.Obs.Request)+len(n.Obs.Response) > 0 {
		return false
	}
	agent := AgentInside(n)
	if agent == nil || agent.Obs.WeakAgent {
		return false
	}
	first := FirstModel(agent)
	return first != nil && len(first.Obs.Request) > 0 && (asked == "" || chat.LastUserText(first.Obs.Request) == asked)
}

// AgentInside is the agent below a span, nil where there are several, or calls beside it.
func AgentInside(n *Node) *Node {
	found := Search(n.Kids, func(m *Node) bool { return IsAgent(m) || IsCall(m) }, IsAgent)
	if len(found) != 1 || !IsAgent(found[0]) {
		return nil
	}
	return found[0]
}
