// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package oracles finds the oracles of the runs of a deck. It lies here and not below oracle/, because that package imports nothing of a
// deck.
package oracles

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape"
)

// Library is an oraclehttp.Library of all runs of a deck. It is safe for concurrent use.
type Library struct {
	// Tenant limits the library to the runs of one tenant; "" is all.
	Tenant string
	// SearchLimit is runs.Query.Limit.
	SearchLimit int
	// Unverified is called when the digest of a file does not hold, before the file is used. Without Unverified such files are refused.
	Unverified func(error)

	deck    *deck.Deck
	options oracle.Options
	// searching keeps clients that ask for what is not there from searching the deck side by side.
	searching sync.Mutex

	mu     sync.Mutex
	recent []loaded // most recent first
}

type loaded struct {
	key    string // of the tape, which holds its generation: what lies there never changes
	oracle *oracle.Oracle
}

// keepRecent is how many oracles stay in memory beside those that sessions hold.
const keepRecent = 16

// New returns the library of a deck, which stays the caller's to close.
func New(d *deck.Deck, options oracle.Options) *Library { return &Library{deck: d, options: options} }

var _ oraclehttp.Library = (*Library)(nil)

// Open returns the oracle of the current tape of a run. It takes any id that runs.Find knows. For a run that was joined, it returns the
// oracle of the joined run.
func (l *Library) Open(ctx context.Context, run string) (string, *oracle.Oracle, error) {
	if run == "" {
		return "", nil, fmt.Errorf("%w: this server holds a deck: ask POST /v1/runs/{run}/tool-calls, or name a run with the member run", oraclehttp.ErrSeveralRuns)
	}
	var ref deck.Ref
	var o *oracle.Oracle
	var err error
	const attempts = 3 // a writer may replace what was found
	for range attempts {
		if ref, err = l.one(ctx, run); err != nil {
			return "", nil, err
		}
		if o, err = l.load(ctx, ref); !errors.Is(err, deck.ErrNotFound) {
			break
		}
	}
	return ref.RunID(), o, err
}

// one finds the only run that an id names.
func (l *Library) one(ctx context.Context, run string) (deck.Ref, error) {
	refs, err := l.find(ctx, run)
	switch {
	case errors.Is(err, deck.ErrBadKey), errors.Is(err, deck.ErrNotFound):
		return deck.Ref{}, fmt.Errorf("%w: %w", oraclehttp.ErrNoRun, err)
	case errors.Is(err, deck.ErrAmbiguous):
		return deck.Ref{}, fmt.Errorf("%w: %w: %s", oraclehttp.ErrSeveralRuns, err, runs.Describe(ctx, l.deck.Store(), runs.Ambiguous(ctx, l.deck, err)))
	case err != nil:
		return deck.Ref{}, err
	}
	ref, ok := choose(refs)
	if !ok {
		return deck.Ref{}, fmt.Errorf("%w: %s", oraclehttp.ErrSeveralRuns, runs.Describe(ctx, l.deck.Store(), refs))
	}
	return ref, nil
}

func (l *Library) find(ctx context.Context, id string) ([]deck.Ref, error) {
	refs, err := l.deck.Find(ctx, id, l.Tenant)
	if !errors.Is(err, deck.ErrNotFound) && !errors.Is(err, deck.ErrBadKey) {
		return refs, err
	}
	l.searching.Lock()
	defer l.searching.Unlock()
	return runs.Find(ctx, l.deck, runs.Query{ID: id, Tenant: l.Tenant, Limit: l.SearchLimit})
}

// choose returns the only tape of the best area: what was joined is whole, and a replay is asked for only when it is no run.
func choose(refs []deck.Ref) (deck.Ref, bool) {
	for _, area := range []deck.Area{deck.AreaJoined, deck.AreaRuns, deck.AreaUndecided, deck.AreaReplays} {
		in := slices.DeleteFunc(slices.Clone(refs), func(r deck.Ref) bool { return r.Location.Area != area })
		if len(in) > 0 {
			return in[0], len(in) == 1
		}
	}
	return deck.Ref{}, false
}

func (l *Library) load(ctx context.Context, ref deck.Ref) (*oracle.Oracle, error) {
	l.mu.Lock()
	if i := slices.IndexFunc(l.recent, func(r loaded) bool { return r.key == ref.Key }); i >= 0 {
		found := l.recent[i]
		l.recent = slices.Insert(slices.Delete(l.recent, i, i+1), 0, found)
		l.mu.Unlock()
		return found.oracle, nil
	}
	l.mu.Unlock()
	entries, err := Entries(ctx, l.deck.Store(), ref.Key)
	if errors.Is(err, tape.ErrAltered) && l.Unverified != nil {
		l.Unverified(err)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	o, err := oracle.New(entries, l.options)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recent = slices.Insert(l.recent, 0, loaded{ref.Key, o})
	l.recent = l.recent[:min(len(l.recent), keepRecent)]
	return o, nil
}

// Entries returns the oracle that lies beside a tape. If none does, it returns the one that is made of the tape. If the tape or the oracle
// does not have its digest, it returns the entries together with tape.ErrAltered, wrapped.
func Entries(ctx context.Context, store deck.Store, tapeKey string) ([]oracle.Entry, error) {
	data, err := store.Get(ctx, tapeKey)
	if err != nil {
		return nil, err
	}
	t, altered := tape.ReadSealed(data)
	if t == nil {
		return nil, altered
	}
	key := path.Join(path.Dir(tapeKey), deck.OracleFile)
	data, err = store.Get(ctx, key)
	switch listed := t.SiblingDigests().Get(deck.OracleFile).Str(); {
	case errors.Is(err, deck.ErrNotFound):
		return oracle.FromTape(t), altered
	case err != nil:
		return nil, err
	case listed != tape.FileDigest(data):
		altered = errors.Join(altered, fmt.Errorf("%s: %w: the tape lists %.80q, the file has %s", key, tape.ErrAltered, listed, tape.FileDigest(data)))
	}
	entries, err := oracle.Read(data)
	if err != nil {
		return nil, err
	}
	return entries, altered
}
