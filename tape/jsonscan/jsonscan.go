// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsonscan reads JSON as tokens with their offsets. It is for callers that keep or change the text itself: a decoder would lose
// where a value stood, and an encoder would change what was not touched. It accepts what RFC 8259 accepts, and malformed UTF-8 inside of
// strings, which real producers write. Nesting costs one byte per level and no stack.
package jsonscan

import "strings"

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	End Kind = iota
	Bad
	Open  // { or [
	Close // } or ]
	String
	Key // with its colon behind it, which is no part of the token
	Number
	Literal // true, false, null
)

// Token is text[Start:End] of the text that is read, with the quotes of a string. For a Bad token, End is where the fault is.
type Token struct {
	Kind       Kind
	Start, End int
	Escaped    bool // a string with a backslash
}

// Scanner reads a sequence of JSON values with white space between them: a document, JSON lines.
type Scanner struct {
	text  string
	at    int
	stack []byte // open brackets
	state state
	want  string
}

// New returns a scanner of what begins at an offset of a text.
func New(text string, at int) *Scanner { return &Scanner{text: text, at: at} }

// Skip goes on behind one of the elements of the array that is open: what stands before at is taken as read.
func (s *Scanner) Skip(at int) { s.at, s.state = at, wantMore }

type state uint8

const (
	wantValue      state = iota // at the top, behind [ and a comma, behind a colon
	wantFirstValue              // behind [: a value or ]
	wantFirstKey                // behind {: a key or }
	wantKey                     // behind a comma of an object
	wantMore                    // behind a value: a comma or the end
)

// Depth is how many brackets are open.
func (s *Scanner) Depth() int { return len(s.stack) }

// Offset is how far the text has been read.
func (s *Scanner) Offset() int { return s.at }

// Want says what was expected where a Bad token ends.
func (s *Scanner) Want() string { return s.want }

// Valid reports whether a text is a sequence of one or more JSON values.
func Valid(text string) bool {
	s := Scanner{text: text}
	return s.Valid()
}

// Valid reports whether the rest of the text is valid, and not empty. It reads it.
func (s *Scanner) Valid() bool {
	for n := 0; ; n++ {
		switch s.Next().Kind {
		case Bad:
			return false
		case End:
			return n > 0
		}
	}
}

func (s *Scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *Scanner) bad(start, at int, want string) Token {
	s.want = want
	return Token{Kind: Bad, Start: start, End: at}
}

// Next returns the next token. After Bad and End it must not be called again.
func (s *Scanner) Next() Token {
	for {
		s.space()
		start := s.at
		if start >= len(s.text) {
			if len(s.stack) == 0 {
				return Token{Kind: End, Start: start, End: start}
			}
			return s.bad(start, start, s.expected())
		}
		c := s.text[start]
		switch s.state {
		case wantMore:
			if len(s.stack) == 0 {
				s.state = wantValue
				continue
			}
			top := s.stack[len(s.stack)-1]
			switch {
			case c == ',':
				s.at++
				if s.state = wantValue; top == '{' {
					s.state = wantKey
				}
				continue
			case c == top+2: // ] and } stand two behind their opening ones
				return s.close(start)
			}
			return s.bad(start, start, s.expected())
		case wantFirstKey, wantKey:
			if c == '}' && s.state == wantFirstKey {
				return s.close(start)
			}
			if c != '"' {
				return s.bad(start, start, s.expected())
			}
			return s.key(start)
		}
		// A value.
		switch {
		case c == '{':
			return s.open(start, wantFirstKey)
		case c == '[':
			return s.open(start, wantFirstValue)
		case c == ']' && s.state == wantFirstValue:
			return s.close(start)
		}
		s.state = wantMore
		switch {
		case c == '"':
			return s.string(start)
		case c == '-' || isDigit(c):
			return s.number(start)
		}
		for _, word := range [...]string{"true", "false", "null"} {
			if strings.HasPrefix(s.text[start:], word) {
				s.at += len(word)
				return Token{Kind: Literal, Start: start, End: s.at}
			}
		}
		return s.bad(start, start, "a value")
	}
}

// expected says what should stand here.
func (s *Scanner) expected() string {
	switch {
	case s.state == wantFirstKey || s.state == wantKey:
		return "a member name"
	case s.state != wantMore:
		return "a value"
	case len(s.stack) == 0:
		return "the end of the document"
	case s.stack[len(s.stack)-1] == '{':
		return "a comma or }"
	default:
		return "a comma or ]"
	}
}

func (s *Scanner) open(start int, next state) Token {
	s.stack = append(s.stack, s.text[start])
	s.at++
	s.state = next
	return Token{Kind: Open, Start: start, End: s.at}
}

func (s *Scanner) close(start int) Token {
	s.stack = s.stack[:len(s.stack)-1]
	s.at++
	s.state = wantMore
	return Token{Kind: Close, Start: start, End: s.at}
}

func (s *Scanner) key(start int) Token {
	t := s.string(start)
	if t.Kind == Bad {
		return t
	}
	t.Kind = Key
	if s.space(); s.at >= len(s.text) || s.text[s.at] != ':' {
		return s.bad(start, s.at, "a colon")
	}
	s.at++
	s.state = wantValue
	return t
}

func (s *Scanner) string(start int) Token {
	text, t := s.text, Token{Kind: String, Start: start}
	for i := start + 1; ; {
		if i, _ = PlainRun(text, i); i >= len(text) {
			return s.bad(start, len(text), "a closing quote")
		}
		switch text[i] {
		case '"':
			s.at, t.End = i+1, i+1
			return t
		case '\\':
			t.Escaped = true
		default:
			return s.bad(start, i, "an escaped control character")
		}
		if i++; i >= len(text) {
			return s.bad(start, i, "an escape")
		}
		switch text[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i++
		case 'u':
			for n := 1; n <= 4; n++ {
				if i+n >= len(text) || !isHex(text[i+n]) {
					return s.bad(start, i, "four hex digits")
				}
			}
			i += 5
		default:
			return s.bad(start, i, "a known escape")
		}
	}
}

func (s *Scanner) number(start int) Token {
	end, ok := NumberEnd(s.text, start)
	if !ok {
		return s.bad(start, end, "a digit")
	}
	// 12abc is no number, and neither are 1 2 at the top without space between them.
	if end < len(s.text) && (isWord(s.text[end]) || s.text[end] == '.' || s.text[end] == '"') {
		return s.bad(start, end, s.expected())
	}
	s.at = end
	return Token{Kind: Number, Start: start, End: end}
}

// NumberEnd returns where the number that begins at an offset ends; ok is false when there is none, and end is then where a digit is missing.
func NumberEnd(text string, i int) (end int, ok bool) {
	digits := func() bool {
		from := i
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		return i > from
	}
	if i < len(text) && text[i] == '-' {
		i++
	}
	if i < len(text) && text[i] == '0' {
		i++
	} else if !digits() {
		return i, false
	}
	if i < len(text) && text[i] == '.' {
		if i++; !digits() {
			return i, false
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if !digits() {
			return i, false
		}
	}
	return i, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c|' ' >= 'a' && c|' ' <= 'f' }

func isWord(c byte) bool { return isDigit(c) || c == '_' || c|' ' >= 'a' && c|' ' <= 'z' }
