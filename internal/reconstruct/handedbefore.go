// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// handedBefore is what the models of a run said before the last answer, where its caller was handed that as well.
//
// Needs: a run span whose caller is handed all that its models say.
// Refuses: an answer before that is not known and asks for no tools.
// Seen in: streams of Spring AI's chat client.
func (o *outputFacts) handedBefore() string {
	if !o.run.HandsAll {
		return ""
	}
	var said strings.Builder
	for _, k := range o.ordered {
		if k == o.last {
			break
		}
		if k.kind != tape.EventModelCall || k.agent != o.last.agent || belowTool(k) != belowTool(o.last) {
			continue
		}
		if k.response != nil {
			said.WriteString(partsText(k.response.parts))
		} else if loop := o.loopSaid(k); loop != "" && said.Len() == 0 {
			return loop // the span of the first call is one of the whole loop
		} else if !stopsForTools(k) { // an answer that asks for tools is recorded as empty more often than not
			return ""
		}
	}
	return said.String()
}

// loopSaid is what the span of a call that stands for a loop recorded as its answer, up to the last answer of the loop.
func (o *outputFacts) loopSaid(k *call) string {
	if len(k.nodes) == 0 || len(k.nodes[0].obs.Response) == 0 || k.nodes[0].obs.ResponseLabel != "" {
		return ""
	}
	before, ends := strings.CutSuffix(partsText(k.nodes[0].obs.Response[0].Parts), o.said)
	if !ends {
		return ""
	}
	return before
}
