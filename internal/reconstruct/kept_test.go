// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// crewOutput is what CrewAI's crew returns, as OpenInference records it: the conversation of each task stands in it.
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

// A crew whose first model call threw is recorded as what it was handed, and how it failed: that it asked a model, the error tells.
func TestCrewWhoseFirstModelCallThrewIsARun(t *testing.T) {
	const task = `{"id":"1","description":"count the days"}`
	for name, c := range map[string]struct {
		tasks, thrown string
		want          int
	}{
		"the error of a client": {"[" + task + "]", "openai.BadRequestError", 1},
		"an error of its own":   {"[" + task + "]", "builtins.ValueError", 0},
		"several tasks":         {"[" + task + "," + task + "]", "openai.BadRequestError", 0},
	} {
		tr := newTrace()
		s := tr.in("openinference.instrumentation.crewai", "Crew.kickoff", 1, 0, 0, 100, "openinference.span.kind", "CHAIN", "crew_tasks", c.tasks)
		s.Status().SetCode(ptrace.StatusCodeError)
		e := s.Events().AppendEmpty()
		e.SetName("exception")
		e.Attributes().PutStr("exception.type", c.thrown)
		e.Attributes().PutStr("exception.message", "refused")
		tr.in("openinference.instrumentation.crewai", "assistant._execute_core", 2, 1, 10, 90, "openinference.span.kind", "AGENT", "input.value", `{"agent":{"role":"assistant","backstory":"You are kind."},"context":"","tools":[]}`)
		tapes := tr.runs(t)
		if len(tapes) != c.want {
			t.Fatalf("%s: %d runs, want %d", name, len(tapes), c.want)
		}
		if c.want == 0 {
			continue
		}
		tp := tapes[0]
		if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "count the days" || tp.Input.SystemPrompt == nil || *tp.Input.SystemPrompt != "You are kind." || tp.Run.Status != tape.StatusError || tp.Fidelity.Replayable.Tools {
			t.Errorf("%s: %v %v %s %+v", name, tp.Input.UserMessage, tp.Input.SystemPrompt, tp.Run.Status, tp.Fidelity.Replayable)
		}
	}
}

// A run that kept what its model was sent, and answered, asked it once. Where more was said, others tell of it.
func TestRunThatKeptItsRequestAskedAModelOnce(t *testing.T) {
	const system, asked = `{"role":"system","content":"You are an assistant."}`, `{"role":"user","content":"Count the days."}`
	for name, c := range map[string]struct {
		messages, raw string
		want          int
	}{
		"instructions and a question": {system + "," + asked, "done", 1},
		"no answer":                   {system + "," + asked, "", 0},
		"no instructions":             {asked + "," + asked, "done", 0},
		"ends otherwise":              {system + "," + asked + `,{"role":"tool","content":"r"}`, "done", 0},
	} {
		tr := newTrace()
		tr.in("openinference.instrumentation.crewai", "Crew.kickoff", 1, 0, 0, 100, "openinference.span.kind", "CHAIN", "crew_tasks", `[{"id":"1","description":"Count the days."}]`,
			"output.value", `{"raw":"`+c.raw+`","tasks_output":[{"raw":"`+c.raw+`","output_format":"raw","messages":[`+c.messages+`]}]}`)
		got := 0
		for _, tp := range tr.runs(t) {
			for _, e := range tp.Events {
				if e.Type == tape.EventModelCall {
					got++
					if len(e.Request.Messages) != 2 || e.Provenance["response.message"] != tape.Recovered || e.Provenance["request.messages"] != tape.Recovered {
						t.Errorf("%s: %+v", name, e)
					}
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %d model calls, want %d", name, got, c.want)
		}
	}
}
