// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// FuzzIDIndex: whatever an id index holds, reading it gives an answer or says that it is damaged, and takes no more memory than its bytes.
func FuzzIDIndex(f *testing.F) {
	head := binary.BigEndian.AppendUint32(nil, 1)
	head = append(head, make([]byte, 32)...)
	entry := []byte{0, 0, 0, 0, 0, 0, 0, 9, 0, 0}
	head = binary.BigEndian.AppendUint32(head, 1)
	head = append(head, entry[:8]...)
	head = binary.BigEndian.AppendUint32(head, crc32.Checksum(entry, crcTable))
	head = binary.BigEndian.AppendUint32(head, 0)
	f.Add(head, entry, uint64(9))
	f.Add(head[:20], entry, uint64(9))
	f.Fuzz(func(t *testing.T, head, blocks []byte, key uint64) {
		body := binary.BigEndian.AppendUint32([]byte(idMagic), uint32(len(head)))
		body = binary.BigEndian.AppendUint32(body, crc32.Checksum(head, crcTable))
		body = append(append(body, head...), blocks...)
		fetch := func(_ context.Context, offset, length int64) ([]byte, error) { return body[offset:][:length], nil }
		x, more, err := parseIDHead(body, int64(len(body)))
		if err != nil || more != 0 {
			if !errors.Is(err, deck.ErrCorrupt) {
				t.Fatal(more, err)
			}
			return
		}
		for section := range idSections {
			found, err := x.find(t.Context(), fetch, section, key, key)
			if err != nil && !errors.Is(err, deck.ErrCorrupt) {
				t.Fatal(err)
			}
			if len(found) > len(x.reels) {
				t.Fatalf("%d of %d reels", len(found), len(x.reels))
			}
		}
	})
}
