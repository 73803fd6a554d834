// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// This file reads what the steps of a workflow tell of a run without a span of a model call: what was put together for the model, and what came of it (LlamaIndex's
// workflows where nobody instruments the client of the provider).

// stepped is what the steps of a run tell of its conversation.
type stepped struct {
	first, last []genai.Message // what was put together for the model at first and at last
	answer      *genai.Message  // what a step after that, and after all tools, came to; nil: none
	by          *node           // that step
}

// stepped reads the steps of the run's own level in their order.
func (f *fragment) stepped() (s stepped) {
	var steps []*node
	ended, model := uint64(0), false
	for _, h := range f.heads {
		walk(h, func(n *node) bool {
			model = model || n.obs.Class == genai.Model
			switch {
			case n.obs.Class == genai.Tool:
				ended = max(ended, n.end)
				return false
			case n.obs.Class == genai.Agent && n != h && n != f.root && !n.obs.WeakAgent:
				return false
			case n.obs.Class == genai.Structure && n.obs.OutputData.Present() && n.obs.OutputData.Label == "" && len(steps) < maxTranscripts:
				steps = append(steps, n)
			}
			return true
		})
	}
	if f.root == nil || model || len(steps) == maxTranscripts {
		return stepped{}
	}
	slices.SortStableFunc(steps, compareNodes)
	for _, n := range steps {
		out := n.obs.OutputData
		if sent := conversationIn(out); len(sent) > 0 && sent[0].Role != tape.RoleAssistant && sent[0].Role != tape.RoleTool && sent[len(sent)-1].Role != tape.RoleAssistant {
			if s.last, s.answer, s.by = sent, nil, nil; s.first == nil {
				s.first = sent
			}
			continue
		}
		if said, ok := decode.OnlyAnswer(out.Value); ok && s.last != nil && n.end >= ended {
			s.answer, s.by = &said, n
		}
	}
	return s
}

// recoverStepped makes the model call of a run without any call, from what its steps tell.
func (c *collector) recoverStepped(f *fragment) {
	if len(c.models)+len(c.tools)+len(c.retrievals) > 0 {
		return
	}
	s := f.stepped()
	if s.answer == nil {
		return
	}
	c.models = append(c.models, &call{
		kind: tape.EventModelCall,
		obs: &genai.Observation{
			Class: genai.Model, Operation: "chat", Request: s.last, RequestLabel: tape.Recovered,
			Response: []genai.Message{*s.answer}, ResponseLabel: tape.Recovered, FinishReasons: finish(*s.answer),
		},
		start: s.by.start, end: s.by.start,
		notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: "no span reports this call; the step " + s.by.span.Name() + " holds its answer"}},
	})
}
