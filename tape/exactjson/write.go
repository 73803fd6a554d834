// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package exactjson

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"github.com/gowebpki/jcs"

	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// ErrRange is returned for a number that no double can hold: such a value has no canonical form.
var ErrRange = errors.New("number out of range")

// AppendJSON appends the value in compact form: members in recorded order, number literals as recorded, strings escaped as in the
// canonical form. An absent value appends null.
func (v Value) AppendJSON(dst []byte) []byte {
	switch v.Kind() {
	case Absent:
		return append(dst, "null"...)
	case String:
		return AppendString(dst, v.Text())
	case Array:
		dst = append(dst, '[')
		for i, m := range v.Members() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = m.Value.AppendJSON(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range v.Members() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, m.Name), ':')
			dst = m.Value.AppendJSON(dst)
		}
		return append(dst, '}')
	default:
		return append(dst, v.Text()...)
	}
}

// JSON returns the value in compact form as a string.
func (v Value) JSON() string {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	*buf = v.AppendJSON((*buf)[:0])
	return string(*buf)
}

// String is JSON, for messages that show a value.
func (v Value) String() string { return v.JSON() }

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// UnmarshalJSON implements json.Unmarshaler with the strictness of Parse.
func (v *Value) UnmarshalJSON(data []byte) error {
	parsed, err := Parse(string(data))
	*v = parsed
	return err
}

// AppendCanonical appends the canonical form (jcs+int). It fails with ErrRange when a number has no double.
func (v Value) AppendCanonical(dst []byte) ([]byte, error) {
	switch v.Kind() {
	case Number:
		n := canonicalNumber(v.Text())
		if n == "" {
			return dst, ErrRange
		}
		return append(dst, n...), nil
	case Array:
		dst = append(dst, '[')
		for i, m := range v.Members() {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = m.Value.AppendCanonical(dst); err != nil {
				return dst, err
			}
		}
		return append(dst, ']'), nil
	case Object:
		dst = append(dst, '{')
		for i, m := range sortedMembers(v.Members()) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, m.Name), ':')
			var err error
			if dst, err = m.Value.AppendCanonical(dst); err != nil {
				return dst, err
			}
		}
		return append(dst, '}'), nil
	default:
		return v.AppendJSON(dst), nil
	}
}

// Canonical returns the canonical form, or ErrRange.
func (v Value) Canonical() (string, error) {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	b, err := v.AppendCanonical((*buf)[:0])
	*buf = b
	return string(b), err
}

// Digest returns "sha256:" and the hex digest of the canonical form. A value that has none is hashed as its compact text:
// "sha256-raw:".
func (v Value) Digest() string {
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	b, err := v.AppendCanonical((*buf)[:0])
	*buf = b
	if err != nil {
		return RawDigest(v.JSON())
	}
	return digest("sha256:", b)
}

var scratch = sync.Pool{New: func() any { return new([]byte) }}

// RawDigest is the digest of a text that is not a JSON value: "sha256-raw:" and the hex SHA-256 of its bytes.
func RawDigest(text string) string {
	return digest("sha256-raw:", unsafe.Slice(unsafe.StringData(text), len(text)))
}

func digest(prefix string, b []byte) string {
	sum := sha256.Sum256(b)
	var room [len("sha256-raw:") + 2*len(sum)]byte
	return string(hex.AppendEncode(append(room[:0], prefix...), sum[:]))
}

// sortedMembers orders by UTF-16 code units, as RFC 8785 demands.
func sortedMembers(members []Member) []Member {
	if slices.IsSortedFunc(members, compareNames) {
		return members
	}
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, compareNames)
	return sorted
}

func compareNames(a, b Member) int { return CompareNames(a.Name, b.Name) }

// CompareNames orders object names as the canonical form does, by UTF-16 code units. Bytewise UTF-8 order is the same with one exception:
// supplementary characters (lead byte 0xF0 and up) sort, as surrogates, before U+E000..U+FFFF (lead bytes 0xEE and 0xEF).
func CompareNames(x, y string) int {
	n := min(len(x), len(y))
	for i := range n {
		if x[i] != y[i] {
			return int(utf16Rank(x[i])) - int(utf16Rank(y[i]))
		}
	}
	return len(x) - len(y)
}

func utf16Rank(c byte) uint16 {
	if c >= 0xEE && c <= 0xEF {
		return uint16(c) + 0x100
	}
	return uint16(c)
}

func isBigInt(literal string) bool {
	digits := literal
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) < 16 {
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return len(digits) > 16 || digits >= "9007199254740992"
}

// canonicalNumber returns the canonical literal, "" for a number out of range.
func canonicalNumber(literal string) string {
	if isBigInt(literal) {
		return literal
	}
	if isSmallInt(literal) {
		return literal
	}
	if decimal, ok := plainDecimal(literal); ok {
		return decimal
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsInf(f, 0) {
		return ""
	}
	s, err := jcs.NumberToJSON(f)
	if err != nil {
		return ""
	}
	return s
}

// isSmallInt recognises the common case: an integer that is its own canonical form.
func isSmallInt(literal string) bool {
	digits := literal
	if digits[0] == '-' {
		digits = digits[1:]
		if digits == "0" {
			return false
		}
	}
	if len(digits) > 15 {
		return false
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return true
}

// plainDecimal recognises the other common case, digits with a point. Up to 15 of them survive a double, so that the shortest spelling of
// the double has the same ones; only zeros at the end go. Beyond these bounds, and below 10^-6, an exponent may be needed.
func plainDecimal(literal string) (canonical string, ok bool) {
	const digits, places = 15, 6
	start, dot := 0, -1
	if literal[0] == '-' {
		start = 1
	}
	last := -1 // digit that is not zero, behind the point
	for i := start; i < len(literal); i++ {
		switch c := literal[i]; {
		case c == '.':
			dot = i
		case c < '0' || c > '9':
			return "", false
		case c != '0' && dot >= 0:
			if last < 0 && literal[start] == '0' && i > dot+places {
				return "", false
			}
			last = i
		}
	}
	switch {
	case dot < 0 || len(literal)-start-1 > digits:
		return "", false
	case last >= 0:
		return literal[:last+1], true
	default:
		return literal[:dot], literal[start] != '0' // zero has no sign
	}
}

const hexDigits = "0123456789abcdef"

// AppendString appends a JSON string with the escapes of RFC 8785; invalid UTF-8 becomes U+FFFD byte by byte.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for {
		end, ascii := jsonscan.PlainRun(s, 0)
		run := s[:end]
		if !ascii {
			run = valid(run)
		}
		dst = append(dst, run...)
		if end == len(s) {
			return append(dst, '"')
		}
		switch c := s[end]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		s = s[end+1:]
	}
}
