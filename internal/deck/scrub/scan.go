// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package scrub finds secrets in existing decks, and rewrites the objects that hold them.
package scrub

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/redact"
)

// Searcher finds secrets. A derive.Gate is one, a redact.Redactor another.
type Searcher interface {
	ScanTraces(td ptrace.Traces) []redact.Hit
	ScanString(name, s string) []redact.Hit
	ScanFile(s string) []redact.Hit
}

// Object is one object of a store, searched.
type Object struct {
	Key  string
	Body []byte // as it is stored
	Hits []redact.Hit
	Err  error // it could not be searched, so nothing is known of it
}

// Clear tells that the object was searched and nothing was found.
func (o Object) Clear() bool { return len(o.Hits) == 0 && o.Err == nil }

// Store searches all objects below a prefix, whatever they are: parts unpacked, everything else as JSON or text. An error that it yields
// ends it.
func Store(ctx context.Context, store deck.Store, prefix string, s Searcher) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for o, err := range store.List(ctx, prefix) {
			if err != nil {
				yield(Object{}, err)
				return
			}
			body, err := store.Get(ctx, o.Key)
			if ctx.Err() != nil {
				yield(Object{}, ctx.Err())
				return
			}
			if errors.Is(err, deck.ErrNotFound) {
				continue // taken away since it was listed
			}
			found := Object{Key: o.Key, Err: err}
			if err == nil {
				found = Search(o.Key, body, s)
			}
			if !yield(found, nil) {
				return
			}
		}
		// The leftovers of writers that died are no objects, and can hold as many secrets.
		for o, err := range deck.Abandoned(ctx, store, prefix) {
			if err != nil {
				yield(Object{}, err)
				return
			}
			body, err := store.(deck.Leaver).ReadAbandoned(ctx, o.Key)
			if errors.Is(err, deck.ErrNotFound) {
				continue
			}
			found := Object{Key: o.Key, Err: err}
			if err == nil {
				found = searchUnfinished(o.Key, body, s)
			}
			if !yield(found, nil) {
				return
			}
		}
	}
}

// searchUnfinished searches a file whose name does not tell what it is.
func searchUnfinished(key string, body []byte, s Searcher) Object {
	if !deck.IsPacked(body) {
		return Search(key, body, s)
	}
	o := Search(key+deck.PartSuffix, body, s)
	if o.Key = key; o.Err != nil {
		o.Err = fmt.Errorf("a writer that died left it unfinished, and it cannot be searched; gc or scrub takes it away: %w", o.Err)
	}
	return o
}

// Search searches one object of a deck.
func Search(key string, body []byte, s Searcher) Object {
	o := Object{Key: key, Body: body}
	if !strings.HasSuffix(key, deck.PartSuffix) {
		o.Hits = showable(s.ScanFile(string(body)), s)
		return o
	}
	td, err := unpack(body)
	if err != nil {
		o.Err = err
		return o
	}
	o.Hits = showable(s.ScanTraces(td), s)
	return o
}

// hiddenPath stands for a path with a name that is itself a hit.
const hiddenPath = "(the path holds such a value)"

// showable takes out of the paths what nobody is to see: they hold names that a sender chose.
func showable(hits []redact.Hit, s Searcher) []redact.Hit {
	for i := range hits {
		if len(s.ScanString("", hits[i].Path)) > 0 {
			hits[i].Path = hiddenPath
		}
	}
	return hits
}

func unpack(stored []byte) (ptrace.Traces, error) {
	canonical, err := deck.Unpack(stored)
	if err != nil {
		return ptrace.Traces{}, err
	}
	td, err := nesting.UnmarshalTraces(canonical)
	if err != nil {
		return ptrace.Traces{}, fmt.Errorf("decode part: %w", err)
	}
	return td, nil
}
