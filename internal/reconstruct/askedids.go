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

// asksFor reports parts with the call of an id.
func asksFor(parts []genai.Part, id string) bool {
	return slices.ContainsFunc(parts, func(p genai.Part) bool { return p.Type == tape.PartToolCall && p.ID == id })
}

// idsAsked are the ids of the calls that answers on record ask for.
type idsAsked map[string]bool

func (c *collector) idsAsked() idsAsked {
	known := idsAsked{}
	for _, m := range c.models {
		if m.response != nil {
			known.add(callsOf(m.response.parts))
		}
	}
	return known
}

func (known idsAsked) add(calls []*genai.Part) {
	for _, p := range calls {
		known[p.ID] = true
	}
}

// takeNew reports calls of which each is new, by an id that no other call has, and fits. They are known from
// then on.
func (known idsAsked) takeNew(calls []*genai.Part, fits func(p *genai.Part) bool) bool {
	if slices.ContainsFunc(calls, func(p *genai.Part) bool { return !tellsOneCall(p) || known[p.ID] || !fits(p) }) {
		return false
	}
	known.add(calls)
	return len(calls) > 0
}
