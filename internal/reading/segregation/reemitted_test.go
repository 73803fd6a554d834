// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package segregation

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestARunWasEmittedAgainIfAllOfItWas(t *testing.T) {
	piece := func(td ptrace.Traces, again bool) {
		rs := td.ResourceSpans().AppendEmpty()
		if again {
			rs.Resource().Attributes().PutStr(ReemittedKey, "mem://deck")
		}
		rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	}
	for name, test := range map[string]struct {
		pieces []bool
		want   bool
	}{
		"nothing": {nil, false}, "of now": {[]bool{false}, false}, "again": {[]bool{true, true}, true},
		"both": {[]bool{true, false}, false}, "both, the other way round": {[]bool{false, true}, false},
	} {
		td := ptrace.NewTraces()
		for _, again := range test.pieces {
			piece(td, again)
		}
		var notes Notes
		notes.Add(pcommon.TraceID{1}, Tags{Of: []string{"a"}}, pcommon.NewMap())
		notes.Append(td)
		if got := Reemitted(td); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
