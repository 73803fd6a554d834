// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package trpcagent_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestTRPCAgentSpansSayWhatTheyHold(t *testing.T) {
	for _, name := range []string{"trpcagent/tools", "trpcagent/error"} {
		genaitest.SaysAsRecorded(t, genai.Read, name)
	}
}

// The results of the tools of a turn stand once more in a span of no tool: it would be served as a call that nobody made.
func TestTheMergedResultsOfATurnAreNoCall(t *testing.T) {
	for name, want := range map[string]dialect.Class{"(merged tools)": dialect.Structure, "reserve": dialect.Tool} {
		span := ptrace.NewSpan()
		span.SetName("execute_tool " + name)
		span.Attributes().PutStr("gen_ai.operation.name", "execute_tool")
		span.Attributes().PutStr("gen_ai.tool.name", name)
		span.Attributes().PutStr("gen_ai.tool.call.arguments", "N/A")
		if o := genai.Read(&dialect.Source{Resource: pcommon.NewMap(), ScopeName: "trpc.agent.go", Span: span}); o.Class != want {
			t.Errorf("%s is read as %v", name, o.Class)
		}
	}
}

// The result of a tool that failed stands there alone: the span of its call holds nothing.
func TestTheMergedResultsOfATurnAreKept(t *testing.T) {
	const merged = `{"object":"tool.response","choices":[{"message":{"role":"tool","content":"a","tool_id":"c1","tool_name":"f"}},{"message":{"role":"tool","content":"no","tool_id":"c2","tool_name":"g"}}]}`
	for key, name := range map[string]string{"gen_ai.tool.call.result": "execute_tool (merged tools)", "langfuse.observation.output": "execute_tool (merged tools)"} {
		span := ptrace.NewSpan()
		span.SetName(name)
		span.Attributes().PutStr("gen_ai.operation.name", "execute_tool")
		if key == "langfuse.observation.output" {
			span.Attributes().PutStr("langfuse.observation.type", "tool")
		}
		span.Attributes().PutStr("gen_ai.tool.name", "(merged tools)")
		span.Attributes().PutStr(key, merged)
		o := genai.Read(&dialect.Source{Resource: pcommon.NewMap(), ScopeName: "trpc.agent.go", Span: span})
		messages := decode.Transcript(o.OutputData.Value)
		if o.Class == dialect.Tool || len(messages) != 2 || messages[1].Parts[0].ID != "c2" || messages[1].Parts[0].Result.Str() != "no" {
			t.Errorf("%s: %v %+v", key, o.Class, messages)
		}
	}
}
