// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/retention"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/replay"
)

// noted is the line about a hold that is there, is new, or was released.
type noted struct {
	deck.Hold
	Key      string `json:"key"`
	Released bool   `json:"released,omitempty"`
}

// keep holds runs, releases them, erases them, or lists holds: what gc does with single runs. done is false if none of it was asked for.
func (f *gcFlags) keep(ctx context.Context, address string, stdout, stderr io.Writer) (done bool, err error) {
	asked := 0
	for _, wanted := range []bool{len(f.hold) > 0, len(f.release) > 0, len(f.erase) > 0, f.holds} {
		if wanted {
			asked++
		}
	}
	switch {
	case asked == 0 && f.reason != "":
		return true, errors.New("--reason goes with --hold or --release")
	case asked == 0:
		return false, nil
	case asked > 1:
		return true, errors.New("--hold, --release, --erase and --holds are one call each")
	case len(f.hold) > 0 && f.reason == "":
		return true, errors.New("--hold needs a --reason: whoever wants to release the run has to know it")
	case (f.holds || len(f.erase) > 0) && f.reason != "":
		return true, errors.New("--reason goes with --hold or --release")
	case len(f.erase) > 0 && !f.yes:
		return true, errors.New("--erase takes away for good: it needs --yes")
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return true, err
	}
	f.before.of(d, stderr)
	var erased []retention.Removal
	defer func() {
		closed := d.Close() // in a deck of reels, what was erased is gone when this is done
		for _, r := range erased {
			err = errors.Join(err, writeJSON(stdout, removal{Removal: r, Removed: closed == nil}))
		}
		err = errors.Join(err, closed)
	}()
	if f.holds {
		for h, err := range d.Holds(ctx) {
			if err == nil && f.ofTenant(h.Tenant) {
				err = writeJSON(stdout, noted{Hold: h, Key: h.Key})
			}
			if err != nil {
				return true, err
			}
		}
		return true, nil
	}
	for _, ref := range f.hold {
		for _, at := range f.runsOf(ctx, d, ref, &err, stderr) {
			h, err := d.PutHold(ctx, at.location, at.runID, f.reason, f.now())
			if err == nil {
				err = writeJSON(stdout, noted{Hold: h, Key: h.Key})
			}
			if err != nil {
				return true, err
			}
		}
	}
	for _, ref := range f.release {
		for _, at := range f.runsOf(ctx, d, ref, &err, stderr) {
			released, err := d.Release(ctx, at.location, f.reason)
			if err == nil && len(released) == 0 {
				err = fmt.Errorf("no hold is on %s", at.location)
			}
			for _, h := range released {
				err = errors.Join(err, writeJSON(stdout, noted{Hold: h, Key: h.Key, Released: true}))
			}
			if err != nil {
				return true, err
			}
		}
	}
	for _, ref := range f.erase {
		for _, at := range f.runsOf(ctx, d, ref, &err, stderr) {
			removals, err := retention.Erase(ctx, d, at.location.TenantKey(), at.location.TraceID, f.now())
			if erased = append(erased, removals...); err != nil {
				return true, err
			}
		}
	}
	return true, err
}

func (f *gcFlags) ofTenant(key string) bool {
	return f.tenant == "" || f.tenant == key || deck.SafeName(f.tenant) == key
}

// heldRun is what a REF stands for: a trace, and the run that was named.
type heldRun struct {
	location deck.Location
	runID    string
}

// runsOf returns the traces that a REF stands for; a joined run stands for those that it is made of, too. A trace id stands for its trace, tapes or not.
func (f *gcFlags) runsOf(ctx context.Context, d *deck.Deck, ref string, failed *error, stderr io.Writer) (list []heldRun) {
	if *failed != nil {
		return nil
	}
	if locations, err := d.LocationsOf(ctx, ref, true); err == nil {
		for _, l := range locations {
			if l.Of(f.tenant) && (len(list) == 0 || list[0].location.TenantKey() == l.TenantKey()) {
				list = append(list, heldRun{location: l})
			} else if l.Of(f.tenant) {
				*failed = fmt.Errorf("trace %s is there for several tenants; say which by --tenant", ref)
				return nil
			}
		}
		if len(list) > 0 {
			return list[:1]
		}
	}
	finder := replay.Finder{Deck: d.URL(), Tenant: f.tenant, Limit: runs.DefaultLimit, Warn: func(format string, args ...any) { say(stderr, format, args...) }, Usage: func() string { return "gc DECK --hold" }}
	for at, err := range finder.Resolve(ctx, ref, replay.SeveralRuns) {
		if trace, _, isRun := strings.Cut(ref, "-"); isRun && errors.Is(err, deck.ErrDropped) {
			return f.runsOf(ctx, d, trace, failed, stderr)
		}
		if err != nil {
			*failed = err
			return nil
		}
		if !at.Ref.InDeck() || at.Deck == nil || at.Deck.String() != d.String() {
			*failed = fmt.Errorf("%s is no run of %s", ref, d)
			return nil
		}
		list = append(list, heldRun{at.Ref.Location, at.Ref.RunID()})
		if at.Ref.Location.Area != deck.AreaJoined {
			continue
		}
		t, err := replay.ReadSealed(ctx, at)
		if err != nil {
			*failed = err
			return nil
		}
		for _, id := range t.Sources.TraceIDs {
			l := at.Ref.Location
			l.Area, l.TraceID = deck.AreaRuns, id
			list = append(list, heldRun{l, at.Ref.RunID()})
		}
	}
	if len(list) == 0 {
		*failed = fmt.Errorf("%s stands for no run of %s", ref, d)
	}
	return list
}
