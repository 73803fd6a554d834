// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// lookUp is what was asked of the id indexes.
type lookUp struct {
	section  int
	from, to uint64
}

// near are the reels among some in which a value of a column, or what begins with it, can be found, as far as the id indexes know.
func (c *Catalog) near(ctx context.Context, objects []Object, column, value string, prefix bool) []Object {
	section, from, to, ok := keysOf(column, value, prefix)
	if !ok {
		return objects
	}
	ask := lookUp{section, from, to}
	c.mu.Lock()
	indexes := c.indexes
	shut := 0
	for _, o := range objects {
		if c.files[o.Key()] == nil {
			shut++
		}
	}
	known := c.answers[ask]
	if known == nil && (shut <= fewReels || len(indexes) == 0 || len(c.answers) >= mostLookUps) {
		c.mu.Unlock()
		return objects
	}
	c.mu.Unlock()
	if known == nil {
		known = make(map[string]bool)
		answers := make([]map[string]bool, len(indexes))
		g := errgroup.Group{}
		g.SetLimit(opened)
		for i, o := range indexes {
			g.Go(func() error {
				answers[i], _ = c.ask(ctx, o, ask) // without an answer the reels are opened
				return nil
			})
		}
		_ = g.Wait()
		for _, answer := range answers {
			for digest, there := range answer {
				known[digest] = there
			}
		}
		c.mu.Lock()
		if slices.Equal(indexes, c.indexes) && ctx.Err() == nil {
			c.answers[ask] = known
		}
		c.mu.Unlock()
	}
	return slices.DeleteFunc(slices.Clone(objects), func(o Object) bool {
		there, spoken := known[o.Digest]
		return spoken && !there
	})
}

// ask asks one index: of each reel that it speaks of, whether it can hold what is looked for.
func (c *Catalog) ask(ctx context.Context, o idObject, l lookUp) (map[string]bool, error) {
	fetch := c.fetch(o.key())
	if o.size <= firstTail { // head and blocks with one request
		body, err := fetch(ctx, 0, o.size)
		if err == nil && int64(len(body)) != o.size {
			err = corrupt("an id index that ends too early")
		}
		if err != nil {
			return nil, err
		}
		fetch = func(_ context.Context, offset, length int64) ([]byte, error) { return body[offset:][:length], nil }
	}
	x, err := c.idHead(ctx, o, fetch)
	if err != nil {
		return nil, err
	}
	found, err := x.find(ctx, fetch, l.section, l.from, l.to)
	if err != nil {
		return nil, err
	}
	answer := make(map[string]bool, len(x.reels))
	for _, digest := range x.reels {
		answer[digest] = false
	}
	for _, digest := range found {
		answer[digest] = true
	}
	return answer, nil
}

// fetch reads ranges of an object of the deck.
func (c *Catalog) fetch(key string) Fetch {
	return func(ctx context.Context, offset, length int64) ([]byte, error) {
		return deck.GetRange(ctx, c.store, key, offset, length)
	}
}

// idHead reads the head of an index. It is kept with the indexes of reels.
func (c *Catalog) idHead(ctx context.Context, o idObject, fetch Fetch) (*idIndex, error) {
	begin := c.cache.read(o.digest)
	if x, more, err := parseIDHead(begin, o.size); err == nil && more == 0 {
		return x, nil
	}
	begin, err := fetch(ctx, 0, min(o.size, firstTail))
	if err != nil {
		return nil, err
	}
	x, more, err := parseIDHead(begin, o.size)
	if err == nil && x == nil {
		if begin, err = fetch(ctx, 0, more); err != nil {
			return nil, err
		}
		x, _, err = parseIDHead(begin, o.size)
	}
	if err == nil && x == nil {
		err = corrupt("an id index that ends too early")
	}
	if err == nil {
		c.cache.write(o.digest, begin[:x.sections[0].offset])
	}
	return x, err
}
