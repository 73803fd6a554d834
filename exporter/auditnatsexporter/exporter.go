// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package auditnatsexporter // import "github.com/tapedeck/tapedeck/exporter/auditnatsexporter"

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/tapedeck/tapedeck/exporter/auditnatsexporter/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

const (
	// maxChains bounds how many chains of one call are published at once, one record of each.
	maxChains = 256
	// noStreamLogInterval bounds how often a missing stream is logged.
	noStreamLogInterval = time.Minute
)

// auditExporter publishes records and waits for the acknowledgement of each.
type auditExporter struct {
	cfg       *Config
	rules     *segregation.Rules
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
	inFlight  *semaphore.Weighted // bytes that are published and not acknowledged

	conn *nats.Conn
	js   jetstream.JetStream

	lastNoStream atomic.Int64 // unix nanoseconds
}

func newAuditExporter(set exporter.Settings, cfg *Config) (*auditExporter, error) {
	rules, err := cfg.Tags.Rules()
	if err != nil {
		return nil, err
	}
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &auditExporter{
		cfg: cfg, rules: rules, logger: set.Logger, telemetry: telemetry, inFlight: semaphore.NewWeighted(cfg.MaxOutstandingBytes),
	}, nil
}

// start connects, or keeps trying in the background: a collector that restarts while NATS is away must still accept other telemetry.
func (e *auditExporter) start(ctx context.Context, _ component.Host) error {
	options, err := e.options(ctx)
	if err != nil {
		return err
	}
	if e.conn, err = options.Connect(); err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	e.js, err = jetstream.New(e.conn,
		jetstream.WithPublishAsyncMaxPending(1<<20), // bounded by inFlight and maxChains, which block instead of failing
		jetstream.WithPublishAsyncTimeout(e.cfg.Timeout.Timeout))
	return err
}

func (e *auditExporter) shutdown(context.Context) error {
	e.telemetry.Shutdown()
	if e.conn != nil {
		e.conn.Close()
	}
	return nil
}

// pushLogs publishes all records of a call. It returns when each is acknowledged, or with an error that carries those that are not. The records of one
// chain are published in order, each after the acknowledgement of the previous one. Publishing several at once would save round trips. But the stream may
// refuse one and accept the next, because it was just created, was full for a moment, or the connection broke. Then the refused record would be
// stored out of order.
func (e *auditExporter) pushLogs(ctx context.Context, ld plog.Logs) error {
	b := &batch{auditExporter: e, failed: map[position]bool{}}
	all := e.messages(ld)
	n := 0
	var chains errgroup.Group
	chains.SetLimit(maxChains)
	for _, chain := range all {
		n += len(chain)
		chains.Go(func() error { b.publishAll(ctx, chain); return nil })
	}
	_ = chains.Wait() // b has the errors
	b.keepEqual(all)
	switch {
	case len(b.failed) == n && n > 0:
		return errors.Join(b.errs...)
	case len(b.failed) > 0:
		return consumererror.NewLogs(errors.Join(b.errs...), pick(ld, b.failed))
	case len(b.lost) > 0:
		return consumererror.NewPermanent(errors.Join(b.lost...))
	}
	return nil
}

// batch is the records of one call.
type batch struct {
	*auditExporter
	mu         sync.Mutex
	failed     map[position]bool // to be tried again
	errs, lost []error
}

// publishAll stops at the first record that must be tried again, because the following records must not overtake it.
func (b *batch) publishAll(ctx context.Context, chain []message) {
	for i := range chain {
		ack, err := b.publish(ctx, &chain[i])
		if err == nil {
			b.acknowledged(ctx, &chain[i], ack)
		} else if b.fail(ctx, &chain[i], err) {
			b.mu.Lock()
			for _, m := range chain[i:] {
				b.failed[m.position] = true
			}
			b.mu.Unlock()
			return
		}
	}
}

// keepEqual adds to a failed record that the call holds more than once the equal records that were acknowledged. The message ids number equal records
// within a call, so without them the failed record would get the id of the first one. The stream recognises the others as duplicates.
func (b *batch) keepEqual(chains [][]message) {
	counted := map[[sha256.Size]byte]bool{}
	for _, m := range slices.Concat(chains...) {
		if m.again && b.failed[m.position] {
			counted[m.content] = true
		}
	}
	if len(counted) == 0 {
		return
	}
	for _, m := range slices.Concat(chains...) {
		if counted[m.content] {
			b.failed[m.position] = true
		}
	}
}

// publish returns when the record is acknowledged or refused.
func (b *batch) publish(ctx context.Context, m *message) (*jetstream.PubAck, error) {
	size := min(int64(len(m.body)), b.cfg.MaxOutstandingBytes)
	if err := b.inFlight.Acquire(ctx, size); err != nil {
		return nil, err
	}
	defer b.inFlight.Release(size)
	options := []jetstream.PublishOpt{jetstream.WithMsgID(m.id)}
	if b.cfg.Stream != "" {
		options = append(options, jetstream.WithExpectStream(b.cfg.Stream))
	}
	// The asynchronous form, because it ends when the connection breaks; the other waits for the timeout.
	ack, err := b.js.PublishMsgAsync(&nats.Msg{Subject: m.subject, Data: m.body}, options...)
	if err != nil {
		return nil, err
	}
	select {
	case ok := <-ack.Ok():
		return ok, nil
	case err := <-ack.Err():
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (b *batch) acknowledged(ctx context.Context, m *message, ack *jetstream.PubAck) {
	side := "production"
	if m.replay {
		side = "replay"
	}
	b.telemetry.ExporterAuditNatsPublishedRecords.Add(ctx, 1, metric.WithAttributes(attribute.String("side", side)))
	if ack.Duplicate {
		b.telemetry.ExporterAuditNatsDuplicateRecords.Add(ctx, 1)
	}
	if m.reencoded {
		b.telemetry.ExporterAuditNatsReencodedRecords.Add(ctx, 1)
	}
}

// fail counts the error and says whether the record must be tried again.
func (b *batch) fail(ctx context.Context, m *message, err error) (again bool) {
	c := causeOf(err)
	b.telemetry.ExporterAuditNatsPublishErrors.Add(ctx, 1, metric.WithAttributes(attribute.String("cause", string(c))))
	err = fmt.Errorf("publish under %s: %w", m.subject, err)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch c {
	case tooLarge:
		b.logger.Error("an audit record is lost: it exceeds what the server takes", zap.Int("bytes", len(m.body)), zap.Error(err))
		b.lost = append(b.lost, err)
		return false
	case noStream:
		now := time.Now().UnixNano()
		if last := b.lastNoStream.Load(); now-last > int64(noStreamLogInterval) && b.lastNoStream.CompareAndSwap(last, now) {
			b.logger.Error("no stream takes the subject; nothing is lost, and publishing goes on as soon as there is one", zap.Error(err))
		}
	}
	b.errs = append(b.errs, err)
	return true
}

// pick copies the records at the positions.
func pick(ld plog.Logs, keep map[position]bool) plog.Logs {
	out := plog.NewLogs()
	ld.CopyTo(out)
	i := -1
	out.ResourceLogs().RemoveIf(func(rl plog.ResourceLogs) bool {
		i++
		j := -1
		rl.ScopeLogs().RemoveIf(func(sl plog.ScopeLogs) bool {
			j++
			k := -1
			sl.LogRecords().RemoveIf(func(plog.LogRecord) bool {
				k++
				return !keep[position{i, j, k}]
			})
			return sl.LogRecords().Len() == 0
		})
		return rl.ScopeLogs().Len() == 0
	})
	return out
}
