// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/keep"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/tape"
)

// earlier is what a deck knows of a trace before a delivery.
type earlier struct {
	content bool        // it holds evidence
	dropped bool        // evidence was dropped
	joined  string      // the id that its tapes share with the other traces of the run; empty: not known
	decided keep.Reason // about this delivery; empty: not yet
}

// decide tells whether the content of a delivery is kept. failed is why no tape was made. Without a policy
// the reason is empty.
//
// The decision is one of content, so a delivery that is repeated after a crash gets it again. What goes into
// it beside content is durable too, but for the runs that were kept lately: these keep more.
func (w *Writer) decide(r Request, before earlier, derived *generation.Derived, failed error) keep.Reason {
	var tapes []*tape.Tape
	if failed == nil {
		tapes = derived.Tapes
	}
	switch {
	case w.options.Keep == nil:
		return ""
	case before.decided != "":
		return before.decided
	case r.Set.Verdict(w.options.Replay).Replay:
		return keep.Replay
	case before.content:
		return keep.Late
	case failed != nil && !errors.Is(failed, generation.ErrNoRun):
		return keep.Unread
	}
	joined := before.joined
	if joined == "" {
		joined = keep.Joined(r.TraceID, tapes)
	}
	run := runKey{r.Tenant, joined}
	reason := w.options.Keep.Decide(tapes, joined)
	switch {
	case joined == r.TraceID:
	case reason == keep.Dropped && w.kept.has(run):
		reason = keep.Run
	case reason != keep.Dropped && reason != keep.Percent:
		w.kept.add(run)
	}
	return reason
}

// alone reports that a delivery brings all of its trace, as far as its sender knows. Then nothing has to be
// looked up.
func (r Request) alone() bool { return r.First && r.Complete }

// noteDropped adds to the evidence that earlier evidence of its trace was dropped. It reports whether that is
// new.
func (r Request) noteDropped() (bool, error) {
	if r.Set.Dropped() {
		return false, nil
	}
	id, err := hex.DecodeString(r.TraceID)
	if err != nil || len(id) != len(pcommon.TraceID{}) {
		return false, fmt.Errorf("trace %s: its id is not one", r.TraceID)
	}
	r.Set.AddDropped(pcommon.TraceID(id))
	return true, nil
}

// drops tells whether nothing of a delivery goes into a deck of files. A delivery that is kept, and whose
// trace lost evidence before, notes it.
func (w *Writer) drops(ctx context.Context, r Request) (reason keep.Reason, err error) {
	if w.options.Keep == nil || r.Set.Len() == 0 || w.options.Accept.refuses(deck.AreaRuns) {
		return "", nil
	}
	defer generation.Recovered(&err, ErrDefect, r.TraceID)
	e := &generation.Evidence{Tenant: r.Tenant, TraceID: r.TraceID, Set: r.Set}
	derived, failed := w.deriver.DerivePart(e, "", new([]byte))
	var before earlier
	if !r.alone() || errors.Is(failed, generation.ErrNoRun) {
		if before.content, err = w.Holds(ctx, r.Tenant, r.TraceID); err != nil {
			return "", err
		}
		before.dropped = r.Late && !before.content
	}
	reason = w.decide(r, before, derived, failed)
	if reason != keep.Dropped && before.dropped {
		_, err = r.noteDropped()
	}
	return reason, err
}

// earlier looks a trace up in a deck of reels, unless nothing of it can be there.
func (w *ReelWriter) earlier(ctx context.Context, r Request, alone bool) (e earlier, err error) {
	catalog := view.Catalog(w.deck)
	if w.options.Keep == nil || alone || catalog == nil {
		return e, nil
	}
	catalog.Stale() // what this process has written meanwhile is seen
	rows, err := catalog.Trace(ctx, deck.SafeName(r.Tenant), r.TraceID)
	if err != nil {
		return e, fmt.Errorf("look up trace %s: %w", r.TraceID, err)
	}
	for _, row := range rows {
		if !row.Dropped() {
			e.content = true
			continue
		}
		e.dropped = true
		if id := keep.RunOf(row.CorrelationID, row.ConversationID); id != "" && (e.joined == "" || id < e.joined) {
			e.joined = id
		}
	}
	return e, nil
}

// drop takes the content out of rows: what stays are columns that hold none.
func drop(rows []reel.Row) {
	for i := range rows {
		rows[i].Evidence, rows[i].Tape, rows[i].UserMessage, rows[i].Signature = nil, nil, "", ""
	}
}

// runKey is a run of several traces.
type runKey struct{ tenant, id string }

// keptRuns remembers the runs of several traces of which one was kept lately.
type keptRuns struct {
	mu    sync.Mutex
	known map[runKey]bool
	order []runKey // the oldest first
}

// maxKeptRuns bounds keptRuns.
const maxKeptRuns = 50_000

func (k *keptRuns) has(run runKey) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[run]
}

func (k *keptRuns) add(run runKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known[run] {
		return
	}
	if k.known == nil {
		k.known = map[runKey]bool{}
	}
	k.known[run] = true
	if k.order = append(k.order, run); len(k.order) > maxKeptRuns {
		delete(k.known, k.order[0])
		k.order = k.order[1:]
	}
}
