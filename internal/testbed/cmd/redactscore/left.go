// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// eachString visits the strings of telemetry, in order.
func eachString(td ptrace.Traces, visit func(string)) {
	var value func(v pcommon.Value)
	attributes := func(m pcommon.Map) {
		for k, v := range m.All() {
			visit(k)
			value(v)
		}
	}
	value = func(v pcommon.Value) {
		switch v.Type() {
		case pcommon.ValueTypeMap:
			attributes(v.Map())
		case pcommon.ValueTypeSlice:
			for _, e := range v.Slice().All() {
				value(e)
			}
		default:
			visit(v.AsString())
		}
	}
	for _, rs := range td.ResourceSpans().All() {
		attributes(rs.Resource().Attributes())
		for _, s := range rs.ScopeSpans().At(0).Spans().All() {
			visit(s.Name())
			visit(s.Status().Message())
			attributes(s.Attributes())
			for _, e := range s.Events().All() {
				visit(e.Name())
				attributes(e.Attributes())
			}
			for _, l := range s.Links().All() {
				attributes(l.Attributes())
			}
		}
	}
}

// jsonStrings counts strings that are JSON objects or arrays.
func jsonStrings(td ptrace.Traces) (n int) {
	eachString(td, func(s string) {
		if s != "" && (s[0] == '{' || s[0] == '[') && json.Valid([]byte(s)) {
			n++
		}
	})
	return n
}

// leftIn says whether one of the needles stands in a string of the telemetry. A needle behind a zero byte is
// looked for in the text that the strings of a JSON array, or the deltas in it, give together.
func leftIn(td ptrace.Traces, needles []string) (left bool) {
	eachString(td, func(s string) {
		joined := s
		var parts []string
		var deltas []struct{ Delta string }
		if json.Unmarshal([]byte(s), &parts) == nil {
			joined = strings.Join(parts, "")
		} else if json.Unmarshal([]byte(s), &deltas) == nil {
			joined = ""
			for _, d := range deltas {
				joined += d.Delta
			}
		}
		for _, n := range needles {
			if together, ok := strings.CutPrefix(n, "\x00"); ok {
				left = left || strings.Contains(joined, together) || tailLeft(joined, together)
			} else {
				left = left || n != "" && strings.Contains(s, n)
			}
		}
	})
	return left
}

// tailLeft says whether half of a value is left, at either end.
func tailLeft(s, v string) bool {
	half := len(v) / 2
	return half >= 8 && (strings.Contains(s, v[:half]) || strings.Contains(s, v[half:]))
}
