// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// completes reports a resent message with the arguments that the response was recorded without: some packages
// close a streamed answer before its arguments have come.
func completes(said, response *message) bool {
	args := func(m *message) int {
		return count(callsOf(m.parts), func(p *genai.Part) bool { return !p.Args.IsEmpty() })
	}
	return sameCalls(said, response) && args(said) > args(response)
}

// holdsMore reports a resent message with the calls that the response was recorded with, and others: some
// packages record the first or the last of several.
func holdsMore(said, response *message) bool {
	all, recorded := callsOf(said.parts), callsOf(response.parts)
	taken := map[int]bool{}
	for _, r := range recorded {
		k := slices.IndexFunc(all, func(p *genai.Part) bool { return p.Name == r.Name && p.ID == r.ID && sameValue(p.Args, r.Args) })
		if k < 0 || taken[k] {
			return false
		}
		taken[k] = true
	}
	return len(taken) > 0 && len(taken) < len(all)
}

// takesApart reports a resent message that holds apart the calls that a streamed answer was recorded as one
// with: the texts of their arguments, one behind the other.
func takesApart(said, response *message) bool {
	together, apart := callsOf(response.parts), callsOf(said.parts)
	if len(together) == 0 || len(together) >= len(apart) {
		return false
	}
	var all strings.Builder
	for _, p := range together {
		all.WriteString(argsText(p))
	}
	decoder := json.NewDecoder(strings.NewReader(all.String()))
	for _, p := range apart {
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			return false
		}
		got, err := exactjson.Parse(string(raw))
		want, err2 := exactjson.Parse(argsText(p))
		if err != nil || err2 != nil || !sameValue(got, want) {
			return false
		}
	}
	return !decoder.More()
}

// argsText is the text of the arguments of a call, as it was written where that is known.
func argsText(p *genai.Part) string {
	switch {
	case p.ArgsText != "":
		return p.ArgsText
	case p.Args.Kind() == exactjson.String:
		return p.Args.Str()
	default:
		return p.Args.JSON()
	}
}
