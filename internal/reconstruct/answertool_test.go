// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// The model of smolagents answers by a call: such a call ends the run, and is no call of a tool. Elsewhere a tool may have that name.
func TestModelThatAnswersByACall(t *testing.T) {
	for instructions, want := range map[string]string{"You are an expert assistant who can solve any task using tool calls.": "ok It is 42.", "Be brief.": "incomplete "} {
		system := `{"role":"system","parts":[{"type":"text","content":` + quote(instructions) + `}]}`
		tr := newTrace()
		tr.chat(1, 0, 0, 10, list(system, user("q")), list(asks(call("c1", "final_answer", `{"answer":"It is 42."}`))))
		tp := the(t, tr.runs(t))
		got := string(tp.Run.Status) + " "
		if tp.Output.Text != nil {
			got += *tp.Output.Text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", instructions, got, want)
		}
	}
}
