// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"slices"
	"unsafe"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Message is one message as it goes into the pool, with what is known about its parts.
type Message struct {
	Tape  tape.Message
	ID    string
	Parts []genai.Part
	// omitted says that only the place of the message is known, which asked for tools.
	Omitted bool
	// before is the message that Messages made before it under the same key.
	before *Message
}

func NewMessage(m genai.Message) *Message {
	t := tape.Message{Role: m.Role, Name: m.Name, Parts: make([]tape.Part, len(m.Parts))}
	for i, p := range m.Parts {
		t.Parts[i] = p.Part
	}
	return &Message{Tape: t, ID: t.ID(), Parts: m.Parts, Omitted: m.Omitted}
}

// Messages makes equal messages once. A conversation is resent with every turn, and the id of a message is a
// digest of all it says. A nil set makes every message anew.
type Messages struct {
	byText map[messageKey]*Message // the last one that was made
	// byPlace finds a message whose first part, or the text of it, lies in memory where that of an equal one
	// lies, as in a list that was resent. Such a text need not be hashed.
	byPlace map[placeKey]*Message
}

type placeKey struct {
	at   unsafe.Pointer
	size int
}

// NewMessages returns an empty set with room for so many messages.
func NewMessages(room int) *Messages {
	return &Messages{byText: make(map[messageKey]*Message, room), byPlace: make(map[placeKey]*Message, room)}
}

// placeOf is where the text of a part lies, or the part where it has none.
func placeOf(p *genai.Part) placeKey {
	if p.Text == "" {
		return placeKey{unsafe.Pointer(p), 0}
	}
	return placeKey{unsafe.Pointer(unsafe.StringData(p.Text)), len(p.Text)}
}

// messageKey tells most messages apart without looking at all of them.
type messageKey struct {
	role                 tape.Role
	name, text, id, tool string
	parts                int
	omitted              bool
}

func (made *Messages) Message(m genai.Message) *Message {
	if made == nil {
		return NewMessage(m)
	}
	key := messageKey{role: m.Role, name: m.Name, parts: len(m.Parts), omitted: m.Omitted}
	var place placeKey
	if len(m.Parts) > 0 {
		p := &m.Parts[0]
		place = placeOf(p)
		if there := made.byPlace[place]; there != nil && there.Tape.Role == m.Role && there.Tape.Name == m.Name && there.Omitted == m.Omitted && identicalParts(there.Parts, m.Parts) {
			return there
		}
		key.text, key.id, key.tool = p.Text, p.ID, p.Name
	}
	last := made.byText[key]
	found := last
	for found != nil && !identicalParts(found.Parts, m.Parts) {
		found = found.before
	}
	if found == nil {
		found = NewMessage(m)
		found.before, made.byText[key] = last, found
	}
	if len(m.Parts) > 0 {
		made.byPlace[place] = found
	}
	return found
}

// identicalParts reports parts that nothing tells apart: the same ones, or others.
func identicalParts(a, b []genai.Part) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) > 0 && &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if !identical(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

// identical reports two parts that nothing tells apart.
func identical(a, b *genai.Part) bool {
	if a.Label != b.Label || a.Masked != b.Masked || a.Injected != b.Injected || !slices.Equal(a.Envelope, b.Envelope) {
		return false
	}
	x, y := &a.Part, &b.Part
	return x.Type == y.Type && x.Text == y.Text && x.ID == y.ID && x.Name == y.Name && x.ArgsText == y.ArgsText && x.IsError == y.IsError &&
		x.MIMEType == y.MIMEType && x.URI == y.URI && x.SHA256 == y.SHA256 && x.Size == y.Size && len(x.Unknown)+len(y.Unknown) == 0 &&
		spelledAlike(x.Args, y.Args) && spelledAlike(x.Result, y.Result) && spelledAlike(x.Value, y.Value)
}

// spelledAlike reports two values that are the same to the last digit and the order of their members.
func spelledAlike(a, b exactjson.Value) bool {
	return a.Kind() == b.Kind() && a.Text() == b.Text() && slices.EqualFunc(a.Members(), b.Members(), func(x, y exactjson.Member) bool {
		return x.Name == y.Name && spelledAlike(x.Value, y.Value)
	})
}
