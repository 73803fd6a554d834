// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// offering is a stream of Spring AI's chat client without propagation of its context: the span of the loop lies around the next call of the model, and the tool
// between the two is a trace of its own.
func offering(offered string) *trace {
	tr := newTrace()
	const scope = "org.springframework.boot"
	tr.in(scope, "spring_ai chat_client", 1, 0, 0, 100, "spring.ai.kind", "chat_client", "gen_ai.operation.name", "framework")
	tr.in(scope, "chat m", 2, 1, 1, 99, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "spring.ai.model.request.tool.names", offered)
	tr.in(scope, "chat m", 3, 2, 40, 98, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "spring.ai.model.request.tool.names", offered)
	return tr
}

func astray(name string, start, end int) *trace {
	tr := newTrace()
	tr.in("org.springframework.boot", "tool_call "+name, 4, 0, start, end, "spring.ai.kind", "tool_call", "spring.ai.tool.definition.name", name,
		"spring.ai.tool.call.arguments", `{"x":1}`, "spring.ai.tool.call.result", `"r"`)
	return tr
}

// astrayAgent is such a tool that runs an agent.
func astrayAgent(name string, start, end int) *trace {
	tr := astray(name, start, end)
	const scope = "org.springframework.boot"
	tr.in(scope, "spring_ai chat_client", 5, 4, start, end, "spring.ai.kind", "chat_client", "gen_ai.operation.name", "framework")
	tr.in(scope, "chat m", 6, 5, start+1, end-1, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.prompt", `["be brief", "hi"]`, "gen_ai.completion", `["r"]`)
	return tr
}

func TestAToolThatLostItsContextBelongsToTheCallThatWasOfferedIt(t *testing.T) {
	for name, c := range map[string]struct {
		tool   *trace
		others []*trace
		want   int
	}{
		"between the calls":                  {astray("look", 20, 30), nil, 1},
		"after the next began":               {astray("look", 30, 50), nil, 2},
		"when all was over":                  {astray("look", 100, 110), nil, 2},
		"a tool of nobody":                   {astray("pay", 20, 30), nil, 2},
		"of another service":                 {astray("look", 20, 30).service("bank"), nil, 2},
		"two runs offered it":                {astray("look", 20, 30), []*trace{offering(`["look"]`).moved(5).numbered(8)}, 3},
		"one of two offered it":              {astray("look", 20, 30), []*trace{offering(`["pay"]`).moved(5).numbered(8)}, 2},
		"two runs one by one":                {astray("look", 20, 30), []*trace{offering(`["look"]`).moved(200).numbered(8)}, 2},
		"two tools, one by one":              {astray("look", 20, 30), []*trace{astray("look", 31, 39).numbered(8)}, 1},
		"two tools, one of them":             {astray("look", 20, 30), []*trace{astray("look", 31, 49).numbered(8)}, 2},
		"an agent that is a tool":            {astrayAgent("look", 20, 30), nil, 1},
		"an agent that is a tool of nobody":  {astrayAgent("pay", 20, 30), nil, 2},
		"an agent that outlives the request": {astrayAgent("look", 20, 50), nil, 2},
	} {
		tapes := all(t, append(c.others, offering(`["look"]`).numbered(1), c.tool.numbered(2))...)
		if len(tapes) != c.want {
			t.Errorf("%s: %d runs", name, len(tapes))
		}
	}
	tp := the(t, all(t, offering(`["look"]`).numbered(1), astray("look", 20, 30).numbered(2)))
	if got := fmt.Sprint(tp.Usage.ToolCalls, len(tp.Sources.TraceIDs)); got != "1 2" {
		t.Errorf("calls and traces: %s, %v", got, events(tp))
	}
}

// Where only their places say whose the texts of a prompt are, the tape says so of what it takes from them. A record that has roles knows better.
func TestTextsThatAreToldByTheirPlacesAreRecovered(t *testing.T) {
	for _, c := range []struct{ user, system, prompt, want string }{
		{"", "", `["be brief", "hi"]`, "hi recovered be brief recovered"},
		{"", "", `["hi", "hello", "again"]`, "again recovered  "},
		{"", "", `["hi"]`, "hi   "},
		{"hi", "be brief", `["be brief", "hi"]`, "hi  be brief "},
		{"hi", "", `["well, hello", "hi"]`, "hi   "},
	} {
		tr := newTrace()
		const scope = "org.springframework.boot"
		tr.in(scope, "spring_ai chat_client", 1, 0, 0, 100, "spring.ai.kind", "chat_client", "gen_ai.operation.name", "framework",
			"spring.ai.chat.client.user.text", c.user, "spring.ai.chat.client.system.text", c.system)
		tr.in(scope, "chat m", 2, 1, 1, 99, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.prompt", c.prompt, "gen_ai.completion", `["yes"]`)
		in := the(t, all(t, tr)).Input
		system := ""
		if in.SystemPrompt != nil {
			system = *in.SystemPrompt
		}
		if got := fmt.Sprintf("%s %s %s %s", *in.UserMessage, in.Provenance["user_message"], system, in.Provenance["system_prompt"]); got != c.want {
			t.Errorf("%s beside %q: %q, want %q", c.prompt, c.user, got, c.want)
		}
	}
}

// What a program writes around the run is what it asked, and no record of what its framework sent.
func TestWhatAProgramAskedDoesNotTellThatThereWereNoInstructions(t *testing.T) {
	tr := newTrace()
	tr.in("com.example", "invoke_agent a", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a", "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`)
	tr.in("org.springframework.boot", "chat m", 2, 1, 1, 99, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.prompt", `["be brief", "hi"]`, "gen_ai.completion", `["yes"]`)
	in := the(t, all(t, tr)).Input
	if in.SystemPrompt == nil || *in.SystemPrompt != "be brief" || in.Provenance["system_prompt"] != "recovered" || *in.UserMessage != "hi" {
		t.Errorf("input: %+v", in)
	}
}

// A model call that tells no tools was offered those that the span of its agent names. A call of another tool is none that anybody could execute.
func TestToolsOfTheAgentWereOffered(t *testing.T) {
	const known, other = "call_X4ULTEFGUM44M4GLT6TT7S", "call_Y4ULTEFGUM44M4GLT6TT7S"
	build := func(ofAgent, ofCall string) *tape.Tape {
		ask := asks(call(known, "f", `{"x":1}`), call(other, "g", `{"x":2}`))
		attrs := func(tools string) []any {
			if tools == "" {
				return nil
			}
			return []any{"gen_ai.tool.definitions", tools}
		}
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100, attrs(ofAgent)...)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask), attrs(ofCall)...)
		tr.tool("f", 3, 1, 11, 12, known, `{"x":1}`, "the first of them")
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows(known, "the first of them")), list(says("end")), attrs(ofCall)...)
		return the(t, tr.runs(t))
	}
	for name, c := range map[string]struct {
		ofAgent, ofCall string
		claims          bool
		label           tape.Label
	}{
		"the agent names one":      {`["f"]`, "", true, tape.Recovered},
		"and defines it":           {`[{"type":"function","name":"f"}]`, "", true, tape.Recovered},
		"the agent names both":     {`["f","g"]`, "", false, tape.Recovered},
		"nobody does":              {"", "", false, ""},
		"the request offered both": {`["f"]`, `["f","g"]`, false, ""},
	} {
		tp := build(c.ofAgent, c.ofCall)
		if tp.Fidelity.Replayable.Tools != c.claims || tp.Events[0].Provenance["request.tools"] != c.label {
			t.Errorf("%s: claimed: %t, label %q; %+v", name, tp.Fidelity.Replayable.Tools, tp.Events[0].Provenance["request.tools"], tp.Fidelity.Findings)
		}
	}
}

// The span of a call may define the tool: an argument that is an object alone is no envelope where it is a parameter of that name (Spring AI, which does not record what the model asked for).
func TestAParameterThatTheSpanOfACallDefinesIsNoEnvelope(t *testing.T) {
	for schema, want := range map[string]tape.Label{
		`{"type":"object","properties":{"parcel":{"type":"object"}}}`: "",
		`{"type":"object","properties":{"order":{"type":"object"}}}`:  tape.Lossy,
		"": tape.Lossy,
	} {
		tr := newTrace()
		const scope = "org.springframework.boot"
		tr.in(scope, "spring_ai chat_client", 1, 0, 0, 100, "spring.ai.kind", "chat_client", "gen_ai.operation.name", "framework")
		tr.in(scope, "chat m", 2, 1, 1, 9, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m")
		for i := range 2 {
			tr.in(scope, "tool_call open", 3+i, 1, 10+20*i, 20+20*i, "spring.ai.kind", "tool_call", "spring.ai.tool.definition.name", "open", "spring.ai.tool.definition.schema", schema,
				"spring.ai.tool.call.arguments", `{"parcel":{"Wert":[]}}`, "spring.ai.tool.call.result", `"r"`)
		}
		for _, e := range the(t, tr.runs(t)).Events {
			if got := e.Provenance["args"]; e.Name == "open" && got != want {
				t.Errorf("%s: %s is %q, want %q", schema, e.Args.JSON(), got, want)
			}
		}
	}
}

// What Spring AI records of a result is what the model was told. Where all results have one and the same only member, something was put around them all the same.
func TestAnEnvelopeAroundAllResultsIsSuspectedWhateverIsSaidOfThem(t *testing.T) {
	const scope = "org.springframework.boot"
	for name, c := range map[string]struct {
		results [2]string
		want    bool
	}{
		"one member":    {[2]string{`{"acme_return":{"state":"delivered","payload":"a"}}`, `{"acme_return":{"state":"delivered","payload":{"b":1}}}`}, true},
		"other members": {[2]string{`{"output":{"state":"delivered","payload":"a"}}`, `{"total":7.5}`}, false},
	} {
		tr := newTrace()
		tr.in(scope, "spring_ai chat_client", 1, 0, 0, 100, "spring.ai.kind", "chat_client", "gen_ai.operation.name", "framework")
		for i, result := range c.results {
			tr.in(scope, "chat m", 2+2*i, 1, 10+20*i, 20+20*i, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.response.finish_reasons", `["TOOL_CALLS"]`)
			tr.in(scope, "tool_call look", 3+2*i, 1, 21+20*i, 29+20*i, "spring.ai.kind", "tool_call", "spring.ai.tool.definition.name", "look",
				"spring.ai.tool.call.arguments", `{"x":1}`, "spring.ai.tool.call.result", result)
		}
		tr.in(scope, "chat m", 9, 1, 60, 70, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.response.finish_reasons", `["STOP"]`, "gen_ai.completion", `["Done."]`)
		if got := slices.ContainsFunc(codes(the(t, tr.runs(t))), func(code string) bool { return strings.HasPrefix(code, "envelope_suspected") }); got != c.want {
			t.Errorf("%s: suspected %t", name, got)
		}
	}
}
