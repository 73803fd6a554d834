// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/lateverdict"
)

// CompactionConfig says whether this collector merges the reels of its deck. One collector of all that write to a deck is enough; several do the same work twice and no harm.
type CompactionConfig struct {
	// Interval is how long after the start, and after the end of a compaction, the next one begins; 0 is never.
	Interval time.Duration `mapstructure:"interval"`
	// OlderThan leaves alone the reels of days that have not ended that long ago.
	OlderThan time.Duration `mapstructure:"older_than"`
	// MaxBytes is about the size of the reels that are made. A compaction takes about three times as much memory.
	MaxBytes int64 `mapstructure:"max_bytes"`

	grace time.Duration // compaction.DefaultGrace if 0
}

// minCompactionInterval keeps a collector from doing nothing else.
const minCompactionInterval = time.Second

func (c CompactionConfig) options() compaction.Options {
	return compaction.Options{OlderThan: c.OlderThan, MaxBytes: c.MaxBytes, Grace: cmp.Or(c.grace, compaction.DefaultGrace)}
}

func (c CompactionConfig) validate(layout string) error {
	switch {
	case c.Interval < 0 || c.Interval > 0 && c.Interval < minCompactionInterval:
		return errors.New("interval must be 0, which is never, or at least 1s")
	case c.Interval > 0 && layout == "files":
		return errors.New("a deck of files has nothing to compact: leave interval out, or set layout: reels")
	case c.MaxBytes == 0:
		return errors.New("max_bytes must not be 0")
	}
	return c.options().Validate()
}

// giveVerdicts gives verdicts that came in traces of their own to the runs that they name.
func (e *tapeExporter) giveVerdicts(ctx context.Context, d *deck.Deck) {
	given, err := lateverdict.Give(ctx, d, lateverdict.Options{Derive: derive.Options{Options: e.generations(), EvidenceAlone: e.cfg.evidenceAlone()}, Say: e.warn, Unread: e.warn})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		e.logger.Warn("verdicts of other traces could not be given to their runs and will be the next time", zap.Error(err))
	case given.Runs > 0:
		e.logger.Info("gave verdicts of other traces to their runs", zap.Int("runs", given.Runs))
	}
}

// compact merges the reels of the deck from time to time, one compaction at a time. First late verdicts find
// their runs. The shutdown interrupts it, which costs nothing but its work.
func (e *tapeExporter) compact(ctx context.Context, d *deck.Deck) {
	o := e.cfg.Compaction.options()
	o.Sign = e.sign
	o.Report = func(m compaction.Merge) {
		e.telemetry.ExporterTapeCompactedReels.Add(ctx, int64(len(m.Inputs)))
		e.telemetry.ExporterTapeCompactedBytes.Add(ctx, m.BytesIn)
		for _, err := range m.Failures {
			e.logger.Error("no tape can be made of evidence that came in pieces; the evidence is kept", zap.Error(err))
		}
	}
	timer := time.NewTimer(e.cfg.Compaction.Interval)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		if d.Layout() == deck.LayoutReels {
			e.giveVerdicts(ctx, d)
		}
		sums, err := compaction.Run(ctx, d, o)
		outcome := "done"
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, compaction.ErrLayout):
			e.logger.Error("the deck is not compacted", zap.Error(err))
			return
		case err != nil:
			outcome = "failed"
			e.logger.Warn("the deck could not be compacted to the end and will be the next time", zap.Error(err))
		case sums.Merges > 0:
			e.logger.Info("compacted the deck", zap.Int("merges", sums.Merges), zap.Int("reels", sums.Inputs), zap.Int("into", sums.Outputs), zap.Int("derived", sums.Derived))
		}
		e.telemetry.ExporterTapeCompactions.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome)))
		timer.Reset(e.cfg.Compaction.Interval)
	}
}
