// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

// recordedLogs are the fixtures that hold log records beside spans.
var recordedLogs = []string{"dialect/anthropic/testdata/claudecode/retry", "dialect/codex/testdata/codex/retry"}

// recordsOf returns the log records of <path>.logs.json as they travel, in the order of the file and numbered by it.
func recordsOf(t *testing.T, path string) []*dialect.Source {
	t.Helper()
	data, err := os.ReadFile(path + ".logs.json")
	if err != nil {
		t.Fatal(err)
	}
	ld, err := (&plog.JSONUnmarshaler{}).UnmarshalLogs(data)
	if err != nil {
		t.Fatal(err)
	}
	var out []*dialect.Source
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				name := EventName(sl.Scope().Name(), record.EventName(), record.Attributes(), record.Body())
				if !IsEvidenceLog(name, record) {
					continue
				}
				at := record.Timestamp()
				if at == 0 {
					at = record.ObservedTimestamp()
				}
				out = append(out, recordSource(len(out)+1, name, record.SpanID(), at, record.Attributes()))
			}
		}
	}
	return out
}

func recordSource(n int, name string, of pcommon.SpanID, at pcommon.Timestamp, attributes pcommon.Map) *dialect.Source {
	span := ptrace.NewSpan()
	span.SetName(name)
	var id pcommon.SpanID
	binary.BigEndian.PutUint64(id[:], uint64(n))
	span.SetSpanID(id)
	span.SetParentSpanID(of)
	span.SetStartTimestamp(at)
	span.SetEndTimestamp(at)
	attributes.CopyTo(span.Attributes())
	return &dialect.Source{Resource: pcommon.NewMap(), ScopeName: dialect.LogScope, Span: span}
}

// arrangedAsRecorded compares what the spans and records of a fixture say together with the text in <name>.<kind>.said.txt.
func arrangedAsRecorded(t *testing.T, name, kind string, spans, logs []*dialect.Source) {
	t.Helper()
	slices.SortStableFunc(spans, func(a, b *dialect.Source) int {
		return int(int64(a.Span.StartTimestamp()) - int64(b.Span.StartTimestamp()))
	})
	alone, rest := Arrange(spans, logs)
	var b strings.Builder
	for _, s := range slices.Concat(spans, alone) {
		names := make([]string, len(s.Logs))
		for i, l := range s.Logs {
			names[i] = l.Name()
		}
		fmt.Fprintf(&b, "== %s %s below %q, with %v\n%s\n", s.Span.Name(), s.Span.SpanID(), s.Span.ParentSpanID(), names, genaitest.Said(Read(s)))
	}
	for _, l := range rest {
		fmt.Fprintf(&b, "== rest: %s\n", l.Span.Name())
	}
	genaitest.Golden(t, name+"."+kind+".said.txt", b.String())
}

// untraced takes from records the span they name.
func untraced(logs []*dialect.Source) []*dialect.Source {
	for _, l := range logs {
		l.Span.SetParentSpanID(pcommon.SpanID{})
	}
	return logs
}

func TestArrangeGivesRecordsToTheCallsTheySpeakOf(t *testing.T) {
	for _, name := range recordedLogs {
		arrangedAsRecorded(t, name, "traced", genaitest.Sources(t, name), recordsOf(t, name))
	}
}

func TestArrangeMakesARunOfRecordsAlone(t *testing.T) {
	for _, name := range recordedLogs {
		arrangedAsRecorded(t, name, "untraced", nil, untraced(recordsOf(t, name)))
	}
}

func TestArrangeDoesNotDependOnTheOrderOfRecords(t *testing.T) {
	for _, name := range recordedLogs {
		logs := recordsOf(t, name)
		slices.Reverse(logs)
		arrangedAsRecorded(t, name, "traced", genaitest.Sources(t, name), logs)
		logs = untraced(recordsOf(t, name))
		slices.Reverse(logs)
		arrangedAsRecorded(t, name, "untraced", nil, logs)
	}
}

// numbered makes a record of its number, name and attributes, a millisecond after the one before.
func numbered(n int, name string, keysAndValues ...string) *dialect.Source {
	m := pcommon.NewMap()
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		m.PutStr(keysAndValues[i], keysAndValues[i+1])
	}
	return recordSource(n, name, pcommon.SpanID{}, pcommon.Timestamp(1_000_000_000+n*1_000_000), m)
}

func TestRawBodiesOfClaudeCodeAreWholeModelCalls(t *testing.T) {
	const session, prompt = "session.id", "prompt.id"
	alone, rest := Arrange(nil, []*dialect.Source{
		numbered(1, "claude_code.user_prompt", session, "s", prompt, "p", "prompt", "add 1 and 2"),
		numbered(2, "claude_code.api_request_body", session, "s", prompt, "p", "body", `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"be exact"}],"messages":[{"role":"user","content":"add 1 and 2"}],"tools":[{"name":"add","input_schema":{"type":"object"}}]}`),
		numbered(3, "claude_code.api_request", session, "s", prompt, "p", "model", "m-1", "input_tokens", "5"),
		numbered(4, "claude_code.api_response_body", session, "s", prompt, "p", "body", `{"id":"msg_1","model":"m-1","content":[{"type":"tool_use","id":"toolu_1","name":"add","input":{"a":1,"b":2}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":6}}`),
		numbered(5, "claude_code.tool_result", session, "s", prompt, "p", "tool_use_id", "toolu_1", "tool_name", "add", "success", "true", "tool_input", `{"a":1,"b":2}`),
		numbered(6, "claude_code.api_request_body", session, "s", prompt, "p", "body_truncated", "true", "body", `{"model":"m","messages":[{"ro`),
		numbered(7, "claude_code.api_request", session, "s", prompt, "p", "model", "m-1"),
		numbered(8, "claude_code.assistant_response", session, "s", prompt, "p", "response", "3"),
		numbered(9, "claude_code.api_request", session, "s", prompt, "p", "model", "m-1", "query_source", "generate_session_title"),
	})
	var got []string
	for _, s := range alone {
		got = append(got, genaitest.Said(Read(s)))
	}
	want := []string{
		"class: agent\ndialect: claude-code\nrun span: yes\nconversation: s\ninvocation: p\ninput: user | text \"add 1 and 2\"\n",
		"class: model\ndialect: claude-code\nconversation: s\ninvocation: p\nmodel: m\nprovider: anthropic\nparam max_tokens: 9\nsystem: | text \"be exact\"\nrequest: user | text \"add 1 and 2\"\nresponse: assistant | call add toolu_1 {\"a\":1,\"b\":2}\noffers: add\nfinish: tool_use\nresponse id: msg_1\nresponse model: m-1\ninput tokens: 5\noutput tokens: 6\n",
		"class: tool\ndialect: claude-code\nconversation: s\ninvocation: p\nname: add\ncall: toolu_1\nkind: builtin\nargs: {\"a\":1,\"b\":2}\n",
		"class: model\ndialect: claude-code\nconversation: s\ninvocation: p\nprovider: anthropic\nresponse: assistant | text \"3\"\nresponse model: m-1\n",
	}
	if len(got) == len(want) {
		got[3], _, _ = strings.Cut(got[3], "note")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(rest) != 1 {
		t.Errorf("%d records are left, want the one that makes a title", len(rest))
	}
}

func TestPromptsOfOneCodexConversationAreRunsOfTheirOwn(t *testing.T) {
	const conversation = "conversation.id"
	alone, rest := Arrange(nil, []*dialect.Source{
		numbered(1, "codex.user_prompt", conversation, "c", "prompt", "one"),
		numbered(2, "codex.api_request", conversation, "c", "model", "m", "endpoint", "/responses", "error.message", "overloaded", "http.response.status_code", "529"),
		numbered(3, "codex.api_request", conversation, "c", "model", "m", "endpoint", "/responses"),
		numbered(4, "codex.sse_event", conversation, "c", "event.kind", "response.completed", "input_token_count", "7"),
		numbered(5, "codex.tool_result", conversation, "c", "call_id", "call_1", "tool_name", "shell", "arguments", `{"command":["ls"]}`, "output", "a\n", "success", "true"),
		numbered(6, "codex.user_prompt", conversation, "c", "prompt", "[REDACTED]"),
		numbered(7, "codex.tool_result", conversation, "c", "call_id", "call_2", "tool_name", "shell", "arguments", `{"command":["cat"]}`, "output", "a[... telemetry preview truncated ...]", "success", "true"),
	})
	below := map[string][]string{}
	for _, s := range alone {
		below[s.Span.ParentSpanID().String()] = append(below[s.Span.ParentSpanID().String()], s.Span.Name())
	}
	want := map[string][]string{
		"":                 {"codex.user_prompt", "codex.user_prompt"},
		"0000000000000001": {"codex.api_request", "codex.api_request", "codex.tool_result"},
		"0000000000000006": {"codex.tool_result"},
	}
	if diff := cmp.Diff(want, below); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(rest) != 0 {
		t.Errorf("%d records are left", len(rest))
	}
	if failed := Read(alone[1]); !failed.Failed || failed.Error.Message != "overloaded" {
		t.Errorf("a request that failed is read as %s", genaitest.Said(failed))
	}
	if cut := Read(alone[len(alone)-1]); cut.Result.Label != "truncated" {
		t.Errorf("a preview is read as %s", genaitest.Said(cut))
	}
}

func TestMessagesOfOneMomentStandInTheOrderOfAConversation(t *testing.T) {
	call := genaitest.Span("openai", "chat m", "gen_ai.operation.name", "chat")
	call.Span.SetSpanID(pcommon.SpanID{9})
	var logs []*dialect.Source
	for i, l := range []struct{ name, body string }{
		{"gen_ai.tool.message", `{"id":"call_1","content":"3"}`},
		{"gen_ai.user.message", `{"content":"add"}`},
		{"gen_ai.assistant.message", `{"tool_calls":[{"id":"call_1","type":"function","function":{"name":"add","arguments":"{}"}}]}`},
		{"gen_ai.system.message", `{"content":"be exact"}`},
	} {
		r := numbered(i, l.name, dialect.LogBody, l.body)
		r.Span.SetParentSpanID(call.Span.SpanID())
		r.Span.SetStartTimestamp(1)
		logs = append(logs, r)
	}
	Arrange([]*dialect.Source{call}, logs)
	var roles []string
	for _, m := range Read(call).Request {
		roles = append(roles, string(m.Role))
	}
	if diff := cmp.Diff([]string{"system", "user", "assistant", "tool"}, roles); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The time at which each record was observed orders those of one time. Where that is the same too, which of the user's messages was the last is not known.
func TestRecordsOfOneTimeStandInTheOrderInWhichTheyWereObserved(t *testing.T) {
	type entry struct {
		name, body string
		observed   int64
	}
	const user, says = "gen_ai.user.message", "gen_ai.assistant.message"
	for name, c := range map[string]struct {
		records  []entry
		last     string // what the user said last; "" where nothing tells
		shuffled bool
	}{
		"observed one after another": {[]entry{{user, "zero", 1}, {says, "yes", 2}, {user, "add", 3}}, "add", false},
		"observed at once":           {[]entry{{user, "zero", 1}, {says, "yes", 1}, {user, "add", 1}}, "", true},
		"the first was before":       {[]entry{{user, "zero", 1}, {says, "yes", 2}, {user, "add", 2}}, "add", false},
		"one of them said twice":     {[]entry{{user, "zero", 1}, {says, "yes", 2}, {user, "add", 3}, {says, "no", 4}}, "", true},
		"one message":                {[]entry{{user, "zero", 1}, {says, "yes", 1}}, "zero", false},
	} {
		call := genaitest.Span("openai", "chat m", "gen_ai.operation.name", "chat")
		call.Span.SetSpanID(pcommon.SpanID{9})
		var logs []*dialect.Source
		for i, l := range c.records {
			r := numbered(i, l.name, dialect.LogBody, `{"content":"`+l.body+`"}`)
			r.Span.Attributes().PutInt(dialect.LogObservedTime, l.observed)
			r.Span.SetParentSpanID(call.Span.SpanID())
			r.Span.SetStartTimestamp(1)
			logs = append(logs, r)
		}
		Arrange([]*dialect.Source{call}, logs)
		o := Read(call)
		last := ""
		for _, m := range o.Request {
			if m.Role == tape.RoleUser {
				last = m.Parts[0].Text
			}
		}
		if o.Shuffled != c.shuffled || c.last != "" && last != c.last {
			t.Errorf("%s: the last message is %q, not known: %t", name, last, o.Shuffled)
		}
	}
}

func TestEventsOfACallWhoseSpanNeverCameStandForIt(t *testing.T) {
	var logs []*dialect.Source
	for i, l := range []struct{ name, body string }{
		{"gen_ai.user.message", `{"content":"add"}`},
		{"gen_ai.choice", `{"index":0,"finish_reason":"stop","message":{"content":"3"}}`},
	} {
		r := numbered(i, l.name, dialect.LogBody, l.body)
		r.Span.SetParentSpanID(pcommon.SpanID{9})
		logs = append(logs, r)
	}
	alone, rest := Arrange(nil, logs)
	if len(alone) != 1 || len(rest) != 0 {
		t.Fatalf("%d calls and %d records left", len(alone), len(rest))
	}
	want := "class: model\ndialect: otel-genai\nrequest: user | text \"add\"\nresponse: assistant | text \"3\""
	if got := genaitest.Said(Read(alone[0])); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s", got)
	}
}

func TestAutogenEventsAreTheCallsThatItsSpansDoNotHold(t *testing.T) {
	tool := genaitest.Span("autogen-core", "execute_tool add", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "add", "gen_ai.tool.call.id", "call_1")
	tool.Span.SetSpanID(pcommon.SpanID{1})
	result := numbered(1, "autogen_core.events", dialect.LogBody, `{"type":"ToolCall","tool_name":"add","arguments":{"a":1},"result":"3","agent_id":"a/1"}`)
	result.Span.SetParentSpanID(pcommon.SpanID{1})
	model := numbered(2, "autogen_core.events", dialect.LogBody, `{"type":"LLMCall","messages":[{"role":"user","content":"add"}],"response":{"id":"r1","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"3"}}]},"prompt_tokens":5,"completion_tokens":1,"agent_id":"a/1"}`)
	alone, rest := Arrange([]*dialect.Source{tool}, []*dialect.Source{result, model, numbered(3, "autogen_core.events", dialect.LogBody, `{"type":"Message","payload":"x"}`)})
	if len(alone) != 1 || len(rest) != 1 {
		t.Fatalf("%d calls and %d records left", len(alone), len(rest))
	}
	if o := Read(tool); o.Args.Value.JSON() != `{"a":1}` || o.Result.Value.Str() != "3" {
		t.Errorf("the tool says %s", genaitest.Said(o))
	}
	if o := Read(alone[0]); len(o.Request) != 1 || len(o.Response) != 1 || o.ResponseID != "r1" {
		t.Errorf("the model call says %s", genaitest.Said(o))
	}
}

func TestEventNameIsTheOneThatDialectsKnow(t *testing.T) {
	m := pcommon.NewMap()
	m.PutStr("event.name", "codex.tool_result")
	for _, c := range []struct{ scope, recorded, want string }{
		{"codex_otel.log_only", "event otel/src/tool_result.rs:54", "codex.tool_result"},
		{"x", "gen_ai.choice", "gen_ai.choice"},
		{"com.anthropic.claude_code.events", "user_prompt", "claude_code.user_prompt"},
		{"autogen_core.events", "", "autogen_core.events"},
	} {
		if got := EventName(c.scope, c.recorded, m, pcommon.NewValueEmpty()); got != c.want {
			t.Errorf("%s of %s is read as %s, want %s", c.recorded, c.scope, got, c.want)
		}
	}
}

// FuzzArrangeLosesNoRecord: whatever spans and records say, every record is handed to one span, stands in one call or is left.
func FuzzArrangeLosesNoRecord(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x10\x21\x32\x43\x54\x65"), uint8(3))
	f.Add([]byte("aaaaaaaabbbbbbbbccccccccdddddddd"), uint8(8))
	names := []string{
		"claude_code.user_prompt", "claude_code.api_request", "claude_code.api_request_body", "claude_code.assistant_response", "claude_code.tool_result",
		"codex.user_prompt", "codex.api_request", "codex.sse_event", "codex.tool_result", "codex.agent_response", "zz.user_prompt", "zz.tool_result", "zz.agent_response", "autogen_core.events", "gen_ai.choice", "gen_ai.user.message", "x",
		forge.AuditPrefix + "session_start", forge.AuditPrefix + "llm_call", forge.AuditPrefix + "tool_exec", forge.AuditPrefix + "tool_exec",
	}
	forgeSpans := []string{"agent.execute", "llm.completion", "tool.f"}
	f.Add([]byte{1, 0, 0, 0, 2, 1, 1, 0, 3, 2, 1, 0, 9, 14, 1, 0, 9, 15, 1, 0, 9, 16, 1, 0, 9, 16, 1, 0, 9, 15, 1, 0, 9, 15, 1, 0}, uint8(3+128))
	spans := []string{"claude_code.interaction", "claude_code.llm_request", "claude_code.tool", "session_task.turn", "try_run_sampling_request", "handle_responses", "mcp.tools.call"}
	f.Fuzz(func(t *testing.T, data []byte, ofSpans uint8) {
		var sources, logs []*dialect.Source
		for i := 0; i+3 < len(data); i += 4 {
			id, kind, parent, key := data[i], int(data[i+1]), data[i+2], string(rune('a'+data[i+3]%4))
			if len(sources) < int(ofSpans%128) {
				s := genaitest.Span("codex_exec", spans[kind%len(spans)], "call_id", key, "tool_use_id", key, "gen_ai.usage.input_tokens", "1")
				if ofSpans > 127 {
					s = genaitest.Span(forge.Scope, forgeSpans[kind%len(forgeSpans)], forge.CorrelationID, key)
				} else if kind%2 == 0 {
					s.ScopeName = "com.anthropic.claude_code.tracing"
				}
				s.Span.SetSpanID(pcommon.SpanID{id})
				s.Span.SetParentSpanID(pcommon.SpanID{parent})
				s.Span.SetStartTimestamp(pcommon.Timestamp(int(id) * 1_000_000))
				s.Span.SetEndTimestamp(pcommon.Timestamp((int(id) + int(parent)) * 1_000_000))
				sources = append(sources, s)
				continue
			}
			l := numbered(i, names[kind%len(names)], "conversation.id", key, "session.id", key, "prompt.id", key, "call_id", key, "tool_use_id", key, "zz.prompt", key, "zz.tool_name", key, "zz.output", key, "zz.response", key, "input_token_count", "1", "endpoint", "/responses")
			if strings.HasPrefix(l.Span.Name(), forge.AuditPrefix) {
				phase := []string{"start", "end"}[i/4%2]
				l.Span.Attributes().PutStr(forge.CorrelationID, key)
				l.Span.Attributes().PutStr(dialect.LogBody, fmt.Sprintf(`{"seq":%d,"fields":{"tool":"f","phase":%q,"args":"{}"}}`, id%16, phase))
				if kind > 127 {
					l.Span.Attributes().PutStr(forge.AuditIntegrity, forge.AuditChainBroken)
				}
			}
			l.Span.SetParentSpanID(pcommon.SpanID{parent})
			l.Span.SetStartTimestamp(pcommon.Timestamp(int(id) * 1_000_000))
			logs = append(logs, l)
		}
		alone, rest := Arrange(sources, logs)
		got := len(rest)
		for _, s := range slices.Concat(sources, alone) {
			got += len(s.Logs)
			Read(s)
		}
		if got != len(logs) {
			t.Errorf("%d of %d records are somewhere", got, len(logs))
		}
	})
}
