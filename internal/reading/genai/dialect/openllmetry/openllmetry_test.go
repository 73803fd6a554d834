// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openllmetry_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestOpenLLMetryIsReadAsRecorded(t *testing.T) {
	for _, name := range []string{"langchain", "langchain-js", "together", "mcp", "anthropic-stream"} {
		t.Run(name, func(t *testing.T) { genaitest.SaysAsRecorded(t, genai.Read, "openllmetry/"+name) })
	}
}

func TestOpenLLMetryLangChainToolIsTakenOutOfItsWrappers(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("opentelemetry.instrumentation.langchain", "search.tool", "traceloop.span.kind", "tool", "traceloop.entity.name", "search",
		"traceloop.entity.input", `{"input_str":"{'q': \"it's\", 'n': None}","tags":[],"metadata":{},"inputs":null,"kwargs":{}}`,
		"traceloop.entity.output", `{"output":{"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{"content":"found","tool_call_id":"call_1","status":"success"}},"kwargs":{"tags":[]}}`)),
		"class: tool\ndialect: openllmetry\nname: search\ncall: call_1\nkind: function\nargs: {\"q\":\"it's\",\"n\":null} [langchain.input]\nresult: \"found\" [langchain.output langchain.tool_message]\n")
}

func TestToolIsCalledWhatTheMessageOfItsResultCallsIt(t *testing.T) {
	o := genai.Read(genaitest.Span("@traceloop/instrumentation-langchain", "execute_tool DynamicStructuredTool", "gen_ai.operation.name", "execute_tool",
		"traceloop.span.kind", "task", "traceloop.entity.name", "DynamicStructuredTool",
		"traceloop.entity.output", `{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"content":"found","tool_call_id":"call_1","name":"search"}}`))
	if o.Name != "search" || o.CallID != "call_1" {
		t.Errorf("tool %q, call %q", o.Name, o.CallID)
	}
}

func TestStepThatSaysWhichToolItCalledIsItsCall(t *testing.T) {
	const output = `"tool_output":{"content":"busy","tool_name":"f","raw_input":{"x":1},"raw_output":"busy","is_error":true}}`
	for out, want := range map[string]dialect.Class{
		`{"tool_name":"f","tool_kwargs":{"x":1},"tool_id":"c1",` + output: dialect.Tool,
		`{"tool_name":"f","tool_kwargs":{"x":1},"tool_id":"c1"}`:          dialect.Structure, // it will be called
		`{"tool_kwargs":{"x":1},` + output:                                dialect.Structure,
	} {
		o := genai.Read(genaitest.Span("opentelemetry.instrumentation.llamaindex", "call_tool.task", "traceloop.span.kind", "task", "traceloop.entity.name", "call_tool.task", "traceloop.entity.output", out))
		if o.Class != want || want == dialect.Tool && (o.Name != "f" || o.CallID != "c1" || o.Args.Value.JSON() != `{"x":1}` || o.Result.Value.Str() != "busy" || !o.Failed) {
			t.Errorf("%s: class %s, %s %s %s", out, genaitest.ClassNames[o.Class], o.Name, o.Args.Value.JSON(), o.Result.Value.JSON())
		}
	}
}

// What came out of a tool that is an agent is not told: the step names it and its arguments.
func TestStepThatNamesItsToolIsItsCall(t *testing.T) {
	for _, c := range []struct {
		attrs []string
		want  dialect.Class
	}{
		{[]string{"tool.name", "f", "tool.arguments", `{"x":1}`}, dialect.Tool},
		{[]string{"tool.name", "f"}, dialect.Structure},
		{[]string{"tool.name", "f", "tool.arguments", `{"x":1}`, "traceloop.entity.output", `{"input":[]}`}, dialect.Structure},
	} {
		o := genai.Read(genaitest.Span("opentelemetry.instrumentation.llamaindex", "step.task", append(c.attrs, "traceloop.span.kind", "task", "traceloop.entity.name", "step.task")...))
		if o.Class != c.want || c.want == dialect.Tool && (o.Name != "f" || o.Args.Value.JSON() != `{"x":1}` || o.Result.Present()) {
			t.Errorf("%v: class %s, %s %s", c.attrs, genaitest.ClassNames[o.Class], o.Name, o.Args.Value.JSON())
		}
	}
}

func TestOpenLLMetryClassesFollowTheKind(t *testing.T) {
	for _, c := range []struct {
		name, kind, operation string
		want                  dialect.Class
	}{
		{"CrewAI.workflow", "workflow", "invoke_agent", dialect.Agent},
		{"Researcher.agent", "agent", "invoke_agent", dialect.Agent},
		{"write a text.task", "task", "invoke_agent", dialect.Structure},
		{"execute_tool f", "task", "execute_tool", dialect.Tool},
		{"a → b.handoff", "handoff", "", dialect.Tool},
		{"mcp.client.session", "session", "", dialect.Structure},
	} {
		s := genaitest.Span("opentelemetry.instrumentation.crewai", c.name, "traceloop.span.kind", c.kind)
		if c.operation != "" {
			s.Span.Attributes().PutStr("gen_ai.operation.name", c.operation)
		}
		if got := genai.Read(s).Class; got != c.want {
			t.Errorf("%s: class %s, want %s", c.name, genaitest.ClassNames[got], genaitest.ClassNames[c.want])
		}
	}
	for _, part := range []string{"RunnableLambda", "RunnableAssign<a>", "prompt", "ChannelWrite<...>", "Branch<a,b>"} {
		if got := genai.Read(genaitest.Span("x", part, "traceloop.span.kind", "workflow", "traceloop.entity.name", part)).Class; got != dialect.Structure {
			t.Errorf("%s: class %s, want structure", part, genaitest.ClassNames[got])
		}
	}
}

func TestOpenLLMetryArgumentsThatAreNotJSONStayText(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("opentelemetry.instrumentation.openai_agents", "f.tool", "traceloop.span.kind", "tool", "gen_ai.tool.name", "f", "gen_ai.tool.call.arguments", `{"_raw":"{broken"}`, "gen_ai.tool.call.result", "7")),
		"class: tool\ndialect: openllmetry\nname: f\nkind: function\nargs: \"{broken\" [openllmetry.raw]\nresult: \"7\"\n")
}

// Some producers flatten whatever went into a step and came out of it as a prompt and a completion, and say beside it what the step is.
func TestPromptsOfStepsThatAreNoModelCalls(t *testing.T) {
	calls := `[{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}]`
	for name, c := range map[string]struct {
		attributes []string
		want       string
	}{
		"a tool": {
			[]string{"gen_ai.span.kind", "tool", "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", `"{\"x\":1}"`, "gen_ai.completion.0.content", `"rain"`},
			"class: tool\ndialect: openllmetry\nname: work\nkind: function\nargs: {\"x\":1}\nresult: \"rain\"\n",
		},
		"a run": {
			[]string{"gen_ai.span.kind", "workflow", "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "hi", "gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", "ho"},
			"class: agent\ndialect: openllmetry\nrun span: yes\nweak: yes\nagent: work\ninput: user | text \"hi\"\noutput: assistant | text \"ho\"\n",
		},
		"a step":                  {[]string{"gen_ai.span.kind", "toolsnode", "gen_ai.prompt.0.content", calls}, "class: structure\ndialect: openllmetry\n"},
		"a model of unknown kind": {[]string{"gen_ai.span.kind", "chatmodel", "gen_ai.request.model", "m1", "gen_ai.completion.0.content", calls}, "class: model\ndialect: openllmetry\nmodel: m1\nresponse: assistant | call f c1 {\"x\":1}\n"},
		"no kind":                 {[]string{"gen_ai.completion.0.content", "ho"}, "class: model\ndialect: openllmetry\nresponse: assistant | text \"ho\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			genaitest.Says(t, genai.Read(genaitest.Span("zz", "work", c.attributes...)), c.want)
		})
	}
}

// Without a workflow around it, each span of LangChain.js is a trace of its own.
func TestBodyOfANodeOfAGraphIsNoRun(t *testing.T) {
	state := func(class string) string {
		return `{"messages":[{"lc":1,"type":"constructor","id":["langchain_core","messages","` + class + `"],"kwargs":{"content":"x"}}]}`
	}
	for _, c := range []struct {
		name, in, out string
		want          bool
	}{
		{"RunnableSequence", state("HumanMessage"), state("AIMessage"), true},
		{"RunnableSequence", state("HumanMessage"), `{"output":[{"lg_name":"Command","update":{}}]}`, true},
		{"RunnableSequence", state("HumanMessage"), `{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"x"}}`, true},
		{"RunnableSequence", `{"question":"x"}`, `{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"x"}}`, false},
		{"RunnableSequence", state("HumanMessage"), `{"output":"x"}`, false},
		{"CompiledStateGraph", state("HumanMessage"), state("AIMessage"), false},
	} {
		o := genai.Read(genaitest.Span("@traceloop/instrumentation-langchain", "workflow "+c.name, "traceloop.span.kind", "workflow", "traceloop.workflow.name", c.name,
			"traceloop.entity.input", c.in, "traceloop.entity.output", c.out))
		if o.Class != genai.Agent || o.Body != c.want {
			t.Errorf("%s that was given %s and returned %s: %v, %v", c.name, c.in, c.out, o.Class, o.Body)
		}
	}
}

// The instrumentation cuts the vendor from the ids of Bedrock's models.
func TestModelOfBedrockWithoutItsVendorIsNone(t *testing.T) {
	const scope = "opentelemetry.instrumentation.bedrock"
	for id, want := range map[[2]string]string{
		{scope, "claude-3-5-sonnet-20240620-v1:0"}:                                "",
		{scope, "anthropic.claude-3-5-sonnet-20240620-v1:0"}:                      "anthropic.claude-3-5-sonnet-20240620-v1:0",
		{"opentelemetry.instrumentation.anthropic", "claude-3-5-sonnet-20240620"}: "claude-3-5-sonnet-20240620",
	} {
		o := genai.Read(genaitest.Span(id[0], "bedrock.converse", "llm.request.type", "chat", "gen_ai.request.model", id[1], "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "q"))
		if o.Model != want || (len(o.Notes) > 0) != (want == "") {
			t.Errorf("%s: %q, said %v", id, o.Model, o.Notes)
		}
	}
}

// A step of LlamaIndex's agents that calls a tool and says nothing of it is a call whose name nobody knows.
func TestStepThatCallsAToolAndDoesNotSayWhichIsACall(t *testing.T) {
	for name, f := range map[string]struct {
		scope, span string
		more        []string
		want        dialect.Class
		called      string
	}{
		"says nothing":         {"opentelemetry.instrumentation.llamaindex", "call_tool.task", nil, dialect.Tool, ""},
		"says what was called": {"opentelemetry.instrumentation.llamaindex", "call_tool.task", []string{"tool.name", "f", "tool.arguments", "{}"}, dialect.Tool, "f"},
		"says something else":  {"opentelemetry.instrumentation.llamaindex", "call_tool.task", []string{"traceloop.entity.output", `{"event":"x"}`}, dialect.Structure, ""},
		"another step":         {"opentelemetry.instrumentation.llamaindex", "parse_agent_output.task", nil, dialect.Structure, ""},
		"of a program":         {"traceloop.tracer", "call_tool.task", nil, dialect.Structure, ""},
	} {
		o := genai.Read(genaitest.Span(f.scope, f.span, append([]string{"traceloop.span.kind", "task", "traceloop.entity.name", f.span}, f.more...)...))
		if o.Class != f.want || o.Class == dialect.Tool && o.Name != f.called {
			t.Errorf("%s: class %v, name %q", name, o.Class, o.Name)
		}
	}
}

// Respan's package for the Agents SDK writes the model of a response as that of the request.
func TestModelOfAResponseThatRespanTellsIsNoRequests(t *testing.T) {
	for name, c := range map[string]struct{ entity, model, asked, answered string }{
		"a response":        {"response", "gpt-4o-mini-2024-07-18", "", "gpt-4o-mini-2024-07-18"},
		"no date":           {"response", "gpt-4o-mini", "gpt-4o-mini", ""},
		"a chat completion": {"generation", "gpt-4o-mini-2024-07-18", "gpt-4o-mini-2024-07-18", ""},
	} {
		o := genai.Read(genaitest.Span("", "openai.chat", "traceloop.entity.name", c.entity, "respan.entity.log_type", "chat", "llm.request.type", "chat", "gen_ai.request.model", c.model, "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "hi"))
		if o.Model != c.asked || o.ResponseModel != c.answered {
			t.Errorf("%s: %q, %q", name, o.Model, o.ResponseModel)
		}
	}
}

// The package for LlamaIndex names a model call after the class of the model and says that it is a task: that it is a chat, with what went in and came out, tells.
func TestTaskWithAChatIsAModelCall(t *testing.T) {
	const scope, in, out = "opentelemetry.instrumentation.llamaindex", `[{"role":"user","parts":[{"type":"text","content":"q"}]}]`, `[{"role":"assistant","parts":[{"type":"text","content":"a"}]}]`
	for _, c := range []struct {
		attributes []string
		want       dialect.Class
	}{
		{[]string{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.input.messages", in, "gen_ai.output.messages", out}, dialect.Model},
		{[]string{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m"}, dialect.Structure},
		{[]string{"gen_ai.operation.name", "execute_tool", "gen_ai.input.messages", in, "gen_ai.output.messages", out}, dialect.Tool},
		{[]string{"gen_ai.input.messages", in, "gen_ai.output.messages", out}, dialect.Structure},
	} {
		o := genai.Read(genaitest.Span(scope, "Local.task", append([]string{"traceloop.span.kind", "task", "traceloop.entity.name", "Local.task"}, c.attributes...)...))
		if o.Class != c.want || o.Class == dialect.Model && (len(o.Request) != 1 || len(o.Response) != 1 || o.Model != "m") {
			t.Errorf("%v: %v, %+v", c.attributes, o.Class, o.Request)
		}
	}
}

// Of each part of an answer without a text the package for Google's client writes what Python calls nothing.
func TestNothingThatPythonWritesIsNoAnswer(t *testing.T) {
	for written, want := range map[string]string{"None": "", "NoneNone": "", "I look.None": "I look.", "There is None": "There is None", "It is:\nNone": "It is:\nNone", "None of it": "None of it"} {
		for scope, want := range map[string]string{"opentelemetry.instrumentation.google_generativeai": want, "opentelemetry.instrumentation.openai": written} {
			o := genai.Read(genaitest.Span(scope, "gemini.generate_content", "llm.request.type", "completion", "gen_ai.request.model", "m", "gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", written))
			got := ""
			if len(o.Response) == 1 && len(o.Response[0].Parts) == 1 {
				got = o.Response[0].Parts[0].Text
			}
			if got != want {
				t.Errorf("%s of %s is %q, want %q", written, scope, got, want)
			}
		}
	}
}
