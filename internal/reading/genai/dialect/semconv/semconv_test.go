// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package semconv_test

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestListThatIsWholeButNotJSONIsNotSaidToBeCut(t *testing.T) {
	a := genaitest.Flat("gen_ai.input.messages", `[{'role': 'user', 'content': 'hi'}]`)
	messages, label := semconv.LabelledMessages(a, "gen_ai.input.messages", tape.RoleUser, &dialect.Draft{})
	if label == tape.Truncated && len(messages) == 0 {
		t.Error("a list in Python's spelling is lost as cut")
	}
	a = genaitest.Flat("gen_ai.input.messages", `[urgent] please answer`)
	messages, label = semconv.LabelledMessages(a, "gen_ai.input.messages", tape.RoleUser, &dialect.Draft{})
	if label == tape.Truncated && len(messages) == 0 {
		t.Error("a plain text that starts with a bracket is lost as cut")
	}
}

// Several vendors write the messages of the conventions under one key each, and what a span is under gen_ai.span.kind.
func TestMessagesUnderKeysOfTheirOwnAreRead(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("vendor", "ask", "gen_ai.span.kind", "LLM", "gen_ai.request.model", "m1",
		"gen_ai.input.messages.0.message.role", "system", "gen_ai.input.messages.0.message.content", "Be brief.",
		"gen_ai.input.messages.1.message.role", "user", "gen_ai.input.messages.1.message.content", "hi",
		"gen_ai.output.messages.0.message.role", "assistant", "gen_ai.output.messages.0.message.tool_calls.0.tool_call.id", "c1",
		"gen_ai.output.messages.0.message.tool_calls.0.tool_call.function.name", "f", "gen_ai.output.messages.0.message.tool_calls.0.tool_call.function.arguments", `{"x":1}`)),
		"class: model\ndialect: otel-genai\nmodel: m1\nrequest: system | text \"Be brief.\"\nrequest: user | text \"hi\"\nresponse: assistant | call f c1 {\"x\":1}\n")
}

// OpenLIT in JavaScript writes what String() makes of an object in place of instructions: nothing is told of them.
func TestInstructionsThatAreAnObjectTagAreNone(t *testing.T) {
	for text, told := range map[string]bool{"[object Object]": false, "Be brief.": true, "[object Object] is what JavaScript writes.": true} {
		o := genai.Read(genaitest.Span("vendor", "chat m1", "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.system_instructions", `[{"type":"text","content":"`+text+`"}]`))
		if len(o.System) > 0 != told || o.Quirks.Has(dialect.OmitsSystem) == told {
			t.Errorf("%s: %+v, left out: %t", text, o.System, o.Quirks.Has(dialect.OmitsSystem))
		}
	}
}

// A flattening exporter writes the members of messages, and of what a tool was called with and returned, as attributes of their own: of those of a tool nobody
// knows whether there was more, as an attribute is neither null nor an empty list.
func TestFlattenedMembersAreRead(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("vendor", "chat m1", "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1",
		"gen_ai.input.messages.0.role", "user", "gen_ai.input.messages.0.content", "hi",
		"gen_ai.output.messages.type", "model", "gen_ai.output.messages.value", "", "gen_ai.output.messages.function_calls.0.name", "f", "gen_ai.output.messages.function_calls.0.params", `{"x":1}`)),
		"class: model\ndialect: otel-genai\nmodel: m1\nrequest: user | text \"hi\"\nresponse: assistant | call f  {\"x\":1}\n")
	genaitest.Says(t, genai.Read(genaitest.Span("vendor", "execute_tool f", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "f",
		"gen_ai.tool.call.arguments.x", "1", "gen_ai.tool.call.result.y.0", "a")),
		"class: tool\ndialect: otel-genai\nname: f\nargs: {\"x\":\"1\"} [lossy]\nresult: {\"y\":[\"a\"]} [lossy]\n")
}

// The first instrumentations flattened messages under gen_ai.prompt and gen_ai.completion; who wrote that by hand named the operation all the same.
func TestMessagesFlattenedUnderThePromptAreRead(t *testing.T) {
	turns := []string{"gen_ai.prompt.0.role", "system", "gen_ai.prompt.0.content", "Be brief.", "gen_ai.prompt.1.role", "user", "gen_ai.prompt.1.content", "hi",
		"gen_ai.prompt.2.role", "assistant", "gen_ai.prompt.2.tool_calls.0.id", "c1", "gen_ai.prompt.2.tool_calls.0.name", "f", "gen_ai.prompt.2.tool_calls.0.arguments", `{"x":1}`,
		"gen_ai.prompt.3.role", "tool", "gen_ai.prompt.3.tool_call_id", "c1", "gen_ai.prompt.3.content", "42",
		"gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", "done", "gen_ai.completion.0.finish_reason", "stop"}
	chat := append([]string{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m1"}, turns...)
	genaitest.Says(t, genai.Read(genaitest.Span("vendor", "chat m1", chat...)), "class: model\ndialect: otel-genai\nmodel: m1\nrequest: system | text \"Be brief.\"\nrequest: user | text \"hi\"\n"+
		"request: assistant | call f c1 {\"x\":1}\nrequest: tool | result  c1 \"42\"\nresponse: assistant | text \"done\" [stop]\nfinish: stop\n")
	later := append([]string{"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"hello"}]}]`}, chat...)
	if o := genai.Read(genaitest.Span("vendor", "chat m1", later...)); len(o.Request) != 1 || o.Request[0].Parts[0].Text != "hello" {
		t.Errorf("the request is %v, not that of the later attribute alone", o.Request)
	}
	agent := append([]string{"gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a"}, turns[4:8]...)
	if o := genai.Read(genaitest.Span("vendor", "invoke_agent a", agent...)); o.Class != genai.Agent || len(o.Input) != 1 || o.Input[0].Parts[0].Text != "hi" {
		t.Errorf("of class %v with input %v", o.Class, o.Input)
	}
}

// A prompt alone makes a model call only where the span does not say in a word of its own that it is a whole run.
// The keys of the conventions' first version are used for whatever went in and came out: all of a request and a response, or what a function was handed.
func TestPromptMayBeAllThatWasSentOrNoneOfAModel(t *testing.T) {
	request := `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}],"tools":[{"type":"function","name":"find","inputSchema":{"type":"object"}}],"toolChoice":{"type":"auto"}}`
	response := `{"content":[{"type":"tool-call","toolCallId":"call_1","toolName":"find","input":"{\"x\":1}"}],"finishReason":"tool-calls"}`
	o := genai.Read(genaitest.Span("acme", "ask", "gen_ai.prompt", request, "gen_ai.completion", response))
	if o.Class != genai.Model || len(o.Request) != 2 || o.Request[1].Parts[0].Text != "hi" || len(o.Tools) != 1 || o.Tools[0].Name != "find" {
		t.Errorf("%v: %+v, tools %+v", o.Class, o.Request, o.Tools)
	}
	if len(o.Response) != 1 || o.Response[0].Parts[0].Name != "find" || o.Response[0].Parts[0].Args.JSON() != `{"x":1}` {
		t.Errorf("%+v", o.Response)
	}
	if o := genai.Read(genaitest.Span("acme", "find", "gen_ai.prompt", `{"x":1}`, "gen_ai.completion", "null")); o.Class == genai.Model {
		t.Errorf("%+v", o)
	}
}

func TestAnAgentWithAPromptIsNoModelCall(t *testing.T) {
	for kind, class := range map[string]genai.Class{"agent_run": genai.Agent, "llm_call": genai.Model, "job": genai.Model} {
		if o := genai.Read(genaitest.Span("vendor", "x", "acme.span.kind", kind, "gen_ai.prompt", "hi", "gen_ai.completion", "yes")); o.Class != class {
			t.Errorf("%s is of class %v, want %v", kind, o.Class, class)
		}
	}
}

func TestKindOfASpanIsItsClass(t *testing.T) {
	for kind, class := range map[string]genai.Class{"AGENT": genai.Agent, "tool": genai.Tool, "LLM": genai.Model, "EMBEDDING": genai.Noise} {
		if o := genai.Read(genaitest.Span("vendor", "x", "gen_ai.span.kind", kind, "gen_ai.usage.input_tokens", "7")); o.Class != class {
			t.Errorf("%s is of class %v, want %v", kind, o.Class, class)
		}
	}
}

func TestModelOfTheParametersIsWhatWasAskedFor(t *testing.T) {
	for model, want := range map[string]string{"m1-2024-07-18": "m1 m1-2024-07-18", "m1": "m1 ", "other": "other "} {
		o := genai.Read(genaitest.Span("vendor", "ask", "gen_ai.operation.name", "chat", "gen_ai.request.model", model, "gen_ai.request.parameters", `{"model":"m1"}`))
		if got := o.Model + " " + o.ResponseModel; got != want {
			t.Errorf("%s: %q, want %q", model, got, want)
		}
	}
}

// AG2 writes a span around a whole conversation, with the model of its agents and the sum of their tokens.
func TestConversationIsNoModelCall(t *testing.T) {
	for operation, class := range map[string]genai.Class{"conversation": genai.Agent, "chat": genai.Model} {
		o := genai.Read(genaitest.Span("vendor", "x", "gen_ai.operation.name", operation, "gen_ai.agent.name", "a", "gen_ai.request.model", "m1", "gen_ai.usage.input_tokens", "7"))
		if o.Class != class {
			t.Errorf("%s is of class %v", operation, o.Class)
		}
	}
}

// Instrumentations put what a tool got and gave back under names of their own beside the attributes of the conventions.
func TestArgumentsAndResultUnderOtherWords(t *testing.T) {
	for _, c := range [][4]string{
		{"gen_ai.tool.arguments", `{"x":1}`, "gen_ai.tool.message", "r"},
		{"gen_ai.tool.call.input", `{"x":1}`, "gen_ai.tool.call.output", "r"},
		{"gen_ai.tool.parameters", `{"x":1}`, "gen_ai.tool.response", "r"},
	} {
		o := genai.Read(genaitest.Span("vendor", "execute_tool f", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "f", c[0], c[1], c[2], c[3]))
		if o.Args.Value.JSON() != c[1] || o.Result.Value.Str() != c[3] {
			t.Errorf("%s, %s: args %s, result %q", c[0], c[2], o.Args.Value.JSON(), o.Result.Value.Str())
		}
	}
	o := genai.Read(genaitest.Span("vendor", "execute_tool f", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "f",
		"gen_ai.tool.parameters", `{"type":"object","properties":{"x":{"type":"integer"}}}`))
	if o.Args.Present() {
		t.Errorf("the schema of a tool is taken for its arguments: %s", o.Args.Value.JSON())
	}
}

// A message event without an id of its own may hold the blocks of a provider, which say whose results they are; a result that has an id is what the
// tool returned, whatever it looks like.
func TestToolMessageEventOfBlocks(t *testing.T) {
	const blocks = `[{"toolResult":{"toolUseId":"t1","status":"success","content":[{"text":"r"}]}}]`
	fields := func(members ...exactjson.Member) exactjson.Value { return exactjson.ObjectValue(members...) }
	content := exactjson.Member{Name: "content", Value: exactjson.StringValue(blocks)}
	if m := semconv.EventMessage(fields(content), tape.RoleTool); len(m.Parts) != 1 || m.Parts[0].ID != "t1" || m.Parts[0].Result.Str() != "r" {
		t.Errorf("%+v", m)
	}
	id := exactjson.Member{Name: "id", Value: exactjson.StringValue("t1")}
	if m := semconv.EventMessage(fields(id, content), tape.RoleTool); len(m.Parts) != 1 || m.Parts[0].Result.Str() != blocks {
		t.Errorf("%+v", m)
	}
}

// The packages for the Agents SDK see the response alone, and write its model as that of the request.
func TestModelOfAResponseIsNotTheOneThatWasAskedFor(t *testing.T) {
	const dated = "m1-2024-07-18"
	for name, c := range map[string]struct {
		source      *dialect.Source
		asked, said string
	}{
		"official":          {genaitest.Span("opentelemetry.instrumentation.openai_agents", "chat "+dated, "gen_ai.operation.name", "chat", "gen_ai.response.id", "resp_1", "gen_ai.request.model", dated, "gen_ai.response.model", dated), "", dated},
		"Coralogix":         {genaitest.Span("llm_tracekit.openai_agents.instrumentor", "Response", "gen_ai.operation.name", "chat", "gen_ai.response.id", "resp_1", "gen_ai.request.model", dated, "gen_ai.response.model", dated), "", dated},
		"a program's own":   {genaitest.Span("shop", "chat", "gen_ai.operation.name", "chat", "gen_ai.response.id", "resp_1", "gen_ai.request.model", dated, "gen_ai.response.model", dated), dated, dated},
		"Traceloop":         {genaitest.Span("opentelemetry.instrumentation.openai_agents", "openai.response", "llm.request.type", "response", "gen_ai.request.model", dated, "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "hi"), "", dated},
		"agent":             {genaitest.Span("opentelemetry.instrumentation.openai_agents", "invoke_agent a", "gen_ai.operation.name", "invoke_agent", "gen_ai.request.model", dated), "", ""},
		"no date":           {genaitest.Span("opentelemetry.instrumentation.openai_agents", "chat m1", "gen_ai.operation.name", "chat", "gen_ai.response.id", "resp_1", "gen_ai.request.model", "m1", "gen_ai.response.model", "m1"), "m1", "m1"},
		"chat completion":   {genaitest.Span("opentelemetry.instrumentation.openai_agents", "chat "+dated, "gen_ai.operation.name", "chat", "gen_ai.request.model", dated), dated, ""},
		"package of OpenAI": {genaitest.Span("opentelemetry.instrumentation.openai_v2", "chat "+dated, "gen_ai.operation.name", "chat", "gen_ai.response.id", "resp_1", "gen_ai.request.model", dated, "gen_ai.response.model", dated), dated, dated},
	} {
		if o := genai.Read(c.source); o.Model != c.asked || o.ResponseModel != c.said {
			t.Errorf("%s: asked %q, answered %q, want %q, %q", name, o.Model, o.ResponseModel, c.asked, c.said)
		}
	}
}

func TestFunctionsGivenToGooglesClientHideTheLoop(t *testing.T) {
	const question, answer = `[{"role":"user","parts":[{"type":"text","content":"q"}]}]`, `[{"role":"assistant","parts":[{"type":"text","content":"a"}]}]`
	const asking = `[{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"f","arguments":{}}]}]`
	for _, c := range []struct {
		provider, tools, said string
		want                  bool
	}{
		{"gcp.gen_ai", `[{"name":"f"},{"name":"g"}]`, answer, true},
		{"gcp.gen_ai", `[{"name":"f"}]`, asking, false},                              // the program calls it
		{"gcp.gen_ai", `[{"name":"f"},{"name":"g","parameters":{}}]`, answer, false}, // declared
		{"gcp.gen_ai", `[{"function_declarations":[{"name":"f"}]}]`, answer, false},  // declared
		{"openai", `[{"name":"f"}]`, answer, false},                                  // whose client calls nothing
	} {
		o := genai.Read(genaitest.Span("any", "generate_content m", "gen_ai.operation.name", "generate_content", "gen_ai.provider.name", c.provider,
			"gen_ai.tool.definitions", c.tools, "gen_ai.input.messages", question, "gen_ai.output.messages", c.said))
		if got := slices.ContainsFunc(o.Notes, func(n genai.Note) bool { return n.Code == tape.CodeModelCallHidden && n.Field == "response" }); got != c.want {
			t.Errorf("%s %s: %t", c.provider, c.tools, got)
		}
	}
}

func TestModelIsTakenFromTheNameOfASpanThatHasNothingElse(t *testing.T) {
	for _, c := range []struct{ name, asked, want string }{{"chat m1", "", "m1"}, {"chat m1", "m2", "m2"}, {"chat with a friend", "", ""}, {"chat unknown", "", ""}, {"plan m1", "", ""}} {
		attrs := []string{"error.type", "TypeError"}
		if c.asked != "" {
			attrs = append(attrs, "gen_ai.request.model", c.asked)
		}
		if o := genai.Read(genaitest.Span("openlit.instrumentation.groq", c.name, attrs...)); o.Model != c.want {
			t.Errorf("%s %s: %q, want %q", c.name, c.asked, o.Model, c.want)
		}
	}
}

// A choice whose calls were answered in the same request is an earlier turn, and no answer. An id that comes again is answered once for each call before it.
func TestAChoiceThatWasAnsweredIsAnEarlierTurn(t *testing.T) {
	const calls = `[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	told := []any{"gen_ai.tool.message", "id", "c1", "content", "r"}
	for name, c := range map[string]struct {
		events [][]any
		said   int
	}{
		"of the history":       {[][]any{{"gen_ai.user.message", "content", "q"}, {"gen_ai.choice", "tool_calls", calls}, told}, 0},
		"the answer":           {[][]any{{"gen_ai.user.message", "content", "q"}, {"gen_ai.choice", "tool_calls", calls}}, 1},
		"the id comes again":   {[][]any{{"gen_ai.assistant.message", "tool_calls", calls}, told, {"gen_ai.choice", "tool_calls", calls}}, 1},
		"with names of Java's": {[][]any{{"gen_ai.user.message", "content", "q"}, {"gen_ai.choice", "toolCalls", calls}}, 1},
		"with a text":          {[][]any{{"gen_ai.assistant.message", "tool_calls", calls}, told, {"gen_ai.choice", "content", "done"}}, 1},
	} {
		s := genaitest.Span("vendor", "chat m", "gen_ai.operation.name", "chat")
		for i, e := range c.events {
			event := s.Span.Events().AppendEmpty()
			event.SetName(e[0].(string))
			event.SetTimestamp(pcommon.Timestamp(i + 1))
			for j := 1; j+1 < len(e); j += 2 {
				event.Attributes().PutStr(e[j].(string), e[j+1].(string))
			}
		}
		o := genai.Read(s)
		if len(o.Response) != c.said || c.said > 0 && len(o.Response[0].Parts) != 1 {
			t.Errorf("%s: the answer is %+v", name, o.Response)
		}
	}
}

// any-agent writes what came out beside its type: calls as a list, any other value is what the model said or the tool returned.
func TestOutputBesideItsType(t *testing.T) {
	model := func(output string) *dialect.Report {
		return genai.Read(genaitest.Span("any_agent", "call_llm m1", "gen_ai.operation.name", "call_llm", "gen_ai.request.model", "m1", "gen_ai.output", output, "gen_ai.output.type", "json"))
	}
	if o := model(`[{"tool.name":"look","tool.args":"{\"x\":1}"},{"tool.name":"look","tool.args":{}}]`); len(o.Response) != 1 || len(o.Response[0].Parts) != 2 || o.Response[0].Parts[0].Name != "look" || o.Response[0].Parts[0].Args.JSON() != `{"x":1}` {
		t.Errorf("calls: %s", genaitest.Said(o))
	}
	for _, text := range []string{`{"tool.name":"look","tool.args":{}}`, `[{"tool.name":"look"}]`, `{"rows":[]}`, "Two rows."} {
		if o := model(text); len(o.Response) != 1 || len(o.Response[0].Parts) != 1 || o.Response[0].Parts[0].Text != text {
			t.Errorf("%s: %s", text, genaitest.Said(o))
		}
	}
	o := genai.Read(genaitest.Span("any_agent", "execute_tool look", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "look", "gen_ai.tool.args", `{"x":1}`, "gen_ai.output", "rows"))
	if o.Result.Value.Str() != "rows" || o.Args.Value.JSON() != `{"x":1}` {
		t.Errorf("tool: %s", genaitest.Said(o))
	}
}

// What was not to be captured is none of what was said.
func TestElidedContentIsMasked(t *testing.T) {
	read := func(content string) *dialect.Report {
		s := genaitest.Span("opentelemetry.instrumentation.google_genai", "generate_content m", "gen_ai.operation.name", "generate_content", "gen_ai.request.model", "m")
		for _, name := range []string{"gen_ai.user.message", "gen_ai.choice"} {
			e := s.Span.Events().AppendEmpty()
			e.SetName(name)
			e.Attributes().PutStr("content", content)
		}
		return genai.Read(s)
	}
	if o := read("<elided>"); len(o.Request)+len(o.Response) > 0 || o.RequestLabel != tape.Masked || o.ResponseLabel != tape.Masked {
		t.Errorf("elided: %+v", o)
	}
	if o := read("it was <elided>"); len(o.Request) != 1 || len(o.Response) != 1 || o.RequestLabel != "" {
		t.Errorf("within a text: %+v", o)
	}
}

// The package genai-otel-instrument writes an event for each message, its number behind the name of the list, and cuts texts at 200 characters.
func TestEventForEachMessageOfAList(t *testing.T) {
	s := genaitest.Span("genai_otel.instrumentors.base", "openai.chat.completion", "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.request.first_message", `{"role":"system","content":"be brief"}`)
	long := strings.Repeat("ä", 200)
	for _, e := range [][]string{
		{"gen_ai.prompt.0", "gen_ai.prompt", "system", long}, {"gen_ai.prompt.1", "gen_ai.prompt", "user", "hi"}, {"gen_ai.prompt.2", "gen_ai.prompt", "assistant", "None"}, {"gen_ai.prompt.3", "gen_ai.prompt", "tool", "rows"},
		{"gen_ai.completion.0", "gen_ai.completion", "assistant", "Two rows."}, {"gen_ai.prompt.x", "gen_ai.prompt", "user", "no number"}, {"gen_ai.prompt.4", "gen_ai.prompt", "someone", "no role"},
	} {
		event := s.Span.Events().AppendEmpty()
		event.SetName(e[0])
		event.Attributes().PutStr(e[1]+".role", e[2])
		event.Attributes().PutStr(e[1]+".content", e[3])
	}
	o := genai.Read(s)
	if len(o.Request) != 4 || o.Request[0].Parts[0].Label != tape.Truncated || o.Request[1].Parts[0].Text != "hi" || o.Request[1].Parts[0].Label != "" || !o.Request[2].Omitted || o.Request[3].Parts[0].Result.Str() != "rows" ||
		len(o.Response) != 1 || o.Response[0].Parts[0].Text != "Two rows." {
		t.Errorf("%s", genaitest.Said(o))
	}
	o = genai.Read(genaitest.Span("genai_otel.instrumentors.base", "openai.chat.completion", "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.request.first_message", `{"role":"system","content":"be brief"}`))
	if len(o.System) != 1 || o.System[0].Text != "be brief" || len(o.Request) > 0 {
		t.Errorf("a stream: %s", genaitest.Said(o))
	}
	if o := genai.Read(genaitest.Span("x", "chat", "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.request.first_message", `{"role":"user","content":"hi"}`)); len(o.System)+len(o.Request) > 0 {
		t.Errorf("the first of several messages of a user: %s", genaitest.Said(o))
	}
}

// What AWS's instrumentation of the Agents SDK writes as the arguments of a call that hands over is who does so to whom.
func TestArgumentsThatTellWhoHandsOver(t *testing.T) {
	tool := func(args string) *dialect.Report {
		return genai.Read(genaitest.Span("amazon.opentelemetry.distro.instrumentation.openai_agents", "execute_tool desk", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "desk", "gen_ai.tool.call.id", "c1", "gen_ai.tool.call.arguments", args))
	}
	if o := tool(`{"from_agent":"shop","to_agent":"desk"}`); !o.Handoff || o.Args.Present() || o.Name != "desk" || o.CallID != "c1" {
		t.Errorf("%s", genaitest.Said(o))
	}
	for _, args := range []string{`{"from_agent":"shop","to_agent":"desk","why":"x"}`, `{"to_agent":"desk"}`, `{"from_agent":1,"to_agent":2}`} {
		if o := tool(args); o.Handoff || o.Args.Value.JSON() != args {
			t.Errorf("%s: %s", args, genaitest.Said(o))
		}
	}
}

// Coralogix's package for Gemini writes a message that holds what a function returned as JSON in its content.
func TestMessageOfGeminiInTheContentOfAFlattenedOne(t *testing.T) {
	read := func(content string) []decode.Message {
		return genai.Read(genaitest.Span("llm_tracekit.gemini.instrumentor", "chat", "gen_ai.operation.name", "chat", "gen_ai.system", "gemini", "gen_ai.request.model", "g1", "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "hi",
			"gen_ai.prompt.1.role", "assistant", "gen_ai.prompt.1.tool_calls.0.function.name", "look", "gen_ai.prompt.1.tool_calls.0.function.arguments", `{"x":1}`, "gen_ai.prompt.2.role", "user", "gen_ai.prompt.2.content", content)).Request
	}
	m := read(`{"parts":[{"text":null,"function_call":null,"function_response":{"id":null,"name":"look","response":{"result":"rows"}}}],"role":"user"}`)
	if len(m) != 3 || m[2].Role != tape.RoleTool || m[2].Parts[0].Name != "look" || m[2].Parts[0].Result.Str() != "rows" {
		t.Errorf("%+v", m)
	}
	for _, said := range []string{`{"parts":["wheel","saddle"],"role":"user"}`, `{"parts":[{"function_response":"none"}],"role":"user"}`, `{"parts":[{"function_response":{"name":"look","response":{}}}]}`} {
		if m := read(said); len(m) != 3 || m[2].Role != tape.RoleUser || m[2].Parts[0].Text != said {
			t.Errorf("%s: %+v", said, m)
		}
	}
}

// Quarkus writes the instructions and the question below each other: where one ends is not told.
func TestMessagesBelowEachOtherAreNoQuestion(t *testing.T) {
	for prompt, want := range map[string]tape.Label{"Be brief.\nWhat now?": tape.Lossy, "What now?": ""} {
		o := genai.Read(genaitest.Span("io.quarkus.opentelemetry", "completion m", "gen_ai.request.model", "m", "gen_ai.prompt", prompt, "gen_ai.completion", "Go on."))
		if len(o.Request) != 1 || o.Request[0].Parts[0].Label != want || o.RequestLabel != want {
			t.Errorf("%q: %v, %q", prompt, o.Request, o.RequestLabel)
		}
	}
}
