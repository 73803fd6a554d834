// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// threaded is a run whose framework ran a tool in a thread of its own; what it reports of the call is what the model was told.
func threaded(start int, result string) *trace {
	tr := newTrace()
	const scope = "framework"
	tr.in(scope, "invoke_agent a", 1, 0, start, start+100, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a")
	tr.in(scope, "chat m", 2, 1, start+1, start+10, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m",
		"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"go"}]}]`,
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"tool_call","id":"call_12345678","name":"look","arguments":{"x":1}}]}]`)
	tool := tr.in(scope, "execute_tool look", 3, 1, start+11, start+40, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "look", "gen_ai.tool.call.id", "call_12345678",
		"gen_ai.tool.call.arguments", `{"x":1}`)
	if result != "" {
		tool.Attributes().PutStr("gen_ai.tool.call.result", result)
	}
	tr.in(scope, "chat m", 4, 1, start+41, start+60, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m",
		"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"go"}]},{"role":"assistant","parts":[{"type":"tool_call","id":"call_12345678","name":"look","arguments":{"x":1}}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"call_12345678","response":"r"}]}]`,
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"done"}]}]`)
	return tr
}

// written is what the program wrote of a tool in its own function, where the context was lost.
func written(scope, name, args, result string, start, end int) *trace {
	tr := newTrace()
	attributes := []any{"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", name}
	if args != "" {
		attributes = append(attributes, "gen_ai.tool.call.arguments", args)
	}
	if result != "" {
		attributes = append(attributes, "gen_ai.tool.call.result", result)
	}
	tr.in(scope, "execute_tool "+name, 9, 0, start, end, attributes...)
	return tr
}

// identified is the span of a tool by which the framework tells the id of its call.
func identified(id, name string, start, end int) *trace {
	tr := newTrace()
	tr.in("framework", "execute_tool "+name, 9, 0, start, end, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", name, "gen_ai.tool.call.id", id)
	return tr
}

func TestAToolThatLostItsContextReportsTheCallAroundIt(t *testing.T) {
	for name, c := range map[string]struct {
		tool   *trace
		others []*trace
		want   int
	}{
		"inside the call":              {written("app", "look", `{"x":1}`, "r", 12, 39), nil, 1},
		"no content":                   {written("app", "look", "", "", 12, 39), nil, 1},
		"other arguments":              {written("app", "look", `{"x":2}`, "r", 12, 39), nil, 2},
		"another result":               {written("app", "look", `{"x":1}`, "q", 12, 39), nil, 2},
		"another tool":                 {written("app", "pay", `{"x":1}`, "r", 12, 39), nil, 2},
		"of the scope of a program":    {written("framework", "look", `{"x":1}`, "r", 12, 39), nil, 1},
		"of that, not inside the call": {written("framework", "look", `{"x":1}`, "r", 12, 41), nil, 2},
		"of another run of that":       {identified("call_87654321", "look", 12, 39), nil, 2},
		"long after it":                {written("app", "look", `{"x":1}`, "r", 50, 70), nil, 2},
		"of another service":           {written("app", "look", `{"x":1}`, "r", 12, 39).service("bank"), nil, 1},
		"and without content":          {written("app", "look", "", "", 12, 39).service("bank"), nil, 2},
		"two runs call alike":          {written("app", "look", `{"x":1}`, "r", 16, 39), []*trace{threaded(2, "r").numbered(8)}, 3},
		"two runs, one after another":  {written("app", "look", `{"x":1}`, "r", 12, 39), []*trace{threaded(200, "r").numbered(8)}, 2},
	} {
		tapes := all(t, append(c.others, threaded(0, "r").numbered(1), c.tool.numbered(2))...)
		if len(tapes) != c.want {
			t.Errorf("%s: %d runs", name, len(tapes))
		}
	}
	tp := the(t, all(t, threaded(0, "r").numbered(1), written("app", "look", `{"x":1}`, "r", 12, 39).numbered(2)))
	if got := fmt.Sprint(tp.Usage.ToolCalls, len(tp.Sources.TraceIDs)); got != "1 2" {
		t.Errorf("calls and traces: %s, %v", got, events(tp))
	}
}

// In a stream a framework may not learn the ids of calls. The function within the span that it wrote tells the same of the call, under another name.
func TestAToolThatLostItsContextReportsTheCallAroundItThatHasNoID(t *testing.T) {
	run := func(name string) *trace {
		tr := newTrace()
		tr.in("framework", "invoke_agent a", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a", "gen_ai.prompt", "go", "gen_ai.completion", "done")
		tr.in("framework", "chat", 2, 1, 1, 10, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m")
		tr.in("framework", name, 3, 1, 11, 40, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "look", "gen_ai.tool.call.arguments", `{"x":1}`, "gen_ai.tool.call.result", "r")
		return tr
	}
	for name, c := range map[string]struct {
		span string
		tool *trace
		want int
	}{
		"under another name":  {"execute_tool", written("framework", "look", `{"x":1}`, "r", 12, 39), 1},
		"under the same name": {"execute_tool look", written("framework", "look", `{"x":1}`, "r", 12, 39), 2},
		"other arguments":     {"execute_tool", written("framework", "look", `{"x":2}`, "r", 12, 39), 2},
		"no content":          {"execute_tool", written("framework", "look", "", "", 12, 39), 2},
		"not inside it":       {"execute_tool", written("framework", "look", `{"x":1}`, "r", 12, 41), 2},
	} {
		if tapes := all(t, run(c.span).numbered(1), c.tool.numbered(2)); len(tapes) != c.want {
			t.Errorf("%s: %d runs", name, len(tapes))
		}
	}
}

// The tool of the framework may have lost its context itself, and so the function within it.
func TestAToolWithinAToolThatLostItsContextBelongsToTheSameRun(t *testing.T) {
	run := newTrace()
	run.in("framework", "invoke_agent a", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a", "gen_ai.conversation.id", "s", "gen_ai.prompt", "go", "gen_ai.completion", "done")
	run.in("framework", "chat", 2, 1, 1, 10, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m")
	tool := newTrace()
	tool.in("framework", "execute_tool", 9, 0, 12, 39, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "look", "gen_ai.tool.call.id", "call_12345678", "gen_ai.conversation.id", "s",
		"gen_ai.tool.call.arguments", `{"x":1}`)
	for other, want := range map[*trace]int{written("framework", "look", `{"x":1}`, "r", 13, 38): 1, written("framework", "look", `{"x":2}`, "r", 13, 38): 2} {
		if tapes := all(t, run.numbered(1), tool.numbered(2), other.numbered(3)); len(tapes) != want {
			t.Errorf("%d runs, want %d", len(tapes), want)
		}
	}
}

// What a framework told the model of a failure may be all that its span shows of it.
func TestAFailedToolThatLostItsContextReportsTheCallThatToldSo(t *testing.T) {
	for name, c := range map[string]struct {
		result string
		want   int
	}{
		"the failure told":   {"Tool failed: no such order 7", 1},
		"another thing told": {"r", 2},
		"nothing told":       {"", 1},
	} {
		tool := newTrace()
		span := tool.in("app", "execute_tool look", 9, 0, 12, 39, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "look", "gen_ai.tool.call.arguments", `{"x":1}`)
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage("no such order 7")
		if tapes := all(t, threaded(0, c.result).numbered(1), tool.numbered(2)); len(tapes) != c.want {
			t.Errorf("%s: %d runs", name, len(tapes))
		}
	}
}

// Of a few words, which stand in another text by chance, two reports say the same where all that one of them says besides is the class of an error.
func TestAShortFailureBehindItsClassIsTheSameFailure(t *testing.T) {
	for told, want := range map[string]int{"timeout": 1, "ToolError: timeout": 1, "ToolError: no timeout": 2, "at noon: timeout": 2} {
		outer := threaded(0, "")
		inner := newTrace()
		span := inner.in("app", "execute_tool look", 9, 0, 12, 39, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "look", "gen_ai.tool.call.arguments", `{"x":1}`)
		for s, message := range map[ptrace.Span]string{span: "timeout", outer.scopes["framework"].Spans().At(2): told} {
			s.Status().SetCode(ptrace.StatusCodeError)
			s.Status().SetMessage(message)
		}
		if tapes := all(t, outer.numbered(1), inner.numbered(2)); len(tapes) != want {
			t.Errorf("%s: %d runs, want %d", told, len(tapes), want)
		}
	}
}

// A few words of a failure, or none, are told behind words of the framework that say that there was one.
func TestAFailureOfFewWordsIsToldBehindThoseOfTheFramework(t *testing.T) {
	for _, c := range []struct {
		message, told string
		want          int
	}{
		{"timeout", "Error: Tool execution failed: timeout", 1},
		{"timeout", "The first train: timeout", 2},
		{"timeout", "It failed after a timeout", 2},
		{"", "Toolset error: ToolCallError", 1},
		{"", "42 orders", 2},
		{"", `{"error": null, "orders": 42}`, 2},
	} {
		tool := newTrace()
		span := tool.in("app", "execute_tool look", 9, 0, 12, 39, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "look", "gen_ai.tool.call.arguments", `{"x":1}`)
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage(c.message)
		if tapes := all(t, threaded(0, c.told).numbered(1), tool.numbered(2)); len(tapes) != c.want {
			t.Errorf("%q told as %q: %d runs", c.message, c.told, len(tapes))
		}
	}
}

// A model may ask once more for what it had done, and the program end there. What the program wrote of the first call is no execution of the second.
func TestAReportOfACallExecutesNoLaterOne(t *testing.T) {
	for name, c := range map[string]struct {
		tool *trace
		want string
	}{
		"a report of the call":  {written("app", "look", `{"x":1}`, "r", 12, 39), "r, nothing"},
		"an execution after it": {written("app", "look", `{"x":1}`, "q", 62, 70), "r, q"},
	} {
		run := newTrace()
		asks := func(id string) string {
			return `{"role":"assistant","parts":[{"type":"tool_call","id":"` + id + `","name":"look","arguments":{"x":1}}]}`
		}
		const question = `{"role":"user","parts":[{"type":"text","content":"go"}]}`
		run.in("framework", "invoke_agent a", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a")
		run.in("framework", "chat m", 2, 1, 1, 10, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.input.messages", `[`+question+`]`, "gen_ai.output.messages", `[`+asks("call_12345678")+`]`)
		run.in("framework", "execute_tool look", 3, 1, 11, 40, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "look", "gen_ai.tool.call.id", "call_12345678",
			"gen_ai.tool.call.arguments", `{"x":1}`, "gen_ai.tool.call.result", "r")
		run.in("framework", "chat m", 4, 1, 41, 60, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m",
			"gen_ai.input.messages", `[`+question+`,`+asks("call_12345678")+`,{"role":"tool","parts":[{"type":"tool_call_response","id":"call_12345678","response":"r"}]}]`,
			"gen_ai.output.messages", `[`+asks("call_87654321")+`]`)
		var results []string
		for _, e := range the(t, all(t, run.numbered(1), c.tool.numbered(2))).Events {
			if e.Name == "look" {
				results = append(results, cmp.Or(e.Result.Str(), "nothing"))
			}
		}
		if got := strings.Join(results, ", "); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The span of a run that a program never made the current one lies in a trace of its own, and those of its calls in theirs.
func TestTheSpanOfARunThatFailedHasItsCalls(t *testing.T) {
	broken := func(question string, start, end int) *trace {
		tr := newTrace()
		span := tr.in("app", "invoke_agent a", 1, 0, start, end, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a", "input.value", question)
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage("no more steps")
		return tr
	}
	calls := func(answer string) *trace {
		tr := newTrace()
		tr.in("app", "chat m", 2, 0, 10, 20, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"Where is it?"}]}]`,
			"gen_ai.output.messages", `[{"role":"assistant","parts":[`+answer+`]}]`)
		return tr
	}
	const asks = `{"type":"tool_call","id":"call_12345678","name":"look","arguments":{"x":1}}`
	for name, c := range map[string]struct {
		traces []*trace
		want   int
	}{
		"around its calls":           {[]*trace{broken("Where is it?", 0, 30), calls(asks)}, 1},
		"asked something else":       {[]*trace{broken("Who is it, then?", 0, 30), calls(asks)}, 2},
		"over before":                {[]*trace{broken("Where is it?", 0, 15), calls(asks)}, 2},
		"which came to an answer":    {[]*trace{broken("Where is it?", 0, 30), calls(`{"type":"text","content":"There."}`)}, 2},
		"two that may be":            {[]*trace{broken("Where is it?", 0, 30), broken("Where is it?", 1, 31), calls(asks)}, 3},
		"two that may be its calls":  {[]*trace{broken("Where is it?", 0, 30), calls(asks), calls(asks).moved(1)}, 3},
		"of another service's calls": {[]*trace{broken("Where is it?", 0, 30).service("bank"), calls(asks)}, 2},
	} {
		for i, tr := range c.traces {
			tr.numbered(byte(i + 1))
		}
		tapes := all(t, c.traces...)
		if len(tapes) != c.want {
			t.Errorf("%s: %d runs", name, len(tapes))
		}
		if c.want == 1 && tapes[0].Run.Status != tape.StatusError {
			t.Errorf("%s: it ended %s", name, tapes[0].Run.Status)
		}
	}
}

// What a run was started with may be JSON that is no message; its model was sent that as a text.
func TestTheSpanOfARunThatWasGivenJSONHasItsCalls(t *testing.T) {
	for asked, want := range map[string]int{`{"id":7,"note":[]}`: 1, `{"id":8}`: 2} {
		run, call := newTrace(), newTrace()
		run.in("app", "invoke_agent a", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a", "input.value", `{"id":7,"note":[]}`, "output.value", "It is there, on the left.")
		call.in("app", "chat m", 2, 0, 10, 20, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":`+strconv.Quote(asked)+`}]}]`,
			"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"It is there, on the left."}]}]`)
		if tapes := all(t, run.numbered(1), call.numbered(2)); len(tapes) != want {
			t.Errorf("%s: %d runs", asked, len(tapes))
		}
	}
}
