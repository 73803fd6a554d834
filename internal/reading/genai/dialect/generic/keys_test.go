// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestKeysAndNamesSayWhatASpanIs(t *testing.T) {
	for name, c := range map[string]struct {
		span       string
		attributes []string
		want       string
	}{
		"the word before what went in": {"call", []string{"zz.llm.prompt", "hi", "zz.llm.reply", "yes", "zz.llm.model", "m1", "zz.llm.system", "You nod."},
			"class: model\ndialect: unknown\nmodel: m1\nsystem: | text \"You nod.\"\nrequest: user | text \"hi\"\nresponse: assistant | text \"yes\"\n"},
		"a tool's words": {"work", []string{"zz_tool_kwargs", `{'a': True}`, "zz_tool_name", "f"}, "class: tool\ndialect: unknown\nname: f\nkind: function\nargs: {\"a\":true}\n"},
		"what went in, in more words": {"call", []string{"zz_chat_payload.0.role", "user", "zz_chat_payload.0.content", "hi", "zz_chat_completion.role", "ai", "zz_chat_completion.content", "yes", "zz_chat_model", "m1"},
			"class: model\ndialect: unknown\nmodel: m1\nrequest: user | text \"hi\"\nresponse: assistant | text \"yes\"\n"},
		"who speaks, and no answer": {"call", []string{"zz_chat_payload.0.role", "user", "zz_chat_payload.0.content", "hi", "zz_chat_model", "m1"},
			"class: model\ndialect: unknown\nmodel: m1\nrequest: user | text \"hi\"\n"},
		"the name of the span":         {"tool.f", []string{"zz.params", `{"a":1}`, "zz.result", "2"}, "class: tool\ndialect: unknown\nname: f\nkind: function\nargs: {\"a\":1}\nresult: \"2\"\n"},
		"its name beside what it took": {"tool: f", []string{"zz.input", `{"tool":"f","input":{"a":1}}`}, "class: tool\ndialect: unknown\nname: f\nkind: function\nargs: {\"a\":1} [name]\n"},
	} {
		s := genaitest.Span("com.zz", c.span, c.attributes...)
		if !genai.IsEvidence(s.ScopeName, s.Span) {
			t.Errorf("%s: it is no evidence", name)
		}
		t.Run(name, func(t *testing.T) { genaitest.Says(t, genai.Read(s), c.want) })
	}
	for name, attributes := range map[string][]string{
		"a model's parameters alone": {"zz.model.params", "17"},
		"a function's arguments":     {"zz.function.args", "17", "zz.function.result", "18"},
		"an object of something":     {"zz.data", `{"from":"a","type":"b","user":1}`},
		"two kinds":                  {"zz.tool.in", "1", "zz.agent.in", "2"},
	} {
		if s := genaitest.Span("com.zz", "work", attributes...); genai.IsEvidence(s.ScopeName, s.Span) {
			t.Errorf("%s is taken for a part of an agent run", name)
		}
	}
}

// Whoever follows a convention by hand may write its keys into an event of any name.
func TestContentOfAConventionMayLieInAnyEvent(t *testing.T) {
	s := genaitest.Span("com.zz", "chat m1")
	tell(s, "zz.exchange", "gen_ai.operation.name", "chat", "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"hi"}]}]`, "zz.llm.system", "You nod.")
	tell(s, "exception", "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"yes"}]}]`)
	if !genai.IsEvidence(s.ScopeName, s.Span) {
		t.Error("it is no evidence")
	}
	if o := genai.Read(s); len(o.Request) != 1 || len(o.Response) != 0 || len(o.System) != 1 {
		t.Errorf("request %v, response %v, system %v", o.Request, o.Response, o.System)
	}
}

func TestAnObjectOfAllThatASpanSaysIsRead(t *testing.T) {
	s := genaitest.Span("com.zz", "call", "zz.data", `{"input":[{"role":"user","content":"hi"}],"output":{"role":"assistant","content":"yes"},"model":"m1"}`)
	if !genai.IsEvidence(s.ScopeName, s.Span) {
		t.Error("it is no evidence")
	}
	if o := genai.Read(s); len(o.Request) != 1 || len(o.Response) != 1 || o.Model != "m1" {
		t.Errorf("request %v, response %v, model %q", o.Request, o.Response, o.Model)
	}
}

// A record that names its span and says by its own name what its body is.
func TestARecordsNameSaysWhatItsBodyIs(t *testing.T) {
	s := genaitest.Span("com.zz", "tool: f", "zz.span.kind", "tool", "zz.tool.name", "f")
	for name, body := range map[string]string{"zz.tool.params": `{"a":1}`, "zz.tool.reply": "rain", "zz.tool.color": "red"} {
		record := plog.NewLogRecord()
		if want := name != "zz.tool.color"; genai.IsEvidenceLog(name, record) != want {
			t.Errorf("%s: evidence %v", name, !want)
		}
		l := ptrace.NewSpan()
		l.SetName(name)
		l.Attributes().PutStr(genai.LogBody, body)
		s.Logs = append(s.Logs, l)
	}
	if o := genai.Read(s); o.Args.Value.JSON() != `{"a":1}` || o.Result.Value.Str() != "rain" {
		t.Errorf("args %s, result %s", o.Args.Value.JSON(), o.Result.Value.JSON())
	}
}

// What a step of a run was handed may stand where OpenInference writes the request of a model call; its kind, in whatever key, says what it is.
func TestStepWithMessagesOfAModelCallIsNone(t *testing.T) {
	for kind, want := range map[string]genai.Class{"CHAIN": genai.Agent, "LLM": genai.Model, "": genai.Model} {
		attributes := []string{"input.value", `{"messages":[["user","hi"]]}`, "llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "hi"}
		if kind != "" {
			attributes = append(attributes, "acme.span.kind", kind)
		}
		if o := genai.Read(genaitest.Span("acme", "step", attributes...)); o.Class != want {
			t.Errorf("%q: class %v, want %v", kind, o.Class, want)
		}
	}
}
