// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

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
		if s.obs.RunSpan && s.obs.Quirks.Has(dialect.EndsWithTools) {
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

// shift moves the times of a span and of its events.
func (s *recorded) shift(by func(pcommon.Timestamp) pcommon.Timestamp) {
	s.span.SetStartTimestamp(by(s.span.StartTimestamp()))
	s.span.SetEndTimestamp(by(s.span.EndTimestamp()))
	for _, e := range s.span.Events().All() {
		e.SetTimestamp(by(e.Timestamp()))
	}
}

// toolsBehind sets the clock back that tools are recorded by, and what lies below them: they run in services of their own.
func toolsBehind(r *recording) {
	const behind = 30_000_000_000 // ns
	seen := map[*recorded]bool{}
	var back func(*recorded)
	back = func(s *recorded) {
		if seen[s] {
			return
		}
		seen[s], r.changed = true, true
		s.shift(func(t pcommon.Timestamp) pcommon.Timestamp { return t - behind })
		for _, below := range r.below[s.span.SpanID()] {
			back(below)
		}
	}
	for _, s := range r.of(dialect.Tool) {
		back(s)
	}
}

// roundedTimes rounds all times down, as producers do that count in milliseconds or seconds.
func roundedTimes(to pcommon.Timestamp) func(*recording) {
	return func(r *recording) {
		for _, s := range r.spans {
			r.changed = true
			s.shift(func(t pcommon.Timestamp) pcommon.Timestamp { return t - t%to })
		}
	}
}

// noCallIDs leaves out the ids of calls on the spans of tools.
func noCallIDs(r *recording) {
	for _, s := range r.of(dialect.Tool) {
		if s.obs.CallID == "" {
			continue
		}
		drop := func(m pcommon.Map) {
			m.RemoveIf(func(_ string, v pcommon.Value) bool {
				gone := v.Type() == pcommon.ValueTypeStr && v.Str() == s.obs.CallID
				r.changed = r.changed || gone
				return gone
			})
		}
		drop(s.span.Attributes())
		for _, e := range s.span.Events().All() {
			drop(e.Attributes())
		}
	}
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
		s.shift(func(t pcommon.Timestamp) pcommon.Timestamp { return t - behind })
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
