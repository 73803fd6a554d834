// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package scrub

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
)

// Remnant is something of an erased trace that a deck holds still. The order of its fields is part of the contract.
type Remnant struct {
	Key     string `json:"key"`
	TraceID string `json:"trace_id,omitempty"`
	Where   string `json:"where"` // name, content, or a column of a reel
	Err     string `json:"error,omitempty"`
}

// Erased is what was looked for, and where.
type Erased struct {
	Traces  int // that were buried for good
	Parts   int // that were buried alone
	Objects int // that were searched
}

// erasures are the ids that must be nowhere.
type erasures struct {
	traces map[[16]byte]bool
	begin  [1 << 16]bool // two bytes that an id begins with
	parts  map[string]bool
}

// FindErased searches all objects of a deck, whatever they are and whoever shows them, for what was erased: the ids of buried traces, as text and as they stand in evidence, and buried parts.
// Tombstones name what they bury; they are not searched. What it yields last is about the deck as a whole.
func FindErased(ctx context.Context, d *deck.Deck, sums *Erased) iter.Seq2[Remnant, error] {
	return func(yield func(Remnant, error) bool) {
		store := view.Raw(d)
		e, err := erasuresOf(ctx, d, store)
		if err != nil {
			yield(Remnant{}, err)
			return
		}
		sums.Traces, sums.Parts = len(e.traces), len(e.parts)
		search := func(key string, size int64) bool {
			sums.Objects++
			for _, r := range e.search(ctx, d, store, key, size) {
				if !yield(r, nil) {
					return false
				}
			}
			return true
		}
		for o, err := range store.List(ctx, "") {
			if err != nil || ctx.Err() != nil {
				yield(Remnant{}, errors.Join(err, ctx.Err()))
				return
			}
			if isTombstone(o.Key) {
				continue
			}
			if !search(o.Key, o.Size) {
				return
			}
		}
		for o, err := range deck.Abandoned(ctx, store, "") {
			if err != nil {
				yield(Remnant{}, err)
				return
			}
			sums.Objects++
			body, err := store.(deck.Leaver).ReadAbandoned(ctx, o.Key)
			if errors.Is(err, deck.ErrNotFound) {
				continue
			}
			for _, r := range e.inBody(o.Key, body, err) {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// isTombstone tells a note that names what it buries, in any layout.
func isTombstone(key string) bool {
	return strings.HasPrefix(key, deck.TombstoneArea+"/") || deck.IsNote(key)
}

// erasuresOf reads the tombstones of a deck. A trace that was taken away in one area because of its age, and is shown in another one, was not erased.
func erasuresOf(ctx context.Context, d *deck.Deck, store deck.Store) (*erasures, error) {
	e := &erasures{traces: map[[16]byte]bool{}, parts: map[string]bool{}}
	for o, err := range store.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		if !isTombstone(o.Key) {
			continue
		}
		name := strings.TrimSuffix(path.Base(o.Key), ".json")
		if digest, ok := strings.CutPrefix(name, "part-"); ok {
			e.parts[digest] = true
			continue
		}
		if name != "trace" {
			continue
		}
		body, err := store.Get(ctx, o.Key)
		if errors.Is(err, deck.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var tomb struct {
			Key     string      `json:"key"`
			Reason  deck.Reason `json:"reason"`
			MovedTo string      `json:"moved_to"`
		}
		if err := json.Unmarshal(body, &tomb); err != nil {
			return nil, fmt.Errorf("%s is not a tombstone: %w", o.Key, err)
		}
		l, _, err := deck.ParseLocation(tomb.Key)
		if err != nil || tomb.MovedTo != "" || l.Area == deck.AreaJoined && tomb.Reason != deck.ReasonRequest {
			continue
		}
		if tomb.Reason != deck.ReasonRequest {
			shown, err := d.LocationsOf(ctx, l.TraceID, false)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(shown, func(s deck.Location) bool { return s.TenantKey() == l.TenantKey() }) {
				continue
			}
		}
		var id [16]byte
		if _, err := hex.Decode(id[:], []byte(l.TraceID)); err != nil {
			return nil, err
		}
		e.traces[id] = true
		e.begin[int(id[0])<<8|int(id[1])] = true
	}
	return e, nil
}

// search looks through an object.
func (e *erasures) search(ctx context.Context, d *deck.Deck, store deck.Store, key string, size int64) (found []Remnant) {
	if id := e.find([]byte(key)); id != "" {
		found = append(found, Remnant{Key: key, TraceID: id, Where: "name"})
	}
	if n, ok := reel.ParseName(key); ok {
		seen := map[Remnant]bool{}
		note := func(r Remnant) {
			if !seen[r] {
				seen[r] = true
				found = append(found, r)
			}
		}
		err := view.Catalog(d).Texts(ctx, reel.Object{Name: n, Size: size}, func(column string, m *reel.Meta, text []byte) {
			if id := e.find(text); id != "" {
				note(Remnant{Key: key, TraceID: id, Where: column})
			}
			if (column == "part" || column == "parts") && e.parts[string(text)] {
				note(Remnant{Key: key, TraceID: m.TraceID, Where: column})
			}
		})
		if err != nil && !errors.Is(err, deck.ErrNotFound) { // a compaction has taken it away
			found = append(found, Remnant{Key: key, Where: "content", Err: err.Error()})
		}
		return found
	}
	body, err := store.Get(ctx, key)
	if errors.Is(err, deck.ErrNotFound) {
		return found
	}
	return append(found, e.inBody(key, body, err)...)
}

// inBody looks through the bytes of an object.
func (e *erasures) inBody(key string, body []byte, err error) (found []Remnant) {
	if err == nil && deck.IsPacked(body) {
		body, err = deck.Unpack(body)
	}
	if err != nil {
		return []Remnant{{Key: key, Where: "content", Err: err.Error()}}
	}
	if id := e.find(body); id != "" {
		found = append(found, Remnant{Key: key, TraceID: id, Where: "content"})
	}
	// The key of a buried part stays taken, by nothing.
	if digest, ok := strings.CutSuffix(path.Base(key), deck.PartSuffix); ok && e.parts[digest] && len(body) > 0 {
		found = append(found, Remnant{Key: key, Where: "content"})
	}
	return found
}

// find returns the first erased trace whose id stands in a text: in hex digits of either case, or as the 16 bytes of telemetry.
func (e *erasures) find(text []byte) string {
	if len(e.traces) == 0 {
		return ""
	}
	digits := 0 // hex digits that end here
	for i := range text {
		if i+16 <= len(text) && e.begin[int(text[i])<<8|int(text[i+1])] {
			if id := [16]byte(text[i:]); e.traces[id] {
				return hex.EncodeToString(id[:])
			}
		}
		if hexDigit(text[i]) < 0 {
			digits = 0
			continue
		}
		if digits++; digits < 32 {
			continue
		}
		at := text[i-31:]
		if e.begin[hexDigit(at[0])<<12|hexDigit(at[1])<<8|hexDigit(at[2])<<4|hexDigit(at[3])] {
			var id [16]byte
			if _, err := hex.Decode(id[:], at[:32]); err == nil && e.traces[id] {
				return hex.EncodeToString(id[:])
			}
		}
	}
	return ""
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
