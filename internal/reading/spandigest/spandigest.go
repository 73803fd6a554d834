// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package spandigest tells when two spans are the same: when all of their fields are, with those of resource and scope, whatever the order of
// their attributes, which means nothing in OTLP. The order of events and of links is kept.
package spandigest

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/textsum"
)

// Digest identifies a span with its resource and scope by their content.
type Digest [sha256.Size]byte

// Hasher digests. A resource and a scope are digested once, not once for each of their spans: they may be as large as a request.
// Every field goes into one buffer, each text and list behind its length, so that no two different spans give the same bytes.
type Hasher struct {
	buf     []byte
	entries []Entry // of the maps that are being sorted, one behind the other
	sum     func(string) textsum.Sum
	summed  int // bytes of long texts that stand in the buffer by their sums, less those of the sums
}

var hashers = sync.Pool{New: func() any { return new(Hasher) }}

// keptBytes is up to which size the buffer of a hasher is kept: a rare large span is not to hold its memory.
const keptBytes = 1 << 20

// NewHasher returns a hasher that may have been in use before; Release gives it back.
func NewHasher() *Hasher { return hashers.Get().(*Hasher) }

// Release gives the hasher to the next caller of NewHasher.
func (h *Hasher) Release() {
	if cap(h.buf) <= keptBytes {
		hashers.Put(h)
	}
}

// Len is how many bytes went into the last digest or sum.
func (h *Hasher) Len() int { return len(h.buf) + h.summed }

// Resource digests a resource with its schema URL.
func (h *Hasher) Resource(rs ptrace.ResourceSpans) Digest {
	h.reset(nil)
	h.text(rs.SchemaUrl())
	h.attributes(rs.Resource().Attributes())
	h.number(uint64(rs.Resource().DroppedAttributesCount()))
	return sha256.Sum256(h.buf)
}

// Scope digests a scope with its schema URL, as one of a resource.
func (h *Hasher) Scope(resource Digest, ss ptrace.ScopeSpans) Digest {
	h.reset(resource[:])
	h.text(ss.SchemaUrl())
	h.text(ss.Scope().Name())
	h.text(ss.Scope().Version())
	h.attributes(ss.Scope().Attributes())
	h.number(uint64(ss.Scope().DroppedAttributesCount()))
	return sha256.Sum256(h.buf)
}

// Span digests a span, as one of a scope.
func (h *Hasher) Span(scope Digest, span ptrace.Span) Digest {
	h.reset(scope[:])
	h.span(span)
	return sha256.Sum256(h.buf)
}

func (h *Hasher) reset(to []byte) { h.buf, h.summed = append(h.buf[:0], to...), 0 }

// LongText is how many bytes a value must have to stand in Sum by its own sum.
const LongText = 256

// Sum tells a span from every other as Span does, in this process only, for a fraction of the cost and without what is around it. Long texts stand in it by
// their sums: of is textsum.Of, or knows what that returns. Len counts what goes into Span, the digest of the scope included.
func (h *Hasher) Sum(span ptrace.Span, of func(string) textsum.Sum) textsum.Sum {
	h.reset(nil)
	h.summed = len(Digest{})
	h.sum = of
	h.span(span)
	h.sum = nil
	return textsum.OfBytes(h.buf)
}

func (h *Hasher) span(span ptrace.Span) {
	traceID, spanID, parent := span.TraceID(), span.SpanID(), span.ParentSpanID()
	h.buf = append(append(append(h.buf, traceID[:]...), spanID[:]...), parent[:]...)
	h.text(span.Name())
	h.text(span.TraceState().AsRaw())
	h.number(uint64(span.Kind()))
	h.number(uint64(span.Flags()))
	h.number(uint64(span.StartTimestamp()))
	h.number(uint64(span.EndTimestamp()))
	h.number(uint64(span.Status().Code()))
	h.text(span.Status().Message())
	h.attributes(span.Attributes())
	h.number(uint64(span.DroppedAttributesCount()))
	h.number(uint64(span.Events().Len()))
	for _, e := range span.Events().All() {
		h.event(e)
	}
	h.number(uint64(span.DroppedEventsCount()))
	h.number(uint64(span.Links().Len()))
	for _, l := range span.Links().All() {
		h.link(l)
	}
	h.number(uint64(span.DroppedLinksCount()))
}

func (h *Hasher) event(e ptrace.SpanEvent) {
	h.text(e.Name())
	h.number(uint64(e.Timestamp()))
	h.attributes(e.Attributes())
	h.number(uint64(e.DroppedAttributesCount()))
}

func (h *Hasher) link(l ptrace.SpanLink) {
	traceID, spanID := l.TraceID(), l.SpanID()
	h.buf = append(append(h.buf, traceID[:]...), spanID[:]...)
	h.text(l.TraceState().AsRaw())
	h.number(uint64(l.Flags()))
	h.attributes(l.Attributes())
	h.number(uint64(l.DroppedAttributesCount()))
}

// AddMissing appends to a span the events and links that only another payload of it has. What both have several times stays as often as in the
// one that has it more often.
func AddMissing(span, other ptrace.Span) {
	var h Hasher
	addMissing(span.Events(), other.Events(), h.event, &h)
	addMissing(span.Links(), other.Links(), h.link, &h)
}

// list is a slice of pdata.
type list[E any] interface {
	All() iter.Seq2[int, E]
	AppendEmpty() E
}

func addMissing[E interface{ CopyTo(E) }](to, from list[E], write func(E), h *Hasher) {
	digest := func(e E) Digest {
		h.reset(nil)
		write(e)
		return sha256.Sum256(h.buf)
	}
	there := map[Digest]int{}
	for _, e := range to.All() {
		there[digest(e)]++
	}
	for _, e := range from.All() {
		if d := digest(e); there[d] > 0 {
			there[d]--
		} else {
			e.CopyTo(to.AppendEmpty())
		}
	}
}

// Without is Span as if the span lacked the named attributes. It leaves them at the end of the others.
func (h *Hasher) Without(scope Digest, span ptrace.Span, names []string) Digest {
	a := span.Attributes()
	var taken []Entry
	for _, name := range names {
		if v, ok := a.Get(name); ok {
			e := Entry{name, pcommon.NewValueEmpty()}
			v.MoveTo(e.Value)
			a.Remove(name)
			taken = append(taken, e)
		}
	}
	d := h.Span(scope, span)
	for _, e := range taken {
		e.Value.MoveTo(a.PutEmpty(e.Key))
	}
	return d
}

func (h *Hasher) number(n uint64) { h.buf = binary.AppendUvarint(h.buf, n) }

func (h *Hasher) text(s string) {
	h.number(uint64(len(s)))
	h.buf = append(h.buf, s...)
}

// attributes digests a map whatever the order of its keys: it has none that means anything.
func (h *Hasher) attributes(m pcommon.Map) {
	h.number(uint64(m.Len()))
	sorted, last := true, ""
	for k := range m.All() {
		if k < last {
			sorted = false
			break
		}
		last = k
	}
	if sorted {
		for k, v := range m.All() {
			h.text(k)
			h.value(v)
		}
		return
	}
	from := len(h.entries)
	h.entries = AppendSorted(h.entries, m)
	for i := from; i < from+m.Len(); i++ { // a value may hold a map, whose entries lie behind
		e := h.entries[i]
		h.text(e.Key)
		h.value(e.Value)
	}
	clear(h.entries[from:])
	h.entries = h.entries[:from]
}

func (h *Hasher) value(v pcommon.Value) {
	h.buf = append(h.buf, byte(v.Type()))
	switch v.Type() {
	case pcommon.ValueTypeStr:
		if s := v.Str(); h.sum != nil && len(s) >= LongText {
			sums := h.sum(s)
			h.number(uint64(len(s)))
			h.buf = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(h.buf, sums[0]), sums[1])
			h.summed += len(s) - 16
		} else {
			h.text(s)
		}
	case pcommon.ValueTypeBool:
		if v.Bool() {
			h.buf = append(h.buf, 1)
		} else {
			h.buf = append(h.buf, 0)
		}
	case pcommon.ValueTypeInt:
		h.number(uint64(v.Int()))
	case pcommon.ValueTypeDouble:
		h.number(math.Float64bits(v.Double()))
	case pcommon.ValueTypeBytes:
		h.number(uint64(v.Bytes().Len()))
		h.buf = append(h.buf, v.Bytes().AsRaw()...)
	case pcommon.ValueTypeSlice:
		h.number(uint64(v.Slice().Len()))
		for _, e := range v.Slice().All() {
			h.value(e)
		}
	case pcommon.ValueTypeMap:
		h.attributes(v.Map())
	}
}

// Entry is an entry of a map.
type Entry struct {
	Key   string
	Value pcommon.Value
}

// SortedEntries lists a map in order of its keys; equal ones stay in theirs.
func SortedEntries(m pcommon.Map) []Entry { return AppendSorted(make([]Entry, 0, m.Len()), m) }

// AppendSorted is SortedEntries behind other entries.
func AppendSorted(entries []Entry, m pcommon.Map) []Entry {
	from := len(entries)
	for k, v := range m.All() {
		entries = append(entries, Entry{k, v})
		if len(entries)-from <= insertedEntries {
			insertLast(entries[from:])
		}
	}
	if m.Len() > insertedEntries {
		slices.SortStableFunc(entries[from:], func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	}
	return entries
}

// insertedEntries is up to how many entries each is put in its place as it comes. Nearly all maps have fewer.
const insertedEntries = 64

// insertLast puts the last entry in its place among those before it, which are in order.
func insertLast(entries []Entry) {
	last := len(entries) - 1
	e := entries[last]
	at := last
	for low := 0; low < at; {
		if mid := int(uint(low+at) / 2); entries[mid].Key <= e.Key {
			low = mid + 1
		} else {
			at = mid
		}
	}
	copy(entries[at+1:], entries[at:last])
	entries[at] = e
}
