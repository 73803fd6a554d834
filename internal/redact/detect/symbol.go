// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"slices"
	"strings"
)

// What stands behind the name of a secret in source code is mostly no secret, but the name of where it comes from, or of its type: TokenCredential,
// resp.Credentials.SessionToken, x25519.X25519PrivateKey.

// typeNumbers stand inside of names in source code: Uint64, SHA256, X25519. A year is none of them.
var typeNumbers = wordSet("1 2 3 4 5 8 16 32 64 128 192 224 256 384 448 512 509 521 768 1024 2048 4096 25519 44 65 87")

// symbol holds for a name in source code, with or without that of its package before it: words of letters that capitals, underscores and dots divide, and no numbers but
// those of types. Letters at random are none: five of six have to stand in words of three letters or more that hold a vowel and hardly a pair
// that is unlikely. Capitals of abbreviations do not count, as long as they are half as many.
func symbol(v string) bool {
	letters, inWords, capitals, ok := symbolWords(v)
	return ok && letters >= 8 && inWords*6 >= letters*5 && capitals*2 <= inWords
}

// symbolWords counts the letters of a name in source code, those of them in words, and the capitals of abbreviations. ok is false for what is none.
func symbolWords(v string) (letters, inWords, capitals int, ok bool) {
	for i := 0; i < len(v); {
		from := i
		switch c := v[i]; {
		case isUpper(c) || isLower(c):
			for i < len(v) && isUpper(v[i]) {
				i++
			}
			upper := i
			for i < len(v) && isLower(v[i]) {
				i++
			}
			if upper > from+1 && i > upper { // HTTPServer: the last capital begins the next word
				capitals += upper - 1 - from
				from = upper - 1
			} else if upper > from+1 {
				capitals += i - from
				continue
			}
			letters += i - from
			if word := v[from:i]; len(word) >= 3 && unlikely(word)*8 <= len(word) && strings.ContainsAny(word, "aeiouyAEIOUY") {
				inWords += len(word)
			}
		case isDigit(c):
			for i < len(v) && isDigit(v[i]) {
				i++
			}
			if from == 0 || !isAlpha(v[from-1]) || !typeNumbers[v[from:i]] {
				return 0, 0, 0, false
			}
		case c == '_', c == '.' && i > 0 && i+1 < len(v) && v[i+1] != '.':
			i++
		default:
			return 0, 0, 0, false
		}
	}
	return letters, inWords, capitals, true
}

// reference says whether a value behind the name of a secret is the name of what holds it, or of its type,
// because it names the same: api_key=google_api_key, auth_credential: AuthCredential. People put the word for
// a password into passwords, so behind one it has to be a member: request.Password.
//
// operator: it stands behind an operator that joins what is true or equal: adminKey || workloadIdentity.
func (a *assigned) reference(k *Name, name, v string, operator bool) bool {
	if a.verb || a.query || a.flag || a.element {
		return false
	}
	words, of := splitWords(name[strings.LastIndexByte(name, '.')+1:]), splitWords(v)
	if len(words) == 0 {
		return false
	}
	last := strings.TrimSuffix(words[len(words)-1], "s")
	if sameName(words, of, last) {
		return true
	}
	v = strings.TrimLeft(v, "&*")
	open := strings.IndexAny(v, "({[<")
	if open > 0 {
		v = v[:open]
	}
	if _, _, _, ok := symbolWords(v); a.quoted || !ok {
		return false
	}
	// exports.secrets = exports.calls = null
	if object, _, ok := strings.Cut(name, "."); ok && strings.HasPrefix(v, object+".") {
		return true
	}
	if (!k.secret || operator || open > 0) && symbol(v) {
		return true
	}
	if strings.IndexByte(v, '.') < 0 && passWords[last] {
		return false
	}
	return len(of) > 1 && slices.ContainsFunc(of, func(w string) bool {
		return strings.TrimSuffix(w, "s") == last || len(last) > 3 && strings.HasPrefix(w, last)
	})
}

// sameName says whether the words of a value are the last ones of its name: jwt: "JWT",
// LoadAccessToken = "loadAccessToken", client_secrets: ClientSecrets. last is the last word of the name.
func sameName(words, of []string, last string) bool {
	n := len(words) - len(of)
	if n < 0 || len(of) <= 1 && n > 0 || passWords[last] && !(last == "secret" && n == 0) {
		return false
	}
	return equalWords(words[n:], of)
}

// withoutTemplates takes out of a text what stands for something else, and what says how often: `[a-z]${KEY_CHARS}{0,255}`.
func withoutTemplates(v string) string {
	if strings.IndexByte(v, '[') < 0 && !strings.Contains(v, "${") {
		return v
	}
	var b strings.Builder
	for i := 0; i < len(v); {
		at := i
		if v[i] == '$' && i+1 < len(v) && v[i+1] == '{' {
			at++
		}
		if c := v[at]; c == '{' || c == '[' {
			closing := byte('}')
			if c == '[' {
				closing = ']'
			}
			end := strings.IndexByte(v[at:min(len(v), at+64)], closing)
			if body := v[at+1 : at+max(end, 1)]; end > 0 && (at > i && symbolic(body) || at == i && isRange(body)) {
				i = at + end + 1
				continue
			}
		}
		b.WriteByte(v[i])
		i++
	}
	return b.String()
}

// symbolic holds for a name of code however short.
func symbolic(v string) bool {
	for i := range len(v) {
		if !isWord(v[i]) && v[i] != '.' {
			return false
		}
	}
	return v != "" && !random(v)
}

// isRange holds for what stands between the brackets of a class or a repetition in a pattern: a-z0-9, 0,255.
func isRange(v string) bool {
	for i := range len(v) {
		if !isDigit(v[i]) && v[i] != ',' && v[i] != '-' && !(i+1 < len(v) && v[i+1] == '-') && !(i > 0 && v[i-1] == '-') {
			return false
		}
	}
	return v != ""
}

// codeText holds for code in a text: a call, `authenticate()`, and what Go writes behind a member, `json:"pin,omitempty"`.
func codeText(v string) bool {
	if colon := strings.Index(v, ":\""); colon > 1 && v[len(v)-1] == '"' && symbolic(v[:colon]) {
		return true
	}
	open := strings.IndexByte(v, '(')
	if strings.HasSuffix(v[:max(open, 0)], ".noecho") {
		return true
	}
	return open > 2 && (v[open:] == "()" || v[open:] == "(...)" || v[open:] == "(…)") && symbolic(v[:open])
}

// operatorBefore says whether an operator stands between a name and what is behind it that nothing but source code has there.
func operatorBefore(s string) bool {
	return strings.Contains(s, "||") || strings.Contains(s, "==")
}
