// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package exactjson

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// MaxDepth and MaxValues bound what Parse reads: levels of arrays and objects, and values in all. A value
// takes 16 bytes or more however short its text is, so the text's length alone bounds nothing.
const (
	MaxDepth  = 512
	MaxValues = 1 << 20
)

// Errors that Parse wraps. A text with one of them is not an exact JSON value and is kept as text. Only ErrSyntax means that the
// text is not JSON at all.
var (
	ErrSyntax        = errors.New("not JSON")
	ErrUnicode       = errors.New("text is not Unicode") // invalid UTF-8 or a lone surrogate
	ErrDuplicateName = errors.New("duplicate object name")
	ErrDepth         = errors.New("nested too deep")
	ErrTooMany       = errors.New("too many values")
)

// Parse reads one JSON text (RFC 8259). It is strict: duplicate names, lone surrogates, invalid UTF-8, trailing data, more than
// MaxDepth levels and more than MaxValues values are errors. The value shares memory with the text.
func Parse(text string) (Value, error) { return ParseWithin(text, MaxDepth, MaxValues) }

// ParseWithin is Parse with bounds of the caller's choice, for documents that hold many values.
func ParseWithin(text string, maxDepth, maxValues int) (Value, error) {
	p := parser{text: text, maxDepth: maxDepth, left: maxValues}
	defer p.release()
	p.space()
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	p.space()
	if p.pos != len(text) {
		return Value{}, p.fail("data after the value")
	}
	return v, nil
}

// ParseElements reads one JSON array element by element, from where reading it may have been left: behind is the offset behind an element
// (0: from the beginning), and values is how many values were read up to there. Each element comes with both for what follows it. An
// error is that of Parse, and comes where the text stops to be an array.
func ParseElements(text string, behind, values int, each func(element Value, behind, values int) bool) error {
	p := parser{text: text, pos: behind, maxDepth: MaxDepth, left: MaxValues - values}
	defer p.release()
	done := false
	if behind == 0 {
		p.space()
		if p.pos >= len(text) || text[p.pos] != '[' {
			return p.fail("no array")
		}
		p.left--
		p.pos++
		p.space()
		if done = p.pos < len(text) && text[p.pos] == ']'; done {
			p.pos++
		}
	} else {
		var err error
		if done, err = p.next(']'); err != nil {
			return err
		}
	}
	for !done {
		p.space()
		e, err := p.value(1)
		if err != nil {
			return err
		}
		if !each(e, p.pos, MaxValues-p.left) {
			return nil
		}
		if done, err = p.next(']'); err != nil {
			return err
		}
	}
	p.space()
	if p.pos != len(text) {
		return p.fail("data after the value")
	}
	return nil
}

type parser struct {
	text     string
	pos      int
	maxDepth int
	left     int      // values that may still come
	room     *room    // nil until something needs it
	closed   []Member // room for members of the arrays and objects that are closed
}

// room is kept from text to text: with it an array, an object and a text with escapes are allocated when
// their size is known.
type room struct {
	open []Member // members of the arrays and objects that are not closed yet
	text []byte   // of a string with escapes
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// begin returns where the members of an array or object that begins here start.
func (p *parser) begin() int {
	p.enter()
	return len(p.room.open)
}

func (p *parser) enter() {
	if p.room == nil {
		p.room = rooms.Get().(*room)
	}
}

// close takes the members since start. Arrays and objects are small and many, so several share an allocation.
func (p *parser) close(start int) []Member {
	const least, most, bytes = 6, 48, 64 // members of an allocation for several; bytes of what follows for each
	members := p.room.open[start:]
	if n := len(members); cap(p.closed)-len(p.closed) < n {
		size := n
		if start > 0 { // what is around it needs room too
			size = max(n, min(max(least, (len(p.text)-p.pos)/bytes, 2*cap(p.closed)), most))
		}
		p.closed = make([]Member, 0, size)
	}
	at := len(p.closed)
	p.closed = append(p.closed, members...)
	clear(members) // they hold texts
	p.room.open = p.room.open[:start]
	return p.closed[at:]
}

func (p *parser) release() {
	const keep = 1 << 12 // members, and bytes for each: a rare large text is not to hold its memory
	if p.room == nil || cap(p.room.open) > keep || cap(p.room.text) > keep*int(unsafe.Sizeof(Member{})) {
		return
	}
	clear(p.room.open)
	p.room.open = p.room.open[:0]
	rooms.Put(p.room)
}

func (p *parser) fail(what string) error {
	if p.pos == 0 && what == noValue {
		return errNoValue
	}
	return &parseError{ErrSyntax, what, p.pos}
}

const noValue = "no value"

// errNoValue is what most texts give that are tried and are no JSON.
var errNoValue = &parseError{ErrSyntax, noValue, 0}

func (p *parser) notUnicode(what string) error { return &parseError{ErrUnicode, what, p.pos} }

// parseError is formatted when it is read: most texts that are tried are no JSON, and nobody asks why.
type parseError struct {
	kind error
	what string
	pos  int
}

func (e *parseError) Error() string { return fmt.Sprintf("%v: %s at byte %d", e.kind, e.what, e.pos) }

func (e *parseError) Unwrap() error { return e.kind }

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) (Value, error) {
	if p.pos >= len(p.text) {
		return Value{}, p.fail("end of text")
	}
	if p.left--; p.left < 0 {
		return Value{}, ErrTooMany
	}
	switch c := p.text[p.pos]; c {
	case '{':
		return p.object(depth + 1)
	case '[':
		return p.array(depth + 1)
	case '"':
		s, err := p.string()
		return scalar(String, s), err
	case 't':
		return p.word("true", scalar(Bool, "true"))
	case 'f':
		return p.word("false", scalar(Bool, "false"))
	case 'n':
		return p.word("null", NullValue)
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return p.number()
		}
		return Value{}, p.fail(noValue)
	}
}

func (p *parser) word(word string, v Value) (Value, error) {
	if !strings.HasPrefix(p.text[p.pos:], word) {
		return Value{}, p.fail(noValue)
	}
	p.pos += len(word)
	return v, nil
}

func (p *parser) array(depth int) (Value, error) {
	if depth > p.maxDepth {
		return Value{}, fmt.Errorf("%w: more than %d levels", ErrDepth, p.maxDepth)
	}
	p.pos++
	p.space()
	if p.pos < len(p.text) && p.text[p.pos] == ']' {
		p.pos++
		return compound(Array, nil), nil
	}
	start := p.begin()
	for {
		p.space()
		e, err := p.value(depth)
		if err != nil {
			return Value{}, err
		}
		p.room.open = append(p.room.open, Member{Value: e})
		done, err := p.next(']')
		if err != nil {
			return Value{}, err
		}
		if done {
			return compound(Array, p.close(start)), nil
		}
	}
}

func (p *parser) object(depth int) (Value, error) {
	if depth > p.maxDepth {
		return Value{}, fmt.Errorf("%w: more than %d levels", ErrDepth, p.maxDepth)
	}
	p.pos++
	p.space()
	if p.pos < len(p.text) && p.text[p.pos] == '}' {
		p.pos++
		return compound(Object, nil), nil
	}
	var names nameSet
	start := p.begin()
	for {
		p.space()
		if p.pos >= len(p.text) || p.text[p.pos] != '"' {
			return Value{}, p.fail("no object name")
		}
		name, err := p.string()
		if err != nil {
			return Value{}, err
		}
		if !names.add(name, p.room.open[start:]) {
			return Value{}, ErrDuplicateName
		}
		p.space()
		if p.pos >= len(p.text) || p.text[p.pos] != ':' {
			return Value{}, p.fail("no colon")
		}
		p.pos++
		p.space()
		e, err := p.value(depth)
		if err != nil {
			return Value{}, err
		}
		p.room.open = append(p.room.open, Member{Name: name, Value: e})
		done, err := p.next('}')
		if err != nil {
			return Value{}, err
		}
		if done {
			return compound(Object, p.close(start)), nil
		}
	}
}

// next steps over a comma, or over the closing bracket.
func (p *parser) next(end byte) (bool, error) {
	p.space()
	if p.pos >= len(p.text) {
		return false, p.fail("end of text")
	}
	switch p.text[p.pos] {
	case ',':
		p.pos++
		return false, nil
	case end:
		p.pos++
		return true, nil
	default:
		return false, p.fail("neither comma nor end")
	}
}

func (p *parser) number() (Value, error) {
	start := p.pos
	end, ok := jsonscan.NumberEnd(p.text, start)
	if p.pos = end; !ok {
		return Value{}, p.fail("bad number")
	}
	return scalar(Number, p.text[start:end]), nil
}

// string reads a string; the result shares the text's memory unless it holds an escape.
func (p *parser) string() (string, error) {
	p.pos++
	start := p.pos
	end, ascii := jsonscan.PlainRun(p.text, start)
	p.pos = end
	if end == len(p.text) {
		return "", p.fail("end of text")
	}
	switch p.text[end] {
	case '"':
		s := p.text[start:end]
		if !ascii && !utf8.ValidString(s) {
			return "", p.notUnicode("invalid UTF-8")
		}
		p.pos++
		return s, nil
	case '\\':
		return p.escaped(start, ascii)
	default:
		return "", p.fail("control character in a string")
	}
}

// escaped reads on where a string that is ASCII or not up to there has its first escape.
func (p *parser) escaped(start int, ascii bool) (string, error) {
	p.enter()
	b := append(p.room.text[:0], p.text[start:p.pos]...)
	defer func() { p.room.text = b }()
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		switch {
		case c == '"':
			p.pos++
			if !ascii && !utf8.Valid(b) {
				return "", p.notUnicode("invalid UTF-8")
			}
			return string(b), nil
		case c == '\\':
			var err error
			if b, err = p.escape(b); err != nil {
				return "", err
			}
		case c < ' ':
			return "", p.fail("control character in a string")
		default:
			end, plain := jsonscan.PlainRun(p.text, p.pos)
			b = append(b, p.text[p.pos:end]...)
			p.pos, ascii = end, ascii && plain
		}
	}
	return "", p.fail("end of text")
}

var plainEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) escape(b []byte) ([]byte, error) {
	if p.pos+1 >= len(p.text) {
		return nil, p.fail("end of text")
	}
	c := p.text[p.pos+1]
	if plain := plainEscapes[c]; plain != 0 {
		p.pos += 2
		return append(b, plain), nil
	}
	r, ok := p.unicode()
	if !ok {
		return nil, p.fail("bad escape")
	}
	if utf16.IsSurrogate(r) {
		low, ok := p.unicode()
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return nil, p.notUnicode("lone surrogate")
		}
	}
	return utf8.AppendRune(b, r), nil
}

func (p *parser) unicode() (rune, bool) {
	if p.pos+6 > len(p.text) || p.text[p.pos] != '\\' || p.text[p.pos+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(p.text[p.pos+2:p.pos+6], 16, 16)
	if err != nil {
		return 0, false
	}
	p.pos += 6
	return rune(n), true
}
