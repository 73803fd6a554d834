// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// unquote decodes the inside of a JSON string; nil when it holds no escape.
func unquote(inner string) *view {
	var b *viewBuilder
	for i := strings.IndexByte(inner, '\\'); i >= 0; {
		text, n := escapeAt(inner[i:])
		switch inner[i+1] {
		case 'b':
			text = "\b"
		case 'f':
			text = "\f"
		}
		if b == nil {
			b = &viewBuilder{}
		}
		b.decode(inner, i, i+n, text)
		next := strings.IndexByte(inner[i+n:], '\\')
		if next < 0 {
			break
		}
		i += n + next
	}
	if b == nil {
		return nil
	}
	return b.done(inner)
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
