// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// Limits finds at which length a program cuts the texts of its attributes: an SDK by its setting (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT), the processor of a collector
// (truncate_all), or an instrumentation one of its keys. None of them leaves a mark. What is cut shows by its length: several texts of exactly the greatest one, or JSON that ends in
// the middle there. The zero value is ready. Add everything, then mark.
type Limits struct {
	programs map[pcommon.Map]*program
	named    map[string]*program
	settled  bool
	some     bool // there is a limit
}

// program holds the texts of one program, of all its keys and of each, and the limits that they show.
type program struct {
	lane
	keys map[laneKey]*lane
	// order are the lanes as their keys came first, and next is behind the last one that was asked for: spans
	// of one kind have the same keys in the same order.
	order []orderedLane
	next  int
}

// orderedLane is a lane with the key that its first text had.
type orderedLane struct {
	scope, key string
	*lane
}

// laneOf returns the lane of a key. It is looked for where that of the key before leads to, and then by name.
func (p *program) laneOf(scope, key string) *lane {
	if p.next == len(p.order) {
		p.next = 0
	}
	if p.next < len(p.order) && p.order[p.next].key == key && p.order[p.next].scope == scope {
		p.next++
		return p.order[p.next-1].lane
	}
	of := laneKey{scope, stemOf(key)}
	one := p.keys[of]
	if one == nil {
		one = &lane{at: len(p.order)}
		p.keys[of], p.order = one, append(p.order, orderedLane{scope, key, one})
	}
	p.next = one.at + 1
	return one
}

// laneKey names one key of a scope, without the numbers in it.
type laneKey struct{ scope, stem string }

// lane holds texts for which one limit may hold.
type lane struct {
	at     int // place in the order of its program
	texts  []string
	limits []limit
}

// limit is a length in one way of counting.
type limit struct{ n, way int }

// lengths are those of one text in the ways in which the languages of SDKs count: bytes, characters, units of
// UTF-16.
type lengths [ways]int

const ways = 3

// lengthsOf counts a text. In most texts every character is one byte.
func lengthsOf(text string) lengths {
	if isASCII(text) {
		return lengths{len(text), len(text), len(text)}
	}
	characters, units := 0, 0
	for _, r := range text {
		characters++
		units++
		if r > 0xFFFF {
			units++
		}
	}
	return lengths{len(text), characters, units}
}

// isASCII looks at 16 bytes at a time.
func isASCII(text string) bool {
	const highs = 0x8080808080808080
	rest := unsafe.Slice(unsafe.StringData(text), len(text))
	for ; len(rest) >= 16; rest = rest[16:] {
		if (binary.NativeEndian.Uint64(rest)|binary.NativeEndian.Uint64(rest[8:]))&highs != 0 {
			return false
		}
	}
	for _, b := range rest {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const (
	minLimit    = 32  // nobody sets less: ids and names have that length
	minKeyLimit = 100 // of one key: texts that a tool made alike are shorter
	maxWitness  = 64  // texts of the greatest length that are looked at
)

// Add takes the texts of an item.
func (l *Limits) Add(s *dialect.Source) {
	p := l.programOf(s.Resource)
	eachText(s.Span, func(key string, v pcommon.Value) {
		text := v.Str()
		if len(text) < minLimit {
			return
		}
		p.texts = append(p.texts, text)
		if len(text) >= minKeyLimit {
			one := p.laneOf(s.ScopeName, key)
			one.texts = append(one.texts, text)
		}
	})
}

// programOf tells programs apart: each has settings of its own.
func (l *Limits) programOf(resource pcommon.Map) *program {
	if known := l.programs[resource]; known != nil {
		return known
	}
	if l.programs == nil {
		l.programs, l.named = map[pcommon.Map]*program{}, map[string]*program{}
	}
	var b strings.Builder
	for _, key := range []string{"service.name", "service.instance.id", "telemetry.sdk.language", "host.name", "process.pid"} {
		if v, there := resource.Get(key); there {
			b.WriteString(v.AsString())
		}
		b.WriteByte(0)
	}
	p := l.named[b.String()]
	if p == nil {
		p = &program{keys: map[laneKey]*lane{}}
		l.named[b.String()] = p
	}
	l.programs[resource] = p
	return p
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
	if !l.settled {
		l.settled = true
		for _, p := range l.named {
			l.some = p.settle() || l.some
		}
	}
	return l.some
}

// settle finds the limits of a program, and reports whether there is one.
func (p *program) settle() (some bool) {
	var room longest
	p.limits = room.limits(p.texts, false)
	some = len(p.limits) > 0
	for _, one := range p.keys {
		one.limits = slices.DeleteFunc(room.limits(one.texts, true), func(at limit) bool { return standWhole(atLength(one.texts, at), p.texts) })
		some = some || len(one.limits) > 0
	}
	if some {
		p.spread()
	}
	p.texts = nil
	for _, one := range p.keys {
		one.texts = nil
	}
	return some
}

// spread holds the limit of one key for the other keys of its scope whose longest text has exactly that length, counted in one way: an instrumentation that cuts has one length for all that it
// cuts so (OpenLIT's outputs of workflows and of tools), and of a key with one long text nothing else shows it.
func (p *program) spread() {
	greatest := map[*lane]lengths{}
	cuts := map[string]map[limit]bool{} // by scope
	for of, one := range p.keys {
		var most lengths
		for _, text := range one.texts {
			for way, n := range lengthsOf(text) {
				most[way] = max(most[way], n)
			}
		}
		greatest[one] = most
		for way, n := range most {
			if !chosen(n) || !slices.ContainsFunc(one.limits, func(l limit) bool { return l.n == n }) {
				continue
			}
			if cuts[of.scope] == nil {
				cuts[of.scope] = map[limit]bool{}
			}
			cuts[of.scope][limit{n, way}] = true
		}
	}
	for of, one := range p.keys {
		for way, n := range greatest[one] {
			at := limit{n, way}
			if len(one.limits) > 0 || !cuts[of.scope][at] {
				continue
			}
			if cut := atLength(one.texts, at); !slices.ContainsFunc(cut, endsWell) && !standWhole(cut, p.texts) {
				one.limits = []limit{at}
			}
		}
	}
}

// endsWell reports a text that ends as a whole one does: as JSON, or as a sentence.
func endsWell(text string) bool {
	return !decode.EndsInside(text) && (decode.LooksJSON(text) || !endsInSentence(text))
}

// longest holds the texts of a lane that may be its longest, however one counts. It serves one lane after the
// other.
type longest struct {
	texts   []string
	lengths []lengths
	at      [ways][]string // those of the greatest length
}

// limits are the lengths at which texts were cut, one for each way of counting by which that shows.
func (l *longest) limits(texts []string, oneKey bool) (limits []limit) {
	if oneKey && len(texts) < 2 {
		return nil
	}
	most := l.take(texts)
	for way, n := range most {
		l.at[way] = l.at[way][:0]
		if n < minLimit || slices.ContainsFunc(limits, func(l limit) bool { return l.n == n }) {
			continue
		}
		for i, text := range l.texts {
			if len(l.at[way]) < maxWitness && l.lengths[i][way] == n {
				l.at[way] = append(l.at[way], text)
			}
		}
		if way > 0 && n == most[way-1] && slices.Equal(l.at[way], l.at[way-1]) {
			continue // counted so, the same texts have the same length
		}
		if showsLimit(n, l.at[way], oneKey) {
			limits = append(limits, limit{n, way})
		}
	}
	return limits
}

// take takes the texts of a lane, and returns the greatest lengths.
func (l *longest) take(texts []string) (most lengths) {
	l.texts, l.lengths = l.texts[:0], l.lengths[:0]
	if len(texts) == 0 {
		return most
	}
	least := lengthsOf(slices.MaxFunc(texts, func(a, b string) int { return len(a) - len(b) }))[1]
	for _, text := range texts {
		if len(text) >= least && !slices.Contains(l.texts[max(0, len(l.texts)-maxWitness):], text) {
			l.texts = append(l.texts, text)
		}
	}
	slices.Sort(l.texts) // which of them are looked at does not depend on the order in which they came
	for _, text := range l.texts {
		of := lengthsOf(text)
		l.lengths = append(l.lengths, of)
		for way, n := range of {
			most[way] = max(most[way], n)
		}
	}
	return most
}

// atLength are different texts of a length.
func atLength(texts []string, at limit) (found []string) {
	for _, text := range texts {
		if len(found) < maxWitness && len(text) >= at.n && lengthsOf(text)[at.way] == at.n && !slices.Contains(found, text) {
			found = append(found, text)
		}
	}
	return found
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
	p := l.programOf(s.Resource)
	wasCut := func(key, text string) bool {
		if cutAt(p.limits, text) {
			return true
		}
		one := p.keys[laneKey{s.ScopeName, stemOf(key)}]
		return one != nil && len(text) >= minKeyLimit && cutAt(one.limits, text)
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

// cutAt reports a text that ends at one of the limits.
func cutAt(limits []limit, text string) bool {
	return slices.ContainsFunc(limits, func(at limit) bool {
		if len(text) < at.n-partRune { // no way of counting gives more than the bytes
			return false
		}
		n := lengthsOf(text)[at.way]
		return n == at.n || n < at.n && n >= at.n-partRune && decode.EndsInside(text)
	})
}

// partRune is how many bytes a limit in bytes leaves out more where it would cut a character.
const partRune = utf8.UTFMax - 1
