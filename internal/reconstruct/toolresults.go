// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"iter"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// toolResults are the results of tools in some messages.
func toolResults(messages []*message) iter.Seq[*genai.Part] {
	return func(yield func(*genai.Part) bool) {
		for _, m := range messages {
			for k := range m.parts {
				if m.parts[k].Type == tape.PartToolResult && !yield(&m.parts[k]) {
					return
				}
			}
		}
	}
}

// resultsOf counts the results of one id in a request.
func resultsOf(id string, request []*message) (n int) {
	for r := range toolResults(request) {
		if r.ID == id {
			n++
		}
	}
	return n
}

// beforeAnswer are the messages before the next one of a model.
func beforeAnswer(messages []*message) []*message {
	if i := slices.IndexFunc(messages, func(m *message) bool { return m.tape.Role == tape.RoleAssistant }); i >= 0 {
		return messages[:i]
	}
	return messages
}
