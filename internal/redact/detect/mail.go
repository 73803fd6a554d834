// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"net/netip"
	"strings"
)

// emails looks at every @.
func (f *finder) emails() {
	if f.on.rules.email == none {
		return
	}
	s := f.s
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '@')
		if i < 0 {
			return
		}
		at := from + i
		from = at + 1
		start, end := localBefore(s, at), domainBehind(s, at)
		if !mailDomain(s[at+1 : end]) {
			continue
		}
		if start == at {
			if at == 0 || s[at-1] != '"' {
				continue
			}
			if start = quotedLocal(s, at); start == at {
				continue
			}
		} else if at-start > 64 || s[at-1] == '.' || s[start:at] == "git" || f.userInfo(start, at) {
			continue
		}
		f.add(start, end, f.on.rules.email)
		from = end
	}
}

// localBefore returns where the local part of an address begins that ends at at, without the punctuation that
// stands before it.
func localBefore(s string, at int) int {
	start := at
	for start > 0 && at-start <= 64 && localPart(s[start-1]) {
		start--
	}
	for start < at && strings.IndexByte(".-'/=*", s[start]) >= 0 {
		start++
	}
	return start
}

// domainBehind returns where the domain of an address ends whose @ stands at at.
func domainBehind(s string, at int) int {
	end := at + 1
	for end < min(len(s), at+256) && (isAlnum(s[end]) || s[end] == '.' || s[end] == '-') {
		end++
	}
	for end > at && (s[end-1] == '.' || s[end-1] == '-') {
		end--
	}
	return end
}

// quotedLocal returns where the quoted local part of an address begins that ends before the @ at at: "ada
// lovelace"@example.com. It returns at if there is none.
func quotedLocal(s string, at int) int {
	for i := at - 2; i >= 0 && at-i <= 66 && s[i] >= ' '; i-- {
		if s[i] != '"' || i > 0 && s[i-1] == '\\' && i > 1 && !strings.HasSuffix(s[:at], "\\\"") {
			continue
		}
		if i == at-2 || i > 0 && strings.IndexByte(" <:,(='\\\"[;>|\t\n", s[i-1]) < 0 {
			return at
		}
		return i
	}
	return at
}

// userInfo says whether what stands before the @ is the user info of a URL: a password, or a user that is a token.
func (f *finder) userInfo(start, at int) bool {
	s := f.s
	i := f.info.last(s, start, 512, &endsUserInfo)
	return i >= 3 && s[i-3:i] == "://" && (strings.IndexByte(s[i:at], ':') >= 0 || at-i >= 16 && randomish(s[i:at]))
}

// endsUserInfo holds for what stands in no user info.
var endsUserInfo = classWith("/ \t\r\n\"'<>")

// localPart holds for what stands before the @ of real addresses. RFC 5321 allows = & / ? # and more, which are what a URL or a form separates
// its members by.
func localPart(c byte) bool {
	return isAlnum(c) || strings.IndexByte(".'+-_~", c) >= 0
}

// mailDomain holds for at least two labels, the last of which is no number. Retina images (logo@2x.png) are not mail.
func mailDomain(d string) bool {
	dot := strings.LastIndexByte(d, '.')
	if dot <= 0 || len(d)-dot-1 < 2 || strings.Contains(d, "..") || d[0] == '-' || d[0] == '.' {
		return false
	}
	for i := dot + 1; i < len(d); i++ {
		if isDigit(d[i]) || d[i] == '-' {
			return strings.HasPrefix(d[dot+1:], "xn--")
		}
	}
	return !(isDigit(d[0]) && dot <= 2 && d[1] == 'x')
}

// ipv4 looks for four numbers below 256 with dots between them.
func (f *finder) ipv4(groups []group) {
	s := f.s
	for a := 0; a+3 < len(groups); a++ {
		if a > 0 && groups[a].sep == '.' || groups[a+1].sep != '.' || groups[a+2].sep != '.' || groups[a+3].sep != '.' {
			continue
		}
		start, end := groups[a].start, groups[a+3].end
		if a+4 < len(groups) && groups[a+4].sep == '.' || end < len(s) && (isWord(s[end]) || s[end] == '.' && end+1 < len(s) && isWord(s[end+1])) {
			continue
		}
		addr, err := netip.ParseAddr(s[start:end])
		if err != nil || !personalIP(addr) || version(s, start, addr) || heading(s, start, end, addr) || numbering(s, start, end, addr) {
			continue
		}
		f.add(start, end, f.on.rules.ip)
		f.hostPair(end)
		a += 3
	}
}

// personalIP holds for addresses that belong to somebody: not the loopback, not 0.0.0.0, not multicast, no mask.
func personalIP(a netip.Addr) bool {
	return !a.IsLoopback() && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLinkLocalUnicast() && (!a.Is4() || a.As4()[0] != 255)
}

// heading says whether a dotted number at the begin of a line is that of a heading: small numbers before a capitalised word, and the line before or behind
// begins likewise (1.2.3.4 Scope). A line of a hosts file has a name in small letters.
func heading(s string, start, end int, a netip.Addr) bool {
	b := a.As4()
	if max(b[0], b[1], b[2], b[3]) > 40 || start > 0 && s[start-1] != '\n' || end+2 >= len(s) || s[end] != ' ' || !isUpper(s[end+1]) || !isLower(s[end+2]) {
		return false
	}
	if next := strings.IndexByte(s[end:min(len(s), end+256)], '\n'); next >= 0 && numberedLine(s[end+next+1:]) {
		return true
	}
	before := strings.LastIndexByte(s[max(0, start-256):max(0, start-1)], '\n')
	return start > 1 && (before >= 0 || start <= 256) && numberedLine(s[max(0, start-256)+before+1:])
}

// numberedLine says whether a text begins with a number of two parts or more and a capitalised word.
func numberedLine(s string) bool {
	i, dots := 0, 0
	for i < len(s) && (isDigit(s[i]) || s[i] == '.') && i < 24 {
		if s[i] == '.' {
			dots++
		}
		i++
	}
	return dots > 0 && i+2 < len(s) && s[i] == ' ' && isUpper(s[i+1]) && isLower(s[i+2])
}

// sectionWords stand before the number of a section.
var sectionWords = []string{"item", "items", "sect.", "subsection", "artikel", "art\u00edculo", "articolo", "artigo", "\u0440\u0430\u0437\u0434\u0435\u043b", "\u043f\u0443\u043d\u043a\u0442", "\u043f.", "\u7b2c", "ziffer", "kap.", "abs.", "r\u00e8gle", "regel", "requirement", "requirements", "pci", "dss", "iso", "cis", "nist", "control", "step", "point", "wbs", "par.", "sezione", "secci\u00f3n", "se\u00e7\u00e3o", "hoofdstuk", "paragraaf", "punkt", "rozdzia\u0142", "paragraf", "chap.", "chapitre", "cap\u00edtulo", "capitolo", "clauses", "task", "oid", "oids", "firmware", "build", "anhang", "tabelle", "abbildung", "fig.", "\u00a7", "section", "sections", "chapter", "clause", "paragraph", "para", "sec.", "art.", "article", "annex", "appendix", "abschnitt", "kapitel", "rule", "table", "figure", "rfc"}

// version says whether a dotted number is one: behind a v, a product name and a slash (Chrome/131.0.0.0), or the word.
func version(s string, start int, a netip.Addr) bool {
	if a.Is4() && a.As4()[0] == 0 {
		return true
	}
	if start == 0 {
		return false
	}
	if b := a.As4(); max(b[0], b[1], b[2], b[3]) <= 40 && containsWord(s[max(0, start-60):start], sectionWords) {
		return true
	}
	before := strings.ToLower(s[max(0, start-12):start])
	switch {
	case strings.HasSuffix(before, "v"), strings.Contains(before, "version"), strings.HasSuffix(before, "=="), strings.HasSuffix(before, "release "):
		return true
	case before[len(before)-1] == '/' && len(before) > 1 && isAlpha(before[len(before)-2]):
		b := a.As4()
		return b[3] == 0 || b[2] == 0
	}
	return false
}

// ipv6 looks at every text of hexadecimal digits and colons.
func (f *finder) ipv6() {
	if !f.on.ip {
		return
	}
	s := f.s
	for from := 0; ; {
		i := strings.IndexByte(s[from:], ':')
		if i < 0 {
			return
		}
		at := from + i
		from = at + 1
		if from >= len(s) || s[from] != ':' && !isHex(s[from:from+1]) {
			continue
		}
		start := at
		for start > 0 && isHex(s[start-1:start]) && at-start < 4 {
			start--
		}
		end := from
		for end < len(s) && (isHex(s[end:end+1]) || s[end] == ':' || s[end] == '.') && end-start < 46 {
			end++
		}
		from = max(from, end)
		if start > 0 && isWord(s[start-1]) || end < len(s) && isWord(s[end]) {
			continue
		}
		text := strings.TrimRight(s[start:end], ".:")
		if strings.HasSuffix(s[start:end], "::") {
			text = s[start:end]
		}
		if strings.Count(text, ":") < 3 || !strings.ContainsAny(text, "0123456789") {
			continue
		}
		if a, err := netip.ParseAddr(text); err == nil && personalIP(a) {
			f.add(start, start+len(text), f.on.rules.ip)
		}
	}
}
