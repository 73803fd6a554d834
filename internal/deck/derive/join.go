// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
)

// Join writes the runs that several of the traces hold together, under joined/. It also returns which runs of which trace are part of a
// joined run: trace id → root span ids. Those must not be written on their own.
func (w *Writer) Join(ctx context.Context, stored []*Stored) (written []Written, parts map[string][]string, err error) {
	return w.join(ctx, stored, false)
}

// join is Join; a rehearsal writes nothing.
func (w *Writer) join(ctx context.Context, stored []*Stored, rehearse bool) (written []Written, parts map[string][]string, err error) {
	parts = map[string][]string{}
	byTenant := map[string][]*Stored{}
	for _, s := range stored {
		if s.target.Location().Area == deck.AreaRuns {
			byTenant[s.Tenant] = append(byTenant[s.Tenant], s)
		}
	}
	for tenant, list := range byTenant {
		traces := make([]*generation.Evidence, len(list))
		for i, s := range list {
			traces[i] = &s.Evidence
		}
		joined, err := w.deriver.Join(tenant, traces)
		if err != nil {
			return written, parts, err
		}
		for _, group := range byFirstTrace(joined) {
			tapes, err := w.writeJoined(ctx, tenant, list, group, rehearse)
			if err != nil {
				return written, parts, err
			}
			written = append(written, tapes...)
		}
		for _, j := range joined {
			for _, r := range j.Roots {
				parts[r.TraceID] = append(parts[r.TraceID], r.SpanID)
			}
		}
	}
	slices.SortFunc(written, func(a, b Written) int { return cmp.Compare(a.RunID, b.RunID) })
	return written, parts, nil
}

// byFirstTrace gathers joined runs that lie in one location.
func byFirstTrace(joined []reconstruct.Joined) [][]reconstruct.Joined {
	var groups [][]reconstruct.Joined
	for _, j := range joined {
		i := slices.IndexFunc(groups, func(g []reconstruct.Joined) bool { return g[0].Tape.Run.TraceID == j.Tape.Run.TraceID })
		if i < 0 {
			groups = append(groups, []reconstruct.Joined{j})
		} else {
			groups[i] = append(groups[i], j)
		}
	}
	return groups
}

func (w *Writer) writeJoined(ctx context.Context, tenant string, stored []*Stored, group []reconstruct.Joined, rehearse bool) (_ []Written, err error) {
	defer generation.Recovered(&err, generation.ErrUnderivable, group[0].Tape.Run.TraceID)
	items := 0
	var digests []string
	var tapes []*tape.Tape
	seen := map[string]bool{}
	for _, j := range group {
		tapes = append(tapes, j.Tape)
		for _, trace := range j.Traces {
			i := slices.IndexFunc(stored, func(s *Stored) bool { return s.TraceID == trace })
			if i < 0 || seen[trace] {
				continue
			}
			seen[trace] = true
			items += w.deriver.Items(&stored[i].Evidence)
			digests = append(digests, stored[i].Parts...)
		}
	}
	slices.Sort(digests)
	location := deck.Location{Area: deck.AreaJoined, Tenant: tenant, TraceID: group[0].Tape.Run.TraceID}
	gen := w.deriver.Name(items, digests)
	target, err := w.deck.LocationWriter(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("look for tombstones of joined trace %s: %w", location.TraceID, err)
	}
	if rehearse { // as if it were there already
		there := deck.LocationState{Generations: []deck.GenerationState{{Generation: gen, Complete: true}}}
		return w.generation(ctx, target, there, gen, digests, tapes)
	}
	state, err := target.State(ctx)
	if err != nil {
		return nil, fmt.Errorf("list joined trace %s: %w", location.TraceID, err)
	}
	return w.generation(ctx, target, state, gen, digests, tapes)
}
