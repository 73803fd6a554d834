// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Attributes have no order: of two namespaces that speak of a function, and of two keys for what went in, the same is read whichever comes first.
func TestFunctionIsReadAlikeInAnyOrderOfItsAttributes(t *testing.T) {
	pairs := [][]string{
		{"zeta.fn.args", `{"x":2}`}, {"zeta.fn.output", "snow"}, {"acme.fn.args", `{"x":1}`}, {"acme.fn.kwargs", `{"y":1}`}, {"acme.fn.output", "rain"}, {"acme.fn.result", "sun"},
	}
	for range 2 * len(pairs) {
		called := genai.Read(genaitest.Span("acme", "look", slices.Concat(pairs...)...)).Called
		if called == nil || called.Name != "look" || called.In.JSON() != `{"x":1}` || called.Out.Str() != "rain" {
			t.Fatalf("%v: %+v", pairs, called)
		}
		pairs = append(pairs[1:], pairs[0])
	}
}

// What an application writes around its own functions is kept for the run around it, or inside it. By itself it is a step, whatever it looks like: neither an agent nor a call of a tool.
func TestFunctionsThatAnApplicationWroteAround(t *testing.T) {
	for name, c := range map[string]struct {
		span       string
		attributes []string
		want       dialect.Called
	}{
		"what went in and came out":                {"work", []string{"input", "x", "output", "y"}, dialect.Called{Name: "work", In: exactjson.StringValue("x"), Out: exactjson.StringValue("y")}},
		"a question":                               {"answer", []string{"question", "Who?"}, dialect.Called{Name: "answer", In: exactjson.StringValue("Who?")}},
		"a question and its answer":                {"answer", []string{"question", "Who?", "answer", "Ada."}, dialect.Called{Name: "answer", In: exactjson.StringValue("Who?"), Out: exactjson.StringValue("Ada.")}},
		"a question and its answer in a namespace": {"agent.run", []string{"app.question", "Who?", "app.answer", "Ada."}, dialect.Called{Name: "agent.run", In: exactjson.StringValue("Who?"), Out: exactjson.StringValue("Ada.")}},
		"a tool of a build by its name":            {"run_tool", []string{"input", `{"name":"lint"}`, "output", "ok"}, dialect.Called{Name: "run_tool", In: exactjson.StringValue(`{"name":"lint"}`), Out: exactjson.StringValue("ok")}},
		"a tool and its parameters":                {"handle", []string{"tool", "look", "parameters", `{"x":1}`}, dialect.Called{Name: "look", In: exactjson.ObjectValue(exactjson.Member{Name: "x", Value: exactjson.IntValue(1)}), Tool: true}},
	} {
		s := genaitest.Span("app", c.span, c.attributes...)
		o := genai.Read(s)
		if !genai.IsEvidence(s.ScopeName, s.Span) || o.Class != dialect.Structure || o.Called == nil || o.Called.Name != c.want.Name || o.Called.In.JSON() != c.want.In.JSON() ||
			o.Called.Out.JSON() != c.want.Out.JSON() || o.Called.Tool != c.want.Tool {
			t.Errorf("%s: %+v\n%s", name, o.Called, genaitest.Said(o))
		}
	}
}

// An input alone is what any program writes of a step, unless the step failed and so gave nothing; what was handed to the tool of a build is no list of arguments.
func TestInputsAloneAreNoFunctions(t *testing.T) {
	for name, attributes := range map[string][]string{
		"an input":                            {"input", "a.png", "host", "h1"},
		"a question alone in a namespace":     {"app.question", "Who?", "app.user", "u1"},
		"a question and another one's answer": {"form.question", "Who?", "quiz.answer", "Ada."},
		"the tool of a build":                 {"tool", "lint", "input", "src"},
	} {
		if s := genaitest.Span("app", "agent.work", attributes...); genai.IsEvidence(s.ScopeName, s.Span) {
			t.Errorf("%s is taken for a function", name)
		}
	}
}

// A type that is the word function, beside the name of one of the program, is what a decorator writes of all that it stands around. Without such a name it is some vendors' word for a tool.
func TestTypeFunctionBesideTheNameOfOneIsAStep(t *testing.T) {
	for name, c := range map[string]struct {
		attributes []string
		want       dialect.Class
		called     string
	}{
		"a function of the program": {[]string{"span_type", "Function", "function", "Shop.answer.<locals>.ask", "inputs", `{"question":"q"}`, "output", `"a"`}, dialect.Structure, "ask"},
		"a tool":                    {[]string{"span_type", "Function", "function", "look", "inputs", `{"x":1}`, "output", `"a"`}, dialect.Structure, "look"},
		"without its name":          {[]string{"acme.span.type", "function", "acme.name", "look", "acme.input", `{"x":1}`, "acme.output", `"a"`}, dialect.Tool, ""},
		"without what went in":      {[]string{"acme.span.type", "function", "function", "look", "acme.output", `"a"`}, dialect.Tool, ""},
		"a model":                   {[]string{"span_type", "LLM", "function", "openai.create", "inputs", `{"messages":[{"role":"user","content":"q"}]}`, "output", `"a"`}, dialect.Model, ""},
	} {
		o := genai.Read(genaitest.Span("app", "work", c.attributes...))
		if o.Class != c.want || (o.Called != nil) != (c.called != "") || c.called != "" && o.Called.Name != c.called {
			t.Errorf("%s: %v %+v", name, o.Class, o.Called)
		}
	}
}

// Parameters with the id and the time of a response are no request, whatever they are called, and neither is the model in them.
func TestModelOfAResponseIsNotTheOneThatWasAsked(t *testing.T) {
	for parameters, asked := range map[string]string{
		`{"id":"resp_1","created_at":1,"model":"m-2024-07-18"}`: "", `{"model":"m-2024-07-18"}`: "m-2024-07-18", `{"id":"resp_1","created_at":1,"model":"m"}`: "m-2024-07-18",
	} {
		o := genai.Read(genaitest.Span("app", "response", "gen_ai.operation.name", "chat", "gen_ai.request.model", "m-2024-07-18", "gen_ai.request.parameters", parameters, "gen_ai.input.messages", `[{"role":"user","content":"q"}]`))
		if o.Model != asked && !(asked != "" && o.Model == "m") {
			t.Errorf("%s: %q", parameters, o.Model)
		}
	}
}

// Keys that begin as those of a producer do are read by their words where its own reader does not know the span, also where the conventions know that it is an agent.
func TestKeysOfAProducerThatItsReaderDoesNotKnow(t *testing.T) {
	o := genai.Read(genaitest.Span("another.instrumentation", "pydantic_ai.agent.run", "pydantic_ai.span_kind", "agent_run", "pydantic_ai.run.prompt", "Who?", "gen_ai.request.model", "m", "pydantic_ai.run.result", "Ada."))
	if o.Class != dialect.Agent || len(o.Input) != 1 || o.Input[0].Parts[0].Text != "Who?" || len(o.Output) != 1 || o.Output[0].Parts[0].Text != "Ada." {
		t.Errorf("%s", genaitest.Said(o))
	}
}

// A response of the Responses API repeats its instructions, under whatever key somebody keeps it. What else is called so is none of a response.
func TestInstructionsOfAResponseUnderAnyKey(t *testing.T) {
	for payload, want := range map[string]string{
		`{"id":"resp_1","created_at":1,"instructions":"Be brief.","model":"m"}`: "Be brief.",
		`{"id":"resp_1","created_at":1,"instructions":null,"model":"m"}`:        "",
		`{"id":"route_1","created_at":1,"instructions":"Turn left."}`:           "",
		`{"id":"resp_1","instructions":"Turn left."}`:                           "",
	} {
		o := genai.Read(genaitest.Span("app", "response", "gen_ai.operation.name", "chat", "gen_ai.response.model", "m", "gen_ai.execution.payload", payload, "gen_ai.input.messages", `[{"role":"user","content":"q"}]`))
		got := ""
		for _, p := range o.System {
			got += p.Text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	}
}

// A function whose arguments stand by their places under its own name is a step of the program, and no evidence by itself.
func TestArgumentsByTheirPlacesAreThoseOfAFunction(t *testing.T) {
	for name, c := range map[string]struct {
		span   string
		values []string
		want   bool
	}{
		"what it returned":      {"agent.ask", []string{"agent.ask.argument.0", `[{"role":"user","content":"hi"}]`, "agent.ask.argument.1", `{"steps":3}`, "agent.ask.result", `{"text":"yes"}`}, true},
		"nothing came out":      {"agent.ask", []string{"agent.ask.argument.0", `{"x":1}`}, false},
		"of another function":   {"agent.ask", []string{"agent.tell.argument.0", `{"x":1}`, "agent.tell.result", `{"y":1}`}, false},
		"a result without them": {"agent.ask", []string{"agent.ask.result", `{"y":1}`}, false},
	} {
		o := genai.Read(genaitest.Span("default-tracer", c.span, c.values...))
		got := o.Class == genai.Structure && o.Called != nil && o.Called.Name == "ask" && o.Called.In.Len() == len(c.values)/2-1
		if got != c.want {
			t.Errorf("%s: %s", name, genaitest.Said(o))
		}
	}
}
