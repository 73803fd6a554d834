// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentload makes traces of agent runs for benchmarks and load tests. They follow the OpenTelemetry GenAI conventions: an
// agent span, model calls that resend the conversation, tool calls that the responses ask for. The same seed gives the same traces.
package agentload

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Shape says what a run looks like.
type Shape struct {
	Turns      int // model calls; all but the last ask for tool calls
	Tools      int // tool calls that a model call asks for; 0 is 1
	ToolBytes  int // size of arguments and result of a tool call, together
	TextBytes  int // size of prompt and of each answer
	Resend     bool
	ResendLast int // with Resend: at most so many messages are resent, 0 is all
}

// Short is a run of 20 spans of about 2 KB each: 10 model calls, 9 tool calls and the agent.
var Short = Shape{Turns: 10, ToolBytes: 1650, TextBytes: 500, Resend: true, ResendLast: 2}

// Long is a run of 50 turns that resends the whole conversation, as agents do.
var Long = Shape{Turns: 50, ToolBytes: 2000, TextBytes: 400, Resend: true}

// Large is a run of 20 spans and about 1 MB: tools that return files.
var Large = Shape{Turns: 10, ToolBytes: 50_000, TextBytes: 500, Resend: true, ResendLast: 2}

// Generator makes runs.
type Generator struct {
	rand  *rand.Rand
	count uint64
}

// New returns a generator with a seed.
func New(seed uint64) *Generator { return &Generator{rand: rand.New(rand.NewPCG(seed, seed))} }

var words = strings.Fields("the agent reads file main.go then plans next step run tests failing assertion in module parser because token stream ended early so patch function handle error return value context deadline retry with backoff query database select rows where status pending update cache invalidate session user asked summarise quarterly report revenue increased across regions tool call completed lines truncated json object keys values array list map struct interface channel mutex")

func (g *Generator) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[g.rand.IntN(len(words))])
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

// Trace makes one run. Spans come as SDKs export them, children before parents.
func (g *Generator) Trace(shape Shape) ptrace.Traces {
	g.count++
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	ra := rs.Resource().Attributes()
	ra.PutStr("service.name", "agent-svc")
	ra.PutStr("service.version", "1.2.3")
	ra.PutStr("telemetry.sdk.language", "python")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("opentelemetry.instrumentation.genai.openai")
	var trace pcommon.TraceID
	binary.BigEndian.PutUint64(trace[:], g.rand.Uint64()|1)
	binary.BigEndian.PutUint64(trace[8:], g.count)
	root := g.spanID()
	clock := uint64(1_760_000_000_000_000_000) + g.count*1_000_000_000
	began := clock
	span := func(name string, id, parent pcommon.SpanID, took uint64) ptrace.Span {
		s := ss.Spans().AppendEmpty()
		s.SetTraceID(trace)
		s.SetSpanID(id)
		s.SetParentSpanID(parent)
		s.SetName(name)
		s.SetStartTimestamp(pcommon.Timestamp(clock))
		clock += took
		s.SetEndTimestamp(pcommon.Timestamp(clock))
		return s
	}
	conversation := fmt.Sprintf("conv-%x", trace[:6])
	history := []string{`{"role":"user","parts":[{"type":"text","content":"` + g.text(shape.TextBytes) + `"}]}`}
	for turn := range shape.Turns {
		resent := history
		if !shape.Resend {
			resent = history[:1]
		} else if shape.ResendLast > 0 && len(history) > shape.ResendLast+1 {
			resent = append([]string{history[0]}, history[len(history)-shape.ResendLast:]...)
		}
		s := span("chat gpt-x-large", g.spanID(), root, 900_000_000)
		s.SetKind(ptrace.SpanKindClient)
		a := s.Attributes()
		a.PutStr("gen_ai.operation.name", "chat")
		a.PutStr("gen_ai.provider.name", "openai")
		a.PutStr("gen_ai.request.model", "gpt-x-large")
		a.PutStr("gen_ai.response.id", fmt.Sprintf("resp_%016x", g.rand.Uint64()))
		a.PutStr("gen_ai.conversation.id", conversation)
		a.PutInt("gen_ai.usage.input_tokens", int64(g.rand.IntN(4000)))
		a.PutInt("gen_ai.usage.output_tokens", int64(g.rand.IntN(900)))
		a.PutDouble("gen_ai.request.temperature", 0.2)
		a.PutStr("gen_ai.input.messages", "["+strings.Join(resent, ",")+"]")
		if turn == shape.Turns-1 {
			a.PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"`+g.text(shape.TextBytes)+`"}],"finish_reason":"stop"}]`)
			break
		}
		var calls, results []string
		for range max(1, shape.Tools) {
			id := fmt.Sprintf("call_%016x", g.rand.Uint64())
			args := `{"cmd":"` + g.text(shape.ToolBytes/4) + `"}`
			result := g.text(shape.ToolBytes * 3 / 4)
			calls = append(calls, `{"type":"tool_call","id":"`+id+`","name":"bash","arguments":`+args+`}`)
			results = append(results, `{"role":"tool","parts":[{"type":"tool_call_response","id":"`+id+`","response":"`+result+`"}]}`)
			t := span("execute_tool bash", g.spanID(), root, 50_000_000).Attributes()
			t.PutStr("gen_ai.operation.name", "execute_tool")
			t.PutStr("gen_ai.tool.name", "bash")
			t.PutStr("gen_ai.tool.call.id", id)
			t.PutStr("gen_ai.tool.type", "function")
			t.PutStr("gen_ai.conversation.id", conversation)
			t.PutStr("gen_ai.tool.call.arguments", args)
			t.PutStr("gen_ai.tool.call.result", result)
		}
		said := `{"role":"assistant","parts":[` + strings.Join(calls, ",") + `]}`
		a.PutStr("gen_ai.output.messages", "["+said+"]")
		history = append(append(history, said), results...)
	}
	ended := clock
	s := span("invoke_agent coder", root, pcommon.SpanID{}, 0)
	s.SetStartTimestamp(pcommon.Timestamp(began))
	s.SetEndTimestamp(pcommon.Timestamp(ended))
	a := s.Attributes()
	a.PutStr("gen_ai.operation.name", "invoke_agent")
	a.PutStr("gen_ai.agent.name", "coder")
	a.PutStr("gen_ai.conversation.id", conversation)
	return td
}

func (g *Generator) spanID() pcommon.SpanID {
	var id pcommon.SpanID
	binary.BigEndian.PutUint64(id[:], g.rand.Uint64()|1)
	return id
}
