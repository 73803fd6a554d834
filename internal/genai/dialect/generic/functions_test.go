// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
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
