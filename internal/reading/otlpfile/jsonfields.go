// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// hidden is the name that takes a member out of sight of the decoder, which skips names it does not know.
const hidden = `"_"`

// object checks an object against the fields of a message.
func (c *checker) object(m *message) error {
	switch {
	case c.is("null"):
		return nil
	case !c.is("{"):
		return c.fail("%s instead of an object", c.found())
	}
	return c.members(func(name string, key jsonscan.Token) error {
		f := m.byName[name]
		if now := m.byName[formerly[name]]; f == nil && now != nil {
			f = now
			c.edits = append(c.edits, edit{key.Start, key.End, `"` + now.camel + `"`})
		}
		return c.member(f, name, key)
	})
}

// formerly are names of members before OTLP 0.15, as some stores still write them.
var formerly = map[string]string{
	"instrumentationLibrarySpans": "scopeSpans", "instrumentation_library_spans": "scopeSpans",
	"instrumentationLibraryLogs": "scopeLogs", "instrumentation_library_logs": "scopeLogs",
	"instrumentationLibrary": "scope", "instrumentation_library": "scope",
}

// member checks a member of an object; f is nil for one that the schema does not know.
func (c *checker) member(f *field, name string, key jsonscan.Token) error {
	if name == "" {
		c.edits = append(c.edits, edit{key.Start, key.End, hidden}) // the decoder takes an empty name for the end of the object
	}
	if f == nil {
		return c.skip()
	}
	c.push(step{name: f.camel})
	if err := c.next(); err != nil {
		return err
	}
	if f.kind != kindMessage && f.kind != kindString && c.is("null") {
		c.edits = append(c.edits, edit{key.Start, key.End, hidden})
	} else if err := c.field(f); err != nil {
		return err
	}
	c.pop()
	return nil
}

func (c *checker) field(f *field) error {
	switch {
	case !f.repeated:
		return c.single(f)
	case c.is("null"):
		return nil
	case !c.is("["):
		return c.fail("%s instead of an array", c.found())
	}
	return c.elements(func() error { return c.single(f) })
}

// single checks one value of a field.
func (c *checker) single(f *field) error {
	if f.kind == kindMessage {
		return c.object(f.child)
	}
	quoted := c.tok.Kind == jsonscan.String
	text := c.doc[c.tok.Start:c.tok.End]
	switch {
	case f.kind == kindString && (quoted || c.is("null")), f.kind == kindBool && (c.is("true") || c.is("false")):
		return nil
	case quoted:
		text = c.unquoted()
	}
	replacement, err := accept(f, text, quoted, quoted || c.tok.Kind == jsonscan.Number)
	if err != nil {
		if errors.Is(err, errType) {
			return c.fail("%s instead of %s", c.found(), wanted(f.kind))
		}
		return c.fail("%s", err)
	}
	if replacement != "" && c.doc[c.tok.Start:c.tok.End] != replacement {
		c.edits = append(c.edits, edit{c.tok.Start, c.tok.End, replacement})
	}
	return nil
}

var (
	errType      = errors.New("another type")
	errNoInteger = errors.New("no integer in range")
)

// accept returns the JSON token that is to stand for the text of a scalar, "" for the one that stands there. Its error says why the field
// cannot hold the text. Errors hold no content.
func accept(f *field, text string, quoted, scalar bool) (string, error) {
	if !scalar {
		return "", errType
	}
	switch f.kind {
	case kindTraceID, kindSpanID:
		if !quoted {
			return "", errType
		}
		id, err := acceptID(text, f.kind)
		return `"` + id + `"`, err
	case kindBytes:
		if !quoted {
			return "", errType
		}
		data, err := acceptBase64(text)
		if err != nil {
			return "", err
		}
		return `"` + base64.StdEncoding.EncodeToString(data) + `"`, nil
	case kindBool:
		if quoted && (text == "true" || text == "false") {
			return text, nil
		}
		return "", errType
	case kindDouble:
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return "", errors.New("a number that a double cannot hold")
		}
		return "", nil
	case kindEnum:
		if n, ok := f.enum[text]; quoted && ok {
			return strconv.Itoa(n), nil
		}
		return acceptInteger(text, kindInt32) // never quoted: the decoder takes a string for a name
	case kindInt32, kindUint32, kindInt64, kindFixed32, kindFixed64:
		digits, err := acceptInteger(text, f.kind)
		if digits == text {
			return "", err // as it stands
		}
		return `"` + digits + `"`, err
	}
	return "", errType
}

// acceptInteger returns the decimal digits of an integer; it takes numbers such as 1.0 and 1e9 too.
func acceptInteger(text string, k kind) (string, error) {
	text = strings.TrimPrefix(text, "+")
	if strings.ContainsAny(text, ".eE") {
		digits, err := integral(text)
		if err != nil {
			return "", errNoInteger
		}
		text = digits
	}
	var err error
	switch k {
	case kindFixed64:
		_, err = strconv.ParseUint(text, 10, 64)
	case kindUint32, kindFixed32:
		_, err = strconv.ParseUint(text, 10, 32)
	case kindInt64:
		_, err = strconv.ParseInt(text, 10, 64)
	default:
		_, err = strconv.ParseInt(text, 10, 32)
	}
	if err != nil {
		return "", errNoInteger
	}
	return text, nil
}

// acceptID returns the id as lower case hex digits. It takes hex in any case, also with a 0x prefix or written as a UUID. It takes
// base64, as the JSON mapping of protobuf writes bytes. It pads trace ids of 64 bits with zeros, as W3C Trace Context says.
func acceptID(text string, k kind) (string, error) {
	size := 16
	if k == kindSpanID {
		size = 8
	}
	digits := strings.TrimPrefix(strings.TrimSpace(text), "0x")
	if len(digits) == 36 && size == 16 {
		digits = strings.ReplaceAll(digits, "-", "")
	}
	if digits == "" {
		return "", nil
	}
	if _, err := hex.DecodeString(digits); err == nil {
		switch {
		case len(digits) == 2*size:
			return strings.ToLower(digits), nil
		case len(digits) == 16 && size == 16:
			return strings.Repeat("0", 16) + strings.ToLower(digits), nil
		}
	}
	if data, err := acceptBase64(text); err == nil && len(data) == size {
		return hex.EncodeToString(data), nil
	}
	return "", errors.New("an id that is neither " + strconv.Itoa(2*size) + " hex digits nor base64 of " + strconv.Itoa(size) +
		" bytes (" + strconv.Itoa(len(text)) + " characters)")
}

var base64URLToStd = strings.NewReplacer("-", "+", "_", "/")

// acceptBase64 takes both alphabets, with and without padding.
func acceptBase64(text string) ([]byte, error) {
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(base64URLToStd.Replace(text), "="))
	if err != nil {
		return nil, errors.New("text that is no base64")
	}
	return data, nil
}

// found names the type of the value that begins with the current token.
func (c *checker) found() string {
	switch c.doc[c.tok.Start] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func wanted(k kind) string {
	switch k {
	case kindString:
		return "a string"
	case kindBytes:
		return "a string in base64"
	case kindTraceID, kindSpanID:
		return "an id"
	case kindBool:
		return "a boolean"
	case kindDouble:
		return "a number"
	}
	return "an integer"
}
