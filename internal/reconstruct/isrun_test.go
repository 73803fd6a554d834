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

// Where no tool ran, nothing but the conversation that was kept shows that an agent did.
func TestConversationThatWasKeptIsARun(t *testing.T) {
	const asked = `{"role":"user","content":"Current Task: count the days\n\nbegin!"}`
	for name, c := range map[string]struct {
		messages string
		want     int
	}{"instructions and a task": {`{"role":"system","content":"You are an assistant."},` + asked, 1}, "a task": {asked, 0}, "none": {"", 0}} {
		tr := newTrace()
		tr.in("openinference.instrumentation.crewai", "Crew.kickoff", 1, 0, 0, 100, "openinference.span.kind", "CHAIN", "crew_tasks", `[{"id":"1","description":"count the days"}]`,
			"output.value", `{"raw":"done","tasks_output":[{"raw":"done","output_format":"raw","messages":[`+c.messages+`]}]}`)
		tapes := tr.runs(t)
		if len(tapes) != c.want {
			t.Fatalf("%s: %d runs, want %d", name, len(tapes), c.want)
		}
		if c.want == 1 && (*tapes[0].Input.UserMessage != "count the days" || *tapes[0].Output.Text != "done") {
			t.Errorf("%s: %q answers %q", name, *tapes[0].Input.UserMessage, *tapes[0].Output.Text)
		}
	}
}
