// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// A graph ends the calls beside one that failed. Where the step of such a call is all that was recorded of it, it was executed all the same: what it came to nobody knows, and a replay asks for it.
// Of a call to which nobody came, no step tells.
func TestCallWhoseStepFailedWasExecuted(t *testing.T) {
	const first, second = "call_AAAAAAAAAAAAAAAAAAAAAAAA", "call_BBBBBBBBBBBBBBBBBBBBBBBB"
	for name, c := range map[string]struct {
		handed string
		failed bool
		tools  bool
		code   tape.Code
	}{
		"the step of the call failed":          {`{"tool_call":{"name":"f","args":{"x":2},"id":"` + second + `"}}`, true, false, tape.CodeResultMissing},
		"it ended well":                        {`{"tool_call":{"name":"f","args":{"x":2},"id":"` + second + `"}}`, false, true, tape.CodeUnansweredToolCall},
		"it was that of another call":          {`{"tool_call":{"name":"f","args":{"x":2},"id":"call_CCCCCCCCCCCCCCCCCCCCCCCC"}}`, true, true, tape.CodeUnansweredToolCall},
		"it was handed what says no such call": {`{"call":{"name":"f","args":{"x":2},"id":"` + second + `"}}`, true, true, tape.CodeUnansweredToolCall},
	} {
		tr := newTrace()
		fail := func(s ptrace.Span) {
			s.Status().SetCode(ptrace.StatusCodeError)
			s.Status().SetMessage("timeout")
		}
		fail(tr.in("langfuse-sdk", "assistant", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `[{"role":"user","content":"q"}]`, "langfuse.observation.level", "ERROR"))
		tr.in("langfuse-sdk", "ChatX", 2, 1, 1, 10, "langfuse.observation.type", "generation", "langfuse.observation.model.name", "m", "langfuse.observation.input", `[{"role":"user","content":"q"}]`,
			"langfuse.observation.output", `{"role":"assistant","content":"","tool_calls":[{"id":"`+first+`","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"`+second+`","type":"function","function":{"name":"f","arguments":"{\"x\":2}"}}]}`)
		fail(tr.in("langfuse-sdk", "tools", 3, 1, 20, 40, "langfuse.observation.type", "chain", "langfuse.observation.input", `{"tool_call":{"name":"f","args":{"x":1},"id":"`+first+`"}}`, "langfuse.observation.level", "ERROR"))
		fail(tr.in("langfuse-sdk", "f", 4, 3, 21, 39, "langfuse.observation.type", "tool", "langfuse.observation.input", `{"x":1}`, "langfuse.observation.metadata.tool_call_id", first, "langfuse.observation.level", "ERROR",
			"langfuse.observation.status_message", "timeout"))
		step := tr.in("langfuse-sdk", "tools", 5, 1, 20, 41, "langfuse.observation.type", "chain", "langfuse.observation.input", c.handed)
		if c.failed {
			fail(step)
			step.Attributes().PutStr("langfuse.observation.level", "ERROR")
		}
		tp := the(t, tr.runs(t))
		found := false
		for _, f := range tp.Fidelity.Findings {
			found = found || f.Code == c.code && f.Field == "result"
		}
		if !found || tp.Fidelity.Replayable.Tools != c.tools {
			t.Errorf("%s: tools %v, findings %+v", name, tp.Fidelity.Replayable.Tools, tp.Fidelity.Findings)
		}
	}
}

// What a framework tells the model of a hand-over is the same every time: it is the result where no request shows it.
func TestResultOfAHandOverIsWhatTheFrameworkTellsOfIt(t *testing.T) {
	const id, scope = "call_AAAAAAAAAAAAAAAAAAAAAAAA", "opentelemetry.instrumentation.openai_agents"
	for name, c := range map[string]struct{ to, want string }{"to the agent": {"expert", `{"assistant": "expert"}`}, "to nobody that is named": {"", ""}} {
		tr := newTrace()
		tr.in(scope, "Agent workflow", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent")
		tr.in(scope, "invoke_agent main", 2, 1, 1, 40, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "main")
		tr.in(scope, "chat m", 3, 2, 2, 10, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.input.messages", list(user("q")), "gen_ai.output.messages", list(asks(call(id, "expert", `{}`))))
		tr.in(scope, "agent_handoff main", 4, 2, 20, 21, "gen_ai.operation.name", "agent_handoff", "gen_ai.handoff.from_agent", "main", "gen_ai.handoff.to_agent", c.to)
		tr.in(scope, "invoke_agent expert", 5, 1, 50, 90, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "expert")
		tr.in(scope, "chat m", 6, 5, 51, 80, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.input.messages", list(user("go on")), "gen_ai.output.messages", list(says("4")))
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall && (e.Result.Str() != c.want || c.want != "" && e.Provenance["result"] != tape.Recovered) {
				t.Errorf("%s: %s %v", name, e.Result.JSON(), e.Provenance)
			}
		}
	}
}

// A span around a model call that holds its answer and nothing of what was sent is no call of a conversation: what the next request goes on from is the call inside, also in traces of their own.
func TestSpanWithTheAnswerAloneStandsForTheCallInIt(t *testing.T) {
	const id = "call_AAAAAAAAAAAAAAAAAAAAAAAA"
	for name, c := range map[string]struct {
		around string
		want   int
	}{"the same answer": {"Done.", 1}, "none": {"", 1}, "another": {"Not done.", 2}} {
		turn := func(n byte, start int, request, response, around string) *trace {
			tr := newTrace()
			out := []any{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m"}
			if around != "" {
				out = append(out, "gen_ai.output.messages", list(says(around)))
			}
			tr.in("acme.langchain", "chat m", 1, 0, start, start+10, out...)
			tr.chat(2, 1, start+1, start+9, request, response)
			return tr.numbered(n)
		}
		asked := asks(call(id, "f", `{"x":1}`))
		got := all(t, turn(1, 0, list(user("How many are there?")), list(asked), ""), turn(2, 20, list(user("How many are there?"), asked, shows(id, "r")), list(says("Done.")), c.around))
		if len(got) != c.want {
			t.Errorf("%s: %d runs, want %d", name, len(got), c.want)
		}
	}
}
