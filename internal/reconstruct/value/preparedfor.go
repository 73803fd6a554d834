// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// preparedFor are the instructions before the user's message in the first conversation that a step of the
// program was handed or put together.
//
// Needs: a run without a model call whose user message is known.
// Refuses: a conversation with another message, or with more than one of the system at its beginning.
// Seen in: LlamaIndex's workflows; functions around a client that nobody instruments.
func preparedFor(in *inputFacts) string {
	if in.first != nil || in.asked == "" {
		return ""
	}
	steps := spantree.SpansOf(in.Fragment.Heads, func(n *spantree.Node) bool {
		return n.Obs.Class == genai.Structure && (n.Obs.InputData.Present() || n.Obs.OutputData.Present() || n.Obs.Called != nil && n != in.root)
	})
	steps = steps[:min(len(steps), chat.MaxTranscripts)]
	slices.SortStableFunc(steps, spantree.CompareNodes)
	for _, n := range steps {
		handed := genai.Content{}
		if n.Obs.Called != nil {
			handed.Value = n.Obs.Called.In
			if n.Obs.Called.InCut {
				handed.Label = tape.Truncated
			}
		}
		for _, c := range []genai.Content{n.Obs.InputData, n.Obs.OutputData, handed} {
			said := chat.ConversationIn(c)
			if len(said) > 1 && said[0].Role == tape.RoleSystem && said[1].Role != tape.RoleSystem && chat.LastUserText(said) == in.asked {
				return chat.PartsText(said[0].Parts)
			}
		}
	}
	return ""
}
