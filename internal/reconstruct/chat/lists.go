// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import "iter"

// Lists collects values by a key, and keeps the keys in the order in which they came.
type Lists[K comparable, V any] struct {
	keys []K
	of   map[K][]V
}

// Add puts a value to those of a key.
func (l *Lists[K, V]) Add(key K, value V) {
	if l.of == nil {
		l.of = map[K][]V{}
	}
	if _, known := l.of[key]; !known {
		l.keys = append(l.keys, key)
	}
	l.of[key] = append(l.of[key], value)
}

// InOrder are the keys with their values.
func (l *Lists[K, V]) InOrder() iter.Seq2[K, []V] {
	return func(yield func(K, []V) bool) {
		for _, k := range l.keys {
			if !yield(k, l.of[k]) {
				return
			}
		}
	}
}
