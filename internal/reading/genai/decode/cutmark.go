// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// A limit of an SDK or a collector cuts texts and leaves no mark. Who knows the limit marks the place before anything is read (MarkCut), and every reader finds what it
// finds after a mark of a producer: a text with a label. JSON that ends in the middle is closed behind the mark, so that what stands in it whole can be read. When all has
// been read, the marks are taken out and what held one is labelled (Unmark…).

// cutMark stands where a text was cut: two code points that are no characters and stand in no text.
const cutMark = "\uFDD0\uFDD1"

// maxCutNesting is how deep JSON texts in JSON texts are closed.
const maxCutNesting = 4

// EndsInside reports JSON that ends in the middle: an object, a list or a text in quotes that is not closed, and nothing in it is at fault.
func EndsInside(text string) bool {
	if isClosed(text) {
		return false
	}
	_, inside := closeCut(text, maxCutNesting)
	return inside
}

// isClosed reports a text with brackets around it of which the last one closes the first one. Most texts that
// are JSON are told so, without a look at what stands in them.
func isClosed(text string) bool {
	text = strings.Trim(text, " \t\r\n")
	if text == "" || text[0] != '{' && text[0] != '[' {
		return false
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i == len(text)-1
			}
		case '"':
			if i = closingQuote(text, i+1); i < 0 {
				return false
			}
		}
	}
	return false
}

// closingQuote is the place of the quote that ends a text in quotes, from a place in it on; -1 where none
// does.
func closingQuote(text string, from int) int {
	for {
		n := strings.IndexByte(text[from:], '"')
		if n < 0 {
			return -1
		}
		escapes := 0
		for from+n-escapes > from && text[from+n-escapes-1] == '\\' {
			escapes++
		}
		if from += n + 1; escapes%2 == 0 {
			return from - 1
		}
	}
}

// IsMarked reports a text with a mark.
func IsMarked(text string) bool { return strings.Contains(text, cutMark) }

// MarkCut marks the end of a text that was cut there. JSON is closed behind the mark; JSON that ends where the text does was not cut.
func MarkCut(text string) string {
	if IsMarked(text) || LooksJSON(text) && jsonscan.Valid(text) {
		return text
	}
	if closed, ok := closeCut(text, 0); ok {
		return closed
	}
	return text + cutMark
}

// closeCut closes JSON that ends in the middle; ok is false for any other text.
//
//	{"a": [1, 23                      {"a": [1], "⟂": true}          what may go on is no value
//	[{"role": "user", "content": "Ho  [{"role": "user", "content": "Ho⟂"}]
//	{"a": 1, "b                       {"a": 1, "⟂": true}
//	{"arguments": "{\"a\": 1, \"b     {"arguments": "{\"a\": 1, \"⟂\": true}"}
func closeCut(text string, depth int) (closed string, ok bool) {
	if !LooksJSON(text) {
		return "", false
	}
	var open []byte
	kept, named := 0, false // behind what is kept as it is; whether a name waits for its value
	scan := jsonscan.New(text, 0)
	t := scan.Next()
	for ; t.Kind != jsonscan.Bad; t = scan.Next() {
		switch t.Kind {
		case jsonscan.End:
			return "", false
		case jsonscan.Key:
			named = true
			continue
		case jsonscan.Open:
			open = append(open, text[t.Start])
		case jsonscan.Close:
			open = open[:len(open)-1]
		case jsonscan.Number:
			if t.End == len(text) && len(open) > 0 { // it may go on
				return finish(text, t.Start, kept, open, named, depth)
			}
		}
		kept, named = t.End, false
		if len(open) == 0 { // the value has ended
			return "", false
		}
	}
	if strings.HasPrefix(scan.Want(), "a comma") && t.Start < len(text) {
		return "", false
	}
	return finish(text, t.Start, kept, open, named, depth)
}

// finish closes a text whose last token, from a place on, is not whole.
func finish(text string, from, kept int, open []byte, named bool, depth int) (closed string, ok bool) {
	last := text[from:]
	inObject, owed := len(open) > 0 && open[len(open)-1] == '{', false
	var b strings.Builder
	switch quoted := strings.HasPrefix(last, `"`); {
	case !quoted && len(open) == 0, !quoted && !mayGoOn(last):
		return "", false
	case quoted:
		inner, ok := textBefore(last)
		if !ok && (!inObject || named || !endsAsKey(last)) {
			return "", false
		}
		if inObject && !named {
			b.WriteString(text[:kept])
			b.WriteString(cutMember(text[kept-1]))
			break
		}
		b.WriteString(text[:from])
		if said, err := exactjson.Parse(inner + `"`); err == nil && depth < maxCutNesting {
			if nested, ok := closeCut(said.Str(), depth+1); ok {
				b.WriteString(exactjson.StringValue(nested).JSON())
				break
			}
		}
		b.WriteString(inner + cutMark + `"`)
	case inObject && named:
		b.WriteString(text[:from] + `"` + cutMark + `"`)
	case inObject:
		b.WriteString(text[:kept])
		b.WriteString(cutMember(text[kept-1]))
	default: // an element of a list that is not there, or not whole: the object around the list says so
		b.WriteString(text[:kept])
		owed = true
	}
	for i := len(open) - 1; i >= 0; i-- {
		if owed && open[i] == '{' {
			b.WriteString(cutMember(']'))
			owed = false
		}
		b.WriteByte(open[i] + 2) // } and ] stand two behind { and [
	}
	return b.String(), true
}

// cutMember is the member that says that others are missing, behind a byte.
func cutMember(before byte) string {
	if before == '{' {
		return `"` + cutMark + `":true`
	}
	return `,"` + cutMark + `":true`
}

// mayGoOn reports what a number or a word begins with, or nothing.
func mayGoOn(last string) bool {
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(word, last) {
			return true
		}
	}
	return strings.Trim(last, "+-.eE0123456789") == ""
}

// textBefore returns a text in quotes that does not end, with the quote that begins it and without the half of an escape; ok is false for one that ends, or is none.
func textBefore(last string) (inner string, ok bool) {
	end := len(last)
	for i := 1; i < len(last); i++ {
		switch {
		case last[i] == '"' || last[i] < ' ':
			return "", false
		case last[i] != '\\':
		case i+1 < len(last) && !strings.ContainsRune(`"\/bfnrtu`, rune(last[i+1])):
			return "", false
		case i+1 == len(last) || last[i+1] == 'u' && len(last) < i+6:
			return last[:min(end, i)], true
		case last[i+1] == 'u':
			if strings.Trim(last[i+2:i+6], "0123456789abcdefABCDEF") != "" {
				return "", false
			}
			if high := last[i+2 : i+4]; (high[0]|' ') == 'd' && strings.ContainsAny(high[1:], "89abAB") && len(last) < i+12 { // the first half of a pair
				end = min(end, i)
			}
			i += 5
		default:
			i++
		}
	}
	return last[:end], true
}

// endsAsKey reports a name in quotes behind which the text ends, or spaces.
func endsAsKey(last string) bool {
	closing := strings.LastIndexByte(last, '"')
	return closing > 0 && strings.TrimSpace(last[closing+1:]) == ""
}

// WholeMembers are the members of an object that was cut which are whole objects or lists, beside the mark; ok is false for a list, or a text, that was cut. What a
// scalar means depends on what is missing beside it: the text of a message is no answer if calls follow.
func WholeMembers(marked string) (json string, ok bool) {
	v, err := exactjson.Parse(marked)
	if err != nil || v.Kind() != exactjson.Object {
		return "", false
	}
	kept := []exactjson.Member{{Name: cutMark, Value: exactjson.BoolValue(true)}}
	for i, m := range v.Members() {
		if i < v.Len()-1 && m.Value.Kind() >= exactjson.Array { // the last one was open
			kept = append(kept, m)
		}
	}
	return exactjson.ObjectValue(kept...).JSON(), true
}

// Unmark takes the mark out of a text, and what was closed behind it.
func Unmark(text string) (as string, cut bool) {
	as, _, cut = strings.Cut(text, cutMark)
	if !cut {
		return text, false
	}
	for _, member := range []string{`,"`, `{"`} { // the member that says that others are missing
		if strings.HasSuffix(as, member) && strings.HasPrefix(text[len(as)+len(cutMark):], `":true`) {
			return strings.TrimSuffix(as[:len(as)-1], ","), true
		}
	}
	return as, true
}

// UnmarkValue takes the marks out of a value. JSON texts in it stay closed, so that they can be read.
func UnmarkValue(v exactjson.Value) (as exactjson.Value, cut bool) {
	switch v.Kind() {
	case exactjson.String:
		if !IsMarked(v.Str()) {
			return v, false
		}
		if inner, ok := ParseStructure(v.Str()); ok {
			inner, _ = UnmarkValue(inner)
			return exactjson.StringValue(inner.JSON()), true
		}
		text, _ := Unmark(v.Str())
		return exactjson.StringValue(text), true
	case exactjson.Object:
		members := v.Members()
		for i, m := range members {
			if strings.Contains(m.Name, cutMark) {
				rest := append(append([]exactjson.Member(nil), members[:i]...), members[i+1:]...)
				as, _ = UnmarkValue(exactjson.ObjectValue(rest...))
				return as, true
			}
		}
	}
	as = v.Map(func(_ int, m exactjson.Member) exactjson.Value {
		inner, there := UnmarkValue(m.Value)
		cut = cut || there
		return inner
	})
	return as, cut
}

func unmarkWhole(v exactjson.Value) (as exactjson.Value, cut bool) {
	if v.Kind() != exactjson.String {
		return UnmarkValue(v)
	}
	text, cut := Unmark(v.Str())
	if !cut {
		return v, false
	}
	return exactjson.StringValue(text), true
}

// UnmarkContent takes the marks out of a value that was read, and labels it. A text is then what was recorded.
func UnmarkContent(c *Content) (cut bool) {
	v, cut := unmarkWhole(c.Value)
	text, also := Unmark(c.Text)
	if cut = cut || also; cut {
		c.Value, c.Text, c.Label = v, text, tape.Truncated
	}
	return cut
}

// UnmarkMessages takes the marks out of messages that were read, and labels their parts. A call whose name is not whole, or not there at the end, is none. The messages are those of the caller.
func UnmarkMessages(messages []Message) (cut bool) {
	for i := range messages {
		m := &messages[i]
		name, inName := Unmark(m.Name)
		role, inRole := Unmark(string(m.Role))
		m.Name, m.Role = name, tape.Role(role)
		cut = cut || inName || inRole
		kept := m.Parts[:0:0]
		for _, p := range m.Parts {
			was, whole := unmarkPart(&p)
			if cut = cut || was; whole && (p.Type != tape.PartToolCall || p.Name != "" || i < len(messages)-1) {
				kept = append(kept, p)
			}
		}
		m.Parts = kept
	}
	return cut
}

// UnmarkParts takes the marks out of parts that were read, and labels them.
func UnmarkParts(parts []Part) (cut bool) {
	for i := range parts {
		was, _ := unmarkPart(&parts[i])
		cut = cut || was
	}
	return cut
}

// unmarkPart reports whether a mark stood in a part, and whether it is still one without.
func unmarkPart(p *Part) (cut, still bool) {
	still = true
	for _, text := range []*string{&p.Text, &p.ID, &p.Name, &p.ArgsText, &p.MIMEType, &p.URI} {
		as, was := Unmark(*text)
		if was && text == &p.Name {
			still = false
		}
		if was && text == &p.ID {
			as = ""
		}
		*text = as
		cut = cut || was
	}
	for _, v := range []*exactjson.Value{&p.Args, &p.Result, &p.Value} {
		as, was := unmarkWhole(*v)
		*v = as
		cut = cut || was
	}
	if cut {
		p.Label = tape.Truncated
	}
	return cut, still
}
