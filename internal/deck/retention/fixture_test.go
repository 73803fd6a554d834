// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/tape"
)

var day0 = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

type fixture struct {
	*testing.T
	deck   *deck.Deck
	folder string
}

func open(t *testing.T) fixture {
	t.Helper()
	folder := t.TempDir()
	d, err := deck.Open(t.Context(), "file://"+folder+"?sync=false")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return fixture{t, d, folder}
}

func traceID(n byte) string { return strings.Repeat(string("0123456789abcdef"[n]), 32) }

func location(area deck.Area, n byte) deck.Location {
	return deck.Location{Area: area, Tenant: "default", TraceID: traceID(n)}
}

// spans is the evidence of a run that ended at a time: a model call below an agent.
func spans(n byte, end time.Time) *evidence.Set {
	td := ptrace.NewTraces()
	list := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i, operation := range []string{"invoke_agent", "chat"} {
		s := list.AppendEmpty()
		s.SetTraceID(pcommon.TraceID([]byte(strings.Repeat(string(rune(n*17)), 16))[:16]))
		s.SetSpanID(pcommon.SpanID{1, byte(i + 1)})
		if i > 0 {
			s.SetParentSpanID(pcommon.SpanID{1, 1})
		}
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(end.Add(-time.Second)))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(end))
		s.Attributes().PutStr("gen_ai.operation.name", operation)
		s.Attributes().PutStr("gen_ai.request.model", "m")
	}
	set := evidence.NewSet()
	set.AddTraces(td)
	return set
}

// write puts a run into the deck as the collector does.
func (f fixture) write(n byte, end time.Time, complete bool) {
	f.Helper()
	w := derive.NewWriter(f.deck, derive.Options{})
	written, err := w.Write(f.Context(), derive.Request{Tenant: "default", TraceID: traceID(n), Set: spans(n, end), Complete: complete})
	if err != nil || len(written) != 1 {
		f.Fatalf("%d: %v %v", n, written, err)
	}
}

// put writes a generation with one tape.
func (f fixture) put(p deck.Location, items int, change func(*tape.Tape)) deck.Generation {
	f.Helper()
	t := &tape.Tape{Producer: tape.Producer{Name: "test"}, Run: tape.Run{Tenant: "default", TraceID: p.TraceID, RootSpanID: "0102030405060708",
		RunID: p.TraceID + "-0102030405060708", Status: tape.StatusOK, EndedAt: day0}, Fidelity: tape.Fidelity{Grade: tape.GradeInspect}}
	change(t)
	files, _, err := generation.Files(nil, t, []string{"tape"})
	if err != nil {
		f.Fatal(err)
	}
	g := deck.NewGeneration(items, nil, []byte(t.TapeID))
	if _, err := f.deck.PutGeneration(f.Context(), p, g, []deck.RunFiles{{Root: t.Run.RootSpanID, Files: files}}); err != nil {
		f.Fatal(err)
	}
	return g
}

// sweep plans at a time and removes what was planned; lines are "what reason key".
func (f fixture) sweep(now time.Time, remove bool) (lines, problems []string) {
	f.Helper()
	c, err := New(f.deck, Policy{Keep: DefaultKeep, KeepFailed: DefaultKeepFailed, KeepUndecided: 30 * day, Now: now, ReplayResult: replayResult})
	if err != nil {
		f.Fatal(err)
	}
	for r, err := range c.Plan(f.Context()) {
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		if remove {
			if gone, err := c.Remove(f.Context(), &r); err != nil || !gone {
				f.Errorf("%+v: %v %v", r, gone, err)
			}
		}
		key, _, _ := strings.Cut(r.Key, "-")
		lines = append(lines, r.What+" "+string(r.Reason)+" "+key)
	}
	return lines, problems
}

func (f fixture) tombstones() (n int) {
	f.Helper()
	for o, err := range f.deck.Store().List(f.Context(), "") {
		if err != nil {
			f.Fatal(err)
		}
		if strings.HasSuffix(o.Key, ".buried/trace.json") {
			n++
		}
	}
	return n
}

func (f fixture) objects(below string) (keys []string) {
	f.Helper()
	for o, err := range f.deck.Store().List(f.Context(), below) {
		if err != nil {
			f.Fatal(err)
		}
		if !deck.IsNote(o.Key) {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// replayResult reads what tapedeck match writes.
func replayResult(body []byte) (time.Time, bool, error) {
	r, err := aiwg.ReadRecord(body)
	return r.ReplayedAt, r.Failed(), err
}
