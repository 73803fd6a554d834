// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// maxPythonDepth bounds nested Python literals.
const maxPythonDepth = 128

// Python reads a Python literal: dict, list, tuple (as array), str, int, float, True, False, None. ok says that the text begins like a
// literal. lossy says that the text as a whole is no literal, so that there is no value. Such a text holds a constructor call, a set,
// bytes, the address of an object or a repeated key, or it does not end well.
func Python(text string) (v exactjson.Value, lossy, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" || !strings.ContainsRune("{[(", rune(text[0])) {
		return exactjson.Value{}, false, false
	}
	p := pyParser{text: text}
	v, good := p.value(0)
	p.space()
	if !good || p.pos != len(text) {
		return exactjson.Value{}, true, true
	}
	return v, false, true
}

type pyParser struct {
	text    string
	pos     int
	objects bool // constructor calls are read too, see Representation
	built   bool // one was: the value stands for an object
}

func (p *pyParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *pyParser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *pyParser) value(depth int) (exactjson.Value, bool) {
	p.space()
	if depth > maxPythonDepth {
		return exactjson.Value{}, false
	}
	switch c := p.peek(); {
	case c == '{':
		return p.dict(depth + 1)
	case c == '[':
		return p.sequence(']', depth+1)
	case c == '(':
		return p.sequence(')', depth+1)
	case c == '\'' || c == '"':
		return p.stringsJoined()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	default:
		for word, v := range pyWords {
			if strings.HasPrefix(p.text[p.pos:], word) {
				p.pos += len(word)
				return v, true
			}
		}
		if p.objects {
			return p.object(depth + 1)
		}
		return exactjson.Value{}, false
	}
}

var pyWords = map[string]exactjson.Value{
	"True": exactjson.BoolValue(true), "False": exactjson.BoolValue(false), "None": exactjson.NullValue,
}

func (p *pyParser) dict(depth int) (exactjson.Value, bool) {
	p.pos++
	var members []exactjson.Member
	seen := map[string]bool{}
	for {
		p.space()
		if p.peek() == '}' {
			p.pos++
			return exactjson.ObjectValue(members...), true
		}
		key, ok := p.value(depth)
		if !ok || key.Kind() != exactjson.String || seen[key.Str()] {
			return exactjson.Value{}, false
		}
		seen[key.Str()] = true
		p.space()
		if p.peek() != ':' {
			return exactjson.Value{}, false
		}
		p.pos++
		v, ok := p.value(depth)
		if !ok {
			return exactjson.Value{}, false
		}
		members = append(members, exactjson.Member{Name: key.Str(), Value: v})
		if !p.separator('}') {
			return exactjson.Value{}, false
		}
	}
}

func (p *pyParser) sequence(end byte, depth int) (exactjson.Value, bool) {
	p.pos++
	var elements []exactjson.Value
	comma := true
	for {
		p.space()
		if p.peek() == end {
			p.pos++
			return exactjson.ArrayValue(elements...), end == ']' || comma || len(elements) != 1 // (x) is x, and text in parentheses
		}
		v, ok := p.value(depth)
		if !ok {
			return exactjson.Value{}, false
		}
		elements = append(elements, v)
		before := p.pos
		if !p.separator(end) {
			return exactjson.Value{}, false
		}
		comma = strings.Contains(p.text[before:p.pos], ",")
	}
}

// separator steps over a comma; the closing bracket is left for the caller.
func (p *pyParser) separator(end byte) bool {
	p.space()
	switch p.peek() {
	case ',':
		p.pos++
		return true
	case end:
		return true
	default:
		return false
	}
}

func (p *pyParser) number() (exactjson.Value, bool) {
	start := p.pos
	for p.pos < len(p.text) && strings.IndexByte("+-.eE0123456789", p.text[p.pos]) >= 0 {
		p.pos++
	}
	v, err := exactjson.Parse(p.text[start:p.pos])
	if err != nil {
		// Python writes 1. and 1e+20 and inf where JSON has other forms or none
		f, err := strconv.ParseFloat(p.text[start:p.pos], 64)
		if err != nil || !strings.ContainsAny(p.text[start:p.pos], ".eE") { // 007 is no number
			return exactjson.Value{}, false
		}
		return exactjson.FloatValue(f), true
	}
	return v, v.Kind() == exactjson.Number
}

// stringsJoined reads adjacent string literals as one.
func (p *pyParser) stringsJoined() (exactjson.Value, bool) {
	text, ok := p.quoted()
	if !ok {
		return exactjson.Value{}, false
	}
	if p.space(); p.atQuote() {
		var b strings.Builder
		b.WriteString(text)
		for p.atQuote() {
			if text, ok = p.quoted(); !ok {
				return exactjson.Value{}, false
			}
			b.WriteString(text)
			p.space()
		}
		text = b.String()
	}
	return exactjson.StringValue(text), utf8.ValidString(text)
}

// atQuote reports that a string literal begins here.
func (p *pyParser) atQuote() bool { return p.peek() == '\'' || p.peek() == '"' }

// quoted reads a string literal.
func (p *pyParser) quoted() (text string, ok bool) {
	quote := p.text[p.pos : p.pos+1]
	if rest := p.text[p.pos:]; strings.HasPrefix(rest, "'''") || strings.HasPrefix(rest, `"""`) {
		quote = rest[:3]
	}
	p.pos += len(quote)
	var escaped strings.Builder // what stands before the last escape, and that
	from := p.pos
	for p.pos < len(p.text) {
		switch {
		case strings.HasPrefix(p.text[p.pos:], quote):
			text = p.text[from:p.pos]
			p.pos += len(quote)
			if escaped.Len() > 0 {
				escaped.WriteString(text)
				text = escaped.String()
			}
			return text, true
		case p.text[p.pos] == '\\':
			escaped.WriteString(p.text[from:p.pos])
			if !p.escape(&escaped) {
				return "", false
			}
			from = p.pos
		default:
			p.pos++
		}
	}
	return "", false
}

var pyEscapes = map[byte]byte{'\\': '\\', '\'': '\'', '"': '"', 'a': 7, 'b': 8, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11}

func (p *pyParser) escape(b *strings.Builder) bool {
	if p.pos+1 >= len(p.text) {
		return false
	}
	c := p.text[p.pos+1]
	p.pos += 2
	if plain, ok := pyEscapes[c]; ok {
		b.WriteByte(plain)
		return true
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 || p.pos+digits > len(p.text) {
		return false
	}
	r, err := strconv.ParseUint(p.text[p.pos:p.pos+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(r)) {
		return false
	}
	p.pos += digits
	b.WriteRune(rune(r))
	return true
}

// raised is an exception as Python's repr() writes it: the name of its class, then what it was made with.
var raised = regexp.MustCompile(`^([A-Za-z_][\w.]*)\((.*)\)$`)

// Raised reads an exception that repr() wrote, right before its traceback. It returns its class and its message, which is empty where it was made with nothing, or false where something else is no message.
func Raised(text string) (class, message string, ok bool) {
	said, _, traced := strings.Cut(text, "Traceback (most recent call last):")
	m := raised.FindStringSubmatch(strings.TrimSpace(said))
	if !traced || m == nil {
		return "", "", false
	}
	if strings.TrimSpace(m[2]) == "" {
		return m[1], "", true
	}
	made, lossy, ok := Python("[" + m[2] + "]")
	if !ok || lossy || made.At(0).Kind() != exactjson.String {
		return "", "", false
	}
	return m[1], made.At(0).Str(), true
}
