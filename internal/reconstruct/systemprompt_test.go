// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

func TestInstructionsThatALimitCutAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		system string
		want   bool
	}{"cut": {strings.Repeat("be brief and be kind. ", 40), true}, "none": {"", false}} {
		var messages []string
		if c.system != "" {
			messages = append(messages, `{"role":"system","parts":[{"type":"text","content":`+quote(c.system)+`}]}`)
		}
		messages = append(messages, user(strings.Repeat("what now? ", 60)))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, cutTo(256, list(messages...)), list(says("yes")))
		tp := the(t, tr.runs(t))
		if got := slices.Contains(codes(tp), "truncated") && slices.ContainsFunc(tp.Fidelity.Findings, func(f tape.Finding) bool { return f.Field == "input.system_prompt" }); got != c.want || tp.Input.SystemPrompt != nil {
			t.Errorf("%s: said %v (%v)", name, got, codes(tp))
		}
	}
}

// Some frameworks leave the instructions out where there are earlier turns. That nothing holds them is said.
func TestInstructionsThatAHistoryLacksAreSaid(t *testing.T) {
	for _, c := range []struct {
		request string
		want    bool
	}{
		{list(user("I travel in May."), says("Where to?"), user("To Lisbon.")), true},
		{list(user("To Lisbon.")), false},
		{list(`{"role":"system","parts":[{"type":"text","content":"Be brief."}]}`, user("I travel in May."), says("Where to?"), user("To Lisbon.")), false},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, c.request, list(says("Booked.")))
		tp := the(t, tr.runs(t))
		said := slices.ContainsFunc(tp.Fidelity.Findings, func(f tape.Finding) bool {
			return f.Code == tape.CodeNoInstructions && f.Field == "input.system_prompt"
		})
		if said != c.want || said && tp.Input.SystemPrompt != nil {
			t.Errorf("%s: said %v, want %v", c.request, said, c.want)
		}
	}
}

// A memory that was filled before holds the instructions behind what was said earlier. Several messages of
// the system are notes along the way.
func TestInstructionsMayStandBehindAHistory(t *testing.T) {
	note := `{"role":"system","parts":[{"type":"text","content":"be brief"}]}`
	for name, c := range map[string]struct {
		request string
		want    string
	}{
		"one": {list(user("I travel in May."), says("Where to?"), note, user("To Lisbon.")), "be brief"},
		"two": {list(user("I travel in May."), note, says("Where to?"), note, user("To Lisbon.")), ""},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, c.request, list(says("Booked.")))
		got := ""
		if system := the(t, tr.runs(t)).Input.SystemPrompt; system != nil {
			got = *system
		}
		if got != c.want {
			t.Errorf("%s: the instructions are %q, want %q", name, got, c.want)
		}
	}
}

func TestInstructionsOfAnInnerSpanOfTheSameCall(t *testing.T) {
	for name, sent := range map[string]struct{ inner, want string }{
		"the same messages":  {`{"instructions":"Be brief.","model":"m1","input":[{"role":"user","content":"hi"}]}`, "Be brief."},
		"of another request": {`{"instructions":"Be brief.","model":"m1","input":[{"role":"user","content":"ho"}]}`, ""},
	} {
		tr := newTrace()
		answer := `[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}]`
		tr.in("mlflow.tracing.provider", "run", 1, 0, 0, 100, "mlflow.spanType", `"AGENT"`)
		tr.in("mlflow.tracing.provider", "Response", 2, 1, 1, 50, "mlflow.spanType", `"CHAT_MODEL"`, "mlflow.spanInputs", `[{"role":"user","content":"hi"}]`, "mlflow.spanOutputs", answer)
		tr.in("mlflow.tracing.provider", "AsyncResponses", 3, 2, 2, 49, "mlflow.spanType", `"CHAT_MODEL"`, "mlflow.spanInputs", sent.inner, "mlflow.spanOutputs", `{"id":"resp_1","object":"response","model":"m1","output":`+answer+`}`)
		tp, got := the(t, tr.runs(t)), ""
		if tp.Input.SystemPrompt != nil {
			got = *tp.Input.SystemPrompt
		}
		if got != sent.want {
			t.Errorf("%s: system %q, want %q", name, got, sent.want)
		}
	}
}

// Where no call was recorded, the instructions stand on the agents below the span of the run alone.
func TestInstructionsOfARunWithoutCallsAreThoseOfItsAgents(t *testing.T) {
	const instructions = `[{"type":"text","content":"Be brief."}]`
	for name, c := range map[string]struct{ second, want string }{"one agent": {"", "Be brief."}, "two that were told the same": {instructions, "Be brief."}, "two": {`[{"type":"text","content":"Be long."}]`, ""}} {
		tr := newTrace()
		tr.agent("run", 1, 0, 0, 100, "gen_ai.input.messages", list(user("hi")), "gen_ai.output.messages", list(says("ho")))
		tr.agent("clerk", 2, 1, 1, 50, "gen_ai.system_instructions", instructions)
		if c.second != "" {
			tr.agent("other", 3, 1, 50, 90, "gen_ai.system_instructions", c.second)
		}
		got := ""
		if p := the(t, tr.runs(t)).Input.SystemPrompt; p != nil {
			got = *p
		}
		if got != c.want {
			t.Errorf("%s: instructions %q, want %q", name, got, c.want)
		}
	}
}
