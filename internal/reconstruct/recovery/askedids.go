// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// asksFor reports parts with the call of an id.
func asksFor(parts []genai.Part, id string) bool {
	return slices.ContainsFunc(parts, func(p genai.Part) bool { return p.Type == tape.PartToolCall && p.ID == id })
}

// takeNew reports calls of which each is new, by an id that no other call has, and fits. They are known from
// then on.
func takeNew(known ledger.IdsAsked, calls []*genai.Part, fits func(p *genai.Part) bool) bool {
	if slices.ContainsFunc(calls, func(p *genai.Part) bool { return !chat.TellsOneCall(p) || known[p.ID] || !fits(p) }) {
		return false
	}
	known.Add(calls)
	return len(calls) > 0
}
