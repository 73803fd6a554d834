// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"math"
	"regexp/syntax"
	"strings"
	"sync"
)

// Class says how sure a rule is, and so where it applies.
type Class string

const (
	Known   Class = "known"   // the form of the value is that of a secret: applies everywhere
	Checked Class = "checked" // personal data with a check digit or a grammar
	Guess   Class = "guess"   // likely, but may be wrong: not on protocol ids
)

// Rule describes a rule, for documents and reports.
type Rule struct {
	Name        string
	Class       Class
	Section     string // "gitleaks", "vendor", "credentials", "pii", "user"
	Description string
}

// rule is a detector with a name. Rules with a pattern run at the places of their keywords; the others are code.
type rule struct {
	Rule
	keywords []string // lower case; one of them stands in every match
	heads    []string // lower case; values that begin with one are long runs of letters, digits and + / _ -
	pattern  string
	group    int     // of the pattern: what is replaced; 0 is the first group that matched, else the match
	entropy  float64 // bits per character that the value needs at least
	accept   func(value string) bool
	manifest bool // of a pattern with a gap: the match must stand in the manifest of a secret

	once     sync.Once
	shapes   []*shape
	byWord   []trigger // by keyword, then by head
	besideOf bool      // a name, an assignment, a value: nothing is there without a sign of an assignment behind the name
}

// trigger says what a keyword sets off: a shape, whose own part begins so many bytes from the keyword.
type trigger struct {
	shape  *shape
	offset int
}

// shape is how a pattern, or an alternative of it, is matched without looking at the same bytes again and again.
type shape struct {
	kind     shapeKind
	re       *matcher  // anchored at its begin, except that of a window
	window   int       // how many bytes re is given, or, of shapeGap, tail
	boundary bool      // no word character may stand before the match
	linear   []*linear // of shapeAnchored: what matches instead of re, if that can be; the first that does
	// Of shapeGap: what stands between re and tail, at most so many bytes, and the number of the groups of re.
	between class
	gap     int
	tail    *matcher
	// Of shapeRun: what stands before re, at least and at most so many bytes.
	before   class
	min, max int
}

type shapeKind uint8

const (
	shapeAnchored shapeKind = iota // the match begins at the keyword, or a fixed number of bytes before it
	shapeGap                       // at the keyword, and what counts follows behind any text of some length
	shapeRun                       // the keyword follows a run of characters of one class
	shapeWindow                    // anything else: the keyword stands somewhere in it, or near it
)

// class is a set of bytes. Bytes of multi-byte characters are in it together or not at all.
type class [256]bool

// classWith returns the class of some bytes.
func classWith(bytes string) (c class) {
	for i := range len(bytes) {
		c[bytes[i]] = true
	}
	return c
}

// window is how far around a keyword a pattern is searched that does not begin with it.
const (
	windowBefore = 256
	windowAfter  = 4096
	// windowOverlap is more than any such pattern matches.
	windowOverlap = 768
	// A pattern that begins with its keyword needs no more at first: what reaches the end of the window is matched again without it. Go's
	// fast matcher takes short texts only.
	windowAnchored = 1024
)

// Forms of gitleaks' patterns that are changed before they are compiled.
var (
	// A service name is looked for in its key: the keyword has found that.
	gitleaksKeyPrefixes = []string{`(?i)[\w.-]{0,50}?`, `[\w.-]{0,50}?(?i:[\w.-]{0,50}?`}
	// A secret ends before a character that it cannot hold. The published form knows the ends of source code only, and misses a key
	// before a comma, a bracket or a closing quote of JSON inside JSON.
	gitleaksEnd = "(?:[\\x60'\"\\s;]|\\\\[nr]|$)"
	secretEnd   = `(?:[^\w+/=-]|$)`
	// besideMark matches the text between the name of a service and a value that is assigned to it.
	besideMark = `(?:[ \t\w.-]{0,20})[\s'"]{0,3}`
)

// normalised is the pattern as it is compiled.
func (r *rule) normalised() string {
	pattern := strings.ReplaceAll(r.pattern, gitleaksEnd, secretEnd)
	for i, prefix := range gitleaksKeyPrefixes {
		if rest, ok := strings.CutPrefix(pattern, prefix); ok {
			pattern = []string{"(?i)", "(?i:"}[i] + rest
		}
	}
	return pattern
}

// compile prepares the pattern on first use: most processes never see most services.
func (r *rule) compile() {
	pattern := r.normalised()
	words := append(r.keywords[:len(r.keywords):len(r.keywords)], r.heads...)
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err) // the patterns are tested; those of users are compiled when they are read
	}
	r.byWord = make([]trigger, len(words))
	alternatives := []*syntax.Regexp{parsed} // all, then each
	if parsed, rest := boundaryOf(parsed); rest.Op == syntax.OpAlternate && r.group == 0 {
		for _, sub := range rest.Sub {
			if parsed {
				sub = &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{{Op: syntax.OpWordBoundary}, sub}}
			}
			alternatives = append(alternatives, sub)
		}
	}
	done := 0
	for i, alternative := range alternatives {
		sh, offsets := shapeOf(alternative, words, r.group)
		aligned := 0
		for w, offset := range offsets {
			if r.byWord[w].shape == nil && offset != unaligned {
				aligned++
			}
		}
		if i == 0 && aligned < len(words) {
			continue
		}
		if aligned == 0 { // nothing would set it off
			done = 0
			break
		}
		for w, offset := range offsets {
			if r.byWord[w].shape == nil && offset != unaligned {
				r.byWord[w] = trigger{sh, offset}
			}
		}
		done += aligned
		if r.shapes = append(r.shapes, sh); i == 0 {
			break
		}
	}
	if len(alternatives) > 1 && len(r.shapes) > 1 && len(r.shapes) < len(alternatives)-1 {
		done = 0
	}
	r.besideOf = len(r.shapes) == 1 && r.shapes[0].kind == shapeAnchored && strings.Contains(pattern, besideMark)
	if done < len(words) || len(words) == 0 {
		sh := &shape{kind: shapeWindow, re: newMatcher(pattern, true)}
		r.shapes = append(r.shapes[:0], sh)
		for w := range r.byWord {
			r.byWord[w] = trigger{shape: sh}
		}
	}
}

// find reports what the rule finds at the place of a keyword or head. It returns how far the text has been looked at: a keyword before that place
// sets off nothing more.
func (f *finder) find(r *rule, sh *shape, id ruleID, at int, add func(start, end int)) (until int) {
	s := f.s
	switch sh.kind {
	case shapeAnchored:
		if at < 0 || sh.boundary && at > 0 && isWord(s[at-1]) {
			return 0
		}
		for _, l := range sh.linear {
			start, end, matched, work, ok := l.match(s, at)
			if f.work += work; ok {
				f.value(r, start, end, add)
				return matched
			}
		}
		if sh.linear != nil {
			return 0
		}
		return f.report(r, sh.re, at, min(len(s), at+sh.window), true, add)
	case shapeRun:
		if at < 0 {
			return 0
		}
		start := at
		for start > 0 && at-start < sh.max && sh.before[s[start-1]] {
			start--
		}
		f.work += at - start
		for at-start >= sh.min && sh.boundary && start > 0 && isWord(s[start-1]) == isWord(s[start]) {
			start++
		}
		if at-start < sh.min {
			return 0
		}
		m := f.index(sh.re, at, min(len(s), at+windowAnchored))
		if m == nil {
			return 0
		}
		end := at + m[1]
		if end == at+windowAnchored && end < len(s) { // it goes on behind the window
			end = at + sh.re.FindStringIndex(s[at:])[1]
		}
		f.value(r, start, end, add)
		return end
	case shapeGap:
		return f.behindGap(r, sh, at, add)
	}
	// The part that an earlier window held is not searched again, but for what a match may reach over its end.
	from := max(0, at-windowBefore)
	if before := f.searched[id]; before > 0 {
		from = max(from, before+windowAfter/2-windowOverlap)
	}
	return max(f.report(r, sh.re, from, min(len(s), at+windowAfter), false, add), at+windowAfter/2)
}

// report runs a pattern over s[from:to]. It returns the end of the last match.
func (f *finder) report(r *rule, re *matcher, from, to int, anchored bool, add func(start, end int)) (matched int) {
	s := f.s
	for from < to {
		m := f.submatch(re, from, to)
		if m == nil {
			return matched
		}
		if m[1] == to-from && to < len(s) { // it goes on behind the window
			to = len(s)
			continue
		}
		matched = from + m[1]
		start, end := r.valueOf(m)
		f.value(r, from+start, from+end, add)
		if anchored {
			return matched
		}
		from += max(m[1], 1)
	}
	return matched
}

// valueOf returns which part of a match is the value.
func (r *rule) valueOf(m []int) (start, end int) {
	if r.group > 0 {
		return m[2*r.group], m[2*r.group+1]
	}
	for g := 2; g < len(m); g += 2 {
		if m[g] >= 0 {
			return m[g], m[g+1]
		}
	}
	return m[0], m[1]
}

// value reports s[start:end] if it is worth it.
func (f *finder) value(r *rule, start, end int, add func(start, end int)) {
	if v := f.s[start:end]; v != "" && (r.entropy == 0 || entropy(v) >= r.entropy) && (r.accept == nil || r.accept(v)) {
		add(start, end)
	}
}

// gapState is how far a rule with a gap has looked.
type gapState struct {
	barrier, open int   // no byte of s[:open] from the last head on ends a gap but the one at barrier
	to            int   // tails were looked for up to here
	tail          []int // the first of them, as offsets in the text; nil if there is none
	chunk         int
}

// behindGap matches the head of a pattern, and looks for the first tail behind it. Both the end of the gap
// and the next tail are found once for all heads before them.
func (f *finder) behindGap(r *rule, sh *shape, at int, add func(start, end int)) (until int) {
	s := f.s
	if at < 0 || sh.boundary && at > 0 && isWord(s[at-1]) {
		return 0
	}
	m := f.index(sh.re, at, min(len(s), at+maxGapHead))
	if m == nil {
		return 0
	}
	head := at + m[1]
	g := f.gapOf(sh)
	last := f.gapEnd(sh, g, head)
	if !f.tailBehind(sh, g, head, last) {
		return 0
	}
	start, end := r.valueOf(g.tail)
	if len(g.tail) == 2 { // all of the match is the value
		start = at
	}
	if !r.manifest || f.secretManifest(at, end) {
		f.value(r, start, end, add)
	}
	return g.tail[1]
}

// gapOf returns how far a rule with a gap has looked.
func (f *finder) gapOf(sh *shape) *gapState {
	if f.gaps == nil {
		f.gaps = map[*shape]*gapState{}
	}
	g := f.gaps[sh]
	if g == nil {
		g = &gapState{barrier: -1, chunk: 256}
		f.gaps[sh] = g
	}
	return g
}

// gapEnd returns where the gap behind a head ends at the latest.
func (f *finder) gapEnd(sh *shape, g *gapState, head int) int {
	last := min(len(f.s), head+sh.gap)
	if g.barrier < head {
		from := max(g.open, head)
		i := from
		for i < last && sh.between[f.s[i]] {
			i++
		}
		f.work += i - from
		if g.open = max(g.open, i); i < last {
			g.barrier = i
		}
	}
	if g.barrier >= head {
		last = min(last, g.barrier)
	}
	return last
}

// tailBehind finds the first tail that begins in s[head:last+1], and says whether there is one.
func (f *finder) tailBehind(sh *shape, g *gapState, head, last int) bool {
	for g.tail == nil || g.tail[0] < head {
		from := max(head, g.to)
		if g.tail != nil {
			from = max(head, g.tail[0]+1) // a tail of a head before this one
		}
		g.tail = nil
		if from > last {
			return false
		}
		g.chunk = max(last-from+1, min(2*g.chunk, 64<<10))
		g.to = min(len(f.s)+1, from+g.chunk)
		if m := f.tailIn(sh, from, g.to); m != nil {
			g.tail, g.to, g.chunk = m, m[0], 256
		}
	}
	return g.tail[0] <= last
}

// tailIn returns the first tail that begins in s[from:to], as offsets in the text, nil if there is none.
func (f *finder) tailIn(sh *shape, from, to int) []int {
	s := f.s
	end := min(len(s), to+sh.window)
	start := max(0, from-1) // a word boundary at its begin needs the byte before
	m := f.submatch(sh.tail, start, end)
	for m != nil && start+m[0] < from {
		start = min(from, start+m[0]+1)
		m = f.submatch(sh.tail, start, end)
	}
	if m == nil {
		return nil
	}
	if start+m[1] == end && end < len(s) { // it goes on behind the window
		if again := sh.tail.FindStringSubmatchIndex(s[start:]); again != nil {
			m = again
		}
	}
	if start+m[0] >= to {
		return nil
	}
	for i := range m {
		if m[i] >= 0 {
			m[i] += start
		}
	}
	return m
}

// submatch looks for the first match in s[from:to]. Its offsets are those in that part of the text.
func (f *finder) submatch(re *matcher, from, to int) []int {
	looked, may := re.may(f.s[from:to])
	if f.work += looked; !may {
		return nil
	}
	m := re.FindStringSubmatchIndex(f.s[from:to])
	if m != nil {
		to = from + m[1]
	}
	f.work += to - from
	return m
}

// index is submatch without the groups.
func (f *finder) index(re *matcher, from, to int) []int {
	looked, may := re.may(f.s[from:to])
	if f.work += looked; !may {
		return nil
	}
	f.work += to - from
	return re.FindStringIndex(f.s[from:to])
}

// maxGapHead bounds what stands before a gap.
const maxGapHead = 256

func isWord(c byte) bool { return isAlnum(c) && c < 0x80 || c == '_' }

// entropy is Shannon's, in bits per byte.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
