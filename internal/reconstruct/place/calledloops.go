// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// readCalledLoop makes a step of a span that was taken for a model call for the model that it names and the
// text that came out. It is the function around a loop, which hands back what the loop came to.
//
// Needs: one loop inside whose calls stand on it as events; a text that the model said in that loop, if any
// came out.
// Refuses: a span that tells a request, or how its answer ended.
// Seen in: mcp-agent.
func readCalledLoop(n *spantree.Node) {
	loop, said := loopCalledBy(n)
	if loop == nil {
		return
	}
	if said > 0 {
		o := loop.Obs.Draft()
		o.Output = n.Obs.Response
		o.Quirks &^= genai.HandsAll
		o.Quirks.Add(genai.HandsAll, said > 1)
		if !n.Obs.StatusError && !n.Obs.Failed {
			o.StatusError, o.Failed, o.Error = false, false, nil // its last call failed, and what had been said before was handed back
		}
		loop.Obs = o.Seal()
	}
	becomeStep(n)
}

// loopCalledBy is the loop within a span that tells nothing of a request or of how its answer ended, nil for
// any other span. said is how many answers of the loop the text holds that came out: all of them in order, or
// the last.
func loopCalledBy(n *spantree.Node) (loop *spantree.Node, said int) {
	o := n.Obs
	if o.Class != genai.Model || n.Spans == 0 || len(o.Request) > 0 || tellsEnd(o) {
		return nil, 0
	}
	loops := spantree.Search(n.Kids, func(m *spantree.Node) bool { return len(m.Obs.Exchanges) > 0 }, spantree.IsCall)
	if len(loops) != 1 {
		return nil, 0
	}
	if len(o.Response) == 0 {
		return loops[0], 0
	}
	rest := chat.PartsText(o.Response[0].Parts)
	for _, x := range loops[0].Obs.Exchanges {
		for _, m := range x.Said.Response {
			text := chat.PartsText(m.Parts)
			if _, behind, found := strings.Cut(rest, text); found && text != "" {
				rest, said = behind, said+1
			}
		}
	}
	if said == 0 || strings.TrimSpace(rest) != "" {
		return nil, 0
	}
	return loops[0], said
}

// tellsEnd reports what only comes with the answer of a provider: its id, why it ended, or the tokens.
func tellsEnd(o *genai.Report) bool {
	return o.ResponseID != "" || len(o.FinishReasons) > 0 || chat.UsageKnown(o.Usage)
}
