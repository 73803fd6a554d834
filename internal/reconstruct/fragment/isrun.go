// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package fragment

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// tellsRun reports a span that is a call or holds one, or whose state holds a conversation, or what is left
// of one.
func tellsRun(h *spantree.Node) bool {
	return h.Obs.Class == genai.Model || h.Obs.Class == genai.Tool || spantree.HoldsCall(h) || HoldsConversation(h) || brokeOff(h) || keptBeginning(h)
}

// failedInModelClient reports a run span that was handed one task and failed with the error of a client of a
// model's API: it asked a model.
func (f *Fragment) failedInModelClient() bool {
	return genai.FailedInModelClient(f.Root.Span) && chat.OnlyTask(f.Root.Obs.InputData.Value) != ""
}

func stateOf(h *spantree.Node, wanted func([]genai.Message) bool) (state []genai.Message) {
	spantree.AnySpan([]*spantree.Node{h}, func(n *spantree.Node) bool {
		if !n.Obs.OutputData.Present() || n.Obs.OutputData.Label == tape.Truncated || !keepsState(n) {
			return false
		}
		messages := chat.ConversationIn(n.Obs.OutputData)
		if len(messages) < 2 || messages[0].Role == tape.RoleAssistant || !wanted(messages) {
			return false
		}
		state = messages
		return true
	})
	return state
}

func keepsState(n *spantree.Node) bool { return spantree.IsAgent(n) || n.Obs.Class == genai.Structure }
