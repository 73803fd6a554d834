// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// dropEarlierReason takes from a model span that lasts for a loop the reason why an answer before its last
// ended.
//
// Needs: an answer that asks for no tool, beside a reason that says it does; a request that shows the results
// of all tools below the span, so that the answer came after them.
// Refuses: a span without tools.
// Seen in: frameworks with one span around a loop.
func dropEarlierReason(n *spantree.Node) {
	if n.Obs.Class != genai.Model || len(n.Obs.Response) == 0 || !spantree.LosesCalls(n) {
		return
	}
	tools := spantree.Filter(n.Kids, spantree.Is(genai.Tool))
	if len(tools) == 0 || slices.ContainsFunc(tools, func(t *spantree.Node) bool { return !chat.ShowsResult(n.Obs.Request, t.Obs.CallID) }) {
		return
	}
	o := n.Obs.Draft()
	o.FinishReasons = slices.DeleteFunc(slices.Clone(o.FinishReasons), tape.AsksForTools)
	n.Obs = o.Seal()
}
