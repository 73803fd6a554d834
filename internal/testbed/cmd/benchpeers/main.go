// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command benchpeers sends the same load to pipelines of ours and of contrib, one after the other, and prints what each costs:
// CPU seconds of the collector process per million spans, beside a pipeline that throws everything away. `make bench-peers` and
// `make bench-assembly` run it.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
)

func main() {
	b := bench{}
	flag.StringVar(&b.ours, "ours", "bin/otelcol-tapedeck", "collector of this project")
	flag.StringVar(&b.peers, "peers", "bin/otelcol-peers", "collector of contrib components")
	flag.StringVar(&b.gateway, "versitygw", "versitygw", "S3 server")
	name := flag.String("table", "default", "what to compare: "+strings.Join(slices.Sorted(maps.Keys(tables)), ", "))
	only := flag.String("run", "", "regular expression: pipelines to run, all if empty")
	scale := flag.Float64("scale", 1, "multiplies how long is sent and how many runs are open: 0.1 for a quick look")
	shape := flag.String("shape", "", "shape of the runs: short, five, long, large, corpus, web or mixed; that of the table if empty")
	rate := flag.Float64("rate", -1, "spans per second, 0 is as fast as they are acknowledged; that of the table if negative")
	limit := flag.Duration("time", 0, "how long to send to each pipeline; that of the table if 0")
	rounds := flag.Int("rounds", 1, "how often to run all pipelines")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := b.choose(*name, *only, *shape, *rate, *limit, *scale)
	if err == nil {
		err = b.run(ctx, *rounds)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchpeers:", err)
		os.Exit(1)
	}
}

type bench struct {
	ours, peers, gateway string
	table
	load agentload.Load
}

// choose takes a table and what the flags change of it.
func (b *bench) choose(name, only, shape string, rate float64, limit time.Duration, scale float64) error {
	var ok bool
	if b.table, ok = tables[name]; !ok {
		return fmt.Errorf("no table %q", name)
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	b.pipelines = slices.DeleteFunc(slices.Clone(b.pipelines), func(p pipeline) bool { return !pattern.MatchString(p.name) })
	if b.load, err = agentload.NewLoad(cmp.Or(shape, b.shape)); err != nil {
		return err
	}
	b.load.Rate, b.load.Time = b.rate, cmp.Or(limit, time.Duration(float64(b.time)*scale))
	if rate >= 0 {
		b.load.Rate = rate
	}
	if b.open > 0 {
		b.load.Open, b.load.Steady = max(1, int(float64(b.open)*scale)), b.steady
	}
	if b.once {
		b.load.Spans = int64(b.load.Open) * spansPerRun
	}
	return nil
}

func (b *bench) run(ctx context.Context, rounds int) error {
	fmt.Printf("%-44s %9s %6s %5s %7s %14s %7s %8s %10s %7s %7s %9s %11s %7s %9s  %s\n", "pipeline", "spans", "MB", "MB/s", "CPU-s", "CPU-s/1M spans",
		"x floor", "MB/CPU-s", "p99 accept", "peak MB", "disk MB", "delivered", "S3 CPU-s/1M", "refused", "stored/MB", "requests to S3 per 1,000 spans")
	for range rounds {
		floor := 0.0
		for _, p := range b.pipelines {
			r, err := b.measure(ctx, p)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			million := float64(r.sent.Spans) / 1e6
			perMillion := r.cpu.Seconds() / million
			if floor == 0 {
				floor = perMillion
			}
			delivered := "-"
			if p.delivered != nil || p.emits {
				delivered = fmt.Sprint(r.delivered)
			}
			mb := float64(r.sent.Bytes) / 1e6
			stored := "-"
			if r.stored > 0 {
				stored = fmt.Sprintf("%.2f", float64(r.stored)/1e6/mb)
			}
			fmt.Printf("%-44s %9d %6.0f %5.0f %7.2f %14.1f %7.2f %8.0f %10s %7.0f %7.0f %9s %11.1f %7d %9s  %s\n", p.name, r.sent.Spans, mb,
				mb/r.sent.Took.Seconds(), r.cpu.Seconds(), perMillion, perMillion/floor, mb/r.cpu.Seconds(),
				r.sent.AcceptWithin(0.99).Round(10*time.Microsecond), float64(r.peak)/1e6, float64(r.disk)/1e6, delivered,
				r.storage.Seconds()/million, r.sent.Failed, stored, perThousand(r.requests, r.sent.Spans))
		}
	}
	return nil
}

// result is what one pipeline cost.
type result struct {
	sent      agentload.Sent
	cpu       time.Duration // user and system, of the collector, from when it was ready to its end
	storage   time.Duration // the same of the S3 server
	peak      int64         // bytes resident
	disk      int64         // bytes in the spool when the last span had been sent
	delivered int           // spans found where the pipeline writes, or said to have been passed on
	stored    int64         // bytes that the pipeline has written in the end
	requests  map[string]int
}

// perThousand tells requests by kind, per thousand spans.
func perThousand(requests map[string]int, spans int64) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(requests)) {
		parts = append(parts, fmt.Sprintf("%s %.2f", kind, float64(requests[kind])/float64(spans)*1000))
	}
	return strings.Join(parts, ", ")
}

func (b *bench) measure(ctx context.Context, p pipeline) (r result, err error) {
	folder, err := os.MkdirTemp("", "benchpeers-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(folder)
	s := settings{folder: folder}
	var storage *process
	if p.s3 {
		if storage, s.endpoint, err = startS3(ctx, b.gateway, folder); err != nil {
			return r, err
		}
		defer storage.kill()
	}
	binary := b.ours
	if p.contrib {
		binary = b.peers
	}
	collector, otlp, err := startCollector(ctx, binary, p, s)
	if err != nil {
		return r, err
	}
	defer collector.kill()
	idle, storageIdle := collector.cpu(), storage.cpu()
	if r.sent, err = agentload.Send(ctx, otlp, b.load); err != nil {
		return r, err
	}
	if r.disk, err = size(filepath.Join(folder, spoolFolder)); err != nil {
		return r, err
	}
	if !b.steady {
		if err := collector.rest(ctx); err != nil {
			return r, err
		}
	}
	r.storage = storage.cpu() - storageIdle
	if p.emits {
		if r.delivered, err = collector.metric(ctx, emittedMetric); err != nil {
			return r, err
		}
	}
	usage, err := collector.stop(ctx)
	if err != nil {
		return r, err
	}
	r.cpu, r.peak = usage.cpu-idle, usage.peak
	if p.delivered == nil {
		return r, nil
	}
	if r.stored, err = size(p.stored(s)); err != nil {
		return r, err
	}
	if p.s3 {
		if r.requests, err = requests(filepath.Join(folder, accessLog)); err != nil {
			return r, err
		}
	}
	r.delivered, err = p.delivered(folder)
	return r, err
}
