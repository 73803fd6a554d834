// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"strings"
	"unicode"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// isRepr reports a text that is what Python's repr() writes of the other value, an object or a list: of one with few words nothing but its form says that it is the same ("{'result': []}").
func isRepr(a, b exactjson.Value) bool {
	if a.Kind() == exactjson.String {
		a, b = b, a
	}
	if b.Kind() != exactjson.String || a.Kind() != exactjson.Object && a.Kind() != exactjson.Array {
		return false
	}
	var text strings.Builder
	return writeRepr(&text, a, len(b.Str())) && text.String() == b.Str()
}

// writeRepr writes a value as Python does, up to a length. It is false beyond that, and where a text holds what repr() escapes or quotes otherwise.
func writeRepr(to *strings.Builder, v exactjson.Value, most int) bool {
	if to.Len() > most {
		return false
	}
	switch v.Kind() {
	case exactjson.Null:
		to.WriteString("None")
	case exactjson.Bool:
		if v.JSON() == "true" {
			to.WriteString("True")
		} else {
			to.WriteString("False")
		}
	case exactjson.String:
		if strings.ContainsFunc(v.Str(), func(r rune) bool { return r == '\'' || r == '\\' || !unicode.IsPrint(r) }) {
			return false
		}
		to.WriteString("'" + v.Str() + "'")
	case exactjson.Array, exactjson.Object:
		object := v.Kind() == exactjson.Object
		brackets := map[bool]string{true: "{}", false: "[]"}[object]
		to.WriteByte(brackets[0])
		for i, m := range v.Members() {
			if i > 0 {
				to.WriteString(", ")
			}
			if object {
				if !writeRepr(to, exactjson.StringValue(m.Name), most) {
					return false
				}
				to.WriteString(": ")
			}
			if !writeRepr(to, m.Value, most) {
				return false
			}
		}
		to.WriteByte(brackets[1])
	default:
		to.WriteString(v.JSON())
	}
	return true
}
