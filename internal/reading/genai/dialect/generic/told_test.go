// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

// tell adds an event to a span.
func tell(s *dialect.Source, name string, attributes ...string) {
	e := s.Span.Events().AppendEmpty()
	e.SetName(name)
	for i := 0; i < len(attributes); i += 2 {
		e.Attributes().PutStr(attributes[i], attributes[i+1])
	}
}

func TestAMessagePerEventIsAConversation(t *testing.T) {
	s := genaitest.Span("__main__", "call_model", "model", "m1", "llm.response", `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"yes"}}],"object":"chat.completion"}`)
	tell(s, "llm.message", "role", "system", "content", "be brief")
	tell(s, "llm.message", "role", "user", "content", `{"a":1}`)
	tell(s, "llm.message", "role", "nobody", "content", "not one")
	if !genai.IsEvidence(s.ScopeName, s.Span) {
		t.Error("it is no evidence")
	}
	genaitest.Says(t, genai.Read(s), "class: model\ndialect: unknown\nmodel: m1\nrequest: system | text \"be brief\"\nrequest: user | text \"{\\\"a\\\":1}\"\nresponse: assistant | text \"yes\" [stop]\nfinish: stop\n")
}

func TestAnAnswerInAnEventIsATextWhateverItLooksLike(t *testing.T) {
	s := genaitest.Span("__main__", "chat", "zz.span.type", "llm", "zz.model", "m1")
	tell(s, "llm.response", "role", "assistant", "content", `{"job":"12"}`)
	genaitest.Says(t, genai.Read(s), "class: model\ndialect: unknown\nmodel: m1\nresponse: assistant | text \"{\\\"job\\\":\\\"12\\\"}\"\n")
}

// A call that failed came to no answer: what it was asked is all that its events tell.
func TestAConversationInAnEventOfATypedSpanIsEvidence(t *testing.T) {
	s := genaitest.Span("__main__", "call", "zz.type", "llm_call")
	tell(s, "zz.llm.content", "zz.chat.prompt", `[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}]`)
	if !genai.IsEvidence(s.ScopeName, s.Span) {
		t.Error("it is no evidence")
	}
	for name, value := range map[string]string{"zz.chat.prompt": "press any key", "zz.chat.rows": `[{"id":1}]`} {
		s := genaitest.Span("__main__", "call", "zz.type", "llm_call")
		tell(s, "zz.llm.content", name, value)
		if genai.IsEvidence(s.ScopeName, s.Span) {
			t.Errorf("%s = %s is evidence", name, value)
		}
	}
}

// What a span holds as one object in an event is under the name of the event.
func TestEventsWithOneObjectEachAreNamedByTheEvent(t *testing.T) {
	s := genaitest.Span("__main__", "weather")
	tell(s, "acme.tool.content", "acme.data", `{"tool":"weather","params":{"city":"Oslo"}}`)
	tell(s, "acme.tool.content", "acme.data", `{"response":{"sky":"clear"}}`)
	if !genai.IsEvidence(s.ScopeName, s.Span) {
		t.Error("it is no evidence")
	}
	genaitest.Says(t, genai.Read(s), "class: tool\ndialect: unknown\nname: weather\nkind: function\nargs: {\"city\":\"Oslo\"}\nresult: \"{\\\"sky\\\":\\\"clear\\\"}\"\n")

	other := genaitest.Span("__main__", "weather")
	tell(other, "acme.cache.content", "acme.data", `{"tool":"weather","params":{"city":"Oslo"}}`)
	tell(other, "acme.cache.content", "acme.data", `{"response":{"sky":"clear"}}`)
	if genai.IsEvidence(other.ScopeName, other.Span) {
		t.Error("what a cache took and gave is evidence")
	}
}

// The names of events say what their keys do not.
func TestTheNamesOfEventsTellATool(t *testing.T) {
	s := genaitest.Span("__main__", "weather", "acme_function_name", "weather")
	tell(s, "acme.tool.kwargs", "acme_function_kwargs", `{"city":"Oslo"}`)
	tell(s, "acme.tool.response", "acme_function_response", `{"sky":"clear"}`)
	genaitest.Says(t, genai.Read(s), "class: tool\ndialect: unknown\nname: weather\nkind: function\nargs: {\"city\":\"Oslo\"}\nresult: \"{\\\"sky\\\":\\\"clear\\\"}\"\n")
}

// Programs borrow the key that says what a span is, and write the rest under their own.
func TestAHandWrittenSpanOfOpenInferencesKindIsReadByShape(t *testing.T) {
	own := []string{"openinference.span.kind", "LLM", "acme.messages", `[{"role":"user","content":"hi"}]`, "acme.response", `{"role":"assistant","content":"yes"}`}
	for scope, want := range map[string]int{"__main__": 1, "openinference.instrumentation.openai": 0} {
		if o := genai.Read(genaitest.Span(scope, "x", own...)); len(o.Request) != want || len(o.Response) != want {
			t.Errorf("%s: %v %v", scope, o.Request, o.Response)
		}
	}
}

func TestAFlagSaysThatAToolFailed(t *testing.T) {
	for flag, want := range map[bool]bool{true: true, false: false} {
		s := genaitest.Span("__main__", "f", "tool.name", "f", "zz.span.type", "tool", "zz.args", `{"a":1}`)
		s.Span.Attributes().PutBool("error", flag)
		if got := genai.Read(s).Failed; got != want {
			t.Errorf("error=%v: failed %v", flag, got)
		}
	}
}

func TestAnExchangeWithAModelIsToldByItsValues(t *testing.T) {
	s := genaitest.Span("__main__", "模型", "模型_输入", `[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}]`)
	tell(s, "模型_输出", "内容", `{"role":"assistant","content":"yes, it is"}`)
	if !genai.IsEvidence(s.ScopeName, s.Span) {
		t.Error("it is no evidence")
	}
	genaitest.Says(t, genai.Read(s), "class: model\ndialect: unknown\nrequest: system | text \"be brief\"\nrequest: user | text \"hi\"\nresponse: assistant | text \"yes, it is\"\n")
}

// A team has a word of its own for the model that answers. An object with such a word that says of nobody that he spoke is no answer.
func TestAnExchangeWithABotIsToldByItsValues(t *testing.T) {
	for answer, want := range map[string]bool{
		`{"role":"bot","text":"yes, it is","toolRequests":[]}`: true,
		`{"author":"bot","content":"yes, it is"}`:              true,
		`{"kind":"bot","version":"yes, it is"}`:                false,
		`{"role":"clerk","text":"yes, said the bot"}`:          false,
	} {
		s := genaitest.Span("__main__", "modelo", "genie.modelo.entrada", `[{"role":"human","text":"is it?"}]`, "genie.modelo.salida", answer)
		if got := genai.IsEvidence(s.ScopeName, s.Span); got != want {
			t.Errorf("%s: evidence %t", answer, got)
		}
	}
}

func TestAnObjectInAnEventHoldsAllThatASpanSays(t *testing.T) {
	for data, evidence := range map[string]bool{`{"query":[{"role":"user","content":"hi"}],"system":"Be brief, please."}`: true, `{"rows":17}`: false} {
		s := genaitest.Span("__main__", "step", "zz.span.kind", "llm_call")
		tell(s, "zz.llm.content", "zz.data", data)
		if got := genai.IsEvidence(s.ScopeName, s.Span); got != evidence {
			t.Errorf("%s: evidence %v", data, got)
		}
		if o := genai.Read(s); evidence && (len(o.Request) != 1 || len(o.System) == 0) {
			t.Errorf("got\n%s", genaitest.Said(o))
		}
	}
}

// An agent's instructions, in a record whose name says so, and its model stand beside the keys of a convention.
func TestSettingsOfAnAgentStandBesideAConvention(t *testing.T) {
	s := genaitest.Span("__main__", "run", "openinference.span.kind", "AGENT", "input.value", "hi", "zz.llm.model", "m1")
	record := genaitest.Span(dialect.LogScope, "zz.agent.system", dialect.LogBody, "Be brief, please.")
	s.Logs = append(s.Logs, record.Span)
	for name, want := range map[string]bool{"zz.agent.system": true, "zz.solar.system": false} {
		if got := genai.IsEvidenceLog(name, plog.NewLogRecord()); got != want {
			t.Errorf("%s: evidence %v", name, got)
		}
	}
	genaitest.Says(t, genai.Read(s), "class: agent\ndialect: openinference\nrun span: yes\nagent: run\nmodel: m1\nsystem: | text \"Be brief, please.\"\ninput: user | text \"hi\"\n")
}

// Which of two states of an event is read does not depend on the order in which its attributes came.
func TestStatesOfAnEventAreReadInTheOrderOfTheirKeys(t *testing.T) {
	read := func(keys ...string) string {
		s := genaitest.Span("acme", "assistant")
		for _, name := range []string{"start", "end"} {
			e := s.Span.Events().AppendEmpty()
			e.SetName(name)
			for _, key := range keys {
				said := `{"role":"user","content":"` + key + `"}`
				if name == "end" {
					said += `,{"role":"assistant","content":"yes"}`
				}
				e.Attributes().PutStr(key, `[`+said+`]`)
			}
		}
		o := genai.Read(s)
		if len(o.Request) == 0 {
			return "no request"
		}
		return o.Request[0].Parts[0].Text
	}
	if one, other := read("acme.a", "acme.b"), read("acme.b", "acme.a"); one != "acme.a" || other != one {
		t.Errorf("%q and %q", one, other)
	}
}
