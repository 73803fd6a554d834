// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"regexp/syntax"
	"unicode/utf8"
)

// linear matches patterns that are a row of characters and runs of characters, each of which ends where the next begins: most forms of keys. It gives
// the match that the pattern has, in one pass over the bytes that it looks at.
type linear struct {
	items     []run
	from, to  int // the items between which the value stands; all when to is 0
	mustEnd   bool
	afterWord bool
}

// run is a number of bytes of one class.
type run struct {
	of       class
	min, max int // max < 0: any
}

// inSecret are the characters before which no value ends, see secretEnd.
var inSecret = func() (c class) {
	for b := range c {
		c[b] = b < utf8.RuneSelf && (isWord(byte(b)) || b == '+' || b == '/' || b == '=' || b == '-')
	}
	return c
}()

// linearsOf returns the rows that a pattern is an alternation of, in their order; nil if it is none.
func linearsOf(re *syntax.Regexp) (list []*linear) {
	for _, row := range rows(re) {
		l := linearOf(row)
		if l == nil {
			return nil
		}
		list = append(list, l)
	}
	return list
}

// maxRows bounds the alternatives that a pattern is spelled out as.
const maxRows = 24

// rows spells out the alternations in a pattern; nil if there are too many.
func rows(re *syntax.Regexp) (out []*syntax.Regexp) {
	switch re.Op {
	case syntax.OpAlternate:
		if isSecretEnd(re) {
			break
		}
		for _, sub := range re.Sub {
			of := rows(sub)
			if out = append(out, of...); of == nil || len(out) > maxRows {
				return nil
			}
		}
		return out
	case syntax.OpCapture:
		for _, sub := range rows(re.Sub[0]) {
			row := *re
			row.Sub = []*syntax.Regexp{sub}
			out = append(out, &row)
		}
		return out
	case syntax.OpConcat:
		out = []*syntax.Regexp{{Op: syntax.OpConcat, Flags: re.Flags}}
		for _, sub := range re.Sub {
			of := rows(sub)
			if of == nil || len(out)*len(of) > maxRows {
				return nil
			}
			var next []*syntax.Regexp
			for _, head := range out {
				for _, tail := range of {
					next = append(next, &syntax.Regexp{Op: syntax.OpConcat, Flags: re.Flags, Sub: append(head.Sub[:len(head.Sub):len(head.Sub)], tail)})
				}
			}
			out = next
		}
		return out
	}
	return []*syntax.Regexp{re}
}

// linearOf returns nil for a pattern that is none.
func linearOf(re *syntax.Regexp) *linear {
	l := &linear{}
	if !l.add(re) || len(l.items) == 0 {
		return nil
	}
	for i, it := range l.items {
		if it.min == it.max {
			continue
		}
		for j := i + 1; j <= len(l.items); j++ {
			if j == len(l.items) {
				for b := range it.of {
					if it.of[b] && (l.mustEnd && !inSecret[b] || l.afterWord && !isWord(byte(b))) {
						return nil
					}
				}
				break
			}
			for b := range it.of {
				if it.of[b] && l.items[j].of[b] {
					return nil
				}
			}
			if l.items[j].min > 0 {
				break
			}
		}
	}
	return l
}

// add appends a pattern to the items. It is false for a pattern that is no row of runs.
func (l *linear) add(re *syntax.Regexp) bool {
	if l.mustEnd || l.afterWord {
		return false // something behind the end
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return true
	case syntax.OpLiteral:
		return l.addLiteral(re)
	case syntax.OpCharClass:
		return l.run(re, 1, 1)
	case syntax.OpRepeat, syntax.OpPlus, syntax.OpStar, syntax.OpQuest:
		return re.Flags&syntax.NonGreedy == 0 && l.addRepeated(re)
	case syntax.OpCapture:
		return l.addCapture(re)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !l.add(sub) {
				return false
			}
		}
		return true
	case syntax.OpWordBoundary:
		return l.addBoundary()
	case syntax.OpAlternate:
		l.mustEnd = isSecretEnd(re)
		return l.mustEnd && len(l.items) > 0
	}
	return false
}

// addLiteral appends a run of one byte for each character of a literal, which has to be ASCII.
func (l *linear) addLiteral(re *syntax.Regexp) bool {
	for _, r := range re.Rune {
		if r >= utf8.RuneSelf {
			return false
		}
		it := run{min: 1, max: 1}
		it.of[r] = true
		if c := byte(r); re.Flags&syntax.FoldCase != 0 && isAlpha(c) {
			it.of[c^0x20] = true
		}
		l.items = append(l.items, it)
	}
	return true
}

// addRepeated appends the run of a repetition.
func (l *linear) addRepeated(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpPlus:
		return l.run(re.Sub[0], 1, -1)
	case syntax.OpStar:
		return l.run(re.Sub[0], 0, -1)
	case syntax.OpQuest:
		return l.run(re.Sub[0], 0, 1)
	}
	return l.run(re.Sub[0], re.Min, re.Max)
}

// addCapture appends what is in a group. There is one group at most, and it is not empty.
func (l *linear) addCapture(re *syntax.Regexp) bool {
	if l.to > 0 {
		return false
	}
	from := len(l.items)
	if !l.add(re.Sub[0]) || l.mustEnd || l.afterWord || len(l.items) == from {
		return false
	}
	l.from, l.to = from, len(l.items)
	return true
}

// addBoundary notes the word boundary at the end of a pattern. The run before it consists of word characters.
func (l *linear) addBoundary() bool {
	if len(l.items) == 0 {
		return false
	}
	last := l.items[len(l.items)-1]
	for b := range last.of {
		if last.of[b] && !isWord(byte(b)) {
			return false
		}
	}
	l.afterWord = last.min > 0
	return l.afterWord
}

// isSecretEnd says whether a pattern is that of secretEnd.
func isSecretEnd(re *syntax.Regexp) bool {
	if re.Op != syntax.OpAlternate || len(re.Sub) != 2 || re.Sub[0].Op != syntax.OpCharClass || re.Sub[1].Op != syntax.OpEndText {
		return false
	}
	of, _ := classOf(re.Sub[0])
	for b := range of {
		if of[b] == inSecret[b] {
			return false
		}
	}
	return true
}

func (l *linear) run(re *syntax.Regexp, least, most int) bool {
	it := run{min: least, max: most}
	switch {
	case re.Op == syntax.OpLiteral && len(re.Rune) == 1 && re.Rune[0] < utf8.RuneSelf && re.Flags&syntax.FoldCase == 0:
		it.of[re.Rune[0]] = true
	case re.Op == syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if r >= utf8.RuneSelf {
					if re.Rune[i] == re.Rune[i+1] && (r == 0x17f || r == 0x212a) { // what s and k fold to; no key is written with them
						break
					}
					return false
				}
				it.of[r] = true
			}
		}
	default:
		return false
	}
	l.items = append(l.items, it)
	return true
}

// match returns the value in the match that begins at s[at], the end of the match, and how many bytes it looked at.
func (l *linear) match(s string, at int) (start, end, matched, work int, ok bool) {
	i := at
	start, end = at, -1
	for n := range l.items {
		it := &l.items[n]
		if n == l.from {
			start = i
		}
		from, limit := i, len(s)
		if it.max >= 0 {
			limit = min(limit, i+it.max)
		}
		for i < limit && it.of[s[i]] {
			i++
		}
		if i-from < it.min {
			return 0, 0, 0, i - at, false
		}
		if n == l.to-1 {
			end = i
		}
	}
	matched = i
	if l.to == 0 {
		start, end = at, i
	}
	switch {
	case l.mustEnd && i < len(s):
		if inSecret[s[i]] {
			return 0, 0, 0, i - at, false
		}
		matched++
	case l.afterWord && i < len(s) && isWord(s[i]):
		return 0, 0, 0, i - at, false
	}
	return start, end, matched, i - at, true
}
