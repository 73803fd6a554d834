// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// IdsOf lists the ids of the tool calls that have one.
func IdsOf(calls []*genai.Part) (ids []string) {
	for _, p := range calls {
		if p.ID != "" {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// TellsOneCall reports a call with an id that no other call has: a provider drew it, and did not make it of
// the name.
func TellsOneCall(p *genai.Part) bool {
	return len(p.ID) >= decode.MinDrawnID && !strings.Contains(p.ID, p.Name)
}

// DrawnIDs are the ids of calls that no other call has.
func DrawnIDs(parts []genai.Part) map[string]bool {
	var ids map[string]bool
	for p := range EachCall(parts) {
		if TellsOneCall(p) {
			if ids == nil {
				ids = map[string]bool{}
			}
			ids[p.ID] = true
		}
	}
	return ids
}

// AsksOne reports parts with a call of one of these ids.
func AsksOne(parts []genai.Part, ids map[string]bool) bool {
	for p := range EachCall(parts) {
		if ids[p.ID] {
			return true
		}
	}
	return false
}

// OtherKind reports two ids of different kinds, by what stands before their first underscore. The Responses
// API gives a call one as an item of the answer, and one that its result names; some packages record the
// first.
func OtherKind(a, b string) bool {
	kindA, _, okA := strings.Cut(a, "_")
	kindB, _, okB := strings.Cut(b, "_")
	return okA && okB && kindA != kindB
}
