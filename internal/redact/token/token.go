// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package token is the text form of what replaces a redacted value: a token or a mask. It knows nothing of rules.
package token

import (
	"encoding/base32"
	"strings"
)

// Mask is what stands for a value when tokens are not wanted. Equal values are no longer equal to anything but each other's absence.
const Mask = "[REDACTED]"

// Prefix begins every token.
const Prefix = "[REDACTED:"

// DigestBytes of an HMAC stand in a token: 128 bits, 26 characters.
const DigestBytes = 16

// digestChars is the length of a digest in a token.
const digestChars = (DigestBytes*8 + 4) / 5

// Base32 is the alphabet of digests and key ids.
var Base32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Token is a value that was redacted: [REDACTED:<rule>:<digest>].
type Token struct {
	Rule   string // which rule found it
	Digest string // 128 bits of HMAC-SHA-256, lower-case base32
}

func (t Token) String() string { return Prefix + t.Rule + ":" + t.Digest + "]" }

// Parse reads text that is one token and nothing else.
func Parse(text string) (Token, bool) {
	t, n := tokenAt(text)
	return t, n > 0 && n == len(text)
}

// Find returns the places of all tokens and masks in a text, in order, as half-open byte ranges.
func Find(text string) (at [][2]int) {
	for from := 0; ; {
		i := strings.Index(text[from:], Prefix[:len(Prefix)-1])
		if i < 0 {
			return at
		}
		from += i
		n := ProtectedAt(text[from:])
		if n == 0 {
			from++
			continue
		}
		at = append(at, [2]int{from, from + n})
		from += n
	}
}

// Count counts the tokens of a text by rule into counts. A mask counts under the empty rule. Tokens hold no character that needs
// an escape, so a JSON encoder leaves them the same.
func Count(text string, counts map[string]int64) {
	for _, at := range Find(text) {
		t, _ := tokenAt(text[at[0]:at[1]])
		counts[t.Rule]++
	}
}

// ProtectedAt returns the length of the token or mask that text begins with.
func ProtectedAt(text string) int {
	if strings.HasPrefix(text, Mask) {
		return len(Mask)
	}
	_, n := tokenAt(text)
	return n
}

// tokenAt reads the token that text begins with. It takes the exact form only. Similar text is searched like any other text, or a
// secret could hide in it.
func tokenAt(text string) (Token, int) {
	rest, ok := strings.CutPrefix(text, Prefix)
	if !ok {
		return Token{}, 0
	}
	colon := strings.IndexByte(rest[:min(len(rest), MaxRuleName+1)], ':')
	if colon < 0 || len(rest) < colon+1+digestChars+1 || rest[colon+1+digestChars] != ']' || !ValidRuleName(rest[:colon]) {
		return Token{}, 0
	}
	digest := rest[colon+1:][:digestChars]
	for i := range len(digest) {
		if c := digest[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return Token{}, 0
		}
	}
	// The last character holds 3 bits of the digest and two zeros.
	if !strings.ContainsRune("aeimquy4", rune(digest[digestChars-1])) {
		return Token{}, 0
	}
	return Token{Rule: rest[:colon], Digest: digest}, len(Prefix) + colon + 1 + digestChars + 1
}

// MaxRuleName bounds the names of rules, in bytes.
const MaxRuleName = 48

// ValidRuleName holds for words of lower-case letters and digits, joined by hyphens. A word is short and has few digits, so that no
// secret has the form of a name.
func ValidRuleName(name string) bool {
	if name == "" || len(name) > MaxRuleName {
		return false
	}
	for word := range strings.SplitSeq(name, "-") {
		if word == "" || len(word) > 16 {
			return false
		}
		digits := 0
		for i := range len(word) {
			switch c := word[i]; {
			case c >= '0' && c <= '9':
				digits++
			case c < 'a' || c > 'z':
				return false
			}
		}
		if digits > 3 {
			return false
		}
	}
	return true
}
