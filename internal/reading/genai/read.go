// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openlit"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openllmetry"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// observations are empty ones, for what a further dialect reads until it has been taken over.
var observations = sync.Pool{New: func() any { return new(dialect.Observation) }}

// Read returns what one item says. Each field comes from the first of its dialects that holds it undamaged.
func Read(s *dialect.Source) *dialect.Observation {
	if calls := exchanges(s); len(calls) > 0 {
		return readLoop(s, calls)
	}
	o := read(s, dialect.Unclassified)
	if s.Limited {
		labelCuts(s, o, dialect.Unclassified)
	}
	if o.Class == dialect.Agent && saysModel(s) {
		o.Held = readHeld(s)
	}
	return o
}

// readLoop reads the span of a loop with the model calls that stand on it as events.
func readLoop(s *dialect.Source, calls []ptrace.Span) *dialect.Observation {
	loop := withoutExchanges(s)
	o := read(loop, dialect.Agent)
	if s.Limited {
		labelCuts(loop, o, dialect.Agent)
	}
	o.Input, o.Output, o.InputData, o.OutputData = nil, nil, decode.Content{}, decode.Content{} // its calls tell them, and all of them
	for _, span := range calls {
		call := *s
		call.Dialects, call.Logs, call.Also, call.Span = nil, nil, nil, span
		m := read(&call, dialect.Model)
		if s.Limited {
			labelCuts(&call, m, dialect.Model)
		}
		o.Exchanges = append(o.Exchanges, dialect.Exchange{Span: span, Said: m})
	}
	return o
}

// readHeld reads the last of the model calls that were written on the span of an agent, one over the other; nil: its request or its answer is not there whole. What was written key by key
// may hold rests of the calls before.
func readHeld(s *dialect.Source) *dialect.Observation {
	last := *s
	last.Dialects, last.Logs, last.Span = nil, nil, ptrace.NewSpan()
	s.Span.CopyTo(last.Span)
	last.Span.Attributes().RemoveIf(func(key string, _ pcommon.Value) bool {
		return slices.ContainsFunc(strings.Split(key, "."), func(part string) bool { return part != "" && strings.Trim(part, "0123456789") == "" })
	})
	o := read(&last, dialect.Model)
	if len(o.Request) == 0 || len(o.Response) == 0 && !o.StatusError {
		return nil
	}
	if s.Limited {
		labelCuts(&last, o, dialect.Model)
	}
	o.Notes = nil // those of the span stand with the agent
	return o
}

// saysModel reports a span that says it is a model call, whatever it is named after: packages that hook into the client of a provider write on the span that is the current one, which
// may be that of the agent (OpenInference with ADK 2.13).
func saysModel(s *dialect.Source) bool {
	a := decode.Attributes(s.Span.Attributes())
	return s.ScopeName != dialect.LogScope &&
		(semconv.OperationClasses[a.Text("gen_ai.operation.name")] == dialect.Model || strings.EqualFold(a.Text("openinference.span.kind"), "llm"))
}

// read reads an item as what it says it is, or as one of the class that is given.
func read(s *dialect.Source, as dialect.Class) *dialect.Observation {
	s = asSet(withDetails(s))
	o := &dialect.Observation{Lists: s.Lists}
	for i, d := range dialectsOf(s) {
		if i == 0 { // the primary dialect has nothing to leave alone
			if o.Class, o.RunSpan = classOf(d, s); as != dialect.Unclassified {
				o.Class, o.RunSpan = as, false
			}
			if o.Class != dialect.Unclassified {
				d.Read(s, o)
				o.SystemApart = o.SystemApart || slices.Contains(d.SystemApart, s.ScopeName)
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
		next.SystemApart = next.SystemApart || slices.Contains(d.SystemApart, s.ScopeName)
		if next.Class != dialect.Unclassified {
			o.Dialects = append(o.Dialects, d.ID)
			if o.Args.Label == tape.Missing { // whatever else of this span looks like them
				next.Args = decode.Content{}
			}
			if o.Class == dialect.Model && len(next.Response) > 0 && showsMore(next.Request, o.Request) {
				takeWhole(o, next)
			}
			if o.Class == dialect.Model && saysMore(next.Response, o.Response) {
				o.Response, o.ResponseLabel = next.Response, next.ResponseLabel
			}
			o.LosesArgs = o.LosesArgs || next.LosesArgs
			o.Fill(next)
		}
		*next = dialect.Observation{}
		observations.Put(next)
	}
	if o.LosesArgs { // whichever dialect read them
		o.Response = decode.CloneParts(o.Response)
		decode.DropEmptyArgs(o.Response)
	}
	if o.Class == dialect.Model && o.Model == "" && o.ResponseModel == "" && s.ScopeName != dialect.LogScope {
		generic.ReadSettings(s, o) // a team may name the model beside the keys of a producer
	}
	if o.Class == dialect.Model {
		readBodies(s, o)
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
	if o.Class == dialect.Tool && isFlagAlone(s, o.Result.Value) {
		o.Failed, o.Result = o.Failed || o.Result.Value.Get("isError").True(), decode.Content{}
	}
	if o.Class == dialect.Tool {
		generic.LabelCut(s.Span.Attributes(), o)
		openinference.LabelFalsy(s, o)
	}
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
	o.Response, o.Output = decode.Telling(decode.Unglue(decode.OpenWrittenCalls(o.Response), o.Request, o.Tools)), decode.Telling(o.Output)
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
	o.Request, o.Input = decode.OpenTasks(decode.OpenActions(o.Request)), decode.OpenTasks(o.Input)
	o.Request, o.Response = decode.OpenGoogleParts(o.Request), decode.OpenGoogleParts(o.Response)
	decode.OpenGemini(o.Request, slices.Contains(geminis, o.Provider))
	readCommon(s, o)
	semconv.ForgetEchoedModel(s, o)
	openllmetry.ForgetCutModel(s, o)
	openllmetry.DropNones(s, o)
	openlit.ForgetDefaultModel(s, o)
	o.Lists = nil
	return o
}

// isFlagAlone reports a result of MCP that was written key by key, of which nothing but the flag is left: it tells whether the tool failed, and not what it returned.
func isFlagAlone(s *dialect.Source, v exactjson.Value) bool {
	if v.Kind() != exactjson.Object || v.Len() != 1 || v.Get("isError").Kind() != exactjson.Bool {
		return false
	}
	for key := range s.Span.Attributes().All() {
		if strings.HasSuffix(key, ".isError") {
			return true
		}
	}
	return false
}

// readBodies reads a model call of which nothing but the bodies of its HTTP request was recorded. On a span that does not say that it is one they count for nothing: those of an agent
// that speaks the API of a provider itself look alike.
func readBodies(s *dialect.Source, o *dialect.Observation) {
	a := decode.Attributes(s.Span.Attributes())
	request := a.JSON("http.request.body", "http.request.body.content")
	if request.IsAbsent() || len(o.Request)+len(o.Response) > 0 || o.RequestLabel != "" || o.ResponseLabel != "" {
		return
	}
	dialect.ReadWholeModel(o, request, a.JSON("http.response.body", "http.response.body.content"))
}

// takeWhole takes the conversation of a model call as a later dialect tells it, where an earlier one left out what tools returned. Both go together, for the ids of calls may be
// others. Instructions that the earlier one alone holds stay before it.
func takeWhole(o, whole *dialect.Observation) {
	request := whole.Request
	if len(request) == 0 || request[0].Role != tape.RoleSystem {
		system := 0
		for system < len(o.Request) && o.Request[system].Role == tape.RoleSystem {
			system++
		}
		request = slices.Concat(o.Request[:system], request)
	}
	o.Request, o.RequestLabel = request, whole.RequestLabel
	o.Response, o.ResponseLabel = whole.Response, whole.ResponseLabel
}

// saysMore reports an answer that has the calls of another record of it, and a text that the other one leaves out (Koog's adapter for Langfuse).
func saysMore(whole, part []decode.Message) bool {
	if len(whole) != 1 || len(part) != 1 || count(whole, tape.PartText) == 0 || len(whole[0].Parts) <= len(part[0].Parts) {
		return false
	}
	ids := func(m decode.Message) (out []string) {
		for _, p := range m.Parts {
			if p.Type == tape.PartToolCall {
				out = append(out, p.ID)
			}
		}
		return out
	}
	calls := ids(part[0])
	return len(calls) > 0 && len(calls) == len(part[0].Parts) && calls[0] != "" && slices.Equal(calls, ids(whole[0]))
}

// showsMore reports messages with more results of tools than others have, each of a call that they show as well. Where neither shows a call, as only what is new was
// sent, the results have ids of their own, those of the others among them: what stands in one message may have become one result (OpenInference's processor for Agent Framework).
func showsMore(messages, others []decode.Message) bool {
	results := count(messages, tape.PartToolResult)
	if results <= count(others, tape.PartToolResult) {
		return false
	}
	if count(messages, tape.PartToolCall)+count(others, tape.PartToolCall) > 0 {
		return count(messages, tape.PartToolCall) >= results
	}
	ids, some := resultIDs(messages), resultIDs(others)
	for id := range some {
		if !ids[id] {
			return false
		}
	}
	return len(ids) == results && len(some) > 0 && !ids[""]
}

func resultIDs(messages []decode.Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == tape.PartToolResult {
				ids[p.ID] = true
			}
		}
	}
	return ids
}

func count(messages []decode.Message, kind tape.PartType) (n int) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Type == kind {
				n++
			}
		}
	}
	return n
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
