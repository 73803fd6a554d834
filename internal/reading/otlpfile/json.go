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
	"unsafe"

	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// maxDepth bounds how deep a document may nest, in JSON values or protobuf messages, before anything decodes
// it: a map in an attribute takes 4 values or 3 messages. The decoder recurses without a bound of its own,
// and a stack that runs over cannot be recovered from. A bound on the document alone is not enough: see
// CheckRequest.
const maxDepth = 16 + 4*nesting.Stored

// checker walks over one JSON document before the decoder sees it. It checks the grammar and, where the schema knows a member, its type,
// so that an error has a place. It also notes the edits that make the document readable for the decoder. They concern ids in base64 or
// with 16 digits, integers written as 1e3 or 1.0, null for a scalar, and base64url.
type checker struct {
	doc   string
	raw   []byte // the same
	scan  *jsonscan.Scanner
	tok   jsonscan.Token // the current one; what reads a value begins at its first token and ends at its last
	path  []step
	edits []edit
	depth int // how deep the document may nest
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
	return &Error{Line: strings.Count(c.doc[:c.tok.End], "\n"), Path: pathString(c.path), Err: err}
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

func (c *checker) push(s step) { c.path = append(c.path, s) }
func (c *checker) pop()        { c.path = c.path[:len(c.path)-1] }

// next goes to the next token.
func (c *checker) next() error {
	switch c.tok = c.scan.Next(); {
	case c.tok.Kind != jsonscan.Bad && c.scan.Depth() <= c.depth:
		return nil
	case c.tok.Kind != jsonscan.Bad:
		return &Error{Err: fmt.Errorf("%w: %w: more than %d brackets are open at byte %d", ErrTooLarge, nesting.ErrTooDeep, c.depth, c.tok.Start)}
	case c.tok.End >= len(c.doc):
		return c.failErr(fmt.Errorf("%w: %s expected at the end", errSyntax, c.scan.Want()))
	default:
		return c.failErr(fmt.Errorf("%w: %s expected at byte %d of the document", errSyntax, c.scan.Want(), c.tok.End))
	}
}

// is reports whether the current token is a bracket or a literal.
func (c *checker) is(token string) bool {
	return c.tok.Kind != jsonscan.String && c.doc[c.tok.Start:c.tok.End] == token
}

// members calls visit for each member of the object that starts here; visit reads the value from its first token on.
func (c *checker) members(visit func(name string, key jsonscan.Token) error) error {
	for {
		if err := c.next(); err != nil || c.tok.Kind == jsonscan.Close {
			return err
		}
		if err := visit(c.unquoted(), c.tok); err != nil {
			return err
		}
	}
}

// elements calls visit for each element of the array that starts here, at its first token.
func (c *checker) elements(visit func() error) error {
	for i := 0; ; i++ {
		c.push(step{index: i})
		if err := c.next(); err != nil {
			return err
		}
		end := c.tok.Kind == jsonscan.Close
		if !end {
			if err := visit(); err != nil {
				return err
			}
		}
		if c.pop(); end {
			return nil
		}
	}
}

// skip goes to the end of the next value, whatever it is.
func (c *checker) skip() error {
	for depth := c.scan.Depth(); ; {
		if err := c.next(); err != nil {
			return err
		}
		if c.tok.Kind == jsonscan.Number {
			if _, err := strconv.ParseFloat(c.doc[c.tok.Start:c.tok.End], 64); err != nil { // the decoder cannot pass over what no double holds
				c.edits = append(c.edits, edit{c.tok.Start, c.tok.End, "0"})
			}
		}
		if c.scan.Depth() == depth {
			return nil
		}
	}
}

// unquoted returns the text of the current token, which is a string.
func (c *checker) unquoted() string {
	raw := c.doc[c.tok.Start:c.tok.End]
	var s string
	if !c.tok.Escaped || json.Unmarshal([]byte(raw), &s) != nil {
		return raw[1 : len(raw)-1]
	}
	return s
}

func newChecker(doc []byte) *checker {
	text := unsafe.String(unsafe.SliceData(doc), len(doc)) // for as long as the checker lives, nobody writes to it
	return &checker{doc: text, raw: doc, scan: jsonscan.New(text, 0), depth: maxDepth}
}

// apply returns the document from one offset to another with the edits, which are within.
func (c *checker) apply(from, to int) []byte {
	if len(c.edits) == 0 {
		return c.raw[from:to]
	}
	var b bytes.Buffer
	b.Grow(to - from + 16*len(c.edits))
	for _, e := range c.edits {
		b.WriteString(c.doc[from:e.from])
		b.WriteString(e.text)
		from = e.to
	}
	b.WriteString(c.doc[from:to])
	return b.Bytes()
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
