// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// handedBefore is what the models of a run said before the last answer, where its caller was handed that as
// well.
//
// Needs: a run span whose caller is handed all that its models say.
// Refuses: an answer before that is not known and asks for no tools.
// Seen in: streams of Spring AI's chat client.
func (o *outputFacts) handedBefore() string {
	if !o.run.Quirks.Has(genai.HandsAll) {
		return ""
	}
	var said strings.Builder
	for _, k := range o.Ordered {
		if k == o.last {
			break
		}
		if k.Kind != tape.EventModelCall || k.Agent != o.last.Agent || ledger.BelowTool(k) != ledger.BelowTool(o.last) {
			continue
		}
		if k.Response != nil {
			said.WriteString(chat.PartsText(k.Response.Parts))
		} else if loop := o.loopSaid(k); loop != "" && said.Len() == 0 {
			return loop // the span of the first call is one of the whole loop
		} else if !ledger.StopsForTools(k) { // an answer that asks for tools is often recorded as empty
			return ""
		}
	}
	return said.String()
}

// loopSaid is what the span of a call that stands for a loop recorded as its answer, up to the last answer of
// the loop.
func (o *outputFacts) loopSaid(k *ledger.Call) string {
	if len(k.Nodes) == 0 || len(k.Nodes[0].Obs.Response) == 0 || k.Nodes[0].Obs.ResponseLabel != "" {
		return ""
	}
	before, ends := strings.CutSuffix(chat.PartsText(k.Nodes[0].Obs.Response[0].Parts), o.said)
	if !ends {
		return ""
	}
	return before
}
