// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/tape"
)

func TestTracesGoWhenTheirTimeIsUp(t *testing.T) {
	f := open(t)
	f.write(1, day0, true)
	f.write(2, day0.Add(time.Hour), true)
	f.write(3, day0, false) // undecided
	trace1, trace3 := "trace retention runs/default/11/"+traceID(1), "trace retention undecided/default/33/"+traceID(3)
	for _, c := range []struct {
		after time.Duration
		want  []string
	}{
		{0, nil},
		{30*day - 1, nil},
		{30 * day, []string{trace3}},
		{90*day - 1, []string{trace3}},
		{90 * day, []string{trace1, trace3}},
	} {
		if got, problems := f.sweep(day0.Add(c.after), false); !slices.Equal(got, c.want) || problems != nil {
			t.Errorf("after %v: %v, %v", c.after, got, problems)
		}
	}
	before := f.objects("")
	if got, _ := f.sweep(day0.Add(90*day), true); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if len(f.objects("runs/default/11/")) != 0 || len(f.objects("undecided/")) != 0 || f.tombstones() != 2 {
		t.Errorf("left: %v", f.objects(""))
	}
	if left := f.objects("runs/default/22/"); len(left) != 3 || !slices.Contains(before, left[0]) {
		t.Errorf("the other trace has %v", left)
	}
	if got, problems := f.sweep(day0.Add(90*day), true); got != nil || problems != nil {
		t.Errorf("again: %v %v", got, problems)
	}
	w := derive.NewWriter(f.deck, derive.Options{})
	if _, err := w.Write(t.Context(), derive.Request{Tenant: "default", TraceID: traceID(1), Set: spans(1, day0), Complete: true}); err == nil || len(f.objects("runs/default/11/")) != 0 {
		t.Errorf("what was taken away came back: %v", err)
	}
}

func TestAFailedReplayKeepsATraceLonger(t *testing.T) {
	f := open(t)
	f.write(1, day0, true)
	note := func(status aiwg.Status, at time.Time) {
		r, err := aiwg.NewRecord(aiwg.Outcome{ID: "replay", Ended: at.Format(time.RFC3339)}, aiwg.Result{Status: status}, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := r.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.deck.PutReplayStatus(t.Context(), location(deck.AreaRuns, 1), "0101000000000000", body); err != nil {
			t.Fatal(err)
		}
	}
	gone := func(after time.Duration) bool {
		got, problems := f.sweep(day0.Add(after), false)
		if problems != nil {
			t.Error(problems)
		}
		return len(got) == 1
	}
	note(aiwg.ExactMatch, day0.Add(50*day))
	if gone(90*day-1) || !gone(90*day) {
		t.Error("a replay that matched moves the date")
	}
	note(aiwg.PartialMatch, day0.Add(10*day))
	if gone(190*day-1) || !gone(190*day) {
		t.Error("a replay that failed does not count for 180 days")
	}
	note(aiwg.NoMatch, day0.Add(20*day))
	if gone(200*day-1) || !gone(200*day) {
		t.Error("it is not the last failure that counts")
	}
	if got, _ := f.sweep(day0.Add(200*day), true); len(got) != 1 || len(f.objects("replays/")) != 0 {
		t.Errorf("the notes stay: %v", f.objects("replays/"))
	}
}

func TestSupersededGenerationsGoAndTheCurrentOneStays(t *testing.T) {
	f := open(t)
	p := location(deck.AreaRuns, 1)
	none := func(*tape.Tape) {}
	f.put(p, 1, none)
	f.put(p, 2, none)
	current := f.put(p, 3, none)
	// A generation above it is being written.
	writing := deck.NewGeneration(4, nil, nil)
	if _, err := f.deck.Store().PutNew(t.Context(), p.Prefix()+"/"+writing.String()+".0102030405060708/oracle.json", []byte("[]"), ""); err != nil {
		t.Fatal(err)
	}
	want := []string{"generation superseded runs/default/11/" + traceID(1) + "/g0000000001", "generation superseded runs/default/11/" + traceID(1) + "/g0000000002"}
	if got, problems := f.sweep(day0, true); !slices.Equal(got, want) || problems != nil {
		t.Errorf("%v %v", got, problems)
	}
	state, err := f.deck.Remains(t.Context(), p)
	if err != nil || len(state.Generations) != 2 || state.Generations[0].Generation != current || state.Generations[1].Generation != writing {
		t.Errorf("%+v %v", state, err)
	}
	if got, _ := f.sweep(day0, true); got != nil {
		t.Errorf("again: %v", got)
	}
}

func TestWhatCannotBeReadIsKept(t *testing.T) {
	f := open(t)
	f.write(1, day0, true)
	f.write(2, day0, true)
	f.put(location(deck.AreaRuns, 2), 1, func(*tape.Tape) {})
	for _, key := range f.objects("runs/default/22/") {
		if strings.HasSuffix(key, "tape.json") && !strings.Contains(key, "g0000000001") {
			if err := os.WriteFile(filepath.Join(f.folder, key), []byte("{"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, problems := f.sweep(day0.Add(1000*day), true)
	if len(got) != 1 || len(problems) != 1 || !strings.Contains(problems[0], traceID(2)) || strings.Contains(problems[0], "\n") {
		t.Errorf("%v %v", got, problems)
	}
	if len(f.objects("runs/default/22/")) != 4 {
		t.Errorf("%v", f.objects("runs/default/22/"))
	}
	// A trace of which no tape tells the age is as old as its evidence, and kept when that tells nothing.
	for _, n := range []byte{4, 5} {
		end := day0
		if n == 5 {
			end = time.Unix(1, 0) // minus a second: no start
		}
		set := spans(n, end)
		if n == 5 {
			for _, item := range set.Items() {
				item.Span.SetEndTimestamp(0)
			}
		}
		part, err := set.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.deck.PutPart(t.Context(), location(deck.AreaRuns, n), part); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := f.sweep(day0.Add(90*day-1), false); got != nil {
		t.Errorf("%v", got)
	}
	if got, _ := f.sweep(day0.Add(90*day), false); !slices.Equal(got, []string{"trace retention runs/default/44/" + traceID(4)}) {
		t.Errorf("%v", got)
	}
}

func TestEvidenceThatNoTapeCoversYetCounts(t *testing.T) {
	f := open(t)
	f.write(1, day0, true)
	part, err := spans(1, day0.Add(60*day)).Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.deck.PutPart(t.Context(), location(deck.AreaRuns, 1), part); err != nil {
		t.Fatal(err)
	}
	if got, _ := f.sweep(day0.Add(150*day-1), false); got != nil {
		t.Errorf("%v", got)
	}
	if got, _ := f.sweep(day0.Add(150*day), false); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestAWriterThatComesBetweenPlanAndRemovalWins(t *testing.T) {
	f := open(t)
	f.write(1, day0, true)
	c, err := New(f.deck, Policy{Keep: day, KeepFailed: day, KeepUndecided: day, Now: day0.Add(100 * day), ReplayResult: replayResult})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range c.Plan(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		f.write(1, day0.Add(99*day), true)
		if gone, err := c.Remove(t.Context(), &r); gone || err != nil {
			t.Errorf("%v %v", gone, err)
		}
	}
	if f.tombstones() != 0 {
		t.Error("it was buried")
	}
}

func TestJoinedRunsKeepTheirTracesAndMove(t *testing.T) {
	f := open(t)
	f.write(1, day0, true)
	join := func(n byte, items int, end time.Time, traces ...byte) {
		f.put(location(deck.AreaJoined, n), items, func(t *tape.Tape) {
			t.Run.EndedAt = end
			for _, n := range traces {
				t.Run.Joined = append(t.Run.Joined, traceID(n)+"-0101000000000000")
				t.Sources.TraceIDs = append(t.Sources.TraceIDs, traceID(n))
			}
		})
	}
	join(1, 4, day0.Add(20*day), 1, 2)
	if got, _ := f.sweep(day0.Add(90*day), false); got != nil {
		t.Errorf("a part of a joined run goes before it: %v", got)
	}
	// Earlier evidence comes: the run begins with another trace.
	join(3, 6, day0.Add(20*day), 3, 1, 2)
	join(5, 9, day0.Add(20*day), 5, 6)
	stale := "generation superseded joined/default/11/" + traceID(1) + "/g0000000004"
	if got, problems := f.sweep(day0, true); !slices.Equal(got, []string{stale}) || problems != nil {
		t.Errorf("%v %v", got, problems)
	}
	if left := f.objects("joined/"); len(left) != 2 {
		t.Errorf("%v", left)
	}
	// Another joined run may begin with that trace again.
	join(1, 5, day0.Add(20*day), 1, 7)
	if _, ok, err := f.deck.Current(t.Context(), location(deck.AreaJoined, 1)); !ok || err != nil {
		t.Error("the place is closed for good")
	}
	want := []string{"runs/default/11/" + traceID(1), "joined/default/11/" + traceID(1), "joined/default/33/" + traceID(3), "joined/default/55/" + traceID(5)}
	for i := range want {
		want[i] = "trace retention " + want[i]
	}
	if got, _ := f.sweep(day0.Add(110*day), false); !slices.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestAnInterruptedRemovalIsFinishedAndAMoveIsNot(t *testing.T) {
	f := open(t)
	f.write(1, day0, true)
	f.write(2, day0, true)
	to := deck.Location{Area: deck.AreaReplays, ReplayRunID: "r", Tenant: "default", TraceID: traceID(2)}
	for p, b := range map[deck.Location]deck.Burial{
		location(deck.AreaRuns, 1): {Reason: deck.ReasonRetention},
		location(deck.AreaRuns, 2): {Reason: deck.ReasonLateTag, MovedTo: &to},
	} {
		if _, err := f.deck.PutTombstone(t.Context(), p, b); err != nil {
			t.Fatal(err)
		}
	}
	if got, problems := f.sweep(day0, true); !slices.Equal(got, []string{"leftover retention runs/default/11/" + traceID(1)}) || problems != nil {
		t.Errorf("%v %v", got, problems)
	}
	if len(f.objects("runs/default/11/")) != 0 || len(f.objects("runs/default/22/")) == 0 {
		t.Errorf("%v", f.objects("runs/"))
	}
}

func TestOneTenantOnly(t *testing.T) {
	f := open(t)
	f.write(1, day0, true)
	c, err := New(f.deck, Policy{Keep: day, KeepFailed: day, KeepUndecided: day, Now: day0.Add(100 * day), Tenant: "other", ReplayResult: replayResult})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range c.Plan(context.Background()) {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := New(f.deck, Policy{}); err == nil {
		t.Error("a policy without periods")
	}
}

// TestAWriterOfAReplacedGenerationGoesOn: two versions write the same evidence; after gc only the current generation is left, and both
// may write again.
func TestAWriterOfAReplacedGenerationGoesOn(t *testing.T) {
	f := open(t)
	var writers []*derive.Writer
	for _, version := range []string{"1", "2"} {
		writers = append(writers, derive.NewWriter(f.deck, derive.Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: version}}}))
	}
	again := func() {
		t.Helper()
		for i, w := range writers {
			if _, err := w.Write(t.Context(), derive.Request{Tenant: "default", TraceID: traceID(1), Set: spans(1, day0), Complete: true}); err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
		}
	}
	again()
	if got, problems := f.sweep(day0, true); len(got) != 1 || problems != nil {
		t.Errorf("%v %v", got, problems)
	}
	before := f.objects("runs/")
	again()
	if diff := cmp.Diff(before, f.objects("runs/")); diff != "" {
		t.Error(diff)
	}
}

func TestTemporaryFilesOfDeadWritersGo(t *testing.T) {
	f := open(t)
	mine, other := filepath.Join(f.folder, "runs", "default", "01"), filepath.Join(f.folder, "quarantine", location(deck.AreaRuns, 3).Prefix())
	for _, folder := range []string{mine, other} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, ".tapedeck-tmp-DEAD"), []byte("a secret"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tenant := range []string{"somebody", "default", ""} {
		c, err := New(f.deck, Policy{Keep: day, KeepFailed: day, KeepUndecided: day, Now: day0, Tenant: tenant, ReplayResult: replayResult})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for r, err := range c.Plan(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if r.What != Temporary || r.Reason != deck.ReasonAbandoned {
				t.Errorf("%+v", r)
			}
			if gone, err := c.Remove(t.Context(), &r); !gone || err != nil || r.Objects != 1 {
				t.Errorf("%+v: %v, %v", r, gone, err)
			}
			found++
		}
		// A file that lies in no location of a tenant goes when all tenants are looked at.
		if want := map[string]int{"somebody": 0, "default": 1, "": 1}[tenant]; found != want {
			t.Errorf("tenant %q: %d files, want %d", tenant, found, want)
		}
	}
}
