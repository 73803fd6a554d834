// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package mastra_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestMastraExporterIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "mastra/exporter")
}

func TestEarlyMastraIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "mastra/early")
}

func TestMastraLabelsWhatItsOwnFilterOrJavaScriptChanged(t *testing.T) {
	for result, want := range map[string]string{
		`{"jwt":"[REDACTED]"}`:    "result: {\"jwt\":\"[REDACTED]\"} [lossy]\n",
		`{"id":9007199254740992}`: "result: {\"id\":9007199254740992} [lossy]\n",
		`{"id":900719925474099}`:  "result: {\"id\":900719925474099}\n",
		`26.5`:                    "result: \"26.5\"\n",
		"plain text, never JSON":  "result: \"plain text, never JSON\"\n",
	} {
		s := genaitest.Span("@mastra/otel-exporter", "execute_tool f", "mastra.span.type", "tool_call", "gen_ai.tool.name", "f", "gen_ai.tool.call.result", result)
		if got := genaitest.Said(genai.Read(s)); got != "class: tool\ndialect: mastra\nname: f\nkind: function\n"+want {
			t.Errorf("%s: got\n%s", result, got)
		}
	}
}

// Mastra's filter parses every text that is JSON and writes it again: of a text in arguments, how the model spelled it is not known then. One with white space it did not touch.
func TestMastraRewritesTextsOfJSON(t *testing.T) {
	for args, want := range map[string]tape.Label{
		`{"filter":"{\"city\":\"Paris\"}"}`:             tape.Lossy,
		`{"filter":{"all":["[1,2]"]}}`:                  tape.Lossy,
		`{"filter":"{\"city\": \"Paris\"}"}`:            "",
		`{"filter":"{}","note":"[see below]","n":"12"}`: "",
	} {
		tool := genai.Read(genaitest.Span("@mastra/otel-exporter", "execute_tool f", "mastra.span.type", "tool_call", "gen_ai.tool.name", "f", "gen_ai.tool.call.arguments", args))
		step := genai.Read(genaitest.Span("@mastra/otel-exporter", "step: 0", "mastra.span.type", "model_step", "mastra.model_step.output", `{"text":"","toolCalls":[{"toolCallId":"call_1","toolName":"f","args":`+args+`}]}`))
		if tool.Args.Label != want || len(step.Response) != 1 || step.Response[0].Parts[0].Label != want {
			t.Errorf("%s: tool %q, step %+v", args, tool.Args.Label, step.Response)
		}
	}
}

// A tool without a function of its own, also one that the agent does not have, has a span that says nothing of what came of it.
func TestMastraToolOfAClientIsNoExecution(t *testing.T) {
	for want, attrs := range map[dialect.Class][]string{
		dialect.Structure: {"mastra.span.type", "client_tool_call"},
		dialect.Tool:      {"mastra.span.type", "client_tool_call", "mastra.client_tool_call.output", `{"ok":true}`},
	} {
		if o := genai.Read(genaitest.Span("@mastra/otel-exporter", "client_tool_call f", attrs...)); o.Class != want {
			t.Errorf("%v: %v", attrs, o.Class)
		}
	}
}

// Core before 1.0 shows a step as the request that the provider got, cut where it is deep.
func TestTheRequestOfAProviderIsReadWhereAStepShowsIt(t *testing.T) {
	s := genaitest.Span("@mastra/otel", "step: 1", "mastra.span.type", "model_step", "input",
		`{"body":{"model":"m","messages":[{"role":"system","content":"Look."},{"role":"user","content":"How many?"},`+
			`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"[MaxDepth]","arguments":"[MaxDepth]"}}]},`+
			`{"role":"tool","tool_call_id":"call_1","content":"7"}]}}`)
	o := genai.Read(s)
	if len(o.Request) != 4 || o.RequestLabel != tape.Lossy || o.Request[0].Role != tape.RoleSystem {
		t.Fatalf("%s", genaitest.Said(o))
	}
	if call := o.Request[2].Parts[0]; call.ID != "call_1" || call.Name != "" || !call.Args.IsAbsent() || call.Label != tape.Lossy {
		t.Errorf("%+v", call)
	}
}

func TestInputAndOutputUnderTheNamesOfLangfuseAreThoseOfTheSpan(t *testing.T) {
	o := genai.Read(genaitest.Span("@mastra/langfuse", "invoke_agent clerk", "gen_ai.operation.name", "invoke_agent", "mastra.span.type", "agent_run",
		"langfuse.observation.input", `[{"role":"user","content":"q"}]`, "langfuse.observation.output", `{"text":"a"}`))
	if len(o.Input) != 1 || o.Input[0].Parts[0].Text != "q" || len(o.Output) != 1 || o.Output[0].Parts[0].Text != "a" {
		t.Errorf("input %+v, output %+v", o.Input, o.Output)
	}
}
