// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// One function of a loop that was written by hand runs every tool. Its span holds the call that it was handed; the last one of a loop that was cut has no request after it.
func TestFunctionThatRunsEveryToolIsTheCallThatItWasHanded(t *testing.T) {
	wire := `{"tool_call":{"id":"call_a1","type":"function","function":{"name":"f","arguments":"{\"page\": 3}"}}}`
	message := `{"role":"tool","tool_call_id":"call_a1","name":"f","content":"v"}`
	const paired, unpaired = "tool_call f @3 by 1 = v", "tool_call f by 1 failed (missing)"
	for name, c := range map[string]struct{ kind, in, out, want string }{
		"name and arguments":              {"tool", `{"name":"f","arguments":{"page":3}}`, "v", paired},
		"by position":                     {"tool", `{"args":["f",{"page":3}],"kwargs":{}}`, "v", paired},
		"as the model wrote it":           {"tool", wire, "v", paired},
		"an object of the provider's SDK": {"tool", `{"call":"ChatCompletionMessageToolCall(id='call_a1', function=Function(arguments='{\"page\": 3}', name='f'), type='function')"}`, "v", paired},
		"the message is returned":         {"tool", wire, message, paired},
		"a step without a type":           {"span", wire, "v", paired},
		"a step that returns the message": {"span", wire, message, paired},
		"a step that writes it down":      {"span", wire, "null", unpaired},
		"the id of another call":          {"span", `{"id":"call_b2","name":"f","arguments":{"page":3}}`, "v", unpaired},
		"other arguments":                 {"span", `{"name":"f","arguments":{"page":4}}`, "v", unpaired},
		"another tool":                    {"span", `{"name":"g","arguments":{"page":3}}`, "v", unpaired},
		"arguments without a name":        {"span", `{"arguments":{"page":3}}`, "v", unpaired},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"args": ["q"], "kwargs": {}}`)
			tr.chat(2, 1, 10, 20, list(user("q")), list(asks(call("call_a1", "f", `{"page":3}`))))
			tr.in("langfuse-sdk", "execute", 3, 1, 30, 40, "langfuse.observation.type", c.kind, "langfuse.observation.input", c.in, "langfuse.observation.output", c.out)
			wantEvents(t, the(t, tr.runs(t)), "model_call @2", c.want)
		})
	}
}

// Tools without parameters have nothing by which their calls are told apart but their name.
func TestFunctionThatRunsEveryToolTellsToolsWithoutParametersByTheirNames(t *testing.T) {
	tr := newTrace()
	tr.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"args": ["q"], "kwargs": {}}`)
	tr.chat(2, 1, 10, 20, list(user("q")), list(asks(call("", "f", `{}`), call("", "g", `{}`))))
	for i, name := range []string{"g", "f"} {
		tr.in("langfuse-sdk", "execute", 3+i, 1, 30+10*i, 35+10*i, "langfuse.observation.type", "tool", "langfuse.observation.input", `{"name":"`+name+`","arguments":{}}`, "langfuse.observation.output", "of "+name)
	}
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call g @3 by 1 = of g", "tool_call f @4 by 1 = of f")
}

// Where the tool has a span of its own inside, that one is the call. A tool that calls another one stays.
func TestFunctionAroundTheToolIsNoCall(t *testing.T) {
	for in, want := range map[string][]string{
		`{"name":"f","arguments":{"page":3}}`: {"model_call @2", "tool_call f @4 by 1 = v"},
		`{"name":"g","arguments":{"page":9}}`: {"model_call @2", "tool_call execute @3 = w", "tool_call f @4 by 1 = v"},
	} {
		tr := newTrace()
		tr.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"args": ["q"], "kwargs": {}}`)
		tr.chat(2, 1, 10, 20, list(user("q")), list(asks(call("call_a1", "f", `{"page":3}`))))
		tr.in("langfuse-sdk", "execute", 3, 1, 30, 40, "langfuse.observation.type", "tool", "langfuse.observation.input", in, "langfuse.observation.output", "w")
		tr.in("langfuse-sdk", "f", 4, 3, 31, 39, "langfuse.observation.type", "tool", "langfuse.observation.input", `{"page":3}`, "langfuse.observation.output", "v")
		wantEvents(t, the(t, tr.runs(t)), want...)
	}
}

// Google's calls have no ids: the message that the function returns names the tool. What it caught and told the model as an error is one.
func TestFunctionThatRunsEveryToolMayTellOfAFailure(t *testing.T) {
	for key, want := range map[string]string{"error": "tool_call f @3 by 1 = Error: no v failed", "result": "tool_call f @3 by 1 = Error: no v"} {
		tr := newTrace()
		tr.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"args": ["q"], "kwargs": {}}`)
		ask := asks(call("", "f", `{"page":3}`))
		tr.chat(2, 1, 10, 20, list(user("q")), list(ask))
		tr.in("langfuse-sdk", "execute", 3, 1, 30, 40, "langfuse.observation.type", "tool", "langfuse.observation.input", `{"tool_call":{"id":null,"function":{"name":"f","arguments":"{\"page\": 3}"}}}`,
			"langfuse.observation.output", `{"role":"tool","tool_call_id":null,"name":"f","content":"Error: no v"}`)
		told := `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"` + key + `":"Error: no v"}}}]}`
		tr.chat(4, 1, 50, 60, list(user("q"), ask, told), list(says("end")))
		wantEvents(t, the(t, tr.runs(t)), "model_call @2", want, "model_call @4")
	}
}

// A step that was handed the call, and came to something else than the model was told, has not run it.
func TestStepThatCameToSomethingElseHasNotRunTheCall(t *testing.T) {
	for out, want := range map[string]string{"v": "tool_call f @3 by 1 = v", "written": "tool_call f by 1 = v (recovered)"} {
		tr := newTrace()
		tr.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"args": ["q"], "kwargs": {}}`)
		ask := asks(call("call_a1", "f", `{"page":3}`))
		tr.chat(2, 1, 10, 20, list(user("q")), list(ask))
		tr.in("langfuse-sdk", "note", 3, 1, 30, 40, "langfuse.observation.type", "span", "langfuse.observation.input", `{"name":"f","arguments":{"page":3}}`, "langfuse.observation.output", out)
		tr.chat(4, 1, 50, 60, list(user("q"), ask, shows("call_a1", "v")), list(says("end")))
		wantEvents(t, the(t, tr.runs(t)), "model_call @2", want, "model_call @4")
	}
}

// No span holds the loop together: the call that the function was handed is one that a response asked for.
func TestFunctionThatRunsEveryToolBelongsToTheRunThatAsked(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want int
	}{
		"by the id":                {`{"tool_call":{"id":"call_a1","type":"function","function":{"name":"f","arguments":"{\"page\": 3}"}}}`, 1},
		"by name and arguments":    {`{"name":"f","arguments":{"page":3}}`, 1},
		"the id of another call":   {`{"tool_call":{"id":"call_b2","type":"function","function":{"name":"g","arguments":"{\"page\": 3}"}}}`, 2},
		"other arguments":          {`{"name":"f","arguments":{"page":4}}`, 2},
		"more than a call":         {`{"name":"f","arguments":{"page":3},"shell":"bash"}`, 2},
		"arguments without a name": {`{"arguments":{"page":3}}`, 2},
	} {
		ask := asks(call("call_a1", "f", `{"page":3}`))
		tr := newTrace()
		tr.chat(2, 90, 10, 20, list(user("q")), list(ask))
		tr.in("langfuse-sdk", "handle_tool_call", 3, 91, 30, 40, "langfuse.observation.type", "tool", "langfuse.observation.input", c.in, "langfuse.observation.output", "v")
		tr.chat(4, 92, 50, 60, list(user("q"), ask, shows("call_a1", "v")), list(says("end")))
		tapes := tr.runs(t)
		if len(tapes) != c.want {
			t.Errorf("%s: %d runs", name, len(tapes))
		} else if c.want == 1 {
			wantEvents(t, tapes[0], "model_call @2", "tool_call f @3 by 1 = v", "model_call @4")
		}
	}
}

// Where no record tells what a model was offered or asked for, the name of such a function and what it was handed have to say it.
func TestFunctionThatRunsEveryToolIsKnownByItsName(t *testing.T) {
	for name, c := range map[string]struct{ function, in, want string }{
		"by position":          {"execute_tool", `{"args":["f",{"page":3}],"kwargs":{}}`, "tool_call f @2 = v"},
		"by members":           {"runToolCall", `{"call_id":"c1","name":"f","arguments":"{\"page\":3}"}`, "tool_call f @2 = v"},
		"of chat completions":  {"handle_tool_call", `{"tool_call":{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"page\":3}"}}}`, "tool_call f @2 = v"},
		"as the one argument":  {"handle_tool_call", `{"tool_call":{"id":"c1","name":"f","arguments":{"page":3}}}`, "tool_call f @2 = v"},
		"a tool of its own":    {"send_mail", `{"args":["f",{"page":3}],"kwargs":{}}`, "tool_call send_mail @2 = v"},
		"arguments alone":      {"execute_tool", `{"page":{"n":3}}`, "tool_call execute_tool @2 = v"},
		"more than a call":     {"run_tool", `{"name":"f","arguments":{"page":3},"shell":"bash"}`, "tool_call run_tool @2 = v"},
		"a sentence, no name":  {"run_tool", `{"task":"open the page","options":{"page":3}}`, "tool_call run_tool @2 = v"},
		"the name of a folder": {"run_tool", `{"path":"a/f","options":{"page":3}}`, "tool_call run_tool @2 = v"},
	} {
		tr := newTrace()
		tr.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"args": ["q"], "kwargs": {}}`, "langfuse.observation.output", "end")
		tr.in("langfuse-sdk", c.function, 2, 1, 30, 40, "langfuse.observation.type", "tool", "langfuse.observation.input", c.in, "langfuse.observation.output", "v")
		if got := events(the(t, tr.runs(t))); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %q", name, got)
		}
	}
	said := newTrace() // the tape says where it has the call from
	said.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"args": ["q"], "kwargs": {}}`, "langfuse.observation.output", "end")
	said.in("langfuse-sdk", "execute_tool", 2, 1, 30, 40, "langfuse.observation.type", "tool", "langfuse.observation.input", `{"args":["f",{"page":3}],"kwargs":{}}`, "langfuse.observation.output", "v")
	if tp := the(t, said.runs(t)); tp.Events[0].Provenance["args"] != tape.Recovered || !slices.ContainsFunc(tp.Fidelity.Findings, func(f tape.Finding) bool { return f.Seq == 1 && f.Field == "name" }) {
		t.Errorf("%v, findings %v", tp.Events[0].Provenance, tp.Fidelity.Findings)
	}
	tr := newTrace() // a model that was offered it may ask for it by its own name
	tr.agent("main", 1, 0, 0, 100)
	tr.chat(2, 1, 10, 20, list(user("q")), list(says("I cannot.")), "gen_ai.tool.definitions", `[{"type":"function","name":"execute_tool"}]`)
	tr.tool("execute_tool", 3, 1, 30, 40, "", `{"name":"f","arguments":{"page":3}}`, "v")
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call execute_tool @3 = v")
}

// The framework had a call run that no answer asked for. What was handed in the words of an API, or to a function that was seen to run calls, is the call.
func TestCallThatAFrameworkHandedToTheFunctionThatRunsEveryTool(t *testing.T) {
	const asked = `{"id":"call_a1","type":"tool_use","name":"f","input":{"page":3}}`
	for name, c := range map[string]struct {
		in    string
		asked bool // the function ran a call before, which the model asked for
		want  []string
	}{
		"in the words of an API":         {`{"tool_call":{"id":"own_1","type":"tool_use","name":"store","input":{"page":9}}}`, false, []string{"tool_call store @5 = w"}},
		"in words of its own":            {`{"name":"store","arguments":{"page":9}}`, false, []string{"tool_call execute @5 = w"}},
		"in words of its own, seen once": {`{"name":"store","arguments":{"page":9}}`, true, []string{"tool_call f @3 by 1 = v", "tool_call store @5 = w"}},
		"nothing":                        {`{"page":9}`, true, []string{"tool_call f @3 by 1 = v", "tool_call execute @5 = w"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"args": ["q"], "kwargs": {}}`)
			want := []string{"model_call @2"}
			if c.asked {
				tr.chat(2, 1, 10, 20, list(user("q")), list(asks(call("call_a1", "f", `{"page":3}`))))
				tr.in("langfuse-sdk", "execute", 3, 1, 30, 40, "langfuse.observation.type", "tool", "langfuse.observation.input", `{"tool_call":`+asked+`}`, "langfuse.observation.output", "v")
			} else {
				tr.chat(2, 1, 10, 20, list(user("q")), list(says("The end of it.")), "gen_ai.tool.definitions", `[{"type":"function","name":"f"}]`)
			}
			tr.in("langfuse-sdk", "execute", 5, 1, 70, 80, "langfuse.observation.type", "tool", "langfuse.observation.input", c.in, "langfuse.observation.output", "w")
			wantEvents(t, the(t, tr.runs(t)), append(want, c.want...)...)
		})
	}
}

// Of two equal calls of functions one failed and has no span of its own; the other is the one of which the next request shows just what the function returned.
func TestFunctionIsTheEqualCallWhoseResultIsShown(t *testing.T) {
	for _, first := range []string{"Error: HTTP 500", "63.3"} {
		second := map[string]string{"Error: HTTP 500": "63.3", "63.3": "Error: HTTP 500"}[first]
		tr := newTrace()
		tr.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"args": ["q"], "kwargs": {}}`)
		ask := asks(call("", "f", `{"page":3}`), call("", "f", `{"page":3}`))
		tr.chat(2, 1, 10, 20, list(user("q")), list(ask))
		tr.in("langfuse-sdk", "f", 3, 1, 30, 40, "langfuse.observation.type", "span", "langfuse.observation.input", `{"args":[],"kwargs":{"page":3}}`, "langfuse.observation.output", "63.3")
		tr.chat(4, 1, 50, 60, list(user("q"), ask, shows("", first), shows("", second)), list(says("The end of it.")))
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall && (len(e.SpanIDs) > 0) != (e.Result.Str() == "63.3") {
				t.Errorf("shown %s first: %v", first, events(the(t, tr.runs(t))))
			}
		}
	}
}
