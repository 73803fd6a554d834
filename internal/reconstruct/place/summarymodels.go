// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// handModel gives the model that a span around several calls names to those of the calls that name none.
//
// Needs: a step that sums up calls, and names a model.
// Refuses: a call that names a model, or what answered.
// Seen in: Mastra.
func handModel(n *spantree.Node) {
	if n.Obs.Class != genai.Structure || !n.Obs.Summary || n.Obs.Model == "" {
		return
	}
	for _, m := range spantree.SpansOf(n.Kids, spantree.Is(genai.Model)) {
		if m.Obs.Model == "" && m.Obs.ResponseModel == "" {
			o := m.Obs.Draft()
			o.Model = n.Obs.Model
			m.Obs = o.Seal()
		}
	}
}
