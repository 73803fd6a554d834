// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// dropEarlierReason takes from a model span that lasts for a loop the reason why an answer before its last ended.
//
// Needs: an answer that asks for no tool, beside a reason that says it does; a request that shows the results of all
// tools below the span, so that the answer came after them.
// Refuses: a span without tools.
// Seen in: frameworks with one span around a loop.
func dropEarlierReason(n *node) {
	if n.obs.Class != genai.Model || len(n.obs.Response) == 0 || !losesCalls(n) {
		return
	}
	tools := filter(n.kids, is(genai.Tool))
	if len(tools) == 0 || slices.ContainsFunc(tools, func(t *node) bool { return !showsResult(n.obs.Request, t.obs.CallID) }) {
		return
	}
	o := *n.obs
	o.FinishReasons = slices.DeleteFunc(slices.Clone(o.FinishReasons), tape.AsksForTools)
	n.obs = &o
}
