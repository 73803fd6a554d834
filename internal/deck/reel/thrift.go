// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Bounds of the metadata of a reel. A list may claim any length in a few bytes, and the decoder would make room for it.
const (
	maxThriftElements = 1 << 20 // of all lists together
	maxThriftDepth    = 16
)

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", deck.ErrCorrupt, fmt.Sprintf(format, args...))
}

// unmarshal decodes the struct of the compact protocol at the beginning of b into v, and returns how long it is. It looks over the bytes first: what is decoded
// takes memory in proportion to them.
func unmarshal(b []byte, v any) (n int, err error) {
	defer recovered(&err)
	c := thriftChecker{b: b, left: maxThriftElements}
	if !c.fields(maxThriftDepth) {
		return 0, corrupt("metadata that is not thrift, or too much of it")
	}
	if err := thrift.Unmarshal(&thrift.CompactProtocol{}, b[:c.at], v); err != nil {
		return 0, corrupt("metadata: %v", err)
	}
	return c.at, nil
}

// recovered turns a panic of a decoder on hostile bytes into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = corrupt("its bytes break the decoder: %v", p)
	}
}

type thriftChecker struct {
	b    []byte
	at   int
	left int // elements of lists that may still come
}

const (
	thriftStop   = 0
	thriftTrue   = 1
	thriftFalse  = 2
	thriftI8     = 3
	thriftI16    = 4
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftStruct = 12
)

func (c *thriftChecker) byte() (byte, bool) {
	if c.at >= len(c.b) {
		return 0, false
	}
	c.at++
	return c.b[c.at-1], true
}

func (c *thriftChecker) varint() (uint64, bool) {
	v, n := binary.Uvarint(c.b[min(c.at, len(c.b)):])
	c.at += max(n, 0)
	return v, n > 0
}

func (c *thriftChecker) skip(n uint64) bool {
	if n > uint64(len(c.b)-c.at) {
		return false
	}
	c.at += int(n)
	return true
}

// fields walks over the fields of a struct.
func (c *thriftChecker) fields(depth int) bool {
	for {
		head, ok := c.byte()
		if !ok {
			return false
		}
		kind := head & 0x0f
		if kind == thriftStop {
			return true
		}
		if head>>4 == 0 { // the id of the field stands behind
			if _, ok := c.varint(); !ok {
				return false
			}
		}
		if kind != thriftTrue && kind != thriftFalse && !c.value(kind, depth) {
			return false
		}
	}
}

func (c *thriftChecker) value(kind byte, depth int) bool {
	switch {
	case depth == 0:
		return false
	case kind == thriftTrue || kind == thriftFalse || kind == thriftI8: // in a list a bool is a byte
		return c.skip(1)
	case kind >= thriftI16 && kind <= thriftI64:
		_, ok := c.varint()
		return ok
	case kind == thriftDouble:
		return c.skip(8)
	case kind == thriftBinary:
		n, ok := c.varint()
		return ok && c.skip(n)
	case kind == thriftStruct:
		return c.fields(depth - 1)
	case kind != thriftList && kind != thriftSet:
		return false // the metadata of Parquet has no maps
	}
	head, ok := c.byte()
	n := uint64(head >> 4)
	if ok && n == 15 {
		n, ok = c.varint()
	}
	if !ok || n > uint64(c.left) {
		return false
	}
	c.left -= int(n)
	for range n {
		if !c.value(head&0x0f, depth-1) {
			return false
		}
	}
	return true
}
