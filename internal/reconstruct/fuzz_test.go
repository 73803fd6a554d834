// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
)

// FuzzTapesOfAnyTraceVerify: whatever an OTLP request holds, every tape made from it verifies, and the same spans in another order,
// split and repeated, give the same bytes.
func FuzzTapesOfAnyTraceVerify(f *testing.F) {
	for _, name := range []string{
		"forge/happy", "forge/truncated_redacted", "agents/vercel-ai-v5/parallel_identical", "agents/langchain-openinference/handoff",
		"agents/openai-agents-openinference/nested_json", "agents/openai-otel-contrib/parallel_tools", "agents/mcp-openinference/tool_error_retry",
	} {
		for document, err := range otlpfile.ReadFile(corpus+"/"+name+".otlp.json", nil, otlpfile.Options{}) {
			if err != nil {
				f.Fatal(err)
			}
			f.Add(encoded(f, document.Traces), uint64(1))
		}
	}
	for _, name := range []string{"no ids at all", "no times", "text that is no text", "messages of every nonsense", "answers that come before their questions"} {
		tr := newTrace()
		hostile[name](tr)
		f.Add(encoded(f, tr.td), uint64(2))
	}
	f.Fuzz(func(t *testing.T, request []byte, seed uint64) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(request)
		if err != nil || td.SpanCount() > 200 {
			return
		}
		holds(t, td, seed)
	})
}

// FuzzTapesOfInventedRunsVerify is the same over traces that look like runs: few ids, few times, messages that quote each other.
func FuzzTapesOfInventedRunsVerify(f *testing.F) {
	f.Add([]byte("\x00\x01\x00\x00\x63\x00\x01\x02\x01\x01\x09\x00\x02\x03\x01\x0a\x14\x01"))
	r := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		data := make([]byte, 20+r.IntN(300))
		for i := range data {
			data[i] = byte(r.UintN(256))
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		holds(t, invented(data), uint64(len(data)))
		holds(t, scattered(invented(data)), uint64(len(data)))
	})
}

// scattered puts the spans into three traces.
func scattered(td ptrace.Traces) ptrace.Traces {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				id := s.SpanID()
				s.SetTraceID(pcommon.TraceID{1 + id[7]%3})
			}
		}
	}
	return td
}

func encoded(t testing.TB, td ptrace.Traces) []byte {
	t.Helper()
	b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func holds(t *testing.T, td ptrace.Traces, seed uint64) {
	t.Helper()
	want := rendered(t, copied(td))
	r := rand.New(rand.NewPCG(seed, 1))
	if got := rendered(t, dealt(r, td)...); !bytes.Equal(want, got) {
		t.Fatalf("seed %d: other bytes from the same spans in another order", seed)
	}
}

// rendered derives, verifies and writes all tapes of one set of evidence.
func rendered(t *testing.T, requests ...ptrace.Traces) []byte {
	t.Helper()
	set := evidence.NewSet()
	for _, td := range requests {
		set.AddTraces(td)
	}
	var out []byte
	for _, one := range set.Split() {
		tapes, reason := reconstruct.Trace(one, options)
		if len(tapes) == 0 && reason == "" {
			t.Fatal("no tape and no reason")
		}
		sound(t, tapes)
		for _, tp := range tapes {
			out = append(tp.AppendJSON(out), '\n')
		}
		out = append(append(out, reason...), '\n')
	}
	tapes := reconstruct.All(set.Split(), options)
	sound(t, tapes)
	for _, tp := range tapes {
		out = append(tp.AppendJSON(out), '\n')
	}
	return out
}

// dealt deals the spans into requests at random, some twice.
func dealt(r *rand.Rand, td ptrace.Traces) []ptrace.Traces {
	var spans []ptrace.Traces
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				one := ptrace.NewTraces()
				to := one.ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(to.Resource())
				to.SetSchemaUrl(rs.SchemaUrl())
				scope := to.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(scope.Scope())
				scope.SetSchemaUrl(ss.SchemaUrl())
				s.CopyTo(scope.Spans().AppendEmpty())
				spans = append(spans, one)
			}
		}
	}
	var out []ptrace.Traces
	for _, i := range r.Perm(len(spans)) {
		out = append(out, spans[i])
		if r.IntN(3) == 0 {
			out = append(out, copied(spans[i]))
		}
	}
	return out
}

// source reads small choices from fuzzed bytes; without bytes left every choice is 0.
type source struct{ left []byte }

func (s *source) pick(n int) int {
	if len(s.left) == 0 {
		return 0
	}
	b := s.left[0]
	s.left = s.left[1:]
	return int(b) % n
}

// invented writes a trace of agents, model calls and tools in the words of four dialects.
func invented(data []byte) ptrace.Traces {
	s := &source{data}
	tr := newTrace()
	for n := 0; len(s.left) > 0 && n < 40; n++ {
		kind, id, parent, start := s.pick(10), s.pick(24), s.pick(26), s.pick(40)
		end := start + s.pick(30) - 2
		var span ptrace.Span
		switch kind {
		case 0, 1:
			span = tr.agent([]string{"", "a", "b", "a/b"}[s.pick(4)], id, parent, start, end)
			if s.pick(3) == 0 {
				put(span.Attributes(), []any{"gen_ai.input.messages", s.messages(), "gen_ai.output.messages", s.messages()})
			}
		case 2, 3, 4:
			span = tr.chat(id, parent, start, end, s.messages(), s.messages())
			if s.pick(4) == 0 {
				put(span.Attributes(), []any{"gen_ai.response.id", strconv.Itoa(s.pick(3)), "gen_ai.usage.input_tokens", int64(s.pick(9))})
			}
		case 5, 6:
			span = tr.tool(s.name(), id, parent, start, end, s.callID(), s.args(), s.text())
			if s.pick(5) == 0 {
				put(span.Attributes(), []any{"mcp.method.name", "tools/call"})
			}
		case 7:
			span = tr.in("github.com/initializ/forge", []string{"agent.execute", "llm.completion", "tool.f", "a2a.tasks/send"}[s.pick(4)], id, parent, start, end,
				"gen_ai.input.messages", s.messages(), "gen_ai.output.messages", s.messages(), "forge.tool.args", s.args(), "forge.tool.result", s.text())
		case 8:
			span = tr.in("ai", []string{"ai.generateText", "ai.generateText.doGenerate", "ai.toolCall"}[s.pick(3)], id, parent, start, end,
				"ai.prompt.messages", s.messages(), "ai.response.text", s.text(), "ai.toolCall.name", s.name(), "ai.toolCall.id", s.callID(), "ai.toolCall.args", s.args(), "ai.toolCall.result", s.text())
		default:
			span = tr.in("openinference.instrumentation.x", s.name(), id, parent, start, end, "openinference.span.kind", []string{"LLM", "CHAIN", "AGENT", "TOOL", "RETRIEVER"}[s.pick(5)],
				"input.value", s.messages(), "output.value", s.text(), "llm.input_messages.0.message.role", "user", "llm.input_messages."+strconv.Itoa(s.pick(3))+".message.content", s.text())
		}
		if s.pick(6) == 0 {
			span.Status().SetCode(ptrace.StatusCodeError)
		}
		if s.pick(8) == 0 {
			put(span.Attributes(), []any{"gen_ai.conversation.id", strconv.Itoa(s.pick(3))})
		}
	}
	return tr.td
}

func (s *source) name() string   { return []string{"f", "g", "transfer_to_b", ""}[s.pick(4)] }
func (s *source) callID() string { return []string{"", "c1", "c2", "c3", " c1 "}[s.pick(5)] }
func (s *source) args() string {
	return []string{`{}`, `{"x":1}`, `{"x":2}`, `{"x":12345678901234567890}`, `{'x': 1}`, `null`, `text`, ``, `[1,`}[s.pick(9)]
}
func (s *source) text() string {
	return []string{"v", "w", "", `{"y":1}`, `"v"`, `[{"type":"text","text":"v"}]`, "[REDACTED]", "cut…[truncated:5000]", "\xff", `{"error":"e"}`}[s.pick(10)]
}

func (s *source) messages() string {
	var out []string
	for range s.pick(7) {
		switch s.pick(7) {
		case 0, 1:
			out = append(out, user(s.text()))
		case 2:
			out = append(out, says(s.text()))
		case 3, 4:
			var calls []string
			for range 1 + s.pick(3) {
				args := s.args()
				if args == "" || args[0] != '{' || args[1] == '\'' {
					args = quote(args)
				}
				calls = append(calls, call(s.callID(), s.name(), args))
			}
			out = append(out, asks(calls...))
		case 5:
			out = append(out, shows(s.callID(), s.text()))
		default:
			out = append(out, fmt.Sprintf(`{"role":"system","content":%s}`, quote(s.text())))
		}
	}
	if s.pick(12) == 0 {
		return s.text()
	}
	text := list(out...)
	if s.pick(12) == 0 {
		return text[:len(text)/2]
	}
	return text
}
