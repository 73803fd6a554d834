// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestSpansOfNoKnownProducerAreReadByShape(t *testing.T) {
	for name, c := range map[string]struct {
		attributes []string
		want       string
	}{
		"the type of a span and what went in and came out": {
			[]string{"zz.span.type", "tool", "zz.input", `{"city":"Paris"}`, "zz.output", `{"sky":"rain"}`},
			"class: tool\ndialect: unknown\nname: work\nkind: function\nargs: {\"city\":\"Paris\"}\nresult: \"{\\\"sky\\\":\\\"rain\\\"}\"\n",
		},
		"values with their types": {
			[]string{"zz:subtype", "toolCall", "zz:input", `{"type":"json","value":{"city":"Paris"}}`, "zz:output", `{"type":"text","value":"rain"}`},
			"class: tool\ndialect: unknown\nname: work\nkind: function\nargs: {\"city\":\"Paris\"}\nresult: \"rain\"\n",
		},
		"a request and an answer in several attributes": {
			[]string{
				"zz.operation", "doGenerate", "zz.model.id", "m1", "zz.prompt.messages", `[{"role":"user","content":"hi"}]`,
				"zz.response.text", "one moment", "zz.response.toolCalls", `[{"toolCallId":"c1","toolName":"look","input":"{\"a\":1}"}]`, "zz.usage.promptTokens", "7",
			},
			"class: model\ndialect: unknown\nmodel: m1\nrequest: user | text \"hi\"\nresponse: assistant | text \"one moment\" | call look c1 {\"a\":1}\n",
		},
		"integers that a JavaScript runtime may have rounded": {
			[]string{"zz.span.type", "tool", "zz.input", `{"id":9007199254740993}`, "zz.output", `{"checksum":18446744073709552000,"at":1795196161990000000}`},
			"class: tool\ndialect: unknown\nname: work\nkind: function\nargs: {\"id\":9007199254740993}\n" +
				"result: \"{\\\"checksum\\\":18446744073709552000,\\\"at\\\":1795196161990000000}\" [lossy]\n",
		},
		"the name of one state of a model is that of the one that answered": {
			[]string{"zz.span.type", "llm", "zz.model.name", "m1-2026-01-31", "zz.input", `[{"role":"user","content":"hi"}]`},
			"class: model\ndialect: unknown\nrequest: user | text \"hi\"\nresponse model: m1-2026-01-31\n",
		},
		"calls and instructions in attributes of their own": {
			[]string{
				"zz.kind", "LLM", "zz.llm.system", "You answer in one word.", "zz.llm.messages", `[{"role":"user","content":"hi"}]`,
				"zz.llm.tool_calls", `[{"id":"c1","name":"look","arguments":"{\"a\":1}"}]`,
			},
			"class: model\ndialect: unknown\nsystem: | text \"You answer in one word.\"\nrequest: user | text \"hi\"\nresponse: assistant | call look c1 {\"a\":1}\n",
		},
		"bodies of a provider without a type": {
			[]string{
				"zz.request.payload", `{"modelId":"m1","messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
				"zz.response.payload", `{"output":{"message":{"role":"assistant","content":[{"text":"yes"}]}},"stopReason":"end_turn"}`,
			},
			"class: model\ndialect: unknown\nmodel: m1\nrequest: user | text \"hi\"\nresponse: assistant | text \"yes\"\nfinish: end_turn\n",
		},
		"bodies under the prefix of the conventions": {
			[]string{"zz.span.type", "llm", "gen_ai.request.body", `{"model":"m1","messages":[{"role":"user","content":"hi"}]}`, "gen_ai.response.body", `{"choices":[{"message":{"role":"assistant","content":"yes"}}]}`},
			"class: model\ndialect: unknown\nmodel: m1\nrequest: user | text \"hi\"\nresponse: assistant | text \"yes\"\n",
		},
		"bodies of a provider in words of another language": {
			[]string{"acme.modellaufruf.eingabe", question, "acme.modellaufruf.ausgabe", answer},
			"class: model\ndialect: unknown\nmodel: m1\nrequest: user | text \"hi\"\nresponse: assistant | text \"yes\" [stop]\nfinish: stop\nresponse model: m1-2026-01-31\n",
		},
		"the same beside a type": {
			[]string{"acme.operation.name", "CHAT", "acme.eingabe", question, "acme.ausgabe", answer},
			"class: model\ndialect: unknown\nmodel: m1\nrequest: user | text \"hi\"\nresponse: assistant | text \"yes\" [stop]\nfinish: stop\nresponse model: m1-2026-01-31\n",
		},
		"the name of a task is nothing that went in": {
			[]string{"zz.span.type", "TOOL", "zz.task.name", "look", "zz.entity.input", `{"a":1}`, "zz.entity.output", "rain"},
			"class: tool\ndialect: unknown\nname: work\nkind: function\nargs: {\"a\":1}\nresult: \"rain\"\n",
		},
		"nor where nothing else does": {
			[]string{"zz.span.type", "TOOL", "zz.task.name", "look", "zz.entity.output", "rain"},
			"class: tool\ndialect: unknown\nname: work\nkind: function\nresult: \"rain\"\n",
		},
		"what is whole comes before what was gathered": {
			[]string{"zz.span.type", "TOOL", "zz.task.limit", "3", "zz.task.depth", "1", "zz.entity.input", `{"a":1}`, "zz.entity.output", "rain"},
			"class: tool\ndialect: unknown\nname: work\nkind: function\nargs: {\"a\":1}\nresult: \"rain\"\n",
		},
		"a list that leaves out an element is not whole": {
			[]string{"zz.span.type", "TOOL", "zz.tool.name", "look", "zz_outputs.result.0", "1", "zz_outputs.result.1", "two", "zz_outputs.result.3.three", "3"},
			"class: tool\ndialect: unknown\nname: look\nkind: function\nresult: {\"result\":[\"1\",\"two\",{\"three\":\"3\"}]} [lossy]\n",
		},
		"a list from its first element to its last is": {
			[]string{"zz.span.type", "TOOL", "zz.tool.name", "look", "zz_outputs.result.0", "1", "zz_outputs.result.1", "two"},
			"class: tool\ndialect: unknown\nname: look\nkind: function\nresult: {\"result\":[\"1\",\"two\"]}\n",
		},
		"numbers that are names make no list": {
			[]string{"zz.span.type", "TOOL", "zz.tool.name", "look", "zz_outputs.result.404", "1", "zz_outputs.result.500", "two"},
			"class: tool\ndialect: unknown\nname: look\nkind: function\nresult: {\"result\":[\"1\",\"two\"]}\n",
		},
		"a tool that is named and no type": {
			[]string{"zz.tool.name", "look", "zz.tool.args", `{"a":1}`, "zz.tool.result", "null"},
			"class: tool\ndialect: unknown\nname: look\nkind: function\nargs: {\"a\":1}\nresult: \"null\"\n",
		},
		"an operation of nobody's is no model call for its prompt": {
			[]string{"gen_ai.operation.name", "chain", "zz.span.kind", "chain", "gen_ai.prompt", `{"input":"hi"}`},
			"class: agent\ndialect: unknown\nrun span: yes\nweak: yes\nagent: work\ninput: user | text \"hi\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := genaitest.Span("com.zz", "work", c.attributes...)
			if !genai.IsEvidence(s.ScopeName, s.Span) {
				t.Error("it is no evidence")
			}
			genaitest.Says(t, genai.Read(s), c.want)
		})
	}
}

// What went over the wire of a provider.
const (
	question = `{"model":"m1","messages":[{"role":"user","content":"hi"}]}`
	answer   = `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"yes"}}],"object":"chat.completion","model":"m1-2026-01-31"}`
)

func TestOtherSpansAreNoEvidenceByShape(t *testing.T) {
	for name, c := range map[string]struct {
		span       string
		attributes []string
	}{
		"a request over HTTP":              {"work", []string{"http.request.body", `{"messages":[{"role":"user","content":"hi"}]}`, "http.request.method", "POST"}},
		"a query of a chat's tables":       {"work", []string{"db.operation.name", "chat", "db.query.text", "select 1", "db.response.status_code", "0"}},
		"a type that nothing meets":        {"work", []string{"zz.type", "tool", "zz.color", "red"}},
		"settings of a tool's request":     {"work", []string{"app.tool_name", "resize", "app.request.effort", "low", "app.response.wait_ms", "17"}},
		"a function of a service":          {"work", []string{"app.function.name", "resize", "app.request.size", "17", "app.response", "done"}},
		"JSON without messages":            {"work", []string{"zz.input", `{"role":1}`, "zz.output", `[{"a":"\"role\""}]`}},
		"the agent of a build":             {"build", []string{"ci.agent.name", "linux-7", "ci.agent.task", "build", "ci.agent.label", "arm64"}},
		"the steps of a build":             {"build", []string{"ci.agent.task", "build", "ci.agent.result", "SUCCESS"}},
		"a tool of a build":                {"link", []string{"build.tool.args", "-O2 -g", "build.host", "h1"}},
		"a model that scores payments":     {"score", []string{"ml.model.name", "fraud-7", "ml.model.input", "[0.1,0.2]", "ml.model.output", "0.93"}},
		"features of a model":              {"predict", []string{"features.model.request", `{"user_id":17}`, "features.model.response", `{"score":0.1}`}},
		"a click in a toolbar":             {"toolbar: click", []string{"ui.input", "mouse"}},
		"a linter":                         {"tool.lint", []string{"app.params", "--fix"}},
		"an action of a customer":          {"order", []string{"event.payload", `{"from":"user","type":"order","value":"17","sender":"system"}`}},
		"mail from a user":                 {"deliver", []string{"mail.message.input", `{"from":"user","to":"b","body":"hello","subject":"hi"}`}},
		"the author of a comment":          {"comment", []string{"blog.comment.input", `[{"author":"human","text":"nice"},{"author":"system","text":"removed"}]`}},
		"a task of a queue with a reply":   {"job", []string{"queue.task", "resize", "queue.reply", "done", "queue.payload", `{"id":1}`}},
		"a chat of people":                 {"post", []string{"app.chat.message.input", "hello", "app.chat.room", "17"}},
		"the API of an agent":              {"POST /v1/chat", []string{"http.request.body", question, "http.response.body", answer}},
		"a question without its answer":    {"store", []string{"frage", question, "antwort", `{"stored":true,"id":"assistant-17"}`}},
		"an answer without its question":   {"store", []string{"frage", `{"question":"Which colour?","choices":["red","blue"]}`, "antwort", answer}},
		"the choices of a poll":            {"poll", []string{"umfrage", `{"messages":[{"role":"user","content":"hi"}]}`, "stand", `{"choices":[{"name":"red","votes":3}],"closed":false}`}},
		"the roles of accounts":            {"grant", []string{"app.request.0.role", "user", "app.request.0.name", "b", "app.input.owner.role", "system", "app.input.owner.content", "x"}},
		"two answers to one question":      {"compare", []string{"frage", question, "a", answer, "b", `{"role":"assistant","content":"no, it is not"}`}},
		"a form that asks and is answered": {"survey", []string{"form.question", "How are you?", "form.answer", "well", "form.model", "nps-2"}},
		"a printer":                        {"print", []string{"printer.model", "LX-7", "printer.messages", "3", "printer.output", "tray 2"}},
		"a chat of people that failed":     {"send", []string{"chat.request", "hello", "chat.room", "17"}},
		"what the agent of a build is fed": {"build", []string{"ci.agent.input", "s3://a/b.tar", "ci.agent.host", "h1"}},
		"a form of a car dealer":           {"form", []string{"car.model", "T", "car.prompt", "Which colour?", "car.colour", "black"}},
		"a step of a pipeline":             {"etl", []string{"pipeline.input", "s3://a", "pipeline.output", "s3://b", "pipeline.model", "orders_v2"}},
		"a question to a shop":             {"ask", []string{"user.query", "red shoes", "shop.answer", "none"}},
		"an agent of a help desk":          {"POST /tickets", []string{"user.question", "Where is my order?", "agent.answer", "On its way."}},
		"an answer of a build's agent":     {"build", []string{"user.query", "nightly", "agent.result", "SUCCESS"}},
		"what a statement selects":         {"SELECT", []string{"query", "select 1", "result", "1 row"}},
		"the output of a job":              {"resize", []string{"output", "a.png", "host", "h1"}},
		"a function without what it took":  {"resize", []string{"app.fn.name", "resize", "app.fn.output", "done"}},
		"the settings of a function":       {"resize", []string{"app.fn.name", "resize", "app.fn.args", "--fast", "app.fn.output", "done"}},
		"a task with arguments":            {"resize", []string{"queue.task.name", "resize", "queue.task.args", `["a",1]`, "queue.task.result", "done"}},
		"a search service":                 {"search", []string{"search.query", "red shoes", "search.results", "17", "search.model", "bm25"}},
	} {
		s := genaitest.Span("com.zz", c.span, c.attributes...)
		for _, status := range []ptrace.StatusCode{ptrace.StatusCodeUnset, ptrace.StatusCodeError} {
			s.Span.Status().SetCode(status)
			if genai.IsEvidence(s.ScopeName, s.Span) {
				t.Errorf("%s is taken for a part of an agent run, status %s", name, status)
			}
		}
	}
}

// What a user asked beside what the agent answered is a run, whoever's words come before.
func TestQuestionOfAUserBesideTheAnswerOfAnAgent(t *testing.T) {
	s := genaitest.Span("com.zz", "agent.run", "user.query", "Which rooms are free?", "agent.answer", "Aurora is free.")
	o := genai.Read(s)
	if !genai.IsEvidence(s.ScopeName, s.Span) || o.Class != dialect.Agent || len(o.Input) != 1 || len(o.Output) != 1 {
		t.Errorf("got\n%s", genaitest.Said(o))
	}
}

// A decorator records the functions of a program: they are steps, and what each was called with and returned is kept for a conversation that knows it as a tool.
func TestFunctionsThatADecoratorRecorded(t *testing.T) {
	attributes := genaitest.Span("acme", "shop.look", "acme.fn.qualname", "look", "acme.trace.arg_types", `{"x":"int"}`, "acme.trace.arg_values", `{"x":1}`, "acme.trace.output", "rain")
	events := genaitest.Span("acme", "look")
	for name, text := range map[string]string{"acme.fn.args": `[{"x":1}]`, "acme.fn.output": "rain"} {
		e := events.Span.Events().AppendEmpty()
		e.SetName(name)
		e.Attributes().PutStr(name[len("acme.fn."):], text)
	}
	for _, s := range []*dialect.Source{attributes, events} {
		o := genai.Read(s)
		if !genai.IsEvidence(s.ScopeName, s.Span) || o.Class != dialect.Structure || o.Called == nil || o.Called.Name != "look" || o.Called.In.JSON() != `{"x":1}` || o.Called.Out.Str() != "rain" {
			t.Errorf("got %+v\n%s", o.Called, genaitest.Said(o))
		}
	}
}

// Loops that somebody wrote by hand have a function that runs every tool, and its span holds the call as the model wrote it.
func TestFunctionThatRunsEveryToolIsEvidence(t *testing.T) {
	for name, in := range map[string]string{
		"execute_tool": `{"name":"f","arguments":{"x":1}}`, "handleToolCall": `{"id":"call_a1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}`,
		"run_tool": `{"tool_call":{"id":"call_a1","name":"f","input":{"x":1}}}`,
	} {
		s := genaitest.Span("com.zz", name, "input", in, "output", "ok")
		if o := genai.Read(s); !genai.IsEvidence(s.ScopeName, s.Span) || o.Class != dialect.Tool || o.Result.Value.Str() != "ok" {
			t.Errorf("%s is read as %s", name, genaitest.Said(o))
		}
	}
}

func BenchmarkOtherSpan(b *testing.B) {
	s := genaitest.Span("io.opentelemetry.http", "GET /a", "http.request.method", "GET", "url.full", "http://a/b", "http.response.status_code", "200",
		"server.address", "a", "server.port", "80", "network.protocol.version", "1.1", "user_agent.original", "curl", "client.address", "::1", "app.tenant", "x", "app.order.id", "17")
	for b.Loop() {
		if genai.IsEvidence(s.ScopeName, s.Span) {
			b.Fatal("it is evidence")
		}
	}
}

// An agent that hides its model calls may name the model itself.
func TestAgentOfAnUnknownVendorNamesItsModel(t *testing.T) {
	span := genaitest.Span("acme", "agent", "acme.span.kind", "AGENT", "llm.model_name", "m1", "input.value", "q", "output.value", "a")
	if o := genai.Read(span); o.Class != dialect.Agent || o.Model != "m1" {
		t.Errorf("class %v, model %q", o.Class, o.Model)
	}
}

func TestEventsOfAnUnknownVendorHoldWhatWentInAndCameOut(t *testing.T) {
	s := genaitest.Span("acme", "look", "acme.kind", "TOOL", "acme.tool.name", "look")
	for name, text := range map[string]string{"acme.tool.input": `{"a":1}`, "acme.tool.output": "rain"} {
		e := s.Span.Events().AppendEmpty()
		e.SetName(name)
		e.Attributes().PutStr("content", text)
	}
	if !genai.IsEvidence(s.ScopeName, s.Span) {
		t.Error("it is no evidence")
	}
	genaitest.Says(t, genai.Read(s), "class: tool\ndialect: unknown\nname: look\nkind: function\nargs: {\"a\":1}\nresult: \"rain\"\n")
}

func TestRecordsOfAnUnknownVendorHoldWhatWentInAndCameOut(t *testing.T) {
	s := genaitest.Span("acme", "call", "acme.kind", "LLM", "acme.model", "m1")
	for name, text := range map[string]string{
		"request.body": `{"model":"m1","messages":[{"role":"user","content":"hi"}]}`, "response.body": `{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"yes"}}]}`,
	} {
		record := plog.NewLogRecord()
		record.Attributes().PutStr(name, text)
		if !genai.IsEvidenceLog("acme.llm", record) {
			t.Errorf("the record with %s is no evidence", name)
		}
		span := ptrace.NewSpan()
		span.SetName("acme.llm")
		record.Attributes().CopyTo(span.Attributes())
		s.Logs = append(s.Logs, span)
	}
	if o := genai.Read(s); o.Model != "m1" || len(o.Request) != 1 || len(o.Response) != 1 {
		t.Errorf("got\n%s", genaitest.Said(o))
	}
}

func TestMessagesUnderOtherKeysThanTheOperation(t *testing.T) {
	o := genai.Read(genaitest.Span("acme", "c", "gen_ai.operation.name", "chat", "llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "hi",
		"llm.output_messages.0.message.role", "assistant", "llm.output_messages.0.message.content", "yes"))
	if o.Class != dialect.Model || len(o.Request) != 1 || len(o.Response) != 1 {
		t.Errorf("got\n%s", genaitest.Said(o))
	}
}

// What a team prompted a model with and what it answered stand beside the name of the model, whatever the namespace is called, that of a producer too.
func TestPromptAndAnswerBesideTheModel(t *testing.T) {
	for _, namespace := range []string{"acme", "ai", "model"} {
		s := genaitest.Span("acme", "call_llm", namespace+".model", "m1", namespace+".prompt", "hi", namespace+".tool_calls", `[{"id":"c1","name":"look","arguments":{"a":1}}]`)
		if o := genai.Read(s); !genai.IsEvidence(s.ScopeName, s.Span) || o.Class != dialect.Model || o.Model != "m1" || len(o.Request) != 1 || len(o.Response) != 1 || o.Response[0].Parts[0].Name != "look" {
			t.Errorf("%s: got\n%s", namespace, genaitest.Said(o))
		}
	}
}

// A key that ends with model names the one that was asked for, also where the provider answers with the same name.
func TestTheModelOfATeamIsTheOneThatWasAskedFor(t *testing.T) {
	for key, want := range map[string][2]string{"acme.model": {"m1", "m1"}, "acme.response.model": {"", "m1"}} {
		o := genai.Read(genaitest.Span("acme", "llm", "acme.kind", "llm", key, "m1", "acme.input", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
			"acme.output", `{"candidates":[{"content":{"role":"model","parts":[{"text":"yes"}]}}],"modelVersion":"m1"}`))
		if o.Model != want[0] || o.ResponseModel != want[1] {
			t.Errorf("%s: asked for %q, answered %q", key, o.Model, o.ResponseModel)
		}
	}
}

// Of a span that failed nothing need have come out.
func TestAnAgentThatFailedHasNoAnswer(t *testing.T) {
	s := genaitest.Span("acme", "run", "agent.input", "hi", "agent.system_prompt", "Be brief.")
	if genai.IsEvidence(s.ScopeName, s.Span) {
		t.Error("a span that ended well and gave nothing out is evidence")
	}
	s.Span.Status().SetCode(ptrace.StatusCodeError)
	if o := genai.Read(s); !genai.IsEvidence(s.ScopeName, s.Span) || o.Class != dialect.Agent || len(o.Input) != 1 {
		t.Errorf("got\n%s", genaitest.Said(o))
	}
}

// Structured records of a team name their event in a field, and what a model answered is their content, beside the calls.
func TestRecordsWithAFieldForTheirEvent(t *testing.T) {
	record := func(fields ...string) ptrace.Span {
		l := ptrace.NewSpan()
		body := pcommon.NewValueMap()
		for i := 0; i < len(fields); i += 2 {
			body.Map().PutStr(fields[i], fields[i+1])
		}
		l.SetName(genai.EventName("acme", "", l.Attributes(), body))
		body.CopyTo(l.Attributes().PutEmpty(genai.LogBody))
		return l
	}
	s := genaitest.Span("acme", "llm.chat", "llm.model", "m1")
	s.Logs = []ptrace.Span{
		record("event", "llm_request", "messages", `[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}]`),
		record("event", "llm_response", "content", "Let me look.", "tool_calls", `[{"id":"c1","name":"look","arguments":{"a":1}}]`),
	}
	if o := genai.Read(s); o.Class != dialect.Model || len(o.Request) != 2 || len(o.Response) != 1 || len(o.Response[0].Parts) != 2 {
		t.Errorf("got\n%s", genaitest.Said(o))
	}
	tool := genaitest.Span("acme", "tool.look", "tool.name", "look")
	tool.Logs = []ptrace.Span{record("event", "tool.started", "tool_name", "look", "arguments", `{"a":1}`), record("event", "tool.finished", "tool_name", "look", "result", "rain")}
	genaitest.Says(t, genai.Read(tool), "class: tool\ndialect: generic\nname: look\nkind: function\nargs: {\"a\":1}\nresult: \"rain\"\n")
	if name := record("event", "order_placed", "content", "x").Name(); name != "" {
		t.Errorf("the event of another service is %q", name)
	}
}

// AgentScope 1.0.8 writes every value as JSON, and what is known of a call beside its messages in one of them.
func TestKindInQuotesAndModelInMetadata(t *testing.T) {
	const asked = `{"args":[[{"role":"user","content":"hi"}]],"kwargs":{}}`
	o := genai.Read(genaitest.Span("agentscope.tracing._trace", "OpenAIChatModel.__call__", "span.kind", `"LLM"`, "input", asked, "metadata", `{"model_name":"m-1","stream":true}`))
	if o.Class != dialect.Model || o.Model != "m-1" || len(o.Request) != 1 {
		t.Errorf("class %v, model %q, asked %v", o.Class, o.Model, o.Request)
	}
	o = genai.Read(genaitest.Span("x", "call", "span.kind", "LLM", "input", asked, "llm.model", "m-2", "metadata", `{"model_name":"m-1"}`))
	if o.Model != "m-2" {
		t.Errorf("model %q", o.Model)
	}
}
