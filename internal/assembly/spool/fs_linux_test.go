// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Frames of a commit lie one behind the other, whether the kernel takes all of them with one call, more than it takes with one, or a part.
func TestWriteFrames(t *testing.T) {
	var many [][]byte
	for i := range 2*maxVector + 3 {
		many = append(many, bytes.Repeat([]byte{byte(i)}, i%7+1))
	}
	for _, frames := range [][][]byte{nil, {[]byte("one")}, {[]byte("one"), []byte("two"), bytes.Repeat([]byte("x"), 1<<20)}, many} {
		f, err := os.Create(filepath.Join(t.TempDir(), "segment"))
		require.NoError(t, err)
		require.NoError(t, writeFrames(f, frames, 5))
		got, err := os.ReadFile(f.Name())
		require.NoError(t, err)
		want := bytes.Join(frames, nil)
		if len(want) > 0 {
			want = append(make([]byte, 5), want...)
		}
		require.True(t, bytes.Equal(want, got))
		require.NoError(t, f.Close())
	}
}

// A call that takes a part of what it is given, wherever that ends, is gone on with behind that part.
func TestWriteFramesGoesOnBehindAPart(t *testing.T) {
	frames := [][]byte{[]byte("one"), []byte("three"), []byte("seven"), []byte("eleven")}
	want := bytes.Join(frames, nil)
	for part := 1; part <= len(want); part++ {
		f, err := os.Create(filepath.Join(t.TempDir(), "segment"))
		require.NoError(t, err)
		calls := 0
		require.NoError(t, writeVectors(f, frames, 0, func(_ int, buffers [][]byte, at int64) (int, error) {
			if calls++; calls%2 == 0 {
				return -1, syscall.EINTR
			}
			b := bytes.Join(buffers, nil)
			return f.WriteAt(b[:min(part, len(b))], at)
		}))
		got, err := os.ReadFile(f.Name())
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%d bytes for each call", part)
		require.Equal(t, want, bytes.Join(frames, nil), "frames stay as they are")
		require.NoError(t, f.Close())
	}
}

// A disk that takes a part of a frame and then no more is an error, and the part stands where it belongs.
func TestWriteFramesInPart(t *testing.T) {
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	f, err := os.Create(filepath.Join(t.TempDir(), "segment"))
	require.NoError(t, err)
	limited := before
	limited.Cur = 100_000
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited))
	frames := [][]byte{bytes.Repeat([]byte("a"), 30_000), bytes.Repeat([]byte("b"), 50_000), bytes.Repeat([]byte("c"), 50_000)}
	err = writeFrames(f, frames, 0)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	require.ErrorIs(t, err, syscall.EFBIG)
	got, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	require.True(t, bytes.Equal(bytes.Join(frames, nil)[:100_000], got))
	require.NoError(t, f.Close())
}
