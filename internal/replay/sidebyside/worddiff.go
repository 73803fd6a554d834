// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// segment is a part of a text: marked where the other text has something else, folded where it is long.
type segment struct {
	Text string
	Mark bool
	Fold string // what stands in place of the text until it is opened
}

// maxWords bounds the table of a comparison by words; a stretch with more is marked as a whole.
const maxWords = 4 << 20

// mark compares two texts by words. Texts that are too long are shown around the place where they part.
func mark(a, b string) (inA, inB []segment) {
	if a == b {
		s := fold(shortened(a, divergentBytes))
		return s, s
	}
	if head := common(a, b); head > divergentBytes/2 {
		for head -= divergentBytes / 4; a[head]&0xc0 == 0x80; head-- {
		}
		a, b = "…"+a[head:], "…"+b[head:]
	}
	x, y := split(shortened(a, divergentBytes)), split(shortened(b, divergentBytes))
	head, tail := 0, 0
	for head < min(len(x), len(y)) && x[head] == y[head] {
		head++
	}
	for tail < min(len(x), len(y))-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	otherX, otherY := differing(x[head:len(x)-tail], y[head:len(y)-tail])
	return segments(x, head, otherX), segments(y, head, otherY)
}

// common is the length of the common beginning.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// maxWord is the longest word, in characters: a longer one, such as base64, is cut into pieces, so that not all of it is marked.
const maxWord = 32

// split cuts a text into words, stretches of space and single other characters. Points and the like within a word are a part of it, as in
// 26.8.
func split(s string) []string {
	var out []string
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		same := func(rune) bool { return false }
		switch {
		case unicode.IsSpace(r):
			same = unicode.IsSpace
		case inWord(r):
			same = func(r rune) bool { return inWord(r) || strings.ContainsRune(".-@%", r) }
		}
		for end := size; ; {
			r, n := utf8.DecodeRuneInString(s[end:])
			if n == 0 || !same(r) {
				word := strings.TrimRight(s[:end], ".")
				if word == "" {
					word = s[:end]
				}
				s = s[len(word):]
				for piece := range slices.Chunk([]rune(word), maxWord) {
					out = append(out, string(piece))
				}
				break
			}
			end += n
		}
	}
	return out
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}

// differing says which words are not in the longest common sequence.
func differing(x, y []string) (otherX, otherY []bool) {
	otherX, otherY = slices.Repeat([]bool{true}, len(x)), slices.Repeat([]bool{true}, len(y))
	if len(x) == 0 || len(y) == 0 || (len(x)+1)*(len(y)+1) > maxWords {
		return otherX, otherY
	}
	columns := len(y) + 1
	longest := make([]uint16, (len(x)+1)*columns) // divergentBytes words at most
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				longest[i*columns+j] = longest[(i+1)*columns+j+1] + 1
			} else {
				longest[i*columns+j] = max(longest[(i+1)*columns+j], longest[i*columns+j+1])
			}
		}
	}
	shared := 0 // words; quotes and commas that two texts share say nothing
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			otherX[i], otherY[j] = false, false
			if isWord(x[i]) {
				shared++
			}
			i, j = i+1, j+1
		case longest[(i+1)*columns+j] >= longest[i*columns+j+1]:
			i++
		default:
			j++
		}
	}
	if words := min(count(x), count(y)); words >= fewWords && shared*4 < words { // two texts of their own
		return slices.Repeat([]bool{true}, len(x)), slices.Repeat([]bool{true}, len(y))
	}
	return otherX, otherY
}

// fewWords are marked one by one, however little they share.
const fewWords = 8

func isWord(s string) bool { return strings.ContainsFunc(s, inWord) }

func count(all []string) (words int) {
	for _, s := range all {
		if isWord(s) {
			words++
		}
	}
	return words
}

// segments joins words; space between two marked words is marked with them.
func segments(all []string, head int, other []bool) []segment {
	marked := func(i int) bool {
		i -= head
		if i < 0 || i >= len(other) {
			return false
		}
		space := strings.TrimSpace(all[head+i]) == ""
		return other[i] || space && i > 0 && i+1 < len(other) && other[i-1] && other[i+1]
	}
	var out []segment
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && marked(end) == marked(start) {
			end++
		}
		parts := fold(strings.Join(all[start:end], ""))
		for i := range parts {
			parts[i].Mark = marked(start)
		}
		out = append(out, parts...)
		start = end
	}
	return out
}

// Limits of folding, in lines and in characters. A longer text is folded, and the kept amount is shown of its beginning and of
// its end.
const (
	foldLines, keptLines = 14, 4
	foldChars, keptChars = 1600, 400
)

// fold folds the middle of a long text, such as a stack trace.
func fold(text string) []segment {
	if lines := strings.SplitAfter(text, "\n"); len(lines) > foldLines {
		n := len(lines)
		return folded3(strings.Join(lines[:keptLines], ""), strings.Join(lines[keptLines:n-keptLines], ""), strings.Join(lines[n-keptLines:], ""), fmt.Sprintf("%d lines", n-2*keptLines))
	}
	if runes := []rune(text); len(runes) > foldChars {
		n := len(runes)
		return folded3(string(runes[:keptChars]), string(runes[keptChars:n-keptChars]), string(runes[n-keptChars:]), fmt.Sprintf("%d characters", n-2*keptChars))
	}
	return []segment{{Text: text}}
}

func folded3(head, middle, tail, what string) []segment {
	return []segment{{Text: head}, {Text: middle, Fold: "… " + what + " more …"}, {Text: tail}}
}
