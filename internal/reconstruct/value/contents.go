// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// sole returns the member of an object that has one, also of one that is JSON text.
func sole(v exactjson.Value) (name string, inner exactjson.Value, ok bool) {
	if v = chat.Opened(v); v.Kind() != exactjson.Object || v.Len() != 1 {
		return "", v, false
	}
	m := v.Members()[0]
	return m.Name, m.Value, true
}

// follow steps along the names, into JSON texts too.
func follow(v exactjson.Value, path []string) (exactjson.Value, bool) {
	for _, name := range path {
		v = chat.Opened(v)
		next := v.Get(name)
		if next.IsAbsent() || chat.Besides(v, name) > chat.MaxBesides {
			return v, false
		}
		v = next
	}
	return v, true
}
