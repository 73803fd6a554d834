// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/schema"
)

// Small traces are written by hand here: spans with ids 1, 2, 3 …, times in milliseconds after epoch, parent 0 for none.
const epoch = 1_767_225_600_000 // 2026-01-01T00:00:00Z

type trace struct {
	td     ptrace.Traces
	scopes map[string]ptrace.ScopeSpans
}

func newTrace() *trace { return &trace{td: ptrace.NewTraces(), scopes: map[string]ptrace.ScopeSpans{}} }

var oneTrace = pcommon.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

func spanID(n int) (id pcommon.SpanID) {
	id[6], id[7] = byte(n>>8), byte(n)
	return id
}

func at(ms int) pcommon.Timestamp { return pcommon.Timestamp((epoch + int64(ms)) * 1_000_000) }

// in adds a span of a scope.
func (tr *trace) in(scope, name string, id, parent, start, end int, attrs ...any) ptrace.Span {
	ss, ok := tr.scopes[scope]
	if !ok {
		rs := tr.td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", "shop")
		ss = rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName(scope)
		tr.scopes[scope] = ss
	}
	s := ss.Spans().AppendEmpty()
	s.SetTraceID(oneTrace)
	s.SetSpanID(spanID(id))
	if parent != 0 {
		s.SetParentSpanID(spanID(parent))
	}
	s.SetName(name)
	s.SetStartTimestamp(at(start))
	s.SetEndTimestamp(at(end))
	put(s.Attributes(), attrs)
	return s
}

func put(m pcommon.Map, attrs []any) {
	for i := 0; i+1 < len(attrs); i += 2 {
		if err := m.PutEmpty(attrs[i].(string)).FromRaw(attrs[i+1]); err != nil {
			panic(err)
		}
	}
}

// The spans of the GenAI conventions.

func (tr *trace) agent(name string, id, parent, start, end int, attrs ...any) ptrace.Span {
	return tr.in("test", "invoke_agent "+name, id, parent, start, end, append([]any{"gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", name}, attrs...)...)
}

func (tr *trace) chat(id, parent, start, end int, request, response string, attrs ...any) ptrace.Span {
	a := []any{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m1"}
	if request != "" {
		a = append(a, "gen_ai.input.messages", request)
	}
	if response != "" {
		a = append(a, "gen_ai.output.messages", response)
	}
	return tr.in("test", "chat m1", id, parent, start, end, append(a, attrs...)...)
}

func (tr *trace) tool(name string, id, parent, start, end int, callID, args, result string, attrs ...any) ptrace.Span {
	a := []any{"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", name}
	for _, f := range [][2]string{{"gen_ai.tool.call.id", callID}, {"gen_ai.tool.call.arguments", args}, {"gen_ai.tool.call.result", result}} {
		if f[1] != "" {
			a = append(a, f[0], f[1])
		}
	}
	return tr.in("test", "execute_tool "+name, id, parent, start, end, append(a, attrs...)...)
}

// Messages in the shape of the conventions.

func quote(s string) string { return exactjson.StringValue(s).JSON() }

func list(messages ...string) string { return "[" + strings.Join(messages, ",") + "]" }

func user(text string) string {
	return `{"role":"user","parts":[{"type":"text","content":` + quote(text) + `}]}`
}

func says(text string) string {
	return `{"role":"assistant","parts":[{"type":"text","content":` + quote(text) + `}]}`
}

func asks(calls ...string) string {
	return `{"role":"assistant","parts":[` + strings.Join(calls, ",") + `]}`
}

func call(id, name, args string) string {
	s := `{"type":"tool_call",`
	if id != "" {
		s += `"id":` + quote(id) + `,`
	}
	return s + `"name":` + quote(name) + `,"arguments":` + args + `}`
}

func shows(id, result string) string {
	s := `{"role":"tool","parts":[{"type":"tool_call_response",`
	if id != "" {
		s += `"id":` + quote(id) + `,`
	}
	return s + `"response":` + quote(result) + `}]}`
}

// runs derives the tapes of the trace. Whatever else is wrong with a trace, every tape must verify, and shuffled or repeated spans
// must give the same bytes.
func (tr *trace) runs(t testing.TB) []*tape.Tape {
	t.Helper()
	tapes, _ := tr.derive(t)
	return tapes
}

func (tr *trace) derive(t testing.TB) ([]*tape.Tape, string) {
	t.Helper()
	set := evidence.NewSet()
	set.AddTraces(copied(tr.td))
	var tapes []*tape.Tape
	reason := ""
	for _, one := range set.Split() {
		found, why := reconstruct.Trace(one, options)
		if len(found) == 0 && why == "" {
			t.Error("no tape and no reason")
		}
		tapes, reason = append(tapes, found...), why
	}
	sound(t, tapes)
	return tapes, reason
}

func copied(td ptrace.Traces) ptrace.Traces {
	c := ptrace.NewTraces()
	td.CopyTo(c)
	return c
}

// sound seals the tapes and verifies them and the oracles beside them.
func sound(t testing.TB, tapes []*tape.Tape) {
	t.Helper()
	ids := map[string]bool{}
	for _, tp := range tapes {
		if ids[tp.Run.RunID] {
			t.Errorf("two runs are called %s", tp.Run.RunID)
		}
		ids[tp.Run.RunID] = true
		body := oracle.Append(nil, oracle.FromTape(tp))
		digest := exactjson.Member{Name: "oracle.json", Value: exactjson.StringValue(tape.FileDigest(body))}
		own := exactjson.Member{Name: "tapedeck", Value: exactjson.ObjectValue(exactjson.Member{Name: "files", Value: exactjson.ObjectValue(digest)})}
		tp.Extensions = exactjson.ObjectValue(append(append([]exactjson.Member{}, tp.Extensions.Members()...), own)...)
		if err := tp.Seal(); err != nil {
			t.Errorf("seal: %v", err)
			continue
		}
		written := tp.AppendJSON(nil)
		read, err := tape.Read(written)
		if err != nil {
			t.Errorf("read: %v", err)
			continue
		}
		files := map[string][]byte{"tape.json": written, "oracle.json": body}
		for _, p := range tape.Verify(read, files, schema.Check, oracle.Check) {
			t.Errorf("problem %s at %s: %s", p.Code, p.Path, p.Detail)
		}
	}
}

// the returns the only tape.
func the(t testing.TB, tapes []*tape.Tape) *tape.Tape {
	t.Helper()
	if len(tapes) != 1 {
		t.Fatalf("%d tapes, want 1: %v", len(tapes), roots(tapes))
	}
	return tapes[0]
}

func roots(tapes []*tape.Tape) []string {
	out := []string{}
	for _, tp := range tapes {
		out = append(out, strings.TrimLeft(tp.Run.RootSpanID, "0"))
	}
	return out
}

// events writes the events of a tape as lines: type, name or agent, spans, requesting call, caller and what came back.
func events(tp *tape.Tape) []string {
	out := []string{}
	for _, e := range tp.Events {
		line := string(e.Type)
		switch e.Type {
		case tape.EventToolCall, tape.EventRetrieval:
			line += " " + e.Name
		case tape.EventAgentCall:
			line += " " + e.Agent.Name
		}
		for i, id := range e.SpanIDs {
			line += map[bool]string{true: " @", false: "+"}[i == 0] + strings.TrimLeft(id, "0")
		}
		if e.RequestedBy > 0 {
			line += fmt.Sprintf(" by %d", e.RequestedBy)
		}
		if e.Parent > 0 {
			line += fmt.Sprintf(" in %d", e.Parent)
		}
		if e.Via > 0 {
			line += fmt.Sprintf(" via %d", e.Via)
		}
		if e.Type == tape.EventToolCall && !e.Result.IsAbsent() {
			line += " = " + strings.Trim(e.Result.JSON(), `"`)
		}
		if e.Status == tape.EventError {
			line += " failed"
		}
		if label := e.Provenance["result"]; label != "" {
			line += " (" + string(label) + ")"
		}
		out = append(out, line)
	}
	return out
}

// codes lists the codes of the findings with the event they name.
func codes(tp *tape.Tape) []string {
	out := []string{}
	for _, f := range tp.Fidelity.Findings {
		s := string(f.Code)
		if f.Seq > 0 {
			s += fmt.Sprintf("@%d", f.Seq)
		}
		out = append(out, s)
	}
	return out
}
