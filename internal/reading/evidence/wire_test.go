// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// byPdata is the canonical form as pdata writes it, from a copy.
func byPdata(t testing.TB, s *Set) []byte {
	t.Helper()
	b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(s.Traces())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheWireIsThatOfPdata(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	maybe := func() bool { return r.IntN(2) == 0 }
	attributes := func(m pcommon.Map) {
		if maybe() {
			fill(r, m, r.IntN(9), 2)
		}
		if maybe() {
			m.PutDouble("double", r.NormFloat64())
			m.PutDouble("zero", 0)
			m.PutDouble("nan", math.NaN())
			m.PutInt("negative", -r.Int64())
			m.PutBool("true", true)
			m.PutBool("false", false)
			m.PutStr("", "")
			m.PutEmpty("nothing")
			m.PutEmptyBytes("bytes").Append(bytes.Repeat([]byte{7}, r.IntN(300))...)
			m.PutEmptySlice("slice")
			m.PutEmptyMap("map")
		}
		if r.IntN(5) == 0 {
			twice(m)
		}
	}
	id := func() (id [16]byte) {
		if maybe() {
			for i := range id {
				id[i] = byte(r.IntN(4))
			}
		}
		return id
	}
	var buf []byte
	for range 300 {
		td := ptrace.NewTraces()
		for range 1 + r.IntN(3) {
			rs := td.ResourceSpans().AppendEmpty()
			attributes(rs.Resource().Attributes())
			rs.Resource().SetDroppedAttributesCount(uint32(r.IntN(2)))
			rs.SetSchemaUrl([]string{"", "https://schema"}[r.IntN(2)])
			for range 1 + r.IntN(3) {
				ss := rs.ScopeSpans().AppendEmpty()
				attributes(ss.Scope().Attributes())
				ss.Scope().SetName([]string{"", "scope"}[r.IntN(2)])
				ss.Scope().SetVersion([]string{"", "1"}[r.IntN(2)])
				ss.SetSchemaUrl([]string{"", "https://schema"}[r.IntN(2)])
				for range r.IntN(4) {
					s := ss.Spans().AppendEmpty()
					attributes(s.Attributes())
					trace, span := id(), id()
					s.SetTraceID(trace)
					s.SetSpanID([8]byte(span[:8]))
					s.SetParentSpanID([8]byte(span[8:]))
					s.TraceState().FromRaw([]string{"", "a=b"}[r.IntN(2)])
					s.SetFlags([]uint32{0, 1, 1 << 31}[r.IntN(3)])
					s.SetName([]string{"", "name", string(bytes.Repeat([]byte("long"), 5000))}[r.IntN(3)])
					s.SetKind(ptrace.SpanKind(r.IntN(9) - 2))
					s.SetStartTimestamp(pcommon.Timestamp(r.Uint64N(3)))
					s.SetEndTimestamp(pcommon.Timestamp(r.Uint64() * uint64(r.IntN(2))))
					s.Status().SetCode(ptrace.StatusCode(r.IntN(5) - 1))
					s.Status().SetMessage([]string{"", "broken"}[r.IntN(2)])
					s.SetDroppedAttributesCount(uint32(r.IntN(2)))
					s.SetDroppedEventsCount(uint32(r.IntN(2)))
					s.SetDroppedLinksCount(r.Uint32() * uint32(r.IntN(2)))
					for range r.IntN(3) {
						e := s.Events().AppendEmpty()
						attributes(e.Attributes())
						e.SetName([]string{"", "event"}[r.IntN(2)])
						e.SetTimestamp(pcommon.Timestamp(r.IntN(2)))
						e.SetDroppedAttributesCount(uint32(r.IntN(2)))
					}
					for range r.IntN(3) {
						l := s.Links().AppendEmpty()
						attributes(l.Attributes())
						trace, span := id(), id()
						l.SetTraceID(trace)
						l.SetSpanID([8]byte(span[:8]))
						l.TraceState().FromRaw([]string{"", "a=b"}[r.IntN(2)])
						l.SetFlags(uint32(r.IntN(2)))
						l.SetDroppedAttributesCount(uint32(r.IntN(2)))
					}
				}
			}
		}
		s := NewSet()
		s.add(td, true)
		got, complete, err := marshal(&buf, s.all())
		if want := byPdata(t, s); !complete || err != nil || !bytes.Equal(got, want) {
			t.Fatalf("complete: %v, %v: %d bytes that are not the %d of pdata", complete, err, len(got), len(want))
		}
	}
}

// On the wire a span may hold what pdata reads, keeps and does not show: here the index of a string in a dictionary.
func TestWhatPdataDoesNotShowStaysInTheCanonicalForm(t *testing.T) {
	td := request()
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutStr("gen_ai.hidden", "value")
	wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	for name, with := range map[string]string{
		"a value": "\x12\x07\x40\x85\x80\x80\x80\x80\x00", // field 8 of AnyValue, an index spelled as long as the text
		"a key":   "\x12\x02\x0a\x00\x18\x85\x80\x80\x00", // field 3 of KeyValue behind an empty text
	} {
		changed := bytes.Replace(wire, []byte("\x12\x07\x0a\x05value"), []byte(with), 1)
		if bytes.Equal(changed, wire) {
			t.Fatal("the wire does not look as this test takes it to look")
		}
		with, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(changed)
		if err != nil {
			t.Fatal(err)
		}
		s := NewSet()
		s.add(with, true)
		if _, complete, err := marshal(new([]byte), s.all()); complete || err != nil {
			t.Errorf("%s: nobody notices what is hidden (%v)", name, err)
		}
		if got := canonical(t, s); !bytes.Equal(got, byPdata(t, s)) {
			t.Errorf("%s: another form than that of pdata", name)
		}
	}
}
