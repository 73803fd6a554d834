// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
)

// completes reports a resent message with the arguments that the response was recorded without: some packages
// close a streamed answer before its arguments have come.
func completes(said, response *chat.Message) bool {
	args := func(m *chat.Message) int {
		return chat.Count(chat.CallsOf(m.Parts), func(p *genai.Part) bool { return !p.Args.IsEmpty() })
	}
	return chat.SameCalls(said, response) && args(said) > args(response)
}

// holdsMore reports a resent message with the calls that the response was recorded with, and others: some
// packages record the first or the last of several.
func holdsMore(said, response *chat.Message) bool {
	all, recorded := chat.CallsOf(said.Parts), chat.CallsOf(response.Parts)
	taken := map[int]bool{}
	for _, r := range recorded {
		k := slices.IndexFunc(all, func(p *genai.Part) bool { return p.Name == r.Name && p.ID == r.ID && chat.SameValue(p.Args, r.Args) })
		if k < 0 || taken[k] {
			return false
		}
		taken[k] = true
	}
	return len(taken) > 0 && len(taken) < len(all)
}
