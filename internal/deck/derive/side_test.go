// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
)

func traceOf(item evidence.Item) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	item.Resource.Resource().CopyTo(rs.Resource())
	ss := rs.ScopeSpans().AppendEmpty()
	item.Scope.Scope().CopyTo(ss.Scope())
	item.Span.CopyTo(ss.Spans().AppendEmpty())
	return td
}

func TestReplaysAreInNoProductionListing(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout deck.Layout) {
		production, trace := pieces(t, "")
		d, _, writer := memDeck(t, layout)
		put(t, writer(AcceptAny), trace, union(production...), true)
		replayed, _ := pieces(t, "nightly-"+trace+"-"+strings.Repeat("ab", 8))
		set := evidence.NewSet()
		for _, item := range union(replayed...).Items() { // the same conversation under another trace id
			td := traceOf(item)
			for _, s := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
				id := s.TraceID()
				id[15] ^= 0xff
				s.SetTraceID(id)
			}
			set.AddTraces(td)
		}
		other := set.Split()[0].TraceID
		put(t, writer(AcceptAny), other, set, true)

		for _, area := range []deck.Area{deck.AreaRuns, deck.AreaJoined, deck.AreaUndecided} {
			for p, err := range d.Locations(t.Context(), area) {
				if err != nil || p.TraceID == other {
					t.Errorf("listed: %s, %v", p, err)
				}
			}
		}
		for written, err := range writer(AcceptAny).JoinDeck(t.Context(), DeckJoin{}) {
			t.Errorf("joined with a replay: %+v, %v", written, err)
		}
		var replays []deck.Location
		for p, err := range d.Locations(t.Context(), deck.AreaReplays) {
			if err != nil {
				t.Fatal(err)
			}
			replays = append(replays, p)
		}
		if len(replays) != 1 || replays[0].TraceID != other {
			t.Fatalf("replays: %v", replays)
		}
		read := currentTape(t, d, replays[0])
		if of := read.Extensions.Get("replay").Get("of").Str(); of != trace+"-"+strings.Repeat("ab", 8) {
			t.Errorf("it replays %q", of)
		}
	})
}

func TestLateTagTakesTheRunOutOfWhatWasJoined(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout deck.Layout) {
		set := evidenceOf(t, torn(t)[0])
		d, _, writer := memDeck(t, layout)
		w := writer(AcceptAny)
		deriveEach(t, w, "default", set)
		if got := joinDeck(t, w, DeckJoin{}); len(got) != 1 {
			t.Fatalf("%d joined runs", len(got))
		}
		traces := set.Split()
		last := traces[len(traces)-1]
		tag := evidence.NewSet()
		td := traceOf(last.Set.Items()[0])
		td.ResourceSpans().At(0).Resource().Attributes().PutStr("replay_run_id", "r-1")
		tag.AddTraces(td)
		if p := put(t, w, last.TraceID, tag, true); p.Leaked == 0 {
			t.Errorf("%+v", p)
		}
		for p, err := range d.Locations(t.Context(), deck.AreaJoined) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok, err := d.Current(t.Context(), p); ok || err != nil {
				t.Errorf("still joined: %s, %v", p, err)
			}
		}
		// The other traces may be joined again, without the replay.
		joinDeck(t, w, DeckJoin{})
		for p, err := range d.Locations(t.Context(), deck.AreaJoined) {
			if err != nil {
				t.Fatal(err)
			}
			if read := currentTape(t, d, p); slices.Contains(read.Sources.TraceIDs, last.TraceID) {
				t.Errorf("joined with a replay: %v", read.Sources.TraceIDs)
			}
		}
	})
}

// TestTagOnASpanOfAnotherInstrumentation: a proxy or a web server copies baggage to its spans, and they stand in the trace of the run.
func TestTagOnASpanOfAnotherInstrumentation(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout deck.Layout) {
		all, trace := pieces(t, "")
		d, _, writer := memDeck(t, layout)
		put(t, writer(AcceptAny), trace, union(all...), true)
		runs := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace}
		before := currentTape(t, d, runs)

		http := ptrace.NewTraces()
		span := http.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		item := all[0].Items()[0]
		span.SetTraceID(item.Span.TraceID())
		span.SetSpanID([8]byte{0xaa, 1})
		span.SetParentSpanID(item.Span.SpanID())
		span.SetName("GET /prices")
		span.SetStartTimestamp(item.Span.StartTimestamp() + 1)
		span.SetEndTimestamp(item.Span.StartTimestamp() + 2)
		span.Attributes().PutStr("http.request.method", "GET")
		tag := evidence.NewSet()
		if tag.AddTraces(http); tag.Len() != 0 {
			t.Fatal("a span of a web client is evidence")
		}
		span.Attributes().PutStr("replay_run_id", "r-1")
		if tag.AddTraces(http); tag.Len() != 1 {
			t.Fatal("a tagged one is not")
		}
		put(t, writer(AcceptAny), trace, tag, true)
		if diff := cmp.Diff(map[string]int{"replays/r-1": 2}, areas(t, d)); diff != "" {
			t.Error(diff)
		}
		after := currentTape(t, d, deck.Location{Area: deck.AreaReplays, ReplayRunID: "r-1", Tenant: "default", TraceID: trace})
		if len(after.Events) != len(before.Events) || after.Run.RunID != before.Run.RunID || after.Run.ReplayRunID != "r-1" {
			t.Errorf("run %s with %d events became %s with %d", before.Run.RunID, len(before.Events), after.Run.RunID, len(after.Events))
		}
	})
}
