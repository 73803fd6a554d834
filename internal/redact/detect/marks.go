// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"unicode/utf8"
)

// marks say which bytes stand in a text that a detector waits for. Most texts are short and hold none of them: one pass over such a text costs less than
// a look for each. In long texts it costs more, and all marks are set: each detector looks for its own byte.
type marks uint16

const (
	markAt marks = 1 << iota
	markDigit
	markColon
	markTilde
	markEscape        // \\
	markPercent       // percent encoding, and + of forms
	markFold          // what fold looks for
	markBracket       // { [ and the token of redaction
	markData          // a line break, behind which an event of a stream may begin
	allMarks    marks = 1<<iota - 1
)

// maxMarked is the longest text that is read for its marks.
const maxMarked = 64

var marksByByte = func() (t [256]marks) {
	for b := range t {
		switch c := byte(b); {
		case c >= utf8.RuneSelf:
			t[b] = markFold
		case isDigit(c):
			t[b] = markDigit
		}
	}
	for bytes, m := range map[string]marks{"@": markAt, ":": markColon, "~": markTilde, "\\": markEscape, "%+": markPercent, "&\x00\x1b": markFold, "{[": markBracket, "\n": markData} {
		for i := range len(bytes) {
			t[bytes[i]] |= m
		}
	}
	return t
}()

func marksOf(s string) (m marks) {
	if len(s) > maxMarked {
		return allMarks
	}
	for i := range len(s) {
		m |= marksByByte[s[i]]
	}
	return m
}
