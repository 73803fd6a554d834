// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Clean makes recorded text safe for a terminal. Control characters, escape sequences, bidirectional overrides and invalid UTF-8 are
// spelled out (\x1b, \u202e), so content cannot move the cursor, change colours or reorder the text beside it. Line feeds stay.
func Clean(s string) string {
	clean := true
	for _, r := range s {
		if r != '\n' && !printable(r) || r == utf8.RuneError {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || printable(r):
			b.WriteRune(r)
		case r == '\t':
			b.WriteString("    ")
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

// printable reports what a terminal shows as it is. The joiners inside emoji and scripts are allowed.
func printable(r rune) bool {
	return unicode.IsGraphic(r) || r == '\u200d' || r == '\u200c'
}

// line is Clean on one line: a line feed is shown as ⏎.
func line(s string) string {
	return strings.ReplaceAll(Clean(s), "\n", "⏎")
}

// columns is the number of terminal cells of a clean text.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += cells(r)
	}
	return n
}

func cells(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me), r == '\u200d', r == '\u200c':
		return 0
	case r < 0x1100:
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut shortens a clean text to limit cells, with … as the last one, and tells whether it did.
func cut(s string, limit int) (string, bool) {
	if len(s) <= limit || columns(s) <= limit {
		return s, false
	}
	limit = max(limit, 2)
	n := 0
	for i, r := range s {
		if n+cells(r) > limit-1 {
			return s[:i] + "…", true
		}
		n += cells(r)
	}
	return s, false
}

// wrap breaks a clean text into lines of at most limit cells, at spaces where there are any.
func wrap(s string, limit int) []string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		for columns(l) > limit {
			at := breakAt(l, limit)
			out = append(out, strings.TrimRight(l[:at], " "))
			l = strings.TrimLeft(l[at:], " ")
		}
		out = append(out, l)
	}
	return out
}

// breakAt returns the byte where a line of more than limit cells is broken: behind the last space of its second half, else where it
// is full.
func breakAt(l string, limit int) int {
	n, space := 0, 0
	for i, r := range l {
		if n+cells(r) > limit && i > 0 {
			if r == ' ' {
				return i
			}
			if space > i/2 {
				return space
			}
			return i
		}
		n += cells(r)
		if r == ' ' {
			space = i + 1
		}
	}
	return len(l)
}

// Short is Clean on one line of at most limit cells.
func Short(s string, limit int) string {
	if most := 4 * limit; len(s) > most+4 { // do not lay out what is not shown
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	s, _ = cut(line(s), limit)
	return s
}

// OneLine is Clean, and shows line feeds instead of breaking the line.
func OneLine(s string) string { return strings.ReplaceAll(Clean(s), "\n", "⏎") }
