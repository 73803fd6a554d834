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
	calls atomic.Int64
}

func (c *counter) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	c.calls.Add(1)
	return c.Store.PutNew(ctx, key, body, contentType)
}

func (c *counter) Get(ctx context.Context, key string) ([]byte, error) {
	c.calls.Add(1)
	return c.Store.Get(ctx, key)
}

func (c *counter) List(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	c.calls.Add(1)
	return c.Store.List(ctx, prefix)
}
