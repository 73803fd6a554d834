// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/sidebyside"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// maxFamily bounds the runs of one command that are replayed as one set.
const maxFamily = 64

// tracesOf are the ids of the traces that came from the command that made a run, as record keeps them; none
// for a run that nothing is known of.
func tracesOf(t *tape.Tape) (ids []string) {
	for _, m := range t.Extensions.Get(harness.Key).Get(harness.RecordedTraces).Members() {
		ids = append(ids, m.Value.Str())
	}
	return ids
}

// command finds what a REF stands for: a run with the others that its command made, or all runs of one
// command.
func (r *rerunning) command(ctx context.Context, ref string) (one recording, err error) {
	var found []recording
	for at, err := range r.flags.Resolve(ctx, ref, replay.SeveralRuns) {
		if err != nil {
			return one, err
		}
		if len(found) > maxFamily {
			break
		}
		t, _, err := r.flags.Open(ctx, &at)
		if err != nil {
			return one, err
		}
		found = append(found, recording{tape: t, at: at})
	}
	if len(found) == 1 {
		one = found[0]
		if one.family, err = r.madeWith(ctx, one); err != nil {
			return one, err
		}
		return one, nil
	}
	found = whole(found)
	traces := tracesOf(found[0].tape)
	if len(found) > maxFamily || len(traces) == 0 || slices.ContainsFunc(found, func(f recording) bool { return !slices.Equal(tracesOf(f.tape), traces) }) {
		one.tape, one.at, err = r.flags.OpenOne(ctx, ref) // which says that it is several
		return one, err
	}
	byBegin(found)
	one = found[0]
	one.family, one.all = found, len(found) > 1
	return one, nil
}

func byBegin(list []recording) {
	slices.SortStableFunc(list, func(a, b recording) int { return a.tape.Run.StartedAt.Compare(b.tape.Run.StartedAt) })
}

// whole leaves out the runs of which a joined one is made.
func whole(list []recording) []recording {
	parts := map[string]bool{}
	for _, one := range list {
		for _, id := range one.tape.Run.Joined {
			parts[id] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(one recording) bool { return len(one.tape.Run.Joined) == 0 && parts[one.tape.Run.RunID] })
}

// madeWith are the runs that came with a run from one command, by their beginning, itself too; none where it
// came alone, or nothing is known.
func (r *rerunning) madeWith(ctx context.Context, one recording) (family []recording, err error) {
	traces := tracesOf(one.tape)
	if len(traces) == 0 || !one.at.Ref.InDeck() || one.at.Name != "" {
		return nil, nil
	}
	d, err := replay.OpenDeck(ctx, one.at.Ref.DeckURL) // that of the location is closed
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	family = []recording{one}
	for _, id := range traces[:min(len(traces), harness.MaxTraces)] {
		refs, err := runs.Find(ctx, d, runs.Query{ID: id, Tenant: one.tape.Run.Tenant})
		if errors.Is(err, deck.ErrNotFound) || errors.Is(err, deck.ErrBadKey) {
			continue // a trace without a run
		}
		if err != nil {
			return nil, err
		}
		for _, ref := range refs {
			at := replay.Location{Ref: ref, Store: d.Store(), Deck: d}
			t, _, err := r.flags.Open(ctx, &at)
			if err != nil {
				return nil, err
			}
			if t.Run.RunID == one.tape.Run.RunID || !slices.Equal(tracesOf(t), traces) {
				continue
			}
			if family = append(family, recording{tape: t, at: at}); len(family) > maxFamily {
				return nil, fmt.Errorf("%s came with more than %d other runs", one.at, maxFamily)
			}
		}
	}
	if family = whole(family); len(family) == 1 || !slices.ContainsFunc(family, func(f recording) bool { return f.tape == one.tape }) {
		return nil, nil
	}
	byBegin(family)
	return family, nil
}

// checkFamily refuses what is about one run where several are judged. What is about the events of one run
// serves that run alone.
func (r *rerunning) checkFamily() error {
	f := r.f
	switch {
	case r.all && f.forkAt > 0:
		return fmt.Errorf("--fork-at wants one run, and the command made %d: name one by its id", len(r.family))
	case r.all && f.answer != "telemetry":
		return fmt.Errorf("--answer %s wants one run, and the command made %d: name one by its id", f.answer, len(r.family))
	case f.forkAt > 0:
		r.family = nil
	}
	return nil
}

// tapes are the runs that are served.
func (r *rerunning) tapes() []*tape.Tape {
	if len(r.family) == 0 {
		return []*tape.Tape{r.source}
	}
	list := make([]*tape.Tape, len(r.family))
	for i := range r.family {
		list[i] = r.family[i].tape
	}
	return list
}

// siblings are the runs that are served beside the source.
func (r *rerunning) siblings() []*tape.Tape {
	return slices.DeleteFunc(r.tapes(), func(t *tape.Tape) bool { return t == r.source })
}

func (r *rerunning) runIDs() (ids []string) {
	for _, t := range r.tapes() {
		ids = append(ids, t.Run.RunID)
	}
	return ids
}

// names are the ids under which the oracle of the replay is asked for beside the run id of the source.
func (r *rerunning) names() (names []string) {
	for _, t := range r.tapes() {
		if t != r.source {
			names = append(names, t.Run.RunID)
		}
		names = append(names, runs.Names(&t.Run)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// recordedCalls are the tool calls of all runs that are served. The first call of one run is none of another
// run, so those of a family come one after the other.
func (r *rerunning) recordedCalls() []oracle.Entry {
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

// ofItsRun gives a tool call the recorded answers of the run whose turn asked for it.
func ofItsRun(tapes []*tape.Tape, stub *modelstub.Handler) func(*oracle.Query) func(*oracle.Entry) bool {
	spans := map[*tape.Tape]map[string]bool{}
	for _, t := range tapes {
		spans[t] = map[string]bool{}
		for i := range t.Events {
			for _, id := range t.Events[i].SpanIDs {
				spans[t][t.Run.TraceID+id] = true
			}
		}
	}
	return func(q *oracle.Query) func(*oracle.Entry) bool {
		t := stub.AskedBy("", q.ToolName, q.ArgsHash)
		if t == nil {
			return nil
		}
		return func(e *oracle.Entry) bool { return spans[t][e.Source.TraceID+e.Source.SpanID] }
	}
}

// side is a recorded run and its replay, as they are shown.
type side struct {
	source, replayed sidebyside.Tape
	comparison       *compare.Result // nil: no replay of it came
	headline         string
}

// sides are the runs that are judged, at least one.
func (r *rerunning) sides(report *rerun.Report, replayed *tape.Tape) (list []side) {
	of := func(at replay.Location, source, replayed *tape.Tape, c *compare.Result, headline string) {
		s := side{source: sidebyside.Of(at.String(), source), headline: headline}
		if replayed != nil {
			s.replayed, s.comparison = sidebyside.Of(r.f.id, replayed), c
		}
		list = append(list, s)
	}
	if !r.all {
		of(r.at, r.source, replayed, report.Comparison, report.Headline)
		return list
	}
	for i, one := range r.family {
		of(one.at, one.tape, r.replayed[i], report.Runs[i].Comparison, report.Runs[i].Headline)
	}
	return list
}
