// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// message is one message as it goes into the pool, with what is known about its parts.
type message struct {
	tape  tape.Message
	id    string
	parts []genai.Part
	// omitted says that only the place of the message is known, which asked for tools.
	omitted bool
}

func newMessage(m genai.Message) *message {
	t := tape.Message{Role: m.Role, Name: m.Name, Parts: make([]tape.Part, len(m.Parts))}
	for i, p := range m.Parts {
		t.Parts[i] = p.Part
	}
	return &message{tape: t, id: t.ID(), parts: m.Parts, omitted: m.Omitted}
}

// messages makes each of equal messages once: a conversation is resent with every turn, and the id of a message is a digest of all
// it says. A nil one makes every message anew.
type messages struct {
	byText map[messageKey][]*message
	// byPlace finds those whose text lies where that of an equal one lies, as in a list that was resent: then the text need not be hashed.
	byPlace map[placeKey]*message
}

type placeKey struct {
	text *byte
	size int
}

func newMessages() *messages {
	return &messages{byText: map[messageKey][]*message{}, byPlace: map[placeKey]*message{}}
}

// messageKey tells most messages apart without looking at all of them.
type messageKey struct {
	role                 tape.Role
	name, text, id, tool string
	parts                int
	omitted              bool
}

func (made *messages) message(m genai.Message) *message {
	if made == nil {
		return newMessage(m)
	}
	key := messageKey{role: m.Role, name: m.Name, parts: len(m.Parts), omitted: m.Omitted}
	place := placeKey{}
	if len(m.Parts) > 0 {
		p := &m.Parts[0]
		key.text, key.id, key.tool = p.Text, p.ID, p.Name
		if p.Text != "" {
			place = placeKey{unsafe.StringData(p.Text), len(p.Text)}
			if there := made.byPlace[place]; there != nil && there.tape.Role == m.Role && there.tape.Name == m.Name && slices.EqualFunc(there.parts, m.Parts, identical) {
				return there
			}
		}
	}
	found := (*message)(nil)
	for _, there := range made.byText[key] {
		if slices.EqualFunc(there.parts, m.Parts, identical) {
			found = there
			break
		}
	}
	if found == nil {
		found = newMessage(m)
		made.byText[key] = append(made.byText[key], found)
	}
	if place.text != nil {
		made.byPlace[place] = found
	}
	return found
}

// identical reports that nothing tells two parts apart.
func identical(a, b genai.Part) bool {
	if a.Label != b.Label || a.Masked != b.Masked || a.Injected != b.Injected || !slices.Equal(a.Envelope, b.Envelope) {
		return false
	}
	x, y := &a.Part, &b.Part
	return x.Type == y.Type && x.Text == y.Text && x.ID == y.ID && x.Name == y.Name && x.ArgsText == y.ArgsText && x.IsError == y.IsError &&
		x.MIMEType == y.MIMEType && x.URI == y.URI && x.SHA256 == y.SHA256 && x.Size == y.Size && len(x.Unknown)+len(y.Unknown) == 0 &&
		spelledAlike(x.Args, y.Args) && spelledAlike(x.Result, y.Result) && spelledAlike(x.Value, y.Value)
}

// spelledAlike reports that two values are the same to the last digit and the order of their members.
func spelledAlike(a, b exactjson.Value) bool {
	return a.Kind() == b.Kind() && a.Text() == b.Text() && slices.EqualFunc(a.Members(), b.Members(), func(x, y exactjson.Member) bool {
		return x.Name == y.Name && spelledAlike(x.Value, y.Value)
	})
}

// equal reports whether two messages are the same, or were resent changed in nothing but ids, spelling of arguments, rounding of
// numbers or opaque data. Reasoning is often not resent and does not count, nor does how a text is divided: a stream that was kept piece by piece is resent so. One of which only the place is known is the same as any that asks for tools.
func (m *message) equal(other *message) (same, exact bool) {
	if m == other || m.id == other.id {
		return true, true
	}
	if m.omitted || other.omitted {
		return hasToolCall(m) || hasToolCall(other), true
	}
	if m.tape.Role != other.tape.Role {
		return false, false
	}
	a, b := nextTelling(m.tape.Parts), nextTelling(other.tape.Parts)
	for len(a) > 0 && len(b) > 0 {
		if a[0].Type == tape.PartText && b[0].Type == tape.PartText {
			if a, b, same = afterText(a, b); !same {
				return false, false
			}
			continue
		}
		if !samePart(&a[0], &b[0]) {
			return false, false
		}
		a, b = nextTelling(a[1:]), nextTelling(b[1:])
	}
	return len(a) == 0 && len(b) == 0, false
}

// afterText steps behind the texts with which two lists of parts begin, which may be divided in different ways; same reports that they say the same.
func afterText(a, b []tape.Part) (restA, restB []tape.Part, same bool) {
	x, y := "", ""
	for {
		switch n := min(len(x), len(y)); {
		case x[:n] != y[:n]:
			return nil, nil, false
		default:
			x, y = x[n:], y[n:]
		}
		switch {
		case x == "" && len(a) > 0 && a[0].Type == tape.PartText:
			x, a = a[0].Text, nextTelling(a[1:])
		case y == "" && len(b) > 0 && b[0].Type == tape.PartText:
			y, b = b[0].Text, nextTelling(b[1:])
		default:
			return a, b, x == "" && y == ""
		}
	}
}

// nextTelling skips parts that do not tell two messages apart.
func nextTelling(parts []tape.Part) []tape.Part {
	for len(parts) > 0 && (parts[0].Type == tape.PartReasoning || parts[0].Type == tape.PartData) {
		parts = parts[1:]
	}
	return parts
}

func samePart(a, b *tape.Part) bool {
	if a.Type != b.Type {
		return false
	}
	switch a.Type {
	case tape.PartToolCall:
		return a.Name == b.Name && sameValue(a.Args, b.Args)
	case tape.PartToolResult:
		return sameValue(a.Result, b.Result)
	case tape.PartMedia:
		return a.URI == b.URI && a.SHA256 == b.SHA256
	default:
		return a.URI == b.URI
	}
}

// sameValue compares as values: numbers as doubles, and however often one of them was JSON-encoded.
func sameValue(a, b exactjson.Value) bool { return sameAt(a, b, 0) }

// maxEncodings is how often a value may be JSON-encoded more than the other.
const maxEncodings = 3

func sameAt(a, b exactjson.Value, encodings int) bool {
	if a.Kind() != b.Kind() {
		if encodings < maxEncodings {
			if a.Kind() == exactjson.String {
				if inner, ok := decoded(a); ok {
					return sameAt(inner, b, encodings+1)
				}
			} else if b.Kind() == exactjson.String {
				if inner, ok := decoded(b); ok {
					return sameAt(a, inner, encodings+1)
				}
			}
		}
		return false
	}
	switch a.Kind() {
	case exactjson.Number:
		if a.Text() == b.Text() {
			return true
		}
		x, _ := a.Float()
		y, _ := b.Float()
		return x == y
	case exactjson.String:
		if a.Str() == b.Str() {
			return true
		}
		if encodings >= maxEncodings {
			return false
		}
		x, ok := decoded(a)
		if !ok {
			return false
		}
		y, ok := decoded(b)
		return ok && sameAt(x, y, encodings+1)
	case exactjson.Array:
		return slices.EqualFunc(a.Members(), b.Members(), func(x, y exactjson.Member) bool { return sameAt(x.Value, y.Value, encodings) })
	case exactjson.Object:
		if a.Len() != b.Len() {
			return false
		}
		for i, m := range a.Members() {
			other := b.Members()[i]
			if other.Name != m.Name {
				other.Value = b.Get(m.Name)
			}
			if !sameAt(m.Value, other.Value, encodings) {
				return false
			}
		}
		return true
	default:
		return a.Text() == b.Text()
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

// extends reports whether a request continues another one. The request repeats all messages of the other, whatever the instructions
// before them. It adds only what the assistant, the tools and other agents said.
func extends(before, after []*message) bool {
	before, after = afterSystem(before), afterSystem(after)
	if len(before) == 0 || len(after) <= len(before) {
		return false
	}
	for i := range before {
		if same, _ := before[i].equal(after[i]); !same {
			return false
		}
	}
	speaker := ""
	for _, m := range before {
		if m.tape.Role == tape.RoleUser {
			speaker = m.tape.Name
		}
	}
	for _, m := range after[len(before):] {
		another := m.tape.Role == tape.RoleUser && m.tape.Name != "" && speaker != "" && m.tape.Name != speaker // an agent of a group
		if m.tape.Role != tape.RoleAssistant && m.tape.Role != tape.RoleTool && !another {
			return false
		}
	}
	return true
}
