// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// allocated is how many bytes f takes, also those that it gives back.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A part of 109 kB cost 1.7 GB and more before it was refused.
func TestBombIsRefusedInTheMemoryOfAWindow(t *testing.T) {
	// One block of zeros after the other: 131072 bytes in 4.
	claims := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x80, 0x58} // a window of 2 MiB, the size in 4 bytes
	claims = binary.LittleEndian.AppendUint32(claims, deck.MaxObjectBytes)
	lies := append(bytes.Clone(claims), 0x03, 0x00, 0x10, 0x00) // 512 MiB are claimed, and one block comes
	beyond := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x58}, 0, 0, 0, 0, 1, 0, 0, 0, 0x03, 0x00, 0x10, 0x00)
	wide := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xb0}                                                         // a window of 4 GiB
	many := bytes.Repeat([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x80, 0x58, 0, 0, 2, 0, 0x03, 0x00, 0x10, 0x00}, 5000) // frames of 128 KiB
	for name, stored := range map[string][]byte{"size not said": zstdBomb(), "size claimed": lies, "size beyond": beyond, "window": wide, "many frames": many} {
		t.Run(name, func(t *testing.T) {
			require.True(t, deck.IsPacked(stored))
			used := allocated(func() {
				_, err := deck.Unpack(stored)
				require.Error(t, err)
			})
			require.Less(t, used, uint64(32<<20))
		})
	}
}

// What others wrote, with and without the size in the frame, in one frame or in several, is read as before.
func TestFramesOfOtherWritersAreRead(t *testing.T) {
	content := bytes.Repeat([]byte("what a run said, again and again. "), 1<<20)
	var streamed bytes.Buffer
	w, err := zstd.NewWriter(&streamed)
	require.NoError(t, err)
	_, err = w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	half := len(content) / 2
	for name, stored := range map[string][]byte{
		"ours": deck.Pack(content), "streamed": streamed.Bytes(), "two frames": append(deck.Pack(content[:half]), deck.Pack(content[half:])...),
		"a frame to skip": append([]byte{0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 0}, deck.Pack(content)...),
	} {
		got, err := deck.Unpack(stored)
		require.NoError(t, err, name)
		require.True(t, bytes.Equal(content, got), name)
	}
	got, err := deck.Unpack(deck.Pack([]byte("x")))
	require.NoError(t, err)
	require.Equal(t, "x", string(got))
	require.Less(t, allocated(func() { _, _ = deck.Unpack(streamed.Bytes()) }), uint64(len(content)+24<<20), "the memory of the content, once")
}

func FuzzUnpack(f *testing.F) {
	f.Add(deck.Pack([]byte("x")))
	f.Add(deck.Pack(bytes.Repeat([]byte("x"), 1000)))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x80, 0x58, 0, 0, 2, 0, 0x03, 0x00, 0x10, 0x00})
	f.Add([]byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, stored []byte) {
		body, err := deck.Unpack(stored)
		if err != nil || len(body) > 1<<20 {
			return
		}
		again, err := deck.Unpack(deck.Pack(body))
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, again))
	})
}
