// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package langfuse_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestLangfuseWrappedOpenAIIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "langfuse/openai")
}

func TestLangfuseFindsLangChainToolsThatAreTypedSpan(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "langfuse/langgraph-python")
	genaitest.SaysAsRecorded(t, genai.Read, "langfuse/langgraph-js")
}

// says compares what one hand-written span says.
func TestLangfuseTellsTheModelAskedForFromTheOneThatAnswered(t *testing.T) {
	generation := func(name, parameters string, more ...string) *dialect.Source {
		return genaitest.Span("langfuse-sdk", name, append([]string{"langfuse.observation.type", "generation", "langfuse.observation.model.name", "m-1", "langfuse.observation.model.parameters", parameters}, more...)...)
	}
	const head = "class: model\ndialect: langfuse\n"
	genaitest.Says(t, genai.Read(generation("OpenAI-generation", "{}", "langfuse.observation.usage_details", "{}")), head+"response model: m-1\n")
	genaitest.Says(t, genai.Read(generation("OpenAI-generation", "{}")), head+"model: m-1\n") // nothing of an answer was seen
	genaitest.Says(t, genai.Read(generation("OpenAI.chat", `{"stream":true}`)), head+"model: m-1\n")
	genaitest.Says(t, genai.Read(generation("my generation", "{}")), head+"model: m-1\n")
}

// The wrapper of OpenAI's client takes the instructions of the Responses API from the response, which a call that failed has none of.
func TestLangfuseLosesInstructionsOfAResponseThatNeverCame(t *testing.T) {
	for _, c := range []struct {
		name, messages string
		instructions   []string
		lost           bool
	}{
		{"OpenAI.responses", `[{"role":"user","content":"hi"}]`, nil, true},
		{"OpenAI.responses", `[{"role":"user","content":"hi"}]`, []string{"langfuse.observation.metadata.instructions", "Be brief."}, false},
		{"OpenAI.responses", `[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}]`, nil, false},
		{"OpenAI.chat", `[{"role":"user","content":"hi"}]`, nil, false},
		{"OpenAI-generation", `[{"role":"user","content":"hi"}]`, nil, true},
		{"OpenAI-generation", `[{"role":"user","content":"hi"}]`, []string{"langfuse.observation.output", `{"role":"assistant","content":"hello"}`}, false},
	} {
		o := genai.Read(genaitest.Span("langfuse-sdk", c.name, append([]string{"langfuse.observation.type", "generation", "langfuse.observation.input", c.messages, "langfuse.observation.level", "ERROR"}, c.instructions...)...))
		if o.Quirks.Has(dialect.OmitsSystem) != c.lost {
			t.Errorf("%s of %s: left out: %t", c.name, c.messages, !c.lost)
		}
	}
}

func TestLangfuseObserveGivesTheFunctionsArguments(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("langfuse-sdk", "lookup", "langfuse.observation.type", "tool", "langfuse.observation.input", `{"args":[],"kwargs":{"id":7}}`, "langfuse.observation.output", "plain")),
		"class: tool\ndialect: langfuse\nname: lookup\nkind: function\nargs: {\"id\":7} [python.call]\nresult: \"plain\"\n")
}

func TestLangfuseInterruptedGraphWaits(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("langfuse-sdk", "LangGraph", "langfuse.observation.type", "chain", "langfuse.observation.input", `{"messages":[{"role":"user","content":"go"}]}`,
		"langfuse.observation.output", `{"__interrupt__":[{"value":"sure?"}]}`)),
		"class: agent\ndialect: langfuse\nrun span: yes\nweak: yes\nagent: LangGraph\ninput: user | text \"go\"\nwaiting: resume\n")
}

func TestLangfuseInputThatBeginsWithABracketIsWhatTheUserSaid(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("langfuse-sdk", "a", "langfuse.observation.type", "agent", "langfuse.observation.input", "[URGENT] help", "langfuse.observation.output", "done")),
		"class: agent\ndialect: langfuse\nrun span: yes\nagent: a\ninput: user | text \"[URGENT] help\"\noutput: assistant | text \"done\"\n")
	genaitest.Says(t, genai.Read(genaitest.Span("langfuse-sdk", "a", "langfuse.observation.type", "agent", "langfuse.observation.input", `{"messages":[{"role":"us`)),
		"class: agent\ndialect: langfuse\nrun span: yes\nagent: a\n")
}

func TestAModelMayAnswerInJSON(t *testing.T) {
	generation := func(output string) *dialect.Source {
		return genaitest.Span("langfuse-sdk", "g", "langfuse.observation.type", "generation", "langfuse.observation.output", output)
	}
	const head = "class: model\ndialect: langfuse\n"
	genaitest.Says(t, genai.Read(generation(`{"job": "12", "retries": []}`)), head+"response: assistant | text \"{\\\"job\\\": \\\"12\\\", \\\"retries\\\": []}\"\n")
	genaitest.Says(t, genai.Read(generation(`{"ok":null,"error":74.3}`)), head+"response: assistant | text \"{\\\"ok\\\":null,\\\"error\\\":74.3}\"\n")
	genaitest.Says(t, genai.Read(generation(`{"content":[{"result":"a"}],"ok":1}`)), head+"response: assistant | text \"{\\\"content\\\":[{\\\"result\\\":\\\"a\\\"}],\\\"ok\\\":1}\"\n")
	genaitest.Says(t, genai.Read(generation(`{"content":[{"text":"a"}],"ok":1}`)), head+"response: assistant | text \"a\"\n")
	genaitest.Says(t, genai.Read(generation(`{"ok":null,"error":"timeout"}`)), head)
	genaitest.Says(t, genai.Read(generation(`{"usage":{"tokens":1},"blob":"x"}`)), head) // of an answer of no known shape
}

// The SDK for Python writes integers beyond 2^53 as texts: such a text may have been either.
func TestLangfuseTextOfManyDigitsMayHaveBeenAnInteger(t *testing.T) {
	for input, label := range map[string]tape.Label{`{"n":"9007199254740993"}`: tape.Lossy, `{"n":["-9007199254740993"]}`: tape.Lossy, `{"n":"9007199254740991"}`: "", `{"n":9007199254740993}`: "",
		`{"n":"0007199254740993123"}`: "", `{"n":"9007199254740993 EUR"}`: ""} {
		for language, label := range map[string]tape.Label{"python": label, "nodejs": ""} {
			s := genaitest.Span("langfuse-sdk", "f", "langfuse.observation.type", "tool", "langfuse.observation.input", input)
			s.Resource.PutStr("telemetry.sdk.language", language)
			if got := genai.Read(s).Args.Label; got != label {
				t.Errorf("%s of %s: label %q, want %q", input, language, got, label)
			}
		}
	}
}

// A step of LangGraph that was handed a call and returns what the model is told of it is that call, also where what it returns does not name the tool.
func TestStepThatWasHandedACallIsTheCall(t *testing.T) {
	for name, c := range map[string]struct{ input, want string }{
		"a call":     {`{"input":[{"name":"f","args":{"x":1},"id":"c1","type":"tool_call"}]}`, `f c1 {"x":1}`},
		"two of it":  {`{"input":[{"name":"f","args":{"x":1},"id":"c1","type":"tool_call"},{"name":"g","args":{},"id":"c2","type":"tool_call"}]}`, ``},
		"some input": {`{"input":[{"name":"f","args":{"x":1},"id":"c1","type":"row"}]}`, ``},
	} {
		o := genai.Read(genaitest.Span("langfuse-sdk", "call_tool", "langfuse.observation.type", "tool", "langfuse.observation.input", c.input, "langfuse.observation.output", "v"))
		got := o.Name + " " + o.CallID + " " + o.Args.Value.JSON()
		if c.want == "" && o.Name != "call_tool" || c.want != "" && got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A text of JSON that no JSON.stringify wrote is what the model said, whatever its members are called.
func TestLangfuseHoldsAnswersInJSON(t *testing.T) {
	for output, want := range map[string]string{
		`{"content": {"ok": true}, "output": [{"content": "3"}]}`:   `{"content": {"ok": true}, "output": [{"content": "3"}]}`,
		`{"role":"assistant","content":"four"}`:                     "four",
		"{\n  \"role\": \"assistant\",\n  \"content\": \"four\"\n}": "four",
		`{"role":"assistant","content":"four and more"}`:            "four and more",
	} {
		o := genai.Read(genaitest.Span("langfuse-sdk", "OpenAI.responses", "langfuse.observation.type", "generation", "langfuse.observation.input", `[{"role":"user","content":"hi"}]`, "langfuse.observation.output", output))
		if len(o.Response) != 1 || len(o.Response[0].Parts) != 1 || o.Response[0].Parts[0].Text != want {
			t.Errorf("%s: %v", output, o.Response)
		}
	}
}

// LiteLLM's callback puts the conversation of a call on a span that bears the keys of OpenInference. On the span of anything else they say nothing of what it is.
func TestConversationOnAnotherInstrumentationsSpanOfACallIsReadFromIt(t *testing.T) {
	for kind, class := range map[string]dialect.Class{"LLM": dialect.Model, "CHAIN": dialect.Agent} {
		o := genai.Read(genaitest.Span("litellm", "litellm_request", "openinference.span.kind", kind,
			"langfuse.observation.input", `[{"role":"user","content":"hi"}]`, "langfuse.observation.output", `[{"id":"chatcmpl-1","name":"look","call_id":"call_1","type":"function_call","arguments":{"n":1}}]`))
		if o.Class != class {
			t.Errorf("%s: class %v, want %v", kind, o.Class, class)
		}
		if class == dialect.Model && (len(o.Request) != 1 || len(o.Response) != 1 || len(o.Response[0].Parts) != 1 || o.Response[0].Parts[0].ID != "call_1") {
			t.Errorf("asked %v, answered %v", o.Request, o.Response)
		}
	}
}
