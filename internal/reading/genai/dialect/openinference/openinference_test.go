// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openinference_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestFlattenedMessagesAreReadInTheirOrder(t *testing.T) {
	var kv []string
	for i := 11; i >= 0; i-- {
		kv = append(kv, fmt.Sprintf("llm.input_messages.%d.message.role", i), "user", fmt.Sprintf("llm.input_messages.%d.message.content", i), fmt.Sprint(i))
	}
	messages, ok := openinference.Messages(genaitest.Flat(kv...).Unflatten("llm.input_messages."))
	if !ok || len(messages) != 12 {
		t.Fatalf("%v", genaitest.Messages(messages))
	}
	for i, m := range messages {
		if m.Role != tape.RoleUser || m.Parts[0].Text != fmt.Sprint(i) {
			t.Errorf("message %d is %v", i, genaitest.Messages(messages[i:i+1]))
		}
	}
}

// Some packages flatten a result of Bedrock without its content; the request as it was sent stands in input.value.
func TestResultsThatWereFlattenedWithoutContentAreTakenFromTheRequest(t *testing.T) {
	const request = `{"modelId":"vendor.m-1:0","messages":[{"role":"user","content":[{"text":"q"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"call_1","name":"f","input":{"x":1}}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"call_1","content":[{"text":"no"}],"status":"error"}}]}]}`
	flat := genaitest.Flat(
		"input.value", request, "llm.model_name", "m-1",
		"llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "q",
		"llm.input_messages.1.message.role", "assistant", "llm.input_messages.1.message.tool_calls.0.tool_call.id", "call_1",
		"llm.input_messages.1.message.tool_calls.0.tool_call.function.name", "f", "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments", `{"x":1}`,
		"llm.input_messages.2.message.role", "user", "llm.input_messages.2.message.tool_call_id", "call_1")
	o := &dialect.Draft{}
	openinference.ReadModel(flat, o)
	last := o.Request[len(o.Request)-1].Parts[0]
	if last.Result.Str() != "no" || !last.IsError || o.Model != "vendor.m-1:0" {
		t.Errorf("%v, failed %v, of %s", genaitest.Messages(o.Request), last.IsError, o.Model)
	}
}

// A flattened result says nothing of a failure; Gemini's request does.
func TestFailuresAreTakenFromTheRequest(t *testing.T) {
	flat := genaitest.Flat(
		"input.value", `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"function_call":{"name":"f","args":{}}}]},{"role":"user","parts":[{"function_response":{"name":"f","response":{"error":"no"}}}]}]}`,
		"llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "q",
		"llm.input_messages.1.message.role", "model", "llm.input_messages.1.message.tool_calls.0.tool_call.function.name", "f", "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments", `{}`,
		"llm.input_messages.2.message.role", "tool", "llm.input_messages.2.message.name", "f", "llm.input_messages.2.message.content", `{"error": "no"}`)
	o := &dialect.Draft{}
	openinference.ReadModel(flat, o)
	if !o.Request[2].Parts[0].IsError {
		t.Errorf("%v", genaitest.Messages(o.Request))
	}
}

// The request as it was sent has its results in another order than the flattened messages: only the ids tell which one failed.
func TestFailuresOfOtherResultsAreNotTaken(t *testing.T) {
	flat := genaitest.Flat(
		"input.value", `{"messages":[{"role":"user","content":[{"text":"q"}]},{"role":"user","content":[{"toolResult":{"toolUseId":"call_2","content":[{"text":"no"}],"status":"error"}},`+
			`{"toolResult":{"toolUseId":"call_1","content":[{"text":"yes"}]}}]}]}`,
		"llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "q",
		"llm.input_messages.1.message.role", "tool", "llm.input_messages.1.message.tool_call_id", "call_1", "llm.input_messages.1.message.content", "yes",
		"llm.input_messages.2.message.role", "tool", "llm.input_messages.2.message.tool_call_id", "call_2", "llm.input_messages.2.message.content", "no")
	o := &dialect.Draft{}
	openinference.ReadModel(flat, o)
	for _, m := range o.Request {
		for _, p := range m.Parts {
			if p.IsError && p.ID != "call_2" {
				t.Errorf("%s has not failed: %v", p.ID, genaitest.Messages(o.Request))
			}
		}
	}
}

// A call without an id, as Gemini makes them, is one all the same: a payload that shows none is not the better record of it.
func TestFlattenedCallsWithoutAnIDAreKept(t *testing.T) {
	for _, payload := range []string{
		`{"candidates":[{"content":{"parts":[{"function_call":{"args":{"page":3},"name":"crawl"}}],"role":"model"},"finish_reason":"STOP"}]}`,
		`{"candidates":[{"content":{"nobody knows":{"crawl":3}}}]}`,
		`{"content":"what the model thought"}`,
		`{}`,
	} {
		flat := genaitest.Flat(
			"output.value", payload,
			"llm.output_messages.0.message.role", "model", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "crawl",
			"llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", `{"page":3}`)
		o := &dialect.Draft{}
		openinference.ReadModel(flat, o)
		if len(o.Response) != 1 || len(o.Response[0].Parts) != 1 || o.Response[0].Parts[0].Name != "crawl" || o.Response[0].Parts[0].Args.JSON() != `{"page":3}` {
			t.Errorf("%s: %v", payload, genaitest.Messages(o.Response))
		}
	}
}

// LangChain numbers its messages itself; the id of the provider stands in what it was answered with.
func TestAnswerOfLangChainHasTheProvidersID(t *testing.T) {
	for message, want := range map[string]string{
		`{"id":"lc_run--01a2-0","response_metadata":{"id":"msg_1"}}`: "msg_1",
		`{"id":"lc_run--01a2-0","response_metadata":{}}`:             "",
		`{"id":"run-01a2-0"}`: "",
		`{"id":"resp_1"}`:     "resp_1",
	} {
		s := genaitest.Span("openinference.instrumentation.langchain", "ChatAnthropic", "openinference.span.kind", "LLM", "output.value", `{"generations":[[{"message":{"kwargs":`+message+`}}]]}`, "output.mime_type", "application/json")
		if got := genai.Read(s).ResponseID; got != want {
			t.Errorf("%s: id %q, want %q", message, got, want)
		}
	}
}

// Several results of one message are flattened onto each other; the whole request, which traceAI has beside them, holds the instructions too.
func TestResultsAndInstructionsAreTakenFromTheRawRequest(t *testing.T) {
	const request = `{"model":"m","system":"Be brief.","messages":[{"role":"user","content":"q"},{"role":"assistant","content":["ToolUseBlock(id='c1')"]},{"role":"user","content":[` +
		`{"type":"tool_result","tool_use_id":"c1","content":"one"},{"type":"tool_result","tool_use_id":"c2","content":"two"}]}]}`
	for last, want := range map[string]int{"c2": 2, "c3": 1} {
		flat := genaitest.Flat(
			"raw.input", request,
			"llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "q",
			"llm.input_messages.1.message.role", "assistant", "llm.input_messages.1.message.tool_calls.0.tool_call.id", "c1", "llm.input_messages.1.message.tool_calls.0.tool_call.function.name", "f",
			"llm.input_messages.1.message.tool_calls.1.tool_call.id", last, "llm.input_messages.1.message.tool_calls.1.tool_call.function.name", "f",
			"llm.input_messages.2.message.role", "user", "llm.input_messages.2.message.tool_call_id", last, "llm.input_messages.2.message.content", "two")
		o := &dialect.Draft{}
		openinference.ReadModel(flat, o)
		if got := o.Request[len(o.Request)-1].Parts; len(got) != want || len(o.System) != 1 || o.System[0].Text != "Be brief." {
			t.Errorf("%s: %v with instructions %v", last, genaitest.Messages(o.Request), o.System)
		}
	}
}

// DSPy's tools are named after the method that runs them, and their arguments stand under the name of its parameter.
func TestToolsOfDSPy(t *testing.T) {
	for scope, want := range map[string]string{"openinference.instrumentation.dspy": `search {"q":"x"}`, "openinference.instrumentation.other": `search.__call__ {"kwargs":{"q":"x"}}`} {
		o := genai.Read(genaitest.Span(scope, "search.__call__", "openinference.span.kind", "TOOL", "input.value", `{"kwargs":{"q":"x"}}`, "output.value", "r"))
		if got := o.Name + " " + o.Args.Value.JSON(); got != want || o.Class != dialect.Tool {
			t.Errorf("%s: %s, want %s", scope, got, want)
		}
	}
}

// What a tool of LangChain returned stood in an object of its tracer before 0.1.48, where it was no text. A tool may return such an object, also as a text, and later versions write that as it is.
func TestResultsOfLangChainsToolsInTheOutputsOfItsTracer(t *testing.T) {
	const langChain = "openinference.instrumentation.langchain"
	for _, c := range []struct{ scope, version, mime, value, want string }{
		{langChain, "0.1.46", "application/json", `{"output":["a","b"]}`, `["a","b"]`},
		{langChain, "0.1.46", "application/json", `{"output":{"output":1}}`, `{"output":1}`},
		{langChain, "0.1.46", "application/json", `{"output":null}`, `null`},
		{langChain, "0.1.46", "", `{"output":["a","b"]}`, `{"output":["a","b"]}`},
		{langChain, "0.1.46", "application/json", `{"output":["a"],"cost":1}`, `{"output":["a"],"cost":1}`},
		{langChain, "0.1.48", "application/json", `{"output":["a","b"]}`, `{"output":["a","b"]}`},
		{langChain, "0.2", "application/json", `{"output":["a","b"]}`, `{"output":["a","b"]}`},
		{langChain, "", "application/json", `{"output":["a","b"]}`, `{"output":["a","b"]}`},
		{"openinference.instrumentation.other", "0.1.46", "application/json", `{"output":["a","b"]}`, `{"output":["a","b"]}`},
	} {
		s := genaitest.Span(c.scope, "f", "openinference.span.kind", "TOOL", "tool.name", "f", "output.value", c.value, "output.mime_type", c.mime)
		s.ScopeVersion = c.version
		o := genai.Read(s)
		if v, ok := decode.Structure(o.Result.Value); !ok && c.want != "null" || ok && v.JSON() != c.want || !ok && o.Result.Value.JSON() != c.want {
			t.Errorf("%+v: %s", c, o.Result.Value.JSON())
		}
	}
}

// A model call of the Agents SDK that threw shows it by what it lacks: neither an answer nor tokens, where what was asked was recorded.
func TestGenerationOfTheAgentsSDKWithoutAnswerThrew(t *testing.T) {
	const agents = "openinference.instrumentation.openai_agents"
	asked := []string{"openinference.span.kind", "LLM", "llm.model_name", "m", "input.value", `[{"role":"user","content":"q"}]`, "llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "q"}
	for _, c := range []struct {
		scope, name string
		more        []string
		want        bool
	}{
		{agents, "generation", nil, true},
		{agents, "response", nil, false},
		{"openinference.instrumentation.other", "generation", nil, false},
		{agents, "generation", []string{"output.value", `[{"role":"assistant","content":""}]`}, false},
		{agents, "generation", []string{"output.value", "__REDACTED__"}, false},
	} {
		if o := genai.Read(genaitest.Span(c.scope, c.name, append(slices.Clip(asked), c.more...)...)); o.Failed != c.want {
			t.Errorf("%+v: failed %v", c, o.Failed)
		}
	}
	tokens := genaitest.Span(agents, "generation", asked...)
	tokens.Span.Attributes().PutInt("llm.token_count.completion", 3)
	for _, s := range []*dialect.Source{tokens, genaitest.Span(agents, "generation", asked[:4]...)} {
		if o := genai.Read(s); o.Failed {
			t.Errorf("failed, though it was answered, or what was asked was not recorded: %v", s.Span.Attributes().AsRaw())
		}
	}
}

// BeeAI's tools are recorded with the options of the run beside what they were handed. Another tool may have an argument of that name.
func TestToolsOfBeeAI(t *testing.T) {
	for given, want := range map[string]string{`{"input":{"q":"x"},"options":null}`: `{"q":"x"}`, `{"input":{"q":"x"},"page":2}`: `{"input":{"q":"x"},"page":2}`} {
		o := genai.Read(genaitest.Span("openinference.instrumentation.beeai", "search", "openinference.span.kind", "TOOL", "tool.name", "search", "input.value", given, "output.value", "r"))
		if got := o.Args.Value.JSON(); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
}

// The package for AutoGen before 0.1.3 writes calls and results as its own objects.
func TestCallsAndResultsOfAutoGensClient(t *testing.T) {
	flat := func(content, result, output string) *dialect.Draft {
		o := &dialect.Draft{}
		openinference.ReadModel(genaitest.Flat(
			"llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "q",
			"llm.input_messages.1.message.role", "assistant", "llm.input_messages.1.message.content", content,
			"llm.input_messages.2.message.role", "function", "llm.input_messages.2.function.0", result, "output.value", output), o)
		return o
	}
	o := flat(`["\"FunctionCall(id='c1', arguments='{\\\"x\\\": 1}', name='f')\""]`, `{"name":"f","content":"17","call_id":"c1","is_error":false}`,
		`{"finish_reason":"function_calls","content":[{"id":"c2","arguments":"{\"x\": 2}","name":"f"}],"thought":"Once more."}`)
	got := fmt.Sprint(genaitest.Messages(append(o.Request, o.Response...)))
	if want := `[user: text(q) assistant: call(c1 f {"x":1}) tool: result(c1 f "17") assistant: text(Once more.) call(c2 f {"x":2}) -> tool_calls]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	o = flat(`["a list","of texts"]`, `{"name":"f"}`, `{"content":[{"type":"text","text":"end"}]}`)
	for _, m := range append(o.Request, o.Response...) {
		for _, p := range m.Parts {
			if p.Type == tape.PartToolCall {
				t.Errorf("a call in %v", genaitest.Messages(append(o.Request, o.Response...)))
			}
		}
	}
}

// The processor for Strands gathers what its spans said of the agent in the metadata.
func TestInstructionsOfAnAgentMayStandInTheMetadata(t *testing.T) {
	o := genai.Read(genaitest.Span("strands.telemetry.tracer", "invoke_agent a", "openinference.span.kind", "AGENT", "input.value", "q", "metadata", `{"gen_ai.agent.name":"a","system_prompt":"be brief"}`))
	if len(o.System) != 1 || o.System[0].Text != "be brief" {
		t.Errorf("instructions: %+v", o.System)
	}
}

func TestAnswerOfAutoGenAsAnObjectIsItsContent(t *testing.T) {
	for output, want := range map[string]string{
		`{"finish_reason": "stop", "content": "yes", "usage": {}, "cached": false}`: "yes",
		`{"content": "yes", "cached": false}`:                                       "",
		`{"finish_reason": "stop", "content": 3}`:                                   "",
	} {
		o := genai.Read(genaitest.Span("openinference.instrumentation.autogen_agentchat", "C.create", "openinference.span.kind", "LLM", "output.value", output, "output.mime_type", "application/json"))
		got := ""
		if len(o.Response) == 1 && len(o.Response[0].Parts) == 1 && o.Response[0].FinishReason == "stop" {
			got = o.Response[0].Parts[0].Text
		}
		if got != want {
			t.Errorf("%s: %q, want %q", output, got, want)
		}
	}
}

// agno answers with all that its model said in the run.
func TestAgnoHandsOnAllThatItsModelSaid(t *testing.T) {
	for scope, want := range map[string]bool{"openinference.instrumentation.agno": true, "openinference.instrumentation.langchain": false} {
		if o := genai.Read(genaitest.Span(scope, "a.run", "openinference.span.kind", "AGENT", "input.value", "q")); o.Quirks.Has(dialect.HandsAll) != want {
			t.Errorf("%s: %v", scope, !want)
		}
	}
}

// agno tells its model nothing of what is empty: that says nothing of what the tool returned.
func TestEmptyTextThatAgnoToldItsModelIsNoResult(t *testing.T) {
	for _, f := range []struct {
		scope, content string
		want           bool
	}{
		{"openinference.instrumentation.agno", "", false}, {"openinference.instrumentation.agno", "0", true}, {"openinference.instrumentation.openai", "", true},
	} {
		o := genai.Read(genaitest.Span(f.scope, "m.invoke", "openinference.span.kind", "LLM", "input.value",
			`{"messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"`+f.content+`"}]}`))
		if len(o.Request) != 3 || o.Request[2].Parts[0].ID != "c1" || o.Request[2].Parts[0].Result.IsAbsent() == f.want {
			t.Errorf("%s, %q: %+v", f.scope, f.content, o.Request)
		}
	}
}

// LiteLLM's callback for Phoenix calls the span of a request that offers tools one of a tool. That of a tool names no model that it used, also where it holds messages (Strands).
func TestSpanOfAToolThatAnsweredAsAModelIsAModelCall(t *testing.T) {
	const said, asked = "llm.output_messages.0.message.role", "llm.input_messages.0.message.role"
	for _, c := range []struct {
		attrs []string
		want  dialect.Class
	}{
		{[]string{"llm.model_name", "m", said, "assistant"}, dialect.Model},
		{[]string{"llm.model_name", "m", asked, "user", "llm.token_count.total", "3"}, dialect.Model},
		{[]string{"llm.model_name", "m", asked, "user"}, dialect.Model}, // it failed
		{[]string{"llm.model_name", "m", "input.value", "x"}, dialect.Tool},
		{[]string{asked, "assistant", said, "tool"}, dialect.Tool},
		{[]string{"llm.model_name", "m", said, "assistant", "tool.name", "look"}, dialect.Tool},
	} {
		if o := genai.Read(genaitest.Span("x", "s", append([]string{"openinference.span.kind", "TOOL"}, c.attrs...)...)); o.Class != c.want {
			t.Errorf("%v: class %v, want %v", c.attrs, o.Class, c.want)
		}
	}
}

// The package for Google's client writes a whole request in snake case, and flattened messages as they were. Empty arguments are left out of the latter.
func TestArgumentsAreSpelledAsTheModelWroteThem(t *testing.T) {
	const request = `{"contents":[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"function_call":{"name":"f","args":{"sensor_name":"Kelvin A","n":1}}}]},` +
		`{"role":"user","parts":[{"function_response":{"name":"f","response":{"result":"r"}}}]}]}`
	for flat, want := range map[string]string{
		`{"sensorName":"Kelvin A","n":1}`: `{"sensorName":"Kelvin A","n":1}`,
		`{"sensorName":"Kelvin B","n":1}`: `{"sensor_name":"Kelvin A","n":1}`, // another call
	} {
		o := genai.Read(genaitest.Span("openinference.instrumentation.google_genai", "GenerateContent", "openinference.span.kind", "LLM", "input.value", request,
			"llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "q",
			"llm.input_messages.1.message.role", "model", "llm.input_messages.1.message.tool_calls.0.tool_call.function.name", "f", "llm.input_messages.1.message.tool_calls.0.tool_call.function.arguments", flat,
			"llm.input_messages.2.message.role", "user", "llm.input_messages.2.message.content", `{"result":"r"}`))
		if len(o.Request) != 3 || o.Request[1].Parts[0].Args.JSON() != want || o.Request[2].Role != tape.RoleTool {
			t.Errorf("%s: %v", flat, genaitest.Messages(o.Request))
		}
	}
	o := genai.Read(genaitest.Span("openinference.instrumentation.google_genai", "GenerateContent", "openinference.span.kind", "LLM",
		"output.value", `{"candidates":[{"content":{"role":"model","parts":[{"function_call":{"name":"f","args":{}}}]}}]}`,
		"llm.output_messages.0.message.role", "model", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "f"))
	if len(o.Response) != 1 || o.Response[0].Parts[0].Args.JSON() != "{}" {
		t.Errorf("answered %v", genaitest.Messages(o.Response))
	}
}
