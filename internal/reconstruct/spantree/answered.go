// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
)

// Answer is what a model call was answered with as recorded, nil where nothing was.
func (n *Node) Answer() *chat.Message {
	if len(n.Obs.Response) == 0 {
		return nil
	}
	return n.Made.Message(n.Obs.Response[0])
}

// Asks lists the tool calls in the recorded answer of a model call.
func (n *Node) Asks() []*genai.Part {
	if len(n.Obs.Response) == 0 {
		return nil
	}
	return chat.CallsOf(n.Obs.Response[0].Parts)
}

// AsksTools reports a model call that asked for a tool, by its answer or by why it finished.
func AsksTools(n *Node) bool { return len(n.Asks()) > 0 || FinishedForTools(n) }
