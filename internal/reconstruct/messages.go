// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// message is one message as it goes into the pool, with what is known about its parts.
type message struct {
	tape  tape.Message
	id    string
	parts []genai.Part
	loose string // see looseKey, made when first needed
}

func newMessage(m genai.Message) *message {
	t := tape.Message{Role: m.Role, Name: m.Name, Parts: make([]tape.Part, len(m.Parts))}
	for i, p := range m.Parts {
		t.Parts[i] = p.Part
	}
	return &message{tape: t, id: t.ID(), parts: m.Parts}
}

// equal reports whether two messages are the same, or were resent changed in nothing but ids, spelling of arguments, rounding of
// numbers or opaque data.
func (m *message) equal(other *message) (same, exact bool) {
	if m.id == other.id {
		return true, true
	}
	if m.tape.Role != other.tape.Role {
		return false, false
	}
	return m.looseKey() == other.looseKey(), false
}

func (m *message) looseKey() string {
	if m.loose == "" {
		m.loose = looseKey(m.tape)
	}
	return m.loose
}

// looseKey is the text that is left of a message without ids, argument texts and opaque parts, with numbers as doubles. Reasoning
// is often not resent and does not count.
func looseKey(m tape.Message) string {
	b := []byte(m.Role)
	for _, p := range m.Parts {
		switch p.Type {
		case tape.PartText:
			b = append(append(b, "|t"...), p.Text...)
		case tape.PartToolCall:
			b = append(append(append(b, "|c"...), p.Name...), ' ')
			b = appendLoose(b, p.Args)
		case tape.PartToolResult:
			b = appendLoose(append(b, "|r"...), p.Result)
		case tape.PartMedia:
			b = append(append(append(b, "|m"...), p.URI...), p.SHA256...)
		case tape.PartExternal:
			b = append(append(b, "|e"...), p.URI...)
		}
	}
	return string(b)
}

// appendLoose writes a value so that spellings of the same value are equal: numbers as doubles, members sorted, texts that hold a
// structure as that structure.
func appendLoose(b []byte, v exactjson.Value) []byte {
	switch v.Kind() {
	case exactjson.Number:
		f, _ := v.Float()
		return strconv.AppendFloat(b, f, 'g', -1, 64)
	case exactjson.String:
		if inner, ok := decoded(v); ok {
			return appendLoose(b, inner)
		}
		return strconv.AppendQuote(b, v.Str())
	case exactjson.Array:
		b = append(b, '[')
		for _, m := range v.Members() {
			b = append(appendLoose(b, m.Value), ',')
		}
		return append(b, ']')
	case exactjson.Object:
		members := slices.Clone(v.Members())
		slices.SortFunc(members, func(x, y exactjson.Member) int { return strings.Compare(x.Name, y.Name) })
		b = append(b, '{')
		for _, m := range members {
			b = append(strconv.AppendQuote(b, m.Name), ':')
			b = append(appendLoose(b, m.Value), ',')
		}
		return append(b, '}')
	default:
		return append(b, v.Text()...)
	}
}

// decoded opens a text that holds a JSON value other than a bare word.
func decoded(v exactjson.Value) (exactjson.Value, bool) {
	text := strings.TrimSpace(v.Str())
	if text == "" || !strings.ContainsRune("{[\"-0123456789tfn", rune(text[0])) {
		return exactjson.Value{}, false
	}
	inner, err := exactjson.Parse(text)
	return inner, err == nil
}

// sameValue compares as values, however often one of them was JSON-encoded.
func sameValue(a, b exactjson.Value) bool {
	return string(appendLoose(nil, a)) == string(appendLoose(nil, b))
}

// extends reports whether a request continues another one: it repeats all its messages and adds only what the assistant and the
// tools said.
func extends(before, after []*message) bool {
	if len(before) == 0 || len(after) <= len(before) {
		return false
	}
	for i := range before {
		if same, _ := before[i].equal(after[i]); !same {
			return false
		}
	}
	for _, m := range after[len(before):] {
		if m.tape.Role != tape.RoleAssistant && m.tape.Role != tape.RoleTool {
			return false
		}
	}
	return true
}
