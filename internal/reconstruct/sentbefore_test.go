// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// The body of a request that a function of the program recorded tells the instructions before the very
// messages that a span holds.
func TestABodyThatAFunctionRecordedTellsTheInstructions(t *testing.T) {
	for name, c := range map[string]struct {
		sent, want string
	}{
		"the same messages":  {`[{"role":"system","content":"be brief"},{"role":"user","content":"q"}]`, "be brief recovered"},
		"other messages":     {`[{"role":"system","content":"be brief"},{"role":"user","content":"r"}]`, "- "},
		"one message more":   {`[{"role":"system","content":"be brief"},{"role":"user","content":"q"},{"role":"assistant","content":"a"}]`, "- "},
		"no instructions":    {`[{"role":"user","content":"before"},{"role":"user","content":"q"}]`, "- "},
		"nothing before it":  {`[{"role":"user","content":"q"}]`, "- "},
		"instructions alone": {`[{"role":"system","content":"be brief"}]`, "- "},
	} {
		tr := newTrace()
		tr.in("app", "agent.ask", 1, 0, 0, 100, "agent.ask.argument.0", `{"x":1}`, "agent.ask.result", `{"text":"end","request":{"body":{"messages":`+c.sent+`}}}`)
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("end")))
		tp := the(t, tr.runs(t))
		if got := deref(tp.Input.SystemPrompt) + " " + string(tp.Input.Provenance["system_prompt"]); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
