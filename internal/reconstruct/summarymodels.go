// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "github.com/tapedeck/tapedeck/internal/reading/genai"

// handModel gives the model that a span around several calls names to those of the calls that name none.
//
// Needs: a step that sums up calls, and names a model.
// Refuses: a call that names a model, or what answered.
// Seen in: Mastra.
func handModel(n *node) {
	if n.obs.Class != genai.Structure || !n.obs.Summary || n.obs.Model == "" {
		return
	}
	for _, m := range search(n.kids, is(genai.Model), never) {
		if m.obs.Model == "" && m.obs.ResponseModel == "" {
			o := *m.obs
			o.Model = n.obs.Model
			m.obs = &o
		}
	}
}
