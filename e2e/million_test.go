// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && unix

package e2e

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// TestAMillionRuns: what a deck of so many runs in reels on a disk costs: to compact, to list with two filters, to show one run; and what DuckDB counts. The whole of it, about half an hour and 3 GB of disk:
//
//	make e2e-million
//
// TAPEDECK_TEST_MANY_RUNS is the number of runs; without it this is not run, because it is about CPU time. TAPEDECK_TEST_MANY_DECK may name a folder with so many runs of cmd/manyruns.
func TestAMillionRuns(t *testing.T) {
	many, err := strconv.Atoi(cmp.Or(os.Getenv("TAPEDECK_TEST_MANY_RUNS"), "0"))
	if err != nil {
		t.Fatal(err)
	}
	if many == 0 {
		t.Skip("CI does not run it, for its hour of CPU: make e2e-million does")
	}
	const maxRSS, lsCPU, showCPU, reads = 1 << 30, time.Second, 300 * time.Millisecond, 20
	dir := os.Getenv("TAPEDECK_TEST_MANY_DECK")
	if dir == "" {
		dir = t.TempDir()
		d, err := deck.OpenLayout(t.Context(), dir, deck.LayoutReels)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		reels, err := manyruns.Write(t.Context(), d, manyruns.Options{Runs: many, Days: 7, Seed: 1})
		if err = errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d runs in %d reels of level 0, %.0f s", many, reels, time.Since(began).Seconds())
	}

	// command runs the command line, and returns its output, its CPU time and the most memory that it had.
	command := func(args ...string) (out string, cpu time.Duration, rss int64) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program(t, "tapedeck"), args...)
		out = output(t, cmd)
		state := cmd.ProcessState
		if usage, ok := state.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" {
			rss = usage.Maxrss << 10
		}
		cpu = state.UserTime() + state.SystemTime()
		t.Logf("%s: %.2f s of CPU, %d MB", strings.Join(args, " "), cpu.Seconds(), rss>>20)
		return out, cpu, rss
	}
	if _, _, rss := command("compact", dir, "--grace", "0s"); rss > maxRSS {
		t.Errorf("compaction took %d MB", rss>>20)
	}
	type row struct {
		RunID   string `json:"run_id"`
		TraceID string `json:"trace_id"`
	}
	list := func(out string) (rows []row) {
		t.Helper()
		for line := range strings.Lines(out) {
			var r row
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, r)
		}
		return rows
	}
	filters := []string{"--agent", "coder", "--finding", "status_disputed"}
	out, cpu, _ := command(append([]string{"ls", dir, "--format", "json", "--limit", "20"}, filters...)...)
	some := list(out)
	if len(some) != 20 || cpu > lsCPU {
		t.Errorf("ls with two filters: %d runs, %.2f s of CPU", len(some), cpu.Seconds())
	}
	if _, cpu, _ := command("ls", dir, "--agent", "coder", "--status", "error"); cpu > lsCPU {
		t.Errorf("ls with two filters that nothing has: %.2f s of CPU", cpu.Seconds())
	}
	for _, r := range some[:3] {
		if _, cpu, _ := command("show", r.TraceID, "--deck", dir); cpu > showCPU {
			t.Errorf("show of one id: %.2f s of CPU", cpu.Seconds())
		}
	}

	// A program with nothing in memory and no local index, as on another machine.
	t.Setenv(view.CacheVariable, "off")
	for _, r := range some {
		store, err := deck.OpenStore(t.Context(), "file://"+dir)
		if err != nil {
			t.Fatal(err)
		}
		counted := decktest.Wrap(store)
		d, err := deck.New(t.Context(), counted, "file://"+dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{r.TraceID, r.RunID, r.TraceID[:16]} {
			counted.Reset()
			refs, err := runs.Find(t.Context(), d, runs.Query{ID: id})
			if err != nil || len(refs) != 1 {
				t.Fatal(refs, err)
			}
			if _, err := d.Store().Get(t.Context(), refs[0].Key); err != nil {
				t.Fatal(err)
			}
			if id == r.TraceID { // of the others much is in memory
				t.Logf("show of one id, cold: %d reads, %d requests", counted.Count("get"), counted.Count())
			}
			if n := counted.Count("get"); n > reads {
				t.Errorf("show of %s: %d reads", id, n)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}

	all := list(func() string {
		out, _, _ := command(append([]string{"ls", dir, "--format", "json"}, filters...)...)
		return out
	}())
	var stats struct {
		Runs        int   `json:"runs"`
		InputTokens int64 `json:"input_tokens"`
	}
	out, _, _ = command("stats", dir, "--json")
	if err := json.Unmarshal([]byte(out), &stats); err != nil {
		t.Fatal(err)
	}
	python := cmp.Or(os.Getenv("TAPEDECK_TEST_DUCKDB"), "python3")
	sql := fmt.Sprintf(`import duckdb, json
reels = "read_parquet('%s/reels/*/*/*/*.parquet', hive_partitioning = false, union_by_name = true)"
print(json.dumps([*duckdb.sql(f"SELECT count(*), sum(input_tokens) FROM {reels} WHERE run_id IS NOT NULL").fetchall()[0],
  *duckdb.sql(f"SELECT count(*) FROM {reels} WHERE agent = 'coder' AND list_contains(findings, 'status_disputed')").fetchall()[0]], default=int))`, dir)
	answer, err := exec.CommandContext(t.Context(), python, "-c", sql).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, answer)
	}
	var counts [3]int64
	if err := json.Unmarshal(answer, &counts); err != nil {
		t.Fatal(err)
	}
	if counts != [3]int64{int64(many), stats.InputTokens, int64(len(all))} || stats.Runs != many {
		t.Errorf("DuckDB counts %v; of %d runs stats counts %+v, ls %d with both filters", counts, many, stats, len(all))
	}
	t.Logf("DuckDB, stats and ls: %v", counts)
}
