// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package runs finds the runs of a deck by what names them, and opens their tapes. A deck has no catalog: its layout knows trace ids, and
// every other id is looked for in the tapes themselves, up to a bound.
package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Query says which runs are wanted.
type Query struct {
	// ID is what deck.Find takes, or else the invocation, task, correlation or conversation id of
	// runs, in full.
	ID string
	// Tenant limits it to one tenant; "" is all.
	Tenant string
	// Limit bounds how many traces are looked at for an id that the layout of a deck does not know: each costs a listing, and a
	// reading of each of its current tapes. DefaultLimit if 0.
	Limit int
}

// DefaultLimit is the default of Query.Limit.
const DefaultLimit = 10_000

// ErrLimit is returned, wrapped, when the deck holds more traces than may be looked at.
var ErrLimit = errors.New("the deck holds more traces than are searched")

// Find returns the current tapes that a query stands for, at least one: in the order of areas, then of keys. deck.ErrNotFound and
// deck.ErrAmbiguous are wrapped as by deck.Find.
func Find(ctx context.Context, d *deck.Deck, q Query) ([]deck.Ref, error) {
	refs, err := d.Find(ctx, q.ID, q.Tenant)
	if err == nil || !errors.Is(err, deck.ErrNotFound) && !errors.Is(err, deck.ErrBadKey) || isRunID(q.ID) || q.ID == "" || errors.Is(err, deck.ErrDropped) {
		return refs, err
	}
	if refs, searchErr := search(ctx, d, q); searchErr != nil || len(refs) > 0 {
		return refs, searchErr
	}
	if errors.Is(err, deck.ErrNotFound) {
		return nil, fmt.Errorf("%w, and no run has it as its invocation, task, correlation or conversation id", err)
	}
	return nil, fmt.Errorf("no run has the invocation, task, correlation or conversation id %.80q: %w", q.ID, deck.ErrNotFound)
}

// isRunID tells an id that cannot be anything else.
func isRunID(id string) bool {
	trace, root, ok := strings.Cut(id, "-")
	return ok && len(trace) == 32 && len(root) == 16 && strings.Trim(strings.ToLower(trace+root), "0123456789abcdef") == ""
}

// Tapes reads the tapes of a generation.
func Tapes(ctx context.Context, d *deck.Deck, location deck.Location, g deck.GenerationState) (tapes []*tape.Tape, err error) {
	for _, run := range g.Runs {
		body, err := d.ReadFile(ctx, location, g.Generation, run.Root, tape.TapeFile)
		if err != nil {
			return tapes, err
		}
		t, err := tape.ReadSealed(body)
		if err != nil {
			return tapes, err
		}
		tapes = append(tapes, t)
	}
	return tapes, nil
}

// Names are the ids of a run that the layout of a deck does not know: invocation, task, correlation and conversation id.
func Names(r *tape.Run) []string {
	names := []string{r.InvocationID, r.TaskID, r.CorrelationID, r.ConversationID}
	return slices.DeleteFunc(names, func(id string) bool { return id == "" })
}

// readers is how many locations are read at a time.
const readers = 8

// search reads the current tapes of a deck, readers at a time, and holds no more of them.
func search(ctx context.Context, d *deck.Deck, q Query) ([]deck.Ref, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	var found []deck.Ref
	batch := make([]deck.Location, 0, readers)
	flush := func() error {
		refs, errs := make([][]deck.Ref, len(batch)), make([]error, len(batch))
		var reading sync.WaitGroup
		for i, location := range batch {
			reading.Go(func() { refs[i], errs[i] = having(ctx, d, location, q.ID) })
		}
		reading.Wait()
		found = append(found, slices.Concat(refs...)...)
		batch = batch[:0]
		return errors.Join(errs...)
	}
	if l, ok := d.Store().(deck.Locator); ok {
		return named(ctx, d, l, q)
	}
	looked := 0
	for location, err := range d.Locations(ctx) {
		if err != nil {
			return nil, err
		}
		if !location.Of(q.Tenant) {
			continue
		}
		if looked == limit {
			if err := flush(); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%w: %.80q is no trace id, so the first %d traces were searched and %d have it; name a tenant, or raise --search-limit",
				ErrLimit, q.ID, limit, len(found))
		}
		looked++
		if batch = append(batch, location); len(batch) == readers {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return found, flush()
}

// named is search in a store that knows the ids of its runs.
func named(ctx context.Context, d *deck.Deck, l deck.Locator, q Query) (found []deck.Ref, err error) {
	locations, err := l.Named(ctx, q.ID)
	if err != nil {
		return nil, err
	}
	for _, location := range locations {
		if !location.Of(q.Tenant) {
			continue
		}
		refs, err := having(ctx, d, location, q.ID)
		if err != nil {
			return nil, err
		}
		found = append(found, refs...)
	}
	return found, nil
}

// having returns the current tapes of a location that have an id. What is no tape has none.
func having(ctx context.Context, d *deck.Deck, location deck.Location, id string) (refs []deck.Ref, err error) {
	literal := []byte(exactjson.StringValue(id).JSON())
	_, err = d.ReadCurrent(ctx, location, func(generation deck.GenerationState) error {
		refs = nil
		for _, ref := range refsOf(d, location, generation) {
			body, err := d.Store().Get(ctx, ref.Key)
			if err != nil {
				return err
			}
			if !bytes.Contains(body, literal) {
				continue // most tapes: they need not be parsed
			}
			if t, err := tape.Read(body); err == nil && slices.Contains(Names(&t.Run), id) {
				refs = append(refs, ref)
			}
		}
		return nil
	})
	return refs, err
}

// Current returns the tapes of the current generation of a location; none where no generation is complete.
func Current(ctx context.Context, d *deck.Deck, location deck.Location) ([]deck.Ref, error) {
	generation, ok, err := d.Current(ctx, location)
	if err != nil || !ok {
		return nil, err
	}
	return refsOf(d, location, generation), nil
}

func refsOf(d *deck.Deck, location deck.Location, generation deck.GenerationState) (refs []deck.Ref) {
	for _, run := range generation.Runs {
		refs = append(refs, d.Ref(location, generation.Generation, run.Root, deck.TapeFile))
	}
	return refs
}

// Read calls read with a tape that Find or Current has returned. A writer may replace the generation meanwhile, so that read finds a file
// of the run missing. Then read is called again, with the tape of that run in the generation that is current then. What it had read before
// belongs to no generation.
func Read(ctx context.Context, d *deck.Deck, ref deck.Ref, read func(deck.Ref) error) error {
	missing := read(ref)
	if !errors.Is(missing, deck.ErrNotFound) || !ref.InDeck() {
		return missing
	}
	found, err := d.ReadCurrent(ctx, ref.Location, func(generation deck.GenerationState) error {
		now := d.Ref(ref.Location, generation.Generation, ref.Root, deck.TapeFile)
		if now.Key == ref.Key || !slices.Contains(refsOf(d, ref.Location, generation), now) {
			return missing
		}
		return read(now)
	})
	if err == nil && !found {
		return missing
	}
	return err
}

// Ambiguous returns the tapes behind an *deck.AmbiguousError; none when err is another error.
func Ambiguous(ctx context.Context, d *deck.Deck, err error) []deck.Ref {
	var ambiguous *deck.AmbiguousError
	if !errors.As(err, &ambiguous) {
		return nil
	}
	var refs []deck.Ref
	for _, location := range ambiguous.Locations {
		if of, err := Current(ctx, d, location); err == nil {
			refs = append(refs, of...)
		}
	}
	return refs
}

// maxDescribed is how many runs a description names.
const maxDescribed = 5

// Describe names runs by what tells them apart: short id, area, tenant and start. Where another one has the
// same id it is the id with area and tenant, and the address as well if it is one of the same tenant.
func Describe(ctx context.Context, store deck.Store, refs []deck.Ref) string {
	var b strings.Builder
	var ids deck.ShortIDs
	alike := map[string]int{} // runs of one id, and runs of one id and tenant, which lie in several areas
	for _, ref := range refs {
		ids.Add(ref.RunID())
		alike[ref.RunID()]++
		alike[ref.Location.TenantKey()+"/"+ref.RunID()]++
	}
	for i, ref := range refs {
		if i == maxDescribed {
			fmt.Fprintf(&b, "; and %d more", len(refs)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		address, _, _ := strings.Cut(ref.URL, "?")
		if !ref.InDeck() {
			b.WriteString(address)
			continue
		}
		tenant, started := ref.Location.Tenant, "start not known"
		if body, err := store.Get(ctx, ref.Key); err == nil {
			if t, err := tape.Read(body); err == nil {
				tenant = t.Run.Tenant
				if at := t.Run.StartedAt; !at.IsZero() {
					started = "started " + at.UTC().Format(time.RFC3339)
				}
			}
		}
		id := ids.Of(ref.RunID())
		if alike[ref.RunID()] > 1 {
			id = ref.Qualified()
		}
		fmt.Fprintf(&b, "%s (%s, tenant %s, %s)", id, ref.Location.Area, tenant, started)
		if alike[ref.Location.TenantKey()+"/"+ref.RunID()] > 1 {
			b.WriteString(" " + address)
		}
	}
	return b.String()
}
