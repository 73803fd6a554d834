// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"sync"
	"unsafe"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialects, and the tests that tell shapes apart, parse the same attribute one soon after the other. Half of
// what is parsed was parsed a few texts before.

// parsed is a text with its value. It keeps the text, so that no other one can take its place in memory.
type parsed struct {
	text  string
	value exactjson.Value
	err   error
}

// lately holds the texts that were parsed last.
type lately struct {
	texts [8]parsed
	next  int
}

// latelies are not shared by goroutines at one time, and live no longer than a collection of garbage.
var latelies = sync.Pool{New: func() any { return new(lately) }}

const (
	minParsed = 32      // bytes; shorter texts are parsed faster than looked up
	maxParsed = 1 << 18 // longer texts are not kept alive
)

// Parse is exactjson.Parse for texts that may have been parsed just now.
func Parse(text string) (exactjson.Value, error) {
	if len(text) < minParsed || len(text) > maxParsed {
		return exactjson.Parse(text)
	}
	known := latelies.Get().(*lately)
	defer latelies.Put(known)
	for i := range known.texts {
		if p := &known.texts[i]; len(p.text) == len(text) && unsafe.StringData(p.text) == unsafe.StringData(text) {
			return p.value, p.err
		}
	}
	v, err := exactjson.Parse(text)
	known.texts[known.next] = parsed{text, v, err}
	known.next = (known.next + 1) % len(known.texts)
	return v, err
}
