// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package traceline

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// BatchBytes closes the reels that are open: content of their rows, before compression. All of it is in
// memory, and a reel of it beside it.
const BatchBytes = 64 << 20

// rowBytes is about what a row takes beside its content.
const rowBytes = 1 << 10

// Put is a reel that was put into a deck.
type Put struct {
	Key     string `json:"key"`
	Bytes   int    `json:"bytes"`
	Rows    int    `json:"rows"`
	Created bool   `json:"created"` // false: the same bytes were there, as after a task that is tried again
}

// Reels gathers the rows of traces and puts them into a deck. The same traces in the same order give the same
// reels, whenever that is and however often.
type Reels struct {
	Deck  *deck.Deck
	Today string // the date of rows that have none

	rows  map[partition][]reel.Row
	bytes int64
}

// partition is what one reel is of.
type partition struct{ date, tenant, area string }

func (p partition) compare(o partition) int {
	return cmp.Or(cmp.Compare(p.date, o.date), cmp.Compare(p.tenant, o.tenant), cmp.Compare(p.area, o.area))
}

// Add takes the rows of a trace, and tells whether it is time for Flush.
func (w *Reels) Add(r *Rows) (full bool) {
	if w.rows == nil {
		w.rows = map[partition][]reel.Row{}
	}
	for _, row := range r.Rows {
		at := partition{cmp.Or(r.Date, w.Today), row.Tenant, row.Area}
		w.rows[at] = append(w.rows[at], row)
		w.bytes += rowBytes + int64(len(row.Evidence)+len(row.Tape))
	}
	return w.bytes >= BatchBytes
}

// Flush puts what was added: a reel for each date, tenant and area. When it returns, all of it is durable.
func (w *Reels) Flush(ctx context.Context) (list []Put, err error) {
	at := make([]partition, 0, len(w.rows))
	for p := range w.rows {
		at = append(at, p)
	}
	slices.SortFunc(at, partition.compare)
	for _, p := range at {
		rows := w.rows[p]
		body, err := reel.Encode(rows)
		if err != nil {
			return list, err
		}
		day, err := time.Parse(time.DateOnly, p.date)
		if err != nil {
			return list, err
		}
		name := reel.NameOf(deck.Area(p.area), p.tenant, day, 0, body)
		created, err := reel.Put(ctx, w.Deck, name, body)
		if err != nil {
			return list, err
		}
		list = append(list, Put{name.Key(), len(body), len(rows), created})
	}
	w.rows, w.bytes = nil, 0
	return list, nil
}
