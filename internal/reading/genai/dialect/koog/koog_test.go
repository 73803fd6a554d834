// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package koog_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestKoogIsReadAsRecorded(t *testing.T) { genaitest.SaysAsRecorded(t, genai.Read, "koog/langfuse") }

// Koog writes the prompt of an agent as what it was asked and as what it answered. The answer of the run would be its instructions.
func TestTheInputOnceMoreIsNoAnswer(t *testing.T) {
	const asked = `[{"role":"System","parts":[{"type":"text","content":"You watch jobs."}]}]`
	for answer, want := range map[string]int{asked: 0, `[{"role":"Assistant","parts":[{"type":"text","content":"You watch jobs."}]}]`: 1} {
		o := read("invoke_agent", "gen_ai.input.messages", asked, "gen_ai.output.messages", answer)
		if len(o.Output) != want {
			t.Errorf("%s: %d answers, want %d", answer, len(o.Output), want)
		}
	}
	if o := read("invoke_agent", "gen_ai.input.messages", "ping", "gen_ai.output.messages", "ping"); len(o.Output) != 1 {
		t.Error("an agent that says what it was told has no answer")
	}
}

// From 1.0 a tool's result is JSON: a text would be served with its quotes.
func TestAResultIsReadAsItsSerialiserWroteIt(t *testing.T) {
	if o := read("execute_tool", "gen_ai.tool.name", "get_job", "gen_ai.tool.call.result", `"{\"state\":\"done\"}"`); o.Result.Value.Str() != `{"state":"done"}` {
		t.Errorf("the result is read as %v", o.Result.Value)
	}
}

// The adapters for Langfuse and Weave write one result of a message that holds several. The conventions' attribute beside them holds all.
func TestAllResultsOfAMessageAreRead(t *testing.T) {
	prompt := []string{"gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "go", "gen_ai.prompt.1.role", "tool", "gen_ai.prompt.1.content", `"one"`}
	results := func(attributes ...string) (n int) {
		for _, m := range read("chat", attributes...).Request {
			for _, p := range m.Parts {
				if p.Type == tape.PartToolResult {
					n++
				}
			}
		}
		return n
	}
	if n := results(prompt...); n != 1 {
		t.Errorf("%d results of the adapter alone, want 1", n)
	}
	whole := `[{"role":"User","parts":[{"type":"text","content":"go"}]},{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","result":"\"one\""},{"type":"tool_call_response","id":"c2","result":"two"}]}]`
	if n := results(append(prompt, "gen_ai.input.messages", whole)...); n != 2 {
		t.Errorf("%d results, want 2", n)
	}
}

func read(operation string, attributes ...string) *dialect.Report {
	span := ptrace.NewSpan()
	span.SetName(operation + " x")
	span.Attributes().PutStr("gen_ai.operation.name", operation)
	span.Attributes().PutStr("koog.event.id", "e")
	for i := 0; i < len(attributes); i += 2 {
		span.Attributes().PutStr(attributes[i], attributes[i+1])
	}
	return genai.Read(&dialect.Source{Resource: pcommon.NewMap(), ScopeName: "koog-agent", Span: span})
}
