// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// maxWindow bounds the memory of the zstd decoder: zstd --long=28. Larger windows are refused by the decoder.
const maxWindow = 256 << 20

// decompress returns the plain bytes of r, found by its first bytes, and what to call at the end.
func decompress(r *bufio.Reader) (io.Reader, func(), error) {
	head, _ := r.Peek(4)
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", readError(err))
		}
		return z, func() { _ = z.Close() }, nil
	case bytes.HasPrefix(head, zstdMagic), isSkippableFrame(head):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", readError(err))
		}
		return z, z.Close, nil
	default:
		return r, func() {}, nil
	}
}

// isSkippableFrame reports the frames that may precede the data of a zstd file (0x184D2A50 to 0x184D2A5F, little endian).
func isSkippableFrame(head []byte) bool {
	return len(head) == 4 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18
}

// limited fails with ErrTooLarge when more than *left bytes come: a small file must not unpack without end.
type limited struct {
	r    io.Reader
	left *int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	*l.left -= int64(n)
	if *l.left < 0 {
		return 0, fmt.Errorf("%w: the input holds more bytes than the limit for one input", ErrTooLarge)
	}
	return n, err
}

// readError names the cause of a failed read in the words of this package.
func readError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the compressed data ends early", ErrTruncated)
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, zstd.ErrMagicMismatch):
		return fmt.Errorf("%w: the compressed data is damaged", ErrMalformed)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("%w: zstd window above %d bytes", ErrTooLarge, maxWindow)
	}
	return err
}
