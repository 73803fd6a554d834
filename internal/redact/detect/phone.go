// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

// phone looks for telephone numbers: the international form, the national forms that cannot be mistaken for
// much else, and any number beside a word about telephones.
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
	if f.phoneForm(groups, total, plus, bracket) || f.phoneNear(groups, total, start, end) {
		f.add(start, end+extensionLen(s[end:]), f.on.rules.phone)
	}
}

// phoneForm says whether groups have the form of a telephone number by themselves, or under the name of one.
func (f *finder) phoneForm(groups []group, total int, plus, bracket bool) bool {
	switch {
	case plus:
		return total >= 8 && total <= 15 && f.s[groups[0].start] != '0' && uniform(groups)
	case f.k.hint&hintPhone != 0:
		return total >= 6 && total <= 15
	}
	return total <= 15 && national(f.s, groups, total, bracket)
}

// phoneNear says whether a word near groups says that they are a telephone number.
func (f *finder) phoneNear(groups []group, total, start, end int) bool {
	if total < 7 || total > 15 || !uniform(groups) {
		return false
	}
	dated := dateLike(f.s, groups)
	// Directly behind the word.
	if (len(groups) == 1 || !dated) && total <= 13 && f.near(start, start, 14, phoneWords) {
		return true
	}
	return !dated && (f.near(start, end, 40, phoneWords) || len(groups) > 1 && f.near(start, end, 40, talkWords))
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
	first := s[groups[0].start:groups[0].end]
	return bracket && bracketedArea(groups, total) || northAmerican(s, groups, first) || behindExitCode(groups, total, first) || behindTrunkPrefix(groups, total, first)
}

// bracketedArea holds for an area in brackets: (555) 123-4567, (07) 5331 0577.
func bracketedArea(groups []group, total int) bool {
	n := groups[0].len()
	return len(groups) >= 2 && groups[1].sep == ')' && n >= 2 && n <= 4 && total >= 7 && total <= 12
}

// northAmerican holds for 555-123-4567, 1-555-123-4567 and 555.123.4567.
func northAmerican(s string, groups []group, first string) bool {
	if len(groups) == 4 && first == "1" {
		groups = groups[1:]
	}
	if len(groups) != 3 || groups[0].len() != 3 || groups[1].len() != 3 || groups[2].len() != 4 {
		return false
	}
	sep := groups[1].sep
	return sep == groups[2].sep && (sep == '-' || sep == '.') && s[groups[0].start] >= '2'
}

// behindExitCode holds for 00 before the code of a country.
func behindExitCode(groups []group, total int, first string) bool {
	if len(groups) < 3 || total < 10 || first != "00" && !(len(first) > 2 && first[:2] == "00" && first[2] != '0') {
		return false
	}
	return uniform(groups)
}

// behindTrunkPrefix holds for 0 before the area: 06 12 34 56 78, 0487 98 11 92, 020 7946 0958, 0961-7596216.
func behindTrunkPrefix(groups []group, total int, first string) bool {
	n := len(groups)
	if len(first) < 2 || first[0] != '0' || first[1] == '0' || total < 9 || total > 12 || n < 2 || n > 6 {
		return false
	}
	sep := groups[1].sep
	if n == 2 {
		return len(first) >= 3 && len(first) <= 5 && total >= 10 && total <= 11 && sep != '.'
	}
	for _, g := range groups[1:] {
		if g.sep != sep || g.len() < 2 || g.sep == '.' && g.len() > 2 || g.sep == '/' {
			return false
		}
	}
	return true
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
