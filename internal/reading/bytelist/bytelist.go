// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package bytelist knows texts that were written as the list of their bytes. Serialisers that make JSON return bytes, and an instrumentation that
// takes these for any other sequence writes each message as some thousand integers (LangSmith's exporter below Logfire's). What reads telemetry and
// what redacts it must see the same text in them.
package bytelist

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// least is how many bytes make a text: a few numbers may stand for letters by chance.
const least = 16

// Text is the text of a list of integers that are its bytes in UTF-8. ok is false when they are anything else, also when a character is one that no
// text holds.
func Text(list pcommon.Slice) (text string, ok bool) {
	if list.Len() < least || list.At(0).Type() != pcommon.ValueTypeInt || list.At(list.Len()-1).Type() != pcommon.ValueTypeInt {
		return "", false
	}
	bytes := make([]byte, list.Len())
	for i, v := range list.All() {
		n := v.Int()
		if v.Type() != pcommon.ValueTypeInt || n < 0 || n > 0xFF || n < ' ' && n != '\t' && n != '\n' && n != '\r' {
			return "", false
		}
		bytes[i] = byte(n)
	}
	if !IsText(string(bytes)) {
		return "", false
	}
	return string(bytes), true
}

// IsText reports UTF-8 without the characters that only something else than a text holds.
func IsText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' })
}
