// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// A program that keeps a stream piece by piece resends the text in pieces, and some packages number calls and results anew in each record (Google's client, whose calls have no ids).
func TestTextThatIsResentInPiecesIsTheSame(t *testing.T) {
	piece := func(text string) string { return `{"type":"text","content":"` + text + `"}` }
	asked := func(id string, texts ...string) string {
		parts := ""
		for _, text := range texts {
			parts += piece(text) + ","
		}
		return `{"role":"assistant","parts":[` + parts + `{"type":"tool_call","id":"` + id + `","name":"f","arguments":{"x":1}}]}`
	}
	const paired, unpaired = "tool_call f by 1 = v (recovered)", "tool_call f by 1 failed (missing)"
	for name, c := range map[string]struct {
		resent []string
		want   string
	}{
		"whole":           {[]string{"One moment."}, paired},
		"in pieces":       {[]string{"One m", "", "oment."}, paired},
		"another text":    {[]string{"One m", "inute."}, unpaired},
		"its beginning":   {[]string{"One m"}, unpaired},
		"more than it":    {[]string{"One moment.", "Please."}, unpaired},
		"without a text":  {nil, unpaired},
		"an empty piece":  {[]string{"One moment.", ""}, paired},
		"a piece at once": {[]string{"", "One moment."}, paired},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.agent("clerk", 1, 0, 0, 100)
			tr.chat(2, 1, 10, 20, list(user("q")), list(asked("f_1", "One moment.")))
			tr.chat(3, 1, 30, 40, list(user("q"), asked("f_2", c.resent...), shows("f_0", "v")), list(says("end")))
			wantEvents(t, the(t, tr.runs(t)), "model_call @2", c.want, "model_call @3")
		})
	}
}
