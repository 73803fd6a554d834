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

// takeWhole gives a model span that tells the new results of tools alone the request of the span in it, which
// tells the conversation that they end.
//
// Needs: one model span inside, with a longer request that holds a question and ends with a result.
// Refuses: a request with any other message but instructions.
// Seen in: frameworks whose span tells what is new since the last call, above the span of a client.
func takeWhole(n *spantree.Node) {
	if n.Obs.Class != genai.Model || len(n.Obs.Request) == 0 || slices.ContainsFunc(n.Obs.Request, func(m genai.Message) bool { return m.Role != tape.RoleTool && m.Role != tape.RoleSystem }) {
		return
	}
	inner := spantree.Search(n.Kids, spantree.Is(genai.Model), spantree.IsCall)
	if len(inner) != 1 {
		return
	}
	whole := inner[0].Obs.Request
	if len(whole) <= len(n.Obs.Request) || chat.LastUserText(whole) == "" || whole[len(whole)-1].Role != tape.RoleTool {
		return
	}
	o := n.Obs.Draft()
	o.Request, o.RequestLabel = whole, inner[0].Obs.RequestLabel
	n.Obs, n.Messages = o.Seal(), nil
}
