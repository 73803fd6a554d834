// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// Haystack's agents end at a number of steps with the results of tools as the last messages of their state.
func TestStateThatEndsWithResultsIsARun(t *testing.T) {
	const asked = `{"role":"user","content":"q"}`
	const calls = `,{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"r"}`
	for state, want := range map[string]int{
		`{"messages":[` + asked + calls + `]}`:                                           1,
		`{"messages":[` + asked + `,{"role":"tool","tool_call_id":"c1","content":"r"}]}`: 0, // nobody asked for it
		`{"messages":[` + asked + `]}`:                                                   0,
	} {
		tr := newTrace()
		tr.in("openinference.instrumentation.haystack", "Pipeline.run", 1, 0, 0, 10, "openinference.span.kind", "CHAIN", "input.value", `{"data":{}}`, "output.value", state)
		tapes := tr.runs(t)
		if len(tapes) != want {
			t.Errorf("%s: %d tapes, want %d", state, len(tapes), want)
		} else if want > 0 && len(tapes[0].Events) != 2 {
			t.Errorf("%s: %d events", state, len(tapes[0].Events))
		}
	}
}
