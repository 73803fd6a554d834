// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/spandigest"
)

// wire writes OTLP from its end to its begin, so that the length of a message is known when it comes to stand before it. Unlike pdata, it writes spans where
// they lie: with their attributes in order, and neither copied nor sorted.
type wire struct {
	buf     []byte
	pos     int                // buf[pos:] is written
	entries []spandigest.Entry // of the maps that are being written, one behind the other
}

// Tags of protobuf: the number of a field, and how it is written.
const (
	varint = 0
	fixed8 = 1 // eight bytes
	length = 2 // bytes behind their number
	fixed4 = 5 // four bytes
)

// room makes room for n bytes before what is written.
func (w *wire) room(n int) []byte {
	if w.pos < n {
		grown := make([]byte, 2*len(w.buf)+n)
		pos := len(grown) - (len(w.buf) - w.pos)
		copy(grown[pos:], w.buf[w.pos:])
		w.buf, w.pos = grown, pos
	}
	w.pos -= n
	return w.buf[w.pos : w.pos+n]
}

func (w *wire) uvarint(n uint64) {
	binary.PutUvarint(w.room((bits.Len64(n|1)+6)/7), n)
}

func (w *wire) tag(field uint64, kind uint64) { w.uvarint(field<<3 | kind) }

// behind puts the tag and the length of a field before its content, which is what was written since end bytes were.
func (w *wire) behind(field uint64, end int) {
	w.uvarint(uint64(w.len() - end))
	w.tag(field, length)
}

// len is how many bytes are written.
func (w *wire) len() int { return len(w.buf) - w.pos }

func (w *wire) bytes(field uint64, b []byte) {
	copy(w.room(len(b)), b)
	w.uvarint(uint64(len(b)))
	w.tag(field, length)
}

func (w *wire) text(field uint64, s string) {
	copy(w.room(len(s)), s)
	w.uvarint(uint64(len(s)))
	w.tag(field, length)
}

// The functions below leave out a field that has its default.

func (w *wire) optionalText(field uint64, s string) {
	if s != "" {
		w.text(field, s)
	}
}

func (w *wire) number(field uint64, n uint64) {
	if n != 0 {
		w.uvarint(n)
		w.tag(field, varint)
	}
}

func (w *wire) fixed64(field uint64, n uint64) {
	if n != 0 {
		binary.LittleEndian.PutUint64(w.room(8), n)
		w.tag(field, fixed8)
	}
}

func (w *wire) fixed32(field uint64, n uint32) {
	if n != 0 {
		binary.LittleEndian.PutUint32(w.room(4), n)
		w.tag(field, fixed4)
	}
}

// id writes an id, of which one of zeros has no bytes.
func (w *wire) id(field uint64, id []byte, empty bool) {
	if empty {
		id = nil
	}
	w.bytes(field, id)
}

// What comes first below stands last on the wire: pdata writes the fields of a message in the order of its definition, from the end to the begin too.

func (w *wire) span(s ptrace.Span) {
	end := w.len()
	traceID, spanID, parent := s.TraceID(), s.SpanID(), s.ParentSpanID()
	w.id(1, traceID[:], traceID.IsEmpty())
	w.id(2, spanID[:], spanID.IsEmpty())
	w.optionalText(3, s.TraceState().AsRaw())
	w.id(4, parent[:], parent.IsEmpty())
	w.fixed32(16, s.Flags())
	w.optionalText(5, s.Name())
	w.number(6, uint64(s.Kind()))
	w.fixed64(7, uint64(s.StartTimestamp()))
	w.fixed64(8, uint64(s.EndTimestamp()))
	w.attributes(9, s.Attributes())
	w.number(10, uint64(s.DroppedAttributesCount()))
	for i := s.Events().Len() - 1; i >= 0; i-- {
		w.event(s.Events().At(i))
	}
	w.number(12, uint64(s.DroppedEventsCount()))
	for i := s.Links().Len() - 1; i >= 0; i-- {
		w.link(s.Links().At(i))
	}
	w.number(14, uint64(s.DroppedLinksCount()))
	w.status(s.Status())
	w.behind(2, end)
}

func (w *wire) status(s ptrace.Status) {
	end := w.len()
	w.optionalText(2, s.Message())
	w.number(3, uint64(s.Code()))
	w.behind(15, end)
}

func (w *wire) event(e ptrace.SpanEvent) {
	end := w.len()
	w.fixed64(1, uint64(e.Timestamp()))
	w.optionalText(2, e.Name())
	w.attributes(3, e.Attributes())
	w.number(4, uint64(e.DroppedAttributesCount()))
	w.behind(11, end)
}

func (w *wire) link(l ptrace.SpanLink) {
	end := w.len()
	traceID, spanID := l.TraceID(), l.SpanID()
	w.id(1, traceID[:], traceID.IsEmpty())
	w.id(2, spanID[:], spanID.IsEmpty())
	w.optionalText(3, l.TraceState().AsRaw())
	w.attributes(4, l.Attributes())
	w.number(5, uint64(l.DroppedAttributesCount()))
	w.fixed32(6, l.Flags())
	w.behind(13, end)
}

// attributes writes a map in order of its keys, each entry as one field.
func (w *wire) attributes(field uint64, m pcommon.Map) {
	from := len(w.entries)
	w.entries = spandigest.AppendSorted(w.entries, m)
	for i := len(w.entries) - 1; i >= from; i-- { // a value may hold a map, whose entries lie behind
		e, end := w.entries[i], w.len()
		w.optionalText(1, e.Key)
		inner := w.len()
		w.value(e.Value)
		w.behind(2, inner)
		w.behind(field, end)
	}
	w.entries = w.entries[:from]
}

func (w *wire) value(v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		w.text(1, v.Str())
	case pcommon.ValueTypeBool:
		b := w.room(1)
		if b[0] = 0; v.Bool() {
			b[0] = 1
		}
		w.tag(2, varint)
	case pcommon.ValueTypeInt:
		w.uvarint(uint64(v.Int()))
		w.tag(3, varint)
	case pcommon.ValueTypeDouble:
		binary.LittleEndian.PutUint64(w.room(8), math.Float64bits(v.Double()))
		w.tag(4, fixed8)
	case pcommon.ValueTypeSlice:
		end := w.len()
		for i := v.Slice().Len() - 1; i >= 0; i-- {
			element := w.len()
			w.value(v.Slice().At(i))
			w.behind(1, element)
		}
		w.behind(5, end)
	case pcommon.ValueTypeMap:
		end := w.len()
		w.attributes(1, v.Map())
		w.behind(6, end)
	case pcommon.ValueTypeBytes:
		w.bytes(7, v.Bytes().AsRaw())
	}
}

// fields returns resource and scope of an item as fields of their messages. pdata writes them, because a resource holds more than it shows.
func (i Item) fields() (resource, scope []byte, err error) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	i.Resource.Resource().CopyTo(rs.Resource())
	ss := rs.ScopeSpans().AppendEmpty()
	i.Scope.Scope().CopyTo(ss.Scope())
	sortAttributes(td)
	var m ptrace.ProtoMarshaler
	all, err := m.MarshalTraces(td)
	if err != nil {
		return nil, nil, err
	}
	message := content(all)
	size, n := binary.Uvarint(message[1:])
	resource = message[1+n+int(size):] // behind the scope
	return resource, content(message[:1+n+int(size)]), nil
}

// marshal writes the items, which are in canonical order, into buf or something larger. It returns false if one of them holds something that pdata does not show, such as an index into
// a dictionary that traces do not have: pdata has to write that itself.
func marshal(buf *[]byte, items []Item) (part []byte, complete bool, err error) {
	size := 1024
	for _, item := range items {
		size += item.size + item.size/16 + 64
	}
	if cap(*buf) < size {
		*buf = make([]byte, size)
	}
	w := wire{buf: (*buf)[:cap(*buf)], pos: cap(*buf)}
	defer func() { *buf = w.buf }()
	var m ptrace.ProtoMarshaler
	for to := len(items); to > 0; {
		ofResource, end := firstOf(items[:to], func(i Item) Digest { return i.resource }), w.len()
		resource, _, err := items[ofResource].fields()
		if err != nil {
			return nil, false, err
		}
		copy(w.room(len(resource)), resource)
		for to > ofResource {
			ofScope, end := firstOf(items[:to], func(i Item) Digest { return i.scope }), w.len()
			_, scope, err := items[ofScope].fields()
			if err != nil {
				return nil, false, err
			}
			copy(w.room(len(scope)), scope)
			for _, item := range slices.Backward(items[ofScope:to]) {
				before, n := w.len(), m.SpanSize(item.Span)
				if w.span(item.Span); w.len()-before != 1+(bits.Len64(uint64(n)|1)+6)/7+n {
					return nil, false, nil
				}
			}
			w.optionalText(3, items[ofScope].Scope.SchemaUrl())
			w.behind(2, end)
			to = ofScope
		}
		w.optionalText(3, items[ofResource].Resource.SchemaUrl())
		w.behind(1, end)
	}
	return w.buf[w.pos:], true, nil
}

// firstOf returns where the last items begin that have the same digest.
func firstOf(items []Item, digest func(Item) Digest) int {
	i := len(items) - 1
	for i > 0 && digest(items[i-1]) == digest(items[len(items)-1]) {
		i--
	}
	return i
}
