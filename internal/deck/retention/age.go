// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/tape"
)

// age is how old a trace is.
type age struct {
	captured time.Time // the end of its last run; zero if not known
	failure  time.Time // the end of the last replay that failed; zero if none
	runs     []string
}

func (a *age) see(at time.Time) {
	if at.After(a.captured) {
		a.captured = at.UTC()
	}
}

// expired returns when the trace could have gone. One whose age is not known is kept.
func (a *age) expired(p Policy, area deck.Area) (time.Time, bool) {
	if a.captured.IsZero() {
		return time.Time{}, false
	}
	keep := p.Keep
	if area == deck.AreaUndecided {
		keep = p.KeepUndecided
	}
	at := a.captured.Add(keep)
	if !a.failure.IsZero() && a.failure.Add(p.KeepFailed).After(at) {
		at = a.failure.Add(p.KeepFailed)
	}
	return at, !p.Now.Before(at)
}

// ageOf reads how old a trace is: from its tapes, from the joined tapes it is a part of, and from the evidence itself where no tape covers
// it.
func (c *Collector) ageOf(ctx context.Context, location deck.Location, state deck.LocationState) (age, error) {
	var a age
	current, ok := state.Current()
	covered := false
	if ok {
		tapes, err := runs.Tapes(ctx, c.deck, location, current)
		if err != nil {
			return a, err
		}
		for _, t := range tapes {
			a.see(t.Run.StartedAt)
			a.see(t.Run.EndedAt)
			a.runs = append(a.runs, t.Run.RunID)
			covered = location.Area == deck.AreaJoined || covers(current.Generation, state.Parts, t.Producer)
		}
	}
	if location.Area == deck.AreaRuns {
		if err := c.joined.age(location, &a); err != nil {
			return a, err
		}
	}
	if !covered {
		if err := c.ageOfEvidence(ctx, location, state.Parts, &a); err != nil {
			return a, err
		}
	}
	records, err := c.deck.ReplayStatuses(ctx, location, "")
	if err != nil {
		return a, err
	}
	for _, body := range records {
		at, failed, err := c.policy.ReplayResult(body)
		if err != nil {
			return a, err
		}
		if failed && at.After(a.failure) {
			a.failure = at.UTC()
		}
	}
	return a, nil
}

// covers tells whether a generation was derived from just these parts; else a writer is between its part and its generation, or died there.
func covers(g deck.Generation, parts []string, p tape.Producer) bool {
	producer, err := json.Marshal([]string{p.Name, p.Version, p.ConfigDigest})
	if err != nil {
		return false
	}
	// The second form is that of generation.Deriver.NameWithoutJoined.
	return deck.NewGeneration(g.Items, parts, producer).Digest == g.Digest || deck.NewGeneration(g.Items, parts, append(producer, "joined"...)).Digest == g.Digest
}

func (c *Collector) ageOfEvidence(ctx context.Context, location deck.Location, parts []string, a *age) error {
	for _, digest := range parts {
		body, err := c.deck.ReadPart(ctx, location, digest)
		if err != nil {
			return err
		}
		set, err := evidence.FromPart(body)
		if err != nil {
			return fmt.Errorf("part %s: %w", digest, err)
		}
		for _, item := range set.Items() {
			for _, at := range []uint64{uint64(item.Span.StartTimestamp()), uint64(item.Span.EndTimestamp())} {
				if at > 0 {
					a.see(time.Unix(0, int64(at)))
				}
			}
		}
	}
	return nil
}
