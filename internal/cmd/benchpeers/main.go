// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command benchpeers sends the same load to pipelines of ours and of contrib, one after the other, and prints what each costs:
// CPU seconds of the collector process per million spans, beside a pipeline that throws everything away. `make bench-peers` runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/tapedeck/tapedeck/internal/agentload"
)

func main() {
	b := bench{}
	flag.StringVar(&b.ours, "ours", "bin/otelcol-tapedeck", "collector of this project")
	flag.StringVar(&b.peers, "peers", "bin/otelcol-peers", "collector of contrib components")
	flag.StringVar(&b.gateway, "versitygw", "versitygw", "S3 server")
	shape := flag.String("shape", "short", "shape of the runs: short or long")
	rate := flag.Float64("rate", 4000, "spans per second, 0 is as fast as they are acknowledged")
	limit := flag.Duration("time", 20*time.Second, "how long to send to each pipeline")
	rounds := flag.Int("rounds", 1, "how often to run all pipelines")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	load, err := agentload.NewLoad(*shape)
	if err == nil {
		load.Rate, load.Time = *rate, *limit
		b.load = load
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
	load                 agentload.Load
}

func (b *bench) run(ctx context.Context, rounds int) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "pipeline\tspans\tMB\tCPU-s\tCPU-s/1M spans\tx floor\tMB/CPU-s\tpeak MB\tdelivered\tS3 CPU-s/1M\trefused\t")
	for range rounds {
		floor := 0.0
		for _, p := range pipelines {
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
			if p.delivered != nil {
				delivered = fmt.Sprint(r.delivered)
			}
			fmt.Fprintf(out, "%s\t%d\t%.0f\t%.2f\t%.1f\t%.1f\t%.0f\t%.0f\t%s\t%.1f\t%d\t\n", p.name, r.sent.Spans, float64(r.sent.Bytes)/1e6,
				r.cpu.Seconds(), perMillion, perMillion/floor, float64(r.sent.Bytes)/1e6/r.cpu.Seconds(), float64(r.peak)/1e6, delivered,
				r.storage.Seconds()/million, r.sent.Failed)
			if err := out.Flush(); err != nil {
				return err
			}
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
	delivered int           // spans found where the pipeline writes
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
	collector, otlp, err := startCollector(ctx, binary, p.config(s), folder)
	if err != nil {
		return r, err
	}
	defer collector.kill()
	idle, storageIdle := collector.cpu(), storage.cpu()
	if r.sent, err = agentload.Send(ctx, otlp, b.load); err != nil {
		return r, err
	}
	if err := collector.rest(ctx); err != nil {
		return r, err
	}
	r.storage = storage.cpu() - storageIdle
	usage, err := collector.stop(ctx)
	if err != nil {
		return r, err
	}
	r.cpu, r.peak = usage.cpu-idle, usage.peak
	if p.delivered != nil {
		r.delivered, err = p.delivered(folder)
	}
	return r, err
}
