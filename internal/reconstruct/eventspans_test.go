// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// OpenInference for BeeAI in JavaScript writes a span for each event of a call.
func TestSpansOfTheEventsOfACallAreOneCall(t *testing.T) {
	const scope = "@arizeai/openinference-instrumentation-beeai"
	build := func(number string) *tape.Tape {
		tr := newTrace()
		event := func(id, parent, at int, of, name string, n int, attrs ...any) ptrace.Span {
			return tr.in(scope, fmt.Sprint(of, ".", name, number, n), id, parent, at, at+5, append([]any{"target", of + "." + name, "name", name}, attrs...)...)
		}
		model := func(id, parent, at, n int, in, out string) {
			event(id, parent, at, "backend.openai.chat", "start", n, "openinference.span.kind", "LLM", "input.value", in)
			event(id+1, parent, at+4, "backend.openai.chat", "success", n, "openinference.span.kind", "LLM", "output.value", out)
			event(id+2, parent, at+4, "backend.openai.chat", "finish", n, "openinference.span.kind", "LLM")
		}
		tool := func(id, parent, at, n int, in, out string) {
			kind := []any{"openinference.span.kind", "TOOL", "tool.parameters", in}
			event(id, parent, at, "tool.dynamic.getInvoice", "start", n, kind...)
			if out == "" {
				event(id+1, parent, at+2, "tool.dynamic.getInvoice", "error", 1, append(kind, "exception.message", "busy")...).Status().SetCode(ptrace.StatusCodeError)
			} else {
				event(id+1, parent, at+2, "tool.dynamic.getInvoice", "success", 1, append(kind, "output.value", out)...)
			}
			event(id+2, parent, at+2, "tool.dynamic.getInvoice", "finish", n, "openinference.span.kind", "TOOL")
		}
		message := func(role, content string) string { return `{"role":"` + role + `","content":[` + content + `]}` }
		ask := func(id string) string {
			return message("assistant", `{"type":"tool-call","toolCallId":"`+id+`","toolName":"get_invoice","args":{"id":1}}`)
		}
		told := func(id, text string) string {
			return message("tool", `{"type":"tool-result","toolCallId":"`+id+`","toolName":"get_invoice","output":{"type":"text","value":"`+text+`"}}`)
		}
		q := message("user", `{"type":"text","text":"q"}`)
		tr.in(scope, "beeai-framework-main", 1, 0, 0, 100, "openinference.span.kind", "AGENT", "input.value", "q", "output.value", `{"role":"assistant","text":"end"}`)
		event(2, 1, 2, "agent.toolCalling", "start", 1, "openinference.span.kind", "AGENT")
		model(10, 2, 3, 1, list(q), list(ask("c1")))
		tool(20, 2, 12, 1, `{"id":1}`, "")
		event(3, 1, 30, "agent.toolCalling", "start", 2, "openinference.span.kind", "AGENT")
		model(30, 3, 31, 2, list(q, ask("c1"), told("c1", "busy")), list(ask("c2")))
		tool(40, 3, 42, 2, `{"id":1}`, `{"result":"paid"}`)
		model(50, 3, 60, 3, list(q, ask("c1"), told("c1", "busy"), ask("c2"), told("c2", "paid")), list(message("assistant", `{"type":"text","text":"end"}`)))
		return tr.runs(t)[0]
	}
	tp := build("-")
	if tp.Usage.ModelCalls != 3 || tp.Usage.ToolCalls != 2 || len(tp.Events) != 5 {
		t.Fatalf("%v", events(tp))
	}
	if failed, ok := tp.Events[1], tp.Events[3]; !failed.IsError || ok.IsError || ok.Name != "get_invoice" || ok.Result.Str() != "paid" || ok.RequestedBy != 3 {
		t.Errorf("%v", events(tp))
	}
	if tp := build("#"); tp.Usage.ToolCalls == 2 {
		t.Error("spans that are called otherwise are taken for events of one call")
	}
}
