// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

func TestStatusClaimsNoMoreThanTheLastRecordsShow(t *testing.T) {
	ask := asks(call("c1", "f", `{}`))
	root := func(tr *trace, attrs ...any) { tr.agent("a", 1, 0, 0, 100, attrs...) }
	for name, c := range map[string]struct {
		want tape.RunStatus
		run  func(tr *trace)
	}{
		"an answer": {tape.StatusOK, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, list(user("q")), list(says("a")))
		}},
		"the result of a tool": {tape.StatusIncomplete, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			tr.tool("f", 3, 1, 20, 30, "c1", `{}`, "v")
		}},
		"the result of a tool, without a run span": {tape.StatusIncomplete, func(tr *trace) {
			tr.chat(2, 0, 1, 10, list(user("q")), list(ask))
			tr.tool("f", 3, 2, 20, 30, "c1", `{}`, "v")
		}},
		"the result of a tool that nobody asked for": {tape.StatusIncomplete, func(tr *trace) {
			root(tr)
			tr.tool("f", 3, 1, 20, 30, "c1", `{}`, "v")
		}},
		"the result of a tool after an empty answer": {tape.StatusIncomplete, func(tr *trace) {
			tr.chat(2, 0, 1, 10, list(user("q")), list(says("")), "gen_ai.response.finish_reasons", []any{"stop"}, "gen_ai.conversation.id", "s")
			tr.tool("f", 3, 0, 20, 30, "", `{}`, "v", "gen_ai.conversation.id", "s")
		}},
		"a tool that was asked for": {tape.StatusIncomplete, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		}},
		"a model call without an answer": {tape.StatusIncomplete, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			tr.tool("f", 3, 1, 20, 30, "c1", `{}`, "v")
			tr.chat(4, 1, 40, 50, list(user("q"), ask, shows("c1", "v")), "")
		}},
		"a model call with an empty message and nothing else": {tape.StatusIncomplete, func(tr *trace) {
			tr.chat(2, 0, 1, 10, list(user("q")), list(says("")), "gen_ai.response.model", "m1")
		}},
		"a model call that failed": {tape.StatusError, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, list(user("q")), "").Status().SetCode(ptrace.StatusCodeError)
		}},
		"an answer that is the error of the last model call": {tape.StatusError, func(tr *trace) {
			root(tr, "gen_ai.output.messages", list(says("the prompt is too long")))
			st := tr.chat(2, 1, 1, 10, list(user("q")), "").Status()
			st.SetCode(ptrace.StatusCodeError)
			st.SetMessage("BadRequestError: 400 the prompt is too long")
		}},
		"an answer in place of the last model call, which failed": {tape.StatusOK, func(tr *trace) {
			root(tr, "gen_ai.output.messages", list(says("please ask me later")))
			st := tr.chat(2, 1, 1, 10, list(user("q")), "").Status()
			st.SetCode(ptrace.StatusCodeError)
			st.SetMessage("BadRequestError: 400 the prompt is too long")
		}},
		"a model call that failed within a tool": {tape.StatusError, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			tr.tool("f", 3, 1, 20, 90, "c1", `{}`, "")
			tr.agent("helper", 4, 3, 21, 80)
			tr.chat(5, 4, 22, 30, list(user("x")), "").Status().SetCode(ptrace.StatusCodeError)
		}},
		"an empty answer with a reason": {tape.StatusOK, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, list(user("q")), list(says("")), "gen_ai.response.finish_reasons", []any{"stop"})
		}},
		"an answer without content": {tape.StatusOK, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, "", "", "gen_ai.usage.output_tokens", 7)
		}},
		"an answer without content that asks for tools": {tape.StatusIncomplete, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, "", "", "gen_ai.usage.output_tokens", 7, "gen_ai.response.finish_reasons", []any{"tool_calls"})
		}},
		"words before a call that was not recorded": {tape.StatusIncomplete, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, list(user("q")), list(says("let me look")), "gen_ai.response.finish_reasons", []any{"tool_calls"})
		}},
		"a run span with the answer": {tape.StatusOK, func(tr *trace) {
			root(tr, "gen_ai.output.messages", list(says("a")))
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			tr.tool("f", 3, 1, 20, 30, "c1", `{}`, "v")
		}},
		"tools that ran while the last model call answered, as those before": {tape.StatusIncomplete, func(tr *trace) {
			root(tr, "gen_ai.output.messages", list(says("let me look again")))
			tr.chat(2, 1, 1, 20, "", "", "gen_ai.usage.output_tokens", 7)
			tr.tool("f", 3, 1, 10, 19, "", `{}`, "v")
			tr.chat(4, 1, 21, 40, "", "", "gen_ai.usage.output_tokens", 7)
			tr.tool("f", 5, 1, 30, 39, "", `{}`, "v")
		}},
		"an answer after a tool that ran while the model answered": {tape.StatusOK, func(tr *trace) {
			root(tr, "gen_ai.output.messages", list(says("a")))
			tr.chat(2, 1, 1, 20, "", "", "gen_ai.usage.output_tokens", 7)
			tr.tool("f", 3, 1, 10, 19, "", `{}`, "v")
			tr.chat(4, 1, 21, 40, "", "", "gen_ai.usage.output_tokens", 7)
		}},
		"a guard beside the last model call, after a tool behind the first": {tape.StatusOK, func(tr *trace) {
			root(tr, "gen_ai.output.messages", list(says("a")))
			tr.chat(2, 1, 1, 20, "", "", "gen_ai.usage.output_tokens", 7)
			tr.tool("f", 3, 1, 20, 21, "", `{}`, "v")
			tr.chat(4, 1, 21, 40, "", "", "gen_ai.usage.output_tokens", 7)
			tr.tool("g", 5, 1, 30, 39, "", `{}`, "v")
		}},
		"a run span that ends with words beside calls, by a reason of its own": {tape.StatusOK, func(tr *trace) {
			root(tr, "gen_ai.output.messages", `[{"role":"assistant","finish_reason":"stop","parts":[{"type":"text","content":"7"},`+call("c1", "f", `{}`)+`]}]`)
			tr.chat(2, 1, 1, 10, list(user("q")), `[{"role":"assistant","parts":[{"type":"text","content":"7"},`+call("c1", "f", `{}`)+`]}]`, "gen_ai.response.finish_reasons", []any{"tool_calls"})
		}},
		"a run span that ends with words beside calls, by the reason of the model": {tape.StatusIncomplete, func(tr *trace) {
			root(tr, "gen_ai.output.messages", `[{"role":"assistant","finish_reason":"tool_calls","parts":[{"type":"text","content":"7"},`+call("c1", "f", `{}`)+`]}]`)
			tr.chat(2, 1, 1, 10, list(user("q")), `[{"role":"assistant","parts":[{"type":"text","content":"7"},`+call("c1", "f", `{}`)+`]}]`, "gen_ai.response.finish_reasons", []any{"tool_calls"})
		}},
		"a run span that ends with words beside calls that ran": {tape.StatusIncomplete, func(tr *trace) {
			root(tr, "gen_ai.output.messages", `[{"role":"assistant","finish_reason":"stop","parts":[{"type":"text","content":"7"},`+call("c1", "f", `{}`)+`]}]`)
			tr.chat(2, 1, 1, 10, list(user("q")), `[{"role":"assistant","parts":[{"type":"text","content":"7"},`+call("c1", "f", `{}`)+`]}]`, "gen_ai.response.finish_reasons", []any{"tool_calls"})
			tr.tool("f", 3, 1, 20, 30, "c1", `{}`, "v")
		}},
		"a run span with the result of its last tool": {tape.StatusOK, func(tr *trace) {
			root(tr, "gen_ai.output.messages", list(ask, shows("c1", "v")))
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			tr.tool("f", 3, 1, 20, 30, "c1", `{}`, "v")
		}},
		"a run span whose last message asks for a tool": {tape.StatusIncomplete, func(tr *trace) {
			root(tr, "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"let me look"},`+call("c1", "f", `{}`)+`]}]`)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			tr.tool("f", 3, 1, 20, 30, "c1", `{}`, "v")
		}},
		"a run span whose answer is None": {tape.StatusIncomplete, func(tr *trace) {
			tr.in("openinference.instrumentation.smolagents", "ToolCallingAgent.run", 1, 0, 0, 100, "openinference.span.kind", "AGENT", "input.value", "q", "output.value", "None")
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		}},
		"a hand-off": {tape.StatusOK, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "transfer_to_b", `{}`))))
			tr.tool("transfer_to_b", 3, 1, 20, 30, "c1", `{}`, "done")
		}},
		"a hand-off that was only asked for": {tape.StatusIncomplete, func(tr *trace) {
			root(tr)
			tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "transfer_to_b", `{}`))))
		}},
		"structured output": {tape.StatusOK, func(tr *trace) {
			root(tr)
			tr.in("pydantic-ai", "chat m1", 2, 1, 1, 10, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.input.messages", list(user("q")),
				"gen_ai.output.messages", list(asks(call("c1", "final_result", `{"n":1}`))), "model_request_parameters", `{"output_tools":[{"name":"final_result"}]}`)
		}},
		"tools of an agent that ends with them": {tape.StatusOK, func(tr *trace) {
			tr.in("autogen-core", "invoke_agent a", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a")
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			tr.tool("f", 3, 1, 20, 30, "c1", `{}`, "v")
		}},
		"tools of such an agent that did not run": {tape.StatusIncomplete, func(tr *trace) {
			tr.in("autogen-core", "invoke_agent a", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a")
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		}},
		"a run span that never ended": {tape.StatusIncomplete, func(tr *trace) {
			tr.agent("a", 1, 0, 0, 0).SetEndTimestamp(0)
			tr.chat(2, 1, 1, 10, list(user("q")), list(says("a")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			c.run(tr)
			tp := the(t, tr.runs(t))
			if tp.Run.Status != c.want || tp.Output.Status != string(c.want) {
				t.Errorf("status %s, want %s: %v", tp.Run.Status, c.want, events(tp))
			}
			if said := slices.Contains(codes(tp), "unfinished"); said != (c.want == tape.StatusIncomplete) {
				t.Errorf("findings %v", codes(tp))
			}
		})
	}
}

// wantEnding compares how a run ended and what it answered: "ok text".
func wantEnding(t *testing.T, name string, tp *tape.Tape, want string) {
	t.Helper()
	text := "none"
	if tp.Output.Text != nil {
		text = *tp.Output.Text
	}
	if got := string(tp.Run.Status) + " " + text; got != want {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
}

// A turn is a step that is neither a call nor an agent.
func TestStepThatFailedAroundTheLastCallsIsTheErrorOfTheRun(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	turn := tr.in("test", "turn", 2, 1, 1, 90, "gen_ai.operation.name", "unknown", "gen_ai.provider.name", "p")
	turn.Status().SetCode(ptrace.StatusCodeError)
	turn.Status().SetMessage("Tool not found")
	tr.chat(3, 2, 2, 10, list(user("q")), list(asks(call("c1", "rm", `{}`))))
	tp := the(t, tr.runs(t))
	if tp.Run.Status != tape.StatusError || tp.Run.Error == nil || tp.Run.Error.Message != "Tool not found" {
		t.Errorf("status %s, error %v", tp.Run.Status, tp.Run.Error)
	}
}

func TestAnswerOfAnAgentThatIsAToolIsNotTheAnswerOfItsCaller(t *testing.T) {
	tr := newTrace()
	tr.agent("boss", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "research", `{}`))))
	tr.tool("research", 3, 1, 20, 90, "c1", `{}`, "half")
	tr.agent("helper", 4, 3, 21, 80)
	tr.chat(5, 4, 22, 30, list(user("x")), list(says("half")))
	tp := the(t, tr.runs(t))
	if tp.Run.Status != tape.StatusIncomplete || tp.Output.Text != nil {
		t.Errorf("status %s, output %v", tp.Run.Status, tp.Output.Text)
	}
}

// An instrumentation that records no content does not show an answer either; one that does is missed.
func TestRunOfWhichNothingIsRecordedEndsAsItsSpanDoes(t *testing.T) {
	for args, want := range map[string]tape.RunStatus{"": tape.StatusOK, `{"x":1}`: tape.StatusIncomplete} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.tool("f", 2, 1, 11, 12, "c1", args, "")
		if got := the(t, tr.runs(t)).Run.Status; got != want {
			t.Errorf("arguments %q: status %s, want %s", args, got, want)
		}
	}
}

// Where the request that follows was cut, the result of a call may stand in what is missing of it: the run went on.
func TestCallWhoseResultMayHaveBeenCutIsNotUnanswered(t *testing.T) {
	ask := asks(call("c1", "f", `{"x":1}`))
	whole := list(user("q"), ask, shows("c1", "r"))
	for request, want := range map[string]tape.RunStatus{whole[:strings.LastIndex(whole, `{"role"`)+12]: tape.StatusOK, list(user("another")): tape.StatusIncomplete} {
		tr := newTrace()
		tr.chat(1, 0, 0, 10, list(user("q")), list(ask), "gen_ai.conversation.id", "c")
		tr.chat(2, 0, 20, 30, request, list(says("end")), "gen_ai.conversation.id", "c")
		if runs := tr.runs(t); runs[0].Run.Status != want {
			t.Errorf("%s: status %s, want %s: %v", request, runs[0].Run.Status, want, runs[0].Fidelity.Findings)
		}
	}
}

// OpenLIT's span of a workflow of the Agents SDK for JavaScript tells neither a status nor an answer; that of the agent inside says that it failed.
func TestRunWhoseLastStepFailedFailedWhereTheSpanAroundItTellsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		status ptrace.StatusCode
		answer string
		want   tape.RunStatus
	}{
		"nothing":         {ptrace.StatusCodeUnset, "", tape.StatusError},
		"said to be well": {ptrace.StatusCodeOk, "", tape.StatusOK},
		"an answer":       {ptrace.StatusCodeUnset, list(says("end")), tape.StatusOK},
	} {
		tr := newTrace()
		tr.in("test", "invoke_workflow w", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_workflow").Status().SetCode(c.status)
		tr.agent("a", 2, 1, 1, 99).Status().SetCode(ptrace.StatusCodeError)
		answer := c.answer
		if answer == "" {
			answer = `[{"role":"assistant","parts":[],"finish_reason":"completed"}]`
		}
		tr.chat(3, 2, 2, 10, list(user("q")), answer, "gen_ai.response.finish_reasons", []any{"completed"})
		if got := the(t, tr.runs(t)).Run.Status; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What a program refused of the last model call is no answer: the error began around that call and went up to the run.
func TestAnAnswerThatTheProgramRefusedIsNone(t *testing.T) {
	const refused = "the answer holds no field next_tool_name"
	for name, c := range map[string]struct {
		around, run, output string
		want                tape.RunStatus
	}{
		"refused":                         {refused, refused, "", tape.StatusError},
		"the run told an answer":          {refused, refused, "done", tape.StatusOK},
		"another error":                   {refused, "the disk is full", "", tape.StatusOK},
		"nothing failed around the call":  {"", refused, "", tape.StatusOK},
		"an iterator that somebody ended": {"GeneratorExit: ", "GeneratorExit: ", "", tape.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			var told []any
			if c.output != "" {
				told = []any{"gen_ai.output.messages", list(says(c.output))}
			}
			st := tr.agent("a", 1, 0, 0, 90, told...).Status()
			st.SetCode(ptrace.StatusCodeError)
			st.SetMessage(c.run)
			if step := tr.step(2, 1, 1, 80, ""); c.around != "" {
				step.Status().SetCode(ptrace.StatusCodeError)
				step.Status().SetMessage(c.around)
			}
			tr.chat(3, 2, 2, 10, list(user("q")), list(says("done")))
			tp := the(t, tr.runs(t))
			if tp.Run.Status != c.want || (tp.Output.Text == nil) != (c.want == tape.StatusError) {
				t.Errorf("status %s, answer %v", tp.Run.Status, tp.Output.Text)
			}
		})
	}
}

// The function around a run returns its answer under a name of its own. It is that where no model call on record gives one.
func TestOnlyTextThatTheFunctionAroundARunReturnedIsTheAnswer(t *testing.T) {
	ask := asks(call("c1", "f", `{}`))
	for output, want := range map[string]string{
		`{"reply":"It is done now."}`:               "It is done now.",
		`{"status":"completed"}`:                    "",
		`{"reply":"It is done now.","log":"a b c"}`: "",
		`{"reply":{"text":"It is done now."}}`:      "",
		`{"reply":"It is done now.","attempts":2}`:  "",
	} {
		tr := newTrace()
		tr.in("lmnr.tracer", "handle", 1, 0, 0, 100, "lmnr.span.path", []any{"handle"}, "lmnr.span.input", `{"message":"q"}`, "lmnr.span.output", output)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 20, 30, "c1", `{}`, "v")
		tp, got := the(t, tr.runs(t)), ""
		if tp.Output.Text != nil {
			got = *tp.Output.Text
		}
		if got != want || (tp.Run.Status == tape.StatusOK) != (want != "") {
			t.Errorf("%s: answered %q, %s", output, got, tp.Run.Status)
		}
	}
	tr := newTrace()
	tr.in("lmnr.tracer", "handle", 1, 0, 0, 100, "lmnr.span.path", []any{"handle"}, "lmnr.span.input", `{"message":"q"}`, "lmnr.span.output", `{"greeting":"Good morning, sir."}`)
	tr.chat(2, 1, 1, 10, list(user("q")), list(says("It is done now.")))
	if tp := the(t, tr.runs(t)); *tp.Output.Text != "It is done now." {
		t.Errorf("answered %q", *tp.Output.Text)
	}
}

// A program may take the text beside calls that it never runs for the answer: a step of it, after all else, came to that text.
func TestTextBesideCallsIsTheAnswerOfAProgramThatHandsItOn(t *testing.T) {
	for name, c := range map[string]struct {
		said, input, output string
		start, end          int
		ran                 bool
		want                string
	}{
		"handed on":                         {"Page 3 next.", "", `"Page 3 next."`, 31, 31, false, "ok Page 3 next."},
		"another text":                      {"Page 3 next.", "", `"Page 4 next."`, 31, 31, false, "incomplete none"},
		"before the answer":                 {"Page 3 next.", "", `"Page 3 next."`, 15, 16, false, "incomplete none"},
		"a call ran":                        {"Page 3 next.", "", `"Page 3 next."`, 41, 41, true, "incomplete none"},
		"a short one handed on":             {"64351", `"64351"`, `"64351"`, 31, 31, false, "ok 64351"},
		"a short one that is told once":     {"64351", "", `"64351"`, 31, 31, false, "incomplete none"},
		"a short one, and a call ran":       {"64351", `"64351"`, `"64351"`, 41, 41, true, "incomplete none"},
		"a short one before the answer":     {"64351", `"64351"`, `"64351"`, 15, 16, false, "incomplete none"},
		"a text that many other values are": {"3", `"3"`, `"3"`, 31, 31, false, "incomplete none"},
	} {
		tr := newTrace()
		const scope = "ai.koog"
		tr.in(scope, "invoke_agent a", 1, 0, 0, 50, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.id", "a")
		tr.in(scope, "chat m", 2, 1, 20, 30, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.response.finish_reasons", "tool_calls",
			"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"go"}]}]`,
			"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"`+c.said+`"},{"type":"tool_call","id":"call_12345678","name":"crawl","arguments":{"page":3}}]}]`)
		if c.ran {
			tr.in(scope, "execute_tool crawl", 3, 1, 31, 40, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "crawl", "gen_ai.tool.call.id", "call_12345678",
				"gen_ai.tool.call.arguments", `{"page":3}`, "gen_ai.tool.call.result", `"r"`)
		}
		tr.in(scope, "node __finish__", 4, 1, c.start, c.end, "koog.node.id", "__finish__", "koog.node.input", c.input, "koog.node.output", c.output)
		wantEnding(t, name, the(t, tr.runs(t)), c.want)
	}
}

// Who reads a stream of Spring AI's chat client is handed what the model said before its calls as well.
func TestTheAnswerOfAStreamIsAllThatTheCallerWasHanded(t *testing.T) {
	for stream, want := range map[string]string{"true": "One moment.Rain. recovered", "false": "Rain. "} {
		tr := newTrace()
		const scope = "org.springframework.boot"
		tr.in(scope, "spring_ai chat_client", 1, 0, 0, 100, "spring.ai.kind", "chat_client", "gen_ai.operation.name", "framework", "spring.ai.chat.client.stream", stream)
		for i, said := range []string{"One moment.", "", "Rain."} {
			more := []any{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.response.finish_reasons", `["TOOL_CALLS"]`}
			if said == "Rain." {
				more[5] = `["STOP"]`
			}
			if said != "" {
				more = append(more, "gen_ai.completion", `["`+said+`"]`)
			}
			tr.in(scope, "chat m", 2+2*i, 1, 10+20*i, 20+20*i, more...)
			if said != "Rain." {
				tr.in(scope, "tool_call look", 3+2*i, 1, 21+20*i, 29+20*i, "spring.ai.kind", "tool_call", "spring.ai.tool.definition.name", "look",
					"spring.ai.tool.call.arguments", `{"x":1}`, "spring.ai.tool.call.result", `"r"`)
			}
		}
		tp := the(t, tr.runs(t))
		if got := *tp.Output.Text + " " + string(tp.Output.Provenance["text"]); got != want {
			t.Errorf("stream %s: %q, want %q", stream, got, want)
		}
	}
}

// A graph that stops at a limit answers in words of its own. Where no span stands for the run, the state that the step around all calls ended with has them.
func TestTheStateAroundALimitHoldsTheAnswer(t *testing.T) {
	const sorry, told, late = `{"content":"I need more steps.","type":"ai","tool_calls":[]}`, `{"content":"r","type":"tool","tool_call_id":"call_12345678"}`, `{"content":"go on","type":"human"}`
	for name, c := range map[string]struct {
		state string
		ran   bool
		want  string
	}{
		"the limit":         {`[{"content":"go","type":"human"},` + sorry + `]`, false, "ok I need more steps."},
		"another question":  {`[{"content":"stay","type":"human"},` + sorry + `]`, false, "incomplete none"},
		"ends with a call":  {`[{"content":"go","type":"human"},{"content":"","type":"ai","tool_calls":[{"id":"call_12345678","name":"crawl","args":{"page":3}}]}]`, false, "incomplete none"},
		"a later question":  {`[{"content":"go","type":"human"},` + sorry + `,` + late + `]`, false, "incomplete none"},
		"the call was made": {`[{"content":"go","type":"human"},` + told + `,` + sorry + `]`, true, "incomplete none"},
	} {
		tr := newTrace()
		const scope = "langfuse-sdk"
		tr.in("web", "POST /chat", 1, 0, 0, 100, "http.route", "/chat")
		tr.in(scope, "graph", 2, 1, 1, 90, "langfuse.observation.type", "span", "langfuse.observation.output", `{"messages":`+c.state+`}`)
		tr.in(scope, "ChatOpenAI", 3, 2, 10, 20, "langfuse.observation.type", "generation", "langfuse.observation.model.name", "m", "langfuse.observation.input", `[{"role":"user","content":"go"}]`,
			"langfuse.observation.output", `{"role":"assistant","content":"","tool_calls":[{"id":"call_12345678","name":"crawl","args":{"page":3},"type":"tool_call"}]}`)
		if c.ran {
			tr.in(scope, "crawl", 4, 2, 21, 30, "langfuse.observation.type", "tool", "langfuse.observation.input", `{"page":3}`, "langfuse.observation.output", told)
		}
		wantEnding(t, name, the(t, tr.runs(t)), c.want)
	}
}

// A loop that is at the limit of its steps hands on what the model said beside its last calls, which all ran: the span around all of it tells so.
func TestTextBesideTheLastCallsIsTheAnswerAtTheLimitOfSteps(t *testing.T) {
	const said = "One moment, please."
	for name, c := range map[string]struct {
		told, result string
		end          int
		status       ptrace.StatusCode
		want         string
	}{
		"told by the run":        {said, "r", 100, ptrace.StatusCodeOk, "ok " + said},
		"another text":           {"Something else entirely.", "r", 100, ptrace.StatusCodeOk, "incomplete none"},
		"not told":               {"", "r", 100, ptrace.StatusCodeOk, "incomplete none"},
		"a call waits":           {said, "", 100, ptrace.StatusCodeOk, "incomplete none"},
		"it ended before a call": {said, "r", 35, ptrace.StatusCodeOk, "ok " + said}, // it is the span of the run
		"the run failed":         {said, "r", 100, ptrace.StatusCodeError, "error none"},
	} {
		tr := newTrace()
		s := tr.agent("a", 2, 0, 0, c.end, "app.memo", c.told)
		s.Status().SetCode(c.status)
		if c.status == ptrace.StatusCodeError {
			s.Status().SetMessage("it broke")
		}
		tr.chat(3, 2, 10, 20, list(user("q")), list(`{"role":"assistant","parts":[{"type":"text","content":`+quote(said)+`},`+call("call_X4ULTEFGUM44M4GLT6TT7S", "f", `{}`)+`,`+call("call_Y4ULTEFGUM44M4GLT6TT7S", "g", `{}`)+`]}`))
		tr.tool("f", 4, 2, 30, 40, "call_X4ULTEFGUM44M4GLT6TT7S", `{}`, "r")
		if c.result != "" {
			tr.tool("g", 5, 2, 30, 40, "call_Y4ULTEFGUM44M4GLT6TT7S", `{}`, c.result)
		}
		wantEnding(t, name, the(t, tr.runs(t)), c.want)
	}
}

// The span of a model call may lie around the tools that it asked for (the Agent Development Kit). Where its answer is not on record, what it made of them is not known.
func TestToolsWithinACallWithoutAnAnswerEndNoRun(t *testing.T) {
	for answer, want := range map[string]tape.RunStatus{"": tape.StatusIncomplete, list(says("end")): tape.StatusOK} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 10, 50, list(user("q")), answer, "gen_ai.response.finish_reasons", []any{"stop"}, "gen_ai.response.id", "r1")
		tr.tool("f", 3, 2, 20, 40, "", `{}`, "r")
		if tp := the(t, tr.runs(t)); tp.Run.Status != want {
			t.Errorf("answer %q: %s, want %s", answer, tp.Run.Status, want)
		}
	}
}

// A span around an agent tells what the model said beside its last calls, which ran. Where the agent itself ended with an error then, that is no answer.
func TestTextBesideCallsIsNoAnswerWhereTheAgentBrokeThen(t *testing.T) {
	const said = "One moment, please."
	for name, c := range map[string]struct {
		broke   ptrace.StatusCode
		more    bool
		refused bool // the next model call failed
		want    string
	}{
		"it broke":                        {ptrace.StatusCodeError, false, false, "error none"},
		"it ended well":                   {ptrace.StatusCodeOk, false, false, "ok " + said},
		"it answered, and broke":          {ptrace.StatusCodeError, true, false, "ok Done."},
		"the model broke it":              {ptrace.StatusCodeError, false, true, "error none"},
		"it ended well without the model": {ptrace.StatusCodeOk, false, true, "ok " + said},
	} {
		tr := newTrace()
		told := said
		if c.more {
			told = "Done."
		}
		tr.agent("workflow", 1, 0, 0, 100, "gen_ai.output.messages", list(says(told))).Status().SetCode(ptrace.StatusCodeOk)
		s := tr.agent("a", 2, 1, 1, 90)
		s.Status().SetCode(c.broke)
		s.Status().SetMessage("Max turns exceeded")
		const id = "call_X4ULTEFGUM44M4GLT6TT7S"
		first := `{"role":"assistant","parts":[{"type":"text","content":` + quote(said) + `},` + call(id, "f", `{}`) + `]}`
		tr.chat(3, 2, 10, 20, list(user("q")), list(first))
		tr.tool("f", 4, 2, 30, 40, id, `{}`, "r")
		if c.more {
			tr.chat(5, 2, 50, 60, list(user("q"), first, shows(id, "r")), list(says("Done.")))
		}
		if c.refused {
			refused := tr.chat(5, 2, 50, 60, list(user("q"), first, shows(id, "r")), "").Status()
			refused.SetCode(ptrace.StatusCodeError)
			refused.SetMessage("400 refused")
		}
		wantEnding(t, name, the(t, tr.runs(t)), c.want)
	}
}

// The same holds of what it said beside calls before.
func TestTextBesideEarlierCallsIsNoAnswerWhereTheAgentBrokeThen(t *testing.T) {
	const said = "One moment, please."
	for broke, want := range map[ptrace.StatusCode]string{ptrace.StatusCodeError: "error none", ptrace.StatusCodeOk: "ok " + said} {
		tr := newTrace()
		tr.agent("workflow", 1, 0, 0, 100, "gen_ai.output.messages", list(says(said))).Status().SetCode(ptrace.StatusCodeOk)
		s := tr.agent("a", 2, 1, 1, 90)
		s.Status().SetCode(broke)
		s.Status().SetMessage("Max turns exceeded")
		const one, two = "call_X4ULTEFGUM44M4GLT6TT7S", "call_A5VMUFGHVN55N5HMU7UU8T"
		first := `{"role":"assistant","parts":[{"type":"text","content":` + quote(said) + `},` + call(one, "f", `{}`) + `]}`
		second := asks(call(two, "f", `{}`))
		tr.chat(3, 2, 10, 20, list(user("q")), list(first))
		tr.tool("f", 4, 2, 30, 40, one, `{}`, "r")
		tr.chat(5, 2, 50, 60, list(user("q"), first, shows(one, "r")), list(second))
		tr.tool("f", 6, 2, 70, 80, two, `{}`, "r")
		wantEnding(t, want, the(t, tr.runs(t)), want)
	}
}

// A model may answer in JSON that looks like an envelope. Where the run span holds all of it, nothing was around it.
func TestAnswerInJSONThatTheRunSpanHoldsAsAWhole(t *testing.T) {
	const said = `{"content": "It is done now.", "error": {"error": null}}`
	nested := `{"outputs": {"output": ` + quote(said) + `}}` // of LangChain's executor under Traceloop
	for told, want := range map[string]string{said: said, nested: said, `{"content": "It is done now."}`: "It is done now."} {
		tr := newTrace()
		tr.in("graph", "run", 1, 0, 0, 100, "openinference.span.kind", "AGENT", "input.value", "q", "output.value", told, "output.mime_type", "application/json")
		tr.chat(2, 1, 10, 20, list(user("q")), list(says(said)))
		tp := the(t, tr.runs(t))
		if tp.Output.Text == nil || *tp.Output.Text != want && want == said {
			t.Errorf("%s: %v", told, tp.Output.Text)
		}
	}
}

// An agent that records nothing but what it was asked and answered may have called anything.
func TestRunWithoutACallSaysThatNoneIsOnRecord(t *testing.T) {
	for calls, want := range map[bool]int{false: 1, true: 0} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100, "gen_ai.input.messages", list(user("q")), "gen_ai.output.messages", list(says("end")))
		if calls {
			tr.chat(2, 1, 10, 20, list(user("q")), list(says("end")))
		}
		found := 0
		for _, f := range the(t, tr.runs(t)).Fidelity.Findings {
			if f.Code == tape.CodeContentAbsent && f.Field == "events" {
				found++
			}
		}
		if found != want {
			t.Errorf("with calls %v: %d findings", calls, found)
		}
	}
}

// A failure that names the tool is of its call, whatever stands beside it for a result.
func TestFailureThatNamesTheToolIsOfItsCall(t *testing.T) {
	for name, c := range map[string]struct {
		tool, message string
		failed        bool
	}{
		"its name":      {"fetch_record", "Error running tool: {'tool_name': 'fetch_record'}", true},
		"another name":  {"fetch_record", "Error running tool: fetch_records", false},
		"a common word": {"fetch", "could not fetch", false},
		"none":          {"fetch_record", "it broke", false},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		const id = "call_X4ULTEFGUM44M4GLT6TT7S"
		tr.chat(2, 1, 10, 20, list(user("q")), list(asks(call(id, c.tool, `{}`))))
		s := tr.tool(c.tool, 3, 1, 30, 40, id, `{}`, "Please try again.")
		s.Status().SetCode(ptrace.StatusCodeError)
		s.Status().SetMessage(c.message)
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall && e.IsError != c.failed {
				t.Errorf("%s: failed is %v", name, e.IsError)
			}
		}
	}
}

// The model calls of a loop may lie in steps, and those of an agent that a tool runs below the tool alone: what that answered is no answer of the run.
func TestAnswerBelowAToolIsNoneOfTheRunWhoseCallsLieInSteps(t *testing.T) {
	for failed, want := range map[bool]tape.RunStatus{true: tape.StatusError, false: tape.StatusOK} {
		tr := newTrace()
		root := tr.agent("main", 1, 0, 0, 100)
		step := func(id, start int, request, response string) {
			tr.agent("model", id, 1, start, start+9)
			tr.chat(id+1, id, start+1, start+8, request, response)
		}
		step(2, 1, list(user("q")), list(asks(call("call_0001", "expert", `{"q":"x"}`))))
		tr.tool("expert", 4, 1, 11, 30, "call_0001", `{"q":"x"}`, "the expert answers")
		tr.chat(5, 4, 12, 20, list(user("x")), list(says("the expert answers")))
		last := asks(call("call_0002", "close", `{"n":1}`))
		if !failed {
			last = says("That is all.")
		}
		step(6, 31, list(user("q"), asks(call("call_0001", "expert", `{"q":"x"}`)), shows("call_0001", "the expert answers")), list(last))
		if failed {
			tool := tr.tool("close", 8, 1, 50, 60, "call_0002", `{"n":1}`, "")
			for _, s := range []ptrace.Span{tool, root} {
				s.Status().SetCode(ptrace.StatusCodeError)
				s.Status().SetMessage("HTTP 500")
			}
		}
		tp := the(t, tr.runs(t))
		if tp.Run.Status != want || failed && tp.Output.Text != nil || !failed && (tp.Output.Text == nil || *tp.Output.Text != "That is all.") {
			t.Errorf("failed %v: %s, answered %v", failed, tp.Run.Status, tp.Output.Text)
		}
	}
}

// Rules and alarms of a program trigger too; the run goes on, and its answer counts.
func TestAStepThatIsTriggeredIsNoGuardrail(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(says("The answer.")))
	tr.in("test", "alarm", 3, 1, 11, 20, "gen_ai.operation.name", "plan", "triggered", true)
	if tp := the(t, tr.runs(t)); tp.Run.Status != tape.StatusOK || tp.Output.Text == nil || *tp.Output.Text != "The answer." {
		t.Errorf("status %s, answer %v", tp.Run.Status, tp.Output.Text)
	}
}
