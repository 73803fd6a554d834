// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/nesting"
)

// inAttribute is a request with a value in an attribute of a span.
func inAttribute(value string) []byte {
	return []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"key":"a","value":` + value + `}]}]}]}]}`)
}

func nestedArrays(levels int) []byte {
	return inAttribute(strings.Repeat(`{"arrayValue":{"values":[`, levels) + `{"stringValue":"x"}` + strings.Repeat(`]}}`, levels))
}

// besideEachOther is flat, and a decoder that has lost its place takes each of the values for one in the one
// before. Of 100 MB it overflows its stack.
func besideEachOther(values int) []byte {
	return inAttribute(`{"arrayValue":{"values":[{"bytesValue":"!"}]` + strings.Repeat(`,"values":[1,"arrayValue"]`, values) + `}}`)
}

func TestValuesBesideEachOtherAreNeverTakenForNestedOnes(t *testing.T) {
	for name, value := range map[string]string{
		"no base64":     `{"arrayValue":{"values":[{"bytesValue":"!"}],"values":[1,"arrayValue"]}}`,
		"a quote":       `{"arrayValue":{"values":[{"bytesValue":"\","}]},"b":":1"}`,
		"another type":  `{"arrayValue":[1,"arrayValue"]}`,
		"in a list":     `{"arrayValue":{"values":[1,"arrayValue"]}}`,
		"no object":     `1`,
		"a name for it": `{"stringValue":{"arrayValue":{}}}`,
		"no such kind":  `{},"kind":"x`,
		"a short id":    `{}}],"traceId":"00","x":[{"y":1`,
	} {
		_, err := CheckRequest(inAttribute(value))
		require.ErrorIs(t, err, ErrMalformed, name)
	}
	_, err := CheckRequest(besideEachOther(1000))
	require.ErrorIs(t, err, ErrMalformed)
	_, err = decodeJSON(besideEachOther(1000))
	require.ErrorIs(t, err, ErrMalformed, "in a file")
}

// The types of metrics are not known here. What the decoder may take of them is bounded by their size.
func TestLargeMetricsInJSONAreRefused(t *testing.T) {
	metrics := func(size int) []byte { return []byte(`{"resourceMetrics":[` + strings.Repeat(" ", size) + `]}`) }
	_, err := CheckRequest(metrics(maxUnchecked - 100))
	require.NoError(t, err)
	_, err = CheckRequest(metrics(maxUnchecked))
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = CheckRequest(bytes.Replace(metrics(maxUnchecked), []byte("resourceM"), []byte(`resource\u004d`), 1))
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = CheckRequest(bytes.Replace(metrics(maxUnchecked), []byte("Metrics"), []byte("Spans"), 1))
	require.NoError(t, err)
}

func TestRequestThatNestsTooDeepIsRefusedInLittleMemory(t *testing.T) {
	_, err := CheckRequest(nestedArrays(39))
	require.NoError(t, err)
	text := nestedArrays(1_300_000)
	used := allocated(func() { _, err = CheckRequest(text) })
	require.ErrorIs(t, err, nesting.ErrTooDeep)
	require.NotErrorIs(t, err, ErrMalformed)
	require.Less(t, used, uint64(64<<10))
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	for _, text := range []string{"", " ", "[]", "1", `"x"`, `{"a":[}`, "{}{}", `{"resourceSpans":"\x[[["}`, `{"resourceSpans":1}`} {
		_, err := CheckRequest([]byte(text))
		require.ErrorIs(t, err, ErrMalformed, text)
	}
	for _, text := range []string{"{}", " {} ", `{"x":[{}],"resourceSpans":null}`, `{"resourceSpans":[{"schemaUrl":"` + strings.Repeat(`[{`, 1000) + `"}]}`} {
		got, err := CheckRequest([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, text, string(got))
	}
}

// deepest fills every place that may hold a value.
func deepest(fill func(pcommon.Value, int), levels int) (ptrace.Traces, plog.Logs) {
	td, ld := ptrace.NewTraces(), plog.NewLogs()
	rs := td.ResourceSpans().AppendEmpty()
	fill(rs.Resource().Attributes().PutEmpty("r"), levels)
	ss := rs.ScopeSpans().AppendEmpty()
	fill(ss.Scope().Attributes().PutEmpty("s"), levels)
	span := ss.Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID{1})
	span.SetKind(ptrace.SpanKindClient)
	span.Attributes().PutInt("n", 1<<60)
	span.Attributes().PutDouble("d", 1e-300)
	span.Attributes().PutEmptyBytes("b").FromRaw([]byte{1, 2, 3})
	fill(span.Attributes().PutEmpty("a"), levels)
	fill(span.Events().AppendEmpty().Attributes().PutEmpty("e"), levels)
	fill(span.Links().AppendEmpty().Attributes().PutEmpty("l"), levels)
	rl := ld.ResourceLogs().AppendEmpty()
	fill(rl.Resource().Attributes().PutEmpty("r"), levels)
	record := rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	record.SetSeverityNumber(plog.SeverityNumberError)
	fill(record.Body(), levels)
	fill(record.Attributes().PutEmpty("a"), levels)
	return td, ld
}

// What pdata writes passes as it is, and what passes is no deeper than the decoder of protobuf reads: whoever
// gets it next reads it too.
func TestWhatPassesIsReadAsProtobufEverywhere(t *testing.T) {
	shapes := map[string]func(pcommon.Value, int){
		"arrays": func(v pcommon.Value, levels int) {
			for range levels {
				v = v.SetEmptySlice().AppendEmpty()
			}
			v.SetStr("x")
		},
		"maps": func(v pcommon.Value, levels int) {
			for range levels {
				v = v.SetEmptyMap().PutEmpty("k")
			}
			v.SetBool(true)
		},
	}
	for name, fill := range shapes {
		t.Run(name, func(t *testing.T) {
			for levels := range 60 {
				td, ld := deepest(fill, levels)
				spans, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
				require.NoError(t, err)
				records, err := (&plog.JSONMarshaler{}).MarshalLogs(ld)
				require.NoError(t, err)
				got, err := CheckRequest(spans)
				if err != nil {
					require.ErrorIs(t, err, nesting.ErrTooDeep)
					require.Equal(t, map[string]int{"arrays": 39, "maps": 30}[name], levels)
					return
				}
				require.Equal(t, string(spans), string(got))
				got, err = CheckRequest(records)
				require.NoError(t, err)
				require.Equal(t, string(records), string(got))
				td, ld = deepest(fill, levels+1) // as the body of a record becomes an attribute, or an attribute a member of a map
				wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
				require.NoError(t, err)
				_, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(wire)
				require.NoError(t, err)
				wire, err = (&plog.ProtoMarshaler{}).MarshalLogs(ld)
				require.NoError(t, err)
				_, err = (&plog.ProtoUnmarshaler{}).UnmarshalLogs(wire)
				require.NoError(t, err)
			}
			t.Error("nothing is too deep")
		})
	}
}

// anyRequest writes requests of which most values are of their type.
type anyRequest struct {
	*rand.Rand
	strings.Builder
}

var oddScalars = []string{
	`""`, `"x"`, `"\","`, `":1"`, `"\\\"arrayValue"`, `"\ud800"`, `"AAECAwQFBgcICQoLDA0ODw=="`, `"00112233445566778899aabbccddeeff"`, `"0011223344556677"`, `"_-8"`, `"AQID"`, `"arrayValue"`, `null`, `true`, `false`,
	`"true"`, `0`, `-0`, `1`, `-1`, `5e3`, `1.0`, `1.5`, `1E400`, `0.1e-7`, `"7"`, `"+5"`, `4294967296`, `18446744073709551615`, `18446744073709551616`, `9007199254740993.0`, `"NaN"`, `"Infinity"`, `1e-400`, `"SPAN_KIND_SERVER"`, `{}`, `[]`, `{"":1}`, `[1,"arrayValue"]`,
}

func (r *anyRequest) odd() { r.WriteString(oddScalars[r.IntN(len(oddScalars))]) }

func (r *anyRequest) message(m *message, levels int) {
	r.WriteString("{")
	for i := range r.IntN(4) {
		if i > 0 {
			r.WriteString(",")
		}
		f := &m.fields[r.IntN(len(m.fields))]
		if r.IntN(20) == 0 {
			f = &field{name: []string{"", "new", "\\u0000", "nu"}[r.IntN(4)]}
		}
		name := f.name
		if f.camel != "" && r.IntN(4) > 0 {
			name = f.camel
		}
		fmt.Fprintf(r, `"%s":`, name)
		if f.repeated && r.IntN(30) > 0 {
			r.WriteString("[")
			for j := range r.IntN(3) {
				if j > 0 {
					r.WriteString(",")
				}
				r.value(f, levels)
			}
			r.WriteString("]")
			continue
		}
		r.value(f, levels)
	}
	r.WriteString("}")
}

func (r *anyRequest) value(f *field, levels int) {
	switch {
	case f.child != nil && levels > 0 && r.IntN(40) > 0:
		r.message(f.child, levels-1)
	case f.kind == kindString && r.IntN(10) > 0:
		r.WriteString(`"t\t"`)
	case f.child != nil:
		r.WriteString("{}")
	default:
		r.odd()
	}
}

// A decoder that reads a request without an error has not lost its place in it. It is told so by what it
// reads, not by the check.
func TestNoDecoderLosesItsPlaceInWhatPasses(t *testing.T) {
	passed, edited := 0, 0
	for seed := range uint64(30_000) {
		r := anyRequest{Rand: rand.New(rand.NewPCG(seed, 1))}
		r.message(&message{fields: append(slices.Clone(schema["TracesData"].fields), schema["LogsData"].fields...)}, 12)
		got, err := CheckRequest([]byte(r.String()))
		if err != nil {
			continue
		}
		_, ofSpans := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(got)
		_, ofRecords := (&plog.JSONUnmarshaler{}).UnmarshalLogs(got)
		if ofSpans != nil || ofRecords != nil {
			t.Fatalf("%v, %v\n%s\n%s", ofSpans, ofRecords, &r, got)
		}
		if passed++; string(got) != r.String() {
			edited++
		}
	}
	if passed < 5_000 || edited < 500 {
		t.Errorf("%d passed, %d of them edited", passed, edited)
	}
}

// FuzzCheckRequest: what passes is read by both decoders without an error, so none of them has lost its
// place.
func FuzzCheckRequest(f *testing.F) {
	for _, name := range []string{"forge_happy.otlp.json", "openai_plain_answer.otlp.json", "openai_plain_answer.logs.json"} {
		f.Add(compact(f, fixture(f, name)))
	}
	f.Add(besideEachOther(2))
	f.Add(nestedArrays(39))
	f.Add([]byte(`{"":{"":1},"x":[1E400,-0,0.1e-7,"\ud800",{"\u0000":null}],"resourceSpans":[null,{"scopeSpans":[{"spans":[{"traceId":"AAECAwQFBgcICQoLDA0ODw==","kind":"3","":1,"startTimeUnixNano":1e9,"spanId":null}]}]}]}`))
	f.Add([]byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"bytesValue":"_-8","":"[","doubleValue":"NaN","intValue":"+5","boolValue":"true"},"severityNumber":"SEVERITY_NUMBER_INFO2","flags":1.0}]}]}]}`))
	f.Add([]byte(`{"resource_spans":[{"scope_spans":[{"spans":[{"links":[{"traceId":"","flags":4294967295}],"status":{"code":"STATUS_CODE_OK"}}]}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := CheckRequest(body)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, nesting.ErrTooDeep) {
				t.Fatal(err)
			}
			return
		}
		if _, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(got); err != nil {
			t.Fatal(fmt.Errorf("spans: %w", err))
		}
		if _, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(got); err != nil {
			t.Fatal(fmt.Errorf("records: %w", err))
		}
		again, err := CheckRequest(got)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("the second check differs: %v", err)
		}
	})
}
