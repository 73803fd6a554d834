// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// readFrames reads what the collector's file exporter writes for protobuf and for compressed output. Each message stands behind its
// length in four bytes, and each is compressed for itself.
func (in *input) readFrames() {
	var buf bytes.Buffer
	for {
		at := in.offset
		var prefix [4]byte
		n, err := io.ReadFull(in.r, prefix[:])
		in.offset += int64(n)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			size := int64(binary.BigEndian.Uint32(prefix[:]))
			if size > in.opts.MaxDocument {
				in.refuse(&Error{Offset: at, Err: fmt.Errorf("%w: a message of %d bytes is announced", ErrTooLarge, size)})
				return
			}
			if buf.Cap() > keptBuffer {
				buf = bytes.Buffer{}
			}
			buf.Reset()
			var got int64
			got, err = io.CopyN(&buf, in.r, size)
			in.offset += got
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			in.refuse(&Error{Offset: at, Err: fmt.Errorf("%w: the last message is incomplete", ErrTruncated)})
			return
		case err != nil:
			in.refuse(&Error{Offset: at, Err: readError(err)})
			return
		}
		if !in.frame(at, buf.Bytes()) {
			return
		}
	}
}

// frame reads one message and reports whether reading goes on.
func (in *input) frame(at int64, data []byte) bool {
	if bytes.HasPrefix(data, zstdMagic) || bytes.HasPrefix(data, gzipMagic) {
		plain, closer, err := decompress(bufio.NewReader(bytes.NewReader(data)))
		if err == nil {
			data, err = readLimited(&limited{r: plain, left: &in.left}, in.opts.MaxDocument)
			closer()
		}
		if err != nil {
			return in.refuseAt(at, err) && in.left >= 0
		}
	}
	if len(data) == 0 {
		return true
	}
	if sniff(data) == formJSON {
		docs, err := decodeJSON(data)
		if err != nil {
			return in.refuseAt(at, err)
		}
		return in.emit(docs...)
	}
	doc, err := decodeProto(data)
	if err != nil {
		return in.refuseAt(at, err)
	}
	return in.emit(doc)
}

func (in *input) refuseAt(at int64, err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Err: err}
	}
	e.Offset, e.Line = at, 0
	return in.refuse(e)
}
