// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// One encoder and one decoder serve the process: both are made for concurrent
// use in this mode and start no goroutines.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderCRC(false), // the name of a part is its checksum
			zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
			zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // the options above are constants
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil,
			zstd.WithDecoderMaxMemory(MaxObjectBytes),
			zstd.WithDecoderMaxWindow(maxWindow),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)))
		if err != nil {
			panic(err) // the options above are constants
		}
		return d
	})
)

// packSpace is memory to compress in: how much is needed shows afterwards, and is mostly far less than what may be.
var packSpace = sync.Pool{New: func() any { return new([]byte) }}

// keptPackSpace is up to which size such memory is kept.
const keptPackSpace = 1 << 20

func compress(body []byte) []byte {
	buf := packSpace.Get().(*[]byte)
	*buf = encoder().EncodeAll(body, (*buf)[:0])
	packed := bytes.Clone(*buf)
	if cap(*buf) <= keptPackSpace {
		packSpace.Put(buf)
	}
	return packed
}

// Unpack returns what a stored part holds. It checks no digest; [Deck.ReadPart] does.
func Unpack(stored []byte) ([]byte, error) { return decompress(stored) }

const (
	// maxWindow is that of zstd --long=27, up to which zstd itself unpacks.
	maxWindow = 128 << 20
	// countWindow bounds the memory of counting: it is what every decoder of zstd has to support.
	countWindow = 8 << 20
	// Up to believedBytes, or believedRatio times what is stored, memory is taken as a frame asks for it.
	believedBytes = 16 << 20
	believedRatio = 64
)

var errTooLarge = fmt.Errorf("unpacks to more than %d bytes", MaxObjectBytes)

// decompress refuses more than MaxObjectBytes. It takes the memory for the content once, when it is known how
// much that is: a frame of a few bytes may claim or hold any amount. What a frame does not say, or what is
// hard to believe, is counted first, in the memory of a window.
func decompress(stored []byte) ([]byte, error) {
	var h zstd.Header
	size := int64(-1)
	switch err := h.Decode(stored); {
	case err != nil:
		size = 0 // the decoder says what is wrong
	case h.HasFCS && h.FrameContentSize > MaxObjectBytes:
		return nil, errTooLarge
	case h.HasFCS:
		size = int64(h.FrameContentSize)
	}
	if size < 0 || size > believedBytes && size > believedRatio*int64(len(stored)) {
		var err error
		if size, err = count(stored); err != nil {
			return nil, err
		}
	}
	body, err := decoder().DecodeAll(stored, make([]byte, 0, size))
	if !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return body, err
	}
	if size, err = count(stored); err != nil { // more than one frame
		return nil, err
	}
	return decoder().DecodeAll(stored, make([]byte, 0, size))
}

// count unpacks and keeps nothing.
func count(stored []byte) (int64, error) {
	d, err := zstd.NewReader(bytes.NewReader(stored), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(countWindow))
	if err != nil {
		return 0, err
	}
	defer d.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(d, MaxObjectBytes+1))
	if err == nil && n > MaxObjectBytes {
		err = errTooLarge
	}
	return n, err
}

// IsPacked tells whether bytes begin as those of a part do, also of one that was not written to its end.
func IsPacked(stored []byte) bool { return bytes.HasPrefix(stored, []byte{0x28, 0xb5, 0x2f, 0xfd}) }

// Pack is how a part with this content is stored.
func Pack(canonical []byte) []byte { return compress(canonical) }
