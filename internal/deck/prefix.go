// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"iter"
	"strings"
)

// WithPrefix gives the part of a store whose keys begin with prefix and a
// slash. An empty prefix gives the store itself.
func WithPrefix(s Store, prefix string) (Store, error) {
	prefix = strings.Trim(prefix, "/")
	if prefix == "" {
		return s, nil
	}
	if err := CheckKey(prefix); err != nil {
		return nil, err
	}
	return &prefixStore{Store: s, prefix: prefix + "/"}, nil
}

type prefixStore struct {
	Store
	prefix string
}

func (p *prefixStore) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	if err := CheckKey(key); err != nil {
		return false, err
	}
	return p.Store.PutNew(ctx, p.prefix+key, body, contentType)
}

func (p *prefixStore) Get(ctx context.Context, key string) ([]byte, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	return p.Store.Get(ctx, p.prefix+key)
}

func (p *prefixStore) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	return GetRange(ctx, p.Store, p.prefix+key, offset, length)
}

func (p *prefixStore) Delete(ctx context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	return p.Store.Delete(ctx, p.prefix+key)
}

func (p *prefixStore) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for o, err := range p.Store.List(ctx, p.prefix+prefix) {
			o.Key = strings.TrimPrefix(o.Key, p.prefix)
			if !yield(o, err) {
				return
			}
		}
	}
}

func (p *prefixStore) ListFolders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for f, err := range p.Store.ListFolders(ctx, p.prefix+prefix) {
			if !yield(strings.TrimPrefix(f, p.prefix), err) {
				return
			}
		}
	}
}
