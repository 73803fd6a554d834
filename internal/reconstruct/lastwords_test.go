// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// The function around a run may return its answer in an object of one member, whatever that is called; one that says how the run ended is no answer.
func TestOnlyTextOfWhatTheRunCameToIsItsAnswer(t *testing.T) {
	for out, want := range map[string]string{
		`{"reply":"There are 42 units in the stock."}`: "There are 42 units in the stock.",
		`{"status":"completed with warnings"}`:         "",
		`{"exitState":"ended after the third step"}`:   "",
		`{"error":"the server could not be reached"}`:  "",
	} {
		tr := newTrace()
		tr.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "chain", "langfuse.observation.input", `{"args":["q"],"kwargs":{}}`, "langfuse.observation.output", out)
		tr.in("langfuse-sdk", "look", 2, 1, 30, 40, "langfuse.observation.type", "tool", "langfuse.observation.input", `{"x":1}`, "langfuse.observation.output", "v")
		tp, got := the(t, tr.runs(t)), ""
		if tp.Output.Text != nil {
			got = *tp.Output.Text
		}
		if got != want {
			t.Errorf("%s: the answer is %q, want %q", out, got, want)
		}
	}
}
