// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// forClients returns a tape without the tool calls that stand inside the answers of models: their provider
// ran them, and no client asks for them. They keep their places, as events of another type.
func forClients(t *tape.Tape) *tape.Tape {
	inside := t.InsideAnswers()
	if inside == nil {
		return t
	}
	view := *t
	view.Events = slices.Clone(t.Events)
	for i := range view.Events {
		if inside[view.Events[i].Seq] {
			view.Events[i].Type = insideAnswer
		}
	}
	return &view
}

// insideAnswer is the type of an event that asks the oracle for nothing.
const insideAnswer tape.EventType = "inside_answer"
