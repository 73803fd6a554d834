// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Limits say when a Writer writes what it has.
type Limits struct {
	// MaxBytes bounds the content that is held in memory, before compression. A reel closes at half of it: one half is gathered while the other is written.
	// Encoding takes as much again at most, and 32 MiB for its buffers where MaxBytes is less than 96 MiB.
	MaxBytes int64 `mapstructure:"max_bytes"`
	// MaxRuns closes a reel that holds so many traces.
	MaxRuns int `mapstructure:"max_runs"`
	// MaxWait closes a reel so long after its first trace came. A tenth of it without another trace closes it too, and of a load three tenths.
	MaxWait time.Duration `mapstructure:"max_wait"`
}

// DefaultLimits are those of the exporter.
var DefaultLimits = Limits{MaxBytes: 128 << 20, MaxRuns: 5000, MaxWait: 5 * time.Second}

// Validate reports limits with which nothing would be written, or everything alone.
func (l Limits) Validate() error {
	switch {
	case l.MaxBytes < 1<<20:
		return errors.New("max_bytes must be at least 1 MiB")
	case l.MaxRuns < 1:
		return errors.New("max_runs must be at least 1")
	case l.MaxWait < 10*time.Millisecond || l.MaxWait > time.Hour:
		return errors.New("max_wait must be between 10ms and 1h")
	}
	return nil
}

// quiet is how long a batch waits for another trace. A run that comes alone is soon there, and nobody waits long when everybody who may bring one does. A load comes in
// bursts: agentrun looks once a second for what has ended.
func (l Limits) quiet(b *batch) time.Duration {
	if b.bounded || len(b.traces) < few {
		return l.MaxWait / 10
	}
	return l.MaxWait / 10 * 3
}

// few is how many traces do not tell of a load.
const few = 16

// Writer appends rows to a deck by group commit: the traces that are on their way at the same time share an object. It reads nothing. It is safe for concurrent use.
type Writer struct {
	deck   *deck.Deck
	limits Limits
	room   *semaphore.Weighted
	shelf  shelf

	mu       sync.Mutex
	batch    *batch // that takes rows; nil if none is begun
	flushing sync.WaitGroup

	encoding sync.Mutex // one reel at a time: its pages and its bytes are memory beside room
	encoded  func()     // called when rows and their reel are both in memory, which is when most is
}

// batch is what is written together.
type batch struct {
	traces  []*pending
	bytes   int64
	due     *time.Timer // MaxWait after the first trace
	still   *time.Timer // Limits.quiet after the last one
	bounded bool        // a sender of these traces waits for them and may bring no other one meanwhile
	waiting int         // callers; when the last one leaves, nobody wants the batch any more
	cancel  context.CancelFunc
	ctx     context.Context
}

// pending is the rows of one call of Add.
type pending struct {
	area, tenant string
	rows         []Row    // until they are encoded
	held         []*board // of the shelf, as long
	weight       int64    // of them, in Writer.room
	done         chan error
}

// NewWriter returns a writer of a deck of reels.
func NewWriter(d *deck.Deck, l Limits) *Writer {
	return &Writer{deck: d, limits: l, room: semaphore.NewWeighted(l.MaxBytes), encoded: func() {}}
}

// Add returns when the rows of one trace are durable, together in one reel. An error concerns these rows
// alone, unless it is one of the store. It calls idle (which may be nil) when nothing is left to do for these
// rows but to wait. It has copied their content then. goesOn says that others come whether these are durable
// or not: their sender waits for none of them.
func (w *Writer) Add(ctx context.Context, rows []Row, idle func(), goesOn bool) error {
	if len(rows) == 0 {
		return nil
	}
	size := int64(0)
	for i := range rows {
		if err := rows[i].check(); err != nil {
			return err
		}
		if i > 0 && (rows[i].Area != rows[0].Area || rows[i].Tenant != rows[0].Tenant || rows[i].TraceID != rows[0].TraceID) {
			return errors.New("rows of several traces in one call")
		}
		size += rows[i].size()
	}
	if size > deck.MaxObjectBytes/2 {
		return deck.TooLarge("put", Area, rows[0].Location().Prefix())
	}
	weight := min(size, w.limits.MaxBytes)
	if !w.room.TryAcquire(weight) {
		w.Flush() // what is gathered need not wait for more: there is no room for it
		if err := w.room.Acquire(ctx, weight); err != nil {
			return fmt.Errorf("wait for memory: %w", err)
		}
	}
	p := &pending{rows[0].Area, rows[0].Tenant, rows, w.shelf.keep(rows), weight, make(chan error, 1)}
	b := w.join(p, goesOn)
	defer w.leave(b)
	if idle != nil {
		idle()
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join puts rows into the batch.
func (w *Writer) join(p *pending, goesOn bool) *batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.batch
	if b == nil {
		b = &batch{}
		b.ctx, b.cancel = context.WithCancel(context.Background())
		close := func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.close(b)
		}
		b.due, b.still = time.AfterFunc(w.limits.MaxWait, close), time.AfterFunc(w.limits.quiet(b), close)
		w.batch = b
	}
	b.bounded = b.bounded || !goesOn
	b.traces = append(b.traces, p)
	b.bytes += p.weight
	b.waiting++
	if b.bytes >= w.limits.MaxBytes/2 || len(b.traces) >= w.limits.MaxRuns {
		w.close(b)
	} else {
		b.still.Reset(w.limits.quiet(b))
	}
	return b
}

func (w *Writer) leave(b *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b.waiting--; b.waiting == 0 && w.batch != b {
		b.cancel()
	}
}

// close lets a batch be written that takes rows still. mu is held.
func (w *Writer) close(b *batch) {
	if w.batch != b {
		return
	}
	w.batch = nil
	b.due.Stop()
	b.still.Stop()
	w.flushing.Go(func() {
		defer b.cancel()
		w.write(b)
		w.rest()
	})
}

// rest lets memory go where no rows came while others were written.
func (w *Writer) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.batch == nil {
		w.shelf.clear()
	}
}

// Flush writes what has come so far, without waiting for more.
func (w *Writer) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.batch != nil {
		w.close(w.batch)
	}
}

// Close writes what has come, and returns when nothing is on its way.
func (w *Writer) Close() {
	w.Flush()
	w.flushing.Wait()
}

// write writes a batch: a reel for each area and tenant.
func (w *Writer) write(b *batch) {
	slices.SortStableFunc(b.traces, func(x, y *pending) int {
		return cmp.Or(cmp.Compare(x.area, y.area), cmp.Compare(x.tenant, y.tenant))
	})
	err := w.deck.Begin(b.ctx)
	for len(b.traces) > 0 {
		first := b.traces[0]
		n := slices.IndexFunc(b.traces, func(p *pending) bool { return p.area != first.area || p.tenant != first.tenant })
		if n < 0 {
			n = len(b.traces)
		}
		group := b.traces[:n]
		b.traces = b.traces[n:]
		if err != nil {
			w.answer(group, weightOf(group), err)
			continue
		}
		w.writeGroup(b.ctx, group)
	}
}

func weightOf(group []*pending) (weight int64) {
	for _, p := range group {
		weight += p.weight
	}
	return weight
}

// answer ends the calls of a group, of which so much is held still.
func (w *Writer) answer(group []*pending, held int64, err error) {
	w.room.Release(held)
	for _, p := range group {
		w.forget(p)
		p.done <- err
	}
}

// writeGroup writes one reel. If it cannot be made, each trace is tried alone: one that breaks the encoder fails by itself.
func (w *Writer) writeGroup(ctx context.Context, group []*pending) {
	body, err := w.encode(group)
	if err != nil && len(group) > 1 {
		for i := range group {
			w.writeGroup(ctx, group[i:i+1])
		}
		return
	}
	held := weightOf(group)
	if err == nil {
		// From here on the bytes of the reel stand for the rows. What waits for room need not wait for the store.
		if spare := held - int64(len(body)); spare > 0 {
			w.room.Release(spare)
			held -= spare
		}
		_, err = Put(ctx, w.deck, NameOf(deck.Area(group[0].area), group[0].tenant, time.Now(), 0, body), body)
	}
	w.answer(group, held, err)
}

// encode makes one reel of the rows of a group, which lets them go.
func (w *Writer) encode(group []*pending) ([]byte, error) {
	w.encoding.Lock()
	defer w.encoding.Unlock()
	rows := 0
	for _, p := range group {
		rows += len(p.rows)
	}
	all := make([]Row, 0, rows)
	for _, p := range group {
		all = append(all, p.rows...)
	}
	encoder, err := encodeSafely(all, min(groupBytes, w.limits.MaxBytes/16))
	if err != nil {
		return nil, err
	}
	w.encoded()
	for _, p := range group {
		w.forget(p)
	}
	clear(all)
	return encoder.out.join(), nil // while nobody else encodes: the pieces are there still
}

// forget lets the rows of a call go.
func (w *Writer) forget(p *pending) {
	w.shelf.release(p.held)
	p.rows, p.held = nil, nil
}

func encodeSafely(rows []Row, groupBytes int64) (_ *Encoder, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a defect of this program: these rows break the encoder: %v", p)
		}
	}()
	e := newEncoderOf(groupBytes)
	if err := e.addAll(rows); err != nil {
		return nil, err
	}
	return e, e.end()
}

// Put writes a reel.
func Put(ctx context.Context, d *deck.Deck, n Name, body []byte) (created bool, err error) {
	if created, err = d.Store().PutNew(ctx, n.Key(), body, contentType); err != nil {
		return false, fmt.Errorf("write reel: %w", err)
	}
	return created, nil
}
