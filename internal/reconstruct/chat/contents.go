// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// MaxEnvelopes bounds envelopes within envelopes.
const MaxEnvelopes = 4

// holds reports that a value stands inside of another one, also of one that is JSON text there.
func holds(outer, inner exactjson.Value, same equality, depth int) bool {
	if depth == 0 {
		return false
	}
	if outer.Kind() == exactjson.String {
		v, ok := Decoded(outer)
		return ok && v.Kind() != exactjson.String && (same(v, inner) || holds(v, inner, same, depth))
	}
	return slices.ContainsFunc(outer.Members(), func(m exactjson.Member) bool {
		return same(m.Value, inner) || holds(m.Value, inner, same, depth-1)
	})
}

// MaxBesides bounds how many characters may stand beside the content of an envelope; more is content itself.
const MaxBesides = 64

// Opened is the value of a text that is JSON, and a value that is no text itself.
func Opened(v exactjson.Value) exactjson.Value {
	if v.Kind() == exactjson.String {
		v, _ = Decoded(v)
	}
	return v
}

// EncodedText is the text that a text holds as JSON.
func EncodedText(v exactjson.Value) (text exactjson.Value, ok bool) {
	text, ok = Decoded(v)
	return text, ok && v.Kind() == exactjson.String && text.Kind() == exactjson.String
}

// SameContent compares a recorded value with what the conversation shows of it: the same value, encoded once
// more, or as Python writes it.
func SameContent(recorded, shown exactjson.Value) bool {
	if SameValue(recorded, shown) {
		return true
	}
	if shown.Kind() != exactjson.String {
		return false
	}
	if literal, ok := decode.PythonStr(shown.Str()); ok {
		return SameValue(recorded, literal)
	}
	text, ok := EncodedText(recorded)
	return ok && text.Equal(shown)
}

// Telling reports a value that does not stand inside of another by chance.
func Telling(v exactjson.Value) bool {
	switch v.Kind() {
	case exactjson.Object, exactjson.Array:
		return v.Len() > 0
	case exactjson.String:
		return len(v.Str()) >= 8
	default:
		return false
	}
}

// Room is how many characters may stand beside a value in an envelope; none beside one that may be the same
// by chance.
func Room(inside exactjson.Value) int {
	if Telling(inside) {
		return MaxBesides
	}
	return 0
}

// PathTo returns the names of the members that lead from a value to an equal one inside of it, where no more
// characters stand beside it than there is room for. It returns nil where there is none.
func PathTo(outer, inner exactjson.Value, depth, room int) []string {
	if outer = Opened(outer); depth == 0 || outer.Kind() != exactjson.Object {
		return nil
	}
	for _, m := range outer.Members() {
		if Besides(outer, m.Name) > room {
			continue
		}
		if SameContent(m.Value, inner) {
			return []string{m.Name}
		}
		if rest := PathTo(m.Value, inner, depth-1, room); rest != nil {
			return append([]string{m.Name}, rest...)
		}
	}
	return nil
}

// Besides counts the characters of the other members' values.
func Besides(v exactjson.Value, name string) (n int) {
	for _, m := range v.Members() {
		if m.Name != name {
			n += len(m.Value.JSON())
		}
	}
	return n
}
