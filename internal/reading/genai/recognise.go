// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"math/bits"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// Marks that belong to no dialect but make a span evidence: whoever reads the span reads them.
var commonMarks = []string{"mcp."}

// scopeIndex and markIndex answer which dialects a scope or an attribute key speaks for. Each bit is one
// dialect.
var (
	scopeIndex    = map[string]uint64{}
	scopePrefixes []longMark
	markIndex     = map[string]uint64{}
	// longMarks are the marks that go on after the first dot or colon, by their beginning up to it.
	longMarks = map[string][]longMark{}
	// choosy are the dialects that leave spans out.
	choosy []int
	// semconvIndex and shapeIndex are the places in the table of the conventions and of the dialect that goes
	// by shape.
	semconvIndex, shapeIndex int
)

type longMark struct {
	prefix string
	bit    uint64
}

// Bits that stand for no dialect. memberOnly: the span is evidence. producer: a scope or mark is that of one
// producer.
const (
	memberOnly = 1 << 63
	producer   = 1 << 62
)

// conventions are the beginnings of marks that belong to no producer. Programs that say by hand what a span
// is write `openinference.span.kind` too, and the rest under keys of their own.
var conventions = []string{"gen_ai.", "llm.", "input.", "output.", "tool.", "function.", "openinference.", "langfuse."}

// bitOf is the bit of a dialect for one of its marks.
func bitOf(i int, mark string) uint64 {
	if slices.ContainsFunc(conventions, func(c string) bool { return strings.HasPrefix(mark, c) }) {
		return 1 << i
	}
	return 1<<i | producer
}

func init() {
	semconvIndex, shapeIndex = slices.Index(Dialects, semconv.Dialect), slices.Index(Dialects, generic.Unknown)
	for i, d := range Dialects {
		for _, s := range d.Scopes {
			scopeIndex[s] |= 1<<i | producer
		}
		for _, m := range d.Marks {
			if begin := beginning(m); begin != "" && begin != m {
				longMarks[begin] = append(longMarks[begin], longMark{m, bitOf(i, m)})
				continue
			}
			markIndex[m] |= bitOf(i, m)
		}
		for _, p := range d.ScopePrefixes {
			scopePrefixes = append(scopePrefixes, longMark{p, 1<<i | producer})
		}
		if d.Member != nil || d.MarkedOnly {
			choosy = append(choosy, i)
		}
		if d.EventName != nil {
			eventNames = append(eventNames, d.EventName)
		}
		for _, e := range d.Events {
			logIndex[e] = d
		}
	}
	for _, m := range commonMarks {
		markIndex[m] |= memberOnly
	}
}

// beginning is a key up to its first dot or colon, "" when it has none.
func beginning(key string) string {
	for i := range len(key) {
		if key[i] == '.' || key[i] == ':' {
			return key[:i+1]
		}
	}
	return ""
}

func scopeMarks(scope string) uint64 {
	bits := scopeIndex[scope]
	for _, p := range scopePrefixes {
		if strings.HasPrefix(scope, p.prefix) {
			bits |= p.bit
		}
	}
	return bits
}

func attributeMarks(m pcommon.Map) uint64 {
	var bits uint64
	last := ""
	var long []longMark
	for key := range m.All() {
		begin := beginning(key)
		if begin == "" {
			continue
		}
		if begin != last { // neighbours mostly begin alike
			last, long = begin, longMarks[begin]
			bits |= markIndex[begin]
		}
		for _, m := range long {
			if strings.HasPrefix(key, m.prefix) {
				bits |= m.bit
			}
		}
	}
	return bits
}

// keyMarks is attributeMarks of one key.
func keyMarks(key string) uint64 {
	begin := beginning(key)
	if begin == "" {
		return 0
	}
	bits := markIndex[begin]
	for _, m := range longMarks[begin] {
		if strings.HasPrefix(key, m.prefix) {
			bits |= m.bit
		}
	}
	return bits
}

// eventMarks covers producers that leave all content in span events: events of the GenAI conventions, or keys
// that are in the table.
func eventMarks(span ptrace.Span) (bits uint64) {
	for _, e := range span.Events().All() {
		if strings.HasPrefix(e.Name(), "gen_ai.") {
			return memberOnly
		}
		bits |= attributeMarks(e.Attributes())
	}
	return bits
}

// members takes away the dialects that leave a span out.
func members(bits uint64, span ptrace.Span) uint64 {
	for _, i := range choosy {
		d := Dialects[i]
		if bits&(1<<i) != 0 && (d.Member != nil && !d.Member(span) || d.MarkedOnly && attributeMarks(span.Attributes()) == 0 && eventMarks(span) == 0) {
			bits &^= 1 << i
		}
	}
	return bits
}

// Recogniser tells whose spans are: one look at the scope of several, and one at the keys of each. It is not
// safe for concurrent use.
type Recogniser struct {
	source     dialect.Source
	isScope    bool   // the scope has been looked at
	scope      uint64 // what it speaks for
	keys       uint64 // what the keys, or the events, of the span speak for
	keysLooked bool
}

// Look turns to a span.
func (r *Recogniser) Look(scopeName string, span ptrace.Span) {
	if !r.isScope || scopeName != r.source.ScopeName {
		r.isScope, r.scope = true, scopeMarks(scopeName)
	}
	r.source.ScopeName, r.source.Span = scopeName, span
	r.keysLooked = false
}

// own reports whether the scope is one of this project, whose spans are evidence of their own kind.
func (r *Recogniser) own() bool {
	return r.source.ScopeName == dialect.LogScope || r.source.ScopeName == segregation.NoteScope || r.source.ScopeName == dialect.WorkspaceScope
}

// marks are what scope and keys speak for, and, where they say nothing, the events.
func (r *Recogniser) marks() uint64 {
	if !r.keysLooked {
		r.keysLooked = true
		if r.keys = attributeMarks(r.source.Span.Attributes()); r.scope|r.keys == 0 {
			r.keys = eventMarks(r.source.Span)
		}
	}
	return r.scope | r.keys
}

// IsEvidence reports whether the span belongs to an agent run: its scope or attribute keys are in the table,
// or it is a note of a replay. Other spans of a trace (HTTP calls, database calls) are no evidence.
func (r *Recogniser) IsEvidence() bool {
	if r.own() {
		return true
	}
	bits, span := r.scope, r.source.Span
	if bits == 0 {
		bits = r.marks()
	}
	return (members(bits, span)&^producer != 0 || bits&producer == 0 && generic.Unknown.Shape(span)) && !isAside(span)
}

// IsRunSpan reports whether the span stands for a whole agent run or sub-run, which ends with the span. A log
// record never says that its run is over.
func (r *Recogniser) IsRunSpan() bool {
	if r.own() {
		return false
	}
	for marks := dialectMarks(r.marks(), &r.source); marks != 0; marks &= marks - 1 {
		if class, run := Dialects[bits.TrailingZeros64(marks)].Classify(&r.source); class != dialect.Unclassified {
			return class == dialect.Agent && run
		}
	}
	return false
}

// IsEvidence is Recogniser.IsEvidence for one span.
func IsEvidence(scopeName string, span ptrace.Span) bool {
	var r Recogniser
	r.Look(scopeName, span)
	return r.IsEvidence()
}

// asides are spans that a marked scope writes beside its runs, each as a trace of its own.
var asides = map[string]bool{"auth.verify": true, "admission.check": true}

func isAside(span ptrace.Span) bool { return asides[span.Name()] && span.ParentSpanID().IsEmpty() }

// Rooted reports whether a dialect of the item puts every call below a run span.
func Rooted(s *dialect.Source) bool {
	return s.ScopeName != dialect.LogScope && slices.ContainsFunc(dialectsOf(s), func(d *dialect.Dialect) bool {
		return d.Rooted && (d.Rootless == nil || !d.Rootless(s))
	})
}

// dialectsOf returns the dialects that speak of an item, primary first. Scope and span are not to change
// afterwards.
func dialectsOf(s *dialect.Source) []*dialect.Dialect {
	if s.Dialects == nil {
		s.Dialects = findDialects(s)
	}
	return s.Dialects
}

// findDialects looks a record up by its event, a span by its scope and marks. It asks for the shape of a span
// where these name no producer, or name producers of which none knows what the span is: keys of a team, or
// those of another instrumentation, may begin as the keys of a producer do. A record of an unknown producer,
// too, may tell what those of a known one leave open.
func findDialects(s *dialect.Source) []*dialect.Dialect {
	isLog := s.ScopeName == dialect.LogScope
	if isLog {
		if d := logDialect(s.Span.Name(), s.Span.Attributes()); d != nil {
			return []*dialect.Dialect{d}
		}
		if strings.HasPrefix(s.Span.Name(), "gen_ai.") {
			return []*dialect.Dialect{semconv.Dialect}
		}
	}
	var r Recogniser
	r.Look(s.ScopeName, s.Span)
	marks := dialectMarks(r.marks(), s)
	if marks == 0 {
		return nil
	}
	if !isLog && marks&(1<<shapeIndex) == 0 {
		unknown := r.scope&producer == 0 && !classified(marks&^(1<<semconvIndex), s) && generic.Unknown.Shape(s.Span)
		if unknown || slices.ContainsFunc(s.Logs, func(l ptrace.Span) bool { return logDialect(l.Name(), l.Attributes()) == generic.Unknown }) {
			marks |= 1 << shapeIndex
		}
	}
	out := make([]*dialect.Dialect, 0, bits.OnesCount64(marks))
	for ; marks != 0; marks &= marks - 1 {
		out = append(out, Dialects[bits.TrailingZeros64(marks)])
	}
	return out
}

// classified reports that one of the dialects knows what a span is.
func classified(marks uint64, s *dialect.Source) bool {
	for ; marks != 0; marks &= marks - 1 {
		if class, _ := Dialects[bits.TrailingZeros64(marks)].Classify(s); class != dialect.Unclassified {
			return true
		}
	}
	return false
}

// dialectMarks turns what scope, keys and events speak for into the bits of the dialects that speak of an
// item. The conventions say something of every item.
func dialectMarks(marks uint64, s *dialect.Source) uint64 {
	marks = members(marks, s.Span)
	if marks&producer == 0 && s.ScopeName != dialect.LogScope && (marks != 0 || generic.Unknown.Shape(s.Span)) {
		marks |= 1 << shapeIndex
	}
	if marks &^= producer; marks == 0 {
		return 0
	}
	return marks&^memberOnly | 1<<semconvIndex
}
