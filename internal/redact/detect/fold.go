// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// folded looks at the text as somebody reads it. It leaves out what is not seen: zero-width characters, soft hyphens, NUL, ANSI escapes, bytes that
// are no UTF-8. It makes spaces, digits and letters plain, and resolves the entities of HTML.
func (f *finder) folded() {
	if !f.ascii || disguised(f.s) {
		f.through(fold(f.s))
	}
}

// disguised holds for texts with entities of HTML, NUL or ANSI escapes.
func disguised(s string) bool {
	return strings.IndexByte(s, '&') >= 0 || strings.IndexByte(s, 0) >= 0 || strings.IndexByte(s, 0x1b) >= 0
}

// foldable says whether fold may find something: most texts are ASCII.
func foldable(s string) bool {
	return disguised(s) || !isASCII(s)
}

// isASCII says whether all bytes of a text are.
func isASCII(s string) bool {
	i := 0
	for ; i+32 <= len(s); i += 32 {
		if (load(s, i)|load(s, i+8)|load(s, i+16)|load(s, i+24))&0x8080808080808080 != 0 {
			return false
		}
	}
	for ; i+8 <= len(s); i += 8 {
		if load(s, i)&0x8080808080808080 != 0 {
			return false
		}
	}
	for ; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// fold returns the text without disguise; nil when there is none.
func fold(s string) *view {
	if !foldable(s) {
		return nil
	}
	var b *viewBuilder
	for i := 0; i < len(s); {
		c := s[i]
		if c < 0x80 && c != 0 && c != 0x1b && c != '&' {
			i++
			continue
		}
		text, n := unfold(s[i:])
		if n == 0 {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
			continue
		}
		if b == nil {
			b = &viewBuilder{}
		}
		b.decode(s, i, i+n, text)
		i += n
	}
	if b == nil {
		return nil
	}
	return b.done(s)
}

// unfold returns what is read where s begins, and the length of it; 0 if that is what is written.
func unfold(s string) (text string, n int) {
	switch s[0] {
	case 0:
		return "", 1
	case 0x1b:
		return "", escapeSequence(s)
	case '&':
		return unentity(s)
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size <= 1 || invisible(r) {
		return "", size
	}
	if text = plainRune(r); text == "" {
		return "", 0
	}
	return text, size
}

// escapeSequence returns the length of the sequence of a terminal that s begins with: ESC [ … letter.
func escapeSequence(s string) int {
	if len(s) > 1 && s[1] == '[' {
		for i := 2; i < min(len(s), 24); i++ {
			if isAlpha(s[i]) {
				return i + 1
			}
		}
	}
	return 1
}

// invisible holds for characters that show nothing: soft hyphens, joiners, marks of direction, variants.
func invisible(r rune) bool {
	return r == 0xad || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x2064 || r == 0xfeff || r == 0x180e || r >= 0xfe00 && r <= 0xfe0f
}

// plainRune returns the character of ASCII that a character is read as, "" if it is read as itself.
func plainRune(r rune) string {
	switch {
	case r == 0xa0, r >= 0x2000 && r <= 0x200a, r == 0x202f, r == 0x205f, r == 0x3000:
		return " "
	case r == 0x2010, r == 0x2011, r == 0x2012, r == 0x2212:
		return "-"
	case r >= 0xff01 && r <= 0xff5e && r != 0xff1a: // the colon is a separator of its own
		return string(r - 0xff01 + '!')
	}
	for _, zero := range [...]rune{0x660, 0x6f0, 0x966} { // digits of Arabic, Persian and Devanagari
		if r >= zero && r <= zero+9 {
			return string(r - zero + '0')
		}
	}
	return ""
}

var entities = map[string]string{"quot": `"`, "amp": "&", "lt": "<", "gt": ">", "apos": "'", "nbsp": " ", "commat": "@", "period": ".", "colon": ":", "equals": "=", "sol": "/",
	"lowbar": "_", "hyphen": "-", "plus": "+", "num": "#", "dollar": "$", "percnt": "%", "shy": ""}

// unentity decodes the entity that s begins with.
func unentity(s string) (string, int) {
	end := strings.IndexByte(s[:min(len(s), 12)], ';')
	if end < 3 {
		return "", 0
	}
	name := s[1:end]
	if name[0] != '#' {
		text, ok := entities[name]
		if !ok {
			return "", 0
		}
		return text, end + 1
	}
	v, base := 0, 10
	digits := name[1:]
	if digits != "" && digits[0]|0x20 == 'x' {
		digits, base = digits[1:], 16
	}
	for i := range len(digits) {
		c := digits[i]
		d := int(c - '0')
		switch {
		case isDigit(c):
		case base == 16 && c|0x20 >= 'a' && c|0x20 <= 'f':
			d = int(c|0x20-'a') + 10
		default:
			return "", 0
		}
		v = v*base + d
	}
	if digits == "" || v == 0 || v > utf8.MaxRune {
		return "", 0
	}
	return string(rune(v)), end + 1
}

// unwide returns the ASCII text that is spelled in UTF-16, little or big endian; "" if it is none.
func unwide(text []byte) string {
	if len(text) < 16 {
		return ""
	}
	text = bytes.TrimPrefix(bytes.TrimPrefix(text, []byte("\xff\xfe")), []byte("\xfe\xff"))
	zero := 1
	if text[0] == 0 {
		zero = 0
	}
	b := make([]byte, 0, 64) // most texts end at their first bytes
	for i := range string(text) {
		if i%2 == zero {
			if text[i] != 0 {
				return ""
			}
			continue
		}
		if c := text[i]; c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return ""
		}
		b = append(b, text[i])
	}
	return string(b)
}

// otherBases looks into a run that is text in base32 or in hexadecimal digits.
func (f *finder) otherBases(start, end int, body string) {
	var text string
	body = strings.TrimPrefix(body, "0x")
	switch {
	case len(body)%2 == 0 && isHex(body):
		b := make([]byte, len(body)/2)
		for i := range b {
			v, _ := hexAt(body, 2*i, 2)
			b[i] = byte(v)
		}
		text = string(b)
	case isBase32(body):
		raw, err := token.Base32.DecodeString(strings.ToLower(body))
		if err != nil {
			return
		}
		text = string(raw)
	default:
		return
	}
	if printable(text) && (len(f.r.search(text, NoName, f.user, f.decoded+1, true)) > 0 || !f.sure && len(f.r.find(text, NoName, f.user, f.decoded+1)) > 0) {
		f.add(start, end, f.on.rules.encoded)
	}
}

func isBase32(body string) bool {
	for i := range len(body) {
		if c := body[i]; !isUpper(c) && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}
