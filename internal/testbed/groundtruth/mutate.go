// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"crypto/sha256"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/otlpfile"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Mutation changes how a run was recorded, as instrumentations that nobody has seen yet may record it. It depends on nothing but the
// recording, so each mutated run is the same at any time.
type Mutation struct {
	Name    string
	Meaning string
	change  func(*recording)
}

// Mutations are all of them.
var Mutations = []Mutation{
	{"unknown vendor", "scopes have a name that nobody knows, attributes and events of vendors are renamed; the keys of the conventions stay", unknownVendor},
	{"no tool spans", "the spans of tools are not recorded, what lay below them lies below what was above", noToolSpans},
	{"generic tool names", "the spans of tools and their attributes name a class (`RunnableTool`) instead of the tool", genericNames},
	{"foreign call ids", "the spans of tools have call ids that no message has", foreignIDs},
	{"unknown envelope", "arguments and results of tool spans lie in envelopes that nobody knows", envelopes},
	{"every span twice", "each span is reported a second time, with ids of its own, in a tree of its own below the same parent", twice},
	{"model calls wrapped", "above each span of a model call lies another one of an unknown scope with the same content", wrapped},
	{"no root", "the root never arrives; the parents of what lay below it are unknown, and that the run is `incomplete` is as right", noRoot},
	{"two traces", "the second half of the run lies in a trace of its own, without a parent; the span of a tool stays where it has no id and no conversation holds its arguments or result, because nothing would tell whose call it is", twoTraces},
	{"content in span events", "messages, arguments and results lie in an event of the span instead of its attributes", contentInEvents},
	{"content in log records", "messages, arguments and results lie in a log record of the span instead of its attributes", contentInLogs},
	{"two traces, clock behind", "the second half of the run lies in a trace of its own, and its clock is two seconds behind", clockBehind},
	{"no parents", "no span names a parent", noParents},
	{"other words in messages", "members of message lists have the names of another provider's style (`toolCallId`, `toolCalls`), roles are `human`, `ai` and `function`, texts are lists of parts; no tool spans", otherWords},
	{"items instead of messages", "message lists are items: calls and their results stand beside the messages, as the Responses API writes them; no tool spans", itemLists},
	{"results as user messages", "messages with the result of a tool have the role of the user; the id of the call stays; no tool spans", userResults},
}

// Apply returns the run as the mutation would have recorded it. ok is false when the mutation finds nothing to change.
func (m Mutation) Apply(r Run) (mutated Run, ok bool, err error) {
	rec := &recording{truth: r.truth, traces: ptrace.NewTraces(), logs: plog.NewLogs()}
	for _, path := range r.Files {
		for document, err := range otlpfile.ReadFile(path, nil, otlpfile.Options{}) {
			if err != nil {
				return Run{}, false, err
			}
			document.Traces.ResourceSpans().MoveAndAppendTo(rec.traces.ResourceSpans())
			document.Logs.ResourceLogs().MoveAndAppendTo(rec.logs.ResourceLogs())
		}
	}
	rec.index()
	m.change(rec)
	if !rec.changed {
		return Run{}, false, nil
	}
	before := r.held
	r.recording = rec
	r.held = sync.OnceValue(rec.telemetry)
	r.truth = rec.remaining(r, before)
	return r, true, nil
}

// genericTool is the name that tools have after genericNames.
const genericTool = "RunnableTool"

// endLost is a member of the truth that says that nothing which is left shows how the run ended.
const endLost = "end_lost"

// remaining is the truth that can be told from what the mutation left. Where nothing says any more which tool a call was for, the generic name
// is as right; the name alone does not say it: a list of the tools that were offered holds it as well. Where the run span or the answer is nowhere
// any more, how the run ended is not known. Of an answer of several texts the last one is left.
func (r *recording) remaining(run Run, before func() *telemetry) value {
	var members []exactjson.Member
	lost := r.rootless
	for _, m := range run.truth.Members() {
		if answer := m.Value.Str(); m.Name == "final_output" && answer != "" && !run.held().holds(m.Value) && before().holds(m.Value) {
			lost = true
			m.Value = lastOf(answer, len(answer)/2, maps.Keys(run.held().texts))
		} else if m.Name == "final_output" && answer != "" && r.rootless {
			m.Value = lastOf(answer, len(answer)/4, r.answers())
		}
		if m.Name == "tool_calls" && r.renamed {
			var calls []value
			for _, c := range m.Value.Members() {
				call := c.Value
				if !slices.ContainsFunc(namesOf(call), func(n string) bool { return run.held().names(n, call) }) {
					call = exactjson.ObjectValue(append(slices.Clone(call.Members()), exactjson.Member{Name: "recorded_name", Value: exactjson.StringValue(genericTool)})...)
				}
				calls = append(calls, call)
			}
			m.Value = exactjson.ArrayValue(calls...)
		}
		members = append(members, m)
	}
	if lost {
		members = append(members, exactjson.Member{Name: endLost, Value: exactjson.BoolValue(true)})
	}
	return exactjson.ObjectValue(members...)
}

// lastOf is the last of several texts of an answer, at least so long, or the answer itself.
func lastOf(answer string, least int, texts iter.Seq[string]) value {
	last := ""
	for text := range texts {
		if text = squeeze(text); len(text) > len(last) && strings.HasSuffix(squeeze(answer), text) {
			last = text
		}
	}
	if len(last) < least || last == squeeze(answer) {
		last = answer
	}
	return exactjson.StringValue(last)
}

// answers are the texts with which model calls answered, those aside that sum up others.
func (r *recording) answers() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range r.of(dialect.Model) {
			for _, m := range s.obs.Response {
				text := ""
				for _, p := range m.Parts {
					text += p.Text
				}
				if !yield(text) {
					return
				}
			}
		}
	}
}

// recording is the telemetry of a run while it is changed.
type recording struct {
	truth   value
	traces  ptrace.Traces
	logs    plog.Logs
	spans   []*recorded
	byID    map[pcommon.SpanID]*recorded
	below   map[pcommon.SpanID][]*recorded
	changed bool
	renamed bool // tools have the generic name
	// rootless says that the run span was taken away, or holds nothing but what its vendor understands.
	rootless bool
}

// recorded is a span with what is read from it alone.
type recorded struct {
	resource ptrace.ResourceSpans
	scope    ptrace.ScopeSpans
	span     ptrace.Span
	obs      *dialect.Observation
}

func (r *recording) index() {
	r.byID, r.below = map[pcommon.SpanID]*recorded{}, map[pcommon.SpanID][]*recorded{}
	for _, rs := range r.traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				rec := &recorded{resource: rs, scope: ss, span: span, obs: &dialect.Observation{}}
				if genai.IsEvidence(ss.Scope().Name(), span) {
					rec.obs = genai.Read(&dialect.Source{Resource: rs.Resource().Attributes(), ScopeName: ss.Scope().Name(), ScopeVersion: ss.Scope().Version(), Span: span})
				}
				r.spans = append(r.spans, rec)
				r.byID[span.SpanID()] = rec
				r.below[span.ParentSpanID()] = append(r.below[span.ParentSpanID()], rec)
			}
		}
	}
}

func (r *recording) evidence() *evidence.Set {
	set := evidence.NewSet()
	traces, logs := ptrace.NewTraces(), plog.NewLogs() // a set changes what it is given
	r.traces.CopyTo(traces)
	r.logs.CopyTo(logs)
	set.AddTraces(traces)
	set.AddLogs(logs)
	return set
}

// telemetry is what the changed documents hold.
func (r *recording) telemetry() *telemetry {
	traces, err := (&ptrace.JSONMarshaler{}).MarshalTraces(r.traces)
	if err != nil {
		panic(err)
	}
	logs, err := (&plog.JSONMarshaler{}).MarshalLogs(r.logs)
	if err != nil {
		panic(err)
	}
	var documents []value
	for _, body := range [][]byte{traces, logs} {
		document, err := exactjson.Parse(string(body))
		if err != nil {
			panic(err)
		}
		documents = append(documents, document)
	}
	return newTelemetry(documents...)
}

func (r *recording) of(class dialect.Class) []*recorded {
	return slices.DeleteFunc(slices.Clone(r.spans), func(s *recorded) bool { return s.obs.Class != class })
}

func (r *recording) records() (all []plog.LogRecord) {
	for _, rl := range r.logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, l := range sl.LogRecords().All() {
				all = append(all, l)
			}
		}
	}
	return all
}

// remove takes spans away.
func (r *recording) remove(gone func(ptrace.Span) bool) {
	for _, rs := range r.traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			ss.Spans().RemoveIf(gone)
		}
	}
}

// derivedID makes an id from another one.
func derivedID(salt string, id pcommon.SpanID) (derived pcommon.SpanID) {
	sum := sha256.Sum256(append([]byte(salt), id[:]...))
	copy(derived[:], sum[:])
	return derived
}

// conventions are the beginnings of keys that belong to no vendor: those of OpenTelemetry and those of OpenInference, which many write.
var conventions = []string{
	"gen_ai.", "llm.", "input.", "output.", "message.", "tool.", "tool_call.", "document.", "retrieval.", "embedding.", "mcp.",
	"error.", "exception.", "event.", "session.", "user.", "server.", "code.", "log.", "otel.", "service.", "process.", "telemetry.", "host.",
}

// vendorMarks are the beginnings of keys and event names by which vendors are known.
var vendorMarks = sync.OnceValue(func() (marks []string) {
	for _, d := range genai.Dialects {
		for _, m := range slices.Concat(d.Marks, d.Events) {
			if !slices.ContainsFunc(conventions, func(c string) bool { return strings.HasPrefix(m, c) }) {
				marks = append(marks, m)
			}
		}
	}
	return marks
})

func ofVendor(key string) bool {
	return slices.ContainsFunc(vendorMarks(), func(m string) bool { return strings.HasPrefix(key, m) })
}

func unknownVendor(r *recording) {
	const vendor = "acme."
	rename := func(m pcommon.Map) {
		for key, v := range m.All() {
			if name := v.Str(); key == "event.name" && ofVendor(name) {
				v.SetStr(vendor + name)
			}
		}
		kept := pcommon.NewMap()
		for key, v := range m.All() {
			if ofVendor(key) {
				key = vendor + key
			}
			v.CopyTo(kept.PutEmpty(key))
		}
		kept.MoveTo(m)
	}
	for _, s := range r.spans {
		r.changed = true
		s.scope.Scope().SetName(vendor + "observability")
		s.scope.Scope().SetVersion("")
		rename(s.span.Attributes())
		if s.obs.RunSpan && r.byID[s.span.ParentSpanID()] == nil && !genai.IsEvidence(s.scope.Scope().Name(), s.span) {
			r.rootless = true // it says nothing any more in a word that everybody knows
		}
		if s.obs.RunSpan && s.obs.EndsWithTools {
			r.rootless = true // its producer alone is known to end a run so
		}
		for _, e := range s.span.Events().All() {
			if ofVendor(e.Name()) {
				e.SetName(vendor + e.Name())
			}
			rename(e.Attributes())
		}
	}
	for _, rl := range r.logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			sl.Scope().SetName(vendor + "observability")
			sl.Scope().SetVersion("")
			for _, l := range sl.LogRecords().All() {
				r.changed = true
				if ofVendor(l.EventName()) {
					l.SetEventName(vendor + l.EventName())
				}
				rename(l.Attributes())
			}
		}
	}
}

func noToolSpans(r *recording) {
	gone := map[pcommon.SpanID]bool{}
	for _, s := range r.of(dialect.Tool) {
		gone[s.span.SpanID()] = true
		r.changed = true
	}
	above := func(id pcommon.SpanID) pcommon.SpanID {
		for n := 0; gone[id] && n < len(r.spans); n++ {
			id = r.byID[id].span.ParentSpanID()
		}
		return id
	}
	for _, s := range r.spans {
		s.span.SetParentSpanID(above(s.span.ParentSpanID()))
	}
	for _, l := range r.records() {
		l.SetSpanID(above(l.SpanID()))
	}
	r.remove(func(s ptrace.Span) bool { return gone[s.SpanID()] })
}

// attributes calls f for the attributes of a span and of its events.
func (s *recorded) attributes(f func(key string, v pcommon.Value)) {
	for key, v := range s.span.Attributes().All() {
		f(key, v)
	}
	for _, e := range s.span.Events().All() {
		for key, v := range e.Attributes().All() {
			f(key, v)
		}
	}
}

func genericNames(r *recording) {
	for _, s := range r.of(dialect.Tool) {
		name := s.obs.Name
		if name == "" {
			continue
		}
		r.changed, r.renamed = true, true
		names := []string{name}
		for _, c := range r.truth.Get("tool_calls").Members() {
			if also := namesOf(c.Value); slices.Contains(also, name) {
				names = append(names, also...)
			}
		}
		s.span.SetName(strings.ReplaceAll(s.span.Name(), name, genericTool))
		s.attributes(func(_ string, v pcommon.Value) {
			if v.Type() == pcommon.ValueTypeStr && slices.Contains(names, v.Str()) {
				v.SetStr(genericTool)
			}
		})
	}
}

func foreignIDs(r *recording) {
	for _, s := range r.of(dialect.Tool) {
		id := derivedID("call", s.span.SpanID()).String()
		s.attributes(func(_ string, v pcommon.Value) {
			if v.Type() == pcommon.ValueTypeStr && s.obs.CallID != "" && v.Str() == s.obs.CallID {
				v.SetStr("exec-" + id)
				r.changed = true
			}
		})
	}
}

func envelopes(r *recording) {
	wrap := func(v pcommon.Value, open, closing string) {
		text := v.AsString()
		inner := exactjson.StringValue(text)
		if parsed, err := exactjson.Parse(text); err == nil && parsed.Kind() >= exactjson.Array {
			inner = parsed
		}
		v.SetStr(open + inner.JSON() + closing)
		r.changed = true
	}
	for _, s := range r.of(dialect.Tool) {
		s.attributes(func(_ string, v pcommon.Value) {
			have := exactjson.StringValue(v.AsString())
			for _, m := range r.truth.Get("tool_calls").Members() {
				args, results := argsOf(m.Value), resultsOf(m.Value)
				switch {
				case !args.IsEmpty() && same(args, have):
					wrap(v, `{"acme_call":{"payload":`, `}}`)
					return
				case slices.ContainsFunc(results, func(x value) bool { return len(x.Text()) != 1 && !x.IsEmpty() && same(x, have) }):
					wrap(v, `{"acme_return":{"state":"delivered","payload":`, `}}`)
					return
				}
			}
		})
	}
}

func twice(r *recording) {
	const salt = "twin"
	for _, s := range r.spans {
		r.changed = true
		twin := s.scope.Spans().AppendEmpty()
		s.span.CopyTo(twin)
		twin.SetSpanID(derivedID(salt, s.span.SpanID()))
		if r.byID[s.span.ParentSpanID()] != nil {
			twin.SetParentSpanID(derivedID(salt, s.span.ParentSpanID()))
		}
	}
}

func wrapped(r *recording) {
	for _, s := range r.of(dialect.Model) {
		r.changed = true
		scope := s.resource.ScopeSpans().AppendEmpty()
		scope.Scope().SetName("acme.gateway")
		wrapper := scope.Spans().AppendEmpty()
		s.span.CopyTo(wrapper)
		wrapper.SetSpanID(derivedID("wrapper", s.span.SpanID()))
		wrapper.SetStartTimestamp(s.span.StartTimestamp() - 1)
		wrapper.SetEndTimestamp(s.span.EndTimestamp() + 1)
		s.span.SetParentSpanID(wrapper.SpanID())
	}
}

// roots are the spans whose parent did not come, and that have something below them.
func (r *recording) roots() []*recorded {
	return slices.DeleteFunc(slices.Clone(r.spans), func(s *recorded) bool {
		return r.byID[s.span.ParentSpanID()] != nil || len(r.below[s.span.SpanID()]) == 0
	})
}

func noRoot(r *recording) {
	gone := map[pcommon.SpanID]bool{}
	for _, s := range r.roots() {
		gone[s.span.SpanID()] = true
		r.changed, r.rootless = true, true
	}
	r.remove(func(s ptrace.Span) bool { return gone[s.SpanID()] })
}

func twoTraces(r *recording) {
	for _, s := range r.roots() {
		node := s
		for len(r.below[node.span.SpanID()]) == 1 {
			node = r.below[node.span.SpanID()][0]
		}
		parts := slices.Clone(r.below[node.span.SpanID()])
		slices.SortStableFunc(parts, func(a, b *recorded) int {
			return int(int64(a.span.StartTimestamp()) - int64(b.span.StartTimestamp()))
		})
		id := node.span.TraceID()
		sum := sha256.Sum256(id[:])
		copy(id[:], sum[:])
		moved := map[pcommon.SpanID]bool{}
		var move func(*recorded)
		move = func(n *recorded) {
			if moved[n.span.SpanID()] {
				return
			}
			moved[n.span.SpanID()] = true
			n.span.SetTraceID(id)
			for _, b := range r.below[n.span.SpanID()] {
				move(b)
			}
		}
		for _, p := range parts[(len(parts)+1)/2:] {
			if !r.tied(p) {
				continue
			}
			r.changed = true
			p.span.SetParentSpanID(pcommon.SpanID{})
			move(p)
		}
		for _, l := range r.records() {
			if moved[l.SpanID()] {
				l.SetTraceID(id)
			}
		}
	}
}

// tied reports a part of a run that can be told to be one without its parent: something in it has an id, or was said. The span of a tool
// alone is tied if a conversation or a record holds its arguments or its result too.
func (r *recording) tied(part *recorded) bool {
	o := part.obs
	if o.Class != dialect.Tool || len(r.below[part.span.SpanID()]) > 0 || o.CallID+o.ConversationID+o.InvocationID != "" {
		return true
	}
	rest := ptrace.NewTraces()
	spans := rest.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for _, s := range r.spans {
		if s.obs.Class != dialect.Tool {
			s.span.CopyTo(spans.AppendEmpty())
		}
	}
	others := (&recording{traces: rest, logs: r.logs}).telemetry()
	return others.holds(o.Args.Value) || others.holds(o.Result.Value)
}

func clockBehind(r *recording) {
	const behind = 2_000_000_000 // ns
	before := map[pcommon.SpanID]pcommon.TraceID{}
	for _, s := range r.spans {
		before[s.span.SpanID()] = s.span.TraceID()
	}
	twoTraces(r)
	for _, s := range r.spans {
		if s.span.TraceID() == before[s.span.SpanID()] {
			continue
		}
		s.span.SetStartTimestamp(s.span.StartTimestamp() - behind)
		s.span.SetEndTimestamp(s.span.EndTimestamp() - behind)
		for _, e := range s.span.Events().All() {
			e.SetTimestamp(e.Timestamp() - behind)
		}
	}
	for _, l := range r.records() {
		if trace, there := before[l.SpanID()]; there && trace != l.TraceID() {
			if l.Timestamp() != 0 {
				l.SetTimestamp(l.Timestamp() - behind)
			}
			if l.ObservedTimestamp() != 0 {
				l.SetObservedTimestamp(l.ObservedTimestamp() - behind)
			}
			if at, there := l.Attributes().Get("event.timestamp"); there {
				if told, err := time.Parse(time.RFC3339Nano, at.Str()); err == nil {
					at.SetStr(told.Add(-behind).Format(time.RFC3339Nano))
				}
			}
		}
	}
}

func noParents(r *recording) {
	for _, s := range r.spans {
		r.changed = r.changed || !s.span.ParentSpanID().IsEmpty()
		s.span.SetParentSpanID(pcommon.SpanID{})
	}
}

// contentKeys are the beginnings of the conventions' keys that hold what was said, asked and returned.
var contentKeys = []string{
	"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
	"gen_ai.tool.definitions", "gen_ai.prompt.", "gen_ai.completion.", "gen_ai.prompt", "gen_ai.completion",
	"llm.input_messages.", "llm.output_messages.", "input.value", "output.value",
}

// details is the event of the conventions that holds the content of a call.
const details = "gen_ai.client.inference.operation.details"

// takeContent moves the content of every call out of the attributes of its span.
func (r *recording) takeContent(to func(*recorded) pcommon.Map) {
	for _, s := range r.spans {
		if s.obs.Class == dialect.Unclassified {
			continue
		}
		taken := pcommon.NewMap()
		s.span.Attributes().RemoveIf(func(key string, v pcommon.Value) bool {
			if !slices.ContainsFunc(contentKeys, func(k string) bool { return key == k || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k) }) {
				return false
			}
			v.CopyTo(taken.PutEmpty(key))
			return true
		})
		if taken.Len() > 0 {
			r.changed = true
			taken.MoveTo(to(s))
		}
	}
}

func contentInEvents(r *recording) {
	r.takeContent(func(s *recorded) pcommon.Map {
		e := s.span.Events().AppendEmpty()
		e.SetName(details)
		e.SetTimestamp(s.span.EndTimestamp())
		return e.Attributes()
	})
}

func contentInLogs(r *recording) {
	r.takeContent(func(s *recorded) pcommon.Map {
		rl := r.logs.ResourceLogs().AppendEmpty()
		s.resource.Resource().CopyTo(rl.Resource())
		sl := rl.ScopeLogs().AppendEmpty()
		s.scope.Scope().CopyTo(sl.Scope())
		l := sl.LogRecords().AppendEmpty()
		l.SetEventName(details)
		l.SetTraceID(s.span.TraceID())
		l.SetSpanID(s.span.SpanID())
		l.SetTimestamp(s.span.EndTimestamp())
		return l.Attributes()
	})
}

// messageLists changes every list of chat messages in OpenAI's style that an attribute of a model call holds as JSON, however deep it lies, and drops the spans of
// tools.
func (r *recording) messageLists(change func([]exactjson.Member) []value) {
	isMessages := func(v value) bool {
		if v.Kind() != exactjson.Array || v.Len() == 0 {
			return false
		}
		for _, m := range v.Members() {
			role := m.Value.Get("role").Str()
			if !slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, role) || role == "tool" && m.Value.Get("tool_call_id").IsAbsent() || m.Value.Get("content").IsAbsent() && m.Value.Get("tool_calls").IsAbsent() || !m.Value.Get("parts").IsAbsent() {
				return false
			}
		}
		return true
	}
	var rewrite func(v value) value
	rewrite = func(v value) value {
		if isMessages(v) {
			r.changed = true
			return exactjson.ArrayValue(change(v.Members())...)
		}
		return v.Map(func(_ int, m exactjson.Member) value { return rewrite(m.Value) })
	}
	text := func(_ string, v pcommon.Value) {
		if v.Type() != pcommon.ValueTypeStr || !strings.Contains(v.Str(), `"role"`) {
			return
		}
		if parsed, err := exactjson.Parse(v.Str()); err == nil && parsed.Kind() >= exactjson.Array {
			v.SetStr(rewrite(parsed).JSON())
		}
	}
	for _, s := range r.of(dialect.Model) {
		s.attributes(text)
	}
	if r.changed {
		noToolSpans(r) // so that the conversation alone tells of the calls
	}
}

func member(name string, v value) exactjson.Member { return exactjson.Member{Name: name, Value: v} }

func word(text string) value { return exactjson.StringValue(text) }

func otherWords(r *recording) {
	names := map[string]string{"tool_calls": "toolCalls", "tool_call_id": "toolCallId", "finish_reason": "finishReason"}
	roles := map[string]string{"user": "human", "assistant": "ai", "tool": "function"}
	r.messageLists(func(list []exactjson.Member) (messages []value) {
		for _, e := range list {
			m := e.Value
			var out []exactjson.Member
			for _, f := range m.Members() {
				if name := names[f.Name]; name != "" {
					f.Name = name
				}
				switch {
				case f.Name == "role" && roles[f.Value.Str()] != "":
					f.Value = word(roles[f.Value.Str()])
				case f.Name == "content" && f.Value.Kind() == exactjson.String && f.Value.Str() != "" && m.Get("role").Str() != "tool":
					f.Value = exactjson.ArrayValue(exactjson.ObjectValue(member("type", word("text")), member("text", f.Value)))
				}
				out = append(out, f)
			}
			messages = append(messages, exactjson.ObjectValue(out...))
		}
		return messages
	})
}

func itemLists(r *recording) {
	r.messageLists(func(list []exactjson.Member) (items []value) {
		add := func(members ...exactjson.Member) { items = append(items, exactjson.ObjectValue(members...)) }
		for _, e := range list {
			m := e.Value
			if m.Get("role").Str() == "tool" {
				add(member("type", word("function_call_output")), member("call_id", m.Get("tool_call_id")), member("output", m.Get("content")))
				continue
			}
			if content := m.Get("content"); !content.IsEmpty() {
				add(member("type", word("message")), member("role", m.Get("role")), member("content", content))
			}
			for _, c := range m.Get("tool_calls").Members() {
				f := c.Value.Get("function")
				if f.Kind() != exactjson.Object {
					f = c.Value
				}
				add(member("type", word("function_call")), member("call_id", c.Value.Get("id")), member("name", f.Get("name")), member("arguments", f.First("arguments", "args")))
			}
		}
		return items
	})
}

func userResults(r *recording) {
	r.messageLists(func(list []exactjson.Member) (messages []value) {
		for _, e := range list {
			messages = append(messages, e.Value.Map(func(_ int, f exactjson.Member) value {
				if f.Name == "role" && f.Value.Str() == "tool" {
					return word("user")
				}
				return f.Value
			}))
		}
		return messages
	})
}
