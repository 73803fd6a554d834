// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// misnestedWord returns the length of a word that begins at i, up to white space, if its brackets make no code of it.
func misnestedWord(s string, i int) int {
	w := strings.TrimRight(firstWord(s[i:]), "\"'`,;\\")
	if at := strings.IndexAny(w, "\"'`\\"); at >= 0 {
		w = w[:at]
	}
	if len(w) < 16 || len(w) > 128 || strings.Contains(w, "://") || !misnested(w) || !strings.ContainsAny(w, "$@#%^&*~!>") {
		return 0
	}
	return len(w)
}

// strong holds for what nobody writes but as a password: 8 characters or more, with digits among letters and
// capitals or symbols besides.
func strong(v string) bool {
	if !hasDigit(v) { // most words
		return false
	}
	v = strings.TrimRight(v, ".,;:!?)\"'`*|")
	if len(v) < 8 || len(v) > 128 || code(v) {
		return false
	}
	digits, letters, marks := 0, 0, 0
	leet := 0 // digits for letters: p4ssw0rt
	for i := range len(v) {
		c := v[i]
		switch kind := strongChars[c]; kind {
		case notStrong:
			return false
		case strongDigit:
			digits++
			if i > 0 && i+1 < len(v) && isLower(v[i-1]) && isLower(v[i+1]) {
				if leet++; leet == 2 {
					marks++
				}
			}
		case strongLetter:
			letters++
		case strongCapital:
			letters++
			marks++
		case strongMark:
			marks++
		}
	}
	return digits > 0 && letters >= 3 && marks > 0 && !dated(v)
}

// What a byte says about a password.
const (
	neutralChar = iota
	notStrong   // it stands between words, in paths, in markup and in code
	strongDigit
	strongLetter
	strongCapital // a capital, or a letter that is no ASCII
	strongMark
)

var strongChars = func() (of [256]uint8) {
	for c := range of {
		switch b := byte(c); {
		case b >= 0xc2 && b <= 0xc5 || b == 0xd0 || b == 0xd1: // Latin and Cyrillic letters
			of[c] = strongCapital
		case b <= ' ' || strings.IndexByte("/\\<>\"=()", b) >= 0:
			of[c] = notStrong
		case isDigit(b):
			of[c] = strongDigit
		case isLower(b):
			of[c] = strongLetter
		case isUpper(b):
			of[c] = strongCapital
		case strings.IndexByte("!@#$%^&*+~?_-", b) >= 0:
			of[c] = strongMark
		}
	}
	return of
}()

func hasDigit(s string) bool {
	for i := range len(s) {
		if isDigit(s[i]) {
			return true
		}
	}
	return false
}

// dated holds for words with dates, versions and counts: claude-3-5-sonnet-20241022, v1.2.3, GPT-4.
func dated(v string) bool {
	number := false
	for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return strings.ContainsRune("-_./:,@|#", r) }) {
		if !wordLike(part) {
			return false
		}
		number = number || isNumber(strings.TrimLeft(part, "vV"))
	}
	return number
}

// letterGroups returns the length of four groups of four lower-case letters: a password that Google gives out to programs.
func letterGroups(s string) int {
	const n = 4*4 + 3
	if len(s) < n || len(s) > n && isWord(s[n]) {
		return 0
	}
	for i := range n {
		if (i%5 == 4) != (s[i] == ' ') || i%5 != 4 && !isLower(s[i]) {
			return 0
		}
	}
	return n
}

// alone says whether a word is all that stands behind the name of a password on its line, and none that says something about passwords.
func (a *assigned) alone(s string, to int, v string) bool {
	if !a.spaced || a.verb || len(v) < 8 || to < len(s) && s[to] != '\n' && s[to] != '\r' && s[to] != '"' && s[to] != '\\' && s[to] != '<' {
		return false
	}
	lower := strings.ToLower(v)
	for i := range len(lower) {
		if !isLower(lower[i]) {
			return false
		}
	}
	return !aboutPasswords[lower]
}

// chosenWord says whether a word behind "my password is" is a password: it ends what is said, and is none that says something about passwords.
func chosenWord(s string, to int, v string) bool {
	if len(v) < 6 || to < len(s) && strings.IndexByte("\n\r\".,!<\\", s[to]) < 0 {
		return false
	}
	for i := range len(v) {
		if !isLower(v[i]) && !isDigit(v[i]) {
			return false
		}
	}
	for _, end := range [...]string{"ed", "ing", "ble", "ect", "alid"} { // rejected, not working, unusable, incorrect, invalid
		if strings.HasSuffix(v, end) {
			return false
		}
	}
	return !aboutPasswords[v]
}

// aboutPasswords are words that stand behind the name of a password and are none.
var aboutPasswords = wordSet(`required optional incorrect invalid expired accepted rejected mismatch matches protected encrypted unencrypted plaintext redacted hidden
	disabled enabled undefined unchanged provided generated missing password passwords username changeme whatever something anything nothing everything
	automatic automatically configured unknown available unavailable forgotten strength confirm confirmation validation verified verification failed
	successful successfully updated rotation rotated rotating default defaults sensitive secretstr credential credentials authentication authorization
	function variable argument parameter property interface string strings boolean integer number object optional nullable readonly writeonly external
	internal production staging development testing example examples placeholder description`)

// literal says whether the value of a name that is secret is one, and not code or prose about it.
func (a *assigned) literal(v string) bool {
	if a.quoted {
		return len(v) >= 3 && !strings.HasSuffix(v, ": ") && !prose(v)
	}
	if len(v) < 4 || code(v) || a.verb && quantified(v) {
		return false
	}
	of := kindsIn(v)
	mixed := of.digit && (of.capital || of.small || of.symbol) || of.symbol && len(v) >= 8 || of.capital && of.small && len(v) >= 10 || of.digit && !a.verb
	return mixed || !a.spaced && !a.verb && len(v) >= 6
}

// charKinds are the kinds of characters in a value.
type charKinds struct{ digit, small, capital, symbol bool }

// kindsIn returns which kinds of characters a value has. A capital at its begin does not count: words have
// one.
func kindsIn(v string) (of charKinds) {
	for i := range len(v) {
		switch c := v[i]; {
		case isDigit(c):
			of.digit = true
		case isUpper(c):
			of.capital = of.capital || i > 0
		case isLower(c):
			of.small = true
		case strings.IndexByte("!@#$%^&*+=~?/-", c) >= 0:
			of.symbol = true
		}
	}
	return of
}

// code says whether an unquoted value is an expression: a call, an index, a member, a variable.
func code(v string) bool {
	if digits, hex := strings.CutPrefix(v, "0x"); hex && len(digits) <= 8 && isHex(digits) { // a number
		return true
	}
	if strings.ContainsAny(v, "([{") && !strings.ContainsAny(v, "!@#%^&*~") {
		return true
	}
	if (v[0] == '*' || v[0] == '&') && dated("0-"+v[1:]) && v == strings.ToLower(v) { // an anchor of YAML, and what refers to one
		return true
	}
	switch {
	case strings.HasPrefix(v, "$"), strings.HasPrefix(v, "process.env"), strings.HasPrefix(v, "os."), strings.HasPrefix(v, "self."),
		strings.HasPrefix(v, "this."), strings.HasPrefix(v, "config."), strings.HasPrefix(v, "settings."), strings.HasPrefix(v, "args."), strings.HasPrefix(v, "await"), strings.HasPrefix(v, "exports."), strings.HasPrefix(v, "typing."):
		return true
	}
	return false
}

// prose says whether a quoted text is a sentence: several words of letters.
func prose(v string) bool {
	words := strings.Fields(v)
	if len(words) < 3 {
		return false
	}
	plain := 0
	for _, w := range words {
		if w = strings.Trim(w, ".,:;!?'\"()"); len(w) > 0 && strings.IndexFunc(w, func(r rune) bool { return r < 0x80 && !isAlpha(byte(r)) && r != '-' && r != '\'' }) < 0 {
			plain++
		}
	}
	return plain*4 >= len(words)*3
}

// plausible holds for pairs of letters that stand in words and in the abbreviations of programs.
var plausible = func() (pairs [26]uint32) {
	lists := []string{strings.Join(serviceNames, " ")}
	for _, words := range []map[string]bool{quantities, dataWords, openWords, ofOthers, said, aboutPasswords, placeholders} {
		for w := range words {
			lists = append(lists, w)
		}
	}
	for _, text := range append(lists, commonText, "ctx cfg svc db mgmt http https html css sql ssh tls ssl tcp udp dns cdn vpn cpu gpu json yaml yml src dst tmp usr var etc lib bin pkg cmd std prd prod stg dev "+
		"admin backup account password passwd pass root service host local node master worker billing staging alpha beta gamma delta summer winter autumn spring dragon monkey sunshine cluster demo guest legacy shop "+
		"orders customer payment invoice email mail login signup logout profile avatar upload download archive snapshot replica primary standby gateway proxy cache queue topic broker lambda bucket object edge zone "+
		"web api app bot job cron batch stream event audit monitor metric alert trace debug release build deploy pipeline runner agent scanner crawler parser compiler linter formatter generator validator jsmith jdoe project") {
		for i := 1; i < len(text); i++ {
			if isLower(text[i-1]) && isLower(text[i]) {
				pairs[text[i-1]-'a'] |= 1 << (text[i] - 'a')
			}
		}
	}
	return pairs
}()

// unlikely counts the pairs of letters in a text that stand in no word: of random letters about half do.
func unlikely(v string) (n int) {
	for i := 1; i < len(v); i++ {
		a, b := v[i-1]|0x20, v[i]|0x20
		if isLower(v[i-1]) && isUpper(v[i]) { // the next word of a name
			continue
		}
		if isLower(a) && isLower(b) && plausible[a-'a']>>(b-'a')&1 == 0 {
			n++
		}
	}
	return n
}

// invented holds for what somebody made up for a password, or had made, and gave to nothing else as a name: strong, with a symbol that names have not, with
// digits for letters, or with letters that give no words.
func invented(v string) bool {
	if !strong(v) || placeholder(v) || isHex(strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(v, "0x"), "^"), "-", "")) || mangled(v) {
		return false
	}
	if at := strings.IndexByte(v, '@'); at > 0 && strings.IndexByte(v[at:], '.') > 0 { // an address
		return false
	}
	if strings.Count(v, "-") >= 2 && v == strings.ToLower(v) && !strings.ContainsAny(v, "!$%^&*?~#+") { // web-7d9f8b6c5-x2x5q
		return false
	}
	digits, leet := 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case strings.IndexByte("!$%^&*?~", c) >= 0 && i > 0:
			return true
		case isDigit(c):
			if digits++; i > 0 && i+1 < len(v) && isAlpha(v[i-1]) && isAlpha(v[i+1]) {
				leet++
			}
		}
	}
	return leet >= 2 || unlikely(v) >= 1 && len(v) >= 10
}

// quantified holds for a number of one or two digits with a word behind it: 4-stellig, 6-digit.
func quantified(v string) bool {
	number, word, ok := strings.Cut(v, "-")
	return ok && len(number) <= 2 && isNumber(number) && len(word) >= 3 && plainWord(word)
}

// mangled holds for the last part of the name of a symbol as compilers of Rust write it, and for a name with such a part: verify::h8c39b688dd595a96.
func mangled(v string) bool {
	v = v[strings.LastIndexByte(v, ':')+1:]
	return len(v) == 17 && v[0] == 'h' && isHex(v[1:])
}

// idPrefixed holds for ids that say so: call_…, seti_….
func idPrefixed(v string) bool {
	i := strings.IndexAny(v, "_-")
	return i > 0 && i <= 8 && idPrefixes[v[:i]]
}

// keylike holds for what no program gives out but as a key: long, of capitals, small letters and digits, and neither an id with its prefix nor a digest.
func keylike(v string) bool {
	if len(v) < 20 || len(v) > 512 || !random(v) || hexDigest(v) || entropy(v) < 3.5 {
		return false
	}
	if idPrefixed(v) {
		return false
	}
	upper, lower, digit := 0, 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case isUpper(c):
			upper++
		case isLower(c):
			lower++
		case isDigit(c):
			digit++
		case strings.IndexByte("_-+/=.~", c) < 0:
			return false
		}
	}
	return digit >= 2 && (upper >= 3 && lower >= 3 || upper+digit == len(v) && upper >= 8 && len(v) >= 24 || lower+digit == len(v) && lower >= 8 && digit >= 5 && len(v) >= 24 && !isHex(v))
}
