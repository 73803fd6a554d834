// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// isUnsigned reports a model call whose request does not tell who wrote its messages.
func isUnsigned(n *spantree.Node) bool { return len(n.Obs.Unsigned) > 0 }

// signRequests tells who wrote the messages of requests that do not say it, from a step around the model
// call.
//
// Needs: a step that was given the same conversation, word for word, with the roles. One message more may
// stand before it: the instructions, which a program puts there.
// Refuses: a conversation that differs in any text.
// Seen in: Langfuse.
func signRequests(nodes []*spantree.Node) {
	for _, n := range nodes {
		if !isUnsigned(n) {
			continue
		}
		if signed := signedAs(n.Obs.Unsigned, givenAbove(n)); signed != nil {
			o := n.Obs.Draft()
			o.Request = signed
			n.Obs = o.Seal()
		}
	}
}

// maxSigning is how many spans above a model call are looked at for the conversation that it was given.
const maxSigning = 4

// givenAbove is the conversation that the nearest span above was given.
func givenAbove(n *spantree.Node) []genai.Message {
	n = n.Up
	for steps := 0; n != nil && steps < maxSigning; steps++ {
		if given := decode.Transcript(n.Obs.InputData.Value); len(given) > 0 {
			return given
		}
		n = n.Up
	}
	return nil
}

// signedAs is a request in the messages of a conversation that says the same. It is nil where the two do not
// agree.
func signedAs(request, given []genai.Message) []genai.Message {
	before := len(request) - len(given)
	if len(given) == 0 || before < 0 || before > 1 || before == 1 && request[0].Role != tape.RoleUser ||
		!slices.EqualFunc(request[before:], given, func(a, b genai.Message) bool { return spokenIn(a) == spokenIn(b) }) {
		return nil
	}
	signed := append(slices.Clone(request[:before]), given...)
	if before == 1 {
		signed[0].Role = tape.RoleSystem
	}
	return signed
}

// spokenIn is the text of a message, or what it tells of a result.
func spokenIn(m genai.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		switch p.Type {
		case tape.PartText:
			b.WriteString(p.Text)
		case tape.PartToolResult:
			b.WriteString(chat.ToldText(p.Result))
		}
	}
	return strings.TrimSpace(b.String())
}
