// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/reading/spandigest"
)

// sortAttributes puts the entries of all maps in order of their keys, at any depth. OTLP gives their order no meaning, and an item is the same
// in any (see spandigest), so its bytes have to be the same too.
func sortAttributes(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		sortMap(rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			sortMap(ss.Scope().Attributes())
			for _, span := range ss.Spans().All() {
				sortMap(span.Attributes())
				for _, e := range span.Events().All() {
					sortMap(e.Attributes())
				}
				for _, l := range span.Links().All() {
					sortMap(l.Attributes())
				}
			}
		}
	}
}

// smallMap is up to how many entries a map is put together by its own methods, each of which looks through all of it.
const smallMap = 128

func sortMap(m pcommon.Map) {
	sorted, last := true, ""
	for k, v := range m.All() {
		sorted = sorted && k >= last
		last = k
		sortValue(v)
	}
	if sorted {
		return
	}
	entries := spandigest.SortedEntries(m)
	twice := false
	for i := range entries[1:] {
		twice = twice || entries[i].Key == entries[i+1].Key
	}
	if twice || len(entries) > smallMap {
		assemble(entries).MoveTo(m)
		return
	}
	ordered := pcommon.NewMap()
	ordered.EnsureCapacity(len(entries))
	for _, e := range entries {
		e.Value.MoveTo(ordered.PutEmpty(e.Key))
	}
	ordered.MoveTo(m)
}

// assemble makes a map of entries as they stand, also of entries whose key comes twice. OTLP forbids such entries and no method of a map
// can make them. So assemble writes the entries as the attributes of a resource on the wire, and reads that.
func assemble(entries []spandigest.Entry) pcommon.Map {
	var marshal ptrace.ProtoMarshaler
	var attributes []byte
	for _, e := range entries {
		one := ptrace.NewTraces()
		e.Value.MoveTo(one.ResourceSpans().AppendEmpty().Resource().Attributes().PutEmpty(e.Key))
		wire, err := marshal.MarshalTraces(one)
		if err != nil {
			panic(err) // it has just been made
		}
		attributes = append(attributes, content(content(wire))...)
	}
	all, err := nesting.UnmarshalTraces(field1(field1(attributes)))
	if err != nil {
		panic(err) // as above
	}
	return all.ResourceSpans().At(0).Resource().Attributes()
}

// A ResourceSpans is field 1 of its message, so is a Resource of it, and so is an attribute of that.
const wireField1 = 1<<3 | 2

func field1(content []byte) []byte {
	return append(binary.AppendUvarint([]byte{wireField1}, uint64(len(content))), content...)
}

func content(field []byte) []byte {
	_, n := binary.Uvarint(field[1:])
	return field[1+n:]
}

func sortValue(v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeMap:
		sortMap(v.Map())
	case pcommon.ValueTypeSlice:
		for _, e := range v.Slice().All() {
			sortValue(e)
		}
	}
}
