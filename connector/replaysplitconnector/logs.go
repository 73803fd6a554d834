// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector // import "github.com/tapedeck/tapedeck/connector/replaysplitconnector"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pipeline"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// logsSplit decides by the resource, and by the records of the same trace in the same call. Records that must be decided with their whole
// run become spans: put the genailogs connector and the agentrun processor before this connector.
type logsSplit struct {
	component.StartFunc
	*base
	next [sides]consumer.Logs
}

func newLogs(set connector.Settings, cfg *Config, next consumer.Logs) (*logsSplit, error) {
	b, out, err := newBase[consumer.Logs](set, cfg, next, pipeline.SignalLogs)
	if err != nil {
		return nil, err
	}
	return &logsSplit{base: b, next: out}, nil
}

func (c *logsSplit) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	scan := segregation.Scan{Rules: c.rules}
	resources := make([]side, ld.ResourceLogs().Len())
	traces := map[pcommon.TraceID]bool{} // tagged by a record of this call
	found := false
	for i, rl := range ld.ResourceLogs().All() {
		scan.Reset()
		scan.Attributes(rl.Resource().Attributes())
		switch {
		case scan.Found():
			resources[i], found = replay, true
			c.tags(ctx, scan.Verdict())
		case segregation.IsReemitted(rl.Resource().Attributes()):
			resources[i], found = undecided, true
		}
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				if scan.Reset(); c.tagged(&scan, sl, record) {
					found = true
					c.tags(ctx, scan.Verdict())
					traces[record.TraceID()] = true
				}
			}
		}
	}
	if !found {
		n := ld.LogRecordCount() // before the next component owns it
		if err := c.next[production].ConsumeLogs(ctx, ld); err != nil {
			return err
		}
		c.items(ctx, production, n)
		return nil
	}
	delete(traces, pcommon.TraceID{}) // records without a trace are decided one by one
	sideOf := func(i int, sl plog.ScopeLogs, record plog.LogRecord) side {
		if scan.Reset(); traces[record.TraceID()] || c.tagged(&scan, sl, record) {
			return replay
		}
		return resources[i]
	}
	out := [sides]plog.Logs{production: plog.NewLogs(), replay: plog.NewLogs(), undecided: plog.NewLogs()}
	for i, rl := range ld.ResourceLogs().All() {
		for s := range sides {
			to := plog.NewResourceLogs()
			rl.CopyTo(to)
			to.ScopeLogs().RemoveIf(func(sl plog.ScopeLogs) bool {
				sl.LogRecords().RemoveIf(func(record plog.LogRecord) bool { return sideOf(i, sl, record) != s })
				return sl.LogRecords().Len() == 0
			})
			if to.ScopeLogs().Len() > 0 {
				to.MoveTo(out[s].ResourceLogs().AppendEmpty())
			}
		}
	}
	for s := range sides {
		n := out[s].LogRecordCount()
		if n == 0 {
			continue
		}
		if err := c.next[s].ConsumeLogs(ctx, out[s]); err != nil {
			return err
		}
		c.items(ctx, s, n)
	}
	return nil
}

func (c *logsSplit) tagged(scan *segregation.Scan, sl plog.ScopeLogs, record plog.LogRecord) bool {
	scan.Attributes(sl.Scope().Attributes())
	scan.Attributes(record.Attributes())
	return scan.Found()
}
