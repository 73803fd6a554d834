// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"
)

// The clock of the tools is ahead of that of the models by more than the time between an answer and its call.
// No request was recorded.
func TestEqualCallsOfSeveralTurnsAreThoseThatWereAskedForInTheirOrder(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	for i, result := range []string{"queued", "running", "done"} {
		at := 20 * i
		tr.chat(10+i, 1, at+1, at+10, "", list(asks(call("c"+result, "poll", `{"job":7}`))))
		tr.tool("poll", 20+i, 1, at+4, at+11, "", `{"job":7}`, result)
	}
	tr.chat(30, 1, 61, 70, "", list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @a", "tool_call poll @14 by 1 = queued", "model_call @b", "tool_call poll @15 by 3 = running",
		"model_call @c", "tool_call poll @16 by 5 = done", "model_call @1e")
}
