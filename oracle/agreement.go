// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// agreement says how what a model was shown of a tool call stands to the recorded answer.
type agreement int

const (
	agrees      agreement = iota // the same value
	rewritten                    // the answer in another form: encoded otherwise, in an envelope, cut with a remark, masked
	surrounds                    // the answer holds all that was shown, and more: an envelope around what the tool returned, or a part was shown
	undecided                    // too little content to tell
	contradicts                  // other content
)

// SameAnswer reports that a recorded answer and what a model was shown of it have the same content. The shown value is the same, or it was
// put into an envelope, encoded in another way, cut or masked.
func SameAnswer(answer, shown exactjson.Value) bool {
	a := agreementOf(answer, shown)
	return a < undecided
}

// agreementOf decides by content alone, whatever framework rewrote it. What looks like an envelope may be what the tool returned, and shown as a whole in another form.
func agreementOf(answer, shown exactjson.Value) agreement {
	inner, innerShown := plain(answer), plain(shown)
	if inner.Equal(innerShown) {
		return agrees
	}
	if isRepr(answer, shown) {
		return rewritten
	}
	if noBlocks(inner) && emptyText(innerShown) || emptyText(inner) && noBlocks(innerShown) {
		return rewritten
	}
	best := contentAgrees(inner, innerShown)
	if best != contradicts {
		return best
	}
	for _, a := range layersOf(answer) {
		for _, b := range layersOf(shown) {
			if told := wordsOf(a, 0); len(told) > 0 && strings.EqualFold(told.joined(), wordsOf(b, 0).joined()) {
				return rewritten
			}
		}
	}
	return contradicts
}

// noBlocks reports an empty list: the content of a message in blocks, of which frameworks make a text, an empty one of none.
func noBlocks(v exactjson.Value) bool { return v.Kind() == exactjson.Array && v.Len() == 0 }

func emptyText(v exactjson.Value) bool { return v.Kind() == exactjson.String && v.Str() == "" }

// contentAgrees compares the words of the two values. Encodings differ in quotes, brackets, escapes and the spelling of numbers and
// constants. Envelopes and cuts differ in what stands around the words, masks in what stands in place of words. Texts may be escaped more
// often than the values they stand for, so each reading of one value is compared with each of the other.
func contentAgrees(answer, shown exactjson.Value) agreement {
	best := contradicts
	var told, seen []words
	for n := range maxUnescaped + 1 {
		told, seen = append(told, wordsOf(answer, n)), append(seen, wordsOf(shown, n))
		if n > 0 && slices.Equal(told[n], told[n-1]) && slices.Equal(seen[n], seen[n-1]) {
			break // nothing is escaped
		}
		for i := range told {
			best = min(best, told[i].compare(seen[n]), told[n].compare(seen[i]))
		}
		if best == rewritten {
			return best
		}
	}
	if contains(answer, shown) {
		return min(best, max(decided(seen[0].weight()), surrounds))
	}
	isText := answer.Kind() == exactjson.String || shown.Kind() == exactjson.String
	if isText && told[0].reordered(seen[0]) || holds(answer, shown) || holds(shown, answer) {
		return min(best, undecided)
	}
	return best
}

// maxUnescaped is how often a text may be escaped within another.
const maxUnescaped = 2

// enough is how many letters and digits make a coincidence unlikely.
const enough = 8

func decided(weight int) agreement {
	if weight >= enough {
		return rewritten
	}
	return undecided
}

// contains reports that part is whole with members left out or in another order.
func contains(whole, part exactjson.Value) bool {
	whole, part = plain(whole), plain(part)
	switch {
	case part.Kind() == exactjson.Object && whole.Kind() == exactjson.Object:
		return !slices.ContainsFunc(part.Members(), func(m exactjson.Member) bool {
			of := whole.Get(m.Name)
			return of.IsAbsent() || !contains(of, m.Value)
		})
	case part.Kind() == exactjson.Array && whole.Kind() == exactjson.Array:
		rest := whole.Members()
		for _, m := range part.Members() {
			at := slices.IndexFunc(rest, func(of exactjson.Member) bool { return contains(of.Value, m.Value) })
			if at < 0 {
				return false
			}
			rest = rest[at+1:]
		}
		return true
	default:
		return whole.Equal(part)
	}
}

// holds reports that part is one of the values within whole.
func holds(whole, part exactjson.Value) bool {
	return slices.ContainsFunc(whole.Members(), func(m exactjson.Member) bool {
		inner := plain(m.Value)
		return inner.Equal(part) || holds(inner, part)
	})
}

// words are those of a value, in order: numbers in one spelling, null and booleans as JSON writes them, symbols, and
// anyWords for each mask. The punctuation of encodings is left out.
type words []string

// anyWords stands for a mask: it may be any words.
const anyWords = "\x01"

// cutMark stands for dots that tell of a cut.
const cutMark = "…"

func (c words) weight() int {
	n := 0
	for _, w := range c {
		if w != anyWords && w != cutMark {
			n += utf8.RuneCountInString(w)
		}
	}
	return n
}

// agreementOf tells how the words shown stand to the words of the answer.
func (c words) compare(shown words) agreement {
	text, shownText := c.joined(), shown.joined()
	switch {
	case len(c) == 0 && len(shown) == 0:
		return contradicts // nothing but punctuation, and that differs
	case strings.EqualFold(text, shownText):
		return rewritten
	case len(c) == 0, len(c) == 1 && c[0] == "null":
		if shown.placeholder() {
			return undecided
		}
		return contradicts
	case len(shown) == 0:
		return contradicts
	case strings.Contains(shownText, text):
		return within(c, shown)
	case strings.Contains(text, shownText):
		return max(within(shown, c), surrounds)
	case cutFrom(c, shown):
		return rewritten
	}
	switch masksAnswer, masksShown := slices.Contains(c, anyWords), slices.Contains(shown, anyWords); {
	case masksAnswer && masksShown:
		return undecided
	case masksShown && c.matches(shown):
		return decided(shown.weight())
	case masksAnswer && shown.matches(c):
		return decided(c.weight())
	}
	return contradicts
}

// within decides about words that stand in others without interruption: a few are a coincidence unless a phrase stands around.
func within(part, whole words) agreement {
	const phrase = 2 // words
	if weight := part.weight(); weight >= enough || len(whole) >= len(part)+phrase {
		return decided(weight)
	}
	return contradicts
}

// reordered reports the same words in another order: of members, or values that changed places.
func (c words) reordered(other words) bool {
	return len(c) == len(other) && len(c) >= 4 && slices.Equal(slices.Sorted(slices.Values(c)), slices.Sorted(slices.Values(other)))
}

const wordEnd = "\x00"

func (c words) joined() string { return wordEnd + strings.Join(c, wordEnd) + wordEnd }

// placeholder reports a few words that tell of no value, such as "done" or "Tool ran without output".
func (c words) placeholder() bool {
	const most = 12 // words
	return len(c) <= most && !slices.ContainsFunc(c, func(w string) bool { return strings.ContainsAny(w, "0123456789") })
}

// sayFailure reports a result that says that a call failed and nothing else, as frameworks do that keep the error itself from the model. They may name the tool, the class of the error and how
// often it was tried: "Tool 'search' failed after 1 attempt with TimeoutError".
func sayFailure(shown exactjson.Value, e *tape.Event) bool {
	if text := plain(shown); text.Kind() == exactjson.String {
		of := errorClass(e.Error)
		left := strings.FieldsFunc(attempts.ReplaceAllString(text.Str(), " "), unicode.IsSpace)
		left = slices.DeleteFunc(left, func(w string) bool {
			w = strings.Trim(w, "'\"`.:")
			return w != "" && (w == e.Name || w == of)
		})
		shown = exactjson.StringValue(strings.Join(left, " "))
	}
	failed := false
	for _, w := range wordsOf(shown, 0) {
		means, known := aboutFailures[strings.ToLower(w)]
		if !known {
			return false
		}
		failed = failed || means
	}
	return failed
}

var attempts = regexp.MustCompile(`\bafter \d+ (attempts?|tries|retries)\b`)

// errorClass is the class of a recorded error, which may stand before its message; "" where none is known.
func errorClass(e *tape.Error) string {
	if e == nil {
		return ""
	}
	of := e.Type
	if _, class := tape.BeforeStack(e.Message); of == "" && class != "" {
		of = class
	} else if of == "" {
		of, _, _ = strings.Cut(e.Message, ": ")
	}
	of = of[strings.LastIndexByte(of, '.')+1:]
	if strings.HasSuffix(of, "Error") || strings.HasSuffix(of, "Exception") {
		return of
	}
	return ""
}

// aboutFailures are the words of such a sentence, and whether they mean a failure.
var aboutFailures = map[string]bool{
	"error": true, "errors": true, "failed": true, "failure": true, "fail": true, "exception": true, "unsuccessful": true, "wrong": true,
	"a": false, "an": false, "the": false, "of": false, "in": false, "to": false, "with": false, "was": false, "has": false, "is": false, "not": false, "could": false, "did": false, "be": false,
	"while": false, "during": false, "when": false, "there": false, "occurred": false, "happened": false, "went": false, "something": false, "unknown": false, "internal": false, "unexpected": false,
	"function": false, "tool": false, "call": false, "execution": false, "executing": false, "execute": false, "executed": false, "invocation": false, "invoking": false, "calling": false,
	"running": false, "run": false, "true": false, "please": false, "try": false, "again": false,
	".": false, "!": false,
}

// matches reports that the words are those of the masked content, with any words in place of each mask.
func (c words) matches(masked words) bool {
	text := c.joined()
	var parts []string
	for rest := masked; ; {
		at := slices.Index(rest, anyWords)
		if at < 0 {
			parts = append(parts, rest.joined())
			break
		}
		parts, rest = append(parts, rest[:at].joined()), rest[at+1:]
	}
	for i, part := range parts {
		if part == wordEnd+wordEnd { // a mask at the beginning or the end, or two in a row
			continue
		}
		at := strings.Index(text, part)
		if i == len(parts)-1 {
			at = len(text) - len(part)
		}
		if at < 0 || i == 0 && at > 0 || !strings.HasPrefix(text[at:], part) {
			return false
		}
		text = text[at+len(part)-len(wordEnd):]
	}
	return true
}

// cutFrom reports that the words shown are the beginning of the whole, or its beginning and its end, with a remark of the cut in between.
// Without the remark, two different values may begin alike.
func cutFrom(whole, shown words) bool {
	n := 0
	for n < len(shown) && n < len(whole) && shown[n] == whole[n] {
		n++
	}
	k := 0
	for k < len(shown)-n && k < len(whole)-n && shown[len(shown)-1-k] == whole[len(whole)-1-k] {
		k++
	}
	kept, remark, left := append(slices.Clone(shown[:n]), shown[len(shown)-k:]...), shown[n:len(shown)-k], whole[n:len(whole)-k]
	if kept.weight() < enough || len(left) == 0 || len(remark) == 0 || len(remark) > maxRemark {
		return false
	}
	if last := remark[0]; k == 0 && len(remark) == 1 && utf8.RuneCountInString(last) > 1 && strings.HasPrefix(left[0], last) {
		return true // cut within a word
	}
	return slices.ContainsFunc(remark, func(w string) bool { return w == cutMark || cutWord.MatchString(w) })
}

// maxRemark bounds, in words, what a framework says in place of what it cut off.
const maxRemark = 30

var cutWord = regexp.MustCompile(`(?i)^(truncat|omitt|clipp|elid|snip|shorten|abbreviat|exceed)`)

// wordsOf lists the words of a value. Its texts are read as if they were escaped so many times more.
func wordsOf(v exactjson.Value, escaped int) words {
	var c words
	c.add(v, escaped, 0)
	return c
}

func (c *words) add(v exactjson.Value, escaped, depth int) {
	const layers = 64
	switch v.Kind() {
	case exactjson.String:
		if inner, err := exactjson.Parse(v.Text()); err == nil && depth < layers {
			c.add(inner, escaped, depth+1)
			return
		}
		text := v.Text()
		for range escaped {
			text = unescape(text)
		}
		c.addText(text)
	case exactjson.Number:
		*c = append(*c, number(v.Text()))
	case exactjson.Array, exactjson.Object:
		for _, m := range v.Members() {
			if v.Kind() == exactjson.Object {
				c.addText(m.Name)
			}
			c.add(m.Value, escaped, depth+1)
		}
	case exactjson.Bool, exactjson.Null:
		*c = append(*c, v.JSON())
	}
}

// maskForm finds what stands in place of something that was masked, with the rest of a word that was masked in part.
var maskForm = regexp.MustCompile(`(?i:\[[^\[\]]{0,80}(?:redacted|masked|scrubbed|filtered|hidden)[^\[\]]{0,80}\]|<[^<>]{0,40}(?:redacted|masked|hidden)[^<>]{0,40}>)` +
	`|<[A-Z]+(?:_[A-Z]+)+>|[\w.@+-]*(?:\*{3,}|•{3,}|█{2,}|\bX{6,}\b)[\w.@+-]*`)

func (c *words) addText(text string) {
	at := 0
	if !strings.ContainsAny(text, "[<*•█X") {
		c.addWords(text)
		return
	}
	for _, m := range maskForm.FindAllStringIndex(text, -1) {
		c.addWords(text[at:m[0]])
		*c = append(*c, anyWords)
		at = m[1]
	}
	c.addWords(text[at:])
}

// numberForm is a number as any encoding spells it.
var numberForm = regexp.MustCompile(`^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?`)

func (c *words) addWords(text string) {
	before := ' '
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case strings.HasPrefix(text, "..."), r == '…':
			*c = append(*c, cutMark)
			text = strings.TrimLeft(text, ".…")
			before = '.'
			continue
		case r == '-' && !inWord(before) || r >= '0' && r <= '9':
			if literal := numberForm.FindString(text); literal != "" && !goesOn(text[len(literal):]) {
				*c = append(*c, number(literal))
				text, before = text[len(literal):], '0'
				continue
			}
		}
		if !inWord(r) {
			if unicode.Is(unicode.So, r) || unicode.Is(unicode.Sc, r) || strings.ContainsRune("!?%&@^~+.", r) {
				*c = append(*c, string(r))
			}
			text, before = text[size:], r
			continue
		}
		end := strings.IndexFunc(text, func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(text)
		}
		word := text[:end]
		if spelled, constant := constants[word]; constant {
			word = spelled
		}
		*c = append(*c, word)
		text, before = text[end:], 'a'
	}
}

// constants are spelled otherwise in Python.
var constants = map[string]string{"None": "null", "True": "true", "False": "false"}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}

// goesOn reports that what looks like a number is a part of a longer word, such as a version or a date.
func goesOn(rest string) bool {
	r, size := utf8.DecodeRuneInString(rest)
	if inWord(r) && size > 0 {
		return true
	}
	next, _ := utf8.DecodeRuneInString(rest[size:])
	return (r == '.' || r == '-') && next >= '0' && next <= '9'
}

// number spells numbers that are the same double in the same way; a double is what most programs make of them.
func number(literal string) string {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || len(literal) > 1 && literal[0] == '0' && literal[1] != '.' && literal[1] != 'e' && literal[1] != 'E' { // 007 is a name
		return literal
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// escapes are those of JSON and of Python.
var escapes = regexp.MustCompile(`\\(?:u[0-9a-fA-F]{4}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)`)

func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	return escapes.ReplaceAllStringFunc(text, func(e string) string {
		switch e[1] {
		case 'n', 'r', 't', 'b', 'f':
			if len(e) == 2 {
				return " "
			}
		case 'u', 'x', 'U':
			if e[1] == 'u' {
				if v, err := exactjson.Parse(`"` + e + `"`); err == nil {
					return v.Text()
				}
			}
			if n, err := strconv.ParseUint(e[2:], 16, 32); err == nil && n <= unicode.MaxRune {
				return string(rune(n))
			}
		}
		return e[1:]
	})
}
