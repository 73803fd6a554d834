// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// tellsOneCall reports a call with an id that no other call has: a provider drew it, and did not make it of
// the name.
func tellsOneCall(p *genai.Part) bool {
	return len(p.ID) >= decode.MinDrawnID && !strings.Contains(p.ID, p.Name)
}

// drawnIDs are the ids of calls that no other call has.
func drawnIDs(parts []genai.Part) map[string]bool {
	var ids map[string]bool
	for _, p := range callsOf(parts) {
		if tellsOneCall(p) {
			if ids == nil {
				ids = map[string]bool{}
			}
			ids[p.ID] = true
		}
	}
	return ids
}

// asksOne reports parts with a call of one of these ids.
func asksOne(parts []genai.Part, ids map[string]bool) bool {
	return slices.ContainsFunc(parts, func(p genai.Part) bool { return p.Type == tape.PartToolCall && ids[p.ID] })
}
