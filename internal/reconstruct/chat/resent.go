// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"encoding/json"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// TakesApart reports a resent message that holds apart the calls that a streamed answer was recorded as one
// with: the texts of their arguments, one behind the other.
func TakesApart(said, response *Message) bool {
	together, apart := CallsOf(response.Parts), CallsOf(said.Parts)
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
		if err != nil || err2 != nil || !SameValue(got, want) {
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

// WithoutTail is the id of a message without what the framework put behind it.
func WithoutTail(m *Message) string {
	n := len(m.Parts)
	for n > 0 && m.Parts[n-1].Injected {
		n--
	}
	if n == 0 || n == len(m.Parts) {
		return m.ID
	}
	return NewMessage(genai.Message{Role: m.Tape.Role, Name: m.Tape.Name, Parts: m.Parts[:n]}).ID
}
