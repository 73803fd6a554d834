// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// Accept is the side whose traces a Writer may start. It checks once more what the components before it have decided.
type Accept string

// The sides. Evidence that is not accepted, and lies nowhere yet, goes under undecided/ without tapes.
const (
	AcceptAny        Accept = ""
	AcceptProduction Accept = "production"
	AcceptReplay     Accept = "replay"
	AcceptUndecided  Accept = "undecided" // begins no trace at all
)

func (a Accept) refuses(area deck.Area) bool {
	switch a {
	case AcceptProduction:
		return area != deck.AreaRuns
	case AcceptReplay:
		return area != deck.AreaReplays
	case AcceptUndecided:
		return true
	default:
		return false
	}
}

// Placement says where evidence was written, and why.
type Placement struct {
	Area    deck.Area
	Verdict segregation.Verdict
	// Refused tells that the side is not accepted here: the evidence waits under undecided/, without tapes.
	Refused bool
	// Promoted counts parts that lay under undecided/ before, Leaked those of a replay that lay under runs/.
	Promoted, Leaked int
}

// Holds tells whether the deck holds something of a trace, or holds that it is elsewhere or was taken away.
func (w *Writer) Holds(ctx context.Context, tenant, traceID string) (bool, error) {
	runs := deck.Location{Area: deck.AreaRuns, Tenant: tenant, TraceID: traceID}
	at, err := w.deck.LocationWriter(ctx, runs)
	if err != nil {
		return false, fmt.Errorf("look for tombstones of trace %s: %w", traceID, err)
	}
	state, err := at.State(ctx)
	if err == nil && len(state.Parts) == 0 && !at.Buried() && at.Tombstones().Undecided() {
		undecided := runs
		undecided.Area = deck.AreaUndecided
		state, err = w.deck.State(ctx, undecided)
	}
	if err != nil {
		return false, fmt.Errorf("list trace %s: %w", traceID, err)
	}
	return len(state.Parts) > 0 || at.Buried(), nil
}

// plan is where the evidence of one request goes.
type plan struct {
	Placement
	target *deck.LocationWriter
	runs   *deck.LocationWriter // tombstones of single parts hold wherever the trace lies
	from   []deck.Location
}

// errMoved means that the location was buried while this writer wrote to it.
var errMoved = errors.New("the trace was moved meanwhile")

// plan decides where the evidence goes. It looks at a tombstone first, which says where a trace lies now. A tag comes next. It makes the
// trace a replay, whose location in production is closed before anything of the replay is written. Other evidence is production when it is
// complete or lies there already, else undecided.
func (w *Writer) plan(ctx context.Context, r Request) (*plan, error) {
	runs := deck.Location{Area: deck.AreaRuns, Tenant: r.Tenant, TraceID: r.TraceID}
	undecided := deck.Location{Area: deck.AreaUndecided, Tenant: r.Tenant, TraceID: r.TraceID}
	p := &plan{from: []deck.Location{undecided}}
	var err error
	if p.runs, err = w.deck.LocationWriter(ctx, runs); err != nil {
		return nil, fmt.Errorf("look for tombstones of trace %s: %w", r.TraceID, err)
	}
	p.Verdict = r.Set.Verdict(w.options.Replay)
	if p.runs.Buried() {
		to, err := w.follow(ctx, runs)
		if err != nil {
			return nil, err
		}
		p.from = append(p.from, runs)
		return w.planBegun(ctx, p, to, undecided)
	}
	if p.Verdict.Replay {
		return w.planReplay(ctx, p, runs, undecided)
	}
	begins := r.Complete && !w.options.Accept.refuses(deck.AreaRuns)
	if !begins {
		lies, err := p.runs.State(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("list trace %s: %w", r.TraceID, err)
		case p.runs.Buried():
			return nil, errMoved
		case len(lies.Parts) == 0 || w.options.Accept == AcceptReplay:
			p.Refused = r.Complete && w.options.Accept != AcceptUndecided
			return w.at(ctx, p, undecided)
		}
	}
	p.target, p.Area = p.runs, deck.AreaRuns
	return p, nil
}

// planReplay closes the location of a replay in production, also when nothing lies there, because a writer that holds another piece of
// the trace may not see the tag.
func (w *Writer) planReplay(ctx context.Context, p *plan, runs, undecided deck.Location) (*plan, error) {
	to := runs
	to.Area, to.ReplayRunID = deck.AreaReplays, p.Verdict.ID
	reason := deck.ReasonReplay
	if lies, err := w.deck.Remains(ctx, runs); err != nil {
		return nil, fmt.Errorf("list trace %s: %w", runs.TraceID, err)
	} else if len(lies.Parts) > 0 || len(lies.Generations) > 0 {
		reason = deck.ReasonLateTag
	}
	created, err := w.deck.PutTombstone(ctx, runs, deck.Burial{Reason: reason, MovedTo: &to})
	if err != nil {
		return nil, fmt.Errorf("bury trace %s: %w", runs.TraceID, err)
	}
	if !created {
		return nil, errMoved
	}
	p.from = append(p.from, runs)
	return w.planBegun(ctx, p, to, undecided)
}

// planBegun selects the location of a trace of a replay. A writer that does not accept replays starts no trace there: it only adds to one that
// the location holds already.
func (w *Writer) planBegun(ctx context.Context, p *plan, to, undecided deck.Location) (*plan, error) {
	if w.options.Accept.refuses(to.Area) {
		begun, err := w.deck.State(ctx, to)
		if err != nil {
			return nil, fmt.Errorf("list trace %s: %w", to.TraceID, err)
		}
		if len(begun.Parts) == 0 {
			p.Refused = true
			to = undecided
		}
	}
	return w.at(ctx, p, to)
}

// at selects a location. Nothing is written to the location of a trace that was deleted.
func (w *Writer) at(ctx context.Context, p *plan, location deck.Location) (_ *plan, err error) {
	if p.target, err = w.deck.LocationWriter(ctx, location); err != nil {
		return nil, fmt.Errorf("look for tombstones of trace %s: %w", location.TraceID, err)
	}
	if p.target.Buried() {
		if _, err := w.follow(ctx, location); err != nil {
			return nil, err
		}
		return nil, errMoved
	}
	p.Area = location.Area
	p.from = slices.DeleteFunc(p.from, func(from deck.Location) bool { return from == location })
	return p, nil
}

// follow returns the location that a buried trace was moved to.
func (w *Writer) follow(ctx context.Context, location deck.Location) (deck.Location, error) {
	to, why, ok, err := w.deck.MovedTo(ctx, location)
	if err != nil {
		return to, fmt.Errorf("read tombstone of trace %s: %w", location.TraceID, err)
	}
	if !ok {
		return to, fmt.Errorf("trace %s was taken away (%s): %w", location.TraceID, why, deck.ErrBuried)
	}
	return to, nil
}

// verifyLocation tells whether evidence that was written to a location still belongs there, now that all of the trace is known.
func (w *Writer) verifyLocation(ctx context.Context, p *plan, s *Stored) (bool, error) {
	if p.target.Buried() || s.Placement.Verdict.Replay && p.Area != deck.AreaReplays && !p.Refused {
		return false, nil
	}
	if p.Area != deck.AreaUndecided {
		return true, nil
	}
	// Another writer may have written the trace elsewhere at the same moment. Either it finds this evidence when it looks for undecided
	// evidence, or the plan that is made now sees what it wrote.
	again, err := w.plan(ctx, s.known())
	if err != nil {
		return false, err
	}
	return again.Area == deck.AreaUndecided, nil
}

// known is the request with all that is known of its trace by now.
func (s *Stored) known() Request {
	r := s.request
	r.Set = s.Set
	return r
}

// moved tells whether a trace, or a part of it, has left its location while its tapes were written there.
func (w *Writer) moved(ctx context.Context, s *Stored) (bool, error) {
	var open bool
	var err error
	switch s.Placement.Area {
	case deck.AreaRuns:
		var t deck.Tombstones
		t, err = w.deck.Tombstones(ctx, s.target.Location())
		open = !t.Trace() && !slices.ContainsFunc(s.Parts, t.Part)
	case deck.AreaUndecided:
		var again *plan
		if again, err = w.plan(ctx, s.known()); err == nil {
			open = again.Area == deck.AreaUndecided
		} else if errors.Is(err, errMoved) {
			err = nil
		}
	default:
		open = true
	}
	if err != nil {
		return false, fmt.Errorf("look again for trace %s: %w", s.TraceID, err)
	}
	return !open, nil
}

// residue is what a trace has left behind in a location that it was moved from.
type residue struct {
	location deck.Location
	state    deck.LocationState
}

// gather brings everything of the trace to its location and lists it.
func (w *Writer) gather(ctx context.Context, p *plan) (gone []residue, state deck.LocationState, err error) {
	list := func() error {
		if state, err = p.target.State(ctx); err != nil {
			return fmt.Errorf("list trace %s: %w", p.target.Location().TraceID, err)
		}
		return nil
	}
	if p.Area == deck.AreaRuns && !p.target.Tombstones().Undecided() {
		// The flag comes before undecided evidence, and whoever writes that looks here afterwards.
		if err := list(); err != nil || !p.target.Tombstones().Undecided() {
			return nil, state, err
		}
	}
	if gone, err = w.copyParts(ctx, p); err != nil {
		return nil, state, err
	}
	return gone, state, list()
}

// copyParts copies the parts from the locations that the trace was moved from. It runs before the new location is listed: of two writers that
// do this at once, the later listing has everything.
func (w *Writer) copyParts(ctx context.Context, p *plan) (gone []residue, err error) {
	for _, from := range p.from {
		remains, err := w.deck.Remains(ctx, from)
		if err != nil {
			return nil, fmt.Errorf("list trace %s: %w", from.TraceID, err)
		}
		for _, digest := range remains.Parts {
			if p.runs.PartBuried(digest) {
				continue
			}
			body, err := w.deck.ReadPart(ctx, from, digest)
			if errors.Is(err, deck.ErrNotFound) {
				continue // another writer has brought it over since
			}
			if err != nil {
				return nil, fmt.Errorf("read part %s of trace %s: %w", digest, from.TraceID, err)
			}
			if err := w.passPart(ctx, p.target.Location(), body); err != nil {
				return nil, err
			}
			if _, _, err := p.target.PutPart(ctx, body); err != nil && !errors.Is(err, deck.ErrBuried) {
				return nil, fmt.Errorf("write part of trace %s: %w", from.TraceID, err)
			}
		}
		if len(remains.Parts) > 0 || len(remains.Generations) > 0 {
			gone = append(gone, residue{from, remains})
		}
	}
	return gone, nil
}

// deleteMoved deletes what copyParts has copied elsewhere, and counts it.
func (w *Writer) deleteMoved(ctx context.Context, s *Stored, gone []residue) (err error) {
	for _, l := range gone {
		if l.location.Area == deck.AreaUndecided {
			err = w.deck.Remove(ctx, l.location, l.state)
			s.Placement.Promoted += len(l.state.Parts)
		} else {
			_, err = w.deck.Bury(ctx, l.location, deck.Burial{Reason: deck.ReasonLateTag}) // its tombstone is there already
			s.Placement.Leaked += len(l.state.Parts)
		}
		if err != nil {
			return fmt.Errorf("take away trace %s: %w", s.TraceID, err)
		}
	}
	if s.Placement.Leaked > 0 {
		return w.deleteJoinedRuns(ctx, s)
	}
	return nil
}
