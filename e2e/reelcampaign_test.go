// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/reel/view"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// campaignRuns is how many runs TestNoRunIsLostFromItsSpansToItsErasure follows; TAPEDECK_TEST_CAMPAIGN_RUNS sets another number.
func campaignRuns(t *testing.T) int {
	t.Helper()
	text := os.Getenv("TAPEDECK_TEST_CAMPAIGN_RUNS")
	if text == "" {
		return 120
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 20 {
		t.Fatalf("TAPEDECK_TEST_CAMPAIGN_RUNS is %q", text)
	}
	return n
}

// TestNoRunIsLostFromItsSpansToItsErasure: runs in halves over two collectors, one of them killed again and again; listed, read, compacted by two at once of which one is killed, erased, held and
// collected. Counts add up exactly, and what is erased is nowhere in the bucket.
func TestNoRunIsLostFromItsSpansToItsErasure(t *testing.T) {
	const seed, perBlock, kills = 5, 20, 6
	all := campaignRuns(t)
	url := decktest.MinIO(t).URL
	d, err := deck.OpenLayout(t.Context(), url, deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	spool := "TAPEDECK_SPOOL=" + t.TempDir()
	steady, mortal := member(t, url), member(t, url, spool)
	load := agentload.New(seed)
	want := map[string]bool{} // traces
	blocks := (all + perBlock - 1) / perBlock
	for block := range blocks {
		var runs []ptrace.Traces
		for len(runs) < perBlock && len(want) < all {
			td := load.Trace(manyruns.Small)
			want[traceID(td)] = true
			runs = append(runs, td)
		}
		halves := agentload.Interleave(runs, 2)
		deliver(t, steady, halves[block%2])
		deliver(t, mortal, halves[1-block%2])
		if block%max(1, blocks/kills) == 0 {
			if err := mortal.Kill(); err != nil {
				t.Fatal(err)
			}
			mortal = again(t, mortal, url, spool)
		}
	}
	emptied(t, steady, mortal)
	stop(t, steady)
	stop(t, mortal)

	listed := func() (ids, traces []string) {
		t.Helper()
		for line := range strings.Lines(tapedeck(t, "ls", url, "--format", "json", "--columns", "run_id,tape_id,trace_id", "--sort", "run_id")) {
			var run struct {
				RunID   string `json:"run_id"`
				TapeID  string `json:"tape_id"`
				TraceID string `json:"trace_id"`
			}
			if err := json.Unmarshal([]byte(line), &run); err != nil {
				t.Fatal(err)
			}
			ids, traces = append(ids, run.RunID+" "+run.TapeID), append(traces, run.TraceID)
		}
		return ids, traces
	}
	before, traces := listed()
	if len(before) != all || len(slices.Compact(slices.Sorted(slices.Values(traces)))) != all {
		t.Fatalf("%d runs are listed, %d were sent", len(before), all)
	}
	for _, id := range traces {
		if !want[id] {
			t.Errorf("trace %s was never sent", id)
		}
	}
	tapedeck(t, "verify", url)

	compact := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program(t, "tapedeck"), "compact", url, "--max-bytes", "1048576", "--grace", "1s")
		cmd.Stderr = os.Stderr
		return cmd
	}
	killed, lives := compact(), compact()
	out, err := killed.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{killed, lives} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	bufio.NewScanner(out).Scan() // its first merge is done, and its inputs are there still
	_ = killed.Process.Kill()
	_ = killed.Wait() // it was killed
	if err := lives.Wait(); err != nil {
		t.Fatalf("the compaction that lives: %v", err)
	}
	if after, _ := listed(); !slices.Equal(before, after) {
		t.Fatalf("%d runs are listed behind the compactions, %d before them, or other tapes", len(after), len(before))
	}
	tapedeck(t, "compact", url, "--grace", "0s")
	if after, _ := listed(); !slices.Equal(before, after) {
		t.Fatal("other tapes are listed behind the last compaction")
	}
	tapedeck(t, "verify", url)

	const erased, held = 5, 3
	args := []string{"gc", url, "--yes"}
	for _, id := range traces[:erased] {
		args = append(args, "--erase", id)
	}
	tapedeck(t, args...)
	if after, _ := listed(); len(after) != all-erased {
		t.Fatalf("%d runs are listed, %d of %d were erased", len(after), erased, all)
	}
	if report := tapedeck(t, "verify", url, "--erased"); !strings.Contains(report, `"erased":5,`) || !strings.Contains(report, `"clear":true`) {
		t.Fatal(report)
	}
	for _, id := range traces[erased : erased+held] {
		tapedeck(t, "gc", url, "--hold", id, "--reason", "a case")
	}
	report := tapedeck(t, "gc", url, "--days", "1", "--failure-days", "1", "--undecided-days", "1", "--yes")
	if sums := report[strings.LastIndex(strings.TrimSpace(report), "\n")+1:]; !strings.Contains(sums, `"traces":`+strconv.Itoa(all-erased-held)+",") || !strings.Contains(sums, `"held":3`) {
		t.Fatal(sums)
	}
	if _, left := listed(); !slices.Equal(left, traces[erased:erased+held]) {
		t.Fatalf("%v is left, %v is held", left, traces[erased:erased+held])
	}
	if report := tapedeck(t, "verify", url, "--erased"); !strings.Contains(report, `"clear":true`) {
		t.Fatal(report)
	}
	tapedeck(t, "verify", url)
}
