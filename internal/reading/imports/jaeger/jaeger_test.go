// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/imports"
)

func only(t *testing.T, text string) ptrace.Span {
	t.Helper()
	var tr trace
	if err := imports.Decode([]byte(text), &tr); err != nil {
		t.Fatal(err)
	}
	td, err := tr.spans()
	if err != nil || td.SpanCount() != 1 {
		t.Fatal(td.SpanCount(), err)
	}
	return td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
}

// TestASpanIsThatOfWhichJaegerMadeIt: kind, status, scope, trace state and events leave the tags again;
// references to others are links.
func TestASpanIsThatOfWhichJaegerMadeIt(t *testing.T) {
	s := only(t, `{"spans":[{"traceID":"7b","spanID":"c","operationName":"o","startTime":1795195985044000,"duration":5111,"processID":"p1",
	 "references":[{"refType":"FOLLOWS_FROM","traceID":"7b","spanID":"1"},{"refType":"CHILD_OF","traceID":"7b","spanID":"2"},{"refType":"CHILD_OF","traceID":"8","spanID":"3"}],
	 "tags":[{"key":"span.kind","type":"string","value":"client"},{"key":"error","type":"bool","value":true},{"key":"otel.status_description","type":"string","value":"m"},
	  {"key":"otel.scope.name","type":"string","value":"sc"},{"key":"w3c.tracestate","type":"string","value":"a=b"},{"key":"internal.span.format","type":"string","value":"otlp"},
	  {"key":"n","type":"int64","value":7},{"key":"f","type":"float64","value":1},{"key":"b","type":"bool","value":false},{"key":"x","type":"binary","value":"AAE="},{"key":"s","type":"string","value":"true"}],
	 "logs":[{"timestamp":1795195985045000,"fields":[{"key":"event","type":"string","value":"exception"},{"key":"exception.message","type":"string","value":"e"}]}]}],
	 "processes":{"p1":{"serviceName":"shop","tags":[{"key":"service.version","type":"string","value":"1"}]}}}`)
	if s.ParentSpanID().String() != "0000000000000002" || s.TraceID().String() != "0000000000000000000000000000007b" || s.Links().Len() != 2 {
		t.Error(s.ParentSpanID(), s.TraceID(), s.Links().Len())
	}
	if s.Kind() != ptrace.SpanKindClient || s.Status().Code() != ptrace.StatusCodeError || s.Status().Message() != "m" || s.TraceState().AsRaw() != "a=b" {
		t.Error(s.Kind(), s.Status().Code(), s.Status().Message(), s.TraceState().AsRaw())
	}
	if s.StartTimestamp() != 1795195985044000000 || s.EndTimestamp() != 1795195985049111000 {
		t.Error(s.StartTimestamp(), s.EndTimestamp())
	}
	if e := s.Events().At(0); e.Name() != "exception" || e.Attributes().Len() != 1 {
		t.Error(e.Name(), e.Attributes().AsRaw())
	}
	want := map[string]pcommon.ValueType{"n": pcommon.ValueTypeInt, "f": pcommon.ValueTypeDouble, "b": pcommon.ValueTypeBool, "x": pcommon.ValueTypeBytes, "s": pcommon.ValueTypeStr}
	for name, v := range s.Attributes().All() {
		if want[name] != v.Type() {
			t.Error(name, v.Type())
		}
	}
	if s.Attributes().Len() != len(want) {
		t.Error(s.Attributes().AsRaw())
	}
}

// TestAParentIDOfOlderVersionsIsAReference, and what a tag named error holds beside a bool stays.
func TestAParentIDOfOlderVersionsIsAReference(t *testing.T) {
	s := only(t, `{"spans":[{"traceID":"7b","spanID":"c","parentSpanID":"2","tags":[{"key":"error","type":"string","value":"boom"}],"process":{"serviceName":"s"}}]}`)
	if v, _ := s.Attributes().Get("error"); s.ParentSpanID().String() != "0000000000000002" || v.Str() != "boom" || s.Status().Code() != ptrace.StatusCodeUnset {
		t.Error(s.ParentSpanID(), s.Attributes().AsRaw(), s.Status().Code())
	}
}
