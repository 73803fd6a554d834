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

// begun is the step of a graph that was handed this one call, failed, and holds no span of its tool: LangGraph ends the calls beside one that failed, and who records a call when it returns has
// nothing of theirs. Such a call was executed, other than one that nobody came to. It is nil where no step was handed the call, by the id that the model gave it.
func (b *Builder) begun(k *ledger.Call) *spantree.Node {
	if k.By == nil || k.By.Part.ID == "" || len(k.Nodes) > 0 {
		return nil
	}
	if b.handed == nil {
		b.handed = map[string]*spantree.Node{}
		for _, head := range b.Fragment.Heads {
			spantree.Walk(head, func(n *spantree.Node) bool {
				o := n.Obs
				if o.InputData.Present() && (o.Class == genai.Structure || o.WeakAgent) && (o.Failed || o.StatusError) && !slices.ContainsFunc(n.Kids, func(k *spantree.Node) bool { return k.Obs.Class == genai.Tool }) {
					in, _ := decode.Structure(o.InputData.Value)
					if id := in.Get("tool_call").Get("id").Str(); id != "" {
						b.handed[id] = n
					}
				}
				return true
			})
		}
	}
	return b.handed[k.By.Part.ID]
}
