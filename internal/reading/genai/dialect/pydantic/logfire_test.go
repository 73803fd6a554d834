// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pydantic_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestLogfireSpansSayWhatTheyHold(t *testing.T) {
	for _, name := range []string{"logfire/anthropic", "logfire/openaistream", "logfire/agents", "logfire/mcp"} {
		genaitest.SaysAsRecorded(t, genai.Read, name)
	}
}

func TestLogfireStreamIsTheAnswerOfTheRequestBesideIt(t *testing.T) {
	spans := genaitest.Sources(t, "testdata/logfire/openaistream")
	genai.Arrange(spans, nil)
	request, stream := genai.Read(spans[0]), genai.Read(spans[1])
	if request.Class != dialect.Model || len(request.Response) != 1 || request.Usage.OutputTokens == nil {
		t.Errorf("the request says\n%s", genaitest.Said(request))
	}
	if stream.Class != dialect.Structure {
		t.Errorf("the stream is a call of its own:\n%s", genaitest.Said(stream))
	}
}

func TestLogfirePendingSpansAreNoCalls(t *testing.T) {
	s := genaitest.Span("logfire.openai", "Chat Completion with {request_data[model]!r}", "logfire.span_type", "pending_span", "request_data", `{"model":"m"}`)
	if o := genai.Read(s); o.Class != dialect.Noise {
		t.Errorf("a pending span is read as\n%s", genaitest.Said(o))
	}
}

// The schema beside the attributes says which are arguments, and which were written as JSON. A function without what it returned says nothing.
func TestLogfireFunctionTellsArgumentsAndReturn(t *testing.T) {
	const schema = `{"type":"object","properties":{"city":{},"tags":{"type":"array"},"return":{"type":"object"}}}`
	o := genai.Read(genaitest.Span("logfire", "my span", "code.function", "Agent.run.<locals>.f", "city", `"[1]"`, "tags", `["a"]`, "return", `{"b":1}`, "logfire.json_schema", schema))
	if o.Class != genai.Structure || o.Called == nil || o.Called.Name != "f" || o.Called.In.JSON() != `{"city":"\"[1]\"","tags":["a"]}` || o.Called.Out.JSON() != `{"b":1}` {
		t.Errorf("read %+v", o.Called)
	}
	if o := genai.Read(genaitest.Span("logfire", "f", "code.function", "f", "city", "Rome", "logfire.json_schema", schema)); o.Called != nil {
		t.Errorf("read %+v", o.Called)
	}
}

// Logfire scrubs members whose names speak of a secret: what is left is not what the function returned.
func TestScrubbedMemberOfWhatAFunctionReturnedIsLabelled(t *testing.T) {
	const schema = `{"type":"object","properties":{"return":{"type":"object"}}}`
	for out, want := range map[string]tape.Label{`{"secret":"[Scrubbed due to 'secret']","b":1}`: tape.Lossy, `{"b":1}`: ""} {
		o := genai.Read(genaitest.Span("logfire", "f", "code.function", "f", "return", out, "logfire.json_schema", schema))
		if o.Called == nil || o.AsTool().Result.Label != want {
			t.Errorf("%s: %+v", out, o.Called)
		}
	}
}

func TestSpanOfAToolThatAnApplicationWritesWithLogfire(t *testing.T) {
	for name, c := range map[string]struct{ scope, span, message, want string }{
		"a tool":               {"logfire", "running tool f", "running tool f", `f {"x":1} "v"`},
		"named by a template":  {"logfire", "running tool {tool}", "running tool f", `f {"x":1} "v"`},
		"a message of more":    {"logfire", "running tool {tool}", "running tool f again", `{tool}  `},
		"another scope":        {"acme", "running tool f", "running tool f", `f  `},
		"another kind of span": {"logfire", "running jobs", "running jobs", `  `},
	} {
		o := genai.Read(genaitest.Span(c.scope, c.span, "logfire.msg_template", c.span, "logfire.msg", c.message, "args", `{"x":1}`, "result", "v"))
		args, result := "", ""
		if o.Args.Present() {
			args = o.Args.Value.JSON()
		}
		if o.Result.Present() {
			result = o.Result.Value.JSON()
		}
		if got := o.Name + " " + args + " " + result; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Of a stream of chat completions the Agents SDK makes a response of the other interface; what is empty it writes as null, and Logfire says so.
func TestAgentsSDKUnderLogfireWritesAResponseAndNothing(t *testing.T) {
	const scope = "logfire.openai_agents"
	for output, want := range map[string]string{
		`[{"id":"__fake_id__","object":"response","output":[{"id":"x","type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]}]}]`: "yes",
		`[{"role":"assistant","content":"yes"}]`:  "yes",
		`[{"role":"assistant","content":"null"}]`: "null",
		`null`: "",
	} {
		o := genai.Read(genaitest.Span(scope, "Chat completion with {gen_ai.request.model!r}", "logfire.msg_template", "x", "input", `[{"role":"user","content":"q"}]`, "output", output))
		got := ""
		for _, m := range o.Response {
			got += m.Parts[0].Text
		}
		if got != want {
			t.Errorf("%s: %+v", output, o.Response)
		}
	}
	for schema, want := range map[string]bool{`{"properties":{"output":{"type":"null"}}}`: false, `{"properties":{"output":{}}}`: true} {
		o := genai.Read(genaitest.Span(scope, "Function: {name}", "logfire.msg_template", "x", "name", "f", "input", "{}", "output", "null", "logfire.json_schema", schema))
		if o.Result.Present() != want {
			t.Errorf("%s: result %v", schema, o.Result.Value)
		}
	}
}
