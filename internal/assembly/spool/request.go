// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"fmt"
	"slices"
	"sync"
)

// request is a batch that waits for the committer: a frame whose header is filled in when its offset is known.
type request struct {
	buf     []byte   // space for the frame header, then the records
	offsets []uint32 // of the records in buf
	sum     uint32   // of the records
	at      uint32   // where the frame lies in its segment
	ids     []ID     // the caller's
	done    chan error
	sizes   []int  // of the payloads
	plain   []byte // a payload before compression
	scratch []byte // and after it

	moves []move // of the compactor, whose requests have no buf
}

// move asks for a copy of a record, if it is still held and where it was.
type move struct {
	slot, generation uint32
	from             position
	data             []byte // the record
}

// Buffers beyond this size are not kept for the next batch.
const maxPooledBytes = 1 << 20

var requests = sync.Pool{New: func() any { return &request{} }}

func newRequest() *request {
	r := requests.Get().(*request)
	// Not pooled: a channel may belong to a synctest bubble.
	r.done = make(chan error, 1)
	return r
}

func (r *request) recycle() {
	if max(cap(r.buf), cap(r.plain), cap(r.scratch)) > maxPooledBytes {
		r.buf, r.plain, r.scratch = nil, nil, nil
	}
	*r = request{buf: r.buf[:0], offsets: r.offsets[:0], sizes: r.sizes[:0], plain: r.plain[:0], scratch: r.scratch[:0]}
	requests.Put(r)
}

// encode is done by the goroutine that appends, so that checksums and compression use all cores.
func (r *request) encode(entries []Entry, o *Options) error {
	size := frameHeaderBytes
	limit := int(o.SegmentBytes) - segmentHeaderBytes
	r.sizes = r.sizes[:0]
	for i := range entries {
		e := &entries[i]
		payload := e.payloadBytes()
		switch {
		case len(e.Key) > MaxKeyBytes:
			return fmt.Errorf("key of %d bytes, at most %d: %w", len(e.Key), MaxKeyBytes, ErrTooLarge)
		case len(e.Meta) > MaxMetaBytes:
			return fmt.Errorf("meta of %d bytes, at most %d: %w", len(e.Meta), MaxMetaBytes, ErrTooLarge)
		case payload > maxPayload:
			return fmt.Errorf("payload of %d bytes: %w", payload, ErrTooLarge)
		}
		r.sizes = append(r.sizes, payload)
		size += recordHeaderBytes + len(e.Key) + len(e.Meta) + payload
		if size > limit && o.Compression == CompressionNone {
			return fmt.Errorf("batch of %d entries, the first %d have %d bytes, a segment has %d: %w", len(entries), i+1, size, limit, ErrTooLarge)
		}
	}
	r.buf = slices.Grow(r.buf[:0], min(size, limit))[:frameHeaderBytes]
	r.offsets = slices.Grow(r.offsets[:0], len(entries))
	for i := range entries {
		e := &entries[i]
		r.offsets = append(r.offsets, uint32(len(r.buf)))
		rec := record{kind: kindEntry, key: e.Key, meta: e.Meta, payload: e.Payload, raw: uint32(r.sizes[i])}
		if e.Message != nil && o.Compression == CompressionNone {
			if err := r.write(&rec, e.Message, r.sizes[i]); err != nil {
				return err
			}
			continue
		}
		if e.Message != nil {
			r.plain = slices.Grow(r.plain[:0], r.sizes[i])[:r.sizes[i]]
			if err := marshal(e.Message, r.plain); err != nil {
				return err
			}
			rec.payload = r.plain
		}
		rec.codec, rec.payload, r.scratch = compress(o.Compression, rec.payload, r.scratch)
		if len(r.buf)+rec.bytes() > limit {
			return fmt.Errorf("batch of %d entries exceeds a segment of %d bytes: %w", len(entries), limit, ErrTooLarge)
		}
		r.buf = rec.append(r.buf)
	}
	r.sum = checksum(r.buf[frameHeaderBytes:])
	return nil
}

// write appends a record whose payload is a message of size bytes, for which the buffer has space.
func (r *request) write(rec *record, m Message, size int) error {
	at := len(r.buf)
	r.buf = rec.appendHead(r.buf, size)
	from := len(r.buf)
	r.buf = slices.Grow(r.buf, size)[:from+size]
	if err := marshal(m, r.buf[from:]); err != nil {
		return err
	}
	le.PutUint32(r.buf[at:], checksum(r.buf[at+4:]))
	return nil
}

// marshal fills buf with a message that has said that this is its size.
func marshal(m Message, buf []byte) error {
	if n := m.MarshalProto(buf); n != len(buf) {
		return fmt.Errorf("a payload of %d bytes was written as %d", len(buf), n)
	}
	return nil
}

// queue holds what waits for the committer.
type queue struct {
	mu     sync.Mutex
	list   []*request
	closed bool
}

func (q *queue) push(r *request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.list = append(q.list, r)
	return nil
}

// remove removes a request that the committer has not taken.
func (q *queue) remove(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.list, r)
	if i < 0 {
		return false
	}
	q.list = slices.Delete(q.list, i, i+1)
	return true
}

// take returns what one commit is to hold: at least one request, if any, and no more than limit bytes otherwise.
func (q *queue) take(limit int) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for n < len(q.list) && (n == 0 || size+len(q.list[n].buf) <= limit) {
		size += len(q.list[n].buf)
		n++
	}
	taken := slices.Clone(q.list[:n])
	q.list = slices.Delete(q.list, 0, n)
	return taken
}

// putBack returns requests to the front.
func (q *queue) putBack(rs []*request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = slices.Insert(q.list, 0, rs...)
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}
