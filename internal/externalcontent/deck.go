// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/derive"
	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/runs"
	"github.com/tapedeck/tapedeck/internal/segregation"
	"github.com/tapedeck/tapedeck/tape"
)

// Places returns the locations of the runs and traces that the queries name. Without queries it returns all locations of the tenant, or
// of every tenant if that is empty.
func Places(ctx context.Context, d *deck.Deck, tenant string, queries []runs.Query) iter.Seq2[deck.Place, error] {
	if len(queries) == 0 {
		return func(yield func(deck.Place, error) bool) {
			for place, err := range d.Places(ctx, deck.AreaRuns, deck.AreaReplays, deck.AreaUndecided) {
				if (err != nil || place.Of(tenant)) && !yield(place, err) {
					return
				}
			}
		}
	}
	return func(yield func(deck.Place, error) bool) {
		seen := map[deck.Place]bool{}
		for _, q := range queries {
			places, err := named(ctx, d, q)
			if err != nil && !yield(deck.Place{}, err) {
				return
			}
			for _, p := range places {
				if seen[p] {
					continue
				}
				seen[p] = true
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

func named(ctx context.Context, d *deck.Deck, q runs.Query) ([]deck.Place, error) {
	refs, err := runs.Find(ctx, d, q)
	if err != nil {
		return nil, err
	}
	var places []deck.Place
	for _, ref := range refs {
		if ref.Place.Area != deck.AreaJoined {
			places = append(places, ref.Place)
			continue
		}
		t, err := readTape(ctx, d, ref) // its evidence lies with its traces
		if err != nil {
			return nil, err
		}
		for _, trace := range t.Sources.TraceIDs {
			p := ref.Place
			p.Area, p.TraceID = deck.AreaRuns, trace
			places = append(places, p)
		}
	}
	return places, nil
}

func readTape(ctx context.Context, d *deck.Deck, ref deck.Ref) (*tape.Tape, error) {
	body, err := d.Store().Get(ctx, ref.Key)
	if err != nil {
		return nil, err
	}
	return tape.ReadSealed(body)
}

// Outcome is the result for one location that holds references.
type Outcome struct {
	Place    deck.Place
	Written  []derive.Written
	Failures []Failure
	Err      error
}

// Deck resolves the references in the given locations. In each it writes one part with the fetched content and derives the tapes again.
// Locations without references are skipped. Deck ends with the first error that it yields.
func (r *Resolver) Deck(ctx context.Context, d *deck.Deck, w *derive.Writer, places iter.Seq2[deck.Place, error]) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		for place, err := range places {
			if err != nil {
				yield(Outcome{}, err)
				return
			}
			o := Outcome{Place: place}
			o.Written, o.Failures, o.Err = r.place(ctx, d, w, place)
			if ctx.Err() != nil {
				yield(Outcome{}, ctx.Err())
				return
			}
			if len(o.Written) == 0 && len(o.Failures) == 0 && o.Err == nil {
				continue
			}
			if !yield(o, nil) {
				return
			}
		}
	}
}

func (r *Resolver) place(ctx context.Context, d *deck.Deck, w *derive.Writer, place deck.Place) ([]derive.Written, []Failure, error) {
	tenant, err := derive.TenantOf(ctx, d, place)
	if err != nil {
		return nil, nil, err
	}
	stored, err := w.Load(ctx, tenant, place)
	if err != nil {
		return nil, nil, err
	}
	if moved, err := elsewhere(ctx, d, place, stored.Set); moved || err != nil {
		return nil, nil, err
	}
	res, err := r.Trace(ctx, stored.Set)
	if err != nil {
		return nil, res.Failures, err
	}
	var written []derive.Written
	switch {
	case res.Added.Len() > 0:
		if err = keepPlace(place, stored.Set, res.Added); err == nil {
			written, err = w.Write(ctx, derive.Request{Tenant: tenant, TraceID: place.TraceID, Set: res.Added, Complete: place.Area != deck.AreaUndecided})
		}
	case res.Before > 0: // in case that an earlier call ended between the part and the tapes
		written, err = w.Tapes(ctx, stored, nil)
	}
	if errors.Is(err, derive.ErrNoRun) {
		err = nil // the part is there for when the run comes
	}
	return written, res.Failures, err
}

// elsewhere tells whether undecided evidence has been brought to where its trace lies now: what it refers to is resolved there.
func elsewhere(ctx context.Context, d *deck.Deck, place deck.Place, set *evidence.Set) (bool, error) {
	if place.Area != deck.AreaUndecided {
		return false, nil
	}
	parts, err := d.Parts(ctx, tagged(place, tagOf(set)))
	return len(parts) > 0, err
}

func tagOf(set *evidence.Set) string { return set.Verdict(segregation.Default).ID }

// tagged returns where complete evidence with the tag of a replay lies, with "" where that of a production run does.
func tagged(place deck.Place, tag string) deck.Place {
	place.Area, place.ReplayRunID = deck.AreaRuns, ""
	if tag != "" {
		place.Area, place.ReplayRunID = deck.AreaReplays, tag
	}
	return place
}

// keepPlace sees to it that the added items go where the others lie: of a replay one item at least must carry the tag.
func keepPlace(place deck.Place, set, added *evidence.Set) error {
	if place.Area == deck.AreaUndecided {
		return nil
	}
	fits := func(s *evidence.Set) bool {
		tag := tagOf(s)
		if place.Area == deck.AreaReplays && tag != "" {
			return deck.SafeName(tag) == place.ReplayRunID || tag == place.ReplayRunID
		}
		return (place.Area == deck.AreaReplays) == (tag != "")
	}
	if fits(added) {
		return nil
	}
	if notes := set.Notes(); tagOf(added) == "" && fits(notes) {
		added.Merge(notes)
		return nil
	}
	for _, item := range set.Items() {
		td := ptrace.NewTraces()
		copied(td, item)
		one := evidence.NewSet()
		one.AddTraces(td)
		if tagOf(added) == "" && fits(one) {
			added.Merge(one)
			return nil
		}
	}
	return fmt.Errorf("the replay tag of trace %s does not agree with where it lies", place.TraceID)
}
