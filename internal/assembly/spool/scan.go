// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// scan is what reading a segment from its beginning has found.
type scan struct {
	index   *segmentIndex
	corrupt int64 // stretches that are damaged: frames, or bytes that no frame can be made of
	records int64 // damaged records in damaged frames
	torn    int64 // bytes of a write that was cut off
}

// errUnreadable: no header, and nothing from which it could be known.
var errUnreadable = errors.New("neither a header nor a first frame")

// stretch is a part of a segment: a valid frame, or bytes in doubt: a write that was cut off, or damage.
type stretch struct {
	from, to int64
	valid    bool
	frame    bool   // it has a good header, so its records can be looked for
	commit   uint32 // the last that it can be part of
}

// scanSegment reads a segment of size bytes. Valid frames count wherever they lie: frames begin with the salt of the segment, which no
// payload knows.
//
// A commit begins when the one before it is on the disk. So an invalid frame in the last commit is a write that was cut off and was never
// acknowledged. An invalid frame with a later commit behind it is damage, and those of its records whose own checksums are right count. A
// sealed segment has no cut off end: there, every invalid frame is damage.
func scanSegment(f io.ReaderAt, size int64, number uint32, sealed bool) (*scan, error) {
	size = min(size, maxSegmentBytes*2)
	w := &window{f: f, size: size}
	h, intact, err := scanHeader(w, number)
	if err != nil {
		return nil, err
	}
	s := &scan{index: newSegmentIndex(h)}
	if !intact {
		s.corrupt++
		s.index.damaged = true
	}
	var waiting []stretch // from the first one in doubt on
	last := uint32(0)
	for at := int64(segmentHeaderBytes); at < size; {
		next, err := w.stretch(at, h.salt)
		if err != nil {
			return nil, err
		}
		at = next.to
		switch {
		case next.frame && next.commit < last: // a leftover of a write that was rolled back
			continue
		case next.valid:
			last = next.commit
			if waiting, err = s.settle(w, waiting, last); err != nil {
				return nil, err
			}
			if len(waiting) == 0 {
				if err := s.take(w, next); err != nil {
					return nil, err
				}
				continue
			}
		}
		waiting = append(waiting, next)
	}
	return s, s.finish(w, waiting, sealed)
}

// settle takes what waits up to the first stretch that the commit does not prove to be damage, and returns the rest.
func (s *scan) settle(w *window, waiting []stretch, commit uint32) ([]stretch, error) {
	for i, d := range waiting {
		if !d.frame && d.commit == 0 {
			d.commit = commit
			waiting[i] = d
		}
		if !d.valid && d.commit >= commit {
			return waiting[i:], nil
		}
		if err := s.take(w, d); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// finish takes what no later commit has settled.
func (s *scan) finish(w *window, waiting []stretch, sealed bool) error {
	for _, d := range waiting {
		used := d.to - d.from
		if !d.valid {
			var err error
			if used, err = (&window{f: w.f, size: d.to}).used(d.from); err != nil {
				return err
			}
			if used == 0 { // preallocated
				continue
			}
			if !sealed {
				s.torn += used
				continue
			}
		}
		if err := s.take(w, d); err != nil {
			return err
		}
		s.index.end = max(s.index.end, uint32(d.from+used))
	}
	return nil
}

// take adds the records of a stretch, those that are good.
func (s *scan) take(w *window, d stretch) error {
	if !d.valid {
		s.corrupt++
		s.index.damaged = true
	}
	if !d.frame {
		return nil
	}
	b, err := w.bytes(d.from+frameHeaderBytes, int(d.to-d.from-frameHeaderBytes))
	if err != nil {
		return err
	}
	s.addFrame(b, d.from+frameHeaderBytes)
	s.index.end = max(s.index.end, uint32(d.to))
	return nil
}

// addFrame takes the records of a frame, those that are good.
func (s *scan) addFrame(body []byte, at int64) {
	for len(body) > 0 {
		r, n, err := parseRecord(body)
		if err == nil {
			err = s.index.add(&r, uint32(at), n)
		}
		if err != nil {
			s.records++
			s.index.damaged = true
			if n == 0 {
				return
			}
		}
		body, at = body[n:], at+int64(n)
	}
}

// scanHeader reads the header; when that is not intact, the first frame knows the salt.
func scanHeader(w *window, number uint32) (h segmentHeader, intact bool, err error) {
	b, err := w.bytes(0, segmentHeaderBytes)
	if err != nil {
		return h, false, err
	}
	h, err = parseSegmentHeader(b)
	if err == nil && h.number == number || errors.As(err, new(errVersion)) {
		return h, true, err
	}
	if b, err = w.bytes(segmentHeaderBytes, frameHeaderBytes); err != nil {
		return h, false, err
	}
	fh, err := parseFrameHeader(b)
	if err != nil || fh.offset != segmentHeaderBytes {
		return h, false, errUnreadable
	}
	return segmentHeader{number: number, salt: fh.salt}, false, nil
}

// window reads a file in pieces. A piece that it returns is valid until the next call.
type window struct {
	f    io.ReaderAt
	size int64
	buf  []byte
	at   int64
}

const windowBytes = 1 << 20

// bytes returns n bytes, fewer where the file ends.
func (w *window) bytes(at int64, n int) ([]byte, error) {
	if at >= w.size {
		return nil, nil
	}
	n = int(min(int64(n), w.size-at))
	if at >= w.at && at+int64(n) <= w.at+int64(len(w.buf)) {
		return w.buf[at-w.at:][:n], nil
	}
	size := int(min(int64(max(n, windowBytes)), w.size-at))
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	w.buf = w.buf[:size]
	w.at = at
	if m, err := w.f.ReadAt(w.buf, at); err != nil && !(errors.Is(err, io.EOF) && m == size) {
		w.buf = w.buf[:0]
		return nil, fmt.Errorf("read at %d: %w", at, err)
	}
	return w.buf[:n], nil
}

// stretch looks at what begins at a place: a frame, or anything up to the next one.
func (w *window) stretch(at int64, salt uint64) (stretch, error) {
	d := stretch{from: at}
	b, err := w.bytes(at, frameHeaderBytes)
	if err != nil {
		return d, err
	}
	if len(b) == frameHeaderBytes && le.Uint64(b) == salt {
		h, err := parseFrameHeader(b)
		if errors.As(err, new(errVersion)) {
			return d, err
		}
		end := at + frameHeaderBytes + int64(h.length)
		if err == nil && int64(h.offset) == at && end <= w.size {
			d.frame, d.commit = true, h.commit
			body, err := w.bytes(at+frameHeaderBytes, int(h.length))
			if err != nil {
				return d, err
			}
			if d.valid = checksum(body) == h.sum; d.valid {
				d.to = end
				return d, nil
			}
		}
	}
	d.to, err = w.next(at+1, salt)
	return d, err
}

// next returns where the salt comes next, or the size of the file.
func (w *window) next(at int64, salt uint64) (int64, error) {
	var want [8]byte
	le.PutUint64(want[:], salt)
	for at < w.size {
		b, err := w.bytes(at, windowBytes)
		if err != nil {
			return 0, err
		}
		if i := bytes.Index(b, want[:]); i >= 0 {
			return at + int64(i), nil
		}
		if at+int64(len(b)) >= w.size {
			break
		}
		at += int64(len(b)) - 7
	}
	return w.size, nil
}

// used returns how many bytes from at on there are up to the last one that is not zero.
func (w *window) used(at int64) (int64, error) {
	used := int64(0)
	for p := at; p < w.size; {
		b, err := w.bytes(p, windowBytes)
		if err != nil {
			return 0, err
		}
		if trimmed := bytes.TrimRight(b, "\x00"); len(trimmed) > 0 {
			used = p + int64(len(trimmed)) - at
		}
		p += int64(len(b))
	}
	return used, nil
}
