// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// unquoted decodes the inside of a JSON string.
func unquoted(inner string) string {
	i := strings.IndexByte(inner, '\\')
	if i < 0 {
		return inner
	}
	var b strings.Builder
	b.Grow(len(inner))
	for ; i >= 0; i = strings.IndexByte(inner, '\\') {
		text, n := jsonEscapeAt(inner[i:])
		b.WriteString(inner[:i])
		b.WriteString(text)
		inner = inner[i+n:]
	}
	b.WriteString(inner)
	return b.String()
}

// unquote is unquoted, and tells where each byte stood; nil when there is no escape.
func unquote(inner string) *view {
	i := strings.IndexByte(inner, '\\')
	if i < 0 {
		return nil
	}
	var b viewBuilder
	for i >= 0 {
		text, n := jsonEscapeAt(inner[i:])
		b.decode(inner, i, i+n, text)
		i = indexFrom(inner, '\\', i+n)
	}
	return b.done(inner)
}

// jsonEscapeAt decodes the escape that s begins with, in a valid JSON string, and returns its length.
func jsonEscapeAt(s string) (text string, n int) {
	switch s[1] {
	case 'b':
		return "\b", 2
	case 'f':
		return "\f", 2
	}
	return escapeAt(s)
}

// quoted encodes text so that it can stand inside of a JSON string.
func quoted(text string) string {
	if strings.IndexByte(text, '"') < 0 && strings.IndexByte(text, '\\') < 0 {
		return text
	}
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
}

// looksLikeJSON says whether a text may be a JSON value worth reading: an object, an array, a string.
func looksLikeJSON(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t', '\n', '\r':
			continue
		case '{', '[', '"':
			return true
		}
		return false
	}
	return false
}
