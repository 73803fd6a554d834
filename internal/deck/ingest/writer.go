// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// ErrKeyChange is returned, wrapped, for evidence that was redacted under another key than that of the deck.
var ErrKeyChange = errors.New("another redaction key")

// Writer writes batches for one tenant.
type Writer struct {
	// Options are those of the derivation.
	Options derive.Options
	Tenant  string
	// Compress stores the files of runs compressed.
	Compress bool
	// NoJoin writes each trace on its own; otherwise the traces of a batch are joined.
	NoJoin bool
	// SameKey compares the redaction key with that of the evidence at a location. Its error wraps
	// ErrKeyChange. Nil compares nothing.
	SameKey func(ctx context.Context, at deck.Location) error
	// Say is told of what was refused or left out.
	Say func(format string, args ...any)
	// Wrote is told of each tape; nil is nobody.
	Wrote func(derive.Written) error

	// Refused counts documents, audit records and traces, Written counts tapes. Last is the run of the last
	// tape.
	Refused, Written int
	Last             string
	failures         int // traces in a row that could not be written
}

// MaxFailures is how many traces in a row may fail. Then the deck is taken for one that cannot be written.
const MaxFailures = 3

// MaxExplained bounds the lines about many things of one kind.
const MaxExplained = 20

func (w *Writer) refuse(err error) {
	w.Refused++
	w.Say("%s", err.Error())
}

// Read adds documents to a batch.
func (w *Writer) Read(ctx context.Context, b *Batch, documents iter.Seq2[otlpfile.Document, error]) {
	for doc, err := range documents {
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = b.Add(doc)
		}
		if err != nil {
			w.refuse(err)
		}
	}
}

// CloseAudit adds the audit records of a batch to its evidence. No audit record may follow.
func (w *Writer) CloseAudit(b *Batch) {
	result := b.audit.Close()
	for i, p := range result.Problems {
		if !p.Used {
			w.Refused++
		}
		if i < MaxExplained {
			w.Say("%s", p.Error())
		}
	}
	if n := len(result.Problems) - MaxExplained; n > 0 {
		w.Say("%d more audit records fail their hash chain or signature", n)
	}
	if result.Unchecked > 0 {
		w.Say("the signatures of %d audit records were not checked; name the keys with --audit-keys", result.Unchecked)
	}
	if result.Left > 0 {
		w.Say("%d audit records belong to no run and were left out", result.Left)
	}
	b.addLogs(result.Logs)
}

// Write writes the evidence of a batch and its tapes, and empties the batch. An error ends it; what is
// refused is counted.
func (w *Writer) Write(ctx context.Context, d *deck.Deck, b *Batch) error {
	w.failures = 0
	d.Compress(w.Compress)
	o := w.Options
	o.Producer = generation.Producer()
	if d.Layout() == deck.LayoutReels {
		return w.writeReels(ctx, derive.NewReelWriter(d, o, reel.DefaultLimits), b)
	}
	return w.writeFiles(ctx, derive.NewWriter(d, o), b)
}

func (w *Writer) request(t evidence.Trace) derive.Request {
	return derive.Request{Tenant: w.Tenant, TraceID: t.TraceID, Set: t.Set, Complete: true}
}

func (w *Writer) writeFiles(ctx context.Context, to *derive.Writer, b *Batch) error {
	var stored []*derive.Stored
	store := func(ctx context.Context, t evidence.Trace) (*derive.Stored, error) {
		if err := w.sameKey(ctx, t.TraceID); err != nil {
			return nil, err
		}
		return to.Store(ctx, w.request(t))
	}
	for t, o := range inOrder(ctx, b.take(), writers, store) {
		if err := w.accept(ctx, b, t.TraceID, o.err); err != nil {
			return err
		}
		if o.err == nil {
			stored = append(stored, o.value)
		}
	}
	joinedRuns := map[string][]string{}
	if !w.NoJoin {
		joined, parts, err := to.Join(ctx, stored)
		if err := w.accept(ctx, b, "joined", err); err != nil {
			return err
		}
		joinedRuns = parts
		if err := w.wrote(joined); err != nil {
			return err
		}
	}
	tapes := func(ctx context.Context, s *derive.Stored) ([]derive.Written, error) {
		return to.Tapes(ctx, s, joinedRuns[s.TraceID])
	}
	for s, o := range inOrder(ctx, stored, writers, tapes) {
		if err := w.accept(ctx, b, s.TraceID, o.err); err != nil {
			return err
		}
		if err := w.wrote(o.value); err != nil {
			return err
		}
	}
	w.explain(b)
	return nil
}

// writeReels appends to a deck of reels. Each trace gives the tapes of its own evidence. Then the traces of
// the batch are joined.
func (w *Writer) writeReels(ctx context.Context, to *derive.ReelWriter, b *Batch) error {
	defer to.Close()
	type delivered struct {
		written []derive.Written
		stored  *derive.Stored
	}
	deliver := func(ctx context.Context, t evidence.Trace) (out delivered, err error) {
		if err := w.sameKey(ctx, t.TraceID); err != nil {
			return out, err
		}
		out.stored, out.written, err = to.Deliver(ctx, w.request(t))
		return out, err
	}
	var runs []*derive.Stored
	for t, o := range inOrder(ctx, b.take(), reelWriters, deliver) {
		if err := w.accept(ctx, b, t.TraceID, o.err); err != nil {
			return err
		}
		if err := w.wrote(o.value.written); err != nil {
			return err
		}
		if s := o.value.stored; s != nil && s.Placement.Area == deck.AreaRuns {
			runs = append(runs, s)
		}
	}
	w.explain(b)
	if w.NoJoin || len(runs) < 2 {
		return nil
	}
	for i, s := range runs {
		loaded, err := to.Load(ctx, s.Tenant, deck.Location{Area: deck.AreaRuns, Tenant: s.Tenant, TraceID: s.TraceID})
		if err != nil {
			return err
		}
		runs[i] = loaded
	}
	joined, _, err := to.Join(ctx, runs)
	if err := w.accept(ctx, b, "joined", err); err != nil {
		return err
	}
	return w.wrote(joined)
}

// sameKey compares the key with that of the evidence that the deck holds of a trace. Replays are compared
// with the deck as a whole.
func (w *Writer) sameKey(ctx context.Context, trace string) error {
	if w.SameKey == nil {
		return nil
	}
	for _, area := range []deck.Area{deck.AreaRuns, deck.AreaUndecided} {
		if err := w.SameKey(ctx, deck.Location{Area: area, Tenant: w.Tenant, TraceID: trace}); err != nil {
			return err
		}
	}
	return nil
}

// accept counts the outcome of one trace. It returns an error when the deck cannot be written at all.
func (w *Writer) accept(ctx context.Context, b *Batch, trace string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, generation.ErrNoRun):
		b.left[trace] = err.Error()
		return nil
	}
	delete(b.left, trace)
	switch q, quarantined := errors.AsType[*derive.QuarantineError](err); {
	case err == nil:
		w.failures = 0
		return nil
	case errors.Is(err, ErrKeyChange):
		w.failures = 0
		w.refuse(err)
		return nil
	case quarantined:
		w.failures = 0
		w.refuse(q)
		return nil
	}
	w.failures++
	w.refuse(fmt.Errorf("trace %s: %w", trace, err))
	if _, ofStore := errors.AsType[*deck.StoreError](err); ofStore && deck.IsPermanent(err) || w.failures == MaxFailures {
		return errors.New("the deck cannot be written; the remaining traces were left out")
	}
	return nil
}

func (w *Writer) wrote(tapes []derive.Written) error {
	for _, t := range tapes {
		if w.Wrote != nil {
			if err := w.Wrote(t); err != nil {
				return err
			}
		}
		w.Written++
		w.Last = t.RunID
	}
	return nil
}

func (w *Writer) explain(b *Batch) {
	for _, line := range b.explain() {
		w.Say("%s", line)
	}
}
