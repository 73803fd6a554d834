// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

// phone looks for telephone numbers: international form, the national forms that cannot be mistaken for much else, and any number
// beside a word about telephones.
func (f *finder) phone(groups []group, total int) {
	s := f.s
	start, end := groups[0].start, groups[len(groups)-1].end
	bracket := start > 0 && s[start-1] == '('
	if bracket {
		start--
	}
	plus := start > 0 && s[start-1] == '+'
	if plus {
		start--
	}
	if start > 0 && (isWord(s[start-1]) || s[start-1] == '.' || s[start-1] == ',' && start > 1 && isDigit(s[start-2])) {
		return
	}
	ok := false
	switch {
	case plus:
		ok = total >= 8 && total <= 15 && s[groups[0].start] != '0' && uniform(groups)
	case f.k.hint&hintPhone != 0:
		ok = total >= 6 && total <= 15
	default:
		ok = total <= 15 && national(s, groups, total, bracket)
	}
	if !ok && total >= 7 && total <= 15 && uniform(groups) && (len(groups) == 1 || !dateLike(s, groups)) {
		ok = f.near(start, start, 14, phoneWords) && total <= 13 // directly behind the word
	}
	if !ok && total >= 7 && total <= 15 && !dateLike(s, groups) && uniform(groups) {
		ok = f.near(start, end, 40, phoneWords) || len(groups) > 1 && f.near(start, end, 40, talkWords)
	}
	if ok {
		end += extensionLen(s[end:])
		f.add(start, end, f.on.rules.phone)
	}
}

// uniform says whether groups are joined as a person writes a number: a decimal point or a slash stands between few of them.
func uniform(groups []group) bool {
	for _, g := range groups[1:] {
		if g.sep == '/' && len(groups) > 2 || g.len() > 9 {
			return false
		}
	}
	return true
}

// national says whether groups have the form of a national number without a word that says so.
func national(s string, groups []group, total int, bracket bool) bool {
	n := len(groups)
	first := s[groups[0].start:groups[0].end]
	// (555) 123-4567, (07) 5331 0577
	if bracket && n >= 2 && groups[1].sep == ')' && len(first) >= 2 && len(first) <= 4 && total >= 7 && total <= 12 {
		return true
	}
	// 555-123-4567, 1-555-123-4567, 555.123.4567
	nanp := groups
	if n == 4 && first == "1" {
		nanp = groups[1:]
	}
	if len(nanp) == 3 && nanp[0].len() == 3 && nanp[1].len() == 3 && nanp[2].len() == 4 && nanp[1].sep == nanp[2].sep &&
		(nanp[1].sep == '-' || nanp[1].sep == '.') && s[nanp[0].start] >= '2' {
		return true
	}
	// 00 before the country
	if n >= 3 && len(first) > 2 && first[:2] == "00" && first[2] != '0' && total >= 10 || first == "00" && n >= 3 && total >= 10 {
		return uniform(groups)
	}
	// 0 before the area: 06 12 34 56 78, 0487 98 11 92, 020 7946 0958, 0961-7596216
	if first[0] == '0' && len(first) >= 2 && first[1] != '0' && total >= 9 && total <= 12 && n >= 2 && n <= 6 {
		if n == 2 {
			return len(first) >= 3 && len(first) <= 5 && total >= 10 && total <= 11 && groups[1].sep != '.'
		}
		for _, g := range groups[1:] {
			if g.sep != groups[1].sep || g.len() < 2 || g.sep == '.' && g.len() > 2 || g.sep == '/' {
				return false
			}
		}
		return true
	}
	return false
}

// dateLike says whether groups begin as a date or a time stamp does: 2025-01-31, 31.01.2025.
func dateLike(s string, groups []group) bool {
	if len(groups) < 3 {
		return len(groups) == 1 && groups[0].len() >= 10 && (s[groups[0].start] == '1' || s[groups[0].start] == '2') // seconds and finer
	}
	a, b, c := groups[0], groups[1], groups[2]
	if b.len() > 2 || b.sep != c.sep {
		return false
	}
	year := func(g group) bool {
		return g.len() == 4 && (s[g.start:g.start+2] == "19" || s[g.start:g.start+2] == "20")
	}
	return year(a) && c.len() <= 2 || a.len() <= 2 && year(c)
}
