// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"
	"syscall"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
)

// measure prints CPU seconds per million spans and MB/s. Every candidate gets copies of the same requests of 100 spans; the copy is
// measured by itself and subtracted. Rounds alternate between the candidates, and the best of each counts: what else runs on the
// machine only adds.
func measure(ctx context.Context, rounds int) error {
	g := agentload.New(1)
	td := ptrace.NewTraces()
	for range 5 {
		g.Trace(agentload.Short).ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	}
	size := (&ptrace.ProtoMarshaler{}).TracesSize(td)
	spans := td.SpanCount()
	key, err := redact.NewKey([]byte("the key of the bench, which is no secret"), "")
	if err != nil {
		return err
	}
	type candidate struct {
		name string
		run  func(ptrace.Traces) error
		best float64 // CPU nanoseconds per span
	}
	ours := func(n int) (candidate, error) {
		p := redact.Default().WithKey(key)
		full, err := redact.New(p)
		if err != nil {
			return candidate{}, err
		}
		rules := full.Rules()
		name := fmt.Sprintf("tapedeck, all %d rules", len(rules))
		if n > 0 {
			p.Disable = but(rules, n)
			name = fmt.Sprintf("tapedeck, %d rules", n)
		}
		r, err := redact.New(p)
		return candidate{name: name, run: func(td ptrace.Traces) error { r.Traces(td, nil); return nil }}, err
	}
	candidates := []candidate{{name: "copy", run: func(ptrace.Traces) error { return nil }}}
	for _, n := range []int{10, 100, 0} {
		c, err := ours(n)
		if err != nil {
			return err
		}
		candidates = append(candidates, c)
	}
	p, err := contrib(ctx, &sink{})
	if err != nil {
		return err
	}
	candidates = append(candidates, candidate{name: fmt.Sprintf("contrib redaction, %d rules", len(typical)), run: func(td ptrace.Traces) error { return p.ConsumeTraces(ctx, td) }})
	for range rounds {
		for i := range candidates {
			c := &candidates[i]
			runtime.GC()
			began := cpu()
			const requests = 20 // short, so that some rounds have the machine to themselves
			for range requests {
				to := ptrace.NewTraces()
				td.CopyTo(to)
				if err := c.run(to); err != nil {
					return err
				}
			}
			if ns := float64(cpu()-began) / float64(requests*spans); c.best == 0 || ns < c.best {
				c.best = ns
			}
		}
	}
	per := float64(size) / float64(spans)
	fmt.Printf("requests of %d spans, %.0f bytes per span (OTLP protobuf)\n\n| | CPU-s per 1M spans | MB/s of one core | ratio |\n|---|---:|---:|---:|\n", spans, per)
	full := candidates[3].best - candidates[0].best
	for _, c := range candidates[1:] {
		ns := c.best - candidates[0].best
		fmt.Printf("| %s | %.1f | %.0f | %.1f |\n", c.name, ns/1e3, per/ns*1e3, ns/full)
	}
	return nil
}

// but returns the rules that must be disabled so that n are left: the typical ones, and then the first.
func but(rules []redact.Rule, n int) (disable []string) {
	keep := map[string]bool{}
	for _, name := range []string{"email", "payment-card", "us-ssn", "aws-access-key-id", "github-token", "openai-key", "jwt", "slack-token", "private-key", "secret-by-key"} {
		keep[name] = true
	}
	for _, r := range rules {
		if len(keep) < n {
			keep[r.Name] = true
		}
	}
	for _, r := range rules {
		if !keep[r.Name] {
			disable = append(disable, r.Name)
		}
	}
	return disable
}

// cpu is what the process has used, in nanoseconds.
func cpu() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
