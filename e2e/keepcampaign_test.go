// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/keep"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// keepPolicy is the policy of TestNothingThatAPolicyKeepsIsLost, and keepArgs its settings.
var (
	keepPolicy = keep.Config{Percent: 20}
	keepArgs   = []string{"--set=exporters.tape.keep.errors=true", "--set=exporters.tape.keep.percent=20"}
)

// promised makes runs of which every fifth fails, and returns why the policy keeps each, by trace id.
func promised(runs int) (traces []ptrace.Traces, want map[string]string) {
	load, want := agentload.New(11), map[string]string{}
	for i := range runs {
		td := load.Trace(manyruns.Small)
		spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
		root := spans.At(spans.Len() - 1)
		conversation, _ := root.Attributes().Get("gen_ai.conversation.id")
		reason := keepPolicy.Decide(nil, conversation.Str())
		if i%5 == 0 {
			reason = keep.Errors
			for _, s := range []ptrace.Span{spans.At(spans.Len() - 2), root} { // the last model call did not answer
				s.Status().SetCode(ptrace.StatusCodeError)
				s.Status().SetMessage("boom")
				s.Attributes().PutStr("error.type", "boom")
				s.Attributes().Remove("gen_ai.output.messages")
			}
		}
		want[root.TraceID().String()] = string(reason)
		traces = append(traces, td)
	}
	return traces, want
}

// TestNothingThatAPolicyKeepsIsLost: a collector with a keep policy is killed again and again while runs come
// in halves. What the policy promises to keep is in the deck as a whole, and what it drops leaves a row in
// reels and nothing in files.
func TestNothingThatAPolicyKeepsIsLost(t *testing.T) {
	t.Run("reels", func(t *testing.T) { keepCampaign(t, inReels(t, decktest.FileURL(t)), true) })
	t.Run("files", func(t *testing.T) { keepCampaign(t, decktest.FileURL(t), false) })
}

func keepCampaign(t *testing.T, url string, reels bool) {
	t.Helper()
	const all, block, kills = 400, 20, 6
	spool := "TAPEDECK_SPOOL=" + t.TempDir()
	args := slices.Concat([]string{"--config", example(t, twoTierCollector), soon, asItIs, "--set=exporters.tape.reel.max_wait=500ms"}, quickly, keepArgs)
	start := func(same *collectorproc.Process) *collectorproc.Process {
		return startProcess(t, collectorproc.Options{Binary: program(t, slim), Env: []string{"TAPEDECK_DECK=" + url, spool}, Args: args, Same: same})
	}
	p := start(nil)
	runs, want := promised(all)
	var sending sync.WaitGroup
	failed := make(chan error, 1)
	sent := make(chan int, all/block)
	endpoint := p.GRPC // the same after each kill
	sending.Go(func() {
		defer close(sent)
		for i := 0; i < all; i += block {
			for _, half := range agentload.Interleave(runs[i:i+block], 2) {
				if err := acknowledged(t.Context(), endpoint, half); err != nil {
					failed <- err
					return
				}
			}
			sent <- i + block
		}
	})
	for n := range sent {
		if n%(all/kills/block*block) == 0 {
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			p = start(p)
		}
	}
	sending.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	untilWithin(t, patience+time.Minute, "agentrun to pass everything on", func() bool { return metrics(t, p)["processor_agentrun_held_items"] == 0 })
	if m := metrics(t, p); m["exporter_tape_kept_traces"] == 0 || m["exporter_tape_dropped_traces"] == 0 {
		t.Errorf("the last process counts %d deliveries that were kept and %d that were dropped", m["exporter_tape_kept_traces"], m["exporter_tape_dropped_traces"])
	}
	stop(t, p)
	checkKept(t, url, want, reels)
	if reels {
		tapedeck(t, "compact", url, "--grace", "0s")
		checkKept(t, url, want, reels)
		checkStats(t, url, want)
	}
	tapedeck(t, "verify", url)
}

// checkKept compares what is listed of a deck with what was promised.
func checkKept(t *testing.T, url string, want map[string]string, reels bool) {
	t.Helper()
	got := map[string]string{}
	for line := range strings.Lines(tapedeck(t, "ls", url, "--format", "json", "--columns", "run_id,trace_id,model_calls,status,findings,keep")) {
		var run struct {
			TraceID    string   `json:"trace_id"`
			ModelCalls int      `json:"model_calls"`
			Status     string   `json:"status"`
			Keep       string   `json:"keep"`
			Findings   []string `json:"findings"`
			URL        string   `json:"url"`
		}
		if err := json.Unmarshal([]byte(line), &run); err != nil {
			t.Fatal(err)
		}
		if run.ModelCalls != manyruns.Small.Turns || run.Status == "error" != (want[run.TraceID] == "error") || slices.Contains(run.Findings, "evidence_dropped") {
			t.Errorf("not the whole run: %s", line)
		}
		if run.URL == "" != (run.Keep == "dropped") || got[run.TraceID] != "" {
			t.Errorf("%s", line)
		}
		if !reels { // which have no column for it
			run.Keep = want[run.TraceID]
		}
		got[run.TraceID] = run.Keep
	}
	for id, reason := range want {
		if !reels && reason == "dropped" {
			reason = ""
		}
		if got[id] != reason {
			t.Errorf("trace %s is %q in the deck, %q was promised", id, got[id], reason)
		}
	}
}

// checkStats: what is counted of a deck adds up to what was sent.
func checkStats(t *testing.T, url string, want map[string]string) {
	t.Helper()
	var stats struct {
		Runs int            `json:"runs"`
		Keep map[string]int `json:"keep"`
	}
	if err := json.Unmarshal([]byte(tapedeck(t, "stats", url, "--json")), &stats); err != nil {
		t.Fatal(err)
	}
	promised := map[string]int{}
	for _, reason := range want {
		promised[reason]++
	}
	if stats.Runs != len(want) || fmt.Sprint(stats.Keep) != fmt.Sprint(promised) {
		t.Errorf("%d runs, %v; %d were sent, %v", stats.Runs, stats.Keep, len(want), promised)
	}
}
