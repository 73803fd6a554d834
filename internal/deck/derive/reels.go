// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"errors"
	"fmt"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/keep"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// ReelWriter writes evidence and tapes into a deck of reels. It appends, and reads nothing of the deck: each delivery gives the tapes of its own evidence, and
// readers unite what lies there of a trace. What Deliver returns has no evidence. It is safe for concurrent use.
type ReelWriter struct {
	*Writer
	rows *reel.Writer
}

// NewReelWriter returns a writer for a deck of reels. Close writes what waits.
func NewReelWriter(d *deck.Deck, o Options, l reel.Limits) *ReelWriter {
	return &ReelWriter{NewWriter(d, o), reel.NewWriter(d, l)}
}

// Flush writes what has come, without waiting for more.
func (w *ReelWriter) Flush() { w.rows.Flush() }

// Close returns when nothing is on its way to the deck.
func (w *ReelWriter) Close() { w.rows.Close() }

// Deliver makes the evidence of a trace durable together with the tapes that it gives by itself. Its errors are those of Writer.Deliver, and of this trace alone
// unless the store fails. Repeating it changes nothing for a reader.
func (w *ReelWriter) Deliver(ctx context.Context, r Request) (s *Stored, written []Written, err error) {
	before, err := w.earlier(ctx, r, r.alone())
	if err != nil {
		return nil, nil, err
	}
	return w.deliver(ctx, r, &before)
}

func (w *ReelWriter) deliver(ctx context.Context, r Request, before *earlier) (s *Stored, written []Written, err error) {
	s = &Stored{Evidence: generation.Evidence{Tenant: r.Tenant, TraceID: r.TraceID, Set: r.Set}}
	location := w.place(r, s)
	lent := newLoan()
	defer lent.end()
	part, err := w.encode(ctx, location, r, lent.part)
	if err != nil {
		return nil, nil, err
	}
	own := deck.PartDigest(part)
	row := reel.Row{Evidence: part, Meta: reel.Meta{
		Tenant: r.Tenant, TraceID: r.TraceID, ReplayRunID: location.ReplayRunID, ReplayOf: s.Placement.Verdict.Of, Area: string(location.Area), Part: own, Parts: []string{own},
		Complete: r.Complete,
	}}
	rows, written, failure := w.derive(ctx, r, before, location, s, row, lent.text)
	if rows == nil {
		return nil, nil, failure
	}
	if before.dropped && s.Keep != keep.Dropped {
		if noted, err := r.noteDropped(); err != nil {
			return nil, nil, err
		} else if noted {
			before.decided = s.Keep
			lent.end()
			return w.deliver(ctx, r, before)
		}
	}
	// Thousands of calls wait in Add. What they hold is the rows, which the writer counts.
	r.Set = nil
	s = &Stored{Evidence: generation.Evidence{Tenant: r.Tenant, TraceID: r.TraceID}, Placement: s.Placement, Keep: s.Keep}
	idle := func() {
		lent.end()
		if r.Idle != nil {
			r.Idle()
		}
	}
	if err := w.rows.Add(ctx, rows, idle, r.GoesOn); err != nil {
		return nil, nil, fmt.Errorf("write trace %s: %w", r.TraceID, err)
	}
	return s, written, failure
}

// loan is the memory in which rows are made.
type loan struct{ part, text *[]byte }

func newLoan() *loan { return &loan{scratch.Get().(*[]byte), scratch.Get().(*[]byte)} }

// end gives the memory back. It does so once.
func (l *loan) end() {
	if l.part != nil {
		scratch.Put(l.part)
		scratch.Put(l.text)
		*l = loan{}
	}
}

// derive makes the rows of a part: with its tapes, or alone where there are none or the gate keeps them. Such
// a failure comes with the rows. Without rows the gate has failed itself. The tapes lie in text.
func (w *ReelWriter) derive(ctx context.Context, r Request, before *earlier, location deck.Location, s *Stored, row reel.Row, text *[]byte) ([]reel.Row, []Written, error) {
	derived, failure := w.deriver.DerivePart(&s.Evidence, row.Part, text)
	if !s.Placement.Refused {
		if r.alone() && errors.Is(failure, generation.ErrNoRun) { // such as a verdict, which belongs to a run that came before
			e, err := w.earlier(ctx, r, false)
			if err != nil {
				return nil, nil, err
			}
			*before = e
		}
		s.Keep = w.decide(r, *before, derived, failure)
		row.Keep = string(s.Keep)
	}
	if failure == nil && !s.Placement.Refused {
		failure = w.passFiles(ctx, location, row.Parts, derived.Runs)
		if q := (*QuarantineError)(nil); failure != nil && !errors.As(failure, &q) {
			return nil, nil, failure
		}
	}
	if failure != nil || s.Placement.Refused {
		var naming []genai.Verdict
		if derived != nil {
			naming = derived.Naming
		}
		derived = &generation.Derived{Generation: w.deriver.Name(w.deriver.Items(&s.Evidence), row.Parts), Naming: naming}
	}
	rows := w.deriver.Rows(row, derived)
	if s.Keep == keep.Dropped {
		drop(rows)
		if errors.Is(failure, generation.ErrNoRun) {
			failure = nil // nobody misses a run that was not to be kept
		}
		return rows, nil, failure
	}
	if w.options.EvidenceAlone {
		for i := range rows {
			rows[i].Tape = nil
		}
	}
	return rows, w.written(location, derived.Generation, derived.Tapes), failure
}

// place decides where the evidence goes, from the evidence alone: what else the deck holds of the trace is for the reader to see.
func (w *ReelWriter) place(r Request, s *Stored) deck.Location {
	l := deck.Location{Area: deck.AreaUndecided, Tenant: r.Tenant, TraceID: r.TraceID}
	p := &s.Placement
	p.Verdict = r.Set.Verdict(w.options.Replay)
	switch {
	case p.Verdict.Replay:
		if p.Refused = w.options.Accept.refuses(deck.AreaReplays); !p.Refused {
			l.Area, l.ReplayRunID = deck.AreaReplays, p.Verdict.ID
		}
	case r.Complete:
		if !w.options.Accept.refuses(deck.AreaRuns) {
			l.Area = deck.AreaRuns
		} else {
			p.Refused = w.options.Accept != AcceptUndecided
		}
	}
	p.Area = l.Area
	return l
}

// encode returns the evidence in its canonical form, when the gate lets it through. It lies in buf.
func (w *ReelWriter) encode(ctx context.Context, location deck.Location, r Request, buf *[]byte) (part []byte, err error) {
	defer generation.Recovered(&err, ErrDefect, r.TraceID)
	if r.Set.Len() == 0 {
		return nil, fmt.Errorf("%w in trace %s: no spans of an agent run", generation.ErrNoRun, r.TraceID)
	}
	w.deriver.Stage(stageEncode)
	if part, err = r.Set.CanonicalIn(buf); err != nil {
		return nil, fmt.Errorf("encode evidence of trace %s: %w", r.TraceID, err)
	}
	w.deriver.Stage(stageGate)
	return part, w.passEvidence(ctx, location, r.Set)
}
