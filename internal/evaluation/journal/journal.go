// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package journal keeps what a long command has come to in a file, a line each, so that the command can go on after a kill.
package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// MaxLine bounds a line, in bytes.
const MaxLine = 64 << 20

// File is a journal that is written to. A nil File keeps nothing.
type File struct {
	file   *os.File
	failed error // of a write: behind a part of a line nothing can be kept
}

// Open opens a journal or makes it, hands each line of it to take, and keeps other programs out until it is closed. A line that was being
// written when the program ended is cut off.
func Open(name string, take func(line []byte) error) (*File, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	var end int64
	if err = lock(file); err != nil {
		err = fmt.Errorf("another program works on it: %w", err)
	} else if end, err = Read(file, take); err == nil {
		if err = file.Truncate(end); err == nil {
			_, err = file.Seek(end, io.SeekStart)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return &File{file: file}, nil
}

// Read hands each whole line of a journal to take, which must not keep it, and says where the last one ends.
func Read(r io.Reader, take func(line []byte) error) (end int64, err error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, MaxLine+2) // with the end of the line, and less than the bound
	s.Split(func(data []byte, _ bool) (int, []byte, error) {
		at := bytes.IndexByte(data, '\n')
		if at < 0 {
			return 0, nil, nil
		}
		return at + 1, data[:at], nil
	})
	for s.Scan() {
		if err := take(s.Bytes()); err != nil {
			return end, fmt.Errorf("byte %d: %w", end, err)
		}
		end += int64(len(s.Bytes())) + 1
	}
	if s.Err() != nil {
		return end, fmt.Errorf("byte %d: %w", end, s.Err())
	}
	return end, nil
}

// Append keeps a line. It is durable when Append returns.
func (j *File) Append(line []byte) error {
	if len(line) > MaxLine {
		return fmt.Errorf("a line of %d bytes: a journal takes %d", len(line), MaxLine)
	}
	if j == nil {
		return nil
	}
	if j.failed == nil {
		_, j.failed = j.file.Write(append(line, '\n'))
	}
	if j.failed == nil {
		j.failed = j.file.Sync()
	}
	return j.failed
}

// Close closes the journal.
func (j *File) Close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}
