// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsonlines answers requests that come as lines, one object of JSON each. A line that cannot be taken
// is answered like any other, so whoever asks never loses count.
package jsonlines

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Bounds limit what is in memory: Jobs lines of MaxLine bytes, and what is made of them.
type Bounds struct {
	MaxLine int64 // bytes of a line
	Jobs    int   // lines that are worked on at a time
}

// DefaultBounds take the evidence of one trace within the bounds of a derivation, in base64.
var DefaultBounds = Bounds{MaxLine: 256 << 20, Jobs: 1}

// Line is a request. Text is valid until its work returns.
type Line struct {
	Number int // from 1; empty lines count and are passed over
	Text   []byte
	Err    error // the line is longer than the bound, and Text is empty
}

// Each calls work for every line, Jobs of them at a time, and take for every result in the order of the
// lines. An error of take ends it. When the context ends, Each returns at once and leaves its reader waiting
// for in.
func Each[T any](ctx context.Context, in io.Reader, b Bounds, work func(Line) T, take func(T) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A slot is the memory of one line. Whoever reads a line takes one, and its result gives it back.
	slots := make(chan []byte, b.Jobs)
	for range b.Jobs {
		slots <- nil
	}
	type begun struct {
		done chan T
		slot []byte
	}
	order, failed := make(chan begun, b.Jobs), make(chan error, 1)
	go func() {
		defer close(order)
		from := reader{in: bufio.NewReaderSize(in, 64<<10), max: b.MaxLine}
		for {
			var slot []byte
			select {
			case slot = <-slots:
			case <-ctx.Done():
				return
			}
			line, err := from.next(slot)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					failed <- err
				}
				return
			}
			done := make(chan T, 1)
			order <- begun{done, line.Text} // there is room for every slot
			go func() { done <- work(line) }()
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case next, more := <-order:
			if !more {
				select {
				case err := <-failed:
					return fmt.Errorf("read line: %w", err)
				default:
					return ctx.Err()
				}
			}
			if err := take(<-next.done); err != nil {
				return err
			}
			slots <- next.slot
		}
	}
}

// reader reads lines.
type reader struct {
	in     *bufio.Reader
	max    int64
	number int
}

// next reads the next line that is not empty, into text.
func (r *reader) next(text []byte) (Line, error) {
	for {
		line := Line{Number: r.number + 1, Text: text[:0]}
		for {
			piece, err := r.in.ReadSlice('\n')
			if line.Err == nil && int64(len(line.Text)+len(bytes.TrimRight(piece, "\r\n"))) > r.max {
				line.Err, line.Text = fmt.Errorf("longer than %d bytes", r.max), text[:0]
			}
			if line.Err == nil {
				line.Text = append(line.Text, piece...)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && (!errors.Is(err, io.EOF) || len(line.Text) == 0 && line.Err == nil) {
				return line, err
			}
			break
		}
		r.number++
		if line.Text = bytes.TrimSpace(line.Text); len(line.Text) > 0 || line.Err != nil {
			return line, nil
		}
		text = line.Text
	}
}
