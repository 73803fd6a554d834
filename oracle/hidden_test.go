// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// says is a text as a part of a message.
func says(text string) tape.Part { return tape.Part{Type: tape.PartText, Text: text} }

// silence takes all content from the messages.
func (s *script) silence() {
	for id, m := range s.tape.Messages {
		m.Parts = nil
		s.tape.Messages[id] = m
	}
}

// A tape claims that its tools can be served only where nothing tells of calls that it does not hold.
// offer says that the first model call was offered one tool.
func offer(s *script, name string) {
	tool := tape.Tool{Name: name}
	if s.tape.Tools == nil {
		s.tape.Tools = map[string]tape.Tool{}
	}
	s.tape.Tools[tool.ID()] = tool
	s.tape.Events[0].Request.Tools = []string{tool.ID()}
}

// cutAtCalls is a run of which the first answer was cut behind a call, and maybe the request behind it.
func cutAtCalls(request, spans bool) func(*script) {
	return func(s *script) {
		a := s.call("1", "add", `{"x":1}`)
		s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
		s.tape.Events[1].SpanIDs = nil
		if spans {
			s.tape.Events[1].SpanIDs = []string{"0000000000000001"}
		}
		s.model(says("two"))
		s.tape.Events[0].Provenance = tape.Provenance{"response.message": tape.Truncated}
		if request {
			s.tape.Events[2].Provenance = tape.Provenance{"request.messages": tape.Truncated}
		}
	}
}

func TestCallsThatTheTapeDoesNotHoldLowerTheGrade(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(*script)
		want string // the reason, "" for a claim
	}{
		{"a plain answer", func(s *script) { s.model(says("four")) }, ""},
		{"a call of the same turn", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.tape.Events[0].Response.FinishReasons = []string{"tool_calls"}
			s.model(says("two"))
		}, ""},
		{"asked for tools that are named nowhere", func(s *script) {
			s.model(says("let me see"))
			s.tape.Events[0].Response.FinishReasons = []string{"tool_use"}
			s.model(says("two"))
		}, "calls may be missing after #1"},
		{"tool spans belong to the answer before them", func(s *script) {
			s.model(says("let me see"))
			s.tape.Events[0].Response.FinishReasons = []string{"tool_use"}
			s.tool(0, s.call("1", "add", `{"x":1}`), `"the sum is two"`, "")
			s.model(says("two"))
		}, ""},
		{"an answer that says nothing, and the run went on", func(s *script) {
			s.model(says(""))
			s.model(says("two"))
		}, "calls may be missing after #1"},
		{"a last answer that says nothing, where tools have spans", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.tape.Events[1].SpanIDs = []string{"0000000000000001"}
			s.model(says(""))
			s.tape.Output.Text = nil
		}, ""},
		{"a last answer that says nothing, where tools have none", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.tape.Events[1].SpanIDs = nil
			s.model(says(""))
			s.tape.Output.Text = nil
		}, "calls may be missing after #3"},
		{"a last answer that says nothing, where a span was lost", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.tape.Events[1].SpanIDs = []string{"0000000000000001"}
			s.model(says(""))
			s.tape.Output.Text = nil
			s.tape.Fidelity.AddFinding(tape.CodeSpanGap, 0, "", "the parent of 1 span is no part of the evidence; placed by time")
		}, "calls may be missing after #3"},
		{"a last answer that asked for tools at a limit, where tools have spans", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.tape.Events[1].SpanIDs = []string{"0000000000000001"}
			s.model(says(""))
			s.tape.Events[2].Response.FinishReasons = []string{"tool_calls"}
		}, ""},
		{"a last answer that asked for tools, where tools have none", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.tape.Events[1].SpanIDs = nil
			s.model(says(""))
			s.tape.Events[2].Response.FinishReasons = []string{"tool_calls"}
		}, "calls may be missing after #3"},
		{"a last answer that asked for tools, where a span was lost", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.tape.Events[1].SpanIDs = []string{"0000000000000001"}
			s.model(says(""))
			s.tape.Events[2].Response.FinishReasons = []string{"tool_calls"}
			s.tape.Fidelity.AddFinding(tape.CodeSpanGap, 0, "", "the parent of 1 span is no part of the evidence; placed by time")
		}, "calls may be missing after #3"},
		{"an answer that asked for tools, and the run went on", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.tape.Events[1].SpanIDs = []string{"0000000000000001"}
			s.model(says(""))
			s.tape.Events[2].Response.FinishReasons = []string{"tool_calls"}
			s.model(says("two"))
		}, "calls may be missing after #3"},
		{"no answer recorded, and the run went on", func(s *script) {
			s.model(says("x"))
			s.tape.Events[0].Response = nil
			s.model(says("two"))
		}, "calls may be missing after #1"},
		{"no answer recorded, and the run broke off behind a tool", func(s *script) {
			s.model(says("x"))
			s.tape.Events[0].Response = nil
			s.tool(0, s.call("1", "add", `{"x":1}`), `"the sum is two"`, "")
			s.tape.Output.Text = nil
			s.tape.Fidelity.AddFinding(tape.CodeNoRoot, 0, "", "")
		}, "calls may be missing after #1"},
		{"no answer recorded, and the run ended behind a tool", func(s *script) {
			s.model(says("x"))
			s.tape.Events[0].Response = nil
			s.tool(0, s.call("1", "add", `{"x":1}`), `"the sum is two"`, "")
			s.tape.Output.Text = nil
		}, ""},
		{"no answer recorded but that it asked for tools, and the run broke off behind one", func(s *script) {
			s.model(says("x"))
			s.tape.Events[0].Response = &tape.Response{FinishReasons: []string{"tool_calls"}}
			s.tool(0, s.call("1", "add", `{"x":1}`), `"the sum is two"`, "")
			s.tape.Output.Text = nil
			s.tape.Fidelity.AddFinding(tape.CodeNoRoot, 0, "", "")
		}, ""},
		{"no answer recorded, but why it stopped", func(s *script) {
			s.model(says("x"))
			s.tape.Events[0].Response = &tape.Response{FinishReasons: []string{"stop"}}
			s.model(says("two"))
		}, ""},
		{"no answer recorded of an API that says STOP where it asks for tools", func(s *script) {
			s.model(says("x"))
			s.tape.Events[0].Provider = "gemini"
			s.tape.Events[0].Response = &tape.Response{FinishReasons: []string{"stop"}}
			s.model(says("two"))
		}, "calls may be missing after #1"},
		{"a later request shows a call", func(s *script) {
			s.model(says("one moment"))
			s.say(tape.RoleAssistant, s.call("9", "add", `{"x":1}`))
			s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: "9", Result: parse(s.tb, `"two"`)})
			s.model(says("two"))
		}, "calls may be missing after #2"},
		{"a later request shows a result, and no record a call", func(s *script) {
			s.model(says("one moment"))
			s.say(tape.RoleTool, says("two"))
			s.model(says("two"))
		}, "calls may be missing after #2"},
		{"a later request shows the result of a call that no record reports, beside those that are", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.model(says("one moment"))
			s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: "9", Result: parse(s.tb, `"three"`)})
			s.model(says("two"))
		}, "calls may be missing after #4"},
		{"a result under an id of another kind is that of the call without one", func(s *script) {
			a, b := s.call("1", "add", `{"x":1}`), s.call("2", "add", `{"x":2}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.tool(s.model(b), b, `"the sum is three"`, "")
			s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: "fc_2", Result: parse(s.tb, `"the sum is three"`)})
			s.model(says("two"))
		}, ""},
		{"no reason why the answer ended, and a user went on", func(s *script) {
			s.model(says("one moment"))
			s.say(tape.RoleUser, says(`{"sum":2}`))
			s.model(says("two"))
		}, "calls may be missing after #1"},
		{"an answer that ended, and a user went on", func(s *script) {
			s.model(says("how much?"))
			s.tape.Events[0].Response.FinishReasons = []string{"stop"}
			s.say(tape.RoleUser, says("two"))
			s.model(says("four"))
		}, ""},
		{"a user went on, and calls are recorded where there are some", func(s *script) {
			s.model(says("how much?"))
			s.say(tape.RoleUser, says("two"))
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.model(says("two"))
		}, ""},
		{"another agent went on", func(s *script) {
			s.model(says("how much?"))
			s.sent = append(s.sent, s.put(tape.RoleUser, says("two")))
			id := s.sent[len(s.sent)-1]
			m := s.tape.Messages[id]
			m.Name = "critic"
			s.tape.Messages[id] = m
			s.model(says("four"))
		}, ""},
		{"an answer of before, and a user went on", func(s *script) {
			s.say(tape.RoleAssistant, says("how much?"))
			s.say(tape.RoleUser, says("two"))
			s.model(says("four"))
		}, ""},
		{"results of earlier turns are history", func(s *script) {
			s.say(tape.RoleTool, says("two"))
			s.model(says("two"))
		}, ""},
		{"calls of earlier turns are history", func(s *script) {
			s.say(tape.RoleAssistant, s.call("9", "add", `{"x":1}`))
			s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: "9", Result: parse(s.tb, `"two"`)})
			s.say(tape.RoleUser, says("thanks, and what is its square?"))
			s.model(says("four"))
		}, ""},
		{"one span for a loop of calls", func(s *script) {
			tool := tape.Tool{Name: "add"}
			s.tape.Tools[tool.ID()] = tool
			s.model(says("two"))
			s.tape.Events[0].Request.Tools = []string{tool.ID()}
			s.tape.Fidelity.AddFinding(tape.CodeModelCallHidden, 1, "response", "")
		}, "calls may be missing after #1"},
		{"a loop that failed and tells no request", func(s *script) {
			s.model(says(""))
			s.tape.Events[0].Status, s.tape.Events[0].Request, s.tape.Events[0].Response = tape.EventError, nil, nil
			s.tape.Fidelity.AddFinding(tape.CodeModelCallHidden, 1, "response", "")
		}, "calls may be missing after #1"},
		{"a call that is said to have failed and holds nothing, and the run answered", func(s *script) {
			s.model(says(""))
			s.tape.Events[0].Status, s.tape.Events[0].Request, s.tape.Events[0].Response = tape.EventError, nil, nil
		}, "calls may be missing after #1"},
		{"a call that is said to have failed and holds nothing, and so does the run", func(s *script) {
			s.model(says(""))
			s.tape.Events[0].Status, s.tape.Events[0].Request, s.tape.Events[0].Response = tape.EventError, nil, nil
			s.tape.Output.Text = nil
		}, "calls may be missing after #1"},
		{"a call that failed and was asked something", func(s *script) {
			s.model(says(""))
			s.tape.Events[0].Status, s.tape.Events[0].Response = tape.EventError, nil
			s.tape.Output.Text = nil
		}, ""},
		{"a call that is said to have failed after one that answered", func(s *script) {
			s.model(says("one moment"))
			s.model(says(""))
			s.tape.Events[1].Status, s.tape.Events[1].Request, s.tape.Events[1].Response = tape.EventError, nil, nil
		}, ""},
		{"calls in whose place the instrumentation failed", func(s *script) {
			s.tape.Output.Text = nil
			for i := range 2 {
				s.model(says(""))
				s.tape.Events[i].Status, s.tape.Events[i].Request, s.tape.Events[i].Response = tape.EventError, nil, nil
				s.tape.Fidelity.AddFinding(tape.CodeModelCallHidden, s.tape.Events[i].Seq, "response.message", "")
			}
		}, "calls may be missing after #1, #2"},
		{"the last call alone, in whose place the instrumentation failed, and the run answered", func(s *script) {
			s.model(says("one moment"))
			s.model(says(""))
			s.tape.Events[1].Status, s.tape.Events[1].Request, s.tape.Events[1].Response = tape.EventError, nil, nil
			s.tape.Fidelity.AddFinding(tape.CodeModelCallHidden, s.tape.Events[1].Seq, "response.message", "")
		}, ""},
		{"a call that failed, whose request is known, and the run answered", func(s *script) {
			s.say(tape.RoleUser, says("go"))
			s.model(says(""))
			s.tape.Events[0].Status, s.tape.Events[0].Response = tape.EventError, nil
		}, ""},
		{"a run without any text, whose last answer ended by itself", func(s *script) {
			s.tape.Output.Text = nil
			s.model(says(""))
			s.silence()
			s.tape.Events[0].Provider, s.tape.Events[0].Response.FinishReasons = "openai", []string{"stop"}
		}, ""},
		{"a run without any text, of a provider whose reason tells nothing", func(s *script) {
			s.tape.Output.Text = nil
			s.model(says(""))
			s.silence()
			s.tape.Events[0].Provider, s.tape.Events[0].Response.FinishReasons = "ollama", []string{"stop"}
		}, "calls may be missing after #1"},
		{"an answer without a text among others with one", func(s *script) {
			s.tape.Output.Text = nil
			s.say(tape.RoleUser, says("go"))
			s.model(says(""))
			s.tape.Events[0].Provider, s.tape.Events[0].Response.FinishReasons = "openai", []string{"stop"}
		}, "calls may be missing after #1"},
		{"an answer that was cut at its calls, as was the request behind it", cutAtCalls(true, false), "calls may be missing after #1"},
		{"an answer that was cut at its calls, and a whole request behind it", cutAtCalls(false, false), ""},
		{"an answer that was cut at its calls, where tools have spans", cutAtCalls(true, true), ""},
		{"no call at all", func(*script) {}, "no record tells which calls were asked for"},
		{"tools without a model, all spans there", func(s *script) { s.tool(0, s.call("1", "add", `{"x":1}`), `"the sum is two"`, "") }, ""},
		{"tools without a model, a span was lost", func(s *script) {
			s.tool(0, s.call("1", "add", `{"x":1}`), `"the sum is two"`, "")
			s.tape.Fidelity.AddFinding(tape.CodeSpanGap, 0, "", "the parent of 1 span is no part of the evidence; placed by time")
		}, "no record tells which calls were asked for"},
		{"tools without a model, spans that name no parent", func(s *script) {
			s.tool(0, s.call("1", "add", `{"x":1}`), `"the sum is two"`, "")
			s.tape.Fidelity.AddFinding(tape.CodeSpanGap, 0, "", "1 span of a trace without parents, placed by time and content")
		}, ""},
		{"tools whose model asked for them, a span was lost", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.model(says("two"))
			s.tape.Fidelity.AddFinding(tape.CodeSpanGap, 0, "", "the parent of 1 span is no part of the evidence; placed by time")
		}, ""},
		{"a call without an answer", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, "", "")
			s.model(says("two"))
		}, "no answer for #2"},
		{"a run that breaks off with a call that nobody could execute", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, "", "")
			offer(s, "subtract")
			s.tape.Output.Text = nil
			s.tape.Fidelity.AddFinding(tape.CodeNoRoot, 0, "run.root_span_id", "no agent span; the calls were grouped")
		}, "calls may be missing after #1"},
		{"the same, and it is known how the run ended", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, "", "")
			offer(s, "subtract")
			s.tape.Output.Text = nil
		}, ""},
		{"a call that nobody could execute, and the run went on", func(s *script) {
			a := s.call("1", "add", `{"x":1}`)
			s.tool(s.model(a), a, "", "")
			offer(s, "subtract")
			s.model(says("two"))
			s.tape.Fidelity.AddFinding(tape.CodeNoRoot, 0, "run.root_span_id", "no agent span; the calls were grouped")
		}, ""},
		{"the only call failed, and its request ends with a result of no known call", func(s *script) {
			s.say(tape.RoleAssistant, s.call("1", "add", `{"x":1}`))
			s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: "1", Result: parse(s.tb, `"two"`)})
			s.model(says("x"))
			s.tape.Events[0].Status, s.tape.Events[0].Response = tape.EventError, nil
		}, "calls may be missing after #1"},
		{"the only call failed, and its request ends with what the user said after an earlier call", func(s *script) {
			s.say(tape.RoleAssistant, s.call("1", "add", `{"x":1}`))
			s.say(tape.RoleTool, tape.Part{Type: tape.PartToolResult, ID: "1", Result: parse(s.tb, `"two"`)})
			s.say(tape.RoleUser, says("and then?"))
			s.model(says("x"))
			s.tape.Events[0].Status, s.tape.Events[0].Response = tape.EventError, nil
		}, ""},
		{"a masked argument", func(s *script) {
			a := s.call("1", "add", `{"x":"***"}`)
			s.tool(s.model(a), a, `"the sum is two"`, `"the sum is two"`)
			s.tape.Events[1].Provenance = tape.Provenance{"args": tape.Lossy}
			s.model(says("two"))
		}, "arguments or answer are not what they were for #2"},
	} {
		s := newScript(t)
		input, output := "go", "two"
		s.tape.Input.UserMessage, s.tape.Output.Text = &input, &output
		c.make(s)
		Assess(s.tape)
		why := ""
		for _, f := range s.tape.Fidelity.Findings {
			if f.Code == tape.CodeToolsUnproved {
				why = f.Detail
			}
		}
		claims := s.tape.Fidelity.Grade == tape.GradeOffline || s.tape.Fidelity.Grade == tape.GradeTools
		if why != c.want || claims != (c.want == "") || s.tape.Fidelity.Replayable.Tools != claims {
			t.Errorf("%s: grade %s, %q", c.name, s.tape.Fidelity.Grade, why)
		}
		for _, p := range tape.Verify(s.tape, nil) {
			if p.Code == tape.ProblemGrade {
				t.Errorf("%s: %+v", c.name, p)
			}
		}
		before := string(s.tape.AppendJSON(nil))
		if Assess(s.tape); string(s.tape.AppendJSON(nil)) != before {
			t.Errorf("%s: assessed again it is another", c.name)
		}
	}
}

func TestReasonsNameTheFirstCallsOnly(t *testing.T) {
	if got := events(11, func(int) string { return "#1" }); strings.Count(got, "#1") != 8 || !strings.HasSuffix(got, ", 3 more") {
		t.Error(got)
	}
}
