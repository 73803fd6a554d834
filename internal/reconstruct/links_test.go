// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// A loop whose steps are traces of their own, each linked to the one before, and that records of each request what is new.
func TestAStepThatLinksToACallThatAskedGoesOnWithItsRun(t *testing.T) {
	for name, c := range map[string]struct {
		first, second string // the first answer, and what the second call was sent
		agent         bool   // the second step has a run span
		service       string
		want          int
	}{
		"a result":                 {asks(call("", "look", `{"x":1}`)), list(shows("", "r")), false, "shop", 1},
		"the run was over":         {says("end"), list(shows("", "r")), false, "shop", 2},
		"another question":         {asks(call("", "look", `{"x":1}`)), list(user("other")), false, "shop", 2},
		"a run of its own":         {asks(call("", "look", `{"x":1}`)), list(shows("", "r")), true, "shop", 2},
		"a service that is called": {asks(call("", "look", `{"x":1}`)), list(shows("", "r")), false, "bank", 2},
	} {
		first, second := newTrace(), newTrace()
		first.chat(1, 0, 0, 10, list(user("q")), list(c.first))
		parent := 0
		if c.agent {
			parent = 9
		}
		step := second.chat(2, parent, 20, 30, c.second, list(says("so")))
		if c.agent {
			step = second.agent("clerk", 9, 0, 19, 31)
		}
		link := step.Links().AppendEmpty()
		link.SetTraceID(pcommon.TraceID{1, 15: 1})
		link.SetSpanID(spanID(1))
		if got := len(all(t, first.numbered(1), second.numbered(2).service(c.service))); got != c.want {
			t.Errorf("%s: %d runs", name, got)
		}
	}
}
