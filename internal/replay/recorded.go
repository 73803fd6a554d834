// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Recorded is one run as it was loaded: a snapshot or a tape.
type Recorded struct {
	Source   string
	Snapshot *waza.Snapshot
	Tape     *tape.Tape
	Files    map[string][]byte
	At       Location
}

// Events are the tool calls; plain makes those of a tape comparable with those of a snapshot.
func (r *Recorded) Events(plain bool) []waza.Event {
	if r.Snapshot != nil {
		return r.Snapshot.Events()
	}
	return waza.TapeEvents(r.Tape, plain)
}

// LoadRuns yields the runs that an argument stands for.
func (r *Finder) LoadRuns(ctx context.Context, arg string) iter.Seq2[Recorded, error] {
	return func(yield func(Recorded, error) bool) {
		found := func(at Location, source string) bool {
			one := Recorded{Source: source, At: at}
			err := one.read(ctx)
			if at.Ref.Key != one.At.Ref.Key && source == at.Ref.URL {
				one.Source = one.At.Ref.URL // it was replaced
			}
			return yield(one, err)
		}
		for at, err := range r.Resolve(ctx, arg, WholeDeck) {
			source := arg
			if base, _ := SplitURL(arg); at.Ref.InDeck() && !strings.HasSuffix(base, ".json") {
				source = at.Ref.URL // the argument may stand for several runs
			}
			switch {
			case errors.Is(err, ErrNoTapes):
				if err = r.snapshotsBelow(ctx, arg, err, found); err != nil {
					yield(Recorded{}, err)
				}
				return
			case err != nil:
				if !yield(Recorded{}, err) {
					return
				}
			case !found(at, source):
				return
			}
		}
	}
}

// snapshotName is the form of the names that waza gives. A file with such a name is meant to be a snapshot, and is an error when it is
// none.
var snapshotName = regexp.MustCompile(`(^|/)([^/]+-run-?[0-9]+|evidence-[^/]+)\.json$`)

// maxNamed is how many files are named that were passed over.
const maxNamed = 5

// snapshotsBelow yields the snapshots and tapes in a folder that is neither that of a run nor a deck. It also searches folders inside it, as
// export writes them. It passes over files that are neither, and says so, but for a results.json. It returns none when there is nothing to check.
func (r *Finder) snapshotsBelow(ctx context.Context, address string, none error, yield func(at Location, source string) bool) (err error) {
	store, err := deck.OpenStore(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	base, query := SplitURL(address)
	var passed []string
	for object, err := range store.List(ctx, "") {
		if err != nil {
			return err
		}
		wanted := snapshotName.MatchString(object.Key)
		if !wanted && strings.HasSuffix(object.Key, ".json") {
			data, err := store.Get(ctx, object.Key)
			if err != nil {
				return err
			}
			if waza.DetectResults(data) {
				continue // of the evaluation whose snapshots these are
			}
			wanted = waza.Detect(data) || isTape(data)
		}
		if !wanted {
			passed = append(passed, object.Key)
			continue
		}
		none = nil
		source := base + "/" + object.Key + query
		if !yield(Location{Ref: deck.Ref{URL: source, DeckURL: address, Key: object.Key}, Store: store}, source) {
			return nil
		}
	}
	if n := len(passed); n > 0 {
		more := ""
		if n > maxNamed {
			more = ", …"
		}
		r.Warn("%s: %d files were passed over, which are neither snapshots nor tapes: %s%s; tapedeck derive makes tapes of telemetry, tapedeck import of other formats", base, n, strings.Join(passed[:min(n, maxNamed)], ", "), more)
	}
	return none
}

// read tells a tape from a snapshot by what the file says it is.
func (r *Recorded) read(ctx context.Context) error {
	err := r.At.Reading(ctx, func() error { return r.readOnce(ctx) })
	if r.Tape != nil && errors.Is(err, deck.ErrNotFound) {
		return nil // a file beside it, as the problems of the tape will say
	}
	return err
}

func (r *Recorded) readOnce(ctx context.Context) error {
	r.Tape, r.Files = nil, nil
	data, err := r.At.Read(ctx, r.At.Ref.Key)
	if err != nil {
		return fmt.Errorf("%s: %w", r.At, err)
	}
	if isTape(data) {
		r.Tape, r.Files, err = r.At.LoadWith(ctx, data)
		return err
	}
	if r.Snapshot, err = waza.Read(data); errors.Is(err, interop.ErrNotFormat) {
		return notATape(r.At, data, err)
	} else if err != nil {
		return fmt.Errorf("%s: %w", r.At, err)
	}
	return nil
}

func isTape(data []byte) bool {
	if bytes.HasPrefix(data, []byte(`{"kind":"`+tape.Kind+`"`)) {
		return true // as every tape of ours begins; most snapshots are small
	}
	v, err := exactjson.ParseWithin(string(data), tape.MaxDepth, tape.MaxValues)
	return err == nil && v.Get("kind").Str() == tape.Kind
}

// LoadRun loads the one run that an argument stands for.
func (r *Finder) LoadRun(ctx context.Context, arg string) (Recorded, error) {
	var found Recorded
	n := 0
	for one, err := range r.LoadRuns(ctx, arg) {
		if err != nil {
			return found, err
		}
		if n++; n > 1 {
			return found, fmt.Errorf("%s stands for several runs; name one", arg)
		}
		if one.Tape != nil { // nothing lists what is wrong with it here
			if _, err := r.Take(one.At, one.Files[tape.TapeFile]); err != nil {
				return found, err
			}
		}
		found = one
	}
	if n == 0 {
		return found, fmt.Errorf("%s holds no tape", arg)
	}
	return found, nil
}
