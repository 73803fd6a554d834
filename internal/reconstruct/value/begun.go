// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// begun is the step that was handed a call which no span reports, and failed: the call was executed.
//
// Needs: the id that the model gave the call, in what went into the step.
// Refuses: a step with a span of its tool.
// Seen in: LangGraph, which ends the calls beside one that failed, where who records a call does so when it
// returns.
func (b *Builder) begun(k *ledger.Call) *spantree.Node {
	if k.By == nil || k.By.Part.ID == "" || len(k.Nodes) > 0 {
		return nil
	}
	if b.handed == nil {
		b.handed = map[string]*spantree.Node{}
		for _, n := range spantree.SpansOf(b.Fragment.Heads, failedStep) {
			in, _ := decode.Structure(n.Obs.InputData.Value)
			if id := in.Get("tool_call").Get("id").Str(); id != "" {
				b.handed[id] = n
			}
		}
	}
	return b.handed[k.By.Part.ID]
}

func failedStep(n *spantree.Node) bool {
	return n.Failed() && n.Obs.InputData.Present() && (n.Obs.Class == genai.Structure || n.Obs.WeakAgent) &&
		!slices.ContainsFunc(n.Kids, func(k *spantree.Node) bool { return k.Obs.Class == genai.Tool })
}
