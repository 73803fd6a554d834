// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// readCalledLoop makes a step of a span that was taken for a model call for the model that it names and the text that
// came out. It is the function around a loop, which hands back what the loop came to.
//
// Needs: one loop inside whose calls stand on it as events; a text that the model said in that loop, if any came out.
// Refuses: a span that tells a request, or how its answer ended.
// Seen in: mcp-agent.
func readCalledLoop(n *node) {
	loop, said := loopCalledBy(n)
	if loop == nil {
		return
	}
	if said > 0 {
		o := *loop.obs
		o.Output, o.HandsAll = n.obs.Response, said > 1
		if !n.obs.StatusError && !n.obs.Failed {
			o.StatusError, o.Failed, o.Error = false, false, nil // its last call failed, and what had been said before was handed back
		}
		loop.obs = &o
	}
	n.becomeStep()
}

// loopCalledBy is the loop within a span that tells nothing of a request or of how its answer ended, nil for any other
// span. said is how many answers of the loop the text holds that came out: all of them in order, or the last.
func loopCalledBy(n *node) (loop *node, said int) {
	o := n.obs
	if o.Class != genai.Model || n.spans == 0 || len(o.Request) > 0 || tellsEnd(o) {
		return nil, 0
	}
	loops := search(n.kids, func(m *node) bool { return len(m.obs.Exchanges) > 0 }, isCall)
	if len(loops) != 1 {
		return nil, 0
	}
	if len(o.Response) == 0 {
		return loops[0], 0
	}
	rest := partsText(o.Response[0].Parts)
	for _, x := range loops[0].obs.Exchanges {
		for _, m := range x.Said.Response {
			text := partsText(m.Parts)
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
func tellsEnd(o *genai.Observation) bool {
	return o.ResponseID != "" || len(o.FinishReasons) > 0 || usageKnown(o.Usage)
}
