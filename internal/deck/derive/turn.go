// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
)

// turns let one delivery of a trace at a time derive its tapes. The others make their parts durable meanwhile, and the next one to have its
// turn derives from all of them; those behind it find nothing left to do.
type turns struct {
	mu   sync.Mutex
	open map[turnKey]*turn
}

type turnKey struct{ tenant, trace string }

// turn is that of one trace. It exists as long as somebody delivers the trace.
type turn struct {
	busy    chan struct{} // of capacity 1; full while somebody derives
	waiting int           // deliveries that refer to it, guarded by turns.mu
	last    *outcome      // of whoever derived last; belongs to the one who derives
}

// outcome is what a derivation from certain parts has written.
type outcome struct {
	location deck.Location
	parts    []string
	written  []Written
}

// delivery is one call of Deliver.
type delivery struct {
	turn    *turn           // nil takes no turn
	has     bool            // it is this one's
	durable bool            // the part is in the deck
	own     string          // digest of the part
	puts    []deck.Location // where it was written
	made    []made          // tapes
}

// made is a generation that a delivery has written.
type made struct {
	location   deck.Location
	generation deck.Generation
}

func (t *turns) join(tenant, trace string) *delivery {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := turnKey{tenant, trace}
	if t.open == nil {
		t.open = map[turnKey]*turn{}
	}
	if t.open[key] == nil {
		t.open[key] = &turn{busy: make(chan struct{}, 1)}
	}
	t.open[key].waiting++
	return &delivery{turn: t.open[key]}
}

func (t *turns) leave(tenant, trace string, d *delivery) {
	if d.has {
		<-d.turn.busy
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if d.turn.waiting--; d.turn.waiting == 0 {
		delete(t.open, turnKey{tenant, trace})
	}
}

// wait returns when the turn has come.
func (d *delivery) wait(ctx context.Context) error {
	if d.turn == nil || d.has {
		return nil
	}
	select {
	case d.turn.busy <- struct{}{}:
		d.has = true
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for another derivation of the same trace: %w", ctx.Err())
	}
}

// free tells whether the turn is this one's without a wait.
func (d *delivery) free() bool {
	if d.turn == nil || d.has {
		return true
	}
	select {
	case d.turn.busy <- struct{}{}:
		d.has = true
	default:
	}
	return d.has
}

// done is what was written from the same parts; nil if nothing was.
func (d *delivery) done(location deck.Location, parts []string) *outcome {
	if !d.has || d.turn.last == nil || d.turn.last.location != location || !slices.Equal(d.turn.last.parts, parts) {
		return nil
	}
	return d.turn.last
}

// sentinel is what a panic means now.
func (d *delivery) sentinel() error {
	if d.durable {
		return generation.ErrUnderivable
	}
	return ErrDefect
}
