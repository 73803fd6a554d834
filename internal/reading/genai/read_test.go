// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/tape"
)

// conventional is a source of one span of the conventions with the given attributes.
func conventional(name string, attrs map[string]any) *dialect.Source {
	s := ptrace.NewSpan()
	s.SetName(name)
	if err := s.Attributes().FromRaw(attrs); err != nil {
		panic(err)
	}
	return &dialect.Source{Resource: pcommon.NewMap(), ScopeName: "test", Span: s}
}

func spanEvent(s ptrace.Span, name string, at int, attrs map[string]any) {
	e := s.Events().AppendEmpty()
	e.SetName(name)
	e.SetTimestamp(pcommon.Timestamp(at))
	if err := e.Attributes().FromRaw(attrs); err != nil {
		panic(err)
	}
}

// record is a log record that travels as a span.
func record(name string, at int, body any, attrs map[string]any) ptrace.Span {
	s := ptrace.NewSpan()
	s.SetName(name)
	s.SetStartTimestamp(pcommon.Timestamp(at))
	if err := s.Attributes().FromRaw(attrs); err != nil {
		panic(err)
	}
	if err := s.Attributes().PutEmpty(dialect.LogBody).FromRaw(body); err != nil {
		panic(err)
	}
	return s
}

func wantMessages(t *testing.T, what string, got []decode.Message, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, genaitest.Messages(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestMessagesOfSpanEventsAreReadInOrderOfTime(t *testing.T) {
	s := conventional("chat m", map[string]any{"gen_ai.operation.name": "chat"})
	spanEvent(s.Span, "gen_ai.choice", 9, map[string]any{"index": int64(0), "finish_reason": "tool_calls", "message": `{"role":"assistant","tool_calls":[{"id":"c2","function":{"name":"g","arguments":"{}"}}]}`})
	spanEvent(s.Span, "gen_ai.tool.message", 4, map[string]any{"id": "c1", "content": "v"})
	spanEvent(s.Span, "gen_ai.assistant.message", 3, map[string]any{"tool_calls": `[{"id":"c1","function":{"name":"f","arguments":"{\"x\":1}"}}]`})
	spanEvent(s.Span, "gen_ai.system.message", 1, map[string]any{"content": "be kind"})
	spanEvent(s.Span, "gen_ai.user.message", 2, map[string]any{"content": "hi"})
	spanEvent(s.Span, "http.request", 1, map[string]any{"content": "no message"})
	o := Read(s)
	wantMessages(t, "request", o.Request, "system: text(be kind)", "user: text(hi)", `assistant: call(c1 f {"x":1})`, `tool: result(c1  "v")`)
	wantMessages(t, "response", o.Response, "assistant: call(c2 g {}) -> tool_calls")
}

func TestMessagesOfLogRecordsAreReadInOrderOfTime(t *testing.T) {
	s := conventional("chat m", map[string]any{"gen_ai.operation.name": "chat"})
	s.Logs = []ptrace.Span{
		record("gen_ai.choice", 5, map[string]any{"index": int64(0), "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": "done"}}, nil),
		record("gen_ai.tool.message", 4, map[string]any{"id": "c1", "content": "v"}, nil),
		record("gen_ai.assistant.message", 3, map[string]any{"tool_calls": []any{map[string]any{"id": "c1", "function": map[string]any{"name": "f", "arguments": `{"x":1}`}}}}, nil),
		record("gen_ai.user.message", 2, `{"content":"hi"}`, nil),
		record("gen_ai.system.message", 1, nil, map[string]any{"gen_ai.event.content": `{"content":"be kind"}`}),
	}
	o := Read(s)
	wantMessages(t, "request", o.Request, "system: text(be kind)", "user: text(hi)", `assistant: call(c1 f {"x":1})`, `tool: result(c1  "v")`)
	wantMessages(t, "response", o.Response, "assistant: text(done) -> stop")
}

// A team may say what a span is in the key of a producer, and tell the rest in records of its own. Other records say nothing of the span.
func TestRecordsOfATeamTellWhatAProducersKeysLeaveOpen(t *testing.T) {
	s := genaitest.Span("acme", "work", "mlflow.spanType", "LLM", "acme.model", "m1")
	s.Logs = []ptrace.Span{record("acme.llm.in", 1, `[{"role":"user","content":"hi"}]`, nil), record("acme.llm.response", 2, `[{"role":"assistant","content":"yes"}]`, nil)}
	o := Read(s)
	wantMessages(t, "request", o.Request, "user: text(hi)")
	wantMessages(t, "response", o.Response, "assistant: text(yes)")
	if o.Model != "m1" {
		t.Errorf("the model is %q", o.Model)
	}
	s = genaitest.Span("acme", "work", "mlflow.spanType", "LLM", "acme.model", "m1")
	s.Logs = []ptrace.Span{record("acme.audit", 1, `[{"role":"user","content":"hi"}]`, nil)}
	s.Span.Attributes().PutStr("mlflow.llm.model", "m2")
	if o = Read(s); o.Model != "m2" || len(o.Request) > 0 || slices.Contains(o.Dialects, "unknown") {
		t.Errorf("%v was read by %v", o.Request, o.Dialects)
	}
}

func TestDetailsEventHoldsTheWholeCall(t *testing.T) {
	s := conventional("chat m", map[string]any{"gen_ai.operation.name": "chat"})
	spanEvent(s.Span, "gen_ai.client.inference.operation.details", 2, map[string]any{ // once more, by a second library
		"gen_ai.input.messages": `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`, "gen_ai.output.messages": `[{"role":"assistant","content":"a","finish_reason":"stop"}]`,
	})
	spanEvent(s.Span, "gen_ai.client.inference.operation.details", 1, map[string]any{
		"gen_ai.system_instructions": `[{"type":"text","content":"be kind"}]`,
		"gen_ai.input.messages":      []any{map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "content": "hi"}}}},
		"gen_ai.output.messages":     `[{"role":"assistant","parts":[{"type":"text","content":"a"}],"finish_reason":"stop"}]`,
		"gen_ai.tool.definitions":    `[{"type":"function","name":"f","description":"d","parameters":{"type":"object"}}]`,
	})
	o := Read(s)
	wantMessages(t, "request", o.Request, "user: text(hi)")
	wantMessages(t, "response", o.Response, "assistant: text(a) -> stop")
	if len(o.System) != 1 || o.System[0].Text != "be kind" || len(o.Tools) != 1 || o.Tools[0].Name != "f" || o.Tools[0].Parameters.JSON() != `{"type":"object"}` {
		t.Errorf("system %v, tools %v", o.System, o.Tools)
	}
}

func TestAttributesComeBeforeEvents(t *testing.T) {
	s := conventional("chat m", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.input.messages": `[{"role":"user","content":"attribute"}]`})
	spanEvent(s.Span, "gen_ai.user.message", 1, map[string]any{"content": "event"})
	spanEvent(s.Span, "gen_ai.choice", 2, map[string]any{"message": `{"content":"only here"}`})
	o := Read(s)
	wantMessages(t, "request", o.Request, "user: text(attribute)")
	wantMessages(t, "response", o.Response, "assistant: text(only here)")
}

func TestToolSpanIsReadFromAttributesElseFromItsEvents(t *testing.T) {
	s := conventional("execute_tool f", map[string]any{"gen_ai.operation.name": "execute_tool"})
	spanEvent(s.Span, "gen_ai.tool.message", 1, map[string]any{"content": `{"x":1}`, "id": "c1"})
	spanEvent(s.Span, "gen_ai.choice", 2, map[string]any{"message": `[{"text":"v"}]`, "id": "c1"})
	o := Read(s)
	if o.Class != dialect.Tool || o.Name != "f" || o.CallID != "c1" || o.Args.Value.JSON() != `{"x":1}` || o.Result.Value.JSON() != `"v"` {
		t.Errorf("%s %s: %s = %s", o.Name, o.CallID, o.Args.Value.JSON(), o.Result.Value.JSON())
	}
}

func TestContentElsewhereIsReferredTo(t *testing.T) {
	o := Read(conventional("chat m", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.input.messages_ref": "s3://b/x"}))
	if o.RequestLabel != tape.External || len(o.Request) != 1 || o.Request[0].Parts[0].URI != "s3://b/x" {
		t.Errorf("label %q, request %v", o.RequestLabel, genaitest.Messages(o.Request))
	}
}

func TestEveryReferenceIsNotedAndKept(t *testing.T) {
	refs := map[string]any{"gen_ai.operation.name": "chat"}
	for _, name := range dialect.Referable {
		refs[name+dialect.ReferenceSuffix] = "s3://b/" + name
	}
	o := Read(conventional("chat m", refs))
	var noted []string
	for _, n := range o.Notes {
		if n.Code == tape.CodeExternalContent {
			noted = append(noted, n.Field)
		}
	}
	slices.Sort(noted)
	if diff := cmp.Diff(dialect.Referable, noted); diff != "" {
		t.Error(diff)
	}
	if len(o.System) != 1 || o.System[0].URI != "s3://b/gen_ai.system_instructions" || o.System[0].Label != tape.External {
		t.Errorf("system %v", o.System)
	}
	if o.ResponseLabel != tape.External {
		t.Errorf("label of the response %q", o.ResponseLabel)
	}
	refs["gen_ai.operation.name"] = "invoke_agent"
	if run := Read(conventional("invoke_agent a", refs)); len(run.Notes) != len(dialect.Referable) || len(run.Output) != 0 {
		t.Errorf("run: %d notes, output %v", len(run.Notes), genaitest.Messages(run.Output))
	}
	for _, name := range dialect.Referable {
		refs[name] = `[]`
	}
	if o := Read(conventional("chat m", refs)); len(o.Notes) != 0 || o.RequestLabel != "" {
		t.Errorf("content beside its reference: %v", o.Notes)
	}
}

func TestCutListOfTheConventionsIsLabelledAndKept(t *testing.T) {
	o := Read(conventional("chat m", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.input.messages": `[{"role":"user","content":"a"},{"role":"assistant","content":"b`}))
	if o.RequestLabel != tape.Truncated {
		t.Errorf("label %q", o.RequestLabel)
	}
	wantMessages(t, "request", o.Request, "user: text(a)")
}

func TestSpansAreClassified(t *testing.T) {
	for name, c := range map[string]struct {
		span  string
		attrs map[string]any
		want  dialect.Class
	}{
		"operation chat":             {"x", map[string]any{"gen_ai.operation.name": "chat"}, dialect.Model},
		"operation execute_tool":     {"x", map[string]any{"gen_ai.operation.name": "execute_tool"}, dialect.Tool},
		"operation invoke_agent":     {"x", map[string]any{"gen_ai.operation.name": "invoke_agent"}, dialect.Agent},
		"operation embeddings":       {"x", map[string]any{"gen_ai.operation.name": "embeddings"}, dialect.Noise},
		"operation plan":             {"x", map[string]any{"gen_ai.operation.name": "plan"}, dialect.Structure},
		"name of a tool span":        {"execute_tool f", map[string]any{"gen_ai.system": "x"}, dialect.Tool},
		"name of an agent span":      {"invoke_agent f", map[string]any{"gen_ai.system": "x"}, dialect.Agent},
		"tool name":                  {"x", map[string]any{"gen_ai.tool.name": "f"}, dialect.Tool},
		"tool name on a model call":  {"x", map[string]any{"gen_ai.tool.name": "f", "gen_ai.request.model": "m"}, dialect.Model},
		"messages":                   {"x", map[string]any{"gen_ai.input.messages": "[]"}, dialect.Model},
		"MCP call":                   {"x", map[string]any{"mcp.method.name": "tools/call"}, dialect.Tool},
		"MCP handshake":              {"x", map[string]any{"mcp.method.name": "initialize"}, dialect.Noise},
		"a mark that says little":    {"x", map[string]any{"gen_ai.system": "x"}, dialect.Structure},
		"an unknown operation":       {"x", map[string]any{"gen_ai.operation.name": "juggle"}, dialect.Structure},
		"the operation is no string": {"chat m", map[string]any{"gen_ai.operation.name": int64(7)}, dialect.Model},
	} {
		if got := Read(conventional(c.span, c.attrs)).Class; got != c.want {
			t.Errorf("%s is class %d, want %d", name, got, c.want)
		}
	}
}

func TestCountsAndListsAreReadInEverySpelling(t *testing.T) {
	for _, v := range []any{int64(12), "12", " 12 ", 12.0, "12.0"} {
		o := Read(conventional("chat m", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": v}))
		if n := o.Usage.InputTokens; n == nil || *n != 12 {
			t.Errorf("%#v is %v tokens", v, n)
		}
	}
	for _, v := range []any{int64(-1), "many", 1.5, true, []any{int64(1)}} {
		if o := Read(conventional("chat m", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": v})); o.Usage.InputTokens != nil {
			t.Errorf("%#v is %d tokens", v, *o.Usage.InputTokens)
		}
	}
	for _, v := range []any{[]any{"stop", "length"}, `["stop","length"]`, "stop, length"} {
		o := Read(conventional("chat m", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": v}))
		if diff := cmp.Diff([]string{"stop", "length"}, o.FinishReasons); diff != "" {
			t.Errorf("%#v (-want +got):\n%s", v, diff)
		}
	}
}

func TestFrameworksAreNoProviders(t *testing.T) {
	for name, want := range map[string]string{"openai": "openai", "OpenAI": "openai", "langchain": "", "strands-agents": "", "xai": "x_ai", "my.own": "my.own", "": ""} {
		if got := decode.Provider(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// FuzzReadAnySpan: a span built of any keys and values is read without a crash and twice alike. Every line of the text is one attribute: key, type and value, apart by tabs; keys that start with @ belong to an event.
func FuzzReadAnySpan(f *testing.F) {
	f.Add("test", "chat m", "gen_ai.operation.name\ts\tchat\ngen_ai.input.messages\tj\t[{\"role\":\"user\",\"content\":\"x\"}]\n@gen_ai.choice\ts\t{\"message\":{}}")
	f.Add("ai", "ai.toolCall", "ai.toolCall.args\ts\t{}\nai.operationId\ts\tai.toolCall\nai.toolCall.result\ts\t\"\\\"x\\\"\"")
	f.Add("github.com/initializ/forge", "tool.a__b", "forge.tool.args\ts\t{\"k\":\"[REDACTED]\"}\nforge.tool.result\ts\tx…[truncated:5000]")
	f.Add("openinference.instrumentation.x", "x", "openinference.span.kind\ts\tLLM\nllm.input_messages.0.message.role\ts\ttool\nllm.input_messages.0.message.contents.1.message_content.text\tj\t[]\noutput.value\tj\t{\"generations\":[[{\"message\":{}}]]}")
	f.Add("x", "x", "mcp.method.name\ti\t1\nlangfuse.observation.type\ts\ttool\ntraceloop.span.kind\ts\ttool\ntraceloop.entity.input\ts\t{\"input_str\":\"{'a': Foo()}\"}")
	for _, d := range Dialects {
		for _, mark := range d.Marks {
			f.Add(strings.Join(d.Scopes, ""), d.ID, mark+"span.type\ts\ttool\n"+mark+"input\tj\t[{\"role\":\"user\"}]\n"+mark+"output\ts\t{}\ninput.value\ts\t{}")
		}
	}
	f.Fuzz(func(t *testing.T, scope, name, text string) {
		s := spanOf(scope, name, text)
		first := Read(s)
		again := Read(spanOf(scope, name, text))
		for _, pair := range [][2][]decode.Message{{first.Request, again.Request}, {first.Response, again.Response}, {first.Input, again.Input}, {first.Output, again.Output}} {
			if diff := cmp.Diff(genaitest.Messages(pair[0]), genaitest.Messages(pair[1])); diff != "" {
				t.Fatalf("read twice:\n%s", diff)
			}
		}
		if first.Args.Value.JSON() != again.Args.Value.JSON() || first.Result.Value.JSON() != again.Result.Value.JSON() || first.Class != again.Class || first.Name != again.Name || first.CallID != again.CallID {
			t.Fatalf("read twice: %+v and %+v", first, again)
		}
		IsEvidence(scope, s.Span)
		isRunSpan(scope, s.Span)
	})
}

func spanOf(scope, name, text string) *dialect.Source {
	span := ptrace.NewSpan()
	span.SetName(name)
	for _, line := range strings.Split(text, "\n") {
		key, rest, _ := strings.Cut(line, "\t")
		kind, value, _ := strings.Cut(rest, "\t")
		to := span.Attributes()
		if event, ok := strings.CutPrefix(key, "@"); ok {
			e := span.Events().AppendEmpty()
			e.SetName(event)
			to, key = e.Attributes(), "gen_ai.event.content"
		}
		switch kind {
		case "i":
			n, _ := strconv.ParseInt(value, 10, 64)
			to.PutInt(key, n)
		case "b":
			to.PutBool(key, value == "true")
		case "j":
			structured(value, to.PutEmpty(key))
		default:
			to.PutStr(key, value)
		}
	}
	return &dialect.Source{Resource: pcommon.NewMap(), ScopeName: scope, Span: span}
}

// structured puts the text's JSON value as arrays and maps, not as text.
func structured(text string, to pcommon.Value) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		to.SetStr(text)
		return
	}
	if err := to.FromRaw(v); err != nil {
		panic(err)
	}
}

func isRunSpan(scope string, span ptrace.Span) bool {
	var r Recogniser
	r.Look(scope, span)
	return r.IsRunSpan()
}

// What was seen of one span says nothing of the next one, nor of one of another scope.
func TestARecogniserSaysOfEachSpanWhatALookAtItAloneSays(t *testing.T) {
	text := map[string]string{
		"agent": "gen_ai.operation.name\ts\tinvoke_agent", "model": "gen_ai.operation.name\ts\tchat", "web": "http.method\ts\tGET", "bare": "",
		"inference": "openinference.span.kind\ts\tAGENT", "function": "tool.name\ts\tsearch\ninput.value\ts\t{}",
	}
	scopes := []string{"", "app", "opentelemetry.instrumentation.openai_v2", "pydantic-ai", "strands.telemetry.tracer", "gcp.vertex.agent", dialect.LogScope, segregation.NoteScope, "agent_framework"}
	var r Recogniser
	kinds := map[[2]bool]int{}
	for i := range 4000 {
		scope := scopes[i*i/3%len(scopes)]
		for name, attributes := range text {
			span := spanOf(scope, name, attributes).Span
			if i%5 == 0 {
				span.Events().AppendEmpty().SetName("gen_ai.choice")
			}
			r.Look(scope, span)
			var fresh Recogniser
			fresh.Look(scope, span)
			run := i%2 == 0 && r.IsRunSpan() // in either order
			got := [2]bool{r.IsEvidence(), r.IsRunSpan() || run}
			want := [2]bool{IsEvidence(scope, span), fresh.IsRunSpan()}
			if got != want {
				t.Fatalf("%q, %s: %v, alone %v", scope, name, got, want)
			}
			kinds[want]++
		}
	}
	if len(kinds) < 3 {
		t.Errorf("the spans are too much alike: %v", kinds)
	}
}

// LangChain's own metadata names the model that was asked for, under the prefixes of whoever carries it.
func TestLangChainNamesTheModelThatWasAskedFor(t *testing.T) {
	for _, name := range []string{`"m"`, "m"} {
		o := Read(genaitest.Span("langfuse-sdk", "ChatX", "langfuse.observation.type", "generation", "langfuse.observation.model.name", "m-2024-07-18",
			"langfuse.observation.metadata.ls_model_name", name, "langfuse.observation.metadata.ls_provider", `"openai"`))
		if o.Model != "m" || o.ResponseModel != "m-2024-07-18" || o.Provider != "openai" {
			t.Errorf("%s: asked for %q of %q, answered %q", name, o.Model, o.Provider, o.ResponseModel)
		}
	}
	whole := genaitest.Span("x", "ChatX", "openinference.span.kind", "LLM", "metadata", `{"langgraph_step":1,"ls_provider":"openai","ls_model_name":"m"}`)
	if o := Read(whole); o.Model != "m" || o.Provider != "openai" {
		t.Errorf("metadata as one text: asked for %q of %q", o.Model, o.Provider)
	}
	maker := genaitest.Span("x", "chat", "gen_ai.operation.name", "chat", "gen_ai.provider.name", "anthropic", "gen_ai.request.model", "anthropic", "gen_ai.response.model", "anthropic")
	if o := Read(maker); o.Model != "" || o.ResponseModel != "" {
		t.Errorf("the provider for the model: asked for %q, answered %q", o.Model, o.ResponseModel)
	}
	if o := Read(genaitest.Span("x", "chat", "gen_ai.operation.name", "chat", "gen_ai.request.model", "routed", "a.metadata.ls_model_name", "m")); o.Model != "routed" {
		t.Errorf("asked for %q", o.Model)
	}
}

func TestAResultInGoMayHoldRoundedIntegers(t *testing.T) {
	for language, want := range map[string]tape.Label{"go": tape.Lossy, "python": ""} {
		for result, rounded := range map[string]bool{`{"id":9007199254740996}`: true, `{"id":9007199254740995}`: false} {
			s := genaitest.Span("gcp.vertex.agent", "execute_tool f", "gcp.vertex.agent.tool_call_args", `{"a":1}`, "gcp.vertex.agent.tool_response", result)
			s.Resource.PutStr("telemetry.sdk.language", language)
			if got := Read(s).Result.Label; rounded && got != want || !rounded && got != "" {
				t.Errorf("%s %s: %q", language, result, got)
			}
		}
	}
}

// ADK for Go 0.5 writes null for the arguments of every call, which says nothing of them.
func TestArgumentsThatADKWritesAsNullAreNone(t *testing.T) {
	for args, want := range map[string]bool{"null": false, "{}": true, `{"a":null}`: true} {
		s := genaitest.Span("gcp.vertex.agent", "execute_tool f", "gcp.vertex.agent.tool_call_args", args, "gcp.vertex.agent.tool_response", `{"b":2}`)
		if o := Read(s); o.Args.Present() != want || !o.Result.Present() {
			t.Errorf("%s: %+v", args, o.Args)
		}
	}
}

// Of two records of a request on one span the one that shows what tools returned is taken, whole: ids of calls may differ. Instructions that only the other one holds stay.
func TestTheRecordOfARequestThatShowsResultsIsTaken(t *testing.T) {
	flattened := []string{"gen_ai.prompt.0.role", "system", "gen_ai.prompt.0.content", "Be brief.", "gen_ai.prompt.1.role", "user", "gen_ai.prompt.1.content", "hi",
		"gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.tool_calls.0.id", "fc_2", "gen_ai.completion.0.tool_calls.0.name", "f", "gen_ai.completion.0.tool_calls.0.arguments", "{}"}
	items := []string{"gen_ai.output.messages", `[{"type":"function_call","id":"fc_2","call_id":"call_2","name":"f","arguments":"{}"}]`, "gen_ai.input.messages",
		`[{"role":"user","content":"hi"},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"call_1","output":"v"}]`}
	for name, c := range map[string]struct {
		more []string
		want string
	}{
		"the other one leaves it out": {nil, "system user assistant tool call_2"},
		"both show it":                {[]string{"gen_ai.prompt.2.role", "tool", "gen_ai.prompt.2.tool_call_id", "fc_1", "gen_ai.prompt.2.content", "v"}, "system user tool fc_2"},
	} {
		o := Read(genaitest.Span("lmnr.tracer", "openai.response", slices.Concat([]string{"gen_ai.system", "openai", "gen_ai.request.model", "m1", "llm.request.type", "chat"}, flattened, items, c.more)...))
		got := ""
		for _, m := range o.Request {
			got += string(m.Role) + " "
		}
		for _, p := range o.Response[0].Parts {
			got += p.ID
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A request that sends nothing but new results shows no call: the record with the more results of them is taken if it holds those of the other one, and each has an id of its own.
func TestOfNewResultsAloneTheRecordThatShowsMoreIsTaken(t *testing.T) {
	joined := []string{"openinference.span.kind", "LLM", "llm.input_messages.0.message.role", "system", "llm.input_messages.0.message.content", "Be brief.",
		"llm.input_messages.1.message.role", "system", "llm.input_messages.1.message.content", "Be kind.",
		"llm.input_messages.2.message.role", "tool", "llm.input_messages.2.message.tool_call_id", "c2", "llm.input_messages.2.message.content", "one two"}
	for name, c := range map[string]struct{ parts, want string }{
		"two results that stood in one message": {`{"type":"tool_call_response","id":"c1","response":"one"},{"type":"tool_call_response","id":"c2","response":"two"}`, "systemsystem c1 c2"},
		"results of other calls":                {`{"type":"tool_call_response","id":"c3","response":"one"},{"type":"tool_call_response","id":"c4","response":"two"}`, "systemsystem c2"},
		"results of nobody knows which call":    {`{"type":"tool_call_response","response":"one"},{"type":"tool_call_response","id":"c2","response":"two"}`, "systemsystem c2"},
	} {
		o := Read(genaitest.Span("agent_framework", "chat m1", append([]string{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m1",
			"gen_ai.input.messages", `[{"role":"tool","parts":[` + c.parts + `]}]`,
			"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"so"}]}]`}, joined...)...))
		got := ""
		for _, m := range o.Request {
			if m.Role != tape.RoleTool {
				got += string(m.Role)
			}
			for _, p := range m.Parts {
				if p.ID != "" {
					got += " " + p.ID
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTheRecordOfAnAnswerThatHasItsTextIsTaken(t *testing.T) {
	flattened := []string{"gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "hi",
		"gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.tool_calls.0.id", "c1", "gen_ai.completion.0.tool_calls.0.name", "f", "gen_ai.completion.0.tool_calls.0.arguments", "{}"}
	for whole, want := range map[string]string{
		`[{"role":"assistant","parts":[{"type":"text","content":"One moment."},{"type":"tool_call","id":"c1","name":"f","arguments":{}}]}]`: "One moment.c1",
		`[{"role":"assistant","parts":[{"type":"text","content":"One moment."},{"type":"tool_call","id":"c2","name":"f","arguments":{}}]}]`: "c1", // another answer
		`[{"role":"assistant","parts":[{"type":"text","content":"One moment."}]}]`:                                                          "c1",
	} {
		o := Read(genaitest.Span("lmnr.tracer", "openai.response", slices.Concat([]string{"gen_ai.system", "openai", "gen_ai.request.model", "m1", "llm.request.type", "chat", "gen_ai.output.messages", whole}, flattened)...))
		got := ""
		for _, p := range o.Response[0].Parts {
			got += p.Text + p.ID
		}
		if got != want {
			t.Errorf("%s: %q, want %q", whole, got, want)
		}
	}
}

// Bodies of HTTP are a model call's on a span that says that it is one, and nothing else says what was asked.
func TestBodiesOfASpanOfAModelCallAreItsOwn(t *testing.T) {
	const asked, answered = `{"model":"m1","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}]}`, `{"choices":[{"message":{"role":"assistant","content":"ho"},"finish_reason":"stop"}],"model":"m1-1","usage":{"prompt_tokens":3,"completion_tokens":1}}`
	bodies := []string{"http.request.body", asked, "http.response.body", answered}
	for name, c := range map[string]struct {
		attributes []string
		want       string
	}{
		"a model call":         {[]string{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m1"}, "system user ho"},
		"with messages":        {[]string{"gen_ai.operation.name", "chat", "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`}, "user "},
		"an agent's own API":   {[]string{"gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a"}, ""},
		"a request of a tool":  {[]string{"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "t"}, ""},
		"a request of anybody": {[]string{"http.request.method", "POST"}, ""},
	} {
		o := Read(genaitest.Span("app", "x", slices.Concat(c.attributes, bodies)...))
		got := ""
		for _, m := range o.Request {
			got += string(m.Role) + " "
		}
		for _, m := range o.Response {
			got += m.Parts[0].Text
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// LiteLLM writes a model call onto the span that is active. A span of the conventions stays what it says that it is.
func TestWhatAClientWritesOntoAnAgentMakesItNoModelCall(t *testing.T) {
	written := []string{"metadata.user_api_key_hash", "", "llm.request.type", "completion", "gen_ai.request.model", "m1", "gen_ai.usage.output_tokens", "7"}
	for operation, want := range map[string]dialect.Class{"invoke_agent": dialect.Agent, "execute_tool": dialect.Tool, "chat": dialect.Model, "": dialect.Model} {
		attributes := written
		if operation != "" {
			attributes = append([]string{"gen_ai.operation.name", operation}, written...)
		}
		if o := Read(genaitest.Span("app", "work", attributes...)); o.Class != want {
			t.Errorf("%q is read as %v", operation, o.Class)
		}
	}
}

// Traceloop's package for Anthropic in JavaScript writes {} for the arguments of streamed calls, whoever exports its spans and reads them first.
func TestArgumentsThatAStreamLostAreNotEmpty(t *testing.T) {
	for reason, want := range map[string]string{"": "", "tool_use": "{}"} {
		o := Read(genaitest.Span("@traceloop/instrumentation-anthropic", "chat m", "lmnr.span.path", "chat", "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.provider.name", "anthropic",
			"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"go"}]}]`,
			"gen_ai.output.messages", `[{"role":"assistant","finish_reason":"`+reason+`","parts":[{"type":"tool_call","id":"toolu_1","name":"look","arguments":{}}]}]`))
		got := ""
		if args := o.Response[0].Parts[0].Args; !args.IsAbsent() {
			got = args.JSON()
		}
		if got != want {
			t.Errorf("finish reason %q: arguments %q, want %q", reason, got, want)
		}
	}
}
