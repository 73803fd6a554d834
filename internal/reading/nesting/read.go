// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package nesting

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// UnmarshalTraces reads an ExportTraceServiceRequest (protobuf) whose values have up to Stored levels. Deeper
// ones are ErrTooDeep.
func UnmarshalTraces(wire []byte) (ptrace.Traces, error) {
	var u ptrace.ProtoUnmarshaler
	td, err := u.UnmarshalTraces(wire)
	if err == nil {
		return td, nil
	}
	err = read(wire, tracesData, err, func(shallow []byte) (err error) {
		td, err = u.UnmarshalTraces(shallow)
		return err
	}, func(f *filler) { eachMap(td, f.entries) })
	if err != nil {
		return ptrace.NewTraces(), err
	}
	return td, nil
}

// UnmarshalLogs is UnmarshalTraces for an ExportLogsServiceRequest.
func UnmarshalLogs(wire []byte) (plog.Logs, error) {
	var u plog.ProtoUnmarshaler
	ld, err := u.UnmarshalLogs(wire)
	if err == nil {
		return ld, nil
	}
	err = read(wire, logsData, err, func(shallow []byte) (err error) {
		ld, err = u.UnmarshalLogs(shallow)
		return err
	}, func(f *filler) { eachOfLogs(ld, f.entries, f.value) })
	if err != nil {
		return plog.NewLogs(), err
	}
	return ld, nil
}

// step is how many levels are decoded at once: pdata reads 32 maps in each other.
const step = 30

// read decodes what pdata refused with an error. It takes out what lies more than step levels deep, decodes
// the rest, decodes what it took out in the same way, and puts that where it was. If nothing lies so deep, it
// returns the error. Time is linear: what was taken out is not walked before its turn.
func read(wire []byte, root *message, refused error, decode func([]byte) error, fill func(*filler)) error {
	c := cutter{left: min(step, Stored)}
	shallow, err := c.cut(wire, root)
	switch {
	case errors.Is(err, ErrTooDeep):
		return err
	case err != nil || len(c.deep) == 0:
		return refused
	}
	if err := decode(shallow); err != nil {
		return err
	}
	f := filler{deep: c.deep, base: step}
	fill(&f)
	return f.err
}

// message is a type of OTLP: those of its fields that lead to values, by number.
type message struct {
	fields [14]*message
	level  bool // an array or a map
	value  bool // an AnyValue
}

// The types of OTLP that lead to values.
var tracesData, logsData, anyValue = func() (traces, logs, value *message) {
	value = &message{value: true}
	entry := &message{}
	entry.fields[2] = value // KeyValue.value
	array, list := &message{level: true}, &message{level: true}
	array.fields[1], list.fields[1] = value, entry // ArrayValue.values, KeyValueList.values
	value.fields[5], value.fields[6] = array, list // AnyValue.array_value, kvlist_value
	holder := func(attributes int) *message {
		m := &message{}
		m.fields[attributes] = entry
		return m
	}
	scope := holder(3)
	span, record := holder(9), holder(6)
	span.fields[11], span.fields[13] = holder(3), holder(4) // events, links
	record.fields[5] = value                                // body
	tree := func(item *message) *message {
		items := &message{}
		items.fields[1], items.fields[2] = scope, item
		resources := &message{}
		resources.fields[1], resources.fields[2] = holder(1), items
		data := &message{}
		data.fields[1] = resources
		return data
	}
	return tree(span), tree(record), value
}()

var errWire = errors.New("malformed protobuf")

// cutter writes messages anew without what lies deeper than it may.
type cutter struct {
	left int      // levels that may still come
	out  []byte   // what was written
	deep [][]byte // contents of the AnyValues that were taken out; a mark stands for each
	last bool     // nothing may be taken out: deeper is too deep
}

func (c *cutter) cut(wire []byte, m *message) ([]byte, error) {
	err := c.message(wire, m)
	return c.out, err
}

// lengthBytes is the room for a length that is known later: a varint may have more bytes than it needs.
const lengthBytes = 5

// message recurses into what leads to values: 7 messages, and 3 for each of at most step levels.
func (c *cutter) message(wire []byte, m *message) error {
	if m.value && c.left == 0 {
		if leads, err := hasLevels(wire, m); err != nil || leads {
			if err == nil && c.last {
				err = tooDeep()
			}
			if err == nil {
				c.deep = append(c.deep, wire)
				c.out = appendField(c.out, bytesValue, mark(len(c.deep)-1))
			}
			return err
		}
	}
	for len(wire) > 0 {
		f, err := nextField(wire)
		if err != nil {
			return err
		}
		child := m.child(f)
		if child == nil {
			c.out = append(c.out, wire[:f.size]...)
			wire = wire[f.size:]
			continue
		}
		c.out = append(c.out, wire[:f.tag]...)
		at := len(c.out)
		c.out = append(c.out, make([]byte, lengthBytes)...)
		if child.level {
			c.left--
		}
		if err := c.message(f.content, child); err != nil {
			return err
		}
		if child.level {
			c.left++
		}
		putLength(c.out[at:], len(c.out)-at-lengthBytes)
		wire = wire[f.size:]
	}
	return nil
}

func (m *message) child(f wireField) *message {
	if f.kind != kindLength || f.number >= uint64(len(m.fields)) {
		return nil
	}
	return m.fields[f.number]
}

// hasLevels reports whether an AnyValue holds an array or a map.
func hasLevels(wire []byte, m *message) (bool, error) {
	for len(wire) > 0 {
		f, err := nextField(wire)
		if err != nil {
			return false, err
		}
		if m.child(f) != nil {
			return true, nil
		}
		wire = wire[f.size:]
	}
	return false, nil
}

func putLength(b []byte, n int) {
	for i := range lengthBytes {
		b[i] = byte(n) | 0x80
		n >>= 7
	}
	b[lengthBytes-1] &= 0x7f
}

// Wire types.
const (
	kindVarint = 0
	kindFixed8 = 1
	kindLength = 2
	kindFixed4 = 5
)

type wireField struct {
	number  uint64
	kind    uint64
	tag     int // bytes of the tag
	size    int // bytes of all of it
	content []byte
}

func nextField(wire []byte) (f wireField, err error) {
	tag, n := binary.Uvarint(wire)
	f.number, f.kind, f.tag = tag>>3, tag&7, n
	if n <= 0 || f.number == 0 {
		return f, errWire
	}
	switch f.kind {
	case kindVarint:
		_, m := binary.Uvarint(wire[n:])
		if m <= 0 {
			return f, errWire
		}
		f.size = n + m
	case kindFixed8:
		f.size = n + 8
	case kindFixed4:
		f.size = n + 4
	case kindLength:
		length, m := binary.Uvarint(wire[n:])
		if m <= 0 || length > uint64(len(wire)-n-m) {
			return f, errWire
		}
		f.content = wire[n+m : n+m+int(length)]
		f.size = n + m + int(length)
	default: // groups do not occur in OTLP
		return f, errWire
	}
	if f.size > len(wire) {
		return f, errWire
	}
	return f, nil
}

const (
	bytesValue = 7 // AnyValue.bytes_value
	valueOf    = 2 // KeyValue.value
)

func appendField(b []byte, number uint64, content []byte) []byte {
	b = binary.AppendUvarint(b, number<<3|kindLength)
	b = binary.AppendUvarint(b, uint64(len(content)))
	return append(b, content...)
}

// secret begins the marks. No sender knows it, so none can write a mark.
var secret = sync.OnceValue(func() []byte {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return b
})

// mark stands in place of what was taken out.
func mark(i int) []byte { return binary.BigEndian.AppendUint64(bytes.Clone(secret()), uint64(i)) }

// filler puts what was taken out where it was.
type filler struct {
	deep [][]byte
	base int // the level of what was taken out
	err  error
}

func (f *filler) entries(m pcommon.Map) {
	for _, v := range m.All() {
		f.value(v)
	}
}

func (f *filler) value(v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeMap:
		f.entries(v.Map())
	case pcommon.ValueTypeSlice:
		for _, e := range v.Slice().All() {
			f.value(e)
		}
	case pcommon.ValueTypeBytes:
		b := v.Bytes()
		if f.err != nil || b.Len() != len(secret())+8 {
			return
		}
		raw := b.AsRaw()
		if i, ok := bytes.CutPrefix(raw, secret()); ok {
			f.err = f.fill(v, f.deep[binary.BigEndian.Uint64(i)])
		}
	}
}

// fill decodes an AnyValue, in an attribute of a resource, and moves it to v.
func (f *filler) fill(v pcommon.Value, wire []byte) error {
	c := cutter{left: min(step, Stored-f.base), last: f.base+step >= Stored}
	shallow, err := c.cut(wire, anyValue)
	if err != nil {
		return err
	}
	for _, number := range []uint64{valueOf, 1, 1, 1} { // KeyValue.value, Resource.attributes, ResourceSpans.resource, TracesData.resource_spans
		shallow = appendField(make([]byte, 0, len(shallow)+16), number, shallow)
	}
	td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(shallow)
	if err != nil {
		return err
	}
	deeper := filler{deep: c.deep, base: f.base + step}
	for _, found := range td.ResourceSpans().At(0).Resource().Attributes().All() {
		deeper.value(found)
		found.MoveTo(v)
	}
	return deeper.err
}
