// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package strands_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestStrandsForTypeScriptIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "strands/typescript")
}

func TestStrandsForPythonIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "strands/python")
}

func TestStrandsReadsTheNewerConventionsFromSeveralEvents(t *testing.T) {
	s := genaitest.Span("strands.telemetry.tracer", "execute_tool f", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "f", "gen_ai.tool.status", "success")
	for _, e := range []struct{ key, value string }{
		{"gen_ai.input.messages", `[{"role":"tool","parts":[{"type":"tool_call","name":"f","id":"t1","arguments":{"a":1}}]}]`},
		{"gen_ai.output.messages", `[{"role":"tool","parts":[{"type":"tool_call_response","id":"t1","response":[{"text":"done"}]}]}]`},
	} {
		event := s.Span.Events().AppendEmpty()
		event.SetName("gen_ai.client.inference.operation.details")
		event.Attributes().PutStr(e.key, e.value)
	}
	want := "class: tool\ndialect: strands\nname: f\ncall: t1\nkind: function\nargs: {\"a\":1}\nresult: \"done\" [content_blocks]\n"
	if got := genaitest.Said(genai.Read(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStrandsForTypeScriptWrapsListsInAValue(t *testing.T) {
	s := genaitest.Span("strands", "execute_tool f", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "f")
	event := s.Span.Events().AppendEmpty()
	event.SetName("gen_ai.choice")
	event.Attributes().PutStr("message", `[{"json":{"$value":[1,2]}}]`)
	want := "class: tool\ndialect: strands\nname: f\nkind: function\nresult: [1,2] [json_block strands.value]\n"
	if got := genaitest.Said(genai.Read(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestARecordOfAnotherPackageSaysTheAnswerOnce(t *testing.T) {
	s := genaitest.Span("strands", "chat", "gen_ai.operation.name", "chat")
	event := func(name, key, value string) {
		e := s.Span.Events().AppendEmpty()
		e.SetName(name)
		e.Attributes().PutStr(key, value)
	}
	whole := func() {
		event("gen_ai.client.inference.operation.details", "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"tool_call","id":"t1","name":"f","arguments":{"a":1}}]}]`)
	}
	event("gen_ai.choice", "message", `[{"toolUse":{"toolUseId":"t1","name":"f","input":{"a":1}}}]`)
	whole()
	want := "class: model\ndialect: strands\nresponse: assistant | call f t1 {\"a\":1}\n"
	if got := genaitest.Said(genai.Read(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	s = genaitest.Span("strands", "chat", "gen_ai.operation.name", "chat")
	whole()
	if got := genaitest.Said(genai.Read(s)); got != want {
		t.Errorf("alone: got\n%s\nwant\n%s", got, want)
	}
}
