// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command demo shows the whole way on one machine: it starts the collector with examples/local/collector.yaml on free
// ports, sends it the recorded trace of a real agent over OTLP, waits until the run lies in the deck as a tape and
// prints it. `make demo` runs it in the root of the repository, after the build.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
	"github.com/tapedeck/tapedeck/internal/testbed/otlpsend"
)

// The bounds are far above what a slow machine needs; the usual times are one second, and eight for the tape, most of
// which is agentrun's quiet period.
const (
	startTimeout = 60 * time.Second
	tapeTimeout  = 90 * time.Second
	stopTimeout  = 30 * time.Second
)

func main() {
	bin := flag.String("bin", "bin", "directory of otelcol-tapedeck and tapedeck")
	trace := flag.String("trace", "testdata/traces/vercel-ai-research.otlp.json", "OTLP JSON file with one recorded run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *bin, *trace)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, trace string) (err error) {
	traces, err := otlpsend.ReadFile(trace)
	if err != nil {
		return err
	}
	deck, err := os.MkdirTemp("", "tapedeck-demo-")
	if err != nil {
		return err
	}
	const config = "examples/local/collector.yaml"
	spool, state := deck+"-spool", deck+"-state"
	defer func() { err = errors.Join(err, os.RemoveAll(spool), os.RemoveAll(state)) }()
	collector, err := start(ctx, filepath.Join(bin, "otelcol-tapedeck"), config, deck, spool, state)
	if err != nil {
		return err
	}
	defer func() {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if stopErr := collector.Terminate(stopCtx); stopErr != nil {
			err = errors.Join(err, fmt.Errorf("stop the collector: %w\n%s", stopErr, collector.Log()))
		}
	}()
	fmt.Printf("1. otelcol-tapedeck runs with %s: OTLP/gRPC on %s, OTLP/HTTP on %s\n", config, collector.GRPC, collector.HTTP)

	if err := otlpsend.HTTP(ctx, "http://"+collector.HTTP, traces); err != nil {
		return fmt.Errorf("send %s: %w", trace, err)
	}
	fmt.Printf("2. %d spans of a recorded agent run were sent (%s)\n", traces.SpanCount(), trace)

	tape, err := awaitTape(ctx, deck, collector)
	if err != nil {
		return err
	}
	fmt.Printf("3. the run is complete, its tape is %s\n", tape)

	fmt.Printf("4. %s show %s\n\n", filepath.Join(bin, "tapedeck"), tape)
	show := exec.CommandContext(ctx, filepath.Join(bin, "tapedeck"), "show", tape)
	show.Stdout, show.Stderr = os.Stdout, os.Stderr
	if err := show.Run(); err != nil {
		return fmt.Errorf("tapedeck show: %w", err)
	}
	fmt.Printf("\nThe deck stays in %s; the collector stops now.\n", deck)
	return nil
}

func start(ctx context.Context, binary, config, deck, spool, state string) (*collectorproc.Process, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return collectorproc.Start(ctx, collectorproc.Options{
		Binary: binary,
		Args:   []string{"--config", config},
		Env:    []string{"TAPEDECK_DECK=file://" + filepath.ToSlash(deck), "TAPEDECK_SPOOL=" + spool, "TAPEDECK_STATE=" + state},
	})
}

// awaitTape returns the first tape that appears in the deck.
func awaitTape(ctx context.Context, deck string, collector *collectorproc.Process) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, tapeTimeout)
	defer cancel()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	// <root>/runs/<tenant>/<2 hex>/<trace_id>/<generation>.<root_span_id>/tape.json
	pattern := filepath.Join(deck, "runs", "*", "*", "*", "g*", "tape.json")
	for {
		tapes, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		if len(tapes) > 0 {
			return tapes[0], nil
		}
		select {
		case <-poll.C:
		case <-collector.Exited():
			return "", fmt.Errorf("the collector ended\n%s", collector.Log())
		case <-ctx.Done():
			return "", fmt.Errorf("no tape came: %w\n%s", ctx.Err(), collector.Log())
		}
	}
}
