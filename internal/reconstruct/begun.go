// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// begun is the step of a graph that was handed this one call, failed, and holds no span of its tool: LangGraph ends the calls beside one that failed, and who records a call when it returns has
// nothing of theirs. Such a call was executed, other than one that nobody came to. It is nil where no step was handed the call, by the id that the model gave it.
func (b *builder) begun(k *call) *node {
	if k.by == nil || k.by.part.ID == "" || len(k.nodes) > 0 {
		return nil
	}
	if b.handed == nil {
		b.handed = map[string]*node{}
		for _, head := range b.fragment.heads {
			walk(head, func(n *node) bool {
				o := n.obs
				if o.InputData.Present() && (o.Class == genai.Structure || o.WeakAgent) && (o.Failed || o.StatusError) && !slices.ContainsFunc(n.kids, func(k *node) bool { return k.obs.Class == genai.Tool }) {
					in, _ := decode.Structure(o.InputData.Value)
					if id := in.Get("tool_call").Get("id").Str(); id != "" {
						b.handed[id] = n
					}
				}
				return true
			})
		}
	}
	return b.handed[k.by.part.ID]
}
