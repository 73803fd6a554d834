// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/keep"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// writesPerCall is how many traces of one call are worked on at once. With agentrun before it a call brings
// one trace, or a batch of tiny ones that share the syncs of a deck of files. Without agentrun a batch may
// bring hundreds of traces, each a handful of round trips to the store, or, in a deck of reels, all of them
// wait for the object that they share.
const writesPerCall = 16

// writer is that of the layout of the deck.
type writer interface {
	Deliver(ctx context.Context, r derive.Request) (*derive.Stored, []derive.Written, error)
}

// logInterval keeps a bucket that nobody has made yet from filling the log. Every attempt is counted as a metric.
const logInterval = time.Minute

// tapeExporter makes the evidence of traces durable and brings their tapes up to date.
type tapeExporter struct {
	cfg       *Config
	logger    *zap.Logger
	telemetry *metadata.TelemetryBuilder
	rules     *segregation.Rules
	sign      *signature.Signer // nil: tapes are not signed
	open      func(ctx context.Context, url string) (*deck.Deck, error)

	// opening is held by whoever opens or closes the deck, and reads deck and writer. It is a channel because opening takes network calls: who
	// waits for it waits no longer than its own context says.
	opening chan struct{}
	deck    *deck.Deck
	writer  writer

	health health
	tags   *tagMemory

	// sweeping looks for what writers that died have left, and merges reels; stop ends both.
	sweeping sync.WaitGroup
	stop     context.CancelFunc

	joined sync.Once // a log: a call brought several traces of agentrun

	lastDefect, lastWarning, lastUnread atomic.Int64              // unix nanoseconds of the last log about one
	lastFailure                         map[failure]*atomic.Int64 // the same, of those that have words
}

func newTapeExporter(set exporter.Settings, cfg *Config) (*tapeExporter, error) {
	rules, err := cfg.Replay.Rules()
	if err != nil {
		return nil, err
	}
	sign, err := signature.ReadSigner(cfg.Signing.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	if sign != nil && sign.Concern() != "" {
		set.Logger.Warn(sign.Concern())
	}
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	open := func(ctx context.Context, url string) (*deck.Deck, error) {
		return deck.OpenLayout(ctx, url, layouts[cfg.Layout])
	}
	return &tapeExporter{cfg: cfg, rules: rules, sign: sign, logger: set.Logger, lastFailure: map[failure]*atomic.Int64{refused: {}, full: {}, failed: {}}, telemetry: telemetry, open: open, opening: make(chan struct{}, 1), tags: newTagMemory()}, nil
}

// openPatience is how long the start of the collector waits for a store that does not answer.
const openPatience = 5 * time.Second

// start opens the deck. A mistake that only an operator's edit can mend fails the start. A store that is away, refuses or is
// silent does not, because a collector that restarts during an outage must go on taking evidence.
func (e *tapeExporter) start(ctx context.Context, host component.Host) error {
	e.health.start(host)
	ctx, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	_, err := e.writerOf(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, deck.ErrBadURL) || errors.Is(err, deck.ErrLayout) {
		return fmt.Errorf("open deck: %w", err)
	}
	e.health.see(err)
	e.logger.Warn("deck cannot be opened yet and will be tried again with the first tape", zap.Error(err))
	return nil
}

func (e *tapeExporter) shutdown(ctx context.Context) error {
	defer e.telemetry.Shutdown()
	select {
	case e.opening <- struct{}{}:
		defer func() { <-e.opening }()
	case <-ctx.Done():
		return fmt.Errorf("close deck: %w", ctx.Err())
	}
	if e.deck == nil {
		return nil
	}
	e.stop()
	e.sweeping.Wait()
	if w, ok := e.writer.(*derive.ReelWriter); ok {
		w.Close()
	}
	err := e.deck.Close()
	e.deck, e.writer = nil, nil
	return err
}

func (e *tapeExporter) writerOf(ctx context.Context) (writer, error) {
	select {
	case e.opening <- struct{}{}:
		defer func() { <-e.opening }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if e.writer != nil {
		return e.writer, nil
	}
	gate, err := e.cfg.gate()
	if err != nil {
		return nil, err
	}
	d, err := e.open(ctx, e.cfg.Deck)
	if err != nil {
		return nil, err
	}
	compress, err := deck.ParseCompression(e.cfg.Compression)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	d.Compress(compress)
	e.deck = d
	options := derive.Options{
		Options: e.generations(), Accept: derive.Accept(e.cfg.Accept), Gate: gate, EvidenceAlone: e.cfg.evidenceAlone(), Keep: e.cfg.Keep.Get(), Warn: e.warn,
	}
	if d.Layout() == deck.LayoutReels {
		e.writer = derive.NewReelWriter(d, options, e.cfg.Reel)
	} else {
		e.writer = derive.NewWriter(d, options)
	}
	e.sweep(d)
	e.logger.Info("tapes go into the deck", zap.Stringer("deck", d), zap.String("layout", string(d.Layout())))
	return e.writer, nil
}

func (e *tapeExporter) generations() generation.Options {
	return generation.Options{Producer: generation.Producer(), Formats: e.cfg.Formats, Replay: e.rules, Bounds: e.cfg.Bounds.bounds(), Sign: e.sign}
}

// sweep takes away what writers that died have left in a deck of files: content that no listing shows, and no erasure found. It goes on beside the
// writing, because it looks into every folder.
func (e *tapeExporter) sweep(d *deck.Deck) {
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	if e.cfg.Compaction.Interval > 0 {
		e.sweeping.Go(func() { e.compact(ctx, d) })
	}
	e.sweeping.Go(func() {
		n, err := d.Sweep(ctx, "")
		switch {
		case err != nil && ctx.Err() == nil:
			e.logger.Warn("what writers that died may have left could not be looked for everywhere; `tapedeck gc` does it too", zap.Error(err))
		case n > 0:
			e.logger.Info("took away what writers that died had left", zap.Int("files", n))
		}
	})
}

// pushTraces returns when everything is durable. Its error holds the traces that are not, so that a repetition brings only those.
func (e *tapeExporter) pushTraces(ctx context.Context, td ptrace.Traces) error {
	return e.push(ctx, td, false)
}

// takeTraces is pushTraces for a caller that gives td away: a repetition of its does not bring the same td.
func (e *tapeExporter) takeTraces(ctx context.Context, td ptrace.Traces) error {
	return e.push(ctx, td, !td.IsReadOnly())
}

func (e *tapeExporter) push(ctx context.Context, td ptrace.Traces, own bool) error {
	groups, ignored := split(td, e.rules, own)
	if ignored > 0 {
		e.telemetry.ExporterTapeIgnoredSpans.Add(ctx, int64(ignored))
	}
	if len(groups) == 0 {
		return nil
	}
	// A call of agentrun has OnIdle: agentrun itself waits for it.
	if len(groups) > 1 && groups[0].marked && groups[1].marked && handover.Idle(ctx) == nil {
		e.joined.Do(func() {
			e.logger.Warn("one call brings several runs that agentrun passes on one by one: a batch processor, or a queue that batches, stands between agentrun and this " +
				"exporter; it acknowledges what is not stored yet, and a kill loses it: take it out")
		})
	}
	w, err := e.writerOf(ctx)
	if err != nil {
		e.count(ctx, failureOf(err), err, len(groups))
		e.health.see(err)
		return fmt.Errorf("open deck: %w", err)
	}
	idle := handover.Idle(ctx)
	if own && idle != nil && len(groups) == 1 {
		// agentrun reads evidence from its spool again, and a repetition of several traces is made of td.
		waits := idle
		idle = func() {
			groups[0].release(td)
			waits()
		}
	}
	errs := e.writeAll(ctx, w, groups, idle)

	var again, lost []error
	keep := map[groupKey]bool{}
	for i, err := range errs {
		switch {
		case err == nil:
		case failureOf(err) == tooLarge:
			lost = append(lost, err)
		default:
			again = append(again, err)
			keep[groups[i].key] = true
		}
	}
	if e.health.see(errors.Join(again...)) {
		e.logger.Info("the store is back: tapes are written again", zap.Stringer("deck", e.deck))
	}
	if len(again) == 0 {
		if len(lost) > 0 {
			return consumererror.NewPermanent(errors.Join(lost...))
		}
		return nil
	}
	if len(again) == len(groups) {
		return errors.Join(again...)
	}
	return consumererror.NewTraces(errors.Join(again...), pick(td, keep))
}

func (e *tapeExporter) writeAll(ctx context.Context, w writer, groups []*group, idle func()) []error {
	errs := make([]error, len(groups))
	if len(groups) == 1 {
		errs[0] = e.write(ctx, w, groups[0], idle, idle != nil)
		return errs
	}
	slots := make(chan struct{}, writesPerCall)
	var busy atomic.Int64 // groups that do not only wait
	busy.Store(int64(len(groups)))
	var wg sync.WaitGroup
	for i, g := range groups {
		slots <- struct{}{}
		wg.Go(func() {
			leave := sync.OnceFunc(func() {
				<-slots
				if busy.Add(-1) == 0 && idle != nil {
					idle()
				}
			})
			defer leave()
			errs[i] = e.write(ctx, w, g, leave, idle != nil)
		})
	}
	wg.Wait()
	return errs
}

func (e *tapeExporter) write(ctx context.Context, w writer, g *group, idle func(), goesOn bool) (err error) {
	defer generation.Recovered(&err, derive.ErrDefect, g.key.hex())
	set := evidence.NewSet()
	complete := g.isComplete()
	for _, rs := range g.traces.ResourceSpans().All() {
		trustMarker(rs.Resource().Attributes())
	}
	trustMarker(g.from)
	set.AddTraces(g.traces)
	set.AddTags(g.key.trace, g.tags, g.from, e.rules)
	if set.OnlyNotes() {
		// Remembered before the deck is asked: of a tag and evidence that come at once, one sees the other.
		e.tags.add(g.key, set.Tags(e.rules))
		holds, err := e.holds(ctx, w, g)
		if err != nil {
			e.count(ctx, failureOf(err), err, 1)
			return fmt.Errorf("trace %s: %w", g.key.hex(), err)
		}
		if !holds {
			return nil
		}
	}
	known := e.tags.tagsOf(g.key)
	set.AddTags(g.key.trace, known, g.from, e.rules)
	trace := []zap.Field{zap.String("trace_id", g.key.hex()), zap.String("tenant", g.key.tenant)}
	stored, written, err := w.Deliver(ctx, derive.Request{Tenant: g.key.tenant, TraceID: g.key.hex(), Set: set, Complete: complete, First: g.isFirst(), Late: g.isLate(), Idle: idle, GoesOn: goesOn})
	if stored != nil {
		e.placed(ctx, stored.Placement, trace)
		e.kept(ctx, stored.Keep)
	}
	for _, r := range written {
		e.telemetry.ExporterTapeWrittenRuns.Add(ctx, 1, metric.WithAttributes(
			attribute.String("status", string(r.Status)), attribute.String("grade", string(r.Grade))))
		e.telemetry.ExporterTapeFindings.Add(ctx, int64(r.Findings))
	}
	if err == nil {
		// These came meanwhile, and found nothing in the deck.
		if late := e.tags.tagsOf(g.key).Without(known); !late.IsEmpty() {
			return e.write(ctx, w, &group{key: g.key, traces: ptrace.NewTraces(), tags: late, from: g.from, items: g.items}, nil, false)
		}
		return nil
	}
	if errors.Is(err, generation.ErrNoRun) {
		// The evidence is durable; there is nothing to play.
		unread := errors.Is(err, generation.ErrUnread)
		e.telemetry.ExporterTapeEmptyTraces.Add(ctx, 1, metric.WithAttributes(attribute.Bool("content", unread)))
		if unread && now(&e.lastUnread) {
			e.logger.Warn("a trace holds content but no run that is known, so it gives no tape; `tapedeck doctor` says why", append(trace, zap.Error(err))...)
		}
		return nil
	}
	if errors.Is(err, deck.ErrBuried) {
		// Somebody has taken the trace, or this piece of it, away for good.
		e.telemetry.ExporterTapeBuriedTraces.Add(ctx, 1)
		return nil
	}
	if q := (*derive.QuarantineError)(nil); errors.As(err, &q) {
		e.telemetry.ExporterTapeQuarantinedTraces.Add(ctx, 1, metric.WithAttributes(attribute.String("what", q.What)))
		e.logger.Error("the gate found what redaction should have replaced; the trace lies in quarantine instead of in the deck",
			zap.String("trace_id", g.key.hex()), zap.String("tenant", g.key.tenant), zap.String("what", q.What), zap.Int("hits", q.Hits),
			zap.Strings("rules", q.Rules), zap.String("evidence", q.Evidence), zap.Int("dropped", q.Dropped), zap.String("report", q.Report))
		return nil
	}
	failed := failureOf(err)
	e.count(ctx, failed, err, 1)
	trace = append(trace, zap.Error(err))
	switch failed {
	case underivable:
		e.logger.Error("evidence is durable, but no tape could be made of it; `tapedeck derive` can try again", trace...)
		return nil
	case tooLarge:
		e.logger.Error("evidence is lost: it is too large for one object; lower max_trace_bytes of the agentrun processor", trace...)
	}
	return fmt.Errorf("trace %s: %w", g.key.hex(), err)
}

// holds tells whether the deck holds something of a trace of which agentrun found only tags. They move it to
// the replays. A tag alone makes no location: spans of web servers carry tags too. A deck of reels is not
// asked: there agentrun knows whether evidence has come. Without agentrun every tag is kept.
func (e *tapeExporter) holds(ctx context.Context, w writer, g *group) (bool, error) {
	if !g.marked {
		return true, nil
	}
	if files, ok := w.(*derive.Writer); ok {
		return files.Holds(ctx, g.key.tenant, g.key.hex())
	}
	return g.items > 0, nil
}

// placed counts what the second lock did: the first one should leave it nothing to do.
func (e *tapeExporter) placed(ctx context.Context, p derive.Placement, trace []zap.Field) {
	if p.Promoted > 0 {
		e.telemetry.ExporterTapePromotedTraces.Add(ctx, 1)
	}
	if p.Leaked > 0 {
		e.telemetry.ExporterTapeLeakedTraces.Add(ctx, 1)
		e.logger.Warn("a tag came after its run had been written as production; the run was moved to the replays",
			append(trace, zap.String("replay_run_id", p.Verdict.ID))...)
	}
	if p.Refused {
		side := "production"
		if p.Verdict.Replay {
			side = "replay"
		}
		e.telemetry.ExporterTapeRefusedTraces.Add(ctx, 1, metric.WithAttributes(attribute.String("side", side)))
	}
}

// kept counts what the keep policy decided.
func (e *tapeExporter) kept(ctx context.Context, reason keep.Reason) {
	switch reason {
	case "":
	case keep.Dropped:
		e.telemetry.ExporterTapeDroppedTraces.Add(ctx, 1)
	default:
		e.telemetry.ExporterTapeKeptTraces.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", string(reason))))
	}
}

// count notes a failed attempt, and logs what the next attempts will meet too once in a while.
func (e *tapeExporter) count(ctx context.Context, f failure, err error, traces int) {
	e.telemetry.ExporterTapeWriteErrors.Add(ctx, int64(traces), metric.WithAttributes(attribute.String("cause", string(f))))
	switch last := e.lastFailure[f]; {
	case errors.Is(err, context.Canceled): // a caller that stops
	case errors.Is(err, derive.ErrDefect):
		if now(&e.lastDefect) {
			e.logger.Error("a defect of this program keeps evidence from being stored; the sender keeps it and tries again; please report it", zap.Error(err))
		}
	case last != nil && now(last):
		e.logger.Error(f.words(), zap.Error(err))
	}
}

// warn logs what went wrong without harm.
func (e *tapeExporter) warn(err error) {
	if now(&e.lastWarning) {
		e.logger.Warn("something was left undone, which costs space and nothing else", zap.Error(err))
	}
}

// now tells whether the time for another log of a kind has come.
func now(last *atomic.Int64) bool {
	at, before := time.Now().UnixNano(), last.Load()
	return at-before > int64(logInterval) && last.CompareAndSwap(before, at)
}
