// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package nesting

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// arrays and maps make a value of so many levels.
func arrays(v pcommon.Value, levels int) {
	for range levels {
		v = v.SetEmptySlice().AppendEmpty()
	}
	v.SetStr("x")
}

func maps(v pcommon.Value, levels int) {
	for i := range levels {
		m := v.SetEmptyMap()
		m.EnsureCapacity(3) // a value moves when its map grows
		m.PutInt("before", int64(i))
		v = m.PutEmpty("k")
		m.PutStr("behind", "y")
	}
	v.SetBool(true)
}

// mixed branches on its way.
func mixed(v pcommon.Value, levels int) {
	for i := range levels {
		if i%3 == 0 {
			m := v.SetEmptyMap()
			m.EnsureCapacity(2)
			maps(m.PutEmpty("side"), min(levels-i-1, 40))
			v = m.PutEmpty("k")
			continue
		}
		s := v.SetEmptySlice()
		s.EnsureCapacity(3)
		arrays(s.AppendEmpty(), min(levels-i-1, 70))
		v = s.AppendEmpty()
		s.AppendEmpty().SetEmptyBytes().FromRaw(make([]byte, 24))
	}
	v.SetDouble(1.5)
}

var shapes = map[string]func(pcommon.Value, int){"arrays": arrays, "maps": maps, "mixed": mixed}

// spans has a deep value at every place that may have one.
func spans(fill func(pcommon.Value, int), levels int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	fill(rs.Resource().Attributes().PutEmpty("r"), levels)
	ss := rs.ScopeSpans().AppendEmpty()
	fill(ss.Scope().Attributes().PutEmpty("s"), levels)
	ss.Spans().AppendEmpty().SetName("shallow")
	span := ss.Spans().AppendEmpty()
	span.SetName("deep")
	span.Attributes().PutInt("n", 1)
	fill(span.Attributes().PutEmpty("a"), levels)
	fill(span.Attributes().PutEmpty("b"), levels)
	fill(span.Events().AppendEmpty().Attributes().PutEmpty("e"), levels)
	fill(span.Links().AppendEmpty().Attributes().PutEmpty("l"), levels)
	return td
}

func TestValuesDeeperThanPdataReadsComeBackAsTheyWere(t *testing.T) {
	for name, fill := range shapes {
		for _, levels := range []int{0, 1, 29, 30, 31, 32, 33, 49, 50, 59, 60, 61, 200, 510, 511, 512} {
			t.Run(fmt.Sprint(name, levels), func(t *testing.T) {
				td := spans(fill, levels)
				wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
				require.NoError(t, err)
				got, err := UnmarshalTraces(wire)
				require.NoError(t, err)
				again, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(got)
				require.NoError(t, err)
				require.True(t, bytes.Equal(wire, again))

				ld := plog.NewLogs()
				rl := ld.ResourceLogs().AppendEmpty()
				fill(rl.Resource().Attributes().PutEmpty("r"), levels)
				sl := rl.ScopeLogs().AppendEmpty()
				fill(sl.Scope().Attributes().PutEmpty("s"), levels)
				record := sl.LogRecords().AppendEmpty()
				fill(record.Body(), levels)
				fill(record.Attributes().PutEmpty("a"), levels)
				wire, err = (&plog.ProtoMarshaler{}).MarshalLogs(ld)
				require.NoError(t, err)
				back, err := UnmarshalLogs(wire)
				require.NoError(t, err)
				again, err = (&plog.ProtoMarshaler{}).MarshalLogs(back)
				require.NoError(t, err)
				require.True(t, bytes.Equal(wire, again))
			})
		}
	}
}

func TestValuesDeeperThanWhatIsStoredAreRefused(t *testing.T) {
	for name, fill := range shapes {
		t.Run(name, func(t *testing.T) {
			td := spans(fill, Stored)
			require.NoError(t, CheckTraces(td))
			fill(td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(1).Links().At(0).Attributes().PutEmpty("l"), Stored+1)
			require.ErrorIs(t, CheckTraces(td), ErrTooDeep)
			wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
			require.NoError(t, err)
			_, err = UnmarshalTraces(wire)
			require.ErrorIs(t, err, ErrTooDeep)
			ld := plog.NewLogs()
			fill(ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().Body(), Stored+1)
			wire, err = (&plog.ProtoMarshaler{}).MarshalLogs(ld)
			require.NoError(t, err)
			_, err = UnmarshalLogs(wire)
			require.ErrorIs(t, err, ErrTooDeep)
			require.ErrorIs(t, CheckLogs(ld), ErrTooDeep)
		})
	}
}

// randomValue writes an AnyValue as a sender may: several fields of which the last counts, fields that nobody
// knows, values that come twice.
func randomValue(r *rand.Rand, levels int) (wire []byte) {
	for range 1 + r.IntN(2) {
		switch r.IntN(8) {
		case 0:
			wire = appendField(wire, 1, []byte("text"))
		case 1:
			wire = append(wire, 2<<3, 1) // bool_value
		case 2:
			wire = appendField(wire, bytesValue, make([]byte, r.IntN(30)))
		case 3:
			wire = appendField(wire, 13, []byte{1}) // unknown
		}
	}
	if levels == 0 {
		return wire
	}
	var content []byte
	number := uint64(5) // array_value
	if r.IntN(3) == 0 {
		number = 6 // kvlist_value
	}
	for range 1 + r.IntN(10)/9 { // seldom two: values of each level multiply
		item := randomValue(r, max(0, levels-1-r.IntN(12)/11))
		if number == 6 {
			item = appendField(appendField(nil, 1, []byte{byte('a' + r.IntN(3))}), valueOf, item)
			if r.IntN(5) == 0 {
				item = appendField(item, valueOf, randomValue(r, r.IntN(2)))
			}
		}
		content = appendField(content, 1, item)
	}
	wire = appendField(wire, number, content)
	if r.IntN(30) == 0 {
		wire = appendField(wire, 1, []byte("the last"))
	}
	return wire
}

// What pdata reads comes out the same where it is taken apart and put together.
func TestReaderReadsWhatPdataReads(t *testing.T) {
	deep := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		var wire []byte
		for range 1 + r.IntN(3) {
			wire = appendField(wire, 9, appendField(appendField(nil, 1, []byte("k")), valueOf, randomValue(r, 30+r.IntN(14)))) // attributes
		}
		for _, number := range []uint64{2, 2, 1} { // spans, scope_spans, resource_spans
			wire = appendField(nil, number, wire)
		}
		var u ptrace.ProtoUnmarshaler
		want, err := u.UnmarshalTraces(wire)
		if err != nil {
			continue // too many maps
		}
		var got ptrace.Traces
		err = read(wire, tracesData, errNotDeep, func(shallow []byte) (err error) {
			got, err = u.UnmarshalTraces(shallow)
			return err
		}, func(f *filler) { eachMap(got, f.entries) })
		if errors.Is(err, errNotDeep) {
			continue
		}
		require.NoError(t, err)
		deep++
		first, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(want)
		require.NoError(t, err)
		second, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(got)
		require.NoError(t, err)
		require.True(t, bytes.Equal(first, second), "seed %d", seed)
	}
	require.Greater(t, deep, 100)
}

var errNotDeep = errors.New("nothing lies deep")

// deepWire is a request of protobuf with so many arrays in each other, from the inside out.
func deepWire(levels int) []byte {
	size := 0
	var heads [][]byte
	field := func(number uint64) {
		h := appendHead(number, size)
		size += len(h)
		heads = append(heads, h)
	}
	for range levels {
		field(1) // ArrayValue.values
		field(5) // AnyValue.array_value
	}
	for _, number := range []uint64{2, 9, 2, 2, 1} { // value, attributes, spans, scope_spans, resource_spans
		field(number)
	}
	wire := make([]byte, 0, size)
	for i := len(heads) - 1; i >= 0; i-- {
		wire = append(wire, heads[i]...)
	}
	return wire
}

func appendHead(number uint64, size int) []byte {
	h := appendField(nil, number, nil)[:1]
	for n := uint64(size); ; n >>= 7 {
		if n < 0x80 {
			return append(h, byte(n))
		}
		h = append(h, byte(n)|0x80)
	}
}

// A million arrays in each other overflowed the stack of the decoder.
func TestMillionLevelsAreRefusedInLittleMemory(t *testing.T) {
	wire := deepWire(1_300_000)
	_, err := UnmarshalTraces(wire)
	require.ErrorIs(t, err, ErrTooDeep)
	require.NotContains(t, err.Error(), "proto:")
	require.Less(t, allocated(func() { _, _ = UnmarshalTraces(wire) }), uint64(1<<20))
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzUnmarshalTraces(f *testing.F) {
	for _, fill := range shapes {
		for _, levels := range []int{1, 31, 50, 100} {
			wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(spans(fill, levels))
			require.NoError(f, err)
			f.Add(wire)
		}
	}
	f.Add(deepWire(600))
	f.Add([]byte{0x0a, 0x02, 0x0a, 0x05})
	f.Fuzz(func(t *testing.T, wire []byte) {
		td, err := UnmarshalTraces(wire)
		if err != nil {
			return
		}
		require.NoError(t, CheckTraces(td))
		once, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		require.NoError(t, err)
		if bytes.Contains(once, secret()) {
			t.Fatal("a mark is left")
		}
		again, err := UnmarshalTraces(once)
		require.NoError(t, err)
		twice, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(again)
		require.NoError(t, err)
		require.True(t, bytes.Equal(once, twice))
	})
}
