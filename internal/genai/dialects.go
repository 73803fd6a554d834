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
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/internal/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/anthropic"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/braintrust"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/codex"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/copilot"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/flue"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/forge"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/generic"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/google"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/haystack"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/koog"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/laminar"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/langfuse"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/langsmith"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/langtrace"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/langwatch"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/litellm"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/livekit"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/llamaindex"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/mastra"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/microsoft"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/mlflow"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/monocle"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/openlit"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/openllmetry"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/pydantic"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/sentry"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/springai"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/strands"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/trpcagent"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/trulens"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/vercel"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/voltagent"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/waza"
	"github.com/tapedeck/tapedeck/internal/genai/dialect/weave"
	"github.com/tapedeck/tapedeck/internal/segregation"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialects is the table of all dialects; docs/dialects.md is generated from it.
var Dialects = []*dialect.Dialect{
	forge.Dialect, anthropic.ClaudeCode, anthropic.ClaudeAPI, google.GeminiCLI, codex.Dialect, copilot.Dialect, waza.Dialect,
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
	return r.source.ScopeName == dialect.LogScope || r.source.ScopeName == segregation.NoteScope
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
	if s.ScopeName != dialect.LogScope && slices.ContainsFunc(s.Logs, func(l ptrace.Span) bool { return logDialect(l.Name(), l.Attributes()) == generic.Unknown }) {
		marks |= 1 << shapeIndex // what the producer's own keys leave open, records of a team's own tell
	}
	out := make([]*dialect.Dialect, 0, bits.OnesCount64(marks))
	for ; marks != 0; marks &= marks - 1 {
		out = append(out, Dialects[bits.TrailingZeros64(marks)])
	}
	return out
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

// observations are empty ones, for what a further dialect reads until it has been taken over.
var observations = sync.Pool{New: func() any { return new(dialect.Observation) }}

// Read returns what one item says. Each field comes from the first of its dialects that holds it undamaged.
func Read(s *dialect.Source) *dialect.Observation {
	s = asSet(withDetails(s))
	o := &dialect.Observation{Lists: s.Lists}
	for i, d := range dialectsOf(s) {
		if i == 0 { // the primary dialect has nothing to leave alone
			if o.Class, o.RunSpan = classOf(d, s); o.Class != dialect.Unclassified {
				d.Read(s, o)
			}
			if o.Class != dialect.Unclassified {
				o.Dialects = append(o.Dialects, d.ID)
				continue
			}
			*o = dialect.Observation{Lists: s.Lists}
		}
		if d == generic.Unknown && o.Class != dialect.Model && o.Class != dialect.Tool && slices.Contains(o.Dialects, openinference.Dialect.ID) {
			if o.Class == dialect.Agent {
				generic.ReadSettings(s, o)
			}
			continue // what a step or an agent was handed is named in input.value, which has been read
		}
		next := observations.Get().(*dialect.Observation)
		next.Lists = s.Lists
		next.Class, next.RunSpan = classOf(d, s)
		if o.Class != dialect.Unclassified && next.Class != o.Class {
			if next.Class != dialect.Unclassified {
				next.RunSpan = false
			}
			next.Class = o.Class
		}
		d.Read(s, next)
		if next.Class != dialect.Unclassified {
			o.Dialects = append(o.Dialects, d.ID)
			if o.Args.Label == tape.Missing { // whatever else of this span looks like them
				next.Args = decode.Content{}
			}
			o.Fill(next)
		}
		*next = dialect.Observation{}
		observations.Put(next)
	}
	if o.Class == dialect.Model && o.Model == "" && o.ResponseModel == "" && s.ScopeName != dialect.LogScope {
		generic.ReadSettings(s, o) // a team may name the model beside the keys of a producer
	}
	if o.Class == dialect.Unclassified || s.Addition {
		o.Class = dialect.Structure
	}
	for _, span := range s.Also {
		more := Read(&dialect.Source{Resource: s.Resource, ScopeName: s.ScopeName, ScopeVersion: s.ScopeVersion, Span: span})
		more.Class, more.Notes = o.Class, nil
		o.Fill(more)
	}
	o.Args.LabelMasks()
	o.Result.LabelMasks()
	if read := dialectsOf(s); o.Class == dialect.Tool && len(read) > 0 && (read[len(read)-1] == generic.Unknown || decodesToDoubles(s)) {
		generic.LabelRounded(o)
	}
	if o.Class == dialect.Tool && decode.HandsCalls(o.Args.Value) {
		o.Class, o.InputData, o.OutputData = dialect.Structure, o.Args, o.Result // the step that runs all tools of a turn, not a tool
		o.Args, o.Result = decode.Content{}, decode.Content{}
	}
	if len(s.Logs) > 0 && inGo(s) && slices.ContainsFunc(s.Logs, holdsEmpty) {
		o.Request, o.Response = slices.Clone(o.Request), slices.Clone(o.Response)
		decode.ReadEmpty(o.Request)
		decode.ReadEmpty(o.Response)
	}
	o.Response, o.Output = decode.Telling(decode.Unglue(o.Response, o.Tools)), decode.Telling(o.Output)
	if decode.IsAddress(o.OutputData.Value) {
		o.OutputData = decode.Content{}
	}
	if input, ok := decode.OpenInput(o.Request); ok {
		o.Request = input
	}
	if input, ok := decode.OpenInput(o.Input); ok {
		o.Input = input
	}
	o.OutputTools = append(o.OutputTools, decode.AnswerTools(o.Request)...)
	o.Request = decode.OpenActions(o.Request)
	decode.OpenGemini(o.Request, slices.Contains(geminis, o.Provider))
	readCommon(s, o)
	semconv.ForgetEchoedModel(s, o)
	o.Lists = nil
	return o
}

// geminis are the names of providers that serve Gemini's API.
var geminis = []string{"gcp.gemini", "gcp.vertex_ai", "gcp.gen_ai", "gemini", "vertex_ai", "google"}

// decodesToDoubles reports a program in Go: frameworks there hand a tool the arguments as map[string]any and write its result from one, in which every
// number is a double (ADK, Genkit). A program that keeps its integers is told apart by them: few are written as doubles print.
func decodesToDoubles(s *dialect.Source) bool { return inGo(s) }

// inGo reports the SDK for Go.
func inGo(s *dialect.Source) bool {
	language, _ := s.Resource.Get("telemetry.sdk.language")
	return language.Str() == "go"
}

// holdsEmpty reports a log record with what exporters for Go write for an empty value.
func holdsEmpty(record ptrace.Span) bool {
	for _, v := range record.Attributes().All() {
		if decode.HoldsEmpty(decode.JSONOf(v)) {
			return true
		}
	}
	return false
}

// classOf is the class of a span, or of a log record that stands alone (see Arrange).
func classOf(d *dialect.Dialect, s *dialect.Source) (dialect.Class, bool) {
	if s.ScopeName == dialect.LogScope {
		class := roleOfLog(s.Span).Class
		return class, class == dialect.Agent
	}
	return d.Classify(s)
}

// readAskedModel takes the model that was asked for from the parameters of the request. Some packages write the one that answered over it: the same
// name, with a version behind.
func readAskedModel(a decode.Attributes, o *dialect.Observation) {
	params, ok := decode.Structure(a.JSON("gen_ai.request.parameters", "llm.invocation_parameters"))
	if !ok {
		return
	}
	if asked := decode.ModelName(params.First("model", "model_name").Str()); asked != "" && asked != o.Model && strings.HasPrefix(o.Model, asked+"-") {
		decode.FillString(&o.ResponseModel, o.Model)
		o.Model = asked
	}
}

// readCommon reads what all dialects have in common: status, exceptions, tags, identity of users and conversations.
func readCommon(s *dialect.Source, o *dialect.Observation) {
	a := decode.Attributes(s.Span.Attributes())
	o.StatusError = s.Span.Status().Code() == ptrace.StatusCodeError || s.Span.Status().Code() == ptrace.StatusCodeUnset && answersNothing(o) && threw(s)
	switch o.Class {
	case dialect.Tool:
		if decode.RepeatsResults(o.Result.Value) {
			o.Class, o.NoiseReason = dialect.Noise, "merged tool results"
		}
		if o.Name == s.Span.Name() {
			o.Name = decode.ToolOfSpan(o.Name) // somebody's own words stand before it
		}
		dialect.TakeFromName(o) // which another dialect, or the span, may have told
	case dialect.Model:
		o.Model, o.ResponseModel = decode.ModelName(o.Model), decode.ModelName(o.ResponseModel)
		if maker := a.Text("gen_ai.provider.name"); maker != "" && o.Model == maker {
			o.Model = "" // the name of the provider stands where the model's should
			if o.ResponseModel == maker {
				o.ResponseModel = ""
			}
		}
		if s.ScopeName == "opentelemetry.instrumentation.bedrock" && o.Model != "" && !strings.ContainsAny(o.Model, "./") {
			o.AddNote(tape.CodeContentAbsent, "model", "the producer leaves the vendor, and the region if there was one, out of the id of the model: "+o.Model)
			o.Model, o.ResponseModel = "", "" // Bedrock has no model of that id
		}
		readLangChain(a, o)
		readAskedModel(a, o)
		if o.StatusError && brokeItself(s) {
			o.AddNote(tape.CodeModelCallHidden, "response.message", "the failure is that of the instrumentation, which could not record the call; the call may have been answered")
		}
	case dialect.Agent:
		if asked := decode.ModelName(a.Text("gen_ai.request.model")); asked != a.Text("gen_ai.response.model") || !decode.IsDated(asked) {
			decode.FillString(&o.Model, asked) // OpenLIT writes the model that answered into both for a graph
		}
		// an answer that the conventions mark as an error is what a framework made of one
		if n := len(o.Output) - 1; n >= 0 && o.Output[n].FinishReason == "error" {
			o.Failed = true
		}
	}
	if (o.Failed || o.StatusError) && o.Error == nil {
		o.Error = errorOf(s)
	}
	o.Interrupted = o.Interrupted || waits(s)
	decode.FillString(&o.ConversationID, a.Text(conversationKeys...))
	decode.FillString(&o.UserID, a.Text(userKeys...))
	readEnvironment(s.Resource, o)
	if n := s.Span.DroppedAttributesCount() + s.Span.DroppedEventsCount(); n > 0 {
		o.AddNote(tape.CodeDroppedAttributes, "", exactjson.IntValue(int64(n)).Text()+" attributes or events were dropped by the SDK")
	}
}

// answersNothing reports a span of a model or an agent with nothing that came of it.
func answersNothing(o *dialect.Observation) bool {
	said := o.Output
	switch o.Class {
	case dialect.Model:
		if o.Usage.OutputTokens != nil && *o.Usage.OutputTokens > 0 {
			return false
		}
		said = o.Response
	case dialect.Agent:
	case dialect.Tool:
		return o.Args.Present() && !o.Result.Present() // of one that records neither, nothing is known
	default:
		return false
	}
	return len(o.FinishReasons) == 0 && !slices.ContainsFunc(said, func(m decode.Message) bool { return len(m.Parts) > 0 })
}

// threw reports a span with an exception, which most SDKs record without setting the status.
func threw(s *dialect.Source) bool {
	for _, e := range s.Span.Events().All() {
		if e.Name() == "exception" {
			return true
		}
	}
	return false
}

// instrumentations are folders of Python packages that record calls and make none.
var instrumentations = []string{"/openlit/instrumentation/", "/opentelemetry/instrumentation/", "/openinference/instrumentation/"}

// brokeItself reports a span whose exceptions were all raised in the code of an instrumentation, as the last frame of each stack says: what a call raised, its client or
// what lies below did. The call may well have been answered.
func brokeItself(s *dialect.Source) bool {
	broke := false
	for _, e := range s.Span.Events().All() {
		if e.Name() != "exception" {
			continue
		}
		file := lastFrame(decode.Attributes(e.Attributes()).Text("exception.stacktrace"))
		if !slices.ContainsFunc(instrumentations, func(folder string) bool { return strings.Contains(file, folder) }) {
			return false
		}
		broke = true
	}
	return broke
}

// lastFrame is the file of the last frame of a stack of Python. Members that the answer does not have are missed in Pydantic, below those who ask for them.
func lastFrame(stack string) string {
	for at := strings.LastIndex(stack, "\n  File \""); at >= 0; at = strings.LastIndex(stack[:at], "\n  File \"") {
		file, _, _ := strings.Cut(stack[at+len("\n  File \""):], `"`)
		file = strings.ReplaceAll(file, `\`, "/")
		if !strings.HasSuffix(file, "/pydantic/main.py") {
			return file
		}
	}
	return ""
}

// readLangChain takes the model that was asked for and its provider from LangChain's own metadata. Carriers write it under their prefixes, some as
// JSON text, and in the place of the model that was asked for the name of the one that answered.
func readLangChain(a decode.Attributes, o *dialect.Observation) {
	for key, v := range a.All() {
		if strings.HasSuffix(key, "metadata") && strings.Contains(v.Str(), `"ls_`) { // all of it as one JSON text
			whole, _ := decode.Structure(exactjson.StringValue(v.Str()))
			decode.FillString(&o.Model, decode.ModelName(whole.Get("ls_model_name").Str()))
			decode.FillString(&o.Provider, decode.Provider(whole.Get("ls_provider").Str()))
			continue
		}
		text, _ := decode.WholeText(exactjson.StringValue(v.Str()))
		switch {
		case text == "" || !strings.Contains(key, "ls_"):
		case strings.HasSuffix(key, ".ls_model_name"):
			if o.Model != "" && o.Model != text && a.Text("gen_ai.request.model") != o.Model {
				decode.FillString(&o.ResponseModel, o.Model)
				o.Model = ""
			}
			decode.FillString(&o.Model, decode.ModelName(text))
		case strings.HasSuffix(key, ".ls_provider"):
			decode.FillString(&o.Provider, decode.Provider(text))
		}
	}
}

// readEnvironment keeps the environment variables that a resource names (process.environment_variable.<key>, which producers record on
// demand only). They stay on the tape; no snapshot that is made of it holds one that nobody allowed.
func readEnvironment(resource pcommon.Map, o *dialect.Observation) {
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
func waits(s *dialect.Source) bool {
	interrupt := func(a decode.Attributes, keys ...string) bool {
		name := a.Text(keys...)
		name = name[strings.LastIndexByte(name, '.')+1:]
		return name == "GraphInterrupt" || name == "NodeInterrupt"
	}
	for _, event := range s.Span.Events().All() {
		if event.Name() == "exception" && interrupt(decode.Attributes(event.Attributes()), "exception.type") {
			return true
		}
	}
	return interrupt(decode.Attributes(s.Span.Attributes()), "error.type", "exception.type")
}

// errorOf reads the failure of a span: its exception event, error attributes or status message.
func errorOf(s *dialect.Source) *tape.Error {
	a := decode.Attributes(s.Span.Attributes())
	e := &tape.Error{Type: a.Text("error.type", "exception.type"), Message: a.Text("error.message", "exception.message")}
	for _, event := range s.Span.Events().All() {
		if event.Name() == "exception" {
			x := decode.Attributes(event.Attributes())
			decode.FillString(&e.Type, x.Text("exception.type"))
			decode.FillString(&e.Message, x.Text("exception.message"))
		}
	}
	decode.FillString(&e.Message, s.Span.Status().Message())
	if e.Type == "" && e.Message == "" {
		return nil
	}
	return e
}
