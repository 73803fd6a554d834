// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"go.uber.org/zap"
)

const (
	// Records that lie this close are read with one call, up to a bound.
	readGap    = 16 << 10
	readAtOnce = 1 << 20
)

// place is a record to read.
type place struct {
	i       int // of the caller
	segment *segment
	offset  uint32
	bytes   uint32
}

func (p place) compare(q place) int {
	return position{p.segment.number, p.offset}.compare(position{q.segment.number, q.offset})
}

var readBuffers = sync.Pool{New: func() any { return new([]byte) }}

// Read calls fn for each record, in the order of their places on disk; i is the index into ids. The slices are valid during the call
// and must not be changed. An error of fn, and one of reading a file, end Read. Records whose checksum is wrong are left out and
// named by a *CorruptError at the end. If an ID is not held, nothing is read: ErrNotHeld. fn must not close the Log.
func (l *Log) Read(ids []ID, fn func(i int, meta, payload []byte) error) error {
	places, lost, err := l.places(ids)
	if err != nil {
		return err
	}
	defer l.leave(places)
	scratch := readBuffers.Get().(*[]byte)
	defer readBuffers.Put(scratch)
	err = readPlaces(places, func(p place, data []byte, err error) error {
		var payload []byte
		var r record
		if err == nil {
			r, err = wholeRecord(data)
		}
		if err == nil {
			payload, *scratch, err = decompress(&r, *scratch)
		}
		if errors.Is(err, ErrCorrupt) {
			l.lose(ids[p.i], err)
			lost = append(lost, ids[p.i])
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s at %d: %w", p.segment.name(), p.offset, err)
		}
		return fn(p.i, r.meta, payload)
	})
	if cap(*scratch) > readAtOnce {
		*scratch = nil
	}
	if err == nil && len(lost) > 0 {
		return &CorruptError{lost}
	}
	return err
}

// places finds and pins where records lie. Records lost already are returned apart.
func (l *Log) places(ids []ID) (places []place, lost []ID, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, ErrClosed
	}
	places = make([]place, 0, len(ids))
	for i, id := range ids {
		_, x := l.index.find(id)
		if x == nil {
			err = fmt.Errorf("read record %d of %d: %w", i+1, len(ids), ErrNotHeld)
			break
		}
		s := l.segmentOf(x.segment)
		if s == nil {
			lost = append(lost, id)
			continue
		}
		if err = l.pin(s); err != nil {
			break
		}
		places = append(places, place{i, s, x.offset, x.bytes})
	}
	if err != nil {
		for _, p := range places {
			l.unpin(p.segment)
		}
		return nil, nil, err
	}
	l.reads.Add(1)
	slices.SortFunc(places, place.compare)
	return places, lost, nil
}

func (l *Log) leave(places []place) {
	l.mu.Lock()
	for _, p := range places {
		l.unpin(p.segment)
	}
	l.mu.Unlock()
	l.reads.Done()
}

// lose marks a record as lost because its bytes are damaged. It stays held, without a position, until it is released.
func (l *Log) lose(id ID, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, x := l.index.find(id)
	if x == nil || x.segment == 0 {
		return
	}
	if s := l.segmentOf(x.segment); s != nil {
		s.damaged = true
		l.o.Logger.Error("spool: a record is lost", zap.String("segment", s.name()), zap.Uint32("offset", x.offset), zap.Error(why))
	}
	l.forget(x)
	x.segment, x.offset, x.bytes = 0, 0, 0
	l.stats.CorruptRecords++
}

// wholeRecord checks a record that has to take all of data.
func wholeRecord(data []byte) (record, error) {
	r, n, err := parseRecord(data)
	if err == nil && (n != len(data) || r.kind == kindRelease) {
		err = fmt.Errorf("%w: another record", ErrCorrupt)
	}
	return r, err
}

// readPlaces reads records that are sorted by place and pinned. fn gets the bytes of each, or the error of reading it; the bytes are
// valid during the call.
func readPlaces(places []place, fn func(p place, data []byte, err error) error) error {
	buf := readBuffers.Get().(*[]byte)
	defer readBuffers.Put(buf)
	for len(places) > 0 {
		first := places[0]
		n, end := 1, int64(first.offset)+int64(first.bytes)
		for n < len(places) {
			next := places[n]
			nextEnd := int64(next.offset) + int64(next.bytes)
			if next.segment != first.segment || int64(next.offset) > end+readGap || nextEnd-int64(first.offset) > readAtOnce {
				break
			}
			end = max(end, nextEnd)
			n++
		}
		size := int(end - int64(first.offset))
		*buf = slices.Grow((*buf)[:0], size)[:size]
		_, err := first.segment.f.ReadAt(*buf, int64(first.offset))
		for _, p := range places[:n] {
			from := p.offset - first.offset
			data, perr := (*buf)[from:from+p.bytes], err
			if err != nil && n > 1 { // which of them is it?
				_, perr = first.segment.f.ReadAt(data, int64(p.offset))
			}
			if errors.Is(perr, io.EOF) {
				perr = fmt.Errorf("%w: the segment is shorter", ErrCorrupt)
			}
			if err := fn(p, data, perr); err != nil {
				return err
			}
		}
		places = places[n:]
	}
	if cap(*buf) > readAtOnce {
		*buf = nil
	}
	return nil
}
