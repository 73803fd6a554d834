// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	_ "github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/retention"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// campaignRuns is how many runs TestNoRunIsLostFromItsSpansToItsErasure follows; TAPEDECK_TEST_CAMPAIGN_RUNS sets another number.
func campaignRuns(t *testing.T) int {
	t.Helper()
	text := os.Getenv("TAPEDECK_TEST_CAMPAIGN_RUNS")
	if text == "" {
		return 400
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 100 {
		t.Fatalf("TAPEDECK_TEST_CAMPAIGN_RUNS is %q", text)
	}
	return n
}

// campaignLoad sends runs to two collectors, some of them in halves, each request until it is acknowledged.
type campaignLoad struct {
	runs int
	sent atomic.Int64 // runs
	next atomic.Int64 // block

	mu       sync.Mutex
	traces   map[string]bool
	failures []error
}

const (
	campaignSeed  = 5
	campaignBlock = 50 // runs that are sent together
	campaignSplit = 4  // one block in so many goes to both collectors, half of each run to either
)

// send delivers blocks until all runs are sent, each to one of the collectors or to both.
func (l *campaignLoad) send(ctx context.Context, one, two string) error {
	for {
		block := int(l.next.Add(1)) - 1
		n := min(campaignBlock, l.runs-block*campaignBlock)
		if n <= 0 {
			return nil
		}
		load := agentload.New(campaignSeed + uint64(block))
		runs := make([]ptrace.Traces, n)
		l.mu.Lock()
		for i := range runs {
			runs[i] = load.Trace(manyruns.Small)
			l.traces[runs[i].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).TraceID().String()] = true
		}
		l.mu.Unlock()
		to := [2]string{one, two}
		other := block / campaignSplit % 2 // which one a split block begins with
		if block%campaignSplit > 0 {
			other = block % 2
			to = [2]string{to[other], to[other]}
		}
		for i, half := range agentload.Interleave(runs, 2) {
			if err := acknowledged(ctx, to[(other+i)%2], half); err != nil {
				return err
			}
		}
		l.sent.Add(int64(n))
	}
}

// TestNoRunIsLostFromItsSpansToItsErasure: runs over two collectors, some in halves, one of them killed again and again; listed, read, compacted by two at once of which one is killed, erased, held and
// collected. Counts add up exactly, and what is erased is nowhere in the bucket. The whole of it, about half an hour:
//
//	make e2e-campaign
func TestNoRunIsLostFromItsSpansToItsErasure(t *testing.T) {
	all := campaignRuns(t)
	url := inReels(t, decktest.MinIO(t).URL)
	began := time.Now()
	phase := func(format string, args ...any) {
		t.Helper()
		t.Logf("%6.1f s  %s", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	spool := "TAPEDECK_SPOOL=" + t.TempDir()
	steady, mortal := member(t, url), member(t, url, spool)
	load := &campaignLoad{runs: all, traces: map[string]bool{}}
	const senders, kills = 4, 10
	var sending sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { // a test that fails early
		cancel()
		sending.Wait()
	})
	for range senders {
		sending.Go(func() {
			if err := load.send(ctx, steady.GRPC, mortal.GRPC); err != nil {
				load.mu.Lock()
				load.failures = append(load.failures, err)
				load.mu.Unlock()
			}
		})
	}
	for i := range kills {
		for target := int64(all * i / kills); load.sent.Load() < target; {
			select {
			case <-time.After(5 * time.Millisecond): // how often it is looked; nothing is measured by it
			case <-ctx.Done():
				t.Fatal(ctx.Err())
			}
			load.mu.Lock()
			failures := load.failures
			load.mu.Unlock()
			if len(failures) > 0 {
				t.Fatal(failures)
			}
		}
		if err := mortal.Kill(); err != nil {
			t.Fatal(err)
		}
		mortal = again(t, mortal, url, spool)
	}
	sending.Wait()
	if len(load.failures) > 0 {
		t.Fatal(load.failures)
	}
	phase("%d runs sent, one collector killed %d times", all, kills)
	want := load.traces
	if len(want) != all {
		t.Fatalf("%d traces were made", len(want))
	}
	for _, p := range []*collectorproc.Process{steady, mortal} {
		untilWithin(t, patience+time.Duration(all)*10*time.Millisecond, "agentrun to pass everything on", func() bool { return metrics(t, p)["processor_agentrun_held_items"] == 0 })
		stop(t, p)
	}
	phase("all of it in the deck")

	listed := func() (ids, traces []string) {
		t.Helper()
		for line := range strings.Lines(tapedeck(t, "ls", url, "--format", "json", "--columns", "run_id,tape_id,trace_id,model_calls,tool_calls,status", "--sort", "run_id")) {
			var run struct {
				RunID      string `json:"run_id"`
				TapeID     string `json:"tape_id"`
				TraceID    string `json:"trace_id"`
				ModelCalls int    `json:"model_calls"`
				ToolCalls  int    `json:"tool_calls"`
				Status     string `json:"status"`
			}
			if err := json.Unmarshal([]byte(line), &run); err != nil {
				t.Fatal(err)
			}
			if run.ModelCalls != manyruns.Small.Turns || run.ToolCalls != manyruns.Small.Turns-1 || run.Status != "ok" {
				t.Fatalf("not the whole run: %s", line)
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
	phase("listed, from %d reels", len(bucket(t, url)))
	// fetched reads every tape and what lies beside it.
	fetched := func(runs int) {
		t.Helper()
		if ok := strings.Count("\n"+tapedeck(t, "verify", url), "\nok "); ok != runs {
			t.Fatalf("verify finds %d runs in order, %d are there", ok, runs)
		}
	}
	if all <= 5000 { // the tapes of runs that came in halves are derived for each reader until they are compacted
		fetched(all)
		phase("fetched and verified")
	}

	size := strconv.Itoa(max(1<<20, 80*all)) // so that there are several reels
	compact := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program(t, "tapedeck"), "compact", url, "--max-bytes", size, "--grace", "1s")
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
	tapedeck(t, "compact", url, "--max-bytes", size, "--grace", "0s")
	if after, _ := listed(); !slices.Equal(before, after) {
		t.Fatal("other tapes are listed behind the last compaction")
	}
	reels := bucket(t, url)
	phase("compacted by two, one killed, and once more: %d reels", len(reels))
	fetched(all)
	phase("fetched and verified")

	const erased, held = 5, 3
	for id, n := range inBucket(t, url, traces[:erased]) {
		if n == 0 {
			t.Fatalf("the search does not find trace %s, which is there", id)
		}
	}
	args := []string{"gc", url, "--yes"}
	for _, id := range traces[:erased] {
		args = append(args, "--erase", id)
	}
	tapedeck(t, args...)
	if after, _ := listed(); len(after) != all-erased {
		t.Fatalf("%d runs are listed, %d of %d were erased", len(after), erased, all)
	}
	nowhere := func() {
		t.Helper()
		if report := tapedeck(t, "verify", url, "--erased"); !strings.Contains(report, `"erased":5,`) || !strings.Contains(report, `"clear":true`) {
			t.Fatal(report)
		}
		for id, n := range inBucket(t, url, traces[:erased]) {
			if n > 0 {
				t.Errorf("erased trace %s stands in the bucket %d times", id, n)
			}
		}
	}
	nowhere()
	phase("%d erased, nowhere in the bucket", erased)
	for _, id := range traces[erased : erased+held] {
		tapedeck(t, "gc", url, "--hold", id, "--reason", "a case")
	}
	if gone, kept := collectLater(t, url); gone != all-erased-held || kept != held {
		t.Fatalf("%d traces were collected and %d kept, of %d", gone, kept, all-erased)
	}
	if _, left := listed(); !slices.Equal(left, traces[erased:erased+held]) {
		t.Fatalf("%v is left, %v is held", left, traces[erased:erased+held])
	}
	phase("collected but for %d that are held", held)
	tapedeck(t, "compact", url, "--grace", "0s")
	nowhere()
	fetched(held)
	phase("done")
}

// inReels makes a deck one of reels, which collectors find out by themselves, and returns its url.
func inReels(t *testing.T, url string) string {
	t.Helper()
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
	return url
}

// bucket returns the reels of a deck.
func bucket(t *testing.T, url string) (reels []string) {
	t.Helper()
	eachObject(t, url, func(key string, _ []byte) {
		if _, ok := reel.ParseName(key); ok {
			reels = append(reels, key)
		}
	})
	return reels
}

func eachObject(t *testing.T, url string, do func(key string, body []byte)) {
	t.Helper()
	store, err := deck.OpenStore(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for o, err := range store.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := store.Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		do(o.Key, body)
	}
}

// inBucket counts in how many values of how many objects each trace stands, as text or as the bytes of its id: in the objects as they lie in the bucket, and in all values that a Parquet
// reader finds in them, none of our code in the way. Tombstones and holds name what they are about.
func inBucket(t *testing.T, url string, traces []string) map[string]int {
	t.Helper()
	found, raw := map[string]int{}, map[string][]byte{}
	for _, id := range traces {
		b, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		found[id], raw[id] = 0, b
	}
	see := func(b []byte) {
		for id := range raw {
			if bytes.Contains(b, []byte(id)) || bytes.Contains(b, raw[id]) {
				found[id]++
			}
		}
	}
	eachObject(t, url, func(key string, body []byte) {
		if strings.HasPrefix(key, deck.TombstoneArea+"/") {
			return
		}
		see([]byte(key))
		see(body)
		if !strings.HasSuffix(key, ".parquet") {
			return
		}
		f, err := parquet.OpenFile(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		rows := make([]parquet.Row, 64)
		for _, group := range f.RowGroups() {
			r := group.Rows()
			for {
				n, err := r.ReadRows(rows)
				for _, row := range rows[:n] {
					for _, v := range row {
						if v.Kind() == parquet.ByteArray {
							see(v.ByteArray())
						}
					}
				}
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", key, err)
				}
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
	return found
}

// collectLater takes away what retention of a day leaves of a deck four days from now, and returns how many traces went and how many holds kept.
func collectLater(t *testing.T, url string) (gone, kept int) {
	t.Helper()
	d, err := deck.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	c, err := retention.New(d, retention.Policy{Keep: day, KeepFailed: day, KeepUndecided: day, Now: time.Now().Add(4 * day),
		ReplayResult: func([]byte) (time.Time, bool, error) { return time.Time{}, false, errors.New("nothing was replayed") }})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range c.Plan(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := c.Remove(t.Context(), &r); err != nil || !ok {
			t.Fatalf("%+v: %v", r, err)
		}
		switch r.What {
		case retention.Reel, retention.Rows:
			gone += r.Traces
		case retention.Trace:
			gone++
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return gone, c.Held()
}
