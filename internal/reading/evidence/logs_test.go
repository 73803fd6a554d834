// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// records is a request of one log record.
func records(change func(r plog.LogRecord)) plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "shop")
	sl := rl.ScopeLogs().AppendEmpty()
	sl.Scope().SetName("openai")
	sl.Scope().SetVersion("2")
	r := sl.LogRecords().AppendEmpty()
	r.SetTraceID(pcommon.TraceID{1})
	r.SetSpanID(pcommon.SpanID{2})
	r.SetEventName("gen_ai.user.message")
	r.SetTimestamp(100)
	r.SetObservedTimestamp(999)
	r.Body().SetEmptyMap().PutStr("content", "hello")
	r.Attributes().PutStr("gen_ai.system", "openai")
	if change != nil {
		change(r)
	}
	return ld
}

// logSpans returns the spans that a change of the record gives.
func logSpans(change func(r plog.LogRecord)) []ptrace.Span {
	var out []ptrace.Span
	for _, rs := range LogsToTraces(records(change), segregation.Default).ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				out = append(out, s)
			}
		}
	}
	return out
}

func TestLogRecordBecomesASpan(t *testing.T) {
	td := LogsToTraces(records(nil), segregation.Default)
	ss := td.ResourceSpans().At(0).ScopeSpans().At(0)
	s := ss.Spans().At(0)
	if ss.Scope().Name() != genai.LogScope || ss.Scope().Version() != "2" {
		t.Errorf("scope %s %s", ss.Scope().Name(), ss.Scope().Version())
	}
	if s.Name() != "gen_ai.user.message" || s.TraceID() != (pcommon.TraceID{1}) || s.ParentSpanID() != (pcommon.SpanID{2}) || s.StartTimestamp() != 100 || s.EndTimestamp() != 100 {
		t.Errorf("span %s of trace %s below %s at %d to %d", s.Name(), s.TraceID(), s.ParentSpanID(), s.StartTimestamp(), s.EndTimestamp())
	}
	want := map[string]any{
		"gen_ai.system": "openai", genai.LogBody: map[string]any{"content": "hello"}, genai.LogEventName: "gen_ai.user.message", genai.LogScopeName: "openai",
		genai.LogObservedTime: int64(999),
	}
	got := s.Attributes()
	if got.Len() != len(want) {
		t.Errorf("attributes %v", got.AsRaw())
	}
	if v, ok := got.Get(genai.LogBody); !ok || v.Map().AsRaw()["content"] != "hello" {
		t.Errorf("body %v", got.AsRaw())
	}
	if v, _ := got.Get(genai.LogScopeName); v.Str() != "openai" {
		t.Errorf("scope name %q", v.Str())
	}
}

func TestLogRecordKeepsSeverityFlagsAndTimeOfObservation(t *testing.T) {
	plain := logSpans(nil)[0].SpanID()
	s := logSpans(func(r plog.LogRecord) {
		r.SetSeverityNumber(plog.SeverityNumberWarn)
		r.SetSeverityText("WARNING")
		r.SetFlags(plog.DefaultLogRecordFlags.WithIsSampled(true))
	})[0]
	got := s.Attributes().AsRaw()
	for name, want := range map[string]any{
		genai.LogSeverityNumber: int64(plog.SeverityNumberWarn), genai.LogSeverityText: "WARNING", genai.LogFlags: int64(1), genai.LogObservedTime: int64(999),
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if s.SpanID() != plain {
		t.Error("what carried the record has changed its id")
	}
	td := LogsToTraces(records(func(r plog.LogRecord) { r.SetSeverityText("WARNING") }), segregation.Default)
	part, err := Rewrite(td)
	if err != nil {
		t.Fatal(err)
	}
	set, err := FromPart(part)
	if err != nil {
		t.Fatal(err)
	}
	if id := set.Items()[0].Span.SpanID(); id != plain {
		t.Errorf("rewritten, the record has the id %s, not %s", id, plain)
	}
}

func TestRecordThatWasObservedTwiceIsOneItemOfItsFirstTime(t *testing.T) {
	early, late := records(func(r plog.LogRecord) { r.SetObservedTimestamp(500) }), records(nil)
	never := records(func(r plog.LogRecord) { r.SetObservedTimestamp(0) })
	var want []byte
	for _, order := range [][]plog.Logs{{early, late, never}, {late, never, early}, {never, early, late}} {
		s := NewSet()
		s.AddLogs(order[0])
		for _, ld := range order[1:] {
			other := NewSet()
			other.AddLogs(ld)
			s.Merge(other)
		}
		if s.Len() != 1 {
			t.Fatalf("one record is %d items", s.Len())
		}
		if v, ok := s.Items()[0].Span.Attributes().Get(genai.LogObservedTime); !ok || v.Int() != 500 {
			t.Errorf("observed at %v", v.AsRaw())
		}
		if got := canonical(t, s); want == nil {
			want = got
		} else if !bytes.Equal(want, got) {
			t.Error("the order of deliveries shows in the part")
		}
	}
}

func TestIDOfALogRecordComesFromItsContentAlone(t *testing.T) {
	first := logSpans(nil)[0].SpanID()
	if first.IsEmpty() {
		t.Fatal("no id")
	}
	if again := logSpans(func(r plog.LogRecord) { r.SetObservedTimestamp(12345) })[0].SpanID(); again != first {
		t.Error("the time of observation changes the id")
	}
	for name, change := range map[string]func(r plog.LogRecord){
		"body":      func(r plog.LogRecord) { r.Body().SetEmptyMap().PutStr("content", "other") },
		"attribute": func(r plog.LogRecord) { r.Attributes().PutStr("gen_ai.system", "other") },
		"time":      func(r plog.LogRecord) { r.SetTimestamp(101) },
		"span":      func(r plog.LogRecord) { r.SetSpanID(pcommon.SpanID{3}) },
		"trace":     func(r plog.LogRecord) { r.SetTraceID(pcommon.TraceID{3}) },
		"name":      func(r plog.LogRecord) { r.SetEventName("gen_ai.choice") },
		"severity":  func(r plog.LogRecord) { r.SetSeverityNumber(plog.SeverityNumberError) },
	} {
		if logSpans(change)[0].SpanID() == first {
			t.Errorf("another %s, the same id", name)
		}
	}
	s := NewSet()
	s.AddLogs(records(nil))
	s.AddLogs(records(nil))
	if s.Len() != 1 {
		t.Errorf("a record that came twice is %d items", s.Len())
	}
}

func TestLogRecordsThatSayNothingOfARunAreLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r plog.LogRecord)
		want   int
	}{
		"as it is":                {nil, 1},
		"no trace":                {func(r plog.LogRecord) { r.SetTraceID(pcommon.TraceID{}) }, 0},
		"no span":                 {func(r plog.LogRecord) { r.SetSpanID(pcommon.SpanID{}) }, 1},
		"another event":           {func(r plog.LogRecord) { r.SetEventName("http.request"); r.Attributes().Clear() }, 0},
		"named by its attributes": {func(r plog.LogRecord) { r.SetEventName("") }, 1},
		"event name in an attribute": {func(r plog.LogRecord) {
			r.SetEventName("")
			r.Attributes().Clear()
			r.Attributes().PutStr("event.name", "gen_ai.choice")
		}, 1},
		"event name that is no text": {func(r plog.LogRecord) {
			r.SetEventName("")
			r.Attributes().Clear()
			r.Attributes().PutInt("event.name", 7)
		}, 0},
		"no body, no attribute at all": {func(r plog.LogRecord) { r.SetEventName(""); r.Attributes().Clear(); r.Body().SetStr("") }, 0},
	} {
		if got := len(logSpans(c.change)); got != c.want {
			t.Errorf("%s: %d spans, want %d", name, got, c.want)
		}
	}
}

func TestTimeOfALogRecord(t *testing.T) {
	stated := time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
	for name, c := range map[string]struct {
		change func(r plog.LogRecord)
		want   pcommon.Timestamp
	}{
		"its own": {func(r plog.LogRecord) { r.Attributes().PutStr("event.timestamp", stated.Format(time.RFC3339Nano)) }, 100},
		"else what its producer states": {func(r plog.LogRecord) {
			r.SetTimestamp(0)
			r.Attributes().PutStr("event.timestamp", stated.Format(time.RFC3339Nano))
		}, pcommon.NewTimestampFromTime(stated)},
		"with blanks around": {func(r plog.LogRecord) {
			r.SetTimestamp(0)
			r.Attributes().PutStr("event.timestamp", " 2026-03-04T05:06:07.000000008Z\n")
		}, pcommon.NewTimestampFromTime(stated)},
		"else when it was observed":   {func(r plog.LogRecord) { r.SetTimestamp(0) }, 999},
		"a statement that is no time": {func(r plog.LogRecord) { r.SetTimestamp(0); r.Attributes().PutStr("event.timestamp", "yesterday") }, 999},
		"a time before 1970": {func(r plog.LogRecord) {
			r.SetTimestamp(0)
			r.Attributes().PutStr("event.timestamp", "1900-01-01T00:00:00Z")
		}, 999},
		"none at all": {func(r plog.LogRecord) { r.SetTimestamp(0); r.SetObservedTimestamp(0) }, 0},
	} {
		if got := logSpans(c.change)[0].StartTimestamp(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestErrorRecordIsAnErrorSpan(t *testing.T) {
	if got := logSpans(func(r plog.LogRecord) { r.SetSeverityNumber(plog.SeverityNumberFatal) })[0].Status().Code(); got != ptrace.StatusCodeError {
		t.Errorf("a fatal record is %s", got)
	}
	if got := logSpans(func(r plog.LogRecord) { r.SetSeverityNumber(plog.SeverityNumberWarn) })[0].Status().Code(); got != ptrace.StatusCodeUnset {
		t.Errorf("a warning is %s", got)
	}
}

// Log records that became spans become log records again, of which the same spans are made.
func TestLogRecordsAreTakenOutAgain(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "corpus", "agents", "*", "*.logs.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	var m ptrace.ProtoMarshaler
	bytesOf := func(td ptrace.Traces) string {
		s := NewSet()
		s.add(td, true)
		body, err := m.MarshalTraces(s.Traces())
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	records := 0
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(body)
		if err != nil {
			t.Fatal(err)
		}
		own, want := LogsToTraces(ld, segregation.Default), LogsToTraces(ld, segregation.Default)
		left, back := SplitLogs(own)
		records += back.LogRecordCount()
		if got := bytesOf(LogsToTraces(back, segregation.Default)); left.SpanCount()+back.LogRecordCount() != want.SpanCount() || left.SpanCount() == 0 && got != bytesOf(want) {
			t.Errorf("%s: %d spans became %d log records and %d spans, and the same: %v", file, want.SpanCount(), back.LogRecordCount(), left.SpanCount(), got == bytesOf(want))
		}
	}
	if records == 0 {
		t.Error("no log record in the corpus")
	}
}
