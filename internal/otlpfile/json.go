// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxDepth bounds how deep a document may nest, in JSON values or protobuf messages. The decoder recurses without a bound of its own, and a
// stack that runs over cannot be recovered from.
const maxDepth = 1024

// checker walks over one JSON document before the decoder sees it. It checks the grammar and, where the schema knows a member, its type,
// so that an error has a place; and it notes the edits that make the document readable for the decoder: ids in base64 or with
// 16 digits, integers written as 1e3 or 1.0, null for a scalar, base64url.
type checker struct {
	doc   []byte
	pos   int
	depth int
	path  []step
	edits []edit
}

// step is a member name, or an index where name is empty.
type step struct {
	name  string
	index int
}

// edit replaces doc[from:to].
type edit struct {
	from, to int
	text     string
}

var errSyntax = fmt.Errorf("%w JSON", ErrMalformed)

// fail returns an error for the value at the current path.
func (c *checker) fail(format string, args ...any) error {
	return c.failErr(fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...))
}

func (c *checker) failErr(err error) error {
	return &Error{Line: bytes.Count(c.doc[:min(c.pos, len(c.doc))], []byte("\n")), Path: pathString(c.path), Err: err}
}

func (c *checker) syntax(want string) error {
	if c.pos >= len(c.doc) {
		return c.failErr(fmt.Errorf("%w: %s expected at the end", errSyntax, want))
	}
	return c.failErr(fmt.Errorf("%w: %s expected at byte %d of the document", errSyntax, want, c.pos))
}

func pathString(path []step) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.name == "":
			fmt.Fprintf(&b, "[%d]", s.index)
		case b.Len() > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

func (c *checker) enter() error {
	if c.depth++; c.depth > maxDepth {
		return c.failErr(fmt.Errorf("%w: nested more than %d levels deep", ErrTooLarge, maxDepth))
	}
	return nil
}

func (c *checker) leave() { c.depth-- }

func (c *checker) push(s step) { c.path = append(c.path, s) }
func (c *checker) pop()        { c.path = c.path[:len(c.path)-1] }

// next skips white space and returns the next byte without consuming it, 0 at the end.
func (c *checker) next() byte {
	for c.pos < len(c.doc) {
		switch b := c.doc[c.pos]; b {
		case ' ', '\t', '\r', '\n':
			c.pos++
		default:
			return b
		}
	}
	return 0
}

// members calls visit for each member of the object that starts here; visit consumes the value.
func (c *checker) members(visit func(name string, from, to int) error) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	c.pos++ // {
	if c.next() == '}' {
		c.pos++
		return nil
	}
	for {
		if c.next() != '"' {
			return c.syntax("a member name")
		}
		from := c.pos
		raw, err := c.str()
		if err != nil {
			return err
		}
		to := c.pos
		if c.next() != ':' {
			return c.syntax("a colon")
		}
		c.pos++
		c.next()
		if err := visit(unquote(raw), from, to); err != nil {
			return err
		}
		switch c.next() {
		case ',':
			c.pos++
		case '}':
			c.pos++
			return nil
		default:
			return c.syntax("a comma or }")
		}
	}
}

// elements calls visit for each element of the array that starts here; visit consumes the value.
func (c *checker) elements(visit func() error) error {
	if err := c.enter(); err != nil {
		return err
	}
	defer c.leave()
	c.pos++ // [
	if c.next() == ']' {
		c.pos++
		return nil
	}
	for i := 0; ; i++ {
		c.next()
		c.push(step{index: i})
		if err := visit(); err != nil {
			return err
		}
		c.pop()
		switch c.next() {
		case ',':
			c.pos++
		case ']':
			c.pos++
			return nil
		default:
			return c.syntax("a comma or ]")
		}
	}
}

// any checks the grammar of the value that starts here, whatever it is.
func (c *checker) any() error {
	switch b := c.next(); {
	case b == '{':
		return c.members(func(string, int, int) error { return c.any() })
	case b == '[':
		return c.elements(c.any)
	case b == '"':
		_, err := c.str()
		return err
	case b == '-' || b >= '0' && b <= '9':
		_, err := c.number()
		return err
	case c.word("true"), c.word("false"), c.word("null"):
		return nil
	}
	return c.syntax("a value")
}

// word consumes a literal name and reports whether it stood here.
func (c *checker) word(w string) bool {
	if !bytes.HasPrefix(c.doc[c.pos:], []byte(w)) {
		return false
	}
	c.pos += len(w)
	return true
}

// str consumes a string and returns what stands between the quotes.
func (c *checker) str() ([]byte, error) {
	c.pos++
	start := c.pos
	for c.pos < len(c.doc) {
		switch b := c.doc[c.pos]; {
		case b == '"':
			c.pos++
			return c.doc[start : c.pos-1], nil
		case b == '\\':
			if err := c.escape(); err != nil {
				return nil, err
			}
		case b < 0x20:
			return nil, c.syntax("an escaped control character")
		default:
			c.pos++
		}
	}
	return nil, c.syntax("a closing quote")
}

func (c *checker) escape() error {
	c.pos++
	if c.pos >= len(c.doc) {
		return c.syntax("an escape")
	}
	switch c.doc[c.pos] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.pos++
		return nil
	case 'u':
		for i := 1; i <= 4; i++ {
			if c.pos+i >= len(c.doc) || !isHex(c.doc[c.pos+i]) {
				return c.syntax("four hex digits")
			}
		}
		c.pos += 5
		return nil
	}
	return c.syntax("a known escape")
}

// number consumes a number and returns its literal.
func (c *checker) number() ([]byte, error) {
	start := c.pos
	if c.peek() == '-' {
		c.pos++
	}
	switch b := c.peek(); {
	case b == '0':
		c.pos++
	case b >= '1' && b <= '9':
		c.digits()
	default:
		return nil, c.syntax("a digit")
	}
	if c.peek() == '.' {
		c.pos++
		if !c.digits() {
			return nil, c.syntax("a digit")
		}
	}
	if b := c.peek(); b == 'e' || b == 'E' {
		c.pos++
		if b := c.peek(); b == '+' || b == '-' {
			c.pos++
		}
		if !c.digits() {
			return nil, c.syntax("a digit")
		}
	}
	return c.doc[start:c.pos], nil
}

func (c *checker) digits() bool {
	start := c.pos
	for c.pos < len(c.doc) && c.doc[c.pos] >= '0' && c.doc[c.pos] <= '9' {
		c.pos++
	}
	return c.pos > start
}

func (c *checker) peek() byte {
	if c.pos < len(c.doc) {
		return c.doc[c.pos]
	}
	return 0
}

// unquote returns the text of a checked string token.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	var s string
	if err := json.Unmarshal([]byte(`"`+string(raw)+`"`), &s); err != nil {
		return string(raw)
	}
	return s
}

// apply returns the document with the edits.
func (c *checker) apply() []byte {
	if len(c.edits) == 0 {
		return c.doc
	}
	var b bytes.Buffer
	b.Grow(len(c.doc) + 16*len(c.edits))
	done := 0
	for _, e := range c.edits {
		b.Write(c.doc[done:e.from])
		b.WriteString(e.text)
		done = e.to
	}
	b.Write(c.doc[done:])
	return b.Bytes()
}

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}

// integral returns the digits of a number that is written with a fraction or an exponent and still is an integer: 1.0, 5e3.
func integral(literal string) (string, error) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(literal), "e")
	exp := 0
	if exponent != "" {
		var err error
		if exp, err = strconv.Atoi(exponent); err != nil || exp > 40 || exp < -40 {
			return "", errors.New("out of range")
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	digits := whole + fraction
	point := len(whole) + exp // the decimal point stands before digits[point]
	switch {
	case point <= 0:
		digits, point = strings.Repeat("0", 1-point)+digits, 1
	case point > len(digits):
		digits += strings.Repeat("0", point-len(digits))
	}
	if strings.Trim(digits[point:], "0") != "" {
		return "", errors.New("not an integer")
	}
	digits = strings.TrimLeft(digits[:point], "0")
	if digits == "" {
		return "0", nil
	}
	return sign + digits, nil
}
