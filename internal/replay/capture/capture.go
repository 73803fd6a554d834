// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package capture runs a command and takes down what it does: the telemetry that it exports, or the model
// calls that it makes.
package capture

import (
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
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reading/otlpserver"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/workspace"
)

// Capture is the telemetry of one command. It is held until Release, and implements otlpserver.Sink.
type Capture struct {
	In *ingest.Batch
	// Tag is the replay that resources without a tag belong to, Of the run that it replays; "" tags nothing.
	Tag, Of string
	// Environ is the environment of the command, to which Run adds the variables of the services.
	Environ []string
	// Listen opens the listener for the telemetry; nil listens on loopback.
	Listen func(context.Context) (net.Listener, error)
	// Bodies reads the files that log records refer to; nil reads none.
	Bodies *agentprofile.Bodies
	// Also gets a copy of the telemetry; nil is nobody.
	Also otlpserver.Sink
	// Say is told which requests were refused.
	Say func(format string, args ...any)
	// Ended is called when the command has ended; nil is nobody.
	Ended func(rerun.Exit)

	held   []otlpfile.Document
	items  int
	tagged int
}

// AddTraces implements otlpserver.Sink.
func (c *Capture) AddTraces(td ptrace.Traces) {
	c.items += td.SpanCount()
	c.tagged += TagTraces(td, c.Tag, c.Of)
	c.held = append(c.held, otlpfile.Document{Signal: otlpfile.SignalTraces, Traces: td})
}

// AddLogs implements otlpserver.Sink.
func (c *Capture) AddLogs(ld plog.Logs) {
	own := plog.NewLogs()
	ld.CopyTo(own)
	c.items += own.LogRecordCount()
	for _, rl := range own.ResourceLogs().All() {
		c.tagged += tag(rl.Resource().Attributes(), c.Tag, c.Of)
	}
	c.held = append(c.held, otlpfile.Document{Signal: otlpfile.SignalLogs, Logs: own})
}

// Len implements otlpserver.Sink. It counts spans and log records.
func (c *Capture) Len() int { return c.items }

// Tagged counts the resources that lacked the tag.
func (c *Capture) Tagged() int { return c.tagged }

// TagTraces tags the resources of a replay, and counts those that lacked the tag. The agent may not have read
// the variable, but it is a replay, because this program started it.
func TagTraces(td ptrace.Traces, replay, of string) (tagged int) {
	for _, rs := range td.ResourceSpans().All() {
		tagged += tag(rs.Resource().Attributes(), replay, of)
	}
	return tagged
}

func tag(resource pcommon.Map, replay, of string) int {
	if replay == "" {
		return 0
	}
	if v, tagged := resource.Get(segregation.Key); tagged && v.AsString() == replay {
		return 0
	}
	resource.PutStr(segregation.Key, replay)
	resource.PutStr("replay_of", of)
	return 1
}

// traces are the ids of the traces that are held, sorted, at most harness.MaxTraces.
func (c *Capture) traces() []string {
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

// Release adds what is held to the batch. Each resource gets the facts; the trace with most evidence gets the
// contents of the workspace. Where a task is named or several traces came, the facts also name the traces
// that came together.
func (c *Capture) Release(facts *harness.Facts, kept *workspace.Kept) error {
	trace, some := mainTrace(c.held)
	withContents := kept != nil && some
	if withContents {
		facts.Contents = &harness.Contents{TraceID: trace.String(), Files: kept.Files(), Bytes: kept.Bytes()}
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
	held := c.held
	c.held = nil
	for _, d := range held {
		switch d.Signal {
		case otlpfile.SignalTraces:
			c.releaseTraces(d.Traces, facts)
		case otlpfile.SignalLogs:
			asides.Place(d.Logs)
			c.releaseLogs(d.Logs, facts)
		}
		if err := c.In.Add(d); err != nil {
			return err
		}
	}
	if withContents {
		return c.In.Add(otlpfile.Document{Signal: otlpfile.SignalTraces, Traces: kept.Spans(trace, time.Now())})
	}
	return nil
}

func (c *Capture) releaseTraces(td ptrace.Traces, facts *harness.Facts) {
	if c.Also != nil {
		own := ptrace.NewTraces() // the batch redacts in place
		td.CopyTo(own)
		c.Also.AddTraces(own)
	}
	for _, rs := range td.ResourceSpans().All() {
		facts.Put(rs.Resource().Attributes())
	}
}

func (c *Capture) releaseLogs(ld plog.Logs, facts *harness.Facts) {
	if c.Bodies != nil {
		c.Bodies.Resolve(ld)
	}
	if c.Also != nil {
		c.Also.AddLogs(ld)
	}
	for _, rl := range ld.ResourceLogs().All() {
		facts.Put(rl.Resource().Attributes())
	}
}

// loopback opens a listener that only this machine reaches.
func loopback(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
}

// Run runs a command and receives its telemetry. services lacks the address of the receiver. finish completes
// the command.
func (c *Capture) Run(ctx context.Context, command rerun.Command, services rerun.Services, finish func(*rerun.Command) error) (exit rerun.Exit, err error) {
	if c.Listen == nil {
		c.Listen = loopback
	}
	listener, err := c.Listen(ctx)
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
		err = errors.Join(err, <-done)
		if text := refused.String(); text != "" {
			c.Say("%s", text)
		}
	}()
	command.Env = rerun.Environ(c.Environ, services.Variables())
	if err := finish(&command); err != nil {
		return exit, err
	}
	exit, err = rerun.Run(ctx, command)
	if c.Ended != nil && err == nil {
		c.Ended(exit)
	}
	return exit, err
}
