// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command capacity prints what a load takes: collectors, disks, partitions, objects, requests, bytes. Its inputs are figures of `make bench-peers`
// (docs/performance.md); docs/scale-out.md shows what it prints, and a test holds both together.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// load is what comes in.
type load struct {
	Runs     float64 // per second
	Spans    float64 // of a run
	Bytes    float64 // of a run, as OTLP
	OpenSecs float64 // how long a run is open
	AwaySecs float64 // how long the store may be away
}

// figures are what was measured.
type figures struct {
	CPU     float64 // seconds of a collector per million spans, reels in S3
	StoreS3 float64 // the same of the S3 server
	Stored  float64 // bytes in the deck per byte received
	Content float64 // evidence and tape before compression, per byte received
	Narrow  float64 // bytes of the narrow columns of a run, as stored
	Frame   float64 // bytes of a reel that are there with the first run: heads of columns, page index, footer
}

// measured is of examples/s3 in reels, with runs of 20 spans of 2.5 KB of random text, on a busy machine: the dearer side. Narrow is of a million runs of cmd/manyruns, Frame of a reel of one run.
var measured = figures{CPU: 211, StoreS3: 5.8, Stored: 0.30, Content: 1.9, Narrow: 170, Frame: 12_300}

// What is configured.
const (
	coresOfCollector = 4
	busy             = 0.5 // of its cores, so that bursts and the loss of a collector find room
	reelBytes        = 64 << 20
	reelRuns         = 5000
	reelWait         = 5.0
	reelQuiet        = reelWait / 10
	levelOne         = 512 << 20
	partitionBytes   = 5e6 // per second, of a Kafka partition
	day              = 86400.0
)

// plan is what a load takes.
type plan struct {
	Cores, Collectors      float64
	SpoolBytes             float64 // of each collector
	Partitions             float64
	RunsOfReel             float64
	Level0, Level1         float64 // objects a day
	Requests               float64 // to the store per million runs, beside compaction
	CompactionBytes        float64 // per second, read and written
	StoredDay, StoredMonth float64
	ScanBytes              float64 // of the narrow columns of a day
	StoreCores             float64 // of an S3 server that one runs oneself
}

func (f figures) plan(l load) (p plan) {
	p.Cores = l.Runs * l.Spans * f.CPU / 1e6
	p.Collectors = math.Max(1, math.Ceil(p.Cores/(coresOfCollector*busy)))
	p.SpoolBytes = l.Runs * l.Bytes * (l.OpenSecs + l.AwaySecs) / p.Collectors
	p.Partitions = math.Max(p.Collectors, math.Ceil(l.Runs*l.Bytes/partitionBytes))
	each := l.Runs / p.Collectors
	// A reel closes by bytes, by number or by time, whichever is first; and when for a while no run comes, which at random ends the reels of small loads.
	byTime := math.Min(each*reelWait, math.Exp(each*reelQuiet))
	p.RunsOfReel = math.Max(1, math.Min(math.Min(reelRuns, reelBytes/(l.Bytes*f.Content)), byTime))
	p.Level0 = l.Runs * day / p.RunsOfReel
	p.StoredDay = l.Runs * day * l.Bytes * f.Stored
	p.StoredMonth = 30 * p.StoredDay
	p.Level1 = math.Max(1, math.Ceil(p.StoredDay/levelOne))
	p.Requests = 1e6 / p.RunsOfReel
	p.CompactionBytes = (2*p.StoredDay + p.Level0*f.Frame) / day
	p.ScanBytes = l.Runs * day * f.Narrow
	p.StoreCores = l.Runs * l.Spans * f.StoreS3 / 1e6
	return p
}

func main() {
	l := load{}
	f := measured
	flag.Float64Var(&l.Runs, "runs", 0, "runs per second; 0 prints 1, 100 and 10,000")
	flag.Float64Var(&l.Spans, "spans", 20, "spans of a run")
	flag.Float64Var(&l.Bytes, "bytes", 50_000, "bytes of a run, as OTLP")
	flag.Float64Var(&l.OpenSecs, "open", 60, "seconds that a run is open")
	flag.Float64Var(&l.AwaySecs, "away", 4*3600, "seconds that the store may be away")
	flag.Float64Var(&f.CPU, "cpu", f.CPU, "CPU seconds of a collector per million spans")
	flag.Float64Var(&f.Stored, "stored", f.Stored, "bytes in the deck per byte received")
	flag.Float64Var(&f.Content, "content", f.Content, "evidence and tapes before compression, per byte received")
	flag.Parse()
	rates := []float64{1, 100, 10_000}
	if l.Runs > 0 {
		rates = []float64{l.Runs}
	}
	sheet(os.Stdout, f, l, rates)
}

// sheet prints the plans for some rates, as a table.
func sheet(w io.Writer, f figures, l load, rates []float64) {
	plans := make([]plan, len(rates))
	head := "| runs per second |"
	for i, rate := range rates {
		l.Runs = rate
		plans[i] = f.plan(l)
		head += " " + short(rate, "") + " |"
	}
	fmt.Fprintln(w, head)
	fmt.Fprintln(w, "|---|"+strings.Repeat("---:|", len(rates)))
	row := func(name, unit string, of func(p plan) float64) {
		line := "| " + name + " |"
		for _, p := range plans {
			line += " " + short(of(p), unit) + " |"
		}
		fmt.Fprintln(w, line)
	}
	row("cores of collectors, on average", "", func(p plan) float64 { return p.Cores })
	row("collectors of 4 cores, half busy", "", func(p plan) float64 { return p.Collectors })
	row("spool of each", "B", func(p plan) float64 { return p.SpoolBytes })
	row("Kafka partitions, at least", "", func(p plan) float64 { return p.Partitions })
	row("runs of a reel", "", func(p plan) float64 { return p.RunsOfReel })
	row("objects a day, level 0", "", func(p plan) float64 { return p.Level0 })
	row("objects a day, level 1", "", func(p plan) float64 { return p.Level1 })
	row("PUT per million runs", "", func(p plan) float64 { return p.Requests })
	row("compaction, read and written per second", "B", func(p plan) float64 { return p.CompactionBytes })
	row("stored a day", "B", func(p plan) float64 { return p.StoredDay })
	row("stored in 30 days", "B", func(p plan) float64 { return p.StoredMonth })
	row("narrow columns of a day, what a query over all of them reads", "B", func(p plan) float64 { return p.ScanBytes })
	row("cores of an S3 server of one's own", "", func(p plan) float64 { return p.StoreCores })
}

// short is a number with two digits that count.
func short(x float64, unit string) string {
	prefix := ""
	if unit != "" || x >= 1e6 {
		for _, p := range []string{"k", "M", "G", "T", "P"} {
			if x < 1000 {
				break
			}
			x, prefix = x/1000, p
		}
	}
	text := fmt.Sprintf("%.2g", x)
	if x >= 100 || strings.Contains(text, "e") {
		text = fmt.Sprintf("%.0f", x)
	}
	return strings.TrimSpace(text + " " + prefix + unit)
}
