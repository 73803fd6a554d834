// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor // import "github.com/tapedeck/tapedeck/processor/agentrunprocessor"

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/tapedeck/tapedeck/internal/assembly"
	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// registerStats exposes the counters of the assembler and of its spool as metrics. They are read only when metrics are collected.
func (p *agentRun) registerStats() error {
	a, b := p.assembler, p.telemetry
	one := func(value func(assembly.Stats) int64) metric.Int64Callback {
		return func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(value(a.Stats()))
			return nil
		}
	}
	byReason := func(value func(assembly.ReasonStats) int64) metric.Int64Callback {
		return func(_ context.Context, o metric.Int64Observer) error {
			stats := a.Stats()
			for _, r := range assembly.Reasons() {
				o.Observe(value(stats.ByReason[r]), metric.WithAttributes(attribute.String("reason", r.String())))
			}
			return nil
		}
	}
	byCause := func(causes map[string]func(assembly.Stats) int64) metric.Int64Callback {
		return func(_ context.Context, o metric.Int64Observer) error {
			stats := a.Stats()
			for cause, value := range causes {
				o.Observe(value(stats), metric.WithAttributes(attribute.String("cause", cause)))
			}
			return nil
		}
	}
	ofSpool := func(value func(spool.Stats) int64) metric.Int64Callback {
		return func(_ context.Context, o metric.Int64Observer) error {
			if l := p.log.Load(); l != nil {
				o.Observe(value(l.Stats()))
			}
			return nil
		}
	}
	oldest := func(_ context.Context, o metric.Int64Observer) error {
		for _, t := range a.OpenTraces(1) {
			o.Observe(int64(t.Age.Seconds()))
		}
		return nil
	}
	return errors.Join(
		b.RegisterProcessorAgentrunAcceptedItemsCallback(one(func(s assembly.Stats) int64 { return s.Accepted })),
		b.RegisterProcessorAgentrunRecoveredItemsCallback(one(func(s assembly.Stats) int64 { return s.Recovered })),
		b.RegisterProcessorAgentrunDuplicateItemsCallback(one(func(s assembly.Stats) int64 { return s.Duplicates })),
		b.RegisterProcessorAgentrunLateItemsCallback(one(func(s assembly.Stats) int64 { return s.Late })),
		b.RegisterProcessorAgentrunHeldItemsCallback(one(func(s assembly.Stats) int64 { return s.Held })),
		b.RegisterProcessorAgentrunHeldBytesCallback(one(func(s assembly.Stats) int64 { return s.HeldBytes })),
		b.RegisterProcessorAgentrunMemoryBytesCallback(one(func(s assembly.Stats) int64 { return s.MemoryBytes })),
		b.RegisterProcessorAgentrunOpenTracesCallback(one(func(s assembly.Stats) int64 { return s.OpenTraces })),
		b.RegisterProcessorAgentrunWaitingTracesCallback(one(func(s assembly.Stats) int64 { return s.Waiting })),
		b.RegisterProcessorAgentrunOldestTraceAgeCallback(oldest),
		b.RegisterProcessorAgentrunSpilledTracesCallback(one(func(s assembly.Stats) int64 { return s.Spilled })),
		b.RegisterProcessorAgentrunLoadedTracesCallback(one(func(s assembly.Stats) int64 { return s.Loaded })),
		b.RegisterProcessorAgentrunReleaseErrorsCallback(one(func(s assembly.Stats) int64 { return s.ReleaseErrors })),
		b.RegisterProcessorAgentrunFailingTracesCallback(one(func(s assembly.Stats) int64 { return s.Failing })),
		b.RegisterProcessorAgentrunParkedTracesCallback(one(func(s assembly.Stats) int64 { return s.Parked })),
		b.RegisterProcessorAgentrunEmitRetriesCallback(one(func(s assembly.Stats) int64 { return s.Retries })),
		b.RegisterProcessorAgentrunEmittedItemsCallback(byReason(func(s assembly.ReasonStats) int64 { return s.Items })),
		b.RegisterProcessorAgentrunEmittedTracesCallback(byReason(func(s assembly.ReasonStats) int64 { return s.Emissions })),
		b.RegisterProcessorAgentrunDroppedItemsCallback(byCause(map[string]func(assembly.Stats) int64{
			"permanent": func(s assembly.Stats) int64 { return s.DroppedPermanent },
			"shutdown":  func(s assembly.Stats) int64 { return s.DroppedShutdown },
			"corrupt":   func(s assembly.Stats) int64 { return s.DroppedCorrupt },
		})),
		b.RegisterProcessorAgentrunRefusedRequestsCallback(byCause(map[string]func(assembly.Stats) int64{
			"full":      func(s assembly.Stats) int64 { return s.RefusedFull },
			"backlog":   func(s assembly.Stats) int64 { return s.RefusedBacklog },
			"spool":     func(s assembly.Stats) int64 { return s.RefusedSpool },
			"too_large": func(s assembly.Stats) int64 { return s.RefusedTooLarge },
			// Refused before the assembler saw them.
			"unredacted": func(assembly.Stats) int64 { return p.unredacted.Load() },
			"too_deep":   func(assembly.Stats) int64 { return p.tooDeep.Load() },
		})),
		b.RegisterProcessorAgentrunSpoolDiskBytesCallback(ofSpool(func(s spool.Stats) int64 { return s.DiskBytes })),
		b.RegisterProcessorAgentrunSpoolLiveBytesCallback(ofSpool(func(s spool.Stats) int64 { return s.LiveBytes })),
		b.RegisterProcessorAgentrunSpoolSegmentsCallback(ofSpool(func(s spool.Stats) int64 { return int64(s.Segments) })),
		b.RegisterProcessorAgentrunSpoolCompactedBytesCallback(ofSpool(func(s spool.Stats) int64 { return s.CompactedBytes })),
		b.RegisterProcessorAgentrunSpoolDamagedRecordsCallback(ofSpool(func(s spool.Stats) int64 { return s.CorruptRecords })),
	)
}
