// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Recording is a recorded run, with the runs that came from the same command.
type Recording struct {
	Tape *tape.Tape
	At   replay.Location
	// Family are all runs of the command, by their beginning, Tape included; empty where it made this run
	// alone.
	Family []Recording
	// All says that the replay judges the whole family, not Tape alone.
	All bool
}

// maxFamily bounds the runs of one command that are replayed together.
const maxFamily = 64

// Find returns the run that a REF stands for, or all runs of one command.
func Find(ctx context.Context, in *replay.Finder, ref string) (one Recording, err error) {
	var found []Recording
	for at, err := range in.Resolve(ctx, ref, replay.SeveralRuns) {
		if err != nil {
			return one, err
		}
		if len(found) > maxFamily {
			break
		}
		t, _, err := in.Open(ctx, &at)
		if err != nil {
			return one, err
		}
		found = append(found, Recording{Tape: t, At: at})
	}
	if len(found) == 1 {
		one = found[0]
		one.Family, err = madeWith(ctx, in, one)
		return one, err
	}
	found = whole(found)
	traces := tracesOf(found[0].Tape)
	if len(found) > maxFamily || len(traces) == 0 || slices.ContainsFunc(found, func(f Recording) bool { return !slices.Equal(tracesOf(f.Tape), traces) }) {
		one.Tape, one.At, err = in.OpenOne(ctx, ref) // its error names the runs
		return one, err
	}
	byBegin(found)
	one = found[0]
	one.Family, one.All = found, len(found) > 1
	return one, nil
}

// FindAll returns every run that a REF stands for: also a snapshot of waza, and all runs of a folder or a
// deck.
func FindAll(ctx context.Context, in *replay.Finder, ref string) (list []Recording, err error) {
	for one, err := range in.LoadRuns(ctx, ref) {
		t := one.Tape
		switch {
		case err != nil:
		case one.Snapshot != nil:
			t, err = one.Snapshot.Tape()
		default:
			t, err = in.Take(one.At, one.Files[tape.TapeFile])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.Source, err)
		}
		list = append(list, Recording{Tape: t, At: one.At})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no tape", ref)
	}
	return list, nil
}

// tracesOf are the ids of the traces that came from the same command, as record keeps them; none where that
// is unknown.
func tracesOf(t *tape.Tape) (ids []string) {
	for _, m := range t.Extensions.Get(harness.Key).Get(harness.RecordedTraces).Members() {
		ids = append(ids, m.Value.Str())
	}
	return ids
}

func byBegin(list []Recording) {
	slices.SortStableFunc(list, func(a, b Recording) int { return a.Tape.Run.StartedAt.Compare(b.Tape.Run.StartedAt) })
}

// whole leaves out the parts of joined runs.
func whole(list []Recording) []Recording {
	parts := map[string]bool{}
	for _, one := range list {
		for _, id := range one.Tape.Run.Joined {
			parts[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(one Recording) bool { return len(one.Tape.Run.Joined) == 0 && parts[one.Tape.Run.RunID] })
}

// madeWith are the runs of the command that made a run, that run included; none where it came alone, or where
// the other runs are unknown.
func madeWith(ctx context.Context, in *replay.Finder, one Recording) (family []Recording, err error) {
	traces := tracesOf(one.Tape)
	if len(traces) == 0 || !one.At.Ref.InDeck() || one.At.Name != "" {
		return nil, nil
	}
	d, err := replay.OpenDeck(ctx, one.At.Ref.DeckURL) // that of the location is closed
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	family = []Recording{one}
	for _, id := range traces[:min(len(traces), harness.MaxTraces)] {
		refs, err := runs.Find(ctx, d, runs.Query{ID: id, Tenant: one.Tape.Run.Tenant})
		if errors.Is(err, deck.ErrNotFound) || errors.Is(err, deck.ErrBadKey) {
			continue // a trace without a run
		}
		if err != nil {
			return nil, err
		}
		for _, ref := range refs {
			at := replay.Location{Ref: ref, Store: d.Store(), Deck: d}
			t, _, err := in.Open(ctx, &at)
			if err != nil {
				return nil, err
			}
			if t.Run.RunID == one.Tape.Run.RunID || !slices.Equal(tracesOf(t), traces) {
				continue
			}
			if family = append(family, Recording{Tape: t, At: at}); len(family) > maxFamily {
				return nil, fmt.Errorf("%s came with more than %d other runs", one.At, maxFamily)
			}
		}
	}
	if family = whole(family); len(family) == 1 || !slices.ContainsFunc(family, func(f Recording) bool { return f.Tape == one.Tape }) {
		return nil, nil
	}
	byBegin(family)
	return family, nil
}

// tapes are the runs whose calls are served.
func (r *Recording) tapes() []*tape.Tape {
	if len(r.Family) == 0 {
		return []*tape.Tape{r.Tape}
	}
	list := make([]*tape.Tape, len(r.Family))
	for i := range r.Family {
		list[i] = r.Family[i].Tape
	}
	return list
}

// siblings are the runs that are served beside Tape.
func (r *Recording) siblings() []*tape.Tape {
	return slices.DeleteFunc(r.tapes(), func(t *tape.Tape) bool { return t == r.Tape })
}

func (r *Recording) runIDs() (ids []string) {
	for _, t := range r.tapes() {
		ids = append(ids, t.Run.RunID)
	}
	return ids
}

// names are the ids that stand for the oracle of the replay, beside the run id of Tape.
func (r *Recording) names() (names []string) {
	for _, t := range r.tapes() {
		if t != r.Tape {
			names = append(names, t.Run.RunID)
		}
		names = append(names, runs.Names(&t.Run)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// calls are the tool calls of all runs that are served. Occurrences count within a run, so those of a family
// are served one after the other.
func (r *Recording) calls() []oracle.Entry {
	tapes := r.tapes()
	if len(tapes) == 1 {
		return oracle.FromTape(tapes[0])
	}
	var all []oracle.Entry
	for _, t := range tapes {
		for _, e := range oracle.FromTape(t) {
			e.Occurrence = 0
			all = append(all, e)
		}
	}
	return all
}
