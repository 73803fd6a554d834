// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"encoding/json"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func TestTimesAreReadAsStoresWriteThem(t *testing.T) {
	const want = pcommon.Timestamp(1795907396047422000)
	for _, text := range []string{
		"2026-11-28T23:09:56.047422+00:00", "2026-11-28T23:09:56.047422Z", "2026-11-28T23:09:56.047422", "2026-11-28 23:09:56.047422", "2026-11-28 23:09:56.047422+00",
		"2026-11-28 23:09:56.047422+00:00", "2026-11-29T01:09:56.047422+02:00", "2026-11-29 01:09:56.047422+02",
	} {
		if got := Time(text); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
	for _, text := range []string{"", "yesterday", "1795907396", "0001-01-01T00:00:00Z"} {
		if got := Time(text); got != 0 {
			t.Errorf("%s: %d", text, got)
		}
	}
}

func TestValuesKeepTheirKindAndDigits(t *testing.T) {
	for text, want := range map[string]pcommon.Value{
		`"7"`: pcommon.NewValueStr("7"), `7`: pcommon.NewValueInt(7), `9007199254740993`: pcommon.NewValueInt(9007199254740993), `0.5`: pcommon.NewValueDouble(0.5), `true`: pcommon.NewValueBool(true),
		`{"b": 12345678901234567890,"a":[1, 2]}`: pcommon.NewValueStr(`{"b":12345678901234567890,"a":[1,2]}`), `"\u00e9 "`: pcommon.NewValueStr("é "),
	} {
		m := pcommon.NewMap()
		Put(m, "a", json.RawMessage(text))
		if got, ok := m.Get("a"); !ok || !got.Equal(want) {
			t.Errorf("%s is %s", text, got.AsString())
		}
	}
	m := pcommon.NewMap()
	Put(m, "a", json.RawMessage(" null"))
	Put(m, "b", nil)
	if m.Len() > 0 {
		t.Error(m.AsRaw())
	}
}

// TestIDsAreThoseOfTheFileOrDigestsOfThem: no two lists of words give one id, and hexadecimal ids stay.
func TestIDsAreThoseOfTheFileOrDigestsOfThem(t *testing.T) {
	if SpanID("a", "bc") == SpanID("ab", "c") || SpanID("a") == SpanID("a", "") || TraceID("a") == TraceID("b") {
		t.Error("digests")
	}
	if id := HexTraceID("01A2246b-9e33-7c1e-974a-c58fa4ea4cbe", "x"); id.String() != "01a2246b9e337c1e974ac58fa4ea4cbe" {
		t.Error(id)
	}
	if id := HexSpanID("00f067aa0ba902b7", "x"); id.String() != "00f067aa0ba902b7" {
		t.Error(id)
	}
	for _, id := range []string{"", "../../etc/passwd", "00f067aa0ba902b7ff", "zz"} {
		if HexTraceID(id, "x") != TraceID("x", id) || HexSpanID(id, "x", "t") != SpanID("x", "t", id) || HexTraceID(id, "x").IsEmpty() {
			t.Error(id)
		}
	}
}
