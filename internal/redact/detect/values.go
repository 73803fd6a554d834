// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"encoding/base64"
	"strings"
)

// notOneByte refuses values such as xxxx and 0000.
func notOneByte(v string) bool {
	for i := 1; i < len(v); i++ {
		if v[i] != v[0] {
			return true
		}
	}
	return false
}

// randomish refuses values that are words: a key has digits, or upper-case letters among lower-case ones.
func randomish(v string) bool {
	var upper, lower, digit, changes int
	var last byte
	for i := range len(v) {
		var class byte
		switch c := v[i]; {
		case isUpper(c):
			upper++
			class = 'A'
		case isLower(c):
			lower++
			class = 'a'
		case isDigit(c):
			digit++
			class = '0'
		}
		if class != last && class != 0 && last != 0 {
			changes++
		}
		last = class
	}
	if upper+lower+digit < len(v)/2 || !notOneByte(v) {
		return false
	}
	return digit >= 2 || changes >= 3 && upper > 0 && lower > 0
}

// passwordLike holds for what people choose when they are told to: letters and digits, no white space.
func passwordLike(v string) bool {
	digit, letter := false, false
	for i := range len(v) {
		switch c := v[i]; {
		case c <= ' ':
			return false
		case isDigit(c):
			digit = true
		case isAlpha(c):
			letter = true
		}
	}
	return len(v) >= 6 && len(v) <= 128 && digit && letter
}

// random says whether a value looks like a generated credential. Such a value is long enough, without white space and of several
// kinds of characters. It is no composition of words, no path, no address and no date.
func random(v string) bool {
	if len(v) < 12 || len(v) > 4096 || strings.ContainsAny(v, " \t\r\n") || !randomish(v) {
		return false
	}
	e := entropy(v)
	if e < 2.6 || len(v) >= 20 && e < 3 {
		return false
	}
	if strings.Contains(v, "://") || strings.HasPrefix(v, "/") || strings.HasPrefix(v, "./") {
		return false
	}
	if len(v) >= 20 && (shuffled(v) && !symbol(v) || grouped(v)) {
		return true
	}
	// Words, versions, dates: every part is letters with at most a short number, or a short number.
	odd := 0
	for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return strings.ContainsRune("-_./:,@|#", r) }) {
		if !wordLike(part) {
			odd += len(part)
		}
	}
	return odd >= 8 && odd*2 >= len(v) || odd >= 16
}

// grouped holds for four groups or more of as many capitals and digits, as keys are printed that somebody types: XXXXX-XXXXX-XXXXX-XXXXX-XXXXX.
func grouped(v string) bool {
	n := strings.IndexByte(v, '-')
	if n < 4 || n > 8 || (len(v)+1)%(n+1) != 0 || len(v) < 4*n+3 {
		return false
	}
	digits, letters := 0, 0
	for i := range len(v) {
		switch c := v[i]; {
		case (i+1)%(n+1) == 0:
			if c != '-' {
				return false
			}
		case isDigit(c):
			digits++
		case isUpper(c):
			letters++
		default:
			return false
		}
	}
	return digits >= 2 && letters >= 4
}

// shuffled holds for letters whose case changes as often as not, which no composition of words does.
func shuffled(v string) bool {
	changes := 0
	for i := range len(v) {
		if !isUpper(v[i]) && !isLower(v[i]) {
			return false
		}
		if i > 0 && isUpper(v[i]) != isUpper(v[i-1]) {
			changes++
		}
	}
	return changes*3 >= len(v)
}

// wordLike holds for letters of one case (or capitalised parts of camelCase) with a short number behind or before, and for numbers.
func wordLike(part string) bool {
	letters := strings.TrimRight(strings.TrimLeft(part, "0123456789"), "0123456789")
	if len(part)-len(letters) > 4 && letters != "" {
		return symbol(part)
	}
	runs, length := 0, 0
	for i := range len(letters) {
		c := letters[i]
		if !isUpper(c) && !isLower(c) {
			return symbol(part)
		}
		if isUpper(c) && (i == 0 || isLower(letters[i-1])) {
			runs++
		}
		length++
	}
	// Words have four letters or more on average and hold a vowel.
	return runs <= 1 || length >= runs*4 || symbol(part)
}

// placeholder says whether a value stands for one: a template, a mask, a type, a word of documentation.
func placeholder(v string) bool {
	t := strings.ToLower(strings.Trim(v, " \t\r\n\"'`*<>[](){}$%.,;:!?"))
	if t == "" {
		return true
	}
	switch {
	case strings.HasPrefix(v, "${"), strings.HasPrefix(v, "$("), strings.HasPrefix(v, "{{"), strings.HasPrefix(v, "<%"),
		strings.HasPrefix(v, "%(") && strings.HasSuffix(v, ")s"),
		strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">"),
		strings.HasPrefix(v, "{") && strings.HasSuffix(v, "}") && !strings.ContainsAny(v, `":,`),
		strings.HasPrefix(v, "[Scrubbed due to"):
		return true
	}
	if strings.HasPrefix(v, "$") && len(v) > 1 && upperName(v[1:]) || strings.HasPrefix(v, "%") && strings.HasSuffix(v, "%") && len(v) > 2 && upperName(v[1:len(v)-1]) {
		return true
	}
	if v[0] == '{' { // {password!r} of Python
		if name, shown := strings.CutSuffix(strings.TrimSuffix(v[1:], "}"), "!r"); shown && symbolic(name) {
			return true
		}
	}
	if short, cut := strings.CutSuffix(v, "..."); cut && len(short) <= 8 && !hasDigit(short) { // sk-...
		return true
	}
	return placeholders[t] || invitation(t) || wordPath(v) || !notOneByte(t) && len(t) > 1
}

// invitation holds for what asks a reader to put a value there: your-key-here, insert_token, replace-me.
func invitation(v string) bool {
	i := strings.IndexAny(v, "-_ ")
	if i < 0 || !invites[v[:i]] {
		return false
	}
	for j := range len(v) {
		if !isLower(v[j]) && strings.IndexByte("-_ ", v[j]) < 0 {
			return false
		}
	}
	return true
}

var invites = wordSet("your my insert replace put add enter paste change some example dummy sample test")

// wordPath holds for absolute paths of words: PWD=/home/ada/project.
func wordPath(v string) bool {
	if len(v) < 4 || v[0] != '/' || strings.Count(v, "/") < 2 {
		return false
	}
	for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == '/' || r == '-' || r == '_' || r == '.' }) {
		if !wordLike(part) || len(part) > 24 {
			return false
		}
	}
	return true
}

// hexDigest holds for what looks like an MD5, SHA-1 or SHA-256 digest, or a UUID.
func hexDigest(v string) bool {
	switch len(v) {
	case 32, 40, 64:
		return isHex(v)
	case 36:
		return v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-' && isHex(strings.ReplaceAll(v, "-", ""))
	}
	return false
}

func upperName(v string) bool {
	for i := range len(v) {
		if c := v[i]; !isUpper(c) && c != '_' && !(isDigit(c) && i > 0) {
			return false
		}
	}
	return v != ""
}

var placeholders = wordSet(`redacted readacted __redacted__ filtered masked hidden null nil none undefined true false yes no on off string str text
	integer int number bool boolean object array float any bytes required optional empty unset n/a na tbd todo changeme placeholder
	example dummy your_password your-password yourpassword your_api_key your-api-key your_token your_secret password passwd secret
	token key api_key apikey value username user bearer basic default unknown missing invalid expired valid ok error failed auto enabled disabled same-origin
	include omit`)

// basicCredentials holds for base64 of user:password.
func basicCredentials(v string) bool {
	text, ok := decodeBase64(v)
	return ok && strings.IndexByte(text, ':') > 0 && printable(text)
}

// saslPlain holds for base64 of what SASL PLAIN sends: names and a password between zero bytes, or, as some programs do, a colon.
func saslPlain(v string) bool {
	text, ok := decodeBase64(v)
	return ok && (strings.Count(text, "\x00") == 2 || basicCredentials(v))
}

// decodeBase64 decodes standard and URL-safe base64, padded or not.
func decodeBase64(v string) (string, bool) {
	text, ok := appendBase64(nil, v)
	return string(text), ok
}

// appendBase64 appends to dst what decodeBase64 returns.
func appendBase64(dst []byte, v string) ([]byte, bool) {
	v = strings.TrimRight(v, "=")
	if len(v)%4 == 1 {
		v = v[:len(v)-1] // cut
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(v, "-_") {
		enc = base64.RawURLEncoding
	}
	text, err := enc.AppendDecode(dst, []byte(v))
	return text, err == nil
}

// printable holds for text that somebody wrote: nothing but ASCII that prints, white space and well-formed UTF-8.
func printable(s string) bool {
	for _, c := range s {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f || c == '\uFFFD' {
			return false
		}
	}
	return s != ""
}
