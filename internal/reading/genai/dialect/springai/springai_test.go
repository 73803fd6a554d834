// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package springai_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestSpringAIToolsAreExactAndMessagesAreTexts(t *testing.T) {
	tool := genaitest.Span("org.springframework.boot", "tool_call weather", "spring.ai.kind", "tool_call", "spring.ai.tool.definition.name", "weather",
		"spring.ai.tool.call.arguments", `{"city":"Oslo"}`, "spring.ai.tool.call.result", `"rain"`)
	want := "class: tool\ndialect: spring-ai\nname: weather\nkind: function\nargs: {\"city\":\"Oslo\"}\nresult: \"rain\"\n"
	if got := genaitest.Said(genai.Read(tool)); got != want {
		t.Errorf("tool: got\n%s\nwant\n%s", got, want)
	}
	model := genaitest.Span("org.springframework.boot", "chat gpt-5", "gen_ai.operation.name", "chat", "gen_ai.request.model", "gpt-5", "spring.ai.model.request.tool.names", "weather")
	for name, body := range map[string]string{
		"spring_ai.prompt_content": "Chat Model Prompt Content:\n[\"be brief\", \"hi \"you\"\"]",
		"spring_ai.completion":     "Chat Model Completion:\n[\"ho\"]",
	} {
		l := ptrace.NewSpan()
		l.SetName(name)
		l.Attributes().PutStr(dialect.LogBody, body)
		model.Logs = append(model.Logs, l)
	}
	want = "class: model\ndialect: spring-ai\nmodel: gpt-5\nrequest label: lossy\nrequest: system | text \"be brief\" [recovered]\nrequest: user | text \"hi \\\"you\\\"\" [recovered]\nresponse: assistant | text \"ho\"\n"
	if got := genaitest.Said(genai.Read(model)); got != want {
		t.Errorf("model: got\n%s\nwant\n%s", got, want)
	}
	if got := genai.EventName("org.springframework.ai.chat.observation.ChatModelPromptContentObservationHandler", "", model.Resource, pcommon.NewValueEmpty()); got != "spring_ai.prompt_content" {
		t.Errorf("a prompt record is called %q", got)
	}
}

// The chat client writes the roles that its model's records lack.
func TestSpringAIChatClientSaysWhoSaidWhat(t *testing.T) {
	const logger = "org.springframework.ai.chat.client.observation.ChatClientPromptContentObservationHandler"
	client := genaitest.Span("org.springframework.boot", "spring_ai chat_client", "spring.ai.kind", "chat_client")
	l := ptrace.NewSpan()
	l.SetName(genai.EventName(logger, "", client.Resource, pcommon.NewValueEmpty()))
	l.Attributes().PutStr(dialect.LogBody, "Chat Client Prompt Content:\n[\"system\":\"be brief\", \"user\":\"say \"a\", \"b\"\", \"assistant\":\"ho\", \"user\":\"and\nnow?\"]")
	client.Logs = append(client.Logs, l)
	want := "class: agent\ndialect: spring-ai\nrun span: yes\nweak: yes\nsystem: | text \"be brief\"\ninput: system | text \"be brief\"\ninput: user | text \"say \\\"a\\\", \\\"b\\\"\"\ninput: assistant | text \"ho\"\ninput: user | text \"and\\nnow?\"\n"
	if got := genaitest.Said(genai.Read(client)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Answers that asked for tools and the results of these are texts without a role, and most without a word. They stand in pairs at the end.
func TestSpringAIPromptShowsWhereTheModelAskedForTools(t *testing.T) {
	for body, want := range map[string]string{
		`["be brief", "hi", "null", "", "one moment", ""]`: "system be brief; user hi; assistant omitted; assistant one moment",
		`["be brief", "hi", "", ""]`:                       "system be brief; user hi; assistant omitted",
		`["be brief", "hi", "null"]`:                       "user be brief; assistant hi; user null",
		`["hi", ""]`:                                       "user hi",
	} {
		model := genaitest.Span("org.springframework.boot", "chat gpt-5", "gen_ai.operation.name", "chat", "gen_ai.request.model", "gpt-5", "spring.ai.model.request.tool.names", "weather")
		l := ptrace.NewSpan()
		l.SetName("spring_ai.prompt_content")
		l.Attributes().PutStr(dialect.LogBody, "Chat Model Prompt Content:\n"+body)
		model.Logs = append(model.Logs, l)
		var got []string
		for _, m := range genai.Read(model).Request {
			said := "omitted"
			if !m.Omitted {
				said = m.Parts[0].Text
			}
			got = append(got, string(m.Role)+" "+said)
		}
		if have := strings.Join(got, "; "); have != want {
			t.Errorf("%s: %s, want %s", body, have, want)
		}
	}
}

// Whose a text is says its place alone, and only where it is certain where each ends and the list is no rest of a longer one.
func TestSpringAIPlacesTextsOfThePrompt(t *testing.T) {
	long := `["x"` + strings.Repeat(`, "x"`, 19) + `]`
	for body, want := range map[string]string{
		`["be brief", "hi"]`:                      "system recovered be brief; user recovered hi",
		`["hi"]`:                                  "user  hi",
		`["be brief", "one", "two", "three"]`:     "system recovered be brief; user recovered one; assistant recovered two; user recovered three",
		`["one", "two", "three"]`:                 "user recovered one; assistant recovered two; user recovered three",
		`["be brief", "say "a", "b" and "c""]`:    `system recovered be brief; user recovered say "a", "b" and "c"`,
		`["as {"a": "x", "b": "y"}", "C:\new\n"]`: `system recovered as {"a": "x", "b": "y"}; user recovered C:\new\n`,
		`["a 5" pipe", "or", "not"]`:              `user lossy a 5" pipe", "or", "not`,
		`["be brief", "a 5" pipe"]`:               `system recovered be brief; user recovered a 5" pipe`,
		long:                                      strings.TrimSuffix(strings.Repeat("user lossy x; ", 20), "; "),
	} {
		model := genaitest.Span("org.springframework.boot", "chat gpt-5", "gen_ai.operation.name", "chat", "gen_ai.request.model", "gpt-5")
		l := ptrace.NewSpan()
		l.SetName("spring_ai.prompt_content")
		l.Attributes().PutStr(dialect.LogBody, "Chat Model Prompt Content:\n"+body)
		model.Logs = append(model.Logs, l)
		var got []string
		for _, m := range genai.Read(model).Request {
			got = append(got, string(m.Role)+" "+string(m.Parts[0].Label)+" "+m.Parts[0].Text)
		}
		if have := strings.Join(got, "; "); have != want {
			t.Errorf("%s: %s, want %s", body, have, want)
		}
	}
}

// Nothing is escaped in an answer: how many there are says the list of reasons why they ended.
func TestSpringAISaysByItsFinishReasonsHowManyAnswersThereAre(t *testing.T) {
	for reasons, want := range map[string]string{`["STOP"]`: `yes", "no`, `["STOP","STOP"]`: `yes`} {
		model := genaitest.Span("org.springframework.boot", "chat gpt-5", "gen_ai.operation.name", "chat", "gen_ai.request.model", "gpt-5", "gen_ai.response.finish_reasons", reasons)
		l := ptrace.NewSpan()
		l.SetName("spring_ai.completion")
		l.Attributes().PutStr(dialect.LogBody, `Chat Model Completion:`+"\n"+`["yes", "no"]`)
		model.Logs = append(model.Logs, l)
		if got := genai.Read(model).Response[0].Parts[0].Text; got != want {
			t.Errorf("%s: %s, want %s", reasons, got, want)
		}
	}
}

// The graph of Spring AI Alibaba's agents stands for the run, and its nodes are steps; what they hold as prompt and completion is their state as Java's toString has it.
func TestTheGraphOfAlibabasAgentsIsTheRun(t *testing.T) {
	const state = "input=hi; messages=[UserMessage{content='hi', metadata={messageType=USER}, messageType=USER}]; "
	run := genaitest.Span("org.springframework.boot", "spring.ai.alibaba.graph.graph-execution", "spring.ai.alibaba.graph.name", "graph-execution", "gen_ai.prompt", state, "gen_ai.completion", state,
		"langfuse.observation.input", state, "langfuse.observation.output", state)
	genaitest.Says(t, genai.Read(run), "class: agent\ndialect: spring-ai\nrun span: yes\n")
	step := genaitest.Span("org.springframework.boot", "spring.ai.alibaba.graph.node._-a-g-e-n-t_", "spring.ai.alibaba.graph.node.name", "_AGENT_MODEL_", "gen_ai.prompt", state, "gen_ai.completion", state)
	if o := genai.Read(step); o.Class != genai.Structure || len(o.Request)+len(o.Response) > 0 {
		t.Errorf("a step says %s", genaitest.Said(o))
	}
}
