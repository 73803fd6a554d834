// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"iter"
)

// Leaver is a Store in which a writer that dies can leave a file that is no
// object: an unfinished one, or a second name of an object. No listing shows
// such files and no key reaches them, but they hold content.
type Leaver interface {
	// Abandoned walks those below prefix that no living writer holds.
	Abandoned(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// ReadAbandoned and RemoveAbandoned take what Abandoned yields.
	ReadAbandoned(ctx context.Context, key string) ([]byte, error)
	RemoveAbandoned(ctx context.Context, key string) error
}

// Abandoned walks the files that dead writers have left below a prefix of a
// store. It yields nothing for a store that is no Leaver.
func Abandoned(ctx context.Context, s Store, prefix string) iter.Seq2[Object, error] {
	if l, ok := s.(Leaver); ok {
		return l.Abandoned(ctx, prefix)
	}
	return func(func(Object, error) bool) {}
}

// Sweep removes the files that dead writers have left below a prefix of the deck.
func (d *Deck) Sweep(ctx context.Context, prefix string) (removed int, err error) {
	l, ok := d.store.(Leaver)
	if !ok {
		return 0, nil
	}
	for o, err := range l.Abandoned(ctx, prefix) {
		if err == nil {
			err = l.RemoveAbandoned(ctx, o.Key)
		}
		if err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}
