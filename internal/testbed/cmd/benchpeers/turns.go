// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// floor is the pipeline that the others are compared with. It runs before and after each of them.
var floor = pipeline{name: "otlp → nop", exporter: nop}

const (
	// apart is how much the floor before and behind a line may differ, as a part of the smaller one.
	apart = 0.1
	// tries is how often a line is measured whose floors differ, before it is left out.
	tries = 3
)

// program is a collector that is measured.
type program struct{ name, binary, root string }

// programs are those that run a pipeline, the older one first.
func (b *bench) programs(p pipeline) []program {
	switch {
	case p.contrib:
		return []program{{"contrib", b.peers, "."}}
	case b.against != "":
		return []program{{"old", b.against, b.againstRoot}, {"new", b.ours, "."}}
	}
	return []program{{"new", b.ours, "."}}
}

// line is a pipeline under a load, with what the rounds gave.
type line struct {
	load     load
	pipeline pipeline
	cpu      map[string][]float64 // CPU seconds per million spans, by program; "nop" is the mean of the floors
	left     int                  // rounds that were left out
}

// run measures all pipelines under all loads, and prints the medians of the rounds in the end.
func (b *bench) run(ctx context.Context, rounds int) error {
	defer func() { removeAll(b.spent) }()
	var lines []*line
	for _, l := range b.loads {
		for _, p := range b.pipelines {
			if p.name != floor.name {
				lines = append(lines, &line{load: l, pipeline: p, cpu: map[string][]float64{}})
			}
		}
	}
	printHead()
	for round := range rounds {
		for i, l := range lines {
			if err := b.round(ctx, l, round, i == 0 || lines[i-1].load.name != l.load.name); err != nil {
				return fmt.Errorf("%s: %w", l.pipeline.name, err)
			}
		}
	}
	printMedians(lines)
	return nil
}

// round measures a line until the floors around it agree. Programs take turns: every other round begins with
// the newer one.
func (b *bench) round(ctx context.Context, l *line, round int, first bool) error {
	programs := b.programs(l.pipeline)
	if round%2 == 1 {
		slices.Reverse(programs)
	}
	for range tries {
		if first || b.before == 0 {
			if err := b.nop(ctx, l.load); err != nil {
				return err
			}
			first = false
		}
		before, cpu := b.before, make([]float64, len(programs))
		for i, p := range programs {
			r, err := b.measure(ctx, p.binary, p.root, l.pipeline, l.load)
			if err != nil {
				return err
			}
			cpu[i] = r.perMillion()
			r.print(p.name, l, before)
		}
		if err := b.nop(ctx, l.load); err != nil {
			return err
		}
		after := b.before
		if difference := math.Abs(after-before) / min(after, before); difference > apart {
			fmt.Printf("rejected: %s before and behind %s differ by %.0f %%\n", floor.name, l.pipeline.name, difference*100)
			continue
		}
		for i, p := range programs {
			l.cpu[p.name] = append(l.cpu[p.name], cpu[i])
		}
		l.cpu["nop"] = append(l.cpu["nop"], (before+after)/2)
		return nil
	}
	l.left++
	return nil
}

// nop measures the floor under a load, in tables that have it.
func (b *bench) nop(ctx context.Context, l load) error {
	if !slices.ContainsFunc(b.pipelines, func(p pipeline) bool { return p.name == floor.name }) {
		b.before = math.NaN()
		return nil
	}
	r, err := b.measure(ctx, b.ours, ".", floor, l)
	if err == nil {
		b.before = r.perMillion()
		r.print("new", &line{load: l, pipeline: floor}, b.before)
	}
	return err
}

// loadAverage is that of the last minute, measured processes included.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "?"
	}
	average, _, _ := strings.Cut(string(text), " ")
	return average
}

func (r *result) perMillion() float64 { return r.cpu.Seconds() / float64(r.sent.Spans) * 1e6 }

func printHead() {
	fmt.Printf("%-36s %-18s %-7s %5s %8s %6s %5s %7s %9s %6s %8s %10s %7s %7s %9s %11s %7s %9s  %s\n", "pipeline", "load", "program", "avg", "spans", "MB", "MB/s", "CPU-s",
		"CPU-s/1M", "x nop", "MB/CPU-s", "p99 accept", "peak MB", "disk MB", "delivered", "S3 CPU-s/1M", "refused", "stored/MB", "requests to S3 per 1,000 spans")
}

func (r *result) print(program string, l *line, nop float64) {
	delivered, stored, mb := "-", "-", float64(r.sent.Bytes)/1e6
	if l.pipeline.delivered != nil || l.pipeline.emits {
		delivered = fmt.Sprint(r.delivered)
	}
	if r.stored > 0 {
		stored = fmt.Sprintf("%.2f", float64(r.stored)/1e6/mb)
	}
	fmt.Printf("%-36s %-18s %-7s %5s %8d %6.0f %5.0f %7.2f %9.1f %6.2f %8.0f %10s %7.0f %7.0f %9s %11.1f %7d %9s  %s\n", l.pipeline.name, l.load.name, program, loadAverage(),
		r.sent.Spans, mb, mb/r.sent.Took.Seconds(), r.cpu.Seconds(), r.perMillion(), r.perMillion()/nop, mb/r.cpu.Seconds(),
		r.sent.AcceptWithin(0.99).Round(10*time.Microsecond), float64(r.peak)/1e6, float64(r.disk)/1e6, delivered,
		r.storage.Seconds()/float64(r.sent.Spans)*1e6, r.sent.Failed, stored, perThousand(r.requests, r.sent.Spans))
}

// printMedians prints the medians of the rounds that count.
func printMedians(lines []*line) {
	fmt.Printf("\nmedians in CPU seconds per million spans\n%-36s %-18s %6s %8s %8s %9s %7s %7s %9s\n", "pipeline", "load", "rounds", "nop", "old", "new", "x nop", "new/old", "left out")
	for _, l := range lines {
		counted := l.cpu["contrib"]
		if counted == nil {
			counted = l.cpu["new"]
		}
		nop, before, now := median(l.cpu["nop"]), median(l.cpu["old"]), median(counted)
		fmt.Printf("%-36s %-18s %6d %8.1f %8.1f %9.1f %7.2f %7.2f %9d\n", l.pipeline.name, l.load.name, len(counted), nop, before, now, now/nop, now/before, l.left)
	}
}

// median is NaN of no values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n > 0 {
		return (sorted[(n-1)/2] + sorted[n/2]) / 2
	}
	return math.NaN()
}
