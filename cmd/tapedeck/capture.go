// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"net"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reading/otlpserver"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/workspace"
	"github.com/tapedeck/tapedeck/internal/surfaces/doctor"
)

// capture is the telemetry of a command that this program runs: received on loopback, redacted, and made into tapes as derive does it.
type capture struct {
	in     *ingest.Batch
	tag    string // the replay that resources without a tag belong to; "" tags nothing
	of     string // the run that it replays
	tagged int
	items  int
	err    error
	hold   bool // until release, for what is known of the run when it has ended
	held   []otlpfile.Document
	listen func(context.Context) (net.Listener, error) // nil: on loopback
	// environ is the environment of the command, to which the variables of the services are added.
	environ []string
	bodies  *agentprofile.Bodies // nil: files that records refer to are not read
	doctor  *doctor.Receiver     // nil: what the telemetry lacks is not asked
	ended   func(rerun.Exit)     // nil: nobody waits for the end of the command
}

// AddTraces implements otlpserver.Sink.
func (c *capture) AddTraces(td ptrace.Traces) {
	c.items += td.SpanCount()
	for _, rs := range td.ResourceSpans().All() {
		c.mark(rs.Resource().Attributes())
	}
	c.add(otlpfile.Document{Signal: otlpfile.SignalTraces, Traces: td})
}

// AddLogs implements otlpserver.Sink.
func (c *capture) AddLogs(ld plog.Logs) {
	own := plog.NewLogs()
	ld.CopyTo(own)
	c.items += own.LogRecordCount()
	for _, rl := range own.ResourceLogs().All() {
		c.mark(rl.Resource().Attributes())
	}
	c.add(otlpfile.Document{Signal: otlpfile.SignalLogs, Logs: own})
}

// Len implements otlpserver.Sink.
func (c *capture) Len() int { return c.items }

func (c *capture) add(d otlpfile.Document) {
	if c.hold {
		c.held = append(c.held, d)
		return
	}
	if err := c.in.Add(d); err != nil && c.err == nil {
		c.err = err
	}
}

// mark tags a resource. An agent that does not read the variable is a replay all the same: this program started it.
func (c *capture) mark(resource pcommon.Map) {
	if c.tag == "" {
		return
	}
	if v, tagged := resource.Get(segregation.Key); !tagged || v.AsString() != c.tag {
		resource.PutStr(segregation.Key, c.tag)
		resource.PutStr("replay_of", c.of)
		c.tagged++
	}
}

// traces are the ids of the traces that are held, sorted, the first of many.
func (c *capture) traces() []string {
	ids := map[string]bool{}
	for _, d := range c.held {
		if d.Signal != otlpfile.SignalTraces {
			continue
		}
		for _, rs := range d.Traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					ids[span.TraceID().String()] = true
				}
			}
		}
	}
	all := slices.Sorted(maps.Keys(ids))
	return all[:min(len(all), harness.MaxTraces)]
}

// release takes in what was held, with what is known of the run on each resource, and with what the workspace
// held: once, in the trace that says most. Where several runs can have come, or a task is named, that is also
// which traces came together.
func (c *capture) release(facts *harness.Facts, kept *workspace.Kept) {
	c.hold = false
	trace, some := mainTrace(c.held)
	if kept != nil && some {
		facts.Contents = &harness.Contents{TraceID: trace.String(), Files: kept.Files(), Bytes: kept.Bytes()}
		defer func() { c.add(otlpfile.Document{Signal: otlpfile.SignalTraces, Traces: kept.Spans(trace, time.Now())}) }()
	}
	if traces := c.traces(); facts.Task != "" || len(traces) > 1 {
		facts.Traces = traces
	}
	var asides agentprofile.Asides
	for _, d := range c.held {
		if d.Signal == otlpfile.SignalTraces {
			asides.Add(d.Traces)
		}
	}
	for _, d := range c.held {
		switch d.Signal {
		case otlpfile.SignalTraces:
			if c.doctor != nil {
				own := ptrace.NewTraces() // the capture redacts in place
				d.Traces.CopyTo(own)
				c.doctor.AddTraces(own)
			}
			for _, rs := range d.Traces.ResourceSpans().All() {
				facts.Put(rs.Resource().Attributes())
			}
		case otlpfile.SignalLogs:
			asides.Place(d.Logs)
			if c.bodies != nil {
				c.bodies.Resolve(d.Logs)
			}
			if c.doctor != nil {
				c.doctor.AddLogs(d.Logs)
			}
			for _, rl := range d.Logs.ResourceLogs().All() {
				facts.Put(rl.Resource().Attributes())
			}
		}
		c.add(d)
	}
	c.held = nil
}

// mainTrace is the trace with most evidence, of several the one whose id comes first.
func mainTrace(held []otlpfile.Document) (main pcommon.TraceID, some bool) {
	counts := map[pcommon.TraceID]int{}
	for _, d := range held {
		switch d.Signal {
		case otlpfile.SignalTraces:
			for _, rs := range d.Traces.ResourceSpans().All() {
				for _, ss := range rs.ScopeSpans().All() {
					for _, span := range ss.Spans().All() {
						if genai.IsEvidence(ss.Scope().Name(), span) {
							counts[span.TraceID()]++
						}
					}
				}
			}
		case otlpfile.SignalLogs:
			for _, rl := range d.Logs.ResourceLogs().All() {
				for _, sl := range rl.ScopeLogs().All() {
					for _, record := range sl.LogRecords().All() {
						if name := genai.EventName(sl.Scope().Name(), record.EventName(), record.Attributes(), record.Body()); genai.IsEvidenceLog(name, record) {
							counts[evidence.TraceOfRecord(sl.Scope().Name(), record)]++
						}
					}
				}
			}
		}
	}
	delete(counts, pcommon.TraceID{})
	for id, n := range counts {
		if m := counts[main]; !some || n > m || n == m && bytes.Compare(id[:], main[:]) < 0 {
			main, some = id, true
		}
	}
	return main, some
}

// loopback opens a listener for what only this machine may reach.
func loopback(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
}

// run runs a command while its telemetry is received. services has all but the address of the receiver.
func (c *capture) run(ctx context.Context, command rerun.Command, services rerun.Services, finish func(*rerun.Command) error) (exit rerun.Exit, err error) {
	if c.listen == nil {
		c.listen = loopback
	}
	listener, err := c.listen(ctx)
	if err != nil {
		return exit, err
	}
	services.OTLP = "http://" + listener.Addr().String()
	listening, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	var refused otlpserver.Refused
	go func() {
		var err error
		refused, err = otlpserver.Listen(listening, listener, c, math.MaxInt)
		done <- err
	}()
	defer func() {
		stop()
		err = errors.Join(err, <-done, c.err)
		sayRefused(command.Stderr, refused)
	}()
	command.Env = rerun.Environ(c.environ, services.Variables())
	if err := finish(&command); err != nil {
		return exit, err
	}
	exit, err = rerun.Run(ctx, command)
	if c.ended != nil && err == nil {
		c.ended(exit)
	}
	return exit, err
}
