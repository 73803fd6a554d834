// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import "strings"

// JSON is read by a tokeniser of its own, because what is replaced is replaced in the text: a decoder would lose where a value stood,
// and an encoder would change what was not touched. It accepts what RFC 8259 accepts, and malformed UTF-8 inside of strings, which
// real producers write. Nesting costs one byte per level and no stack.

// jsonKind is the kind of a token.
type jsonKind uint8

const (
	jsonEnd jsonKind = iota
	jsonBad
	jsonOpen  // { or [
	jsonClose // } or ]
	jsonString
	jsonKey
	jsonNumber
	jsonLiteral
)

type jsonToken struct {
	kind       jsonKind
	start, end int  // with the quotes of a string
	escaped    bool // a string with a backslash
}

// jsonReader reads a sequence of JSON values with white space between them (a document, JSON lines).
type jsonReader struct {
	s     string
	at    int
	stack []byte // open brackets
	state jsonState
}

type jsonState uint8

const (
	wantValue      jsonState = iota // at the top, behind [ and a comma, behind a colon
	wantFirstValue                  // behind [: a value or ]
	wantFirstKey                    // behind {: a key or }
	wantKey                         // behind a comma of an object
	wantColon
	wantMore // behind a value: a comma or the end
)

func (r *jsonReader) space() {
	for r.at < len(r.s) {
		switch r.s[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// next returns the next token. After jsonBad and jsonEnd it must not be called again.
func (r *jsonReader) next() jsonToken {
	for {
		r.space()
		start := r.at
		if start >= len(r.s) {
			if len(r.stack) == 0 && (r.state == wantMore || r.state == wantValue) {
				return jsonToken{kind: jsonEnd, start: start, end: start}
			}
			return jsonToken{kind: jsonBad, start: start, end: start}
		}
		bad := jsonToken{kind: jsonBad, start: start, end: start}
		c := r.s[start]
		switch r.state {
		case wantMore:
			if len(r.stack) == 0 {
				r.state = wantValue
				continue
			}
			top := r.stack[len(r.stack)-1]
			switch {
			case c == ',':
				r.at++
				if r.state = wantValue; top == '{' {
					r.state = wantKey
				}
				continue
			case c == top+2: // ] and } stand two behind their opening ones
				return r.close(start)
			}
			return bad
		case wantColon:
			if c != ':' {
				return bad
			}
			r.at++
			r.state = wantValue
			continue
		case wantFirstKey, wantKey:
			if c == '}' && r.state == wantFirstKey {
				return r.close(start)
			}
			if c != '"' {
				return bad
			}
			t := r.string(start)
			if t.kind == jsonString {
				t.kind = jsonKey
				r.state = wantColon
			}
			return t
		}
		// A value.
		switch {
		case c == '{':
			r.stack = append(r.stack, c)
			r.at++
			r.state = wantFirstKey
			return jsonToken{kind: jsonOpen, start: start, end: r.at}
		case c == '[':
			r.stack = append(r.stack, c)
			r.at++
			r.state = wantFirstValue
			return jsonToken{kind: jsonOpen, start: start, end: r.at}
		case c == ']' && r.state == wantFirstValue:
			return r.close(start)
		}
		r.state = wantMore
		switch {
		case c == '"':
			return r.string(start)
		case c == '-' || isDigit(c):
			return r.number(start)
		}
		for _, word := range [...]string{"true", "false", "null"} {
			if strings.HasPrefix(r.s[start:], word) {
				r.at += len(word)
				return jsonToken{kind: jsonLiteral, start: start, end: r.at}
			}
		}
		return bad
	}
}

func (r *jsonReader) close(start int) jsonToken {
	r.stack = r.stack[:len(r.stack)-1]
	r.at++
	r.state = wantMore
	return jsonToken{kind: jsonClose, start: start, end: r.at}
}

func (r *jsonReader) string(start int) jsonToken {
	s, t := r.s, jsonToken{kind: jsonString, start: start}
	for i := start + 1; i < len(s); {
		if i+8 <= len(s) && plainEight(load(s, i)) {
			i += 8
			continue
		}
		switch c := s[i]; {
		case c == '"':
			r.at = i + 1
			t.end = i + 1
			return t
		case c < ' ':
			return jsonToken{kind: jsonBad, start: start, end: i}
		case c == '\\':
			t.escaped = true
			if i+1 >= len(s) {
				return jsonToken{kind: jsonBad, start: start, end: i}
			}
			switch s[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i += 2
			case 'u':
				if _, ok := hexAt(s, i+2, 4); !ok || s[i+2] == '+' || s[i+2] == '-' {
					return jsonToken{kind: jsonBad, start: start, end: i}
				}
				i += 6
			default:
				return jsonToken{kind: jsonBad, start: start, end: i}
			}
		default:
			i++
		}
	}
	return jsonToken{kind: jsonBad, start: start, end: len(s)}
}

// plainEight says whether none of eight bytes is a quote, a backslash or a control character (Mycroft's test for a zero byte).
func plainEight(x uint64) bool {
	const low, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := x^(low*'"'), x^(low*'\\')
	return ((x-low*' ')&^x|(quote-low)&^quote|(slash-low)&^slash)&high == 0
}

func (r *jsonReader) number(start int) jsonToken {
	s, i := r.s, start
	bad := jsonToken{kind: jsonBad, start: start, end: start}
	run := func() bool {
		from := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		return i > from
	}
	if s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !run() {
		return bad
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !run() {
			return bad
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !run() {
			return bad
		}
	}
	// 12abc is no number, and neither are 1 2 at the top without space between them.
	if i < len(s) && (isWord(s[i]) || s[i] == '.' || s[i] == '"') {
		return bad
	}
	r.at = i
	return jsonToken{kind: jsonNumber, start: start, end: i}
}

// unquote decodes the inside of a JSON string; nil when it holds no escape.
func unquote(inner string) *view {
	var b *viewBuilder
	for i := strings.IndexByte(inner, '\\'); i >= 0; {
		text, n := escapeAt(inner[i:])
		switch inner[i+1] {
		case 'b':
			text = "\b"
		case 'f':
			text = "\f"
		}
		if b == nil {
			b = &viewBuilder{}
		}
		b.decode(inner, i, i+n, text)
		next := strings.IndexByte(inner[i+n:], '\\')
		if next < 0 {
			break
		}
		i += n + next
	}
	if b == nil {
		return nil
	}
	return b.done(inner)
}

// quoted encodes text so that it can stand inside of a JSON string.
func quoted(text string) string {
	if strings.IndexByte(text, '"') < 0 && strings.IndexByte(text, '\\') < 0 {
		return text
	}
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
}

// looksLikeJSON says whether a text may be a JSON value worth reading: an object, an array, a string.
func looksLikeJSON(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case ' ', '\t', '\n', '\r':
			continue
		case '{', '[', '"':
			return true
		}
		return false
	}
	return false
}

// validJSON says whether a text is a sequence of one or more JSON values.
func validJSON(s string) bool {
	r := jsonReader{s: s}
	for n := 0; ; n++ {
		switch r.next().kind {
		case jsonBad:
			return false
		case jsonEnd:
			return n > 0
		}
	}
}
