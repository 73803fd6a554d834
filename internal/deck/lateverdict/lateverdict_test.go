// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lateverdict_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/keep"
	"github.com/tapedeck/tapedeck/internal/deck/lateverdict"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/tape"
)

// call is a run of one model call.
func call(trace byte, response, conversation, replay string) ptrace.Traces {
	td := ptrace.NewTraces()
	span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID{trace})
	span.SetSpanID(pcommon.SpanID{trace})
	span.SetName("chat m")
	span.SetStartTimestamp(pcommon.Timestamp(trace) * 1e9)
	span.SetEndTimestamp(pcommon.Timestamp(trace)*1e9 + 1e6)
	a := span.Attributes()
	a.PutStr("gen_ai.operation.name", "chat")
	a.PutStr("gen_ai.request.model", "m")
	a.PutStr("gen_ai.response.id", response)
	a.PutStr("gen_ai.conversation.id", conversation)
	a.PutStr("gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`)
	a.PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"ho"}],"finish_reason":"stop"}]`)
	if replay != "" {
		a.PutStr("replay_run_id", replay)
	}
	return td
}

// judging writes a verdict by name into the attributes of a record or an event.
func judging(a pcommon.Map, name, key, id string) {
	a.PutStr("gen_ai.evaluation.name", name)
	a.PutDouble("gen_ai.evaluation.score.value", 0.25)
	a.PutStr("gen_ai.evaluation.score.label", "fail")
	a.PutStr("acme.rubric", "r7")
	a.PutStr(key, id)
}

// record is a verdict in a trace of its own, within a span of the judge.
func record(trace byte, name, key, id string) plog.Logs {
	ld := plog.NewLogs()
	r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.SetTraceID(pcommon.TraceID{trace})
	r.SetSpanID(pcommon.SpanID{9})
	r.SetEventName("gen_ai.evaluation.result")
	r.SetTimestamp(5e12)
	judging(r.Attributes(), name, key, id)
	return ld
}

type world struct {
	*testing.T
	deck *deck.Deck
	url  string
}

func newWorld(t *testing.T, layout deck.Layout) *world {
	w := &world{T: t, url: "file://" + t.TempDir() + "?sync=false"}
	w.open(layout)
	t.Cleanup(func() { w.deck.Close() })
	return w
}

func (w *world) open(layout deck.Layout) {
	w.Helper()
	if w.deck != nil {
		w.deck.Close()
	}
	var err error
	if w.deck, err = deck.OpenLayout(w.Context(), w.url, layout); err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(tenant string, docs ...otlpfile.Document) {
	w.Helper()
	w.writeWith(derive.Options{}, tenant, docs...)
}

func (w *world) writeWith(o derive.Options, tenant string, docs ...otlpfile.Document) {
	w.Helper()
	in := ingest.NewBatch(nil, nil)
	for _, doc := range docs {
		if err := in.Add(doc); err != nil {
			w.Fatal(err)
		}
	}
	to := &ingest.Writer{Options: o, Tenant: tenant, NoJoin: true, Say: w.Logf}
	if err := to.Write(w.Context(), w.deck, in); err != nil {
		w.Fatal(err)
	}
	w.open("")
}

func traces(td ptrace.Traces) otlpfile.Document {
	return otlpfile.Document{Signal: otlpfile.SignalTraces, Traces: td}
}

func logs(ld plog.Logs) otlpfile.Document {
	return otlpfile.Document{Signal: otlpfile.SignalLogs, Logs: ld}
}

// verdicts are those of all runs: area, tenant, trace, what is judged, name.
func (w *world) verdicts() (list []string) {
	w.Helper()
	w.open("")
	for l, err := range w.deck.Locations(w.Context()) {
		if err != nil {
			w.Fatal(err)
		}
		current, ok, err := w.deck.Current(w.Context(), l)
		if err != nil {
			w.Fatal(err)
		}
		if !ok {
			continue
		}
		tapes, err := runs.Tapes(w.Context(), w.deck, l, current)
		if err != nil {
			w.Fatal(err)
		}
		for _, t := range tapes {
			for _, v := range t.Verdicts {
				list = append(list, fmt.Sprintf("%s %s %s %s %s %s %s", l.Area, l.Tenant, l.TraceID[:2], v.Of, v.Name, v.ValueText(), v.Metadata.JSON()))
			}
		}
	}
	slices.Sort(list)
	return list
}

func (w *world) give(want lateverdict.Sums) {
	w.Helper()
	sums, err := lateverdict.Give(w.Context(), w.deck, lateverdict.Options{Say: func(err error) { w.Log(err) }})
	if err != nil || sums != want {
		w.Fatalf("%+v, %v; want %+v", sums, err, want)
	}
}

func TestAVerdictFindsTheRunThatItNames(t *testing.T) {
	for _, layout := range []deck.Layout{deck.LayoutFiles, deck.LayoutReels} {
		t.Run(string(layout), func(t *testing.T) {
			w := newWorld(t, layout)
			w.write("default", traces(call(1, "resp-1", "chat-1", "")), traces(call(2, "resp-2", "chat-1", "")), traces(call(3, "resp-3", "chat-3", "")),
				traces(call(4, "resp-1", "chat-1", "replay-1"))) // its stub has answered with the recorded id
			w.write("Other Co", traces(call(5, "resp-1", "chat-1", "")))
			w.write("default", logs(record(0xa1, "by answer", "gen_ai.response.id", "resp-1")), logs(record(0xa2, "by session", "gen_ai.conversation.id", "chat-1")),
				logs(record(0xa3, "of nobody", "gen_ai.response.id", "resp-9")))
			// A judge that is an agent itself, and judges in an event.
			judge := call(0xa4, "resp-j", "judging", "")
			event := judge.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Events().AppendEmpty()
			event.SetName("gen_ai.evaluation.result")
			event.SetTimestamp(6e12)
			judging(event.Attributes(), "by a judge", "gen_ai.response.id", "resp-3")
			w.write("default", traces(judge))

			// A judge that is none, and judges in an event, too.
			judge = ptrace.NewTraces()
			span := judge.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			span.SetTraceID(pcommon.TraceID{0xa5})
			span.SetSpanID(pcommon.SpanID{0xa5})
			event = span.Events().AppendEmpty()
			event.SetName("gen_ai.evaluation.result")
			event.SetTimestamp(7e12)
			judging(event.Attributes(), "by a program", "gen_ai.conversation.id", "chat-3")
			w.write("default", traces(judge))

			rubric, session := `{"acme.rubric":"r7"}`, `{"acme.rubric":"r7","gen_ai.conversation.id":"chat-1"}`
			before := []string{`runs default a4 run by a judge 0.25 {"acme.rubric":"r7","gen_ai.response.id":"resp-3"}`}
			after := append([]string{
				"runs default 01 run by answer 0.25 " + rubric, "runs default 01 session by session 0.25 " + session,
				"runs default 02 session by session 0.25 " + session, "runs default 03 run by a judge 0.25 " + rubric,
				`runs default 03 session by a program 0.25 {"acme.rubric":"r7","gen_ai.conversation.id":"chat-3"}`,
			}, before...)
			if got := w.verdicts(); !slices.Equal(got, before) {
				t.Fatalf("before:\n%s", strings.Join(got, "\n"))
			}
			w.give(lateverdict.Sums{Traces: 5, Runs: 3})
			if got := w.verdicts(); !slices.Equal(got, after) {
				t.Fatalf("after:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(after, "\n"))
			}
			if w.give(lateverdict.Sums{Traces: 5}); layout == deck.LayoutReels {
				if _, err := compaction.Run(t.Context(), w.deck, compaction.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			w.open("")
			w.give(lateverdict.Sums{Traces: 5})
			if got := w.verdicts(); !slices.Equal(got, after) {
				t.Fatalf("given again:\n%s", strings.Join(got, "\n"))
			}
			// The run comes after its verdict.
			w.write("default", traces(call(9, "resp-9", "", "")))
			w.give(lateverdict.Sums{Traces: 5, Runs: 1})
			if got := w.verdicts(); !slices.Contains(got, "runs default 09 run of nobody 0.25 "+rubric) {
				t.Fatalf("late run:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

func TestAReplaysVerdictJudgesTheReplay(t *testing.T) {
	w := newWorld(t, deck.LayoutReels)
	w.write("default", traces(call(1, "resp-1", "", "")), traces(call(4, "resp-1", "", "replay-1")))
	said := record(0xa1, "of the replay", "gen_ai.response.id", "resp-1")
	said.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().PutStr("replay_run_id", "replay-1")
	w.write("default", logs(said))
	w.give(lateverdict.Sums{Traces: 1, Runs: 1})
	got := w.verdicts()
	if len(got) != 1 || !strings.HasPrefix(got[0], string(deck.AreaReplays)+" default 04 "+string(tape.OfRun)) {
		t.Fatalf("%q", got)
	}
}

func TestARehearsalWritesNothing(t *testing.T) {
	w := newWorld(t, deck.LayoutFiles)
	w.write("default", traces(call(1, "resp-1", "", "")), logs(record(0xa1, "n", "gen_ai.response.id", "resp-1")))
	sums, err := lateverdict.Give(t.Context(), w.deck, lateverdict.Options{Rehearse: true})
	if err != nil || sums.Runs != 1 {
		t.Fatal(sums, err)
	}
	if got := w.verdicts(); len(got) != 0 {
		t.Fatalf("%q", got)
	}
}

// TestVerdictsShareReels gives a verdict on a conversation to many runs, and one that was taken away again to
// nobody.
func TestVerdictsShareReels(t *testing.T) {
	w := newWorld(t, deck.LayoutReels)
	all := ptrace.NewTraces()
	for i := range byte(40) {
		call(i+1, fmt.Sprint("resp-", i), "chat", "").ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
	}
	w.write("default", traces(all), logs(record(0xa1, "n", "gen_ai.conversation.id", "chat")))
	before := w.reels()
	w.give(lateverdict.Sums{Traces: 1, Runs: 40})
	if got := len(w.verdicts()); got != 40 {
		t.Fatalf("%d verdicts", got)
	}
	if made := w.reels() - before; made > 4 {
		t.Errorf("%d reels for 40 runs", made)
	}
	for l, err := range w.deck.Locations(t.Context(), deck.AreaRuns) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(l.TraceID, "01") {
			continue
		}
		state, err := w.deck.State(t.Context(), l)
		if err != nil || len(state.Parts) != 2 {
			t.Fatal(state.Parts, err)
		}
		for _, part := range state.Parts {
			body, err := w.deck.ReadPart(t.Context(), l, part)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(body, []byte("evaluation")) {
				if err := w.deck.BuryPart(t.Context(), l, part, deck.Burial{Reason: deck.ReasonScrub}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	w.open("")
	w.give(lateverdict.Sums{Traces: 1})
	if got := len(w.verdicts()); got != 39 {
		t.Errorf("%d verdicts after one was taken away", got)
	}
}

// TestAGiftIsBounded: one name stands for so many runs, one call gives so many verdicts, and the next goes
// on.
func TestAGiftIsBounded(t *testing.T) {
	lateverdict.Bound(t, 3, 5)
	w := newWorld(t, deck.LayoutReels)
	var docs []otlpfile.Document
	for i := range byte(8) {
		docs = append(docs, traces(call(i+1, fmt.Sprint("resp-", i), "chat", "")), logs(record(0xb0+i, "each", "gen_ai.response.id", fmt.Sprint("resp-", i))))
	}
	w.write("default", docs...)
	w.give(lateverdict.Sums{Traces: 8, Runs: 5, Failed: 1}) // which says that there are more
	w.open("")
	w.give(lateverdict.Sums{Traces: 8, Runs: 3})
	w.write("default", logs(record(0xa1, "all", "gen_ai.conversation.id", "chat")))
	w.give(lateverdict.Sums{Traces: 9, Runs: 3, Failed: 1})
	if got := len(w.verdicts()); got != 8+3 {
		t.Errorf("%d verdicts", got)
	}
}

// TestARunWithoutContentGetsNoVerdict: evidence with a verdict alone would take the place of what is known of
// it.
func TestARunWithoutContentGetsNoVerdict(t *testing.T) {
	w := newWorld(t, deck.LayoutReels)
	w.writeWith(derive.Options{Keep: &keep.Config{Errors: true}}, "default", traces(call(1, "resp-1", "", "")))
	w.write("default", logs(record(0xa1, "n", "gen_ai.response.id", "resp-1")))
	w.give(lateverdict.Sums{Traces: 1})
	known := 0
	for r, err := range view.Select(t.Context(), w.deck, view.Query{Dropped: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if known++; !r.Dropped() || r.TraceID[:2] != "01" {
			t.Errorf("%+v", r.Meta)
		}
	}
	if known != 1 {
		t.Errorf("%d runs are known", known)
	}
}

func (w *world) reels() (n int) {
	w.Helper()
	objects, err := view.Catalog(w.deck).List(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return len(objects)
}
