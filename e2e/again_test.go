// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// deckOfRuns is a deck with so many runs, each a trace of its own.
func deckOfRuns(t *testing.T, runs int) string {
	t.Helper()
	url := decktest.FileURL(t)
	p := collect(t, slim, local, url, soon)
	spans := 0
	for first := 0; first < runs; first += 50 {
		batch := ptrace.NewTraces()
		for n := first; n < min(first+50, runs); n++ {
			another(t, uint32(n)).ResourceSpans().MoveAndAppendTo(batch.ResourceSpans()) //nolint:gosec // far below 2^32
		}
		spans += batch.SpanCount()
		send(t, p, batch)
	}
	drained(t, p, spans)
	stop(t, p)
	return url
}

// emitAgain starts an example with the tape receiver. What it remembers lies in a folder of its own.
func emitAgain(t *testing.T, config, source, target string, env []string, args ...string) *collectorproc.Process {
	t.Helper()
	env = append([]string{"SOURCE_DECK=" + source, "TAPEDECK_DECK=" + target, "TAPEDECK_STATE=" + t.TempDir(), "TAPEDECK_SINCE=7300d"}, env...)
	return run(t, program(t, slim), env, append([]string{"--config", example(t, "examples/again/"+config)}, args...)...)
}

// TestADeckMovesThroughAKill kills the collector while it moves a deck. It goes on where it was, and in the end both decks are the same.
func TestADeckMovesThroughAKill(t *testing.T) {
	const runs = 150
	source, target := deckOfRuns(t, runs), decktest.FileURL(t)
	kept := []string{"TAPEDECK_STATE=" + t.TempDir(), "TAPEDECK_SPOOL=" + t.TempDir()}
	p := emitAgain(t, "migrate.yaml", source, target, kept, soon, "--set=receivers.tape.traces_per_second="+strconv.Itoa(max(50, runs/60)))
	there := 0
	until(t, "a third of the runs", func() bool {
		there = len(at{t, target}.traces())
		return there >= runs/3
	})
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if there = len(at{t, target}.traces()); there == runs {
		t.Fatal("all was moved before the kill: the test shows nothing")
	}
	p = emitAgain(t, "migrate.yaml", source, target, kept, soon)
	until(t, "all runs", func() bool { return len(at{t, target}.traces()) == runs })
	// What was in the target when it was killed had been noted, but for one trace at most.
	if emitted := metrics(t, p)["receiver_tape_emitted_traces"]; emitted < runs-there-runs/2 || emitted > runs-there+1 {
		t.Errorf("%d of %d runs were there; then %d were emitted", there, runs, emitted)
	}
	stop(t, p)
	if diff := cmp.Diff(at{t, source}.contents(), at{t, target}.contents()); diff != "" {
		t.Errorf("the decks differ (-source +target):\n%.3000s", diff)
	}
}

// TestReelsMoveThroughAKill kills the collector with SIGKILL while it moves a deck of reels into another. It goes on where it was, and the counts add up:
// the second collector emits what the first had not noted, one trace of it a second time at most, and every run is in the target once, with the same
// columns. (Its tape is another: the runs that are made here were never redacted.) TAPEDECK_TEST_REEMITTED_RUNS is how many runs there are; with 100,000:
//
//	make e2e-again
func TestReelsMoveThroughAKill(t *testing.T) {
	runs := reemittedRuns(t, 2000)
	source, target := inReels(t, decktest.FileURL(t)), inReels(t, decktest.FileURL(t))
	from := at{t, source}.open()
	reels, err := manyruns.Write(t.Context(), from, manyruns.Options{Runs: runs, Days: max(1, runs/5000)})
	at{t, source}.close(from)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	phase := func(format string, args ...any) {
		t.Helper()
		t.Logf("%6.1f s  %s", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	// listed is the lines of ls about the runs of a deck, in the order of their ids.
	listed := func(url string) []string {
		t.Helper()
		out := tapedeck(t, "ls", url, "--format", "json", "--columns", "run_id,trace_id,status,grade,model_calls,tool_calls,input_tokens,output_tokens", "--sort", "run_id")
		var all []string
		for line := range strings.Lines(out) {
			line, _, _ = strings.Cut(line, `,"url":`)
			all = append(all, line)
		}
		return all
	}
	want := listed(source)
	if len(want) != runs || len(slices.Compact(slices.Clone(want))) != runs {
		t.Fatalf("%d runs were made, %d are listed", runs, len(want))
	}
	phase("%d runs in %d reels", runs, reels)
	kept := []string{"TAPEDECK_STATE=" + t.TempDir(), "TAPEDECK_SPOOL=" + t.TempDir()}
	p := emitAgain(t, "migrate.yaml", source, target, kept, soon)
	emitted := func() int { return metrics(t, p)["receiver_tape_emitted_traces"] }
	long := patience + time.Duration(runs)*50*time.Millisecond
	first := 0
	untilWithin(t, long, "a third of the runs to be emitted", func() bool {
		first = emitted()
		return first >= runs/3
	})
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if first == runs {
		t.Fatal("all was emitted before the kill: the test shows nothing")
	}
	phase("%d emitted, then killed; %d are in the target", first, len(listed(target)))
	p = emitAgain(t, "migrate.yaml", source, target, kept, soon)
	passedOn := 0
	untilWithin(t, long, "all runs to be emitted and to lie in the target", func() bool {
		m := metrics(t, p)
		if held := m["processor_agentrun_held_items"]; m["receiver_tape_emitted_traces"] == 0 || held > 0 {
			passedOn = 0
			return false
		}
		if now := m["receiver_tape_emitted_traces"]; now != passedOn {
			passedOn = now
			return false
		}
		return len(listed(target)) >= runs
	})
	second := emitted()
	phase("%d emitted by the second collector", second)
	// The first one had emitted at least as many as were counted, and noted all of them but the last.
	if second > runs-first+1 {
		t.Errorf("of %d runs %d were emitted before the kill and %d behind it", runs, first, second)
	}
	for _, lost := range []string{"processor_agentrun_dropped_items", "receiver_tape_refused_traces", "receiver_tape_unreadable_traces"} {
		if n := metrics(t, p)[lost]; n > 0 {
			t.Errorf("%s is %d", lost, n)
		}
	}
	stop(t, p)
	got := listed(target)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%d runs are in the source, %d in the target (-source +target):\n%.3000s", len(want), len(got), diff)
	}
	phase("%d runs in the target, each once, with the columns that it had", len(got))
}

// reemittedRuns is how many runs a campaign emits again.
func reemittedRuns(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("TAPEDECK_TEST_REEMITTED_RUNS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 100 {
		t.Fatalf("TAPEDECK_TEST_REEMITTED_RUNS is %q", text)
	}
	return n
}

// TestADeckIsEmittedAgain starts the other examples.
func TestADeckIsEmittedAgain(t *testing.T) {
	const runs = 3
	source := deckOfRuns(t, runs)
	t.Run("derived anew", func(t *testing.T) {
		target := decktest.FileURL(t)
		p := emitAgain(t, "rederive.yaml", source, target, nil, soon)
		until(t, "all runs", func() bool { return len(at{t, target}.traces()) == runs })
		stop(t, p)
		if diff := cmp.Diff(at{t, source}.contents(), at{t, target}.contents()); diff != "" {
			t.Errorf("the decks differ:\n%.3000s", diff)
		}
	})
	t.Run("into a backend", func(t *testing.T) {
		// The backend is a collector whose tapes say what it was sent. To it, what says that it was emitted again is neither production nor a replay.
		url := decktest.FileURL(t)
		backend := collect(t, slim, local, url, soon)
		p := emitAgain(t, "backfill.yaml", "", source, []string{"BACKEND_ENDPOINT=" + backend.GRPC})
		until(t, "all runs", func() bool { return len(at{t, url}.traces()) == runs })
		stop(t, p)
		if diff := cmp.Diff(at{t, source}.traces(), at{t, url}.traces()); diff != "" {
			t.Errorf("other traces:\n%s", diff)
		}
		marked := 0
		d := (at{t, url}).open()
		defer (at{t, url}).close(d)
		for trace := range (at{t, url}).traces() {
			undecided := place(trace)
			undecided.Area = deck.AreaUndecided
			parts, err := d.Parts(t.Context(), undecided)
			if err != nil || len(parts) != 1 {
				t.Fatal(err, parts)
			}
			body, err := d.ReadPart(t.Context(), undecided, parts[0])
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(body), "tape.reemitted_from") {
				marked++
			}
			if parts, err := d.Parts(t.Context(), place(trace)); err != nil || len(parts) != 0 {
				t.Error("taken for production:", trace, parts, err)
			}
		}
		if marked != runs {
			t.Errorf("%d of %d runs say where they were taken from", marked, runs)
		}
	})
	t.Run("as a load", func(t *testing.T) {
		url := decktest.FileURL(t)
		p := emitAgain(t, "load-test.yaml", source, url, nil, soon)
		until(t, "all runs", func() bool {
			found := 0
			for name := range (at{t, url}).contents() {
				if strings.HasPrefix(name, "replays/load-test/") && strings.HasSuffix(name, "/tape.json") {
					found++
				}
			}
			return found == runs
		})
		stop(t, p)
		if there := (at{t, url}).traces(); len(there) > 0 {
			t.Errorf("taken for production: %v", there)
		}
		for name := range (at{t, url}).contents() {
			for trace := range (at{t, source}).traces() {
				if strings.Contains(name, trace) {
					t.Errorf("%s: a run of another time has its trace", name)
				}
			}
		}
	})
}
