// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package fragment

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// stepped is what the steps of a run tell of its conversation.
type stepped struct {
	First, Last []genai.Message // what was put together for the model at first and at last
	Answer      *genai.Message  // what a step after that, and after all tools, came to; nil: none
	By          *spantree.Node  // that step
}

// Stepped reads the steps of the run's own level in their order.
//
// Needs: a run span, and steps of a workflow that recorded what they put together for the model.
// Refuses: a run with a span of a model call; more steps than are read.
// Seen in: LlamaIndex's workflows where nobody instruments the client of the provider.
func (f *Fragment) Stepped() (s stepped) {
	steps, ended := f.ownSteps()
	for _, n := range steps {
		if sent := chat.ConversationIn(n.Obs.OutputData); isPrepared(sent) {
			if s.Last, s.Answer, s.By = sent, nil, nil; s.First == nil {
				s.First = sent
			}
		} else if said, ok := decode.OnlyAnswer(n.Obs.OutputData.Value); ok && s.Last != nil && n.End >= ended {
			s.Answer, s.By = &said, n
		}
	}
	return s
}

// ownSteps lists the steps outside of tools and of nested agents that recorded what came out, and says when
// the last tool ended. There are none where a model call is on record.
func (f *Fragment) ownSteps() (steps []*spantree.Node, ended uint64) {
	model := false
	for _, h := range f.Heads {
		spantree.Walk(h, func(n *spantree.Node) bool {
			model = model || n.Obs.Class == genai.Model
			switch {
			case n.Obs.Class == genai.Tool:
				ended = max(ended, n.End)
				return false
			case spantree.IsAgent(n) && n != h && n != f.Root && !n.Obs.WeakAgent:
				return false
			case n.Obs.Class == genai.Structure && n.Obs.OutputData.Present() && n.Obs.OutputData.Label == "":
				steps = append(steps, n)
			}
			return true
		})
	}
	if f.Root == nil || model || len(steps) >= chat.MaxTranscripts {
		return nil, ended
	}
	slices.SortStableFunc(steps, spantree.CompareNodes)
	return steps, ended
}

// isPrepared reports messages for a model: they begin with instructions or the user, and the model has not
// answered.
func isPrepared(sent []genai.Message) bool {
	return len(sent) > 0 && sent[0].Role != tape.RoleAssistant && sent[0].Role != tape.RoleTool && sent[len(sent)-1].Role != tape.RoleAssistant
}
