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

// graph is the span of a graph, or of a step of one, with its state as Langfuse's handler for LangChain writes it.
func (tr *trace) graph(name string, id, parent, start, end int, in, out string) ptrace.Span {
	return tr.in("langfuse-sdk", name, id, parent, start, end, "langfuse.observation.type", "span", "langfuse.observation.input", `{"messages":`+in+`}`, "langfuse.observation.output", `{"messages":`+out+`}`)
}

func said(role, text string) string { return `{"role":"` + role + `","content":` + quote(text) + `}` }

func saidAsking(calls string) string {
	return `{"role":"assistant","content":"","tool_calls":[` + calls + `]}`
}

func toldOf(id, text string) string {
	return `{"role":"tool","tool_call_id":"` + id + `","content":` + quote(text) + `}`
}

// A package that loses its spans of model calls leaves the tools and what the graph around them holds at its end: that asks for the calls which ran, by their ids.
func TestModelCallsAreReadFromTheStateAroundTheToolsTheyAskedFor(t *testing.T) {
	const id, other = "call_1234567890123456", "call_8765432109876543"
	whole := []string{"model_call", "tool_call f @2 by 1 = v", "model_call"}
	toolAlone := []string{"tool_call f @2 = v"}
	for name, c := range map[string]struct {
		id    string
		state string
		want  []string
	}{
		"the conversation": {id, list(said("user", "q"), saidAsking(function(id, "f", `{"x":1}`)), toldOf(id, "v"), said("assistant", "end")), whole},
		"a call before that was not run": {id, list(said("user", "q"), saidAsking(function(other, "g", `{}`)), toldOf(other, "no such tool"), saidAsking(function(id, "f", `{"x":1}`)), toldOf(id, "v"), said("assistant", "end")),
			[]string{"model_call", "tool_call g by 1 = no such tool (recovered)", "model_call", "tool_call f @2 by 3 = v", "model_call"}},
		"of other calls":                 {other, list(said("user", "q"), saidAsking(function(id, "f", `{"x":1}`)), toldOf(id, "v"), said("assistant", "end")), toolAlone},
		"an id that others may have too": {"f", list(said("user", "q"), saidAsking(function("f", "f", `{"x":1}`)), toldOf("f", "v"), said("assistant", "end")), toolAlone},
		"a call before the user spoke": {id, list(said("user", "p"), saidAsking(function(id, "f", `{"x":1}`)), toldOf(id, "v"), said("assistant", "so"), said("user", "q"), said("assistant", "end")),
			toolAlone},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.graph("LangGraph", 1, 0, 0, 100, list(said("user", "q")), c.state)
			tr.tool("f", 2, 1, 20, 30, c.id, `{"x":1}`, "v")
			tp := the(t, tr.runs(t))
			wantEvents(t, tp, c.want...)
			if len(c.want) > 1 {
				wantCodes(t, tp, "model_call_hidden@1")
			}
		})
	}
}

// The request of the only model call that a span reports holds an earlier one of its turn: the tool that this asked for ran in the run.
func TestModelCallBeforeTheFirstOnRecordIsReadFromItsRequest(t *testing.T) {
	const id = "call_1234567890123456"
	ask := asks(call(id, "f", `{"x":1}`))
	for name, c := range map[string]struct {
		ran     string
		request string
		want    []string
	}{
		"its tool ran":      {id, list(user("q"), ask, shows(id, "v")), []string{"model_call", "tool_call f @2 by 1 = v", "model_call @3"}},
		"another tool ran":  {"call_8765432109876543", list(user("q"), ask, shows(id, "v")), []string{"tool_call f @2 = v", "model_call @3"}},
		"it is history":     {id, list(user("p"), ask, shows(id, "v"), says("so"), user("q")), []string{"tool_call f @2 = v", "model_call @3"}},
		"nothing was asked": {id, list(user("q")), []string{"tool_call f @2 = v", "model_call @3"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.tool("f", 2, 1, 20, 30, c.ran, `{"x":1}`, "v")
			tr.chat(3, 1, 40, 50, c.request, list(says("end")))
			wantEvents(t, the(t, tr.runs(t)), c.want...)
		})
	}
}

// A graph that ran as a tool in a trace of its own, whose model calls no span reports.
func TestGraphWithoutModelCallsThatRanAsAToolBelongsToTheRunAroundIt(t *testing.T) {
	const question, answer = "Why was the plan billed twice?", "The plan is there twice."
	for name, c := range map[string]struct {
		given, state string
		want         int
	}{
		"the exchange":     {list(said("user", question)), list(said("user", question), said("assistant", answer)), 1},
		"another answer":   {list(said("user", question)), list(said("user", question), said("assistant", "Once.")), 2},
		"a step in a run":  {list(said("user", "hi"), said("assistant", "yes?"), said("user", question)), list(said("user", question), said("assistant", answer)), 2},
		"without question": {list(said("user", question)), list(said("assistant", answer)), 2},
	} {
		t.Run(name, func(t *testing.T) {
			outer, inner := newTrace(), newTrace()
			ask := asks(call("call_12345678", "billing", `{"question":"`+question+`"}`))
			outer.agent("triage", 1, 0, 0, 90)
			outer.chat(2, 1, 1, 5, list(user("I was charged twice.")), list(ask))
			outer.tool("billing", 3, 1, 10, 60, "call_12345678", `{"question":"`+question+`"}`, answer)
			inner.graph("LangGraph", 5, 0, 20, 50, c.given, c.state)
			inner.graph("agent", 6, 5, 21, 40, c.given, list(said("assistant", answer)))
			if tapes := all(t, outer.numbered(1), inner.numbered(2)); len(tapes) != c.want {
				t.Errorf("%d runs, want %d", len(tapes), c.want)
			}
		})
	}
}

// ADK for Java writes what a tool came to when it has returned: a tool that throws leaves an empty span, and the runner around the agent says why.
func TestToolThatThrewHasTheErrorOfTheRunnerAroundItsAgent(t *testing.T) {
	const scope = "gcp.vertex.agent"
	for name, c := range map[string]struct {
		tools   []string
		goesOn  bool
		failed  bool
		message string // that of the first tool
		status  tape.RunStatus
	}{
		"one tool":                {[]string{"f"}, false, true, "timeout", tape.StatusError},
		"two, of which one threw": {[]string{"f", "g"}, false, true, "", tape.StatusError},
		"the runner ended well":   {[]string{"f"}, false, false, "", tape.StatusIncomplete},
		"the agent went on":       {[]string{"f"}, true, true, "", tape.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			runner := tr.in(scope, "invocation", 1, 0, 0, 100)
			if c.failed {
				e := runner.Events().AppendEmpty()
				e.SetName("exception")
				e.Attributes().PutStr("exception.message", "timeout")
				runner.Status().SetCode(ptrace.StatusCodeError)
			}
			tr.in(scope, "invoke_agent a", 2, 1, 1, 99, "gen_ai.agent.name", "a")
			calls := ""
			for i, name := range c.tools {
				calls += map[bool]string{true: ","}[i > 0] + `{"functionCall":{"name":"` + name + `","args":{}}}`
				tr.in(scope, "execute_tool ["+name+"]", 4+i, 3, 10, 20)
			}
			model := func(id, start, end int, request, response string) {
				tr.in(scope, "call_llm", id, 2, start, end, "gen_ai.request.model", "m1", "gcp.vertex.agent.llm_request", `{"contents":[`+request+`]}`, "gcp.vertex.agent.llm_response",
					`{"content":{"role":"model","parts":[`+response+`]}}`)
			}
			model(3, 2, 30, `{"role":"user","parts":[{"text":"q"}]}`, calls)
			if c.goesOn {
				model(9, 40, 50, `{"role":"user","parts":[{"text":"q"}]}`, `{"text":"end"}`)
			}
			tp := the(t, tr.runs(t))
			if tp.Run.Status != c.status {
				t.Errorf("status %s, want %s", tp.Run.Status, c.status)
			}
			for _, e := range tp.Events {
				if e.Type != tape.EventToolCall || e.Name != "f" {
					continue
				}
				got := ""
				if e.Error != nil {
					got = e.Error.Message
				}
				if got != c.message || e.Status != tape.EventError {
					t.Errorf("%s failed with %q, want %q", e.Name, got, c.message)
				}
			}
			if len(c.tools) > 1 {
				wantCodes(t, tp, "unanswered_tool_call@2", "unanswered_tool_call@3")
			}
		})
	}
}

// What Spring AI records as the result of a tool is the text that the model is told.
func TestResultThatIsWhatTheModelWasToldIsNoEnvelope(t *testing.T) {
	for scope, suspected := range map[string]bool{"org.springframework.boot": false, "test": true} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		if suspected {
			tr.tool("f", 2, 1, 20, 30, "c1", `{"x":1}`, `{"result":true}`)
		} else {
			tr.in(scope, "tool_call f", 2, 1, 20, 30, "spring.ai.tool.definition.name", "f", "spring.ai.tool.call.arguments", `{"x":1}`, "spring.ai.tool.call.result", `{"result":true}`)
		}
		tp := the(t, tr.runs(t))
		if suspected {
			wantCodes(t, tp, "envelope_suspected@1")
		} else {
			withoutCodes(t, tp, "envelope_suspected@1")
		}
	}
}

// A request that holds only what was not sent before may hold the same words as the one before it: another call returned the same.
func TestResultThatSaysWhatAnEarlierOneSaidIsNotSentAgain(t *testing.T) {
	const one, two = "call_1234567890123456", "call_8765432109876543"
	for name, c := range map[string]struct {
		second string
		want   []string
	}{
		"of the second call": {two, []string{"model_call @2", "tool_call f by 1 = v (recovered)", "model_call @3", "tool_call g by 3 = v (recovered)", "model_call @4"}},
		"of the first again": {one, []string{"model_call @2", "tool_call f by 1 = v (recovered)", "model_call @3", "tool_call g by 3 failed (missing)", "model_call @4"}},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call(one, "f", `{"x":1}`))))
		tr.chat(3, 1, 20, 30, list(shows(one, "v")), list(asks(call(two, "g", `{"y":1}`))))
		tr.chat(4, 1, 40, 50, list(shows(c.second, "v")), list(says("end")))
		t.Run(name, func(t *testing.T) { wantEvents(t, the(t, tr.runs(t)), c.want...) })
	}
}

// Langfuse's handler before 5 gives tools the type of any other span, and one that failed has no result to be told by: the answer that asked for it stands in the state of the step around the
// model call, whose own span holds the text alone.
func TestToolThatFailedIsFoundByTheAnswerInTheStateOfAStep(t *testing.T) {
	for name, c := range map[string]struct {
		args string
		want []string
	}{
		"the call that was asked for": {`{"x":1}`, []string{"model_call @3", "tool_call f @5 by 1 failed"}},
		"another one":                 {`{"x":2}`, []string{"model_call @3", "tool_call f by 1 failed (missing)"}},
	} {
		tr := newTrace()
		in := `{"messages":` + list(said("user", "q")) + `}`
		tr.in("langfuse-sdk", "LangGraph", 1, 0, 0, 100, "langfuse.observation.type", "span", "langfuse.observation.input", in, "langfuse.observation.level", "ERROR", "langfuse.observation.status_message", "it broke")
		tr.in("langfuse-sdk", "model_request", 2, 1, 1, 20, "langfuse.observation.type", "span", "langfuse.observation.input", in, "langfuse.observation.output",
			`{"output":[{"lg_name":"Command","update":{"messages":[`+saidAsking(function("call_1234567890123456", "f", `{"x":1}`))+`]}}]}`)
		tr.in("langfuse-sdk", "ChatOpenAI", 3, 2, 2, 19, "langfuse.observation.type", "generation", "langfuse.observation.model.name", "m1", "langfuse.observation.input", list(said("user", "q")))
		tr.in("langfuse-sdk", "tools", 4, 1, 30, 50, "langfuse.observation.type", "span", "langfuse.observation.input", in, "langfuse.observation.level", "ERROR", "langfuse.observation.status_message", "it broke")
		tr.in("langfuse-sdk", "f", 5, 4, 31, 49, "langfuse.observation.type", "span", "langfuse.observation.input", c.args, "langfuse.observation.level", "ERROR", "langfuse.observation.status_message", "it broke")
		t.Run(name, func(t *testing.T) { wantEvents(t, the(t, tr.runs(t)), c.want...) })
	}
}

// A package leaves out who wrote the messages of a request. The step around the call was given the same conversation.
func TestMessagesWithoutAuthorsAreThoseOfTheConversationThatTheStepWasGiven(t *testing.T) {
	given := list(said("user", "p"), said("assistant", "so"), said("user", "q"))
	bare := func(texts ...string) string {
		var messages []string
		for _, text := range texts {
			messages = append(messages, `{"content":`+quote(text)+`}`)
		}
		return list(messages...)
	}
	for name, c := range map[string]struct {
		sent, system, asked string
	}{
		"with the instructions before": {bare("Be brief.", "p", "so", "q"), "Be brief.", "q"},
		"as it was given":              {bare("p", "so", "q"), "", "q"},
		"other words":                  {bare("Be brief.", "p", "so", "r"), "", "q"},
		"more before":                  {bare("Be brief.", "Be kind.", "p", "so", "q"), "", "q"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.graph("LangGraph", 1, 0, 0, 100, given, list(said("user", "p"), said("assistant", "so"), said("user", "q"), said("assistant", "end")))
			tr.graph("agent", 2, 1, 1, 90, given, list(said("assistant", "end")))
			tr.in("langfuse-sdk", "ChatOpenAI", 3, 2, 2, 80, "langfuse.observation.type", "generation", "langfuse.observation.model.name", "m1", "langfuse.observation.input", c.sent, "langfuse.observation.output", "end")
			tp := the(t, tr.runs(t))
			system := ""
			if tp.Input.SystemPrompt != nil {
				system = *tp.Input.SystemPrompt
			}
			if system != c.system || tp.Input.UserMessage == nil || *tp.Input.UserMessage != c.asked {
				t.Errorf("instructions %q, asked %v", system, tp.Input.UserMessage)
			}
		})
	}
}

// A step that ends a moment after the graph around it holds no conversation of its own.
func TestStepThatOutlastsItsGraphHoldsNoSecondAnswer(t *testing.T) {
	tr := newTrace()
	tr.graph("LangGraph", 1, 0, 0, 100, list(said("user", "q")), list(said("user", "q"), said("assistant", "end")))
	tr.graph("agent", 2, 1, 1, 101, list(said("user", "q")), list(said("assistant", "end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call")
}

// The model calls of an agent that ran as a tool are lost as those of the run around it are. LangGraph hands on what a task returned, in a span that is no call.
func TestModelCallsOfAnAgentWithinAreReadFromItsOwnState(t *testing.T) {
	const outer, inner = "call_1234567890123456", "call_8765432109876543"
	message := func(name, id, text string) string {
		return `{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"status":"success","content":` + quote(text) + `,"tool_call_id":"` + id + `","name":"` + name + `"}}`
	}
	tr := newTrace()
	tool := func(name string, id, parent, start, end int, args, callID, text string) {
		tr.in("langfuse-sdk", name, id, parent, start, end, "langfuse.observation.type", "tool", "langfuse.observation.input", args, "langfuse.observation.output", message(name, callID, text))
	}
	tr.graph("LangGraph", 1, 0, 0, 100, list(said("user", "q")), list(said("user", "q"), saidAsking(function(outer, "ask", `{"question":"why?"}`)), toldOf(outer, "so"), said("assistant", "end")))
	tool("ask", 2, 1, 20, 80, `{"question":"why?"}`, outer, "so")
	tr.in("langfuse-sdk", "expert", 3, 2, 21, 79, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"messages":`+list(said("user", "why?"))+`}`, "langfuse.observation.output",
		`{"messages":`+list(said("user", "why?"), saidAsking(function(inner, "f", `{"x":1}`)), toldOf(inner, "v"), said("assistant", "so"))+`}`)
	tool("f", 4, 3, 30, 40, `{"x":1}`, inner, "v")
	tr.in("langfuse-sdk", "ChannelWrite<__return__>", 5, 3, 41, 42, "langfuse.observation.type", "span", "langfuse.observation.output", message("f", inner, "v"))
	wantEvents(t, the(t, tr.runs(t)), "model_call", "tool_call ask @2 by 1 = so", "agent_call expert @3 via 2", "model_call in 3", "tool_call f @4 by 4 in 3 = v", "model_call in 3", "model_call")
}

// LangChain's structured responses are called for as a tool, and its state ends with what it makes of the call: the model said nothing after it.
func TestAnswerByACallIsFoundInTheStateOfLostModelCalls(t *testing.T) {
	const look, answer = "call_1234567890123456", "call_8765432109876543"
	for name, c := range map[string]struct{ echoed, want string }{
		"what it was called with": {`{"response":"Oslo"}`, "Oslo"},
		"something else":          {`{"response":"Rome"}`, `Returning structured response: {"response":"Rome"}`},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.graph("LangGraph", 1, 0, 0, 100, list(said("user", "q")), list(said("user", "q"), saidAsking(function(look, "f", `{"x":1}`)), toldOf(look, "v"),
				saidAsking(function(answer, "final_answer", `{"response":"Oslo"}`)), toldOf(answer, `{"response":"Oslo"}`), said("assistant", "Returning structured response: "+c.echoed)))
			tr.tool("f", 2, 1, 20, 30, look, `{"x":1}`, "v")
			tp := the(t, tr.runs(t))
			text := ""
			if tp.Output.Text != nil {
				text = *tp.Output.Text
			}
			if text != c.want {
				t.Errorf("answer %q, want %s; %v", text, c.want, events(tp))
			}
		})
	}
}

// The result of an agent that ran as a tool is what its model said at last, where that is JSON with one member too.
func TestResultThatAModelBelowSaidIsNoEnvelope(t *testing.T) {
	for answer, suspected := range map[string]bool{`{"output": 6.1}`: false, "six": true} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.tool("ask", 2, 1, 20, 60, "c1", `{"question":"why?"}`, `{"output":6.1}`)
		tr.agent("expert", 3, 2, 21, 59)
		tr.chat(4, 3, 22, 50, list(user("why?")), list(says(answer)))
		tp := the(t, tr.runs(t))
		if got := slices.ContainsFunc(codes(tp), func(code string) bool { return strings.HasPrefix(code, "envelope_suspected") }); got != suspected {
			t.Errorf("%s: suspected %v, want %v; %v", answer, got, suspected, events(tp))
		}
	}
}
