// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"math/bits"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/segregation"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// LogScope is the scope of log records that travel as spans; see package evidence.
const LogScope = "tapedeck.log"

// Dialect is one way of writing a run into telemetry. The table is in order of detection: the first that matches a span is its
// primary dialect, later ones fill what it leaves open.
type Dialect struct {
	ID   string
	Name string
	// Scopes are exact scope names, ScopePrefixes their beginnings, Marks the beginnings of attribute keys, each up to and
	// including its first dot or colon, or further where that beginning is shared. One match is enough.
	Scopes        []string
	ScopePrefixes []string
	Marks         []string
	// Root says which span stands for a whole run; empty when the dialect has no run spans and there is no root to wait for.
	Root string
	// Rooted says that every call of the dialect lies below a run span: without one, something is missing.
	Rooted bool
	// Encoded says that every tool result is written JSON-encoded and is decoded exactly once.
	Encoded bool
	// Switch is the setting that turns the capture of content on.
	Switch string
	// Events are the names of log events, or their beginnings up to and including the first dot; log tells the role of each.
	Events []string
	log    func(eventName string, a attributes) logRole
	// eventName returns the name under which the dialect knows a log event that its producer writes under another one, or under none
	// (nil: as recorded). Records of other scopes keep their name.
	eventName func(scope, recorded string) string
	// assign hands the dialect's own log records to the spans they speak of, where ids do not say so (nil: the rules of Arrange). It
	// returns the calls that exist in records only, and the records that speak of nothing.
	assign func(spans, logs []*Source) (alone, rest []*Source)
	// adds says that a span only adds to the call of its kind above it.
	adds func(span ptrace.Span) bool
	// addsTo finds it where it is not above but beside (nil: above).
	addsTo func(span, call ptrace.Span) bool
	// member says which spans of its scopes are evidence, where most are not (nil: all).
	member func(span ptrace.Span) bool
	// MarkedOnly says that a span of its scopes counts only where an attribute or event of any dialect marks it.
	MarkedOnly bool
	// classify tells the class of a span from its name and few attributes; runSpan says that it stands for a whole run.
	classify func(s *Source) (class Class, runSpan bool)
	// read fills the observation; its Class is set already.
	read func(s *Source, o *Observation)
}

// Dialects is the table of all dialects; docs/dialects.md is generated from it.
var Dialects = []*Dialect{
	forge, claudeCode, claudeAPI, geminiCLI, codex, copilot, langfuse, langSmith, langWatch, laminar, mlflow, weave, truLens, sentryAI, vercelAI, vercelGenAI, pydanticAI, logfire,
	googleADK, strands, mastra, genkit, trpcAgent, agentFramework, dotnetAI, semanticKernel, autogen, springAI, liveKit, voltAgent, flue, haystack,
	koog, claudeAgent, openInference, openLIT, liteLLM, openLLMetry, otelPython, googleGenAI, generic, semconv,
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
	// semconvIndex is the place of the conventions in the table.
	semconvIndex int
)

type longMark struct {
	prefix string
	bit    uint64
}

const memberOnly = 1 << 63

func init() {
	semconvIndex = slices.Index(Dialects, semconv)
	for i, d := range Dialects {
		for _, s := range d.Scopes {
			scopeIndex[s] |= 1 << i
		}
		for _, m := range d.Marks {
			if begin := beginning(m); begin != "" && begin != m {
				longMarks[begin] = append(longMarks[begin], longMark{m, 1 << i})
				continue
			}
			markIndex[m] |= 1 << i
		}
		for _, p := range d.ScopePrefixes {
			scopePrefixes = append(scopePrefixes, longMark{p, 1 << i})
		}
		if d.member != nil || d.MarkedOnly {
			choosy = append(choosy, i)
		}
		if d.eventName != nil {
			eventNames = append(eventNames, d.eventName)
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

// IsEvidence reports whether a span belongs to an agent run, by the table of scopes and attribute keys. Spans of a run that no
// dialect marks (HTTP calls, database calls) are not evidence, unless they tag it as a replay.
func IsEvidence(scopeName string, span ptrace.Span) bool {
	if scopeName == LogScope {
		return true
	}
	bits := scopeMarks(scopeName)
	if bits == 0 {
		if bits = attributeMarks(span.Attributes()); bits == 0 {
			if bits = eventMarks(span); bits == 0 {
				bits = tagMarks(span.Attributes())
			}
		}
	}
	return members(bits, span) != 0 && !isAside(span)
}

// tagMarks covers any span that carries the tag of a replay: a run is a replay if one of its spans says so, whatever else it says.
func tagMarks(m pcommon.Map) uint64 {
	if _, ok := m.Get(segregation.Key); ok {
		return memberOnly
	}
	return 0
}

// members takes away the dialects that leave a span out.
func members(bits uint64, span ptrace.Span) uint64 {
	for _, i := range choosy {
		d := Dialects[i]
		if bits&(1<<i) != 0 && (d.member != nil && !d.member(span) || d.MarkedOnly && attributeMarks(span.Attributes()) == 0 && eventMarks(span) == 0) {
			bits &^= 1 << i
		}
	}
	return bits
}

// eventMarks covers producers that leave all content in span events of the GenAI conventions.
func eventMarks(span ptrace.Span) uint64 {
	for _, e := range span.Events().All() {
		if strings.HasPrefix(e.Name(), "gen_ai.") {
			return memberOnly
		}
	}
	return 0
}

// asides are spans that a marked scope writes beside its runs, each as a trace of its own.
var asides = map[string]bool{"auth.verify": true, "admission.check": true}

func isAside(span ptrace.Span) bool { return asides[span.Name()] && span.ParentSpanID().IsEmpty() }

// PlaceInRun reports whether a span stands for a whole agent run or sub-run (when it has ended, so has the run), and whether its
// dialect puts every call below a run span, so that there is a root to wait for.
func PlaceInRun(scopeName string, span ptrace.Span) (runSpan, rooted bool) {
	if scopeName == LogScope {
		return false, false // a record never says that its run is over
	}
	s := &Source{ScopeName: scopeName, Span: span}
	for _, d := range dialectsOf(s) {
		if class, run := d.classify(s); class != Unclassified {
			runSpan = class == Agent && run
			break
		}
	}
	return runSpan, Rooted(s)
}

// Rooted tells whether the dialect of an item puts every call below a run span.
func Rooted(s *Source) bool {
	return s.ScopeName != LogScope && slices.ContainsFunc(dialectsOf(s), func(d *Dialect) bool { return d.Rooted })
}

// dialectsOf returns the dialects that speak of an item, primary first. Scope and span are not to change afterwards.
func dialectsOf(s *Source) []*Dialect {
	if s.dialects == nil {
		s.dialects = findDialects(s)
	}
	return s.dialects
}

func findDialects(s *Source) []*Dialect {
	if d := logDialect(s.Span.Name()); s.ScopeName == LogScope && d != nil {
		return []*Dialect{d}
	}
	if s.ScopeName == LogScope && strings.HasPrefix(s.Span.Name(), "gen_ai.") {
		return []*Dialect{semconv}
	}
	marks := scopeMarks(s.ScopeName) | attributeMarks(s.Span.Attributes())
	if marks == 0 {
		if marks = eventMarks(s.Span); marks == 0 {
			marks = tagMarks(s.Span.Attributes())
		}
	}
	marks = members(marks, s.Span)
	if marks == 0 {
		return nil
	}
	marks = marks&^memberOnly | 1<<semconvIndex // the conventions say something of every member
	out := make([]*Dialect, 0, bits.OnesCount64(marks))
	for ; marks != 0; marks &= marks - 1 {
		out = append(out, Dialects[bits.TrailingZeros64(marks)])
	}
	return out
}

// observations are empty ones, for what a further dialect reads until it has been taken over.
var observations = sync.Pool{New: func() any { return new(Observation) }}

// Read tells what one item says. Fields come from the first dialect that holds them unharmed.
func Read(s *Source) *Observation {
	o := &Observation{}
	for i, d := range dialectsOf(s) {
		if i == 0 { // the primary dialect has nothing to leave alone
			if o.Class, o.RunSpan = classOf(d, s); o.Class != Unclassified {
				d.read(s, o)
			}
			if o.Class != Unclassified {
				o.Dialects = append(o.Dialects, d.ID)
				continue
			}
			*o = Observation{}
		}
		next := observations.Get().(*Observation)
		next.Class, next.RunSpan = classOf(d, s)
		if o.Class != Unclassified && next.Class != o.Class {
			if next.Class != Unclassified {
				next.RunSpan = false
			}
			next.Class = o.Class
		}
		d.read(s, next)
		if next.Class != Unclassified {
			o.Dialects = append(o.Dialects, d.ID)
			o.fill(next)
		}
		*next = Observation{}
		observations.Put(next)
	}
	if o.Class == Unclassified || s.addition {
		o.Class = Structure
	}
	for _, span := range s.Also {
		more := Read(&Source{Resource: s.Resource, ScopeName: s.ScopeName, ScopeVersion: s.ScopeVersion, Span: span})
		more.Class, more.Notes = o.Class, nil
		o.fill(more)
	}
	readCommon(s, o)
	return o
}

// classOf is the class of a span, or of a log record that stands alone (see Arrange).
func classOf(d *Dialect, s *Source) (Class, bool) {
	if s.ScopeName == LogScope {
		class := roleOfLog(s.Span).class
		return class, class == Agent
	}
	return d.classify(s)
}

// readCommon reads what all dialects have in common: status, exceptions, tags, identity of users and conversations.
func readCommon(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.StatusError = s.Span.Status().Code() == ptrace.StatusCodeError
	if (o.Failed || o.StatusError) && o.Error == nil {
		o.Error = errorOf(s)
	}
	o.Interrupted = o.Interrupted || waits(s)
	str(&o.ConversationID, a.str(conversationKeys...))
	str(&o.UserID, a.str(userKeys...))
	readEnvironment(s.Resource, o)
	if n := s.Span.DroppedAttributesCount() + s.Span.DroppedEventsCount(); n > 0 {
		o.note(tape.CodeDroppedAttributes, "", exactjson.IntValue(int64(n)).Text()+" attributes or events were dropped by the SDK")
	}
}

// readEnvironment keeps the environment variables that a resource names (process.environment_variable.<key>, which producers record on
// demand only). They stay on the tape; no snapshot that is made of it holds one that nobody allowed.
func readEnvironment(resource pcommon.Map, o *Observation) {
	const namespace = "process."
	for key, v := range resource.All() {
		if name, ok := strings.CutPrefix(key, namespace); ok && strings.HasPrefix(name, "environment_variable.") && v.Type() == pcommon.ValueTypeStr {
			if o.Extra == nil {
				o.Extra = map[string][]exactjson.Member{}
			}
			o.Extra["process"] = append(o.Extra["process"], exactjson.Member{Name: name, Value: exactjson.StringValue(v.Str())})
		}
	}
}

var conversationKeys = []string{
	"gen_ai.conversation.id", "session.id", "langfuse.session.id", "ai.telemetry.metadata.sessionId", "ai.telemetry.metadata.session_id",
	"traceloop.association.properties.session_id", "traceloop.association.properties.thread_id", "lmnr.association.properties.session_id",
	"langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id", "gcp.vertex.agent.session_id",
	"anthropic.session.id", "conversation.id", "genkit:sessionId", "gen_ai.thread.id",
}

var userKeys = []string{
	"user.id", "langfuse.user.id", "enduser.id", "ai.telemetry.metadata.userId", "ai.telemetry.metadata.user_id",
	"traceloop.association.properties.user_id", "lmnr.association.properties.user_id", "llm.user", "forge.auth.user_id", "enduser.pseudo.id",
}

// waits reports a span that ended with the exception by which LangGraph stops to wait for a person. Some instrumentations call such a
// span failed, some call it ok.
func waits(s *Source) bool {
	interrupt := func(a attributes, keys ...string) bool {
		name := a.str(keys...)
		name = name[strings.LastIndexByte(name, '.')+1:]
		return name == "GraphInterrupt" || name == "NodeInterrupt"
	}
	for _, event := range s.Span.Events().All() {
		if event.Name() == "exception" && interrupt(attributes(event.Attributes()), "exception.type") {
			return true
		}
	}
	return interrupt(attributes(s.Span.Attributes()), "error.type", "exception.type")
}

// errorOf reads the failure of a span: its exception event, error attributes or status message.
func errorOf(s *Source) *tape.Error {
	a := attributes(s.Span.Attributes())
	e := &tape.Error{Type: a.str("error.type", "exception.type"), Message: a.str("error.message", "exception.message")}
	for _, event := range s.Span.Events().All() {
		if event.Name() == "exception" {
			x := attributes(event.Attributes())
			str(&e.Type, x.str("exception.type"))
			str(&e.Message, x.str("exception.message"))
		}
	}
	str(&e.Message, s.Span.Status().Message())
	if e.Type == "" && e.Message == "" {
		return nil
	}
	return e
}
