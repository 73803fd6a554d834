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

// This file reads what the steps of a workflow tell of a run without a span of a model call: what was put together for the model, and what came of it (LlamaIndex's
// workflows where nobody instruments the client of the provider).

// stepped is what the steps of a run tell of its conversation.
type stepped struct {
	First, Last []genai.Message // what was put together for the model at first and at last
	Answer      *genai.Message  // what a step after that, and after all tools, came to; nil: none
	By          *spantree.Node  // that step
}

// Stepped reads the steps of the run's own level in their order.
func (f *Fragment) Stepped() (s stepped) {
	var steps []*spantree.Node
	ended, model := uint64(0), false
	for _, h := range f.Heads {
		spantree.Walk(h, func(n *spantree.Node) bool {
			model = model || n.Obs.Class == genai.Model
			switch {
			case n.Obs.Class == genai.Tool:
				ended = max(ended, n.End)
				return false
			case n.Obs.Class == genai.Agent && n != h && n != f.Root && !n.Obs.WeakAgent:
				return false
			case n.Obs.Class == genai.Structure && n.Obs.OutputData.Present() && n.Obs.OutputData.Label == "" && len(steps) < chat.MaxTranscripts:
				steps = append(steps, n)
			}
			return true
		})
	}
	if f.Root == nil || model || len(steps) == chat.MaxTranscripts {
		return stepped{}
	}
	slices.SortStableFunc(steps, spantree.CompareNodes)
	for _, n := range steps {
		out := n.Obs.OutputData
		if sent := chat.ConversationIn(out); len(sent) > 0 && sent[0].Role != tape.RoleAssistant && sent[0].Role != tape.RoleTool && sent[len(sent)-1].Role != tape.RoleAssistant {
			if s.Last, s.Answer, s.By = sent, nil, nil; s.First == nil {
				s.First = sent
			}
			continue
		}
		if said, ok := decode.OnlyAnswer(out.Value); ok && s.Last != nil && n.End >= ended {
			s.Answer, s.By = &said, n
		}
	}
	return s
}
