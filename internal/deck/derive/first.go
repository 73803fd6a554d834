// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
)

// early is what was written of a trace before anybody had looked whether the deck holds it already.
type early struct {
	*Stored
	alone bool // the deck held nothing else of the trace, and nothing spoke against it
}

// writeFirst writes the part and the tapes of a production trace that is new, and only then looks: once, at everything that any writer notes about
// a trace. Mostly nothing else is there, and the trace is done.
//
// The look comes after the writes, and everybody else who does something to a trace writes before he looks too: another part, a tombstone, the flag
// of undecided evidence. So of two that meet, the later one to look sees what the other has written. What is found here sends the delivery the way
// of all others, for which these writes are like those of another writer that came first.
//
// It returns nil where a trace is not written this way.
func (w *Writer) writeFirst(ctx context.Context, r Request, d *delivery) (_ *early, written []Written, err error) {
	if !w.mayWriteFirst(r) {
		return nil, nil, nil
	}
	location := deck.Location{Area: deck.AreaRuns, Tenant: r.Tenant, TraceID: r.TraceID}
	target, ok, err := w.deck.NewTraceWriter(ctx, location)
	if err != nil || !ok {
		return nil, nil, err
	}
	flush := func() error {
		if err := target.FlushPart(ctx); err != nil {
			return fmt.Errorf("write part of trace %s: %w", r.TraceID, err)
		}
		d.durable = d.own != ""
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			if err = flush(); err == nil {
				err = generation.Defect(d.sentinel(), r.TraceID, p)
			}
		}
	}()
	w.deriver.Stage(stageEncode)
	buf := scratch.Get().(*[]byte)
	defer func() { scratch.Put(buf) }()
	part, err := r.Set.CanonicalIn(buf)
	if err != nil {
		return nil, nil, fmt.Errorf("encode evidence of trace %s: %w", r.TraceID, err)
	}
	w.deriver.Stage(stageGate)
	if err := w.passEvidence(ctx, location, r.Set); err != nil {
		return nil, nil, err
	}
	own, created, held, err := target.HoldPart(ctx, part)
	if err != nil {
		return nil, nil, fmt.Errorf("write part of trace %s: %w", r.TraceID, err)
	}
	d.durable, d.own, d.puts = !held, own, append(d.puts, location)
	if held && !d.free() {
		// Others derive from what is durable when their turn comes.
		if err := flush(); err != nil {
			return nil, nil, err
		}
	}
	if err := d.wait(ctx); err != nil {
		return nil, nil, err // what was held is durable: nobody waits without
	}
	if !created && !held || d.turn.last != nil {
		return nil, nil, nil // a part that is held still is written on the way of all others
	}
	s := &Stored{Evidence: generation.Evidence{Tenant: r.Tenant, TraceID: r.TraceID}, target: target, state: deck.LocationState{Parts: []string{own}}, request: r, delivery: d}
	if err := w.unite(ctx, s, own, r.Set); err != nil {
		return nil, nil, err
	}
	s.Placement = Placement{Area: deck.AreaRuns, Verdict: s.Set.Verdict(w.options.Replay)}
	written, failed := w.tapes(ctx, s, nil)
	if err := flush(); err != nil { // unless the generation came to be, and the part with it
		return nil, nil, err
	}
	if s.state, err = target.State(ctx); err != nil {
		return nil, nil, fmt.Errorf("list trace %s: %w", r.TraceID, err)
	}
	others := slices.ContainsFunc(s.state.Generations, func(g deck.GenerationState) bool { return !slices.Contains(d.made, made{location, g.Generation}) })
	alone := !target.Tombstones().Any() && slices.Equal(s.state.Parts, s.Parts) && !others
	return &early{s, alone}, written, failed
}

// mayWriteFirst reports whether a request brings all of a production trace that is new as far as its sender
// knows.
func (w *Writer) mayWriteFirst(r Request) bool {
	return r.First && r.Complete && r.Set.Len() > 0 && !w.options.Accept.refuses(deck.AreaRuns) && !r.Set.Verdict(w.options.Replay).Replay
}

// takeBack removes what a delivery has written in vain: the part and the tapes of it where somebody had taken them away for good, and tapes that
// were made of other parts than those that it has come to. err is what it came to.
func (w *Writer) takeBack(ctx context.Context, r Request, d *delivery, err error) error {
	var takeErr error
	switch n := len(d.made); {
	case errors.Is(err, deck.ErrBuried):
		// Also where nothing was written now: an earlier attempt may have died.
		locations := append(d.puts, deck.Location{Area: deck.AreaRuns, Tenant: r.Tenant, TraceID: r.TraceID})
		for i, location := range locations {
			if !slices.Contains(locations[:i], location) {
				takeErr = errors.Join(takeErr, w.takeBuried(ctx, location, d))
			}
		}
	case err == nil && n > 1:
		last := d.made[n-1]
		takeErr = w.removeGenerations(ctx, last.location, d.made, func(g deck.Generation) bool { return g != last.generation })
	}
	if takeErr != nil {
		return fmt.Errorf("take back what was written of trace %s: %w", r.TraceID, takeErr)
	}
	return err
}

// takeBuried takes away what lies at a location in spite of its tombstones.
func (w *Writer) takeBuried(ctx context.Context, location deck.Location, d *delivery) error {
	_, _, goesOn, err := w.deck.MovedTo(ctx, location)
	if err != nil {
		return err
	}
	t, err := w.deck.Tombstones(ctx, location)
	switch {
	case err != nil:
		return err
	case t.Trace() && !goesOn:
		_, err = w.deck.Bury(ctx, location, deck.Burial{Reason: deck.ReasonRequest}) // its tombstone is there already
		return err
	case t.Trace():
		err = w.deck.Remove(ctx, location, deck.LocationState{Parts: []string{d.own}})
	case t.Part(d.own):
		err = w.deck.BuryPart(ctx, location, d.own, deck.Burial{Reason: deck.ReasonScrub}) // its tombstone is there already
	}
	if err != nil {
		return err
	}
	return w.removeGenerations(ctx, location, d.made, func(g deck.Generation) bool { return t.Part(d.own) || t.Generation(g) })
}

// removeGenerations removes those of the generations that were made at a location which are unwanted.
func (w *Writer) removeGenerations(ctx context.Context, location deck.Location, all []made, unwanted func(deck.Generation) bool) error {
	gone := func(g deck.GenerationState) bool {
		return slices.Contains(all, made{location, g.Generation}) && unwanted(g.Generation)
	}
	remains, err := w.deck.Remains(ctx, location)
	if err != nil {
		return err
	}
	return w.deck.RemoveGenerations(ctx, location, slices.DeleteFunc(remains.Generations, func(g deck.GenerationState) bool { return !gone(g) }))
}
