// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// Producers write JSON that no strict reader takes: NaN and Infinity (Python), a lone half of a surrogate
// pair where a text was cut (JavaScript), a name twice, numbers with leading zeros. The value is odd, and
// what stands around it is whole.

// oddMark begins a text that stands for an odd value. It is a noncharacter; a text that holds it is not read.
const oddMark = "\uffff"

// OddMessages reads a list of messages whose JSON is not strict. Arguments and results that hold an odd value
// are kept as the text that was recorded, and arguments are labelled. ok is false for strict JSON, for what
// is no JSON, and for a text that ends early.
func OddMessages(text string, role tape.Role) (messages []Message, ok bool) {
	v, ok := readOdd(text)
	if !ok {
		return nil, false
	}
	if messages, ok = Messages(v, role); ok {
		messages = CloneParts(messages)
		for i := range messages {
			for k := range messages[i].Parts {
				messages[i].Parts[k].unmark()
			}
		}
	}
	return messages, ok
}

// mayBeOdd reports a text that looks like messages in JSON.
func mayBeOdd(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return (strings.HasPrefix(text, "[{") || strings.HasPrefix(text, "{")) && strings.Contains(text, `"role"`)
}

// unmark takes the marks out of a part.
func (p *Part) unmark() {
	odd := false
	plain := func(text string) string {
		odd = odd || strings.Contains(text, oddMark)
		return strings.ReplaceAll(text, oddMark, "")
	}
	value := func(v *exactjson.Value) {
		if v.Kind() == exactjson.String {
			*v = exactjson.StringValue(plain(v.Str()))
		} else if text := v.JSON(); strings.Contains(text, oddMark) {
			if parsed, err := exactjson.Parse(plain(text)); err == nil {
				*v = parsed
			}
		}
	}
	p.Text, p.ID, p.Name, p.ArgsText = plain(p.Text), plain(p.ID), plain(p.Name), plain(p.ArgsText)
	value(&p.Args)
	value(&p.Value)
	odd = odd && p.Label == ""
	if odd {
		p.Label = tape.Lossy
	}
	value(&p.Result) // a result that is kept as it was recorded is none of another form
}

// readOdd reads JSON that is not strict.
func readOdd(text string) (exactjson.Value, bool) {
	if strings.Contains(text, oddMark) || strings.Contains(strings.ToLower(text), `\uffff`) {
		return exactjson.Value{}, false
	}
	m := mender{text: text}
	if !m.value(0, false) || m.space() != len(text) || !m.changed {
		return exactjson.Value{}, false
	}
	v, err := exactjson.Parse(string(m.out))
	return v, err == nil
}

// payloads are members that hold what a program was handed or gave back, as a whole.
var payloads = []string{"arguments", "args", "parameters", "kwargs", "input", "response", "result", "output"}

// mender writes the strict form of a text.
type mender struct {
	text    string
	pos     int
	out     []byte
	odd     bool // the value that is read holds an odd one
	changed bool
}

func (m *mender) space() int {
	for m.pos < len(m.text) && strings.IndexByte(" \t\r\n", m.text[m.pos]) >= 0 {
		m.pos++
	}
	return m.pos
}

// value writes one value. Of an odd payload it writes the text that was recorded.
func (m *mender) value(depth int, payload bool) bool {
	if m.space(); m.pos >= len(m.text) || depth > maxPythonDepth {
		return false
	}
	start, written, before := m.pos, len(m.out), m.odd
	m.odd = false
	ok := false
	switch c := m.text[m.pos]; c {
	case '{':
		ok = m.object(depth + 1)
	case '[':
		ok = m.array(depth + 1)
	case '"':
		_, ok = m.string()
	default:
		ok = m.word()
	}
	if ok && m.odd && payload {
		m.out = exactjson.AppendString(m.out[:written], oddMark+strings.ToValidUTF8(m.text[start:m.pos], "\ufffd"))
		m.odd = false
	}
	m.odd = m.odd || before
	return ok
}

// word writes a number, true, false or null, and as a marked text what else stands in the place of a value.
func (m *mender) word() bool {
	start := m.pos
	for m.pos < len(m.text) && strings.IndexByte(",]} \t\r\n:\"[{", m.text[m.pos]) < 0 {
		m.pos++
	}
	word := m.text[start:m.pos]
	const longest = 1 << 10
	switch end, number := jsonscan.NumberEnd(word, 0); {
	case word == "" || len(word) > longest && !number:
		return false
	case word == "true", word == "false", word == "null", number && end == len(word):
		m.out = append(m.out, word...)
	case isOddWord(word):
		m.out = exactjson.AppendString(m.out, oddMark+word)
		m.odd, m.changed = true, true
	default:
		return false
	}
	return true
}

// isOddWord reports what JavaScript and Python write for numbers that JSON has no form for, and for no value.
func isOddWord(word string) bool {
	switch strings.TrimLeft(word, "+-") {
	case "NaN", "nan", "Infinity", "inf", "undefined":
		return true
	}
	digits := strings.TrimLeft(word, "+-")
	return digits != "" && strings.Trim(digits, "0123456789.eE+-xabcdfABCDF_") == "" && strings.ContainsAny(digits[:1], "0123456789.")
}

func (m *mender) array(depth int) bool {
	m.pos++
	m.out = append(m.out, '[')
	for first := true; ; first = false {
		if m.space(); m.pos < len(m.text) && m.text[m.pos] == ']' {
			m.pos++
			m.out = append(m.out, ']')
			return true
		}
		if !first && !m.comma(']') {
			return false
		}
		if !m.value(depth, false) {
			return false
		}
	}
}

// comma steps over the comma between two values.
func (m *mender) comma(end byte) bool {
	if m.pos >= len(m.text) || m.text[m.pos] != ',' {
		return false
	}
	m.pos++
	m.out = append(m.out, ',')
	m.space()
	return m.pos < len(m.text) && m.text[m.pos] != end
}

// mended is a member of an object as it was written.
type mended struct {
	name       string
	start, end int
}

func (m *mender) object(depth int) bool {
	m.pos++
	m.out = append(m.out, '{')
	var members []mended
	names := map[string]bool{}
	begin, twice := len(m.out), false
	for first := true; ; first = false {
		if m.space(); m.pos < len(m.text) && m.text[m.pos] == '}' {
			m.pos++
			break
		}
		if !first && !m.comma('}') {
			return false
		}
		at := len(m.out)
		if m.pos >= len(m.text) || m.text[m.pos] != '"' {
			return false
		}
		name, ok := m.string()
		if m.space(); !ok || m.pos >= len(m.text) || m.text[m.pos] != ':' {
			return false
		}
		m.pos++
		m.out = append(m.out, ':')
		if !m.value(depth, slices.Contains(payloads, name)) {
			return false
		}
		twice = twice || names[name]
		names[name] = true
		members = append(members, mended{name, at, len(m.out)})
	}
	if twice {
		m.odd, m.changed = true, true
		m.keepLast(begin, members)
	}
	m.out = append(m.out, '}')
	return true
}

// keepLast writes an object anew, of each name the last member, as most readers take it.
func (m *mender) keepLast(begin int, members []mended) {
	was := slices.Clone(m.out[begin:])
	m.out = m.out[:begin]
	last := map[string]int{}
	for i, o := range members {
		last[o.name] = i
	}
	for i, o := range members {
		if last[o.name] != i {
			continue
		}
		if len(m.out) > begin {
			m.out = append(m.out, ',')
		}
		m.out = append(m.out, was[o.start-begin:o.end-begin]...)
	}
}

// string writes a string. A lone half of a surrogate pair becomes U+FFFD and marks the text. A control
// character is escaped: it says what it is.
func (m *mender) string() (plain string, ok bool) {
	start := m.pos
	m.pos++
	for m.pos < len(m.text) && m.text[m.pos] != '"' {
		if m.text[m.pos] == '\\' {
			m.pos++
		}
		m.pos++
	}
	if m.pos >= len(m.text) {
		return "", false
	}
	m.pos++
	quoted := m.text[start:m.pos]
	if v, err := exactjson.Parse(quoted); err == nil {
		m.out = append(m.out, quoted...)
		return v.Str(), true
	}
	m.changed = true
	text, odd := looselyQuoted(quoted[1 : len(quoted)-1])
	if odd {
		m.odd = true
		text = oddMark + text
	}
	m.out = exactjson.AppendString(m.out, text)
	return text, true
}

// looselyQuoted reads what stands between the quotes of a string that is not strict.
func looselyQuoted(inner string) (text string, odd bool) {
	var b strings.Builder
	for i := 0; i < len(inner); {
		r, size := utf8.DecodeRuneInString(inner[i:])
		switch {
		case r == utf8.RuneError && size <= 1:
			b.WriteRune(utf8.RuneError)
			odd = true
		case r == '\\':
			size = escapeLength(inner[i:])
			if v, err := exactjson.Parse(`"` + inner[i:i+size] + `"`); err == nil {
				b.WriteString(v.Str())
			} else if strings.HasPrefix(inner[i:], `\u`) && size == 6 {
				b.WriteRune(utf8.RuneError)
				odd = true
			} else { // no escape of JSON
				b.WriteByte('\\')
				size, odd = 1, true
			}
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String(), odd
}

// escapeLength is that of the escape at the beginning of a text: a pair of surrogates is one.
func escapeLength(text string) int {
	if !strings.HasPrefix(text, `\u`) {
		return min(2, len(text))
	}
	if len(text) >= 12 {
		if _, err := exactjson.Parse(`"` + text[:12] + `"`); err == nil && strings.HasPrefix(text[6:], `\u`) {
			if _, alone := exactjson.Parse(`"` + text[:6] + `"`); alone != nil {
				return 12
			}
		}
	}
	return min(6, len(text))
}
