// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
	"github.com/tapedeck/tapedeck/internal/testbed/otlpsend"
)

const (
	twoTierGateway   = "examples/two-tier/gateway.yaml"
	twoTierCollector = "examples/two-tier/collector.yaml"
)

// runsOf makes runs of 20 spans; the same seed gives the same ones.
func runsOf(seed uint64, n int) []ptrace.Traces {
	g := agentload.New(seed)
	runs := make([]ptrace.Traces, n)
	for i := range runs {
		runs[i] = g.Trace(agentload.Short)
	}
	return runs
}

// gateway starts a first tier that knows these tape collectors.
func gateway(t *testing.T, members ...*collectorproc.Process) *collectorproc.Process {
	t.Helper()
	addresses := make([]string, len(members))
	for i, p := range members {
		addresses[i] = p.GRPC
	}
	return run(t, program(t, full), []string{"TAPE_COLLECTORS=[" + strings.Join(addresses, ", ") + "]"}, "--config", example(t, twoTierGateway))
}

// member starts a tape collector of the second tier.
func member(t *testing.T, url string, env ...string) *collectorproc.Process {
	t.Helper()
	return run(t, program(t, slim), append([]string{"TAPEDECK_DECK=" + url}, env...), memberArgs(t)...)
}

// again starts one that was killed, on the same addresses.
func again(t *testing.T, killed *collectorproc.Process, url, spool string) *collectorproc.Process {
	t.Helper()
	return startProcess(t, collectorproc.Options{Binary: program(t, slim), Env: []string{"TAPEDECK_DECK=" + url, spool},
		Args: memberArgs(t), Same: killed})
}

func memberArgs(t *testing.T) []string {
	t.Helper()
	return []string{"--config", example(t, twoTierCollector), soon, patient, asItIs}
}

// deliver sends a request until it is acknowledged, as an SDK does.
func deliver(t *testing.T, p *collectorproc.Process, traces ptrace.Traces) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := acknowledged(ctx, p.GRPC, traces); err != nil {
		t.Fatal(err)
	}
}

// acknowledged sends a request until it is acknowledged or ctx is done.
func acknowledged(ctx context.Context, endpoint string, traces ptrace.Traces) error {
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for {
		err := otlpsend.GRPC(ctx, endpoint, traces)
		if err == nil {
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("never acknowledged: %w", err)
		}
	}
}

// emptied waits until agentrun holds nothing.
func emptied(t *testing.T, processes ...*collectorproc.Process) {
	t.Helper()
	for _, p := range processes {
		until(t, "agentrun to pass everything on", func() bool { return metrics(t, p)["processor_agentrun_held_items"] == 0 })
	}
}

// undisturbed is what the tapes of these runs look like when one collector gets them at once.
func undisturbed(t *testing.T, runs []ptrace.Traces) map[string]string {
	t.Helper()
	url := decktest.FileURL(t)
	p := collect(t, slim, local, url, soon)
	spans := 0
	for _, traces := range runs {
		send(t, p, traces)
		spans += traces.SpanCount()
	}
	drained(t, p, spans)
	stop(t, p)
	tapes, _ := at{t, url}.tapes()
	if len(tapes) < len(runs) {
		t.Fatalf("%d runs gave %d files", len(runs), len(tapes))
	}
	return tapes
}

// sameTapes compares the tapes of a deck with those of an undisturbed run and returns in how many parts each trace came.
func sameTapes(t *testing.T, url string, want map[string]string) map[string]int {
	t.Helper()
	got, parts := at{t, url}.tapes()
	if diff := cmp.Diff(want, got); diff != "" {
		const enough = 4000
		t.Errorf("the tapes are not those of an undisturbed run (-undisturbed +got):\n%.*s", enough, diff)
	}
	return parts
}

// TestTapesAreWholeWhenTapeCollectorsJoinAndLeave changes the list of tape collectors twice while runs are open: as in a rolling change
// gateways with the old and the new list work side by side, so that the spans of a run go to two or three collectors. One leaves for
// good, one is killed and comes back to its spool.
func TestTapesAreWholeWhenTapeCollectorsJoinAndLeave(t *testing.T) {
	joinAndLeave(t, decktest.FileURL(t))
}

func TestTapesAreWholeInReelsWhenTapeCollectorsJoinAndLeave(t *testing.T) {
	joinAndLeave(t, inReels(t, decktest.FileURL(t)))
}

func joinAndLeave(t *testing.T, url string) {
	t.Helper()
	const seed, requestsPerPhase = 1, 4
	runs := runsOf(seed, 30)
	requests := agentload.Interleave(runs, 3*requestsPerPhase)
	phase := func(n int, gateways ...*collectorproc.Process) {
		for i, traces := range requests[n*requestsPerPhase : (n+1)*requestsPerPhase] {
			deliver(t, gateways[i%len(gateways)], traces)
		}
	}
	leaving := member(t, url, "TAPEDECK_ON_SHUTDOWN=emit")
	spool := "TAPEDECK_SPOOL=" + t.TempDir()
	mortal := member(t, url, spool)
	before := gateway(t, leaving, mortal)
	phase(0, before)
	joining := member(t, url)
	during := gateway(t, leaving, mortal, joining)
	phase(1, before, during)
	stop(t, before)
	stop(t, during)
	stop(t, leaving) // what it holds goes into the deck
	if err := mortal.Kill(); err != nil {
		t.Fatal(err)
	}
	mortal = again(t, mortal, url, spool)
	after := gateway(t, mortal, joining)
	phase(2, after)
	emptied(t, mortal, joining)
	stop(t, mortal)
	stop(t, joining)

	parts := sameTapes(t, url, undisturbed(t, runs))
	split := 0
	for _, n := range parts {
		if n > 1 {
			split++
		}
	}
	if split == 0 {
		t.Error("no run was split between collectors: the test shows nothing")
	}
	tapedeck(t, "verify", url)
}

// TestGatewayAcknowledgesWhatATapeCollectorHolds takes a tape collector away: the sender has to hear of it, and what it sends again
// must be there once.
func TestGatewayAcknowledgesWhatATapeCollectorHolds(t *testing.T) {
	url := decktest.FileURL(t)
	const seed = 2
	runs := runsOf(seed, 10)
	requests := agentload.Interleave(runs, 2)
	spool := "TAPEDECK_SPOOL=" + t.TempDir()
	one, two := member(t, url, spool), member(t, url)
	gate := run(t, program(t, full), []string{"TAPE_COLLECTORS=[" + one.GRPC + ", " + two.GRPC + "]"}, "--config", example(t, twoTierGateway),
		"--set=exporters.load_balancing.protocol.otlp.retry_on_failure.enabled=false")
	if err := one.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := otlpsend.GRPC(ctx, gate.GRPC, requests[0]); err == nil {
		t.Error("spans for a collector that is gone were acknowledged")
	}
	one = again(t, one, url, spool)
	for _, traces := range requests {
		deliver(t, gate, traces)
	}
	stop(t, gate)
	emptied(t, one, two)
	stop(t, one)
	stop(t, two)
	sameTapes(t, url, undisturbed(t, runs))
}
