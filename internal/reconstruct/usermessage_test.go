// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"encoding/json"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// OpenLIT's spans of LangGraph stand around those of LangChain, which know the question. Of a model call that
// failed no request is recorded.
func TestQuestionStandsBetweenTheRunAndItsFirstModelCall(t *testing.T) {
	build := func(request string) *tape.Tape {
		tr := newTrace()
		tr.agent("shop", 1, 0, 0, 100).Status().SetCode(ptrace.StatusCodeError)
		tr.agent("inner", 2, 1, 1, 90, "gen_ai.input.messages", list(user("where is my order?"))).Status().SetCode(ptrace.StatusCodeError)
		tr.agent("node", 3, 2, 2, 80, "gen_ai.input.messages", list(user("a prompt"))).Status().SetCode(ptrace.StatusCodeError)
		tr.chat(4, 3, 3, 70, request, "").Status().SetCode(ptrace.StatusCodeError)
		return the(t, tr.runs(t))
	}
	if in := build("").Input; in.UserMessage == nil || *in.UserMessage != "where is my order?" || in.Provenance["user_message"] != tape.Recovered {
		t.Errorf("asked %v, %v", in.UserMessage, in.Provenance)
	}
	if in := build(list(user("hello"))).Input; in.UserMessage == nil || *in.UserMessage != "hello" { // what was sent says it
		t.Errorf("asked %v", in.UserMessage)
	}
}

// What a user sends may be JSON that looks like a message.
func TestObjectThatTheModelWasSentWholeIsTheQuestion(t *testing.T) {
	const object = `{"content":"late again","total":{"items":157}}`
	for sent, want := range map[string]string{object: object, "late again": "late again"} {
		tr := newTrace()
		tr.in("app", "assistant", 1, 0, 0, 100, "openinference.span.kind", "AGENT", "input.value", object, "output.value", "done")
		tr.chat(2, 1, 1, 90, list(user(sent)), list(says("done")))
		if in := the(t, tr.runs(t)).Input; in.UserMessage == nil || *in.UserMessage != want {
			t.Errorf("sent %s: asked %v", sent, in.UserMessage)
		}
	}
}

// What the user says may be JSON that looks like a message, or like what holds one.
func TestUserMessageThatIsJSONIsTheWholeText(t *testing.T) {
	const said = `{"type": null, "content": "seven"}`
	text, _ := json.Marshal(said)
	for name, c := range map[string]struct{ given, asked, want string }{
		"alone":                  {said, said, said},
		"as a member":            {`{"input":` + string(text) + `}`, said, said},
		"as an argument":         {`{"args":[` + string(text) + `],"kwargs":{}}`, said, said},
		"the model was sent it":  {said, "seven", "seven"},
		"the model was sent two": {said, `{"type": null, "content": "eight"}`, "seven"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.in("langsmith", "chat", 1, 0, 0, 20, "langsmith.span.kind", "chain", "langsmith.trace.name", "chat", "gen_ai.prompt", c.given, "gen_ai.completion", `{"outputs":"done"}`)
			tr.chat(2, 1, 1, 10, list(user(c.asked)), list(says("done")))
			if in := the(t, tr.runs(t)).Input.UserMessage; in == nil || *in != c.want {
				t.Errorf("%v, want %s", in, c.want)
			}
		})
	}
}

// crewOutput is what CrewAI's crew returns, as OpenInference records it: the conversation of each task stands
// in it.
func crewOutput(tasks ...string) string {
	out := ""
	for i, task := range tasks {
		if i > 0 {
			out += ","
		}
		out += `{"description":"` + task + `","raw":"done","output_format":"raw","messages":[{"role":"system","content":"You are an assistant."},` +
			`{"role":"user","content":"\nCurrent Task: ` + task + `\n\nbegin!"},{"role":"assistant","content":"done"}]}`
	}
	return `{"raw":"done","pydantic":null,"tasks_output":[` + out + `]}`
}

func TestConversationOfARunWithoutModelSpansIsWhatItKept(t *testing.T) {
	crew := func(tasks ...string) *tape.Tape {
		tr := newTrace()
		listed := ""
		for i, task := range tasks {
			if i > 0 {
				listed += ","
			}
			listed += `{"id":"1","description":"` + task + `"}`
		}
		tr.in("openinference.instrumentation.crewai", "Crew.kickoff", 1, 0, 0, 100, "openinference.span.kind", "CHAIN", "crew_tasks", "["+listed+"]", "output.value", crewOutput(tasks...))
		tr.in("openinference.instrumentation.crewai", "f.run", 2, 1, 10, 20, "openinference.span.kind", "TOOL", "tool.name", "f", "input.value", `{"x":1}`, "output.value", "1")
		return the(t, tr.runs(t))
	}
	tp := crew("count the days")
	if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "count the days" || tp.Input.Provenance["user_message"] != tape.Recovered {
		t.Errorf("user %v %v", tp.Input.UserMessage, tp.Input.Provenance)
	}
	if tp.Input.SystemPrompt == nil || *tp.Input.SystemPrompt != "You are an assistant." || tp.Input.Provenance["system_prompt"] != tape.Recovered {
		t.Errorf("system %v %v", tp.Input.SystemPrompt, tp.Input.Provenance)
	}
	if tp.Output.Text == nil || *tp.Output.Text != "done" || tp.Run.Status != tape.StatusOK {
		t.Errorf("output %v, %s", tp.Output.Text, tp.Run.Status)
	}
	if tp := crew("count the days", "count the nights"); tp.Input.UserMessage != nil || tp.Input.SystemPrompt != nil {
		t.Errorf("two tasks are one: %v", *tp.Input.UserMessage)
	}
}

func TestTaskOfAnAgentBelowTheRunSpanIsWhatWasAsked(t *testing.T) {
	const prompt = "Current Task: count the days, begin!"
	for task, want := range map[string]string{"count the days": "count the days", "count the nights": prompt, "": prompt} {
		tr := newTrace()
		tr.in("openlit.instrumentation.crewai", "invoke_workflow crew", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_workflow", "gen_ai.output.messages", list(says("done")))
		tr.in("openlit.instrumentation.crewai", "invoke_agent Assistant", 2, 1, 1, 90, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "Assistant", "gen_ai.input.messages", list(user(task)))
		tr.chat(3, 2, 2, 10, list(user(prompt)), list(says("done")))
		if got := the(t, tr.runs(t)).Input.UserMessage; got == nil || *got != want {
			t.Errorf("%q: asked %v, want %q", task, got, want)
		}
	}
}
