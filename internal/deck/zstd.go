// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"bytes"
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

// decompress refuses more than MaxObjectBytes.
func decompress(stored []byte) ([]byte, error) { return decoder().DecodeAll(stored, nil) }

// IsPacked tells whether bytes begin as those of a part do, also of one that was not written to its end.
func IsPacked(stored []byte) bool { return bytes.HasPrefix(stored, []byte{0x28, 0xb5, 0x2f, 0xfd}) }

// Pack is how a part with this content is stored.
func Pack(canonical []byte) []byte { return compress(canonical) }
