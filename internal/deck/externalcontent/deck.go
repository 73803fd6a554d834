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
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/tape"
)

// Locations returns the locations of the runs and traces that the queries name. Without queries it returns all locations of the tenant, or
// of every tenant if that is empty.
func Locations(ctx context.Context, d *deck.Deck, tenant string, queries []runs.Query) iter.Seq2[deck.Location, error] {
	if len(queries) == 0 {
		return func(yield func(deck.Location, error) bool) {
			for location, err := range d.Locations(ctx, deck.AreaRuns, deck.AreaReplays, deck.AreaUndecided) {
				if (err != nil || location.Of(tenant)) && !yield(location, err) {
					return
				}
			}
		}
	}
	return func(yield func(deck.Location, error) bool) {
		seen := map[deck.Location]bool{}
		for _, q := range queries {
			locations, err := named(ctx, d, q)
			if err != nil && !yield(deck.Location{}, err) {
				return
			}
			for _, p := range locations {
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

func named(ctx context.Context, d *deck.Deck, q runs.Query) ([]deck.Location, error) {
	refs, err := runs.Find(ctx, d, q)
	if err != nil {
		return nil, err
	}
	var locations []deck.Location
	for _, ref := range refs {
		if ref.Location.Area != deck.AreaJoined {
			locations = append(locations, ref.Location)
			continue
		}
		t, err := readTape(ctx, d, ref) // its evidence lies with its traces
		if err != nil {
			return nil, err
		}
		for _, trace := range t.Sources.TraceIDs {
			p := ref.Location
			p.Area, p.TraceID = deck.AreaRuns, trace
			locations = append(locations, p)
		}
	}
	return locations, nil
}

func readTape(ctx context.Context, d *deck.Deck, ref deck.Ref) (t *tape.Tape, err error) {
	err = runs.Read(ctx, d, ref, func(ref deck.Ref) error {
		body, err := d.Store().Get(ctx, ref.Key)
		if err == nil {
			t, err = tape.ReadSealed(body)
		}
		return err
	})
	return t, err
}

// Outcome is the result for one location that holds references.
type Outcome struct {
	Location deck.Location
	Written  []derive.Written
	Failures []Failure
	Err      error
}

// Deck resolves the references in the given locations. In each it writes one part with the fetched content and derives the tapes again.
// Locations without references are skipped. Deck ends with the first error that it yields.
func (r *Resolver) Deck(ctx context.Context, d *deck.Deck, w *derive.Writer, locations iter.Seq2[deck.Location, error]) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		for location, err := range locations {
			if err != nil {
				yield(Outcome{}, err)
				return
			}
			o := Outcome{Location: location}
			o.Written, o.Failures, o.Err = r.location(ctx, d, w, location)
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

func (r *Resolver) location(ctx context.Context, d *deck.Deck, w *derive.Writer, location deck.Location) ([]derive.Written, []Failure, error) {
	tenant, err := derive.TenantOf(ctx, d, location)
	if err != nil {
		return nil, nil, err
	}
	stored, err := w.Load(ctx, tenant, location)
	if err != nil {
		return nil, nil, err
	}
	if moved, err := elsewhere(ctx, d, location, stored.Set); moved || err != nil {
		return nil, nil, err
	}
	res, err := r.Trace(ctx, stored.Set)
	if err != nil {
		return nil, res.Failures, err
	}
	var written []derive.Written
	switch {
	case res.Added.Len() > 0:
		if err = keepPlace(location, stored.Set, res.Added); err == nil {
			written, err = w.Write(ctx, derive.Request{Tenant: tenant, TraceID: location.TraceID, Set: res.Added, Complete: location.Area != deck.AreaUndecided})
		}
	case res.Before > 0: // in case that an earlier call ended between the part and the tapes
		written, err = w.Tapes(ctx, stored, nil)
	}
	if errors.Is(err, generation.ErrNoRun) {
		err = nil // the part is there for when the run comes
	}
	return written, res.Failures, err
}

// elsewhere tells whether undecided evidence has been brought to where its trace lies now: what it refers to is resolved there.
func elsewhere(ctx context.Context, d *deck.Deck, location deck.Location, set *evidence.Set) (bool, error) {
	if location.Area != deck.AreaUndecided {
		return false, nil
	}
	parts, err := d.Parts(ctx, tagged(location, tagOf(set)))
	return len(parts) > 0, err
}

func tagOf(set *evidence.Set) string { return set.Verdict(segregation.Default).ID }

// tagged returns where complete evidence with the tag of a replay lies, with "" where that of a production run does.
func tagged(location deck.Location, tag string) deck.Location {
	location.Area, location.ReplayRunID = deck.AreaRuns, ""
	if tag != "" {
		location.Area, location.ReplayRunID = deck.AreaReplays, tag
	}
	return location
}

// keepPlace sees to it that the added items go where the others lie: of a replay one item at least must carry the tag.
func keepPlace(location deck.Location, set, added *evidence.Set) error {
	if location.Area == deck.AreaUndecided {
		return nil
	}
	fits := func(s *evidence.Set) bool {
		tag := tagOf(s)
		if location.Area == deck.AreaReplays && tag != "" {
			return deck.SafeName(tag) == location.ReplayRunID || tag == location.ReplayRunID
		}
		return (location.Area == deck.AreaReplays) == (tag != "")
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
	return fmt.Errorf("the replay tag of trace %s does not agree with where it lies", location.TraceID)
}
