// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

var noted = pcommon.TraceID{15: 9}

// agentAndRequest is a call, and the web request above it, which is no evidence.
func agentAndRequest(tag func(request ptrace.Span)) ptrace.Traces {
	td := ptrace.NewTraces()
	for i, scope := range []string{"opentelemetry.instrumentation.openai_v2", "net/http"} {
		rs := td.ResourceSpans().AppendEmpty()
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName(scope)
		span := ss.Spans().AppendEmpty()
		span.SetTraceID(noted)
		span.SetSpanID(pcommon.SpanID{7: byte(i + 1)})
		if i == 0 {
			span.Attributes().PutStr("gen_ai.operation.name", "chat")
		} else {
			tag(span)
		}
	}
	return td
}

func TestTagOfASpanThatIsNoEvidenceIsKeptAsANote(t *testing.T) {
	td := func() ptrace.Traces {
		return agentAndRequest(func(s ptrace.Span) {
			s.Attributes().PutStr("baggage", "replay_run_id=r2,replay_of=x")
			s.Events().AppendEmpty().Attributes().PutStr("replay_run_id", "r1")
			s.Attributes().PutBool("baggage.replay_run_id", true)
		})
	}
	want := segregation.Verdict{Replay: true, ID: "r1", Of: "x", Conflicting: true, Malformed: true}
	s := NewSet()
	s.AddTraces(td())
	if diff := cmp.Diff(want, s.Verdict(segregation.Default)); diff != "" {
		t.Error(diff)
	}
	if n := len(s.Items()); n != 1 || s.Len() != 5 || s.Notes().Len() != 4 {
		t.Errorf("%d items, %d with notes, %d notes", n, s.Len(), s.Notes().Len())
	}
	part, err := s.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	again, err := FromPart(part)
	if err != nil {
		t.Fatal(err)
	}
	custom, err := segregation.New([]string{"eval.run"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, rules := range map[string]*segregation.Rules{"default": segregation.Default, "of other keys": custom} {
		if diff := cmp.Diff(want, again.Verdict(rules)); diff != "" {
			t.Errorf("rules %s: %s", name, diff)
		}
	}
	// Delivered twice, and in pieces, it is the same part.
	again.AddTraces(td())
	request := td()
	request.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool { return rs.ScopeSpans().At(0).Scope().Name() != "net/http" })
	again.AddTraces(request)
	if twice, _ := again.Canonical(); string(twice) != string(part) {
		t.Error("a repetition changes the part")
	}
}

func TestKnownTagsAreNotedOnlyWhereTheEvidenceDoesNotShowThemToEverybody(t *testing.T) {
	custom, err := segregation.New([]string{"eval.run"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	known := segregation.Tags{IDs: []string{"r1"}}
	for name, c := range map[string]struct {
		key   string
		rules *segregation.Rules
		notes int
	}{
		"shown":                         {"replay_run_id", segregation.Default, 0},
		"not shown":                     {"other", segregation.Default, 1},
		"shown to the configured alone": {"eval.run", custom, 1},
		"shown to the others alone":     {"replay_run_id", custom, 1},
	} {
		td := agentAndRequest(func(ptrace.Span) {})
		td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutStr(c.key, "r1")
		s := NewSet()
		s.AddTraces(td)
		s.AddTags(noted, known, pcommon.NewMap(), c.rules)
		if s.Notes().Len() != c.notes {
			t.Errorf("%s: %d notes, want %d", name, s.Notes().Len(), c.notes)
		}
		for _, rules := range []*segregation.Rules{segregation.Default, c.rules} {
			if v := s.Verdict(rules); v.ID != "r1" {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
}

func TestNoteHasTheMarkerOfItsSpanAndItsIDFromItsContent(t *testing.T) {
	td := agentAndRequest(func(s ptrace.Span) { s.Attributes().PutStr("replay_run_id", "card 4111") })
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr(handover.Redaction, marker.String())
	}
	s := NewSet()
	s.AddTraces(td)
	notes := s.Notes().Traces()
	if m, ok := handover.MarkerOf(notes.ResourceSpans().At(0).Resource().Attributes()); !ok || m != marker {
		t.Errorf("marker %v", m)
	}
	before := notes.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	id := before.SpanID()
	before.Attributes().PutStr("replay_run_id", "card <token>")
	part, err := Rewrite(notes)
	if err != nil {
		t.Fatal(err)
	}
	again, err := FromPart(part)
	if err != nil {
		t.Fatal(err)
	}
	after := again.Traces().ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	if after.SpanID() == id || after.ParentSpanID() != after.SpanID() {
		t.Error("the id tells what stood there before")
	}
}

func TestTagOfARecordThatBelongsToNoRunIsNoted(t *testing.T) {
	ld := plog.NewLogs()
	sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
	sl.Scope().Attributes().PutStr("replay_run_id", "r1")
	record := sl.LogRecords().AppendEmpty()
	record.SetTraceID(noted)
	record.Body().SetStr("the nightly evaluation begins")
	sl.LogRecords().AppendEmpty() // of no trace
	td := LogsToTraces(ld, segregation.Default)
	if td.SpanCount() != 1 || td.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Name() != segregation.NoteScope {
		t.Errorf("%d spans", td.SpanCount())
	}
}
