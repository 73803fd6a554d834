// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// preparedFor are the instructions before the user's message in the first conversation that a step of the program was
// handed or put together.
//
// Needs: a run without a model call whose user message is known.
// Refuses: a conversation with another message, or with more than one of the system at its beginning.
// Seen in: LlamaIndex's workflows; functions around a client that nobody instruments.
func preparedFor(in *inputFacts) string {
	if in.first != nil || in.asked == "" {
		return ""
	}
	steps := spansOf(in.fragment.heads, func(n *node) bool {
		return n.obs.Class == genai.Structure && (n.obs.InputData.Present() || n.obs.OutputData.Present() || n.obs.Called != nil && n != in.root)
	})
	steps = steps[:min(len(steps), maxTranscripts)]
	slices.SortStableFunc(steps, compareNodes)
	for _, n := range steps {
		handed := genai.Content{}
		if n.obs.Called != nil {
			handed.Value = n.obs.Called.In
			if n.obs.Called.InCut {
				handed.Label = tape.Truncated
			}
		}
		for _, c := range []genai.Content{n.obs.InputData, n.obs.OutputData, handed} {
			said := conversationIn(c)
			if len(said) > 1 && said[0].Role == tape.RoleSystem && said[1].Role != tape.RoleSystem && lastUserText(said) == in.asked {
				return partsText(said[0].Parts)
			}
		}
	}
	return ""
}
