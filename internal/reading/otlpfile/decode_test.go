// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	hexTrace = "000102030405060708090a0b0c0d0e0f"
	hexSpan  = "f0f1f2f3f4f5f6f7"
)

// span decodes one span given by its members.
func span(members string) (ptrace.Span, error) {
	docs, err := decodeJSON([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{` + members + `}]}]}]}`))
	if err != nil {
		return ptrace.NewSpan(), err
	}
	return docs[0].Traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0), nil
}

func TestIDsAreReadInEverySpelling(t *testing.T) {
	for name, c := range map[string]struct{ member, trace, span string }{
		"hex":              {`"traceId":"` + hexTrace + `","spanId":"` + hexSpan + `"`, hexTrace, hexSpan},
		"snake case":       {`"trace_id":"` + hexTrace + `","span_id":"` + hexSpan + `"`, hexTrace, hexSpan},
		"upper case":       {`"traceId":"` + strings.ToUpper(hexTrace) + `","spanId":"` + strings.ToUpper(hexSpan) + `"`, hexTrace, hexSpan},
		"base64":           {`"traceId":"AAECAwQFBgcICQoLDA0ODw==","spanId":"8PHy8/T19vc="`, hexTrace, hexSpan},
		"base64url":        {`"traceId":"AAECAwQFBgcICQoLDA0ODw","spanId":"8PHy8_T19vc"`, hexTrace, hexSpan},
		"0x prefix":        {`"traceId":"0x` + hexTrace + `"`, hexTrace, ""},
		"UUID":             {`"traceId":"00010203-0405-0607-0809-0a0b0c0d0e0f"`, hexTrace, ""},
		"64 bit":           {`"traceId":"` + hexSpan + `"`, "0000000000000000" + hexSpan, ""},
		"null":             {`"traceId":null,"spanId":null`, "", ""},
		"empty":            {`"traceId":"","spanId":""`, "", ""},
		"escapes":          {`"trace\u0049d":"\u00300` + hexTrace[2:] + `"`, hexTrace, ""},
		"after an unnamed": {`"":{"x":[1]},"traceId":"` + hexTrace + `"`, hexTrace, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := span(c.member)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.trace, c.span}, []string{s.TraceID().String(), s.SpanID().String()}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNumbersAreReadInEverySpelling(t *testing.T) {
	const at = 1795200000000000000
	for _, spelling := range []string{`1795200000000000000`, `"1795200000000000000"`, `1.7952e18`, `"1.7952E+18"`, `1795200000000000000.0`, `17952e14`} {
		s, err := span(`"startTimeUnixNano":` + spelling + `,"kind":"SPAN_KIND_CLIENT","endTimeUnixNano":null,"droppedEventsCount":"3"`)
		if err != nil {
			t.Fatal(err)
		}
		if s.StartTimestamp() != at || s.EndTimestamp() != 0 || s.Kind() != ptrace.SpanKindClient || s.DroppedEventsCount() != 3 {
			t.Errorf("%s: %d", spelling, s.StartTimestamp())
		}
	}
	for _, spelling := range []string{"3", `"3"`, "3.0"} {
		if s, err := span(`"kind":` + spelling); err != nil || s.Kind() != ptrace.SpanKindClient {
			t.Errorf("kind %s: %v %v", spelling, s.Kind(), err)
		}
	}
}

func TestAttributeValuesKeepTypeAndContent(t *testing.T) {
	for spelling, want := range map[string]any{
		`{"stringValue":"a\u0000\ud83d\ude00\ud800"}`:          "a\x00😀\uFFFD",
		`{"stringValue":"` + strings.Repeat("x", 1<<20) + `"}`: strings.Repeat("x", 1<<20),
		`{"stringValue":null}`:                                 "",
		`{"intValue":"9223372036854775807"}`:                   int64(9223372036854775807),
		`{"intValue":-9223372036854775808}`:                    int64(-9223372036854775808),
		`{"intValue":5e0}`:                                     int64(5),
		`{"doubleValue":"-Infinity"}`:                          "-Inf",
		`{"doubleValue":0.1}`:                                  0.1,
		`{"boolValue":"true"}`:                                 true,
		`{"bytesValue":"__8"}`:                                 []byte{0xff, 0xff},
		`{"arrayValue":{"values":[{"stringValue":"a"},{}]}}`:   []any{"a", nil},
		`{"kvlistValue":{"values":[{"key":"k","value":{"kvlistValue":{}}},{"key":"n","value":null}]}}`: map[string]any{"k": map[string]any{}, "n": nil},
		`null`: nil,
	} {
		s, err := span(`"attributes":[{"key":"a","value":` + spelling + `}]`)
		if err != nil {
			t.Errorf("%.60s: %v", spelling, err)
			continue
		}
		v, _ := s.Attributes().Get("a")
		got := v.AsRaw()
		if f, ok := got.(float64); ok && want == "-Inf" {
			got = fmt.Sprint(f)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.60s: %s", spelling, diff)
		}
	}
}

func TestInvalidUTF8IsKeptAsItCame(t *testing.T) {
	s, err := span("\"name\":\"a\xffb\"")
	if err != nil || s.Name() != "a\xffb" {
		t.Errorf("%q %v", s.Name(), err)
	}
}

func TestWhatCannotBeUnderstoodIsRefusedWithoutItsContent(t *testing.T) {
	for members, want := range map[string]string{
		`"traceId":"0102SECRET"`:                      "traceId: malformed: an id that is neither 32 hex digits nor base64 of 16 bytes (10 characters)",
		`"spanId":42`:                                 "spanId: malformed: a number instead of an id",
		`"parentSpanId":"SECRET"`:                     "parentSpanId: malformed: an id that is neither 16 hex digits nor base64 of 8 bytes (6 characters)",
		`"startTimeUnixNano":"SECRET"`:                "startTimeUnixNano: malformed: no integer in range",
		`"startTimeUnixNano":-1`:                      "startTimeUnixNano: malformed: no integer in range",
		`"startTimeUnixNano":1.5`:                     "startTimeUnixNano: malformed: no integer in range",
		`"startTimeUnixNano":1e999999999`:             "startTimeUnixNano: malformed: no integer in range",
		`"startTimeUnixNano":{}`:                      "startTimeUnixNano: malformed: an object instead of an integer",
		`"kind":"SECRET"`:                             "kind: malformed: no integer in range",
		`"name":7`:                                    "name: malformed: a number instead of a string",
		`"attributes":{"SECRET":1}`:                   "attributes: malformed: an object instead of an array",
		`"attributes":[{"key":"a","value":"SECRET"}]`: "attributes[0].value: malformed: a string instead of an object",
		`"attributes":[{"key":"a","value":{"intValue":"9223372036854775808"}}]`: "attributes[0].value.intValue: malformed: no integer in range",
		`"attributes":[{"key":"a","value":{"doubleValue":1e999}}]`:              "attributes[0].value.doubleValue: malformed: a number that a double cannot hold",
		`"attributes":[{"key":"a","value":{"bytesValue":"!SECRET"}}]`:           "attributes[0].value.bytesValue: malformed: text that is no base64",
		`"attributes":[{"key":"a","value":{"boolValue":"yes"}}]`:                "attributes[0].value.boolValue: malformed: a string instead of a boolean",
		"\"name\":\"a\tb\"": "name: malformed JSON: an escaped control character expected at byte 53 of the document",
		`"name":"\x"`:       "name: malformed JSON: a known escape expected at byte 53 of the document",
		`"name":"a",`:       "malformed JSON: a member name expected at byte 55 of the document",
		`"name" "a"`:        "malformed JSON: a colon expected at byte 51 of the document",
		`"flags":01`:        "flags: malformed JSON: a comma or } expected at byte 53 of the document",
		`"x":[1,]`:          "malformed JSON: a value expected at byte 51 of the document",
	} {
		t.Run(members, func(t *testing.T) {
			_, err := span(members)
			if err == nil {
				t.Fatal("accepted")
			}
			got := err.Error()
			_, got, _ = strings.Cut(got, "spans[0]")
			if got = strings.TrimPrefix(strings.TrimPrefix(got, "."), ": "); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if strings.Contains(err.Error(), "SECRET") {
				t.Error("the error holds content")
			}
		})
	}
}

func TestOneDocumentMayHoldBothSignals(t *testing.T) {
	docs, err := decodeJSON([]byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"traceId":"AAECAwQFBgcICQoLDA0ODw==","severityNumber":"SEVERITY_NUMBER_INFO2"}]}]}],
		"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}],"resourceMetrics":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range docs {
		got = append(got, describe(d, nil))
	}
	if diff := cmp.Diff([]string{"traces 1", "logs 1", "other"}, got); diff != "" {
		t.Error(diff)
	}
	r := docs[1].Logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	if r.TraceID().String() != hexTrace || r.SeverityNumber() != plog.SeverityNumberInfo2 {
		t.Error(r.TraceID(), r.SeverityNumber())
	}
}

func TestProtobufWithWrongIDNamesItsPlace(t *testing.T) {
	badSpan := lengthField(1, []byte("short"))
	goodSpan := lengthField(1, make([]byte, 16))
	data := lengthField(1, lengthField(2, append(lengthField(2, goodSpan), lengthField(2, badSpan)...)))
	_, err := decodeProto(data)
	want := "resourceSpans[0].scopeSpans[0].spans[1].traceId: malformed protobuf: a trace id of 5 bytes"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

func TestSchemaKnowsEveryFieldThatTheEncoderWrites(t *testing.T) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.SetSchemaUrl("u")
	fill(rs.Resource().Attributes())
	rs.Resource().SetDroppedAttributesCount(1)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.SetSchemaUrl("u")
	ss.Scope().SetName("n")
	ss.Scope().SetVersion("v")
	fill(ss.Scope().Attributes())
	ss.Scope().SetDroppedAttributesCount(1)
	s := ss.Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{1})
	s.SetSpanID(pcommon.SpanID{2})
	s.SetParentSpanID(pcommon.SpanID{3})
	s.SetName("n")
	s.SetKind(ptrace.SpanKindServer)
	s.SetStartTimestamp(1)
	s.SetEndTimestamp(2)
	s.SetFlags(1)
	s.TraceState().FromRaw("a=b")
	s.SetDroppedAttributesCount(1)
	s.SetDroppedEventsCount(1)
	s.SetDroppedLinksCount(1)
	s.Status().SetCode(ptrace.StatusCodeError)
	s.Status().SetMessage("m")
	e := s.Events().AppendEmpty()
	e.SetName("n")
	e.SetTimestamp(1)
	e.SetDroppedAttributesCount(1)
	fill(e.Attributes())
	l := s.Links().AppendEmpty()
	l.SetTraceID(pcommon.TraceID{1})
	l.SetSpanID(pcommon.SpanID{2})
	l.SetFlags(1)
	l.TraceState().FromRaw("a=b")
	l.SetDroppedAttributesCount(1)
	fill(l.Attributes())

	json, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := decodeJSON(json)
	if err != nil {
		t.Fatal(err)
	}
	again, err := (&ptrace.JSONMarshaler{}).MarshalTraces(docs[0].Traces)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(json), string(again)); diff != "" {
		t.Error(diff)
	}
	proto, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	d, err := decodeProto(proto)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ = (&ptrace.JSONMarshaler{}).MarshalTraces(d.Traces); string(again) != string(json) {
		t.Error(cmp.Diff(string(json), string(again)))
	}
}

func fill(m pcommon.Map) {
	m.PutStr("s", "text")
	m.PutBool("b", true)
	m.PutInt("i", -1)
	m.PutDouble("d", 0.5)
	m.PutEmptyBytes("y").FromRaw([]byte{1})
	m.PutEmptySlice("a").AppendEmpty().SetStr("x")
	m.PutEmptyMap("m").PutStr("k", "v")
	m.PutEmpty("e")
}
