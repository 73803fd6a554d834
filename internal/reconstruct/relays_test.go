// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const runtime = "autogen SingleThreadedAgentRuntime"

// team writes the run of a team whose messages are handed over in traces of their own: the agent's trace with what it made, and a trace for each message that links to where
// it was made. Without a link nothing ties them.
func team(messages []string, tools func(tr *trace), linked bool) (traces []*trace) {
	agent := newTrace()
	agent.in("autogen-core", "invoke_agent writer", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent", "gen_ai.system", "autogen", "gen_ai.agent.name", "writer")
	if tools != nil {
		tools(agent)
	}
	for i := range messages {
		agent.in(runtime, "autogen create topic", 10+i, 1, 10*i, 10*i+1, "messaging.operation", "create")
	}
	traces = append(traces, agent.numbered(1))
	for i, m := range messages {
		tr := newTrace()
		top := tr.in(runtime, "autogen publish topic", 1, 0, 10*i+5, 10*i+9, "messaging.operation", "publish")
		got := tr.in(runtime, "autogen process manager", 2, 1, 10*i+6, 10*i+8, "messaging.operation", "process", "message", m)
		for _, s := range []ptrace.Span{top, got} {
			if linked {
				link := s.Links().AppendEmpty()
				link.SetTraceID(pcommon.TraceID{1, 15: 1})
				link.SetSpanID(spanID(10 + i))
			}
		}
		traces = append(traces, tr.numbered(byte(2+i)))
	}
	return traces
}

func posted(id, source, usage, content string) string {
	return `{"message":{"id":"` + id + `","source":"` + source + `","models_usage":` + usage + `,"content":` + content + `,"type":"TextMessage"}}`
}

const cost = `{"prompt_tokens":4,"completion_tokens":2}`

func TestMessagesBetweenAgentsTellWhatTheModelAnswered(t *testing.T) {
	lookUp := func(tr *trace) {
		tr.in("autogen-core", "execute_tool look", 2, 1, 25, 28, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "look", "gen_ai.tool.call.id", "call_0123456789abcdef")
	}
	messages := []string{
		`{"messages":[{"id":"a","source":"user","models_usage":null,"content":"Where?","type":"TextMessage"}]}`,
		posted("b", "writer", "null", `"I look."`),
		posted("c", "writer", cost, `[{"id":"call_0123456789abcdef","name":"look","arguments":"{\"x\":1}"}]`),
		posted("d", "writer", "null", `[{"call_id":"call_0123456789abcdef","name":"look","content":"there","is_error":false}]`),
		`{"message":{"id":"p","source":"writer","models_usage":null,"content":"Th","full_message_id":"e","type":"ModelClientStreamingChunkEvent"}}`,
		posted("e", "writer", cost, `"There."`),
		posted("e", "writer", cost, `"There."`), // to somebody else
	}
	one := the(t, all(t, team(messages, lookUp, true)...))
	if got := events(one); !slices.Equal(got, []string{"model_call", "tool_call look @2 by 1 = there (recovered)", "model_call"}) {
		t.Fatalf("events: %q", got)
	}
	if e := one.Events[1]; e.Args.JSON() != `{"x":1}` || e.Result.Str() != "there" || e.Provenance["args"] != "recovered" {
		t.Errorf("the call holds %s and %s, args %s", e.Args.JSON(), e.Result.JSON(), e.Provenance["args"])
	}
	if one.Input.UserMessage == nil || *one.Input.UserMessage != "Where?" || one.Output.Text == nil || *one.Output.Text != "There." {
		t.Errorf("input %v, output %v", one.Input, one.Output)
	}
}

// Another agent's text is no thought before the calls.
func TestATextOfAnotherAgentIsNotTheThoughtBeforeTheCalls(t *testing.T) {
	one := the(t, all(t, team([]string{
		`{"messages":[{"id":"a","source":"user","models_usage":null,"content":"Where?","type":"TextMessage"}]}`,
		posted("b", "critic", "null", `"Hurry."`),
		posted("c", "writer", cost, `[{"id":"call_0123456789abcdef","name":"look","arguments":"{\"x\":1}"}]`),
	}, nil, true)...))
	said := one.Messages[one.Events[0].Response.Message]
	if len(said.Parts) != 1 || len(one.Events[0].Request.Messages) != 2 {
		t.Errorf("%d parts were answered to %d messages", len(said.Parts), len(one.Events[0].Request.Messages))
	}
}

// What is not said by a model, or not of the run, makes no call of one.
func TestMessagesThatNoModelWroteAreNoCalls(t *testing.T) {
	question := `{"messages":[{"id":"a","source":"user","models_usage":null,"content":"Where?","type":"TextMessage"}]}`
	for name, c := range map[string]struct {
		messages []string
		tools    func(*trace)
		linked   bool
		models   int
		runs     int
	}{
		"an answer":                      {[]string{question, posted("b", "writer", cost, `"There."`)}, nil, true, 1, 1},
		"a text that cost nothing":       {[]string{question, posted("b", "writer", "null", `"There."`)}, nil, true, 0, 0},
		"no link":                        {[]string{question, posted("b", "writer", cost, `"There."`)}, nil, false, 0, 0},
		"something of the program's own": {[]string{`{"body":"There.","cost":3}`}, nil, true, 0, 0},
		"a model call that was recorded": {[]string{question, posted("b", "writer", cost, `"There."`)}, func(tr *trace) {
			tr.chat(3, 1, 2, 9, list(user("Where?")), list(says("There.")))
		}, true, 1, 1},
	} {
		tapes := all(t, team(c.messages, c.tools, c.linked)...)
		models := 0
		for _, tp := range tapes {
			for _, e := range events(tp) {
				if strings.HasPrefix(e, "model") {
					models++
				}
			}
		}
		if len(tapes) != c.runs || models != c.models {
			t.Errorf("%s: %d runs with %d model calls, want %d with %d", name, len(tapes), models, c.runs, c.models)
		}
	}
}
