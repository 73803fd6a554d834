// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	minCompress = 256     // below it a frame header outweighs the gain
	maxPayload  = 1 << 30 // no record is longer, so a length beyond it is damage
)

// The window is that of a payload of a span or a few: more memory per encoder gains little.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(128<<10), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants
	}
	return e
})

var zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPayload), zstd.WithDecoderLowmem(true), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err)
	}
	return d
})

// compress returns the payload as it is to be stored. scratch may be overwritten and is returned for the next call.
func compress(c Compression, payload, scratch []byte) (codec byte, stored, newScratch []byte) {
	if c != CompressionZstd || len(payload) < minCompress {
		return codecNone, payload, scratch
	}
	scratch = zstdEncoder().EncodeAll(payload, scratch[:0])
	if len(scratch) >= len(payload) {
		return codecNone, payload, scratch
	}
	return codecZstd, scratch, scratch
}

// decompress returns the payload as it was appended.
func decompress(r *record, scratch []byte) ([]byte, []byte, error) {
	switch r.codec {
	case codecNone:
		return r.payload, scratch, nil
	case codecZstd:
		// Room is made for what the record says, when the frame says the same: both are damaged, or neither.
		var frame zstd.Header
		if err := frame.Decode(r.payload); err != nil || !frame.HasFCS || frame.FrameContentSize != uint64(r.raw) || r.raw > maxPayload {
			return nil, scratch, fmt.Errorf("%w: compressed payload", ErrCorrupt)
		}
		if cap(scratch) < int(r.raw) {
			scratch = make([]byte, 0, r.raw)
		}
		out, err := zstdDecoder().DecodeAll(r.payload, scratch[:0:r.raw])
		if err != nil || len(out) != int(r.raw) {
			return nil, scratch, fmt.Errorf("%w: compressed payload", ErrCorrupt)
		}
		return out, out, nil
	default:
		return nil, scratch, fmt.Errorf("%w: codec %d", ErrCorrupt, r.codec)
	}
}
