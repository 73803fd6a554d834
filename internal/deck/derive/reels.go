// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/tape"
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
	s = &Stored{Tenant: r.Tenant, TraceID: r.TraceID, Set: r.Set}
	location := w.place(r, s)
	part, err := w.encode(ctx, location, r)
	if err != nil {
		return nil, nil, err
	}
	own := deck.PartDigest(part)
	row := reel.Row{Evidence: part, Meta: reel.Meta{
		Tenant: r.Tenant, TraceID: r.TraceID, ReplayRunID: location.ReplayRunID, ReplayOf: s.Placement.Verdict.Of, Area: string(location.Area), Part: own, Parts: []string{own},
		Complete: r.Complete,
	}}
	derived, failure := w.derive(s, own, r.Set)
	if failure == nil && !s.Placement.Refused {
		failure = w.passFiles(ctx, location, []string{own}, derived.Runs)
		if q := (*QuarantineError)(nil); failure != nil && !errors.As(failure, &q) {
			return nil, nil, failure
		}
	}
	if failure != nil || s.Placement.Refused {
		derived = &Derived{Generation: w.newGeneration(w.items(s), []string{own}, w.producer)}
	}
	rows := w.Rows(row, derived)
	if w.options.EvidenceAlone {
		for i := range rows {
			rows[i].Tape = nil
		}
	}
	written = w.written(location, derived.Generation, derived.Tapes)
	// Thousands of calls wait in Add. What they hold is the rows, which the writer counts.
	s = &Stored{Tenant: r.Tenant, TraceID: r.TraceID, Placement: s.Placement}
	if err := w.rows.Add(ctx, rows, r.Idle, r.GoesOn); err != nil {
		return nil, nil, fmt.Errorf("write trace %s: %w", r.TraceID, err)
	}
	return s, written, failure
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

// encode returns the evidence in its canonical form, when the gate lets it through.
func (w *ReelWriter) encode(ctx context.Context, location deck.Location, r Request) (part []byte, err error) {
	defer Recovered(&err, ErrDefect, r.TraceID)
	if r.Set.Len() == 0 {
		return nil, fmt.Errorf("%w in trace %s: no spans of an agent run", ErrNoRun, r.TraceID)
	}
	w.stage(stageEncode)
	if part, err = r.Set.Canonical(); err != nil {
		return nil, fmt.Errorf("encode evidence of trace %s: %w", r.TraceID, err)
	}
	w.stage(stageGate)
	return part, w.passEvidence(ctx, location, r.Set)
}

// Rows are the rows of a derivation, with what is the same in all of them. The first one has the evidence; it is the only one of a derivation without tapes.
func (w *Writer) Rows(common reel.Row, d *Derived) []reel.Row {
	common.Producer, common.Formats = string(w.producer), w.options.Formats
	common.Revision, common.Items = int64(d.Generation.Revision), int64(d.Generation.Items)
	if len(d.Tapes) == 0 {
		return []reel.Row{common}
	}
	rows := make([]reel.Row, len(d.Tapes))
	for i, t := range d.Tapes {
		row := common
		row.Describe(t)
		if common.ReplayRunID != "" {
			row.ReplayRunID = common.ReplayRunID
		}
		for _, f := range d.Runs[i].Files {
			if f.Name == tape.TapeFile {
				row.Tape = bytes.Clone(f.Body) // without the room that the buffer has left: thousands of rows wait, and their sizes are counted
			} else {
				row.Files = append(row.Files, f.Name)
			}
		}
		slices.Sort(row.Files)
		if w.options.Sign != nil {
			row.Signature = w.options.Sign.Sign(Statement(t, row.Parts)).String()
		}
		if i > 0 {
			row.Evidence = nil
		}
		rows[i] = row
	}
	return rows
}

// Makes tells whether this writer would give a derivation from these parts the same name: then it makes the same tapes.
func (w *Writer) Makes(g deck.Generation, parts []string) bool {
	return w.newGeneration(g.Items, parts, w.producer) == g
}

// Derived is what a derivation has made.
type Derived struct {
	Generation deck.Generation
	Tapes      []*tape.Tape
	Runs       []deck.RunFiles // of the tapes
}

// Derive makes the tapes of a trace from its parts, and writes nothing. The deck of the writer may be nil. The error is ErrNoRun, ErrUnderivable, or one of read;
// with the first two the derivation is there as well, as far as it is known.
func (w *Writer) Derive(tenant, traceID string, parts []string, read func(digest string) ([]byte, error)) (_ *Derived, err error) {
	defer Recovered(&err, ErrUnderivable, traceID)
	s := &Stored{Tenant: tenant, TraceID: traceID, state: deck.LocationState{Parts: parts}}
	if err := w.unite(s, "", nil, read); err != nil {
		return nil, err
	}
	return w.derived(s)
}

// derive makes the tapes of one part that is known, and leaves what it took of it in s.
func (w *Writer) derive(s *Stored, part string, known *evidence.Set) (_ *Derived, err error) {
	defer Recovered(&err, ErrUnderivable, s.TraceID)
	s.state.Parts = []string{part}
	if err := w.unite(s, part, known, nil); err != nil {
		return nil, err
	}
	return w.derived(s)
}

func (w *Writer) derived(s *Stored) (*Derived, error) {
	tapes, reason, err := w.reconstruct(s)
	d := &Derived{Generation: w.newGeneration(w.items(s), s.state.Parts, w.producer)}
	if err != nil {
		return d, err
	}
	if len(tapes) == 0 {
		return d, w.noRun(s, reason)
	}
	d.Tapes = tapes
	d.Runs, _, err = w.render(nil, tapes)
	return d, err
}
