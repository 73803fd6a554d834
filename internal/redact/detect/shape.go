// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// unaligned says that no match of a shape begins near a keyword.
const unaligned = -1 << 31

// maxHeads bounds the texts that the begin of a pattern is spelled out as.
const (
	maxHeads   = 64
	maxSpelled = 16 // of one character
)

// shapeOf finds a shape for a pattern and returns for each word how far before (negative) or behind its begin the shape is to be matched. It returns
// nil for a pattern that has to be searched around its words.
func shapeOf(re *syntax.Regexp, words []string, group int) (*shape, []int) {
	boundary, re := boundaryOf(re)
	heads := literalHeads(re, maxHeads)
	if offsets := align(heads, words); offsets != nil {
		if head, gap, tail := atGap(re); head != nil && group == 0 && head.MaxCap() == 0 {
			between, _ := classOf(gap.Sub[0])
			return &shape{kind: shapeGap, re: newMatcher(head.String(), false), boundary: boundary, between: between, gap: gap.Max, tail: newMatcher(tail.String(), true), window: windowOf(tail)}, offsets
		}
		return exactly(re, boundary, group), offsets
	}
	if re.Op != syntax.OpConcat || len(re.Sub) < 2 || group != 0 {
		return nil, nil
	}
	// Something before the word.
	fixed := 0
	for i, sub := range re.Sub[:len(re.Sub)-1] {
		rest := &syntax.Regexp{Op: syntax.OpConcat, Flags: re.Flags, Sub: re.Sub[i+1:]}
		min, max := length(sub)
		if max < 0 {
			max = windowBefore
		}
		if min != max {
			of, ok := class{}, false
			if sub.Op == syntax.OpRepeat || sub.Op == syntax.OpPlus {
				of, ok = classOf(sub.Sub[0])
			}
			if offsets := align(literalHeads(rest, maxHeads), words); i == 0 && ok && offsets != nil && rest.MaxCap() == 0 {
				return &shape{kind: shapeRun, re: newMatcher(rest.String(), false), boundary: boundary, before: of, min: min, max: max}, offsets
			}
			return nil, nil
		}
		fixed += min
		if offsets := align(literalHeads(rest, maxHeads), words); offsets != nil {
			for w := range offsets {
				if offsets[w] != unaligned {
					offsets[w] -= fixed
				}
			}
			return exactly(re, boundary, group), offsets
		}
	}
	return nil, nil
}

// exactly is the shape of a pattern that is matched at one place.
func exactly(re *syntax.Regexp, boundary bool, group int) *shape {
	sh := &shape{kind: shapeAnchored, re: newMatcher(re.String(), false), boundary: boundary, window: windowOf(re)}
	if group == 0 {
		sh.linear = linearsOf(re)
	}
	return sh
}

// windowOf is how many bytes a pattern is given: all that it can match and one character more, or a match would seem to go on.
func windowOf(re *syntax.Regexp) int {
	if _, most := length(re); most >= 0 {
		return min(most+utf8.UTFMax, windowAnchored)
	}
	return windowAnchored
}

// boundaryOf takes a word boundary off the begin of a pattern.
func boundaryOf(re *syntax.Regexp) (bool, *syntax.Regexp) {
	if re.Op != syntax.OpConcat || len(re.Sub) < 2 || re.Sub[0].Op != syntax.OpWordBoundary {
		return false, re
	}
	if len(re.Sub) == 2 {
		return true, re.Sub[1]
	}
	return true, &syntax.Regexp{Op: syntax.OpConcat, Flags: re.Flags, Sub: re.Sub[1:]}
}

// atGap divides a pattern at its first lazy repetition of a class: what comes before it, the repetition, what comes behind.
func atGap(re *syntax.Regexp) (head, gap, tail *syntax.Regexp) {
	if re.Op != syntax.OpConcat {
		return nil, nil, nil
	}
	for i, sub := range re.Sub {
		if sub.Op != syntax.OpRepeat || sub.Flags&syntax.NonGreedy == 0 || sub.Max < 0 || i == 0 || i == len(re.Sub)-1 {
			continue
		}
		if _, ok := classOf(sub.Sub[0]); ok && sub.Min == 0 {
			concat := func(sub []*syntax.Regexp) *syntax.Regexp {
				return &syntax.Regexp{Op: syntax.OpConcat, Flags: re.Flags, Sub: sub}
			}
			return concat(re.Sub[:i]), sub, concat(re.Sub[i+1:])
		}
	}
	return nil, nil, nil
}

// classOf returns the bytes of a class of characters. It is false for classes that hold some multi-byte characters and others not.
func classOf(re *syntax.Regexp) (c class, ok bool) {
	others := false
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		for b := range c {
			c[b] = re.Op == syntax.OpAnyChar || b != '\n'
		}
		return c, true
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for b := re.Rune[i]; b <= re.Rune[i+1] && b < utf8.RuneSelf; b++ {
				c[b] = true
			}
			others = others || re.Rune[i+1] == utf8.MaxRune
		}
		for b := utf8.RuneSelf; b < len(c); b++ {
			c[b] = others
		}
		return c, true
	}
	return c, false
}

// length returns how many bytes a pattern matches at least and at most; the latter is -1 when it has no bound.
func length(re *syntax.Regexp) (least, most int) {
	times := func(a, n int) int {
		if a < 0 || n < 0 {
			return -1
		}
		return a * n
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(string(re.Rune)), len(string(re.Rune))
	case syntax.OpCharClass:
		if of, ok := classOf(re); ok && of[utf8.RuneSelf] {
			return 1, utf8.UTFMax
		}
		return 1, 1
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, utf8.UTFMax
	case syntax.OpCapture:
		return length(re.Sub[0])
	case syntax.OpRepeat:
		a, b := length(re.Sub[0])
		return a * re.Min, times(b, re.Max)
	case syntax.OpQuest:
		_, b := length(re.Sub[0])
		return 0, b
	case syntax.OpPlus:
		a, _ := length(re.Sub[0])
		return a, -1
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			a, b := length(sub)
			if least += a; b < 0 || most < 0 {
				most = -1
			} else {
				most += b
			}
		}
		return least, most
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			a, b := length(sub)
			if i == 0 || a < least {
				least = a
			}
			if b < 0 || most < 0 {
				most = -1
			} else {
				most = max(most, b)
			}
		}
		return least, most
	case syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine:
		return 0, 0
	}
	return 0, -1
}

// align returns for each word where a match that begins with one of the heads begins, seen from the word. It returns nil if no word has
// such a place.
func align(heads, words []string) []int {
	var offsets []int
	for w, word := range words {
		offset := unaligned
		for _, head := range heads {
			if o := alignment(head, word); o != unaligned && (offset == unaligned || o == 0) {
				offset = o
			}
		}
		if offset == unaligned {
			continue
		}
		if offsets == nil {
			offsets = make([]int, len(words))
			for i := range offsets {
				offsets[i] = unaligned
			}
		}
		offsets[w] = offset
	}
	return offsets
}

// alignment returns where head begins, seen from where word does: both begin together, or one lies in the other by four bytes or more.
func alignment(head, word string) int {
	same := func(a, b string, least int) bool {
		n := min(len(a), len(b))
		return n >= least && a[:n] == b[:n]
	}
	if same(head, word, 2) {
		return 0
	}
	for o := 1; o < len(word); o++ {
		if same(head, word[o:], 4) {
			return o
		}
	}
	if len(head) > len(word) && same(head[1:], word, 4) {
		return -1
	}
	return unaligned
}

// literalHeads returns the literal texts, in lower case, that matches can begin with; nil if they are not known.
func literalHeads(re *syntax.Regexp, limit int) []string {
	heads, _ := spelled(re, limit)
	if len(heads) == 1 && heads[0] == "" {
		return nil
	}
	return heads
}

// spelled returns the texts that matches begin with, and whether those are the whole matches.
func spelled(re *syntax.Regexp, limit int) (heads []string, whole bool) {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpWordBoundary:
		return []string{""}, true
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}, true
	case syntax.OpCharClass:
		return spelledClass(re)
	case syntax.OpCapture:
		return spelled(re.Sub[0], limit)
	case syntax.OpRepeat, syntax.OpPlus:
		if re.Op == syntax.OpRepeat && re.Min == 0 {
			break
		}
		one, whole := spelled(re.Sub[0], limit)
		if !whole || len(one) != 1 {
			return one, false
		}
		return []string{strings.Repeat(one[0], max(re.Min, 1))}, re.Max == re.Min && re.Op == syntax.OpRepeat
	case syntax.OpAlternate:
		return spelledAlternatives(re, limit)
	case syntax.OpConcat:
		return spelledRow(re, limit)
	}
	return []string{""}, false
}

// spelledClass is spelled for a class of characters.
func spelledClass(re *syntax.Regexp) (heads []string, whole bool) {
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for c := re.Rune[i]; c <= re.Rune[i+1] && c < utf8.RuneSelf; c++ {
			if head := strings.ToLower(string(c)); len(heads) == 0 || heads[len(heads)-1] != head {
				heads = append(heads, head)
			}
			if len(heads) > maxSpelled {
				return []string{""}, false
			}
		}
	}
	return heads, true
}

// spelledAlternatives is spelled for one of several patterns.
func spelledAlternatives(re *syntax.Regexp, limit int) (heads []string, whole bool) {
	whole = true
	for _, sub := range re.Sub {
		h, all := spelled(sub, limit)
		if heads = append(heads, h...); len(heads) > limit {
			return []string{""}, false
		}
		whole = whole && all
	}
	if slices.Contains(heads, "") { // one of them can begin with anything
		return []string{""}, whole && len(heads) == 1
	}
	return heads, whole
}

// spelledRow is spelled for patterns one behind the other.
func spelledRow(re *syntax.Regexp, limit int) (heads []string, whole bool) {
	heads = []string{""}
	for _, sub := range re.Sub {
		h, all := spelled(sub, limit)
		if len(heads)*len(h) > limit {
			return heads, false
		}
		var next []string
		for _, a := range heads {
			for _, b := range h {
				next = append(next, a+b)
			}
		}
		if heads = next; !all {
			return heads, false
		}
	}
	return heads, true
}
