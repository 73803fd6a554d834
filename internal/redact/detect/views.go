// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// view is a decoded text together with where its bytes stood in the text it was decoded from.
type view struct {
	text string
	at   []mark // ordered; between two marks both texts run in step
}

// mark says that the decoded byte stood at raw, and the byte after it (or after its multi-byte character) at next.
type mark struct{ decoded, width, raw, next int }

// raw returns where the decoded range stood.
func (v *view) raw(start, end int) (int, int) {
	return v.position(start, false), v.position(end, true)
}

// position maps a place. At the end of a range it is the place behind the character before it.
func (v *view) position(p int, end bool) int {
	i := sort.Search(len(v.at), func(i int) bool { return v.at[i].decoded >= p }) - 1
	for !end && i+1 < len(v.at) && v.at[i+1].decoded == p {
		if i++; v.at[i].width > 0 {
			return v.at[i].raw
		} // else nothing was decoded from it: the range begins behind
	}
	if i < 0 {
		return p
	}
	m := v.at[i]
	if p < m.decoded+m.width { // inside of one character: all of it
		if end {
			return m.next
		}
		return m.raw
	}
	return m.next + p - (m.decoded + m.width)
}

type viewBuilder struct {
	view
	b    strings.Builder
	from int // what of the raw text has been copied
}

// decode appends raw[from:at] as it is and text for raw[at:next].
func (b *viewBuilder) decode(raw string, at, next int, text string) {
	b.b.WriteString(raw[b.from:at])
	b.at = append(b.at, mark{b.b.Len(), len(text), at, next})
	b.b.WriteString(text)
	b.from = next
}

func (b *viewBuilder) done(raw string) *view {
	b.b.WriteString(raw[b.from:])
	b.text = b.b.String()
	return &b.view
}

// unescape decodes the escapes of JSON strings, which are those of most languages. Everything else stays. It returns nil when there
// is no escape.
func unescape(s string) *view {
	var b *viewBuilder
	for i := strings.IndexByte(s, '\\'); i >= 0 && i+1 < len(s); {
		text, n := escapeAt(s[i:])
		if n == 0 {
			n = 1
		} else {
			if b == nil {
				b = &viewBuilder{}
			}
			b.decode(s, i, i+n, text)
		}
		next := strings.IndexByte(s[i+n:], '\\')
		if next < 0 {
			break
		}
		i += n + next
	}
	if b == nil {
		return nil
	}
	return b.done(s)
}

// escapeAt decodes the escape that s begins with and returns its length, 0 if it is none.
func escapeAt(s string) (string, int) {
	if len(s) < 2 {
		return "", 0
	}
	switch s[1] {
	case '"', '\\', '/', '\'', '`':
		return s[1:2], 2
	case 'n':
		return "\n", 2
	case 'r':
		return "\r", 2
	case 't':
		return "\t", 2
	case 'b', 'f':
		return " ", 2
	case 'x':
		if v, ok := hexAt(s, 2, 2); ok {
			return string([]byte{byte(v)}), 4
		}
	case 'u':
		v, ok := hexAt(s, 2, 4)
		if !ok {
			return "", 0
		}
		if utf16.IsSurrogate(rune(v)) {
			if low, ok := hexAt(s, 8, 4); ok && s[6] == '\\' && s[7] == 'u' {
				if r := utf16.DecodeRune(rune(v), rune(low)); r != utf8.RuneError {
					return string(r), 12
				}
			}
			return string(utf8.RuneError), 6
		}
		return string(rune(v)), 6
	}
	return "", 0
}

func hexAt(s string, at, n int) (uint64, bool) {
	if len(s) < at+n {
		return 0, false
	}
	v, err := strconv.ParseUint(s[at:at+n], 16, 32)
	return v, err == nil
}

// unpercent decodes %XX; nil when there is none. A & that is not encoded parts what it stands between: it becomes the end of a line.
func unpercent(s string) *view {
	first := 0
	for {
		i := strings.IndexByte(s[first:], '%')
		if i < 0 {
			return nil
		}
		first += i
		if _, ok := hexAt(s, first+1, 2); ok {
			break
		}
		first++
	}
	var b viewBuilder
	for i := max(strings.IndexByte(s[:first], '&'), 0); i < len(s); {
		next := 1
		switch s[i] {
		case '%':
			if v, ok := hexAt(s, i+1, 2); ok {
				next = 3
				b.decode(s, i, i+3, string([]byte{byte(v)}))
			}
		case '&':
			b.decode(s, i, i+1, "\n")
		}
		i += next
		if next = strings.IndexAny(s[i:], "%&"); next < 0 {
			break
		}
		i += next
	}
	return b.done(s)
}

// escaped looks at the text without its escapes: JSON that was cut, code, a log line that quotes another. A hit there is replaced
// in the text with the escapes.
func (f *finder) escaped() { f.through(unescape(f.s)) }

// percent looks at the text without its percent encoding.
func (f *finder) percent() {
	v := unpercent(f.s)
	f.through(v)
	if strings.IndexByte(f.s, '+') >= 0 && strings.IndexByte(f.s, '=') >= 0 { // a form, where a space is a +
		f.through(unform(f.s))
	}
}

// unform decodes %XX, and + between letters or digits. What is not encoded and parts members of a form, or ends it, becomes the end of a line.
func unform(s string) *view {
	var b viewBuilder
	for i := 0; i < len(s); {
		switch {
		case s[i] == '%':
			if v, ok := hexAt(s, i+1, 2); ok {
				b.decode(s, i, i+3, string([]byte{byte(v)}))
				i += 3
				continue
			}
		case s[i] == '+' && i > 0 && isAlnum(s[i-1]) && i+1 < len(s) && isAlnum(s[i+1]):
			b.decode(s, i, i+1, " ")
		case s[i] == '&', s[i] == ' ':
			b.decode(s, i, i+1, "\n")
		}
		i++
	}
	return b.done(s)
}

func (f *finder) through(v *view) {
	if v == nil {
		return
	}
	for _, x := range f.r.search(v.text, f.k, f.user, f.decoded+1, f.sure) {
		start, end := v.raw(x.start, x.end)
		f.add(start, end, x.rule)
	}
}

// base64 looks into a run that decodes to text. The run is replaced as a whole: part of it cannot be.
func (f *finder) base64(start, end int, body string) {
	if body[0] == '/' || strings.Count(body, "/") > len(body)/8 { // a path
		return
	}
	var room [66]byte
	for skip := range min(4, len(body)) { // a run can begin with characters that are no part of it: data,
		if skip > 0 && len(body) > 4096 {
			return
		}
		// Most runs are no text, and some are pictures.
		head, ok := appendBase64(room[:0], body[skip:min(len(body), skip+88)])
		wide := ok && len(head) >= 16 && unwide(head[:len(head)&^1]) != ""
		if !ok || !wide && !mostlyPrintable(head) {
			continue
		}
		text, ok := decodeBase64(body[skip:])
		if !ok {
			return
		}
		if wide {
			if text = unwide([]byte(text[:len(text)&^1])); text == "" {
				return
			}
		}
		if len(f.r.search(text, NoName, f.user, f.decoded+1, true)) > 0 {
			f.add(start, end, f.on.rules.encoded)
			return
		}
		if f.sure || !printable(text) {
			return
		}
		if len(f.r.find(text, NoName, f.user, f.decoded+1)) > 0 {
			f.add(start, end, f.on.rules.encoded)
		}
		return
	}
}

// mostlyPrintable looks at the start of a decoded text.
func mostlyPrintable(text []byte) bool {
	head := text[:min(len(text), 64)]
	odd := 0
	for i, c := range string(head) { // characters of other scripts are text; bytes that are none count
		switch {
		case c < ' ' && c != '\n' && c != '\r' && c != '\t', c == 0x7f, c == utf8.RuneError && i+utf8.UTFMax <= len(head):
			odd++
		}
	}
	return len(head) >= 8 && odd*16 <= len(head)
}
