// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// SameValue compares two values: numbers as doubles, and however often one of the two was JSON-encoded.
func SameValue(a, b exactjson.Value) bool { return sameAt(a, b, 0) }

// maxEncodings is how often a value may be JSON-encoded more than the other.
const maxEncodings = 3

func sameAt(a, b exactjson.Value, encodings int) bool {
	if a.Kind() != b.Kind() {
		if encodings < maxEncodings {
			if a.Kind() == exactjson.String {
				if inner, ok := Decoded(a); ok {
					return sameAt(inner, b, encodings+1)
				}
			} else if b.Kind() == exactjson.String {
				if inner, ok := Decoded(b); ok {
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
		x, ok := Decoded(a)
		if !ok {
			return false
		}
		y, ok := Decoded(b)
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

// Decoded reads a text that holds a JSON value other than a bare word.
func Decoded(v exactjson.Value) (exactjson.Value, bool) {
	text := strings.TrimSpace(v.Str())
	if text == "" || !strings.ContainsRune("{[\"-0123456789tfn", rune(text[0])) {
		return exactjson.Value{}, false
	}
	inner, err := exactjson.Parse(text)
	return inner, err == nil
}
