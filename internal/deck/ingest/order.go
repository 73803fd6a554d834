// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"context"
	"iter"
	"sync"
)

// writers is how many traces are written at a time. Most of the time of a trace passes in waiting for the
// store.
const writers = 8

// reelWriters is the same for a deck of reels: traces that are written together share an object, and wait for
// each other.
const reelWriters = 512

// outcome is the result of the work on one item.
type outcome[T any] struct {
	value T
	err   error
}

// inOrder works on the items concurrently and yields the outcomes in the order of the items. It returns when
// all work that began has ended. It clears items as it goes: what they hold is let go one by one.
func inOrder[I, T any](ctx context.Context, items []I, writers int, work func(context.Context, I) (T, error)) iter.Seq2[I, outcome[T]] {
	return func(yield func(I, outcome[T]) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		var begun []chan outcome[T]
		for i, item := range items {
			for len(begun) < min(writers, len(items)-i) {
				next := items[i+len(begun)]
				done := make(chan outcome[T], 1)
				begun = append(begun, done)
				running.Go(func() {
					value, err := work(ctx, next)
					done <- outcome[T]{value, err}
				})
			}
			clear(items[i : i+1])
			if !yield(item, <-begun[0]) {
				return
			}
			begun = begun[1:]
		}
	}
}
