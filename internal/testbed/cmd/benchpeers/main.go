// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command benchpeers sends the same load to pipelines of ours and of contrib, one after the other, and prints
// what each costs: CPU seconds of the collector process per million spans, beside a pipeline that throws
// everything away. That pipeline runs before and after each line, and a line beside which it differs is
// measured again. With an older collector each line is measured with both by turns. `make bench-peers` and
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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
)

func main() {
	b := bench{}
	flag.StringVar(&b.ours, "ours", "bin/otelcol-tapedeck", "collector of this project")
	flag.StringVar(&b.against, "against", "", "older collector of this project, measured by turns with it")
	flag.StringVar(&b.againstRoot, "against-root", ".", "sources of that collector, whose examples it runs")
	flag.StringVar(&b.peers, "peers", "bin/otelcol-peers", "collector of contrib components")
	flag.StringVar(&b.gateway, "versitygw", "versitygw", "S3 server")
	name := flag.String("table", "default", "what to compare: "+strings.Join(slices.Sorted(maps.Keys(tables)), ", "))
	only := flag.String("run", "", "regular expression: pipelines to run beside otlp → nop, all if empty")
	scale := flag.Float64("scale", 1, "multiplies how long is sent and how many runs are open: 0.1 for a quick look")
	shapes := flag.String("shape", "", "shapes of the runs, with commas between: short, five, long, large, corpus, web or mixed; that of the table if empty")
	texts := flag.String("new", "0", "percent of the blocks that have texts which nobody sent before; several with commas between, as in 0,100")
	rate := flag.Float64("rate", -1, "spans per second, 0 is as fast as they are acknowledged; that of the table if negative")
	limit := flag.Duration("time", 0, "how long to send to each pipeline; that of the table if 0")
	rounds := flag.Int("rounds", 1, "how often to run all pipelines")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := b.choose(*name, *only, *limit, *scale)
	if err == nil {
		err = b.loadsOf(*shapes, *texts, *rate, *scale)
	}
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
	against, againstRoot string // the older collector, "" for none
	table
	loads  []load
	before float64 // what the floor cost last, in CPU seconds per million spans
	spent  []spent // folders of earlier measurements, the oldest first
}

// load is one load with its name.
type load struct {
	agentload.Load
	name string // shape, and what of its texts is new
}

// choose takes a table and those of its pipelines that are wanted.
func (b *bench) choose(name, only string, limit time.Duration, scale float64) error {
	var ok bool
	if b.table, ok = tables[name]; !ok {
		return fmt.Errorf("no table %q", name)
	}
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	b.pipelines = slices.DeleteFunc(slices.Clone(b.pipelines), func(p pipeline) bool { return p.name != floor.name && !pattern.MatchString(p.name) })
	b.time = cmp.Or(limit, time.Duration(float64(b.time)*scale))
	return nil
}

// loadsOf makes the loads: each shape with each share of new texts.
func (b *bench) loadsOf(shapes, texts string, rate, scale float64) error {
	for _, shape := range strings.Split(cmp.Or(shapes, b.shape), ",") {
		made, err := agentload.NewLoad(shape)
		if err != nil {
			return err
		}
		made.Rate, made.Time = b.rate, b.time
		if shape == "long" {
			made.Rate /= longer
		}
		if rate >= 0 {
			made.Rate = rate
		}
		if b.open > 0 {
			made.Open, made.Steady = max(1, int(float64(b.open)*scale)), b.steady
		}
		if b.once {
			made.Spans = int64(made.Open) * spansPerRun
		}
		for _, percent := range strings.Split(texts, ",") {
			share, err := strconv.ParseFloat(percent, 64)
			if err != nil || share < 0 || share > 100 {
				return fmt.Errorf("%q is no share of new texts in percent", percent)
			}
			if share > 0 && (made.Recorded != nil || made.Open > 0) {
				continue // recorded texts are what they are, and runs that stay open are of one block
			}
			made.New = share / 100
			b.loads = append(b.loads, load{made, shape + ", " + percent + " % new"})
		}
	}
	return nil
}

// spent is a folder that a measurement has left.
type spent struct {
	folder string
	bytes  int64
}

// mostSpent bounds the bytes of the folders that are kept.
const mostSpent = 16 << 30

// spend keeps a folder until the end, within the bound. ext4 passes over inodes that were deleted in the last
// minutes, one by one. So whoever writes files after a removal pays for it: 18 % of the time of a deck of
// files, in the pipeline that has the second turn.
func (b *bench) spend(folder string) {
	bytes, _ := size(folder) // what cannot be measured counts as nothing
	b.spent = append(b.spent, spent{folder, bytes})
	total := int64(0)
	for i, s := range slices.Backward(b.spent) {
		if total += s.bytes; total > mostSpent {
			removeAll(b.spent[:i+1])
			b.spent = b.spent[i+1:]
			return
		}
	}
}

func removeAll(folders []spent) {
	for _, s := range folders {
		_ = os.RemoveAll(s.folder)
	}
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

// measure sends a load to a pipeline of a collector, with the examples below root.
func (b *bench) measure(ctx context.Context, binary, root string, p pipeline, l load) (r result, err error) {
	folder, err := os.MkdirTemp("", "benchpeers-")
	if err != nil {
		return r, err
	}
	defer b.spend(folder)
	s := settings{folder: folder}
	var storage *process
	if p.s3 {
		if storage, s.endpoint, err = startS3(ctx, b.gateway, folder); err != nil {
			return r, err
		}
		defer storage.kill()
	}
	if p.example != "" {
		p.example = filepath.Join(root, p.example)
	}
	collector, otlp, err := startCollector(ctx, binary, p, s)
	if err != nil {
		return r, err
	}
	defer collector.kill()
	idle, storageIdle := collector.cpu(), storage.cpu()
	if r.sent, err = agentload.Send(ctx, otlp, l.Load); err != nil {
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
