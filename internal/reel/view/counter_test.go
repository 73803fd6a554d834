// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// counter counts the requests to a store.
type counter struct {
	deck.Store
	calls  atomic.Int64
	ranges atomic.Int64 // of calls: reads, of a range or a whole object
}

func (c *counter) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	c.calls.Add(1)
	c.ranges.Add(1)
	return deck.GetRange(ctx, c.Store, key, offset, length)
}

func (c *counter) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	c.calls.Add(1)
	return c.Store.PutNew(ctx, key, body, contentType)
}

func (c *counter) Get(ctx context.Context, key string) ([]byte, error) {
	c.calls.Add(1)
	c.ranges.Add(1)
	return c.Store.Get(ctx, key)
}

func (c *counter) List(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	c.calls.Add(1)
	return c.Store.List(ctx, prefix)
}
