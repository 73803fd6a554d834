// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package trpcagent_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
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
