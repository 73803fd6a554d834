// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package exactjson

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// AppendCanonicalText appends the canonical form of an array or object that stands there as text, in one pass and without building the value.
// ok is false for everything that this pass does not do: scalars, texts that Parse refuses, numbers out of range and names with
// escapes. Nothing is appended then, and Parse and AppendCanonical say what the text is.
func AppendCanonicalText(dst []byte, text string) (canonical []byte, ok bool) {
	c := canonicaliser{parser: parser{text: text, maxDepth: MaxDepth, left: MaxValues}, dst: dst, members: spans.Get().(*memberSpans)}
	defer c.release()
	c.space()
	if c.pos == len(text) || text[c.pos] != '{' && text[c.pos] != '[' || !c.value(0) {
		return dst, false
	}
	if c.space(); c.pos != len(text) {
		return dst, false
	}
	return c.dst, true
}

// canonicaliser reads like the parser and writes what it has read. Its methods report false where it gives up.
type canonicaliser struct {
	parser
	dst     []byte
	members *memberSpans
}

// span is a member in dst: from start to end, its name, without quotes, up to nameEnd.
type span struct {
	start, nameEnd, end int
}

type memberSpans struct {
	open   []span // of the objects that are not closed yet
	sorted []byte
}

var spans = sync.Pool{New: func() any { return new(memberSpans) }}

func (c *canonicaliser) release() {
	c.parser.release()
	const keep = 1 << 16 // bytes: a rare large text is not to hold its memory
	if cap(c.members.sorted) <= keep && cap(c.members.open) <= keep/16 {
		c.members.open = c.members.open[:0]
		spans.Put(c.members)
	}
}

func (c *canonicaliser) value(depth int) bool {
	if c.left--; c.left < 0 || c.pos >= len(c.text) {
		return false
	}
	switch first := c.text[c.pos]; first {
	case '{':
		return depth < c.maxDepth && c.object(depth+1)
	case '[':
		return depth < c.maxDepth && c.array(depth+1)
	case '"':
		return c.string()
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	default:
		return (first == '-' || first >= '0' && first <= '9') && c.number()
	}
}

func (c *canonicaliser) word(word string) bool {
	if !strings.HasPrefix(c.text[c.pos:], word) {
		return false
	}
	c.pos += len(word)
	c.dst = append(c.dst, word...)
	return true
}

func (c *canonicaliser) number() bool {
	v, err := c.parser.number()
	if err != nil {
		return false
	}
	n := canonicalNumber(v.Text())
	c.dst = append(c.dst, n...)
	return n != ""
}

func (c *canonicaliser) array(depth int) bool {
	c.pos++
	c.dst = append(c.dst, '[')
	if c.space(); c.pos < len(c.text) && c.text[c.pos] == ']' {
		c.pos++
		c.dst = append(c.dst, ']')
		return true
	}
	for {
		if c.space(); !c.value(depth) {
			return false
		}
		done, err := c.next(']')
		if err != nil {
			return false
		}
		if done {
			c.dst = append(c.dst, ']')
			return true
		}
		c.dst = append(c.dst, ',')
	}
}

func (c *canonicaliser) object(depth int) bool {
	c.pos++
	c.dst = append(c.dst, '{')
	if c.space(); c.pos < len(c.text) && c.text[c.pos] == '}' {
		c.pos++
		c.dst = append(c.dst, '}')
		return true
	}
	first, inOrder := len(c.members.open), true
	for {
		start := len(c.dst)
		if c.space(); c.pos >= len(c.text) || c.text[c.pos] != '"' || !c.name() {
			return false
		}
		m := span{start: start, nameEnd: len(c.dst) - 1}
		if c.space(); c.pos >= len(c.text) || c.text[c.pos] != ':' {
			return false
		}
		c.pos++
		c.dst = append(c.dst, ':')
		if n := len(c.members.open); n > first {
			inOrder = inOrder && CompareNames(c.nameOf(c.members.open[n-1]), c.nameOf(m)) < 0
		}
		if c.space(); !c.value(depth) {
			return false
		}
		m.end = len(c.dst)
		c.members.open = append(c.members.open, m)
		done, err := c.next('}')
		if err != nil {
			return false
		}
		if done {
			break
		}
		c.dst = append(c.dst, ',')
	}
	members := c.members.open[first:]
	c.members.open = c.members.open[:first]
	if !inOrder && !c.sort(members) {
		return false
	}
	c.dst = append(c.dst, '}')
	return true
}

// nameOf is valid until dst changes.
func (c *canonicaliser) nameOf(m span) string {
	name := c.dst[m.start+1 : m.nameEnd]
	return unsafe.String(unsafe.SliceData(name), len(name))
}

// sort puts the members at the end of dst into the order of their names. It reports false when a name stands there twice.
func (c *canonicaliser) sort(members []span) bool {
	begin := members[0].start
	slices.SortFunc(members, func(a, b span) int { return CompareNames(c.nameOf(a), c.nameOf(b)) })
	sorted := c.members.sorted[:0]
	for i, m := range members {
		if i > 0 {
			if c.nameOf(members[i-1]) == c.nameOf(m) {
				return false
			}
			sorted = append(sorted, ',')
		}
		sorted = append(sorted, c.dst[m.start:m.end]...)
	}
	c.members.sorted = sorted
	copy(c.dst[begin:], sorted) // the same bytes in another order
	return true
}

// name copies a name, which is compared as it stands there and so must not have escapes.
func (c *canonicaliser) name() bool {
	end, ascii := jsonscan.PlainRun(c.text, c.pos+1)
	if end == len(c.text) || c.text[end] != '"' || !ascii && !utf8.ValidString(c.text[c.pos+1:end]) {
		return false
	}
	c.dst = append(c.dst, c.text[c.pos:end+1]...)
	c.pos = end + 1
	return true
}

// string copies a string with the escapes that are canonical as they stand there. A string with other escapes is read and written anew.
func (c *canonicaliser) string() bool {
	begin, start := c.pos, len(c.dst)
	ascii := true
	c.dst = append(c.dst, '"')
	for at := begin + 1; ; {
		end, plain := jsonscan.PlainRun(c.text, at)
		ascii = ascii && plain
		c.dst = append(c.dst, c.text[at:end]...)
		if end == len(c.text) {
			return false
		}
		switch c.text[end] {
		case '"':
			if !ascii && !utf8.ValidString(c.text[begin+1:end]) {
				return false
			}
			c.dst = append(c.dst, '"')
			c.pos = end + 1
			return true
		case '\\':
			if end+1 == len(c.text) {
				return false
			}
			switch escape := c.text[end+1]; escape {
			case '"', '\\', 'b', 'f', 'n', 'r', 't':
				c.dst = append(c.dst, '\\', escape)
				at = end + 2
			default:
				s, err := c.parser.string()
				c.dst = AppendString(c.dst[:start], s)
				return err == nil
			}
		default:
			return false
		}
	}
}

// RawMembers calls each with the name and the text of the value of every member of an object, in order. It does not read the values, so a
// value that is no JSON may be among them. It returns an error for a text that is no object and for a name that stands there twice. It also
// returns the error of each.
func RawMembers(text string, each func(name, raw string) error) error {
	p := parser{text: text, maxDepth: MaxDepth, left: MaxValues}
	defer p.release()
	if p.space(); p.pos == len(text) || text[p.pos] != '{' {
		return p.fail("no object")
	}
	p.pos++
	var names []string
	p.space()
	for done := p.pos < len(text) && text[p.pos] == '}'; !done; {
		if p.space(); p.pos >= len(text) || text[p.pos] != '"' {
			return p.fail("no object name")
		}
		name, err := p.string()
		if err != nil {
			return err
		}
		const most = 1 << 10 // the names are compared one by one
		if slices.Contains(names, name) {
			return ErrDuplicateName
		} else if names = append(names, name); len(names) > most {
			return ErrTooMany
		}
		if p.space(); p.pos >= len(text) || text[p.pos] != ':' {
			return p.fail("no colon")
		}
		p.pos++
		p.space()
		start := p.pos
		if err := p.skip(); err != nil {
			return err
		}
		if err := each(name, text[start:p.pos]); err != nil {
			return err
		}
		if done, err = p.next('}'); err != nil {
			return err
		}
		if done {
			p.pos--
		}
	}
	p.pos++
	if p.space(); p.pos != len(text) {
		return p.fail("data after the value")
	}
	return nil
}

// skip steps over a value: to the end of its string, its closing bracket, or the next comma or bracket.
func (p *parser) skip() error {
	depth, start := 0, p.pos
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; c {
		case '"':
			if err := p.skipString(); err != nil {
				return err
			}
			if depth == 0 {
				return nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']', ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				if p.pos == start {
					return p.fail("no value")
				}
				return nil
			}
			if c == '}' || c == ']' {
				if depth--; depth == 0 {
					p.pos++
					return nil
				}
			}
		}
		p.pos++
	}
	return p.fail("end of text")
}

func (p *parser) skipString() error {
	for p.pos++; ; {
		end, _ := jsonscan.PlainRun(p.text, p.pos)
		if end >= len(p.text) {
			return p.fail("end of text")
		}
		switch p.text[end] {
		case '"':
			p.pos = end + 1
			return nil
		case '\\':
			p.pos = min(end+2, len(p.text))
		default:
			return p.fail("control character in a string")
		}
	}
}
