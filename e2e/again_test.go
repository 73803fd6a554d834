// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
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
// TAPEDECK_TEST_REEMITTED_RUNS is how many runs there are.
func TestADeckMovesThroughAKill(t *testing.T) {
	runs := 150
	if text := os.Getenv("TAPEDECK_TEST_REEMITTED_RUNS"); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
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
