// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package laminar_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestLaminarSinglePositionalArgumentStandsAlone(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("lmnr.tracer", "f", "lmnr.span.type", "TOOL", "lmnr.span.input", `["x"]`, "lmnr.span.output", `"y"`)),
		"class: tool\ndialect: laminar\nname: f\nkind: function\nargs: \"x\"\nresult: \"y\"\n")
}

func TestLaminarIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "laminar/openai")
}

func TestLaminarCachedModelCallIsAModelCall(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("lmnr.tracer", "openai.chat", "lmnr.span.type", "CACHED", "lmnr.span.original_type", "LLM", "lmnr.span.input", `[{"role":"user","content":"q"}]`,
		"lmnr.span.output", `[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]`)),
		"class: model\ndialect: laminar\nrequest: user | text \"q\"\nresponse: assistant | text \"a\" [stop]\nfinish: stop\n")
}

// The AI SDK writes its spans with the tracer of Laminar, which it was given.
func TestSpansOfOthersUnderLaminarsScopeSayWhatTheyAre(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("lmnr.tracer", "ai.toolCall", "ai.operationId", "ai.toolCall", "ai.toolCall.name", "crawl", "ai.toolCall.id", "c1", "ai.toolCall.args", `{"page":1}`,
		"ai.toolCall.result", `{"next":2}`, "lmnr.span.path", "x")), "class: tool\ndialect: vercel-ai\nname: crawl\ncall: c1\nkind: function\nargs: {\"page\":1}\nresult: {\"next\":2}\n")
	if o := genai.Read(genaitest.Span("lmnr.tracer", "f", "lmnr.span.input", `{"a":1}`, "lmnr.span.path", "x")); o.Class == genai.Tool {
		t.Errorf("a function of the program is a %v", o.Class)
	}
}

func TestLaminarToolThatThrewFailed(t *testing.T) {
	for _, c := range []struct {
		attrs []string
		want  bool
	}{
		{[]string{"lmnr.span.input", `{"id":1}`}, true},
		{[]string{"lmnr.span.input", `{"id":1}`, "lmnr.span.output", `"tried again"`}, false}, // it went on
		{nil, false}, // nothing was recorded
	} {
		s := genaitest.Span("lmnr.tracer", "look", append([]string{"lmnr.span.type", "TOOL"}, c.attrs...)...)
		s.Span.Events().AppendEmpty().SetName("exception")
		if o := genai.Read(s); o.StatusError != c.want {
			t.Errorf("%v: failed %v", c.attrs, o.StatusError)
		}
	}
}

// Mastra's exporter types the pieces of an answer as model calls, and writes texts of JSON in arguments again.
func TestPiecesOfAnAnswerOfMastraAreNoModelCalls(t *testing.T) {
	answer := `{"text":"","toolCalls":[{"toolCallId":"call_1","toolName":"f","args":{"q":"{\"a\":1}"}}]}`
	for name, want := range map[string]dialect.Class{"chunk: 'tool-call'": dialect.Noise, "step: 1": dialect.Model} {
		if o := genai.Read(genaitest.Span("@mastra/laminar", name, "lmnr.span.type", "LLM", "lmnr.span.output", answer)); o.Class != want {
			t.Errorf("%s: %v", name, o.Class)
		}
	}
	for scope, want := range map[string]tape.Label{"@mastra/laminar": tape.Lossy, "lmnr.tracer": ""} {
		model := genai.Read(genaitest.Span(scope, "step: 1", "lmnr.span.type", "LLM", "lmnr.span.output", answer))
		tool := genai.Read(genaitest.Span(scope, "tool: 'f'", "lmnr.span.type", "TOOL", "lmnr.span.input", `{"q":"{\"a\":1}"}`, "lmnr.span.output", "done"))
		if len(model.Response) != 1 || model.Response[0].Parts[0].Label != want || tool.Args.Label != want {
			t.Errorf("%s: %+v, %q", scope, model.Response, tool.Args.Label)
		}
	}
	if o := genai.Read(genaitest.Span("lmnr.tracer", "chunk: of the plan", "lmnr.span.type", "LLM", "lmnr.span.output", answer)); o.Class != dialect.Model {
		t.Errorf("a call of this name is %v", o.Class)
	}
}

// Mastra writes an answer for a call that threw too. A model may well answer in JSON that holds nothing.
func TestAnObjectWithoutATextIsNoAnswer(t *testing.T) {
	for output, want := range map[string]int{`{"files":[],"reasoning":[],"sources":[],"text":"","warnings":[]}`: 0, `{"items":[],"open":""}`: 1} {
		o := genai.Read(genaitest.Span("@mastra/laminar", "llm: 'm'", "lmnr.span.type", "LLM", "lmnr.span.input", `[{"role":"user","content":"q"}]`, "lmnr.span.output", output))
		if len(o.Response) != want {
			t.Errorf("%s: %v", output, o.Response)
		}
	}
}
