// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// Some packages drop the span of a call that threw: a run of which nothing else was recorded failed with what the client of a model's API threw.
func TestRunThatFailedInAClientOfAModelAskedOne(t *testing.T) {
	const (
		inJavaScript = "Error: 400 refused\n    at APIError.generate (/app/node_modules/openai/core/error.js:45:20)\n    at main (/app/agent.mjs:9:1)"
		inATool      = "Error: 400 refused\n    at fetchOrder (/app/tools/orders.mjs:4:9)\n    at run (/app/node_modules/openai/lib/runner.js:30:20)"
		inPython     = "Traceback (most recent call last):\n  File \"/app/agent.py\", line 9, in main\n    run()\n  File \"/venv/lib/python3.11/site-packages/anthropic/_base_client.py\", line 30, in request\n    raise err\nanthropic.BadRequestError: refused"
	)
	for name, c := range map[string]struct {
		kind, stack string
		called      bool
		models      int
	}{
		"JavaScript":       {"400", inJavaScript, false, 1},
		"Python":           {"BadRequestError", inPython, false, 1},
		"by its module":    {"openai.BadRequestError", "", false, 1},
		"by its name":      {"framework.exceptions.ModelHTTPError", "", false, 1},
		"in a tool":        {"400", inATool, false, 0},
		"of the program":   {"app.OrderError", "", false, 0},
		"a view of models": {"app.ModelError", "", false, 0},
		"calls are known":  {"400", inJavaScript, true, 1},
	} {
		tr := newTrace()
		span := tr.agent("a", 1, 0, 0, 100, "input.value", "How many?")
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage("400 refused")
		exception := span.Events().AppendEmpty()
		exception.SetName("exception")
		exception.Attributes().PutStr("exception.type", c.kind)
		exception.Attributes().PutStr("exception.message", "400 refused")
		exception.Attributes().PutStr("exception.stacktrace", c.stack)
		if c.called {
			tr.chat(2, 1, 1, 10, list(user("How many?")), list(says("42")))
		}
		tp := the(t, tr.runs(t))
		if tp.Usage.ModelCalls != c.models || (tp.Run.Status == tape.StatusError) == c.called {
			t.Errorf("%s: %d model calls, %s", name, tp.Usage.ModelCalls, tp.Run.Status)
		}
		if c.models == 1 && !c.called {
			wantCodes(t, tp, "model_call_hidden@1")
			if e := tp.Events[0]; e.Error == nil || e.Error.Message != "400 refused" || tp.Fidelity.Replayable.Tools {
				t.Errorf("%s: %v, claims %v", name, e.Error, tp.Fidelity.Replayable.Tools)
			}
		}
	}
}

// A crew whose first model call threw is recorded as what it was handed, and how it failed: that it asked a
// model, the error tells.
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

// A run that kept what its model was sent, and answered, asked it once. Where more was said, others tell of
// it.
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
