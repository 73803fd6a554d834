// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// maxBesides bounds how many characters may stand beside the content of an envelope; more is content itself.
const maxBesides = 64

// opened is the value of a text that is JSON, and a value that is no text itself.
func opened(v exactjson.Value) exactjson.Value {
	if v.Kind() == exactjson.String {
		v, _ = decoded(v)
	}
	return v
}

// encodedText is the text that a text holds as JSON.
func encodedText(v exactjson.Value) (text exactjson.Value, ok bool) {
	text, ok = decoded(v)
	return text, ok && v.Kind() == exactjson.String && text.Kind() == exactjson.String
}

// sole returns the member of an object that has one, also of one that is JSON text.
func sole(v exactjson.Value) (name string, inner exactjson.Value, ok bool) {
	if v = opened(v); v.Kind() != exactjson.Object || v.Len() != 1 {
		return "", v, false
	}
	m := v.Members()[0]
	return m.Name, m.Value, true
}

// sameContent compares a recorded value with what the conversation shows of it: the same value, encoded once more, or as
// Python writes it.
func sameContent(recorded, shown exactjson.Value) bool {
	if sameValue(recorded, shown) {
		return true
	}
	if shown.Kind() != exactjson.String {
		return false
	}
	if literal, ok := decode.PythonStr(shown.Str()); ok {
		return sameValue(recorded, literal)
	}
	text, ok := encodedText(recorded)
	return ok && text.Equal(shown)
}

// telling reports a value that does not stand inside of another by chance.
func telling(v exactjson.Value) bool {
	switch v.Kind() {
	case exactjson.Object, exactjson.Array:
		return v.Len() > 0
	case exactjson.String:
		return len(v.Str()) >= 8
	default:
		return false
	}
}

// room is how many characters may stand beside a value in an envelope; none beside one that may be the same by chance.
func room(inside exactjson.Value) int {
	if telling(inside) {
		return maxBesides
	}
	return 0
}

// pathTo returns the names of the members that lead from a value to an equal one inside of it, where no more characters
// stand beside it than there is room for. It returns nil where there is none.
func pathTo(outer, inner exactjson.Value, depth, room int) []string {
	if outer = opened(outer); depth == 0 || outer.Kind() != exactjson.Object {
		return nil
	}
	for _, m := range outer.Members() {
		if besides(outer, m.Name) > room {
			continue
		}
		if sameContent(m.Value, inner) {
			return []string{m.Name}
		}
		if rest := pathTo(m.Value, inner, depth-1, room); rest != nil {
			return append([]string{m.Name}, rest...)
		}
	}
	return nil
}

// besides counts the characters of the other members' values.
func besides(v exactjson.Value, name string) (n int) {
	for _, m := range v.Members() {
		if m.Name != name {
			n += len(m.Value.JSON())
		}
	}
	return n
}

// follow steps along the names, into JSON texts too.
func follow(v exactjson.Value, path []string) (exactjson.Value, bool) {
	for _, name := range path {
		v = opened(v)
		next := v.Get(name)
		if next.IsAbsent() || besides(v, name) > maxBesides {
			return v, false
		}
		v = next
	}
	return v, true
}
