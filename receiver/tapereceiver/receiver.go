// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapereceiver // import "github.com/tapedeck/tapedeck/receiver/tapereceiver"

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/receiver/tapereceiver/internal/metadata"
)

// The pause after a failure, of the deck or of the next component. It doubles with every further one.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
)

// tapeReceiver emits the evidence of a deck, trace by trace.
type tapeReceiver struct {
	set       receiver.Settings
	cfg       *Config
	telemetry *metadata.TelemetryBuilder
	traces    consumer.Traces // nil: in no pipeline of traces
	logs      consumer.Logs   // nil: in no pipeline of logs
	forget    func()

	start, stop sync.Once
	startErr    error
	cancel      context.CancelFunc
	done        chan struct{}
	emitted     storage.Client
	refused     map[string]bool // traces that the next component does not take
	next        time.Time       // when the next trace may be emitted
}

func newReceiver(set receiver.Settings, cfg *Config) (*tapeReceiver, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &tapeReceiver{set: set, cfg: cfg, telemetry: telemetry, refused: map[string]bool{}, forget: func() {}}, nil
}

// Start implements component.Component. It is called for each pipeline.
func (r *tapeReceiver) Start(ctx context.Context, host component.Host) error {
	r.start.Do(func() { r.startErr = r.begin(ctx, host) })
	return r.startErr
}

func (r *tapeReceiver) begin(ctx context.Context, host component.Host) (err error) {
	if r.emitted, err = r.storage(ctx, host); err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel, r.done = cancel, make(chan struct{})
	go func() {
		defer close(r.done)
		r.run(running, host)
	}()
	return nil
}

func (r *tapeReceiver) storage(ctx context.Context, host component.Host) (storage.Client, error) {
	if r.cfg.Storage == nil {
		return &memory{}, nil
	}
	extension, ok := host.GetExtensions()[*r.cfg.Storage]
	if !ok {
		return nil, fmt.Errorf("storage extension %q is not configured", r.cfg.Storage)
	}
	s, ok := extension.(storage.Extension)
	if !ok {
		return nil, fmt.Errorf("extension %q is no storage", r.cfg.Storage)
	}
	return s.GetClient(ctx, component.KindReceiver, r.set.ID, "emitted")
}

// Shutdown implements component.Component.
func (r *tapeReceiver) Shutdown(ctx context.Context) (err error) {
	r.stop.Do(func() {
		defer r.telemetry.Shutdown()
		r.forget()
		if r.cancel != nil {
			r.cancel()
			<-r.done
		}
		if r.emitted != nil {
			err = r.emitted.Close(ctx)
		}
	})
	return err
}

// run lists the deck, once or again and again, and emits what is new in it.
func (r *tapeReceiver) run(ctx context.Context, host component.Host) {
	pause := firstPause
	for {
		err := r.pass(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.set.Logger.Error("The deck cannot be read. It is tried again.", zap.Error(err), zap.Duration("after", pause))
			componentstatus.ReportStatus(host, componentstatus.NewRecoverableErrorEvent(err))
			if !wait(ctx, pause) {
				return
			}
			pause = min(2*pause, lastPause)
			continue
		}
		pause = firstPause
		componentstatus.ReportStatus(host, componentstatus.NewEvent(componentstatus.StatusOK))
		if r.cfg.Watch == 0 {
			r.set.Logger.Info("All that was asked for is emitted.")
			return
		}
		if !wait(ctx, r.cfg.Watch) {
			return
		}
	}
}

// wait reports whether the time went by before the end came.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// recorded is a trace of the deck that is to be emitted.
type recorded struct {
	at      deck.Location
	tenant  string // as the tapes have it
	started int64  // microseconds of Unix time, of its first run
}

// pass lists the deck and emits the traces in the order in which they started.
func (r *tapeReceiver) pass(ctx context.Context) (err error) {
	d, err := deck.Open(ctx, r.cfg.Deck)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	all, err := r.list(ctx, d)
	if err != nil {
		return err
	}
	var failed error
	for _, t := range all {
		if err := r.emit(ctx, d, t); err != nil {
			if ctx.Err() != nil {
				return err
			}
			r.telemetry.ReceiverTapeUnreadableTraces.Add(ctx, 1)
			r.set.Logger.Warn("The evidence of a trace cannot be read.", zap.Stringer("trace", t.at), zap.Error(err))
			failed = err
		}
	}
	if failed != nil && r.cfg.Watch == 0 {
		return failed // what was emitted is not emitted again
	}
	return nil
}

// list finds the traces that hold the runs which the filters take.
func (r *tapeReceiver) list(ctx context.Context, d *deck.Deck) ([]recorded, error) {
	f, err := r.cfg.filter(time.Now())
	if err != nil {
		return nil, err
	}
	found := map[deck.Location]recorded{}
	for run, err := range view.Select(ctx, d, f.Query(view.Query{Columns: []string{"started_at", "run_id", "tenant"}})) {
		if err != nil {
			if !errors.Is(err, deck.ErrCorrupt) {
				return nil, err
			}
			r.telemetry.ReceiverTapeUnreadableTraces.Add(ctx, 1)
			r.set.Logger.Warn("A tape cannot be read.", zap.Error(err))
			continue
		}
		at := run.Ref.Location
		if len(r.cfg.Runs) > 0 && !slices.Contains(r.cfg.Runs, run.RunID) && !slices.Contains(r.cfg.Runs, at.TraceID) {
			continue
		}
		t, known := found[at]
		if !known || run.StartedAt < t.started {
			t = recorded{at, cmp.Or(run.Tenant, at.Tenant), run.StartedAt}
		}
		found[at] = t
	}
	all := make([]recorded, 0, len(found))
	for _, t := range found {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b recorded) int {
		return cmp.Or(cmp.Compare(a.started, b.started), strings.Compare(a.at.String(), b.at.String()))
	})
	return all, nil
}

// emit emits what of a trace has not been emitted, and remembers it when it is accepted.
func (r *tapeReceiver) emit(ctx context.Context, d *deck.Deck, t recorded) error {
	if r.refused[t.at.String()] {
		return nil
	}
	digests, err := d.Parts(ctx, t.at)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(d.String() + "\x00" + t.at.String()))
	key := hex.EncodeToString(sum[:16])
	known, err := r.emitted.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	emitted := strings.Fields(string(known))
	fresh := slices.DeleteFunc(slices.Clone(digests), func(digest string) bool { return slices.Contains(emitted, digest) })
	if len(fresh) == 0 {
		return nil
	}
	set := evidence.NewSet()
	for _, digest := range fresh {
		part, err := d.ReadPart(ctx, t.at, digest)
		if err != nil {
			return err
		}
		s, err := evidence.FromPart(part)
		if err != nil {
			return err
		}
		set.Merge(s)
	}
	if !r.mayEmit(ctx) {
		return ctx.Err()
	}
	items, refused, err := r.send(ctx, d, t, set)
	if err != nil {
		return err
	}
	if refused != nil {
		r.refused[t.at.String()] = true
		r.telemetry.ReceiverTapeRefusedTraces.Add(ctx, 1)
		r.set.Logger.Error("The next component refuses a trace.", zap.Stringer("trace", t.at), zap.Error(refused))
		return nil
	}
	r.telemetry.ReceiverTapeEmittedTraces.Add(ctx, 1)
	r.telemetry.ReceiverTapeEmittedItems.Add(ctx, int64(items))
	return r.remember(ctx, key, slices.Concat(emitted, fresh))
}

// remember notes what was emitted. It is tried until it is noted: what is not is emitted again.
func (r *tapeReceiver) remember(ctx context.Context, key string, digests []string) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := r.emitted.Set(context.WithoutCancel(ctx), key, []byte(strings.Join(digests, "\n")))
		if err == nil {
			return nil
		}
		r.set.Logger.Error("The storage does not take what was emitted.", zap.Error(err), zap.Duration("after", pause))
		if !wait(ctx, pause) {
			return err
		}
	}
}

// mayEmit waits until the rate allows a trace.
func (r *tapeReceiver) mayEmit(ctx context.Context) bool {
	if r.cfg.TracesPerSecond == 0 {
		return ctx.Err() == nil
	}
	if now := time.Now(); r.next.Before(now) {
		r.next = now
	}
	ok := wait(ctx, time.Until(r.next))
	r.next = r.next.Add(time.Duration(float64(time.Second) / r.cfg.TracesPerSecond))
	return ok
}

// send gives a trace to the pipelines, and returns how many items it was. refused is the error of a component that will never take it.
func (r *tapeReceiver) send(ctx context.Context, d *deck.Deck, t recorded, set *evidence.Set) (items int, refused, err error) {
	td, ld := r.prepare(d, t, set)
	ctx = client.NewContext(ctx, client.Info{Metadata: client.NewMetadata(map[string][]string{r.cfg.TenantKey: {t.tenant}})})
	if r.traces != nil && td.SpanCount() > 0 {
		items += td.SpanCount()
		refused, err = r.untilTaken(ctx, func() error {
			given := ptrace.NewTraces() // whoever refuses may have changed it
			td.CopyTo(given)
			return r.traces.ConsumeTraces(ctx, given)
		})
	}
	if r.logs != nil && ld.LogRecordCount() > 0 && refused == nil && err == nil {
		items += ld.LogRecordCount()
		refused, err = r.untilTaken(ctx, func() error {
			given := plog.NewLogs()
			ld.CopyTo(given)
			return r.logs.ConsumeLogs(ctx, given)
		})
	}
	return items, refused, err
}

// untilTaken gives something to the next component until it takes it, or says that it never will.
func (r *tapeReceiver) untilTaken(ctx context.Context, give func() error) (refused, err error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		switch err := give(); {
		case err == nil:
			return nil, nil
		case consumererror.IsPermanent(err):
			return err, nil
		default:
			r.set.Logger.Warn("The next component does not take a trace yet.", zap.Error(err), zap.Duration("after", pause))
		}
		if !wait(ctx, pause) {
			return nil, ctx.Err()
		}
	}
}

// memory remembers until the collector ends.
type memory struct{ all map[string][]byte }

func (m *memory) Get(_ context.Context, key string) ([]byte, error) { return m.all[key], nil }

func (m *memory) Set(_ context.Context, key string, value []byte) error {
	if m.all == nil {
		m.all = map[string][]byte{}
	}
	m.all[key] = value
	return nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	delete(m.all, key)
	return nil
}

func (m *memory) Batch(context.Context, ...*storage.Operation) error { return errors.ErrUnsupported }

func (m *memory) Close(context.Context) error { return nil }
