// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// Limits finds at which length a program cuts the texts of its attributes: an SDK by its setting (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT), the processor of a collector
// (truncate_all), or an instrumentation one of its keys. None of them leaves a mark. What is cut shows by its length: several texts of exactly the greatest one, or JSON that ends in
// the middle there. The zero value is ready. Add everything, then mark.
type Limits struct {
	programs map[pcommon.Map]string
	texts    map[lane][]string
	found    map[lane][]limit
}

// lane is what one limit may hold for: all of a program, or one key of a scope.
type lane struct{ program, scope, key string }

// limit is a number of bytes, of characters, or of units of UTF-16, as the languages of SDKs count.
type limit struct {
	n     int
	count func(string) int
}

var counts = []func(string) int{
	func(s string) int { return len(s) },
	utf8.RuneCountInString,
	func(s string) (n int) {
		for _, r := range s {
			if n++; r > 0xFFFF {
				n++
			}
		}
		return n
	},
}

const (
	minLimit    = 32  // nobody sets less: ids and names have that length
	minKeyLimit = 100 // of one key: texts that a tool made alike are shorter
	maxWitness  = 64  // texts of the greatest length that are looked at
)

// Add takes the texts of an item.
func (l *Limits) Add(s *dialect.Source) {
	if l.texts == nil {
		l.texts, l.programs = map[lane][]string{}, map[pcommon.Map]string{}
	}
	of := lane{program: l.programOf(s.Resource)}
	eachText(s.Span, func(key string, v pcommon.Value) {
		text := v.Str()
		if len(text) < minLimit {
			return
		}
		l.texts[of] = append(l.texts[of], text)
		if len(text) >= minKeyLimit {
			one := lane{of.program, s.ScopeName, stemOf(key)}
			l.texts[one] = append(l.texts[one], text)
		}
	})
}

// programOf tells programs apart: each has settings of its own.
func (l *Limits) programOf(resource pcommon.Map) string {
	if known, there := l.programs[resource]; there {
		return known
	}
	var b strings.Builder
	for _, key := range []string{"service.name", "service.instance.id", "telemetry.sdk.language", "host.name", "process.pid"} {
		if v, there := resource.Get(key); there {
			b.WriteString(v.AsString())
		}
		b.WriteByte(0)
	}
	l.programs[resource] = b.String()
	return l.programs[resource]
}

// stemOf is a key without the numbers in it: the members of lists have keys of their own.
func stemOf(key string) string {
	if !strings.ContainsAny(key, "0123456789") {
		return key
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '#'
		}
		return r
	}, key)
}

// eachText calls f for each text of the attributes of a span and of its events.
func eachText(span ptrace.Span, f func(key string, v pcommon.Value)) {
	eachTextOf(span.Attributes(), f)
	for _, e := range span.Events().All() {
		eachTextOf(e.Attributes(), f)
	}
}

func eachTextOf(m pcommon.Map, f func(key string, v pcommon.Value)) {
	for key, v := range m.All() {
		eachTextIn(key, v, 0, f)
	}
}

const maxTextDepth = 16

func eachTextIn(key string, v pcommon.Value, depth int, f func(string, pcommon.Value)) {
	switch {
	case v.Type() == pcommon.ValueTypeStr:
		f(key, v)
	case depth == maxTextDepth:
	case v.Type() == pcommon.ValueTypeSlice:
		for _, e := range v.Slice().All() {
			eachTextIn(key, e, depth+1, f)
		}
	case v.Type() == pcommon.ValueTypeMap:
		for k, e := range v.Map().All() {
			eachTextIn(k, e, depth+1, f)
		}
	}
}

// find settles what was added, and reports whether there is a limit.
func (l *Limits) find() bool {
	if l.found == nil {
		l.found = map[lane][]limit{}
		for of, texts := range l.texts {
			limits := limitsOf(texts, of.key != "")
			if of.key != "" {
				limits = slices.DeleteFunc(limits, func(at limit) bool {
					return standWhole(atLength(texts, at.n, at.count), l.texts[lane{program: of.program}])
				})
			}
			if len(limits) > 0 {
				l.found[of] = limits
			}
		}
		l.spread()
		l.texts = nil
	}
	return len(l.found) > 0
}

// spread holds the limit of one key for the other keys of its scope whose longest text has exactly that length, counted in one way: an instrumentation that cuts has one length for all that it
// cuts so (OpenLIT's outputs of workflows and of tools), and of a key with one long text nothing else shows it.
func (l *Limits) spread() {
	type length struct{ n, way int } // way is that of counting, in counts
	longest := func(of lane, way int) (at length) {
		at.way = way
		for _, text := range l.texts[of] {
			at.n = max(at.n, counts[way](text))
		}
		return at
	}
	cuts := map[lane]map[length]bool{} // by program and scope
	for of, limits := range l.found {
		scope := lane{program: of.program, scope: of.scope}
		for way := range counts {
			at := longest(of, way)
			if of.key == "" || !chosen(at.n) || !slices.ContainsFunc(limits, func(l limit) bool { return l.n == at.n }) {
				continue
			}
			if cuts[scope] == nil {
				cuts[scope] = map[length]bool{}
			}
			cuts[scope][at] = true
		}
	}
	for of, texts := range l.texts {
		there := cuts[lane{program: of.program, scope: of.scope}]
		for way, count := range counts {
			if of.key == "" || len(there) == 0 || len(l.found[of]) > 0 {
				break
			}
			at := longest(of, way)
			if cut := atLength(texts, at.n, count); there[at] && !slices.ContainsFunc(cut, endsWell) && !standWhole(cut, l.texts[lane{program: of.program}]) {
				l.found[of] = []limit{{at.n, count}}
			}
		}
	}
}

// endsWell reports a text that ends as a whole one does: as JSON, or as a sentence.
func endsWell(text string) bool {
	return !decode.EndsInside(text) && (decode.LooksJSON(text) || !endsInSentence(text))
}

// limitsOf are the lengths at which texts were cut, one for each way of counting by which that shows.
func limitsOf(texts []string, oneKey bool) (limits []limit) {
	longest := slices.MaxFunc(texts, func(a, b string) int { return len(a) - len(b) })
	least := min(counts[1](longest), counts[2](longest))
	var long []string // which may be the longest, however one counts
	for _, text := range texts {
		if len(text) >= least && !slices.Contains(long[max(0, len(long)-maxWitness):], text) {
			long = append(long, text)
		}
	}
	slices.Sort(long) // which of them are looked at does not depend on the order in which they came
	for _, count := range counts {
		n := 0
		for _, text := range long {
			n = max(n, count(text))
		}
		if n >= minLimit && !slices.ContainsFunc(limits, func(l limit) bool { return l.n == n }) && showsLimit(n, atLength(long, n, count), oneKey) {
			limits = append(limits, limit{n, count})
		}
	}
	return limits
}

// atLength are different texts of a length.
func atLength(texts []string, n int, count func(string) int) (at []string) {
	for _, text := range texts {
		if len(at) < maxWitness && count(text) == n && !slices.Contains(at, text) {
			at = append(at, text)
		}
	}
	return at
}

// showsLimit reports that different texts of the greatest length of all were cut there. One text is always the longest, so it takes two; or one, if it is JSON that ends in the
// middle and its length is one that somebody chose. Texts alone show it at such a length only, or several of them: two that were made alike have one length too.
func showsLimit(n int, at []string, oneKey bool) bool {
	if len(at) == 0 || len(at) == 1 && (oneKey || !chosen(n)) {
		return false
	}
	inside, prose := 0, 0
	for _, text := range at {
		switch {
		case decode.EndsInside(text):
			inside++
		case strings.ContainsAny(text, " \n") && !decode.LooksJSON(text) && endsInSentence(text):
			prose++
		}
	}
	switch {
	case inside > 1:
		return true
	case inside == 1:
		return chosen(n) || prose > 0
	default:
		return prose > 1 && chosen(n) || prose > 3 && !oneKey
	}
}

const (
	maxProofs = 4  // texts that are looked for in others
	minTail   = 24 // bytes by which the end of a text is known
	maxTail   = 64
)

// standWhole reports that texts of one length were whole: one of them stands in a longer text, a conversation that was resent, and ends there too. A tool that pages
// what it reads returns texts of one length.
func standWhole(at, texts []string) bool {
	proofs := 0
	for _, text := range at {
		tail := text[max(0, len(text)-maxTail):]
		if written := strings.LastIndexFunc(tail, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\/<>&'`, r) }); written >= 0 { // in several ways
			_, size := utf8.DecodeRuneInString(tail[written:])
			tail = tail[written+size:]
		}
		if len(tail) < minTail {
			continue
		}
		for _, longer := range texts {
			if len(longer) > len(text) && (strings.Contains(longer, tail+`"`) || strings.Contains(longer, tail+`\"`)) {
				return true
			}
		}
		if proofs++; proofs == maxProofs {
			break
		}
	}
	return false
}

// endsInSentence reports a text whose end is none: a letter, a digit, a space or a comma.
func endsInSentence(text string) bool {
	return !strings.ContainsRune(".!?:;)]}>\"'`*|…。！？", lastRune(text))
}

func lastRune(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}

// chosen reports a number that people choose: of the tens of two, one less, or one with zeros behind.
func chosen(n int) bool {
	return n%50 == 0 || n%64 == 0 || bits.OnesCount(uint(n)) == 1 || bits.OnesCount(uint(n+1)) == 1
}

// Mark marks the texts of an item that were cut, in a copy of it, if there are any.
func (l *Limits) Mark(s *dialect.Source) {
	if !l.find() {
		return
	}
	program := l.programOf(s.Resource)
	whole := l.found[lane{program: program}]
	wasCut := func(key, text string) bool {
		limits := whole
		if len(text) >= minKeyLimit {
			limits = append(slices.Clip(limits), l.found[lane{program, s.ScopeName, stemOf(key)}]...)
		}
		return slices.ContainsFunc(limits, func(at limit) bool {
			n := at.count(text)
			return n == at.n || n < at.n && n >= at.n-partRune && decode.EndsInside(text)
		})
	}
	s.Limited = true
	some := false
	eachText(s.Span, func(key string, v pcommon.Value) { some = some || wasCut(key, v.Str()) })
	if !some {
		return
	}
	span := ptrace.NewSpan()
	s.Span.CopyTo(span)
	eachText(span, func(key string, v pcommon.Value) {
		if wasCut(key, v.Str()) {
			v.SetStr(decode.MarkCut(v.Str()))
		}
	})
	s.Span = span
}

// partRune is how many bytes a limit in bytes leaves out more where it would cut a character.
const partRune = utf8.UTFMax - 1
