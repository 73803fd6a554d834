// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/tape"
)

// DeckJoin says what JoinDeck looks at.
type DeckJoin struct {
	// Tenant limits it to one tenant; "" is all.
	Tenant string
	// Rehearse writes nothing, but reports what would be written.
	Rehearse bool
	// MaxTraces bounds how many traces are held at a time (default 2000). Traces that share an id or the opening of a conversation
	// are held together; where there are more of them, they are left as they are.
	MaxTraces int
}

const defaultMaxTraces = 2000

// ErrTooMany is wrapped where more traces may belong together than may be held at a time.
var ErrTooMany = errors.New("too many traces may belong together")

// JoinDeck joins the runs under runs/ that lie in several traces, by the rules of Join, and yields the tapes that lie under joined/
// then. Repeating it changes nothing. An error that it yields is about one location or one group of traces, or ends it when the deck cannot
// be listed.
//
// Only tapes are read to find out which traces may belong together, and then the evidence of those, group by group.
func (w *Writer) JoinDeck(ctx context.Context, o DeckJoin) iter.Seq2[Written, error] {
	if o.MaxTraces <= 0 {
		o.MaxTraces = defaultMaxTraces
	}
	return func(yield func(Written, error) bool) {
		locations, candidates, ok := w.relate(ctx, o, func(err error) bool { return yield(Written{}, err) })
		if !ok {
			return
		}
		for _, candidate := range candidates {
			if ctx.Err() != nil {
				yield(Written{}, ctx.Err())
				return
			}
			if len(candidate) > o.MaxTraces {
				err := fmt.Errorf("%w: %d, beginning with %s", ErrTooMany, len(candidate), locations[candidate[0]].location)
				if !yield(Written{}, err) {
					return
				}
				continue
			}
			written, err := w.joinCandidate(ctx, locations, candidate, o.Rehearse)
			for _, t := range written {
				if !yield(t, nil) {
					return
				}
			}
			if err != nil && !yield(Written{}, err) {
				return
			}
		}
	}
}

// tenantLocation is a location with the name of its tenant, which the key of a location may not tell.
type tenantLocation struct {
	location deck.Location
	tenant   string
}

func (w *Writer) joinCandidate(ctx context.Context, locations []tenantLocation, candidate []int, rehearse bool) ([]Written, error) {
	var stored []*Stored
	for _, i := range candidate {
		s, err := w.Load(ctx, locations[i].tenant, locations[i].location)
		if err != nil {
			return nil, err
		}
		stored = append(stored, s)
	}
	written, _, err := w.join(ctx, stored, rehearse)
	return written, err
}

// relate walks over the locations and finds out which of them may belong together.
func (w *Writer) relate(ctx context.Context, o DeckJoin, fail func(error) bool) (locations []tenantLocation, candidates [][]int, ok bool) {
	tenants := map[string]string{} // as it stands in keys → as it is
	if o.Tenant != "" {
		tenants[deck.SafeName(o.Tenant)] = o.Tenant
	}
	wanted := func(p deck.Location) bool { return o.Tenant == "" || deck.SafeName(o.Tenant) == p.Tenant }
	joined, ok := w.joinedTraces(ctx, wanted, tenants, fail)
	if !ok {
		return nil, nil, false
	}
	k := newCandidateIndex()
	for read, err := range w.currentTapes(ctx, deck.AreaRuns, wanted) {
		if err != nil {
			fail(err)
			return nil, nil, false
		}
		tapes, err := w.allTapes(ctx, read, joined, tenants)
		if err != nil && !fail(fmt.Errorf("trace %s: %w", read.location.TraceID, err)) {
			return nil, nil, false
		}
		if len(tapes) == 0 {
			continue
		}
		for _, t := range tapes {
			k.add(len(locations), t)
		}
		locations = append(locations, tenantLocation{read.location, tapes[0].Run.Tenant})
	}
	return locations, k.candidates(), true
}

type trace struct{ tenant, id string }

// joinedTraces lists the traces of which a joined run was made before. Their own tapes may have been left out of runs/ then.
func (w *Writer) joinedTraces(ctx context.Context, wanted func(deck.Location) bool, tenants map[string]string, fail func(error) bool) (map[trace]bool, bool) {
	traces := map[trace]bool{}
	for read, err := range w.currentTapes(ctx, deck.AreaJoined, wanted) {
		if err != nil {
			fail(err)
			return nil, false
		}
		if read.err != nil && !fail(fmt.Errorf("joined trace %s: %w", read.location.TraceID, read.err)) {
			return nil, false
		}
		for _, t := range read.tapes {
			tenants[read.location.Tenant] = t.Run.Tenant
			for _, id := range t.Sources.TraceIDs {
				traces[trace{read.location.Tenant, id}] = true
			}
		}
	}
	return traces, true
}

// allTapes returns the tapes of all runs of a trace: those that lie there, or, where some may have been left out, those that its evidence
// gives.
func (w *Writer) allTapes(ctx context.Context, read tapesRead, joined map[trace]bool, tenants map[string]string) ([]*tape.Tape, error) {
	segment := read.location.Tenant
	for _, t := range read.tapes {
		tenants[segment] = t.Run.Tenant
	}
	if read.err != nil || len(read.tapes) > 0 && !joined[trace{segment, read.location.TraceID}] {
		return read.tapes, read.err
	}
	tenant, known := tenants[segment]
	if !known {
		if tenant = segment; deck.SafeName(tenant) != tenant {
			return nil, errors.New("no tape names the tenant; say it with --tenant")
		}
	}
	s, err := w.Load(ctx, tenant, read.location)
	if err != nil || s.Set.Len() == 0 {
		return nil, err
	}
	tapes, _, err := w.deriver.Tapes(&s.Evidence)
	return tapes, err
}

// tapesRead are the current tapes of a location.
type tapesRead struct {
	location deck.Location
	tapes    []*tape.Tape
	err      error
}

// readers is how many locations are read at a time: most of the time is spent waiting for the store.
const readers = 16

// currentTapes reads the current tapes of an area. An error that it yields ends it. An error of one location stands in the element of that
// location.
func (w *Writer) currentTapes(ctx context.Context, area deck.Area, wanted func(deck.Location) bool) iter.Seq2[tapesRead, error] {
	return func(yield func(tapesRead, error) bool) {
		var batch []tapesRead
		flush := func() bool {
			var reading sync.WaitGroup
			for i := range batch {
				reading.Go(func() { batch[i].tapes, batch[i].err = w.readTapes(ctx, batch[i].location) })
			}
			reading.Wait()
			for _, read := range batch {
				if ctx.Err() != nil {
					yield(tapesRead{}, ctx.Err())
					return false
				}
				if !yield(read, nil) {
					return false
				}
			}
			batch = nil
			return true
		}
		for location, err := range w.deck.Locations(ctx, area) {
			if err != nil {
				yield(tapesRead{}, err)
				return
			}
			if !wanted(location) {
				continue
			}
			batch = append(batch, tapesRead{location: location})
			if len(batch) == readers && !flush() {
				return
			}
		}
		flush()
	}
}

// readTapes reads the current tapes of a location.
func (w *Writer) readTapes(ctx context.Context, location deck.Location) (tapes []*tape.Tape, err error) {
	defer generation.Recovered(&err, generation.ErrUnderivable, location.TraceID)
	_, err = w.deck.ReadCurrent(ctx, location, func(current deck.GenerationState) error {
		tapes, err = runs.Tapes(ctx, w.deck, location, current)
		return err
	})
	return tapes, err
}

// Load gathers what the deck holds of a trace. tenant is its name; that of the location may be escaped.
func (w *Writer) Load(ctx context.Context, tenant string, location deck.Location) (_ *Stored, err error) {
	defer generation.Recovered(&err, generation.ErrUnderivable, location.TraceID)
	target, err := w.deck.LocationWriter(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("look for tombstones of trace %s: %w", location.TraceID, err)
	}
	state, err := target.State(ctx)
	if err != nil {
		return nil, fmt.Errorf("list trace %s: %w", location.TraceID, err)
	}
	s := &Stored{Evidence: generation.Evidence{Tenant: tenant, TraceID: location.TraceID}, target: target, state: state}
	if err := w.unite(ctx, s, "", nil); err != nil {
		return nil, err
	}
	return s, nil
}
