// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// Errors of ToolKey.
var (
	ErrNotObject = errors.New("the arguments are no JSON object")
	ErrTooDeep   = errors.New("the arguments are nested too deep")
	ErrTooLong   = errors.New("an integer has too many digits")
)

const (
	maxDepth  = 512
	maxDigits = 4300 // of an integer, as in Python
)

// ToolKey is the key under which whatifd files the answer of a tool: the name, "::" and the arguments as Python's json module writes them with
// sorted keys, without spaces and in ASCII. args is the text of a JSON object; "", null and {} are the same. Numbers count as they are written: 1
// and 1.0 are different keys. Of members with the same name the last one counts.
func ToolKey(tool, args string) (string, error) {
	if strings.TrimSpace(args) == "" || strings.TrimSpace(args) == "null" {
		args = "{}"
	}
	k := keyWriter{scan: jsonscan.New(args, 0), text: args}
	t := k.scan.Next()
	if t.Kind != jsonscan.Open || args[t.Start] != '{' {
		return "", ErrNotObject
	}
	b, err := k.value([]byte(tool+"::"), t, 0)
	if err != nil {
		return "", err
	}
	if k.scan.Next().Kind != jsonscan.End {
		return "", ErrNotObject
	}
	return string(b), nil
}

// keyWriter writes the values that a scanner finds.
type keyWriter struct {
	scan *jsonscan.Scanner
	text string
}

func (k *keyWriter) value(dst []byte, t jsonscan.Token, depth int) ([]byte, error) {
	token := k.text[t.Start:t.End]
	switch {
	case depth > maxDepth:
		return nil, ErrTooDeep
	case t.Kind == jsonscan.String:
		return appendASCII(dst, codePoints(token)), nil
	case t.Kind == jsonscan.Number:
		return appendNumber(dst, token)
	case t.Kind == jsonscan.Literal:
		return append(dst, token...), nil
	case t.Kind == jsonscan.Open && token == "[":
		return k.array(dst, depth)
	case t.Kind == jsonscan.Open:
		return k.object(dst, depth)
	}
	return nil, fmt.Errorf("%w: want %s at byte %d", ErrNotObject, k.scan.Want(), t.End)
}

func (k *keyWriter) array(dst []byte, depth int) (_ []byte, err error) {
	dst = append(dst, '[')
	for n := 0; ; n++ {
		t := k.scan.Next()
		if t.Kind == jsonscan.Close {
			return append(dst, ']'), nil
		}
		if n > 0 {
			dst = append(dst, ',')
		}
		if dst, err = k.value(dst, t, depth+1); err != nil {
			return nil, err
		}
	}
}

// keyMember is a member of an object, with its value written.
type keyMember struct {
	name  []rune
	value []byte
	nth   int
}

func (k *keyWriter) object(dst []byte, depth int) ([]byte, error) {
	var members []keyMember
	for t := k.scan.Next(); t.Kind != jsonscan.Close; t = k.scan.Next() {
		if t.Kind != jsonscan.Key {
			_, err := k.value(nil, t, depth)
			return nil, cmp.Or(err, ErrNotObject)
		}
		v, err := k.value(nil, k.scan.Next(), depth+1)
		if err != nil {
			return nil, err
		}
		members = append(members, keyMember{codePoints(k.text[t.Start:t.End]), v, len(members)})
	}
	slices.SortFunc(members, func(a, b keyMember) int { return cmp.Or(slices.Compare(a.name, b.name), b.nth-a.nth) })
	members = slices.CompactFunc(members, func(a, b keyMember) bool { return slices.Equal(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(appendASCII(dst, m.name), ':'), m.value...)
	}
	return append(dst, '}'), nil
}

// codePoints reads a JSON string with its quotes. Surrogates that are no pair stay as they are, which a Go string could not hold.
func codePoints(token string) (points []rune) {
	s := token[1 : len(token)-1]
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			r, n := utf8.DecodeRuneInString(s[i:])
			points, i = append(points, r), i+n
			continue
		}
		c := s[i+1]
		i += 2
		switch c {
		case 'b':
			points = append(points, '\b')
		case 'f':
			points = append(points, '\f')
		case 'n':
			points = append(points, '\n')
		case 'r':
			points = append(points, '\r')
		case 't':
			points = append(points, '\t')
		case 'u':
			n, _ := strconv.ParseUint(s[i:i+4], 16, 16)
			i += 4
			r := rune(n)
			if last := len(points) - 1; last >= 0 && points[last] >= 0xD800 && points[last] < 0xDC00 && r >= 0xDC00 && r < 0xE000 {
				points[last] = utf16.DecodeRune(points[last], r)
				continue
			}
			points = append(points, r)
		default:
			points = append(points, rune(c))
		}
	}
	return points
}

// appendASCII writes a JSON string as Python does with ensure_ascii.
func appendASCII(dst []byte, points []rune) []byte {
	escape := func(r rune) {
		const digits = "0123456789abcdef"
		dst = append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
	}
	dst = append(dst, '"')
	for _, r := range points {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r >= 0x20 && r <= 0x7E:
			dst = append(dst, byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\b':
			dst = append(dst, `\b`...)
		case r == '\f':
			dst = append(dst, `\f`...)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			escape(high)
			escape(low)
		default:
			escape(r)
		}
	}
	return append(dst, '"')
}

// appendNumber writes a number as Python prints it: integers with all their digits, other numbers as the shortest text of the nearest float64.
func appendNumber(dst []byte, literal string) ([]byte, error) {
	if !strings.ContainsAny(literal, ".eE") {
		switch {
		case len(strings.TrimPrefix(literal, "-")) > maxDigits:
			return nil, ErrTooLong
		case literal == "-0":
			return append(dst, '0'), nil
		}
		return append(dst, literal...), nil
	}
	f, _ := strconv.ParseFloat(literal, 64) // out of range: ±Inf
	return append(dst, PythonFloat(f)...), nil
}

// PythonFloat is repr(f) of Python.
func PythonFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case math.IsNaN(f):
		return "NaN"
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(text, "e")
	if e, _ := strconv.Atoi(exponent); e < -4 || e >= 16 {
		return text
	}
	text = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
