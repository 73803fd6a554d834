// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/keep"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/retention"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/tape"
)

// keepRig delivers to a deck under a keep policy.
type keepRig struct {
	*testing.T
	deck    *deck.Deck
	deliver func(Request) (keep.Reason, error)
}

func newKeepRig(t *testing.T, layout deck.Layout, policy keep.Config) *keepRig {
	t.Helper()
	name := "keep-" + string(layout)
	mem.Drop(name)
	t.Cleanup(func() { mem.Drop(name) })
	d, err := deck.OpenLayout(t.Context(), "mem://"+name, layout)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := Options{Keep: &policy}
	var w interface {
		Deliver(ctx context.Context, r Request) (*Stored, []Written, error)
	} = NewWriter(d, o)
	if layout == deck.LayoutReels {
		limits := reel.DefaultLimits
		limits.MaxWait = 10 * time.Millisecond
		reels := NewReelWriter(d, o, limits)
		t.Cleanup(reels.Close)
		w = reels
	}
	return &keepRig{t, d, func(r Request) (keep.Reason, error) {
		s, _, err := w.Deliver(t.Context(), r)
		if s == nil {
			return "", err
		}
		return s.Keep, err
	}}
}

// send delivers spans, and expects a reason.
func (r *keepRig) send(td ptrace.Traces, first, complete bool, want keep.Reason) {
	r.Helper()
	set := evidence.NewSet()
	set.AddTraces(td)
	tr := set.Split()[0]
	got, err := r.deliver(Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: complete, First: first, Late: !first})
	if err != nil && !errors.Is(err, generation.ErrNoRun) || got != want {
		r.Errorf("%s %v, want %s", got, err, want)
	}
}

// tapes are the tapes that a reader finds.
func (r *keepRig) tapes() (tapes []*tape.Tape) {
	r.Helper()
	d, err := deck.Open(r.Context(), r.deck.URL())
	if err != nil {
		r.Fatal(err)
	}
	for l, err := range d.Locations(r.Context()) {
		if err != nil {
			r.Fatal(err)
		}
		if g, ok, err := d.Current(r.Context(), l); err != nil {
			r.Fatal(err)
		} else if ok {
			of, err := runs.Tapes(r.Context(), d, l, g)
			if err != nil {
				r.Fatal(err)
			}
			tapes = append(tapes, of...)
		}
	}
	return tapes
}

// rows are the runs that a reader lists of a deck of reels, by what became of their content.
func (r *keepRig) rows() map[string]int {
	r.Helper()
	d, err := deck.Open(r.Context(), r.deck.URL())
	if err != nil {
		r.Fatal(err)
	}
	rows := map[string]int{}
	for run, err := range view.Select(r.Context(), d, view.Query{Dropped: true}) {
		if err != nil {
			r.Fatal(err)
		}
		if rows[run.Keep]++; run.Dropped() && (run.EvidenceBytes+run.TapeBytes > 0 || run.UserMessage != "" || run.Agent == "") {
			r.Errorf("a dropped run is listed as %+v", run.Meta)
		}
		if _, err := d.Find(r.Context(), run.RunID, ""); errors.Is(err, deck.ErrDropped) != run.Dropped() {
			r.Errorf("%s run is found: %v", run.Keep, err)
		}
	}
	return rows
}

func (r *keepRig) compact() {
	r.Helper()
	d, err := deck.Open(r.Context(), r.deck.URL())
	if err != nil {
		r.Fatal(err)
	}
	if _, err := compaction.Run(r.Context(), d, compaction.Options{Rederive: true}); err != nil {
		r.Fatal(err)
	}
}

// divide puts the spans that are wanted into one piece of a trace, and the others into another one.
func divide(td ptrace.Traces, wanted func(ptrace.Span) bool) (one, other ptrace.Traces) {
	pieces := [2]ptrace.Traces{ptrace.NewTraces(), ptrace.NewTraces()}
	for i := range pieces {
		td.CopyTo(pieces[i])
		pieces[i].ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(s ptrace.Span) bool { return wanted(s) == (i == 1) })
	}
	return pieces[0], pieces[1]
}

// failed tells the root and the last model call of a run that failed.
func failed(s ptrace.Span) bool { return s.Status().Code() == ptrace.StatusCodeError }

// fail makes the run of a trace one that failed: its last model call did not answer.
func fail(td ptrace.Traces) ptrace.Traces {
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	for _, s := range []ptrace.Span{spans.At(spans.Len() - 2), spans.At(spans.Len() - 1)} {
		s.Status().SetCode(ptrace.StatusCodeError)
		s.Status().SetMessage("boom")
		s.Attributes().PutStr("error.type", "boom")
		s.Attributes().Remove("gen_ai.output.messages")
	}
	return td
}

func keepInEachLayout(t *testing.T, policy keep.Config, do func(r *keepRig, reels bool)) {
	for _, layout := range []deck.Layout{deck.LayoutReels, deck.LayoutFiles} {
		t.Run(string(layout), func(t *testing.T) { do(newKeepRig(t, layout, policy), layout == deck.LayoutReels) })
	}
}

// TestWhatIsDroppedLeavesARowWithoutContent, in a deck of reels, and nothing in one of files. Repetitions
// change nothing, nor do compactions.
func TestWhatIsDroppedLeavesARowWithoutContent(t *testing.T) {
	keepInEachLayout(t, keep.Config{Errors: true}, func(r *keepRig, reels bool) {
		load := agentload.New(1)
		for range 3 {
			ok := load.Trace(agentload.Short)
			r.send(ok, true, true, keep.Dropped)
			r.send(ok, true, true, keep.Dropped)
			r.send(fail(load.Trace(agentload.Short)), true, true, keep.Errors)
		}
		for range 2 {
			if n := len(r.tapes()); n != 3 {
				r.Errorf("%d tapes", n)
			}
			if !reels {
				return
			}
			if rows := r.rows(); rows["dropped"] != 3 || rows["error"] != 3 || len(rows) != 2 {
				r.Errorf("%v", rows)
			}
			r.compact()
		}
	})
}

// TestLateEvidenceOfAKeptRunIsKept, although it shows by itself no reason to keep it.
func TestLateEvidenceOfAKeptRunIsKept(t *testing.T) {
	keepInEachLayout(t, keep.Config{Errors: true}, func(r *keepRig, reels bool) {
		early, late := divide(fail(agentload.New(1).Trace(agentload.Short)), failed)
		r.send(early, true, true, keep.Errors)
		r.send(late, false, false, keep.Late)
		r.send(late, false, false, keep.Late)
		for range 2 {
			tapes := r.tapes()
			if len(tapes) != 1 || tapes[0].Usage.ModelCalls != agentload.Short.Turns || lost(tapes[0]) {
				r.Fatalf("%d tapes", len(tapes))
			}
			if !reels {
				return
			}
			r.compact()
		}
	})
}

// TestAVerdictFollowsItsRun, days later, when no sender knows that the run came before.
func TestAVerdictFollowsItsRun(t *testing.T) {
	keepInEachLayout(t, keep.Config{Errors: true}, func(r *keepRig, reels bool) {
		load := agentload.New(1)
		for _, run := range []struct {
			td    ptrace.Traces
			first keep.Reason
			then  keep.Reason
		}{{fail(load.Trace(agentload.Short)), keep.Errors, keep.Late}, {load.Trace(agentload.Short), keep.Dropped, keep.Dropped}} {
			spans := run.td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
			root := spans.At(spans.Len() - 1)
			logs := plog.NewLogs()
			record := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
			record.SetEventName("gen_ai.evaluation.result")
			record.SetTraceID(root.TraceID())
			record.SetSpanID(root.SpanID())
			record.Attributes().PutStr("gen_ai.evaluation.name", "correctness")
			record.Attributes().PutDouble("gen_ai.evaluation.score.value", 0.2)
			r.send(run.td, true, true, run.first)
			r.send(evidence.LogsToTraces(logs, segregation.Default), true, true, run.then)
		}
		if tapes := r.tapes(); len(tapes) != 1 || len(tapes[0].Verdicts) != 1 {
			r.Errorf("%d tapes", len(tapes))
		}
	})
}

func lost(t *tape.Tape) bool {
	return slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeEvidenceDropped })
}

// TestLateEvidenceThatIsKeptSaysWhatWasDropped: its tape is partial at best, before and after a compaction.
// What comes later still is kept.
func TestLateEvidenceThatIsKeptSaysWhatWasDropped(t *testing.T) {
	keepInEachLayout(t, keep.Config{Errors: true}, func(r *keepRig, reels bool) {
		all := fail(agentload.New(1).Trace(agentload.Short))
		rest, root := divide(all, func(s ptrace.Span) bool { return !failed(s) })
		dropped, last := divide(rest, func(s ptrace.Span) bool { return s.Name() != "execute_tool bash" })
		r.send(dropped, true, false, keep.Dropped)
		r.send(root, false, true, keep.Errors)
		r.send(root, false, true, keep.Late) // a repetition after a crash
		r.send(last, false, false, keep.Late)
		for range 2 {
			tapes := r.tapes()
			if len(tapes) != 1 || !lost(tapes[0]) || tapes[0].Usage.ToolCalls != agentload.Short.Turns-1 {
				r.Fatalf("%d tapes", len(tapes))
			}
			if g := tapes[0].Fidelity.Grade; g != tape.GradePartial && g != tape.GradeInspect {
				r.Errorf("grade %s", g)
			}
			if !reels {
				return
			}
			if rows := r.rows(); len(rows) != 1 || rows["error"]+rows["late"] != 1 {
				r.Errorf("%v", rows)
			}
			r.compact()
		}
	})
}

// TestTheTracesOfARunAreKeptTogether: by one hash, and behind one that is kept for what it is.
func TestTheTracesOfARunAreKeptTogether(t *testing.T) {
	keepInEachLayout(t, keep.Config{Errors: true, Percent: 50}, func(r *keepRig, _ bool) {
		load := agentload.New(1)
		turn := func(conversation string) ptrace.Traces {
			td := load.Trace(agentload.Short)
			for _, s := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
				s.Attributes().PutStr("gen_ai.conversation.id", conversation)
			}
			return td
		}
		policy := keep.Config{Percent: 50}
		reasons := map[keep.Reason]bool{}
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			want := policy.Decide(nil, id)
			reasons[want] = true
			for range 3 {
				r.send(turn(id), true, true, want)
			}
			if want == keep.Dropped {
				r.send(fail(turn(id)), true, true, keep.Errors)
				r.send(turn(id), true, true, keep.Run)
			}
		}
		if len(reasons) != 2 {
			r.Error("all of it was decided alike")
		}
	})
}

// TestErasureTakesRowsWithoutContent, of a run that was dropped as a whole and of one that was kept in the
// end.
func TestErasureTakesRowsWithoutContent(t *testing.T) {
	r := newKeepRig(t, deck.LayoutReels, keep.Config{Errors: true})
	load := agentload.New(1)
	r.send(load.Trace(agentload.Short), true, true, keep.Dropped)
	early, late := divide(fail(load.Trace(agentload.Short)), func(s ptrace.Span) bool { return !failed(s) })
	r.send(early, true, false, keep.Dropped)
	r.send(late, false, true, keep.Errors)
	d, err := deck.Open(t.Context(), r.deck.URL())
	if err != nil {
		t.Fatal(err)
	}
	traces := map[string]bool{}
	for rows, err := range view.Catalog(d).Walk(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		traces[rows[0].TraceID] = true
	}
	if len(traces) != 2 {
		t.Fatalf("%d traces", len(traces))
	}
	for id := range traces {
		if _, err := retention.Erase(t.Context(), d, "default", id, time.Now()); err != nil {
			t.Error(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if d, err = deck.Open(t.Context(), r.deck.URL()); err != nil {
		t.Fatal(err)
	}
	for rows, err := range view.Catalog(d).Walk(t.Context(), nil) {
		t.Errorf("%d rows are left of an erased trace, %v", len(rows), err)
	}
}
