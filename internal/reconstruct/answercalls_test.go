// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
)

// The model of smolagents answers by a call: such a call ends the run, and is no call of a tool. Elsewhere a tool may have that name.
func TestModelThatAnswersByACall(t *testing.T) {
	for instructions, want := range map[string]string{"You are an expert assistant who can solve any task using tool calls.": "ok It is 42.", "Be brief.": "incomplete "} {
		system := `{"role":"system","parts":[{"type":"text","content":` + quote(instructions) + `}]}`
		tr := newTrace()
		tr.chat(1, 0, 0, 10, list(system, user("q")), list(asks(call("c1", "final_answer", `{"answer":"It is 42."}`))))
		tp := the(t, tr.runs(t))
		got := string(tp.Run.Status) + " "
		if tp.Output.Text != nil {
			got += *tp.Output.Text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", instructions, got, want)
		}
	}
}

// Where a step of smolagents failed, the next request does not hold its calls: the task is followed by the failure. That is the run going on; the task alone is
// another run of the same task.
func TestTaskWithItsFailureGoesOn(t *testing.T) {
	system := `{"role":"system","parts":[{"type":"text","content":"You are an expert assistant who can solve any task using tool calls."}]}`
	retry := "New task:\nq\nError:\nUnknown tool g.\nNow let's retry: take care not to repeat previous errors! If you have retried several times, try a completely different approach.\n"
	for text, want := range map[string]string{retry: "ok", "New task:\nq": ""} {
		tr := newTrace()
		tr.chat(1, 0, 0, 10, list(system, user("New task:\nq")), list(asks(call("c1", "g", `{"a":1}`))))
		tr.chat(2, 0, 20, 30, list(system, user(text)), list(asks(call("c2", "final_answer", `{"answer":"end"}`)))).SetTraceID(pcommon.TraceID{7})
		set := evidence.NewSet()
		set.AddTraces(copied(tr.td))
		tapes := reconstruct.All(set.Split(), options)
		sound(t, tapes)
		if len(tapes) != map[bool]int{true: 1, false: 2}[want != ""] || want != "" && string(tapes[0].Run.Status) != want {
			t.Errorf("%q: %d tapes, the first %s", text, len(tapes), tapes[0].Run.Status)
		}
	}
}

// The agents of DSPy end by a tool of their own, which runs: it was handed nothing, or returns what it was handed. Elsewhere a tool may have that name.
func TestToolWithWhichAnAgentEndsIsNoCall(t *testing.T) {
	const v1 = "Your input fields are:\n1. `question`\nWhen selecting the next_tool_name and its next_tool_args, the tool must be one of:\n(1) finish"
	const v2 = "Your input fields are:\n1. `question`\nWhen the final answer is ready, call `submit` with `answer`."
	for name, c := range map[string]struct{ instructions, tool, args, result, want string }{
		"with nothing":            {v1, "finish", `{}`, "Completed.", ""},
		"what it was handed":      {v2, "submit", `{"answer":"a"}`, `{"answer":"a"}`, ""},
		"something else":          {v2, "submit", `{"form":"7"}`, "filed", `tool_call submit @3 = filed`},
		"a tool of the same name": {"Be brief.", "finish", `{}`, "Completed.", "tool_call finish @3 = Completed."},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(`{"role":"system","parts":[{"type":"text","content":`+quote(c.instructions)+`}]}`, user("q")), list(says("text")))
			tr.tool(c.tool, 3, 1, 11, 12, "", c.args, c.result)
			tr.chat(4, 1, 20, 30, list(user("q")), list(says("end")))
			want := []string{"model_call @2", c.want, "model_call @4"}
			if c.want == "" {
				want = []string{"model_call @2", "model_call @4"}
			}
			wantEvents(t, the(t, tr.runs(t)), want...)
		})
	}
}

// A framework nobody knows may have its model answer by a tool. What the agent answered is then what that tool was handed last, and the model was offered it.
func TestToolThatHandsOnTheAnswerIsNoCall(t *testing.T) {
	const offered = `[{"type":"function","name":"reply","parameters":{}}]`
	for name, c := range map[string]struct {
		tools, args, answer string
		after               bool // another model call comes behind it
		kept                bool
		result              string
	}{
		"offered":              {offered, `{"response":"It is 42."}`, "It is 42.", false, false, "Message has been sent"},
		"of the program":       {"", `{"response":"It is 42."}`, "It is 42.", false, true, "Message has been sent"},
		"another text":         {offered, `{"response":"It is 41."}`, "It is 42.", false, true, "Message has been sent"},
		"more than the answer": {offered, `{"response":"It is 42.","channel":"mail"}`, "It is 42.", false, true, "Message has been sent"},
		"the run goes on":      {offered, `{"response":"It is 42."}`, "It is 42.", true, true, "Message has been sent"},
		"its result answers":   {offered, `{"response":"It is 42."}`, "It is 42.", false, true, "It is 42."},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100, "gen_ai.output.messages", list(says(c.answer)))
			attrs := []any{}
			if c.tools != "" {
				attrs = append(attrs, "gen_ai.tool.definitions", c.tools)
			}
			tr.chat(2, 1, 1, 10, list(user("q")), list(says("It is 42.")), attrs...)
			tr.tool("reply", 3, 1, 11, 12, "", c.args, c.result)
			want := []string{"model_call @2"}
			if c.kept {
				want = append(want, "tool_call reply @3 = "+c.result)
			}
			if c.after {
				tr.chat(4, 1, 20, 30, list(user("q")), list(says(c.answer)), attrs...)
				want = append(want, "model_call @4")
			}
			tp := the(t, tr.runs(t))
			wantEvents(t, tp, want...)
			if tp.Output.Text == nil || *tp.Output.Text != c.answer {
				t.Errorf("the answer is %v", tp.Output.Text)
			}
		})
	}
}

// A tool that does something with a text may be the last one, and the agent say what it was handed: it ran.
func TestToolThatSendsTheAnswerIsACall(t *testing.T) {
	for _, name := range []string{"send_message", "post_answer", "speak"} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100, "gen_ai.output.messages", list(says("It is 42.")))
		tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", name, `{"text":"It is 42."}`))), "gen_ai.tool.definitions", `[{"type":"function","name":"`+name+`"}]`)
		tr.tool(name, 3, 1, 11, 12, "c1", `{"text":"It is 42."}`, "sent")
		wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call "+name+" @3 by 1 = sent")
	}
}

// What the framework refused of such an answer before is no call either.
func TestRefusedAnswersAreNoCalls(t *testing.T) {
	const offered = `[{"type":"function","name":"reply","parameters":{}}]`
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100, "gen_ai.output.messages", list(says("It is 42.")))
	tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "reply", `{"text":"42"}`))), "gen_ai.tool.definitions", offered)
	tr.tool("reply", 3, 1, 11, 12, "c1", `{"text":"42"}`, "").Status().SetCode(ptrace.StatusCodeError)
	tr.chat(4, 1, 20, 30, list(user("q")), list(says("It is 42.")), "gen_ai.tool.definitions", offered)
	tr.tool("reply", 5, 1, 31, 32, "", `{"response":"It is 42."}`, "sent")
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "model_call @4")
}

// Where the model asks for such a tool, its call is the end of the run.
func TestCallOfAToolThatHandsOnTheAnswerEndsTheRun(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100, "gen_ai.output.messages", list(says("It is 42.")))
	tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "reply", `{"response":"It is 42."}`))))
	tr.tool("reply", 3, 1, 11, 12, "c1", `{"response":"It is 42."}`, "sent")
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2")
	if tp.Run.Status != "ok" || tp.Output.Text == nil || *tp.Output.Text != "It is 42." {
		t.Errorf("the run is %s with %v", tp.Run.Status, tp.Output.Text)
	}
}

// A model that may not answer in words answers by a call that nothing runs. Where it may, where a tool of that name ran, and where it asks for two, nothing shows that.
func TestModelThatMayNotAnswerInWords(t *testing.T) {
	const args = `{"response":"It is 42."}`
	for name, c := range map[string]struct {
		choice, want string
		calls        string
		before       bool // the tool ran in the turn before
	}{
		"a call is required":        {choice: "required", calls: call("c2", "answer", args), want: "ok It is 42."},
		"a call of any tool":        {choice: `{"type":"any"}`, calls: call("c2", "answer", args), want: "ok It is 42."},
		"an answer of more members": {choice: "required", calls: call("c2", "answer", `{"n":42,"sure":true}`), want: `ok {"n":42,"sure":true}`},
		"words are allowed":         {choice: "auto", calls: call("c2", "answer", args), want: "incomplete "},
		"nothing is said of it":     {calls: call("c2", "answer", args), want: "incomplete "},
		"two calls":                 {choice: "required", calls: call("c2", "answer", args) + "," + call("c3", "look", `{"a":1}`), want: "incomplete "},
		"the tool ran before":       {choice: "required", calls: call("c2", "answer", args), before: true, want: "incomplete "},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			request := []string{user("q")}
			if c.before {
				ask := asks(call("c1", "answer", `{"response":"a"}`))
				tr.chat(2, 1, 1, 5, list(user("q")), list(ask))
				tr.tool("answer", 3, 1, 6, 9, "c1", `{"response":"a"}`, "no")
				request = append(request, ask, shows("c1", "no"))
			}
			span := tr.chat(4, 1, 10, 20, list(request...), list(asks(c.calls)))
			if c.choice != "" {
				span.Attributes().PutStr("gen_ai.request.tool_choice", c.choice)
			}
			tp := the(t, tr.runs(t))
			got := string(tp.Run.Status) + " "
			if tp.Output.Text != nil {
				got += *tp.Output.Text
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// An agent that says that it ended with a call, which has the name of an answer and which nobody executed, answered by it.
func TestCallThatAnAgentEndedWithIsItsAnswer(t *testing.T) {
	const id = "call_X4ULTEFGUM44M4GLT6TT7S"
	const tools = `[{"type":"function","name":"final_answer"},{"type":"function","name":"ask_customer"},{"type":"function","name":"send_reply"}]`
	for name, c := range map[string]struct {
		tool, args, ended string
		tools             string
		fails             bool
		want              string
	}{
		"it ended with the call":      {"final_answer", `{"response":"It is 42."}`, id, tools, false, "ok It is 42."},
		"it ended with another":       {"final_answer", `{"response":"It is 42."}`, "call_Y4ULTEFGUM44M4GLT6TT7S", tools, false, "incomplete "},
		"it says nothing":             {"final_answer", `{"response":"It is 42."}`, "", tools, false, "incomplete "},
		"it failed":                   {"final_answer", `{"response":"It is 42."}`, id, tools, true, "error "},
		"it waits for somebody":       {"ask_customer", `{"question":"Which?"}`, id, tools, false, "incomplete "},
		"somebody has to do it":       {"send_reply", `{"text":"It is 42."}`, id, tools, false, "incomplete "},
		"the tool was not offered":    {"final_answer", `{"response":"It is 42."}`, id, `[{"type":"function","name":"look"}]`, false, "incomplete "},
		"more than one thing is said": {"final_answer", `{"response":"It is 42.","to":"all"}`, id, tools, false, "incomplete "},
		"it hands on nothing":         {"final_answer", `{}`, id, tools, false, "incomplete "},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			var out []any
			if c.ended != "" {
				out = []any{"gen_ai.output.messages", list(asks(call(c.ended, c.tool, c.args)))}
			}
			span := tr.agent("a", 1, 0, 0, 100, out...)
			if c.fails {
				span.Status().SetCode(ptrace.StatusCodeError)
			}
			tr.chat(2, 1, 10, 20, list(user("q")), list(asks(call(id, c.tool, c.args))), "gen_ai.tool.definitions", c.tools)
			tp := the(t, tr.runs(t))
			got := string(tp.Run.Status) + " "
			if tp.Output.Text != nil {
				got += *tp.Output.Text
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// LangChain in JavaScript puts behind the call by which a model answered what the tool was handed, as its result, and then, in the role of the model, the same again: no model was asked for that.
func TestWhatAFrameworkSaysAgainOfAnAnswerIsNoCall(t *testing.T) {
	const answer, again = `{"response":"It is 42."}`, `Returning structured response: {"response":"It is 42."}`
	type tc struct {
		result, said string
		executed     bool
		events       int
		text         string
	}
	for name, c := range map[string]tc{
		"again":                  {answer, again, false, 3, "It is 42."},
		"of something else":      {answer, `Returning structured response: {"response":"It is 43."}`, false, 4, `Returning structured response: {"response":"It is 43."}`},
		"the model says it":      {answer, `You said {"response":"It is 42."}`, false, 4, `You said {"response":"It is 42."}`},
		"the tool found more":    {`{"response":"It is 42.","rows":1}`, again, false, 4, again},
		"a tool that really ran": {answer, "It is done.", true, 4, "It is done."},
	} {
		looked := asks(call("c1-0123456789abcdef", "look", `{"n":1}`))
		ask := asks(call("c2-0123456789abcdef", "f", answer))
		state := list(user("q"), looked, shows("c1-0123456789abcdef", "42"), ask, shows("c2-0123456789abcdef", c.result), says(c.said))
		tr := newTrace()
		tr.in("app", "graph", 1, 0, 0, 100, "openinference.span.kind", "CHAIN", "input.value", `{"messages":`+list(user("q"))+`}`, "output.value", `{"messages":`+state+`}`)
		tr.chat(2, 1, 1, 10, list(user("q")), list(looked))
		tr.tool("look", 3, 1, 11, 15, "c1-0123456789abcdef", `{"n":1}`, "42")
		tr.chat(4, 1, 20, 30, list(user("q"), looked, shows("c1-0123456789abcdef", "42")), list(ask))
		if c.executed {
			tr.tool("f", 5, 1, 31, 35, "c2-0123456789abcdef", answer, c.result)
		}
		tp := the(t, tr.runs(t))
		text := ""
		if tp.Output.Text != nil {
			text = *tp.Output.Text
		}
		if len(tp.Events) != c.events || text != c.text {
			t.Errorf("%s: answer %q, %q", name, text, events(tp))
		}
		if claims := name == "again"; claims && !tp.Fidelity.Replayable.Tools {
			t.Errorf("%s: %+v", name, tp.Fidelity.Findings)
		}
	}
}

// Who asks for an object is answered with it, whatever it holds. What a framework keeps beside the answer is no part of it.
func TestObjectThatWasAskedForIsTheAnswer(t *testing.T) {
	for final, want := range map[string]string{
		`{"answer":"It is 42."}`:            `{"answer":"It is 42."}`,
		`{"answer":"It is 42.","cost":0.1}`: "It is 42.",
		`{"done":true,"text":"It is 42."}`:  "It is 42.",
		`{"answer":"It is 42, or was it."}`: `{"answer":"It is 42, or was it."}`,
	} {
		tr := newTrace()
		tr.in("pydantic-ai", "agent run", 1, 0, 0, 50, "agent_name", "a", "gen_ai.operation.name", "invoke_agent", "final_result", final)
		tr.in("pydantic-ai", "chat m", 2, 1, 1, 10, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "model_request_parameters", `{"output_mode":"tool","output_tools":[{"name":"final_result","parameters_json_schema":{"type":"object"}}]}`,
			"gen_ai.input.messages", list(user("q")), "gen_ai.output.messages", list(asks(call("c1", "final_result", `{"answer":"It is 42."}`))))
		tp := the(t, tr.runs(t))
		got := ""
		if tp.Output.Text != nil {
			got = *tp.Output.Text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", final, got, want)
		}
	}
}

// A stream of an agent of Pydantic AI records no result: there the definition of the tool says whether the answer is all that the tool was called with, or was put in a member as it is no object.
func TestObjectIsTheAnswerWhereItsToolHasNoMemberForIt(t *testing.T) {
	const whole, member, unknown = `{"name":"final_result","outer_typed_dict_key":null}`, `{"name":"other_result","outer_typed_dict_key":"response"}`, `{"name":"final_result"}`
	for tools, want := range map[string]string{
		whole:                `{"answer":"It is 42."}`,
		unknown:              "It is 42.",
		member + "," + whole: "It is 42.",
		whole + "," + member: "It is 42.",
	} {
		tr := newTrace()
		tr.in("pydantic-ai", "agent run", 1, 0, 0, 50, "agent_name", "a", "gen_ai.operation.name", "invoke_agent")
		tr.in("pydantic-ai", "chat m", 2, 1, 1, 10, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "model_request_parameters", `{"output_tools":[`+tools+`]}`,
			"gen_ai.input.messages", list(user("q")), "gen_ai.output.messages", list(asks(call("c1", "final_result", `{"answer":"It is 42."}`))))
		if tp := the(t, tr.runs(t)); tp.Output.Text == nil || *tp.Output.Text != want {
			t.Errorf("%s: %v, want %q", tools, tp.Output.Text, want)
		}
	}
}
