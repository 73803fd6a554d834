// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// Keys in several pieces of a text: string literals that an operator joins ("sk-…" + "…"), literals on lines
// one below the other, and a key that was wrapped at the end of a line. The pieces are put together, and what
// a rule finds across them goes from all of them.

var piecesJoined = seeker{rule: "key-in-pieces", class: Known, text: "keys in string literals that are joined, and keys that are wrapped over lines", words: []string{"\"~+~\"", "'~+~'", "`~+~`", "\"~+\n", "'~+\n", "\"~.~\"", "'~.~'", "\"~..~\"", "'~..~'", "\"~||~\"", "'~||~'", "\"~&~\"", "'~&~'", "\"~&~_", "\"\n~~", "'\n~~", "\"~\\\n", "'~\\\n", "\"~<>~\"", "\"~++~\"", "'~.\n", "\"~.\n"},
	find: func(f *finder, _ ruleID, at, _ int) {
		if f.literal == 0 || at < f.literal {
			f.literal = at + 1
		}
	}}

// joint returns where a literal goes on behind the quote at i: behind an operator, or on the next line. It
// returns 0 if it does not.
func joint(s string, i int) int {
	quote := s[i]
	at := spaces(s, i+1, 1)
	broken := strings.IndexByte(s[i+1:at], '\n') >= 0
	operator := 0
	for _, op := range [...]string{"..", "||", "++", "<>", "& _", "+", ".", "&", "\\"} {
		if strings.HasPrefix(s[at:], op) {
			operator = len(op)
			break
		}
	}
	if operator > 0 {
		at = spaces(s, at+operator, 1)
	} else if !broken && at-i > 3 {
		return 0
	}
	if at < len(s) && at > i+1 && s[at] == quote {
		return at + 1
	}
	return 0
}

// joined looks at the text with its literals joined, from the first that may be.
func (f *finder) joined() {
	if f.literal == 0 {
		return
	}
	s := f.s
	var b viewBuilder
	for i := max(0, f.literal-1); i < len(s); {
		n := strings.IndexAny(s[i:], "\"'`")
		if n < 0 {
			break
		}
		i += n
		next := joint(s, i)
		if next == 0 || i == 0 || !pieceEnd(s, i) || next >= len(s) || !isBase64(s[next]) {
			i++
			continue
		}
		b.decode(s, i, next, "")
		i = next
	}
	f.work += len(s)
	if len(b.at) > 0 {
		f.across(b.done(s))
	}
}

// pieceEnd says whether a piece of a key may end before i: with characters of one, and no word.
func pieceEnd(s string, i int) bool {
	from := i
	for from > 0 && i-from < 64 && (isBase64(s[from-1]) || s[from-1] == '.') {
		from--
	}
	return i-from >= 4 && (hasDigit(s[from:i]) || i-from <= 8 || strings.IndexAny(s[from:i], "-_") > 0 || i < len(s) && from > 0 && s[from-1] == s[i])
}

// across adds what is found in a view over a place where something was left out of it.
func (f *finder) across(v *view) {
	left := v.at
	for _, x := range f.r.look(v.text, f.k, f.user, f.decoded+1, f.sure, true) { // in order, as the places are
		for len(left) > 0 && left[0].decoded <= x.start {
			left = left[1:]
		}
		from := x.start
		for ; len(left) > 0 && left[0].decoded < x.end; left = left[1:] { // each piece by itself
			start, _ := v.raw(from, from+1)
			f.add(start, left[0].raw, x.rule)
			from = left[0].decoded
		}
		if from > x.start {
			start, end := v.raw(from, x.end)
			f.add(start, end, x.rule)
		}
	}
}

// wrappedKeys looks for keys that go on behind the end of a line.
func (f *finder) wrappedKeys() {
	s := f.s
	var b viewBuilder
	for i := 0; i < len(s); i++ {
		n := strings.IndexByte(s[i:], '\n')
		if n < 0 {
			break
		}
		i += n
		to, next := wrapAt(s, i)
		if next == 0 {
			continue
		}
		end := next
		for end < len(s) && end-next < 256 && (isBase64(s[end]) || s[end] == '.' || s[end] == '=') {
			end++
		}
		f.work += end - next
		if end-next < 8 || end < len(s) && strings.IndexByte("\n\r\"'`", s[end]) < 0 || !halfKey(s[next:end]) {
			continue
		}
		from := to
		for from > 0 && to-from < 256 && (isBase64(s[from-1]) || s[from-1] == '.') {
			from--
		}
		f.work += to - from
		if to-from < 12 || !halfKey(s[from:to]) {
			continue
		}
		b.decode(s, to, next, "")
		i = end - 1
	}
	if len(b.at) > 0 {
		f.across(b.done(s))
	}
}

// wrapAt returns where a key may end before the end of a line at i, and where it may go on behind it. next
// is 0 if it cannot.
func wrapAt(s string, i int) (to, next int) {
	to = i
	if to > 0 && s[to-1] == '\r' {
		to--
	}
	if to > 0 && (s[to-1] == '\\' || s[to-1] == '=') { // a shell, quoted-printable
		to--
	}
	if to < 12 || !isBase64(s[to-1]) && s[to-1] != '.' || i+9 > len(s) {
		return 0, 0
	}
	next = i + 1
	for next < len(s) && s[next] == ' ' && next-i < 24 {
		next++
	}
	if next >= len(s) || !isBase64(s[next]) {
		return 0, 0
	}
	return to, next
}

// halfKey says whether a line can be a part of a key, and no word.
func halfKey(v string) bool { return hasDigit(v) && randomish(v) }
