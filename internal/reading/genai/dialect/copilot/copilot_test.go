// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package copilot_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestCopilotWritesTheConventionsUnderItsOwnScope(t *testing.T) {
	s := genaitest.Span("github.copilot", "execute_tool bash", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "bash",
		"gen_ai.tool.call.id", "call_1", "gen_ai.tool.call.arguments", `{"command":"ls"}`, "gen_ai.tool.call.result", "a")
	want := "class: tool\ndialect: copilot-cli\nname: bash\ncall: call_1\nargs: {\"command\":\"ls\"}\nresult: \"a\"\n"
	if got := genaitest.Said(genai.Read(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCopilotWritesWhatWasSaidTwice(t *testing.T) {
	const when = `<current_datetime>2026-11-26T06:38:27.897+00:00</current_datetime>\n\n`
	const user, other = `{"role":"user","parts":[{"type":"text","content":"` + when + `How many?"}]}`, `{"role":"user","parts":[{"type":"text","content":"How few?"}]}`
	const text, tool = `{"type":"text","content":"I look."}`, `{"type":"tool_call","id":"c1","name":"f","arguments":{}}`
	answer := func(parts string) string { return `[{"role":"assistant","parts":[` + parts + `]}]` }
	for name, c := range map[string]struct {
		scope, request, response string
		users, parts             int
		asked                    string
	}{
		"everything twice":        {"github.copilot", "[" + user + "," + user + "]", answer(text + "," + text + "," + tool + "," + tool), 1, 2, "How many?"},
		"once":                    {"github.copilot", "[" + user + "]", answer(text + "," + tool), 1, 2, "How many?"},
		"another follows":         {"github.copilot", "[" + user + "," + other + "]", answer(text), 2, 1, "How many?"},
		"another instrumentation": {"acme", "[" + user + "," + user + "]", answer(text + "," + text), 2, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := genai.Read(genaitest.Span(c.scope, "chat gpt-4.1", "gen_ai.operation.name", "chat", "gen_ai.request.model", "gpt-4.1", "gen_ai.input.messages", c.request, "gen_ai.output.messages", c.response))
			if len(o.Request) != c.users || len(o.Response) != 1 || len(o.Response[0].Parts) != c.parts {
				t.Fatalf("%d messages, %v", len(o.Request), o.Response)
			}
			said := o.Request[0].Parts
			if last := said[len(said)-1]; c.asked != "" && (last.Text != c.asked || !said[0].Injected || last.Injected) {
				t.Errorf("%q", last.Text)
			}
		})
	}
}
