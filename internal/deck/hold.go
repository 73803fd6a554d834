// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"
)

// HoldArea has what must not go: a note per trace and reason. It belongs to no layout.
const HoldArea = "holds"

const (
	holdKind   = "tape-hold"
	holdLayout = "1"
	// maxHoldReason bounds the reason of a hold, in bytes.
	maxHoldReason = 2000
)

// Hold says that a trace must not go: not when its time is up, not when somebody asks for it, not in another form. It holds until it is released.
type Hold struct {
	Kind    string    `json:"kind"`
	Layout  string    `json:"layout"`
	Tenant  string    `json:"tenant"` // as it stands in keys
	TraceID string    `json:"trace_id"`
	RunID   string    `json:"run_id,omitempty"` // that was named
	Reason  string    `json:"reason"`
	HeldAt  time.Time `json:"held_at"`

	Key string `json:"-"`
}

// ErrHeld is about something that a hold keeps.
var ErrHeld = errors.New("held")

func (p Location) holds() string {
	return HoldArea + "/" + p.TenantKey() + "/" + p.TraceID + "/"
}

// PutHold holds a trace, in whatever area it lies. Another hold of the same trace and reason stays as it is.
func (d *Deck) PutHold(ctx context.Context, location Location, runID, reason string, at time.Time) (Hold, error) {
	if err := location.Validate(); err != nil {
		return Hold{}, err
	}
	if strings.TrimSpace(reason) == "" || len(reason) > maxHoldReason || !utf8.ValidString(reason) {
		return Hold{}, fmt.Errorf("a hold needs a reason of up to %d bytes of text", maxHoldReason)
	}
	if err := d.mark(ctx); err != nil {
		return Hold{}, err
	}
	sum := sha256.Sum256([]byte(reason))
	h := Hold{Kind: holdKind, Layout: holdLayout, Tenant: location.TenantKey(), TraceID: location.TraceID, RunID: runID, Reason: reason, HeldAt: at.UTC(),
		Key: location.holds() + hex.EncodeToString(sum[:16]) + ".json"}
	text, err := json.Marshal(h)
	if err != nil {
		return Hold{}, fmt.Errorf("encode hold: %w", err)
	}
	_, err = d.store.PutNew(ctx, h.Key, append(text, '\n'), jsonType)
	return h, err
}

// Holds walks the holds of a deck.
func (d *Deck) Holds(ctx context.Context) iter.Seq2[Hold, error] {
	return d.holdsBelow(ctx, HoldArea+"/")
}

// HoldsOf walks the holds of a trace.
func (d *Deck) HoldsOf(ctx context.Context, location Location) iter.Seq2[Hold, error] {
	return d.holdsBelow(ctx, location.holds())
}

func (d *Deck) holdsBelow(ctx context.Context, prefix string) iter.Seq2[Hold, error] {
	return func(yield func(Hold, error) bool) {
		for o, err := range d.store.List(ctx, prefix) {
			var h Hold
			if err == nil {
				h, err = d.readHold(ctx, o.Key)
			}
			if errors.Is(err, ErrNotFound) {
				continue // released since it was listed
			}
			if !yield(h, err) || err != nil {
				return
			}
		}
	}
}

// readHold reads a hold. One that cannot be read holds all the same: its key says what.
func (d *Deck) readHold(ctx context.Context, key string) (Hold, error) {
	segs := strings.Split(key, "/")
	if len(segs) != 4 {
		return Hold{}, d.corrupt(key, "not the key of a hold")
	}
	text, err := d.store.Get(ctx, key)
	if err != nil {
		return Hold{}, err
	}
	var h Hold
	if json.Unmarshal(text, &h) != nil || h.Kind != holdKind {
		h = Hold{Reason: "a hold that cannot be read"}
	}
	h.Key, h.Tenant, h.TraceID = key, segs[1], segs[2]
	return h, nil
}

// Release takes away the holds of a trace; of all reasons, or of one.
func (d *Deck) Release(ctx context.Context, location Location, reason string) (released []Hold, err error) {
	for h, err := range d.HoldsOf(ctx, location) {
		if err != nil {
			return released, err
		}
		if reason == "" || h.Reason == reason {
			released = append(released, h)
		}
	}
	for i, h := range released {
		if err := d.store.Delete(ctx, h.Key); err != nil {
			return released[:i], err
		}
	}
	return released, nil
}

// Held is ErrHeld with the reason if a hold keeps the trace.
func (d *Deck) Held(ctx context.Context, location Location) error {
	for h, err := range d.HoldsOf(ctx, location) {
		if err != nil {
			return err
		}
		return HeldError(location, h)
	}
	return nil
}

// HeldError says what keeps a trace.
func HeldError(location Location, h Hold) error {
	return &StoreError{Op: "bury", Scheme: "deck", Key: location.Prefix(), Permanent: true, Err: ErrHeld,
		Reason: fmt.Sprintf("a hold keeps it (%s); it has to be released first", shorten(h.Reason))}
}

// takes tells whether a burial takes evidence or tapes away for good, as holds forbid.
func (b Burial) takes() bool {
	return b.MovedTo == nil && (b.Reason == ReasonRetention || b.Reason == ReasonRequest || b.Reason == ReasonScrub)
}
