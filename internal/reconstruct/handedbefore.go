// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// This file tells what the caller of a run was handed beside the last answer.

// handedBefore is what the models of a run said before the last answer, where its caller was handed that as well (a stream of Spring AI's chat client). It is nothing where one of
// these answers is not known.
func (b *builder) handedBefore(root *node, last *call) string {
	if root == nil || !root.obs.HandsAll {
		return ""
	}
	var said strings.Builder
	for _, k := range b.ordered {
		if k == last {
			break
		}
		if k.kind != tape.EventModelCall || k.agent != last.agent || belowTool(k) != belowTool(last) {
			continue
		}
		switch {
		case k.response != nil:
			said.WriteString(partsText(k.response.parts))
		case said.Len() == 0 && loopSaid(k, last) != "": // the span of the first call is one of the whole loop, and holds all that was said in it
			return loopSaid(k, last)
		case !stopsForTools(k): // an answer that asks for tools says nothing more often than not, and is recorded so
			return ""
		}
	}
	return said.String()
}

// loopSaid is what the span of a call that stands for a loop recorded as its answer, without the last answer of the loop, with which it ends.
func loopSaid(k, last *call) string {
	if k.response != nil || len(k.nodes) == 0 || len(k.nodes[0].obs.Response) == 0 || k.nodes[0].obs.ResponseLabel != "" {
		return ""
	}
	before, ends := strings.CutSuffix(partsText(k.nodes[0].obs.Response[0].Parts), textOf(last.response))
	if !ends {
		return ""
	}
	return before
}
