// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
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

// messages makes equal messages once. A conversation is resent with every turn, and the id of a message is a
// digest of all it says. A nil set makes every message anew.
type messages struct {
	byText map[messageKey][]*message
	// byPlace finds a message whose text lies in memory where that of an equal one lies, as in a list that
	// was resent. Such a text need not be hashed.
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

// identical reports two parts that nothing tells apart.
func identical(a, b genai.Part) bool {
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
