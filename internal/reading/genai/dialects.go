// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package genai holds the table of all dialects. It recognises the dialects of a span or log record. It reads the item into an
// observation: what the item says about a run, in terms that do not depend on the dialect. It assigns log records to spans. It does
// not assemble runs.
//
// The types are those of package dialect. The decoders are in package decode. Each vendor has a folder below dialect.
package genai

import (
	"math/bits"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/anthropic"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/braintrust"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/codex"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/copilot"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/flue"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/google"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/haystack"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/koog"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/laminar"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/langfuse"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/langsmith"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/langtrace"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/langwatch"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/litellm"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/livekit"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/llamaindex"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/mastra"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/microsoft"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/mlflow"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/monocle"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openlit"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openllmetry"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/pydantic"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/sentry"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/springai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/strands"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/trpcagent"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/trulens"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/vercel"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/voltagent"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/waza"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/weave"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// Dialects is the table of all dialects; docs/dialects.md is generated from it.
var Dialects = []*dialect.Dialect{
	semconv.Tee, forge.Dialect, anthropic.ClaudeCode, anthropic.ClaudeAPI, google.GeminiCLI, google.QwenCode, codex.Dialect, copilot.Dialect, waza.Dialect,
	langfuse.Dialect, langsmith.Dialect, langwatch.Dialect, langtrace.Dialect, laminar.Dialect, braintrust.Dialect, mlflow.Dialect, weave.Dialect, trulens.Dialect, monocle.Dialect, sentry.Dialect,
	vercel.AI, vercel.GenAI, pydantic.AI, pydantic.Logfire, google.ADK, strands.Dialect, mastra.Dialect, google.Genkit, trpcagent.Dialect,
	microsoft.AgentFramework, microsoft.DotnetAI, microsoft.SemanticKernel, microsoft.AutoGen, springai.Dialect, livekit.Dialect,
	voltagent.Dialect, flue.Dialect, haystack.Dialect, llamaindex.Dialect, koog.Dialect, anthropic.ClaudeAgent, openinference.Dialect, openlit.Dialect,
	litellm.Dialect, openllmetry.Dialect, semconv.Python, google.GenAI, generic.Dialect, semconv.Dialect, generic.Unknown,
}

// Marks that belong to no dialect but make a span evidence: they are read by whoever reads the span.
var commonMarks = []string{"mcp."}

// scopeIndex and markIndex answer which dialects a scope or an attribute key speaks for: each bit is one dialect.
var (
	scopeIndex    = map[string]uint64{}
	scopePrefixes []longMark
	markIndex     = map[string]uint64{}
	// longMarks are the marks that go on after the first dot or colon, by their beginning up to it.
	longMarks = map[string][]longMark{}
	// choosy are the dialects that leave spans out.
	choosy []int
	// semconvIndex and shapeIndex are the places of the conventions, and of the dialect that is recognised by shape, in the table.
	semconvIndex, shapeIndex int
)

type longMark struct {
	prefix string
	bit    uint64
}

// Bits that stand for no dialect: a span is evidence, and a scope or mark is that of a producer, not of a convention that many follow.
const (
	memberOnly = 1 << 63
	producer   = 1 << 62
)

// conventions are the beginnings of marks that belong to no producer. Programs that say by hand what a span is write `openinference.span.kind` too, and the
// rest under keys of their own.
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

// Recogniser tells whose spans are: one look at the scope of several, and one at the keys of each. It is not safe for concurrent use.
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

// IsEvidence reports whether the span belongs to an agent run: its scope or attribute keys are in the table, or it is a note of a replay.
// Other spans of a trace (HTTP calls, database calls) are no evidence.
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

// IsRunSpan reports whether the span stands for a whole agent run or sub-run, which ends with the span.
func (r *Recogniser) IsRunSpan() bool {
	if r.own() {
		return false // a record never says that its run is over
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

// eventMarks covers producers that leave all content in span events: of the GenAI conventions, or with keys that are in the table.
func eventMarks(span ptrace.Span) (bits uint64) {
	for _, e := range span.Events().All() {
		if strings.HasPrefix(e.Name(), "gen_ai.") {
			return memberOnly
		}
		bits |= attributeMarks(e.Attributes())
	}
	return bits
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

// dialectsOf returns the dialects that speak of an item, primary first. Scope and span are not to change afterwards.
func dialectsOf(s *dialect.Source) []*dialect.Dialect {
	if s.Dialects == nil {
		s.Dialects = findDialects(s)
	}
	return s.Dialects
}

// ContentSettings are the variables that turn on the capture of content for all dialects at once, each once, in the order of the table.
func ContentSettings() (list []dialect.Setting) {
	for _, d := range Dialects {
		for _, s := range d.Settings {
			if !s.Yields && !s.Optional && !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list
}

func findDialects(s *dialect.Source) []*dialect.Dialect {
	if s.ScopeName == dialect.LogScope {
		if d := logDialect(s.Span.Name(), s.Span.Attributes()); d != nil {
			return []*dialect.Dialect{d}
		}
	}
	if s.ScopeName == dialect.LogScope && strings.HasPrefix(s.Span.Name(), "gen_ai.") {
		return []*dialect.Dialect{semconv.Dialect}
	}
	var r Recogniser
	r.Look(s.ScopeName, s.Span)
	marks := dialectMarks(r.marks(), s)
	if marks == 0 {
		return nil
	}
	if s.ScopeName != dialect.LogScope && r.scope&producer == 0 && r.marks()&producer != 0 && !classified(marks&^(1<<semconvIndex), s) && generic.Unknown.Shape(s.Span) {
		marks |= 1 << shapeIndex // a team's own keys, or those of another instrumentation, may begin as those of a producer do
	}
	if s.ScopeName != dialect.LogScope && slices.ContainsFunc(s.Logs, func(l ptrace.Span) bool { return logDialect(l.Name(), l.Attributes()) == generic.Unknown }) {
		marks |= 1 << shapeIndex // what the producer's own keys leave open, records of a team's own tell
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

// dialectMarks are the bits of the dialects that speak of an item, of what its scope, keys and events speak for.
func dialectMarks(marks uint64, s *dialect.Source) uint64 {
	marks = members(marks, s.Span)
	if marks&producer == 0 && s.ScopeName != dialect.LogScope && (marks != 0 || generic.Unknown.Shape(s.Span)) {
		marks |= 1 << shapeIndex
	}
	if marks &^= producer; marks == 0 {
		return 0
	}
	return marks&^memberOnly | 1<<semconvIndex // the conventions say something of every member
}
