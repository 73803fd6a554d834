// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

// cardApart looks for a card whose groups of four digits, or of eight, are parted by what parts no other
// number: an underscore, a tab, or the end of a line. g is the group that begins the card. The number has to
// pass the check of cards and to begin as those of a network do.
func (f *finder) cardApart(g group) bool {
	s := f.s
	if g.end >= len(s) || s[g.end] != '_' && s[g.end] != '\n' && s[g.end] != '\t' && s[g.end] != '\r' {
		return false
	}
	separator := 1
	if s[g.end] == '\r' {
		separator = 2
	}
	by := s[g.end:min(len(s), g.end+separator)]
	at, size := g.start, g.len() // of a group: four digits, or eight
	number := make([]byte, 0, 16)
	for len(number) < 16 {
		if at+size > len(s) || !isNumber(s[at:at+size]) {
			return false
		}
		number = append(number, s[at:at+size]...)
		if at += size; len(number) < 16 {
			if at+separator > len(s) || s[at:at+separator] != by {
				return false
			}
			at += separator
		}
	}
	if at < len(s) && (isWord(s[at]) && s[at] != '_' || by != "\n" && by != "\r\n" && at+separator < len(s) && s[at:at+separator] == by && isDigit(s[at+separator])) {
		return false
	}
	if n := string(number); !network(n) || !luhn(n) || !notOneByte(n) {
		return false
	}
	f.add(g.start, at, f.on.rules.card)
	return true
}
