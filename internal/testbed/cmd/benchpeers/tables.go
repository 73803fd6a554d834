// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"time"
)

const (
	// traceWait is how long a pipeline waits for the rest of a trace. The load sends each trace within a fraction of it, unless runs are
	// to stay open.
	traceWait = 2 * time.Second

	longer = 5 // times fewer spans per second of runs of 50 turns, which have 12 times the bytes

	spansPerRun = 20 // of the shapes short and large, which the tables with open runs use

	spoolFolder   = "spool"
	emittedMetric = "otelcol_processor_agentrun_emitted_items"
)

// table is a comparison: one load, and the pipelines that get it, in this order.
type table struct {
	shape     string
	rate      float64 // spans per second
	time      time.Duration
	open      int  // runs that are open at once
	once      bool // every run is sent once: the load ends when all have ended
	steady    bool // runs end all the time; what is open when the time is up is not waited for
	pipelines []pipeline
}

var tables = map[string]table{
	// What a user runs who copies the README, and what each step of it adds. Lines that are called examples/… are these files as they stand.
	"default": {shape: "short", rate: 3000, time: 20 * time.Second, pipelines: []pipeline{
		floor,
		{name: "+ agentredaction", processors: []string{agentredaction}, exporter: nop},
		{name: "+ agentrun with a spool", processors: []string{agentredaction, redacted(cached)}, exporter: nop, emits: true},
		{name: "+ tape: deck in memory, gate off", processors: []string{agentredaction, redacted(cached)}, exporter: gateOff(tapeMemory), emits: true},
		{name: "+ gate: deck in memory", processors: []string{agentredaction, redacted(cached)}, exporter: tapeMemory, emits: true},
		{name: "deck of files, gate off", processors: []string{agentredaction, redacted(cached)}, exporter: gateOff(tapeFile), delivered: inTapes},
		{name: "examples/local: deck of files", example: "examples/local/collector.yaml", delivered: inTapes},
		{name: "examples/s3: deck of reels in S3", s3: true, example: "examples/s3/collector.yaml", delivered: inReels},
		{name: "deck of files in S3", s3: true, processors: []string{agentredaction, redacted(cached)}, exporter: func(s settings) string { return tapeS3(s) + "    compression: zstd\n" }, delivered: inTapes},
		{name: "deck of reels", processors: []string{agentredaction, redacted(cached)}, exporter: reels(tapeFile), delivered: inReels},
		{name: "contrib: otlp → nop", contrib: true, exporter: nop},
		{name: "contrib: redaction → awss3 (S3)", contrib: true, s3: true, processors: []string{contribRedaction}, exporter: awss3, delivered: inObjects},
		{name: "contrib: groupbytrace → awss3 (S3)", contrib: true, s3: true, processors: []string{groupbytrace(traceWait)}, exporter: awss3, delivered: inObjects},
	}},
	"tapes": {shape: "short", rate: 4000, time: 20 * time.Second, pipelines: []pipeline{
		floor,
		{name: "otlp → agentrun → tape (file)", processors: []string{agentrun(inMemory)}, exporter: gateOff(tapeFile), delivered: inTapes},
		{name: "otlp → agentrun → tape (S3)", s3: true, processors: []string{agentrun(inMemory)}, exporter: gateOff(tapeS3), delivered: inTapes},
		{name: "contrib: otlp → nop", contrib: true, exporter: nop},
		{name: "contrib: otlp → groupbytrace → nop", contrib: true, processors: []string{groupbytrace(traceWait)}, exporter: nop},
		{name: "contrib: otlp → groupbytrace → awss3 (S3)", contrib: true, s3: true, processors: []string{groupbytrace(traceWait)}, exporter: awss3, delivered: inObjects},
		{name: "contrib: otlp → tail_sampling → awss3 (S3)", contrib: true, s3: true, processors: []string{tailSampling(traceWait)}, exporter: awss3, delivered: inObjects},
	}},
	// Grouping alone: nothing is written behind it.
	"assembly": {shape: "short", rate: 20_000, time: 20 * time.Second, pipelines: []pipeline{
		floor,
		{name: "agentrun, memory", processors: []string{agentrun(inMemory)}, exporter: nop, emits: true},
		{name: "agentrun, spool", processors: []string{agentrun(cached)}, exporter: nop, emits: true},
		{name: "agentrun, spool synced every 100 ms", processors: []string{agentrun(syncLater)}, exporter: nop, emits: true},
		{name: "agentrun, spool, runs read back", processors: []string{agentrun(readBack)}, exporter: nop, emits: true},
		{name: "contrib: otlp → nop", contrib: true, exporter: nop},
		{name: "contrib: groupbytrace", contrib: true, processors: []string{groupbytrace(traceWait)}, exporter: nop},
		{name: "contrib: tail_sampling", contrib: true, processors: []string{tailSampling(traceWait)}, exporter: nop},
	}},
	// Spans of web shops, and 1 in 100 of an agent.
	"pass": {shape: "mixed", rate: 20_000, time: 20 * time.Second, pipelines: []pipeline{
		floor,
		{name: "agentrun, forward, memory", processors: []string{agentrun(inMemory)}, exporter: nop, emits: true},
		{name: "agentrun, forward, spool", processors: []string{agentrun(cached)}, exporter: nop, emits: true},
		{name: "agentrun, forward, spool synced every 100 ms", processors: []string{agentrun(syncLater)}, exporter: nop, emits: true},
		{name: "agentrun, drop, spool", processors: []string{agentrun(cached + "    non_agent: drop\n")}, exporter: nop, emits: true},
		{name: "contrib: groupbytrace", contrib: true, processors: []string{groupbytrace(traceWait)}, exporter: nop},
		{name: "contrib: tail_sampling", contrib: true, processors: []string{tailSampling(traceWait)}, exporter: nop},
	}},
	// 10,000 runs of 1 MB: all are open before the first ends.
	"large": {shape: "large", time: time.Hour, open: 10_000, once: true, pipelines: []pipeline{
		{name: "agentrun, spool", processors: []string{agentrun(held)}, exporter: nop, emits: true},
	}},
	// Runs that take ten minutes each.
	"open": {shape: "short", rate: 20_000, time: 11 * time.Minute, open: 600_000, steady: true, pipelines: []pipeline{
		{name: "agentrun, spool", processors: []string{agentrun(held)}, exporter: nop, emits: true},
		{name: "contrib: tail_sampling", contrib: true, processors: []string{tailSampling(15 * time.Minute)}, exporter: nop},
	}},
}

// Variants of agentrun.
const (
	inMemory = ""
	cached   = "    spool: {directory: FOLDER/" + spoolFolder + "}\n"
	// Next to nothing stays in memory: every run is read from the disk when it is complete.
	readBack  = cached + "    max_trace_bytes: 1048576\n    max_memory_bytes: 16777216\n"
	syncLater = "    spool: {directory: FOLDER/" + spoolFolder + ", sync: interval}\n"
	// For long: all but 64 MiB is on the disk only.
	held = "    spool: {directory: FOLDER/" + spoolFolder + ", max_bytes: 64424509440}\n    max_traces: 1000000\n    idle_timeout: 30m\n" +
		"    max_memory_bytes: 67108864\n"
)

func agentrun(more string) string {
	return fmt.Sprintf("  agentrun:\n    redaction: none\n    quiet_period: %s\n%s", traceWait, more)
}

// redacted is agentrun behind agentredaction, as it is by default.
func redacted(more string) string {
	return fmt.Sprintf("  agentrun:\n    non_agent: drop\n    quiet_period: %s\n%s", traceWait, more)
}

const agentredaction = "  agentredaction:\n    key: {generate_in: FOLDER/state}\n"

// contribRedaction looks for four kinds of secrets in all values: what its README shows, and two keys of vendors.
const contribRedaction = `  redaction:
    allow_all_keys: true
    blocked_values:
      - "4[0-9]{12}(?:[0-9]{3})?"
      - "(5[1-5][0-9]{14})"
      - "AKIA[0-9A-Z]{16}"
      - "sk-[a-zA-Z0-9]{20,}"
`

func groupbytrace(wait time.Duration) string {
	return fmt.Sprintf("  groupbytrace:\n    wait_duration: %s\n    num_traces: 1000000\n    num_workers: 2\n", wait)
}

func tailSampling(wait time.Duration) string {
	return fmt.Sprintf("  tail_sampling:\n    decision_wait: %s\n    num_traces: 1000000\n    policies:\n      - {name: all, type: always_sample}\n", wait)
}
