// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func recordWith(t *testing.T, body any, span pcommon.SpanID) plog.LogRecord {
	t.Helper()
	record := plog.NewLogRecord()
	record.SetSpanID(span)
	if err := record.Body().FromRaw(body); err != nil {
		t.Fatal(err)
	}
	return record
}

// Records without a name, of a logger that nobody knows, whose body is a call.
func TestCallsInBodiesOfUnnamedRecordsAreEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		body any
		want string
	}{
		"a request and its answer": {
			`{"kind":"llm","messages":[{"role":"system","content":"be short"},{"role":"user","content":"add"}],"response":{"id":"r1","model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"3"}}]},"usage":{"prompt_tokens":5,"completion_tokens":1},"agent_id":"a/1"}`,
			"class: model\ndialect: unknown\nagent: a\nrequest: system | text \"be short\"\nrequest: user | text \"add\"\nresponse: assistant | text \"3\"\nresponse id: r1\nresponse model: m1\ninput tokens: 5\noutput tokens: 1\n",
		},
		"a structured body": {
			map[string]any{"messages": []any{map[string]any{"role": "user", "content": "add"}}, "response": map[string]any{"role": "assistant", "content": "3"}},
			"class: model\ndialect: unknown\nrequest: user | text \"add\"\nresponse: assistant | text \"3\"\n",
		},
		"a request with its tools": {
			`{"messages":[{"role":"user","content":"add"}],"tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object"}}}]}`,
			"class: model\ndialect: unknown\nrequest: user | text \"add\"\noffers: add\n",
		},
		"an answer with its tokens": {
			`{"response":{"content":[{"id":"c1","name":"add","arguments":"{\"a\":1}"}],"thought":"let me see"},"prompt_tokens":0,"completion_tokens":0}`,
			"class: model\ndialect: unknown\nresponse: assistant | text \"let me see\" | call add c1 {\"a\":1}\ninput tokens: 0\noutput tokens: 0\n",
		},
		"a call in a team's words": {
			`{"input":[{"role":"user","content":"add"}],"output":[{"role":"assistant","content":"3"}],"took_ms":12}`,
			"class: model\ndialect: unknown\nrequest: user | text \"add\"\nresponse: assistant | text \"3\"\n",
		},
		"a tool": {
			`{"event":"done","tool_name":"add","arguments":{"a":1},"result":"3"}`,
			"class: tool\ndialect: unknown\nname: add\nargs: {\"a\":1}\nresult: \"3\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			record := recordWith(t, c.body, pcommon.SpanID{1})
			if !IsEvidenceLog("", record) {
				t.Fatal("it is no evidence")
			}
			if IsEvidenceLog("", recordWith(t, c.body, pcommon.SpanID{})) {
				t.Error("a record that names no span is evidence")
			}
			l := numbered(1, "")
			record.Body().CopyTo(l.Span.Attributes().PutEmpty(dialect.LogBody))
			l.Logs = append(l.Logs, l.Span)
			genaitest.Says(t, Read(l), c.want)
		})
	}
}

// What services log of their own: conversations of people, requests, answers, tools.
func TestJSONLogsOfApplicationsAreNoEvidence(t *testing.T) {
	for name, body := range map[string]any{
		"text":                            "user asked for a refund",
		"a request over HTTP":             `{"level":"info","method":"POST","path":"/v1/orders","status":201,"response":{"content":"created","id":"o-1"}}`,
		"a conversation of people":        `{"messages":[{"role":"admin","content":"closed"},{"role":"user","content":"thanks"}],"response":{"content":"ok"}}`,
		"the body of a front end":         `{"messages":[{"role":"user","content":"hi"}]}`,
		"messages of a queue":             `{"messages":[{"id":"1","body":"x"}],"response":{"status":"acked","message":"done"}}`,
		"an answer of a service":          `{"response":{"message":{"role":"assistant","content":"hello"}},"took_ms":12}`,
		"roles of users":                  `{"role":"user","name":"Dana","content":"profile.jpg"}`,
		"a tool of a build":               `{"tool_name":"golangci-lint","arguments":["run","./..."],"result":"ok"}`,
		"a tool that is only named":       `{"tool_name":"drill","arguments":{"bit":3}}`,
		"names and arguments in a trace":  `{"function_name":"main.handler","args":"-v","result":0}`,
		"a translation":                   `{"messages":["welcome","good bye"],"language":"de","response":{"text":"Willkommen"}}`,
		"a structured body of a service":  map[string]any{"messages": int64(3), "response": map[string]any{"code": int64(200)}},
		"an empty conversation":           `{"messages":[],"response":{"content":"x"},"tools":[]}`,
		"what a user sent, and was told":  `{"input":[{"role":"user","content":"hi"}],"output":{"role":"clerk","content":"noted"}}`,
		"broken JSON":                     `{"messages":[{"role":"user","content":"hi"}],"response":`,
		"a poll with tokens of a session": `{"response":{"status":"ok"},"prompt_tokens":1,"completion_tokens":2}`,
	} {
		t.Run(name, func(t *testing.T) {
			record := recordWith(t, body, pcommon.SpanID{1})
			record.Attributes().PutStr("code.function.name", "handle")
			if IsEvidenceLog("", record) || IsEvidenceLog("app.request", record) {
				t.Errorf("it is evidence")
			}
		})
	}
}

// A tool's report whose span is not among the evidence speaks of the only tool of its name that ran at that moment; without one it is no call.
func TestReportOfAToolSpeaksOfTheToolThatRan(t *testing.T) {
	body := `{"tool_name":"add","arguments":{"a":1},"result":"3"}`
	tool := func(id byte) *dialect.Source {
		s := genaitest.Span("zz", "execute_tool add", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "add")
		s.Span.SetSpanID(pcommon.SpanID{id})
		s.Span.SetStartTimestamp(999_000_000)
		s.Span.SetEndTimestamp(1_001_000_000)
		return s
	}
	report := func() *dialect.Source {
		l := numbered(0, "", dialect.LogBody, body)
		l.Span.SetParentSpanID(pcommon.SpanID{9})
		return l
	}
	for name, c := range map[string]struct {
		spans []*dialect.Source
		want  string
	}{
		"one":  {[]*dialect.Source{tool(1)}, `{"a":1}`},
		"two":  {[]*dialect.Source{tool(1), tool(2)}, ""},
		"none": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			alone, rest := Arrange(c.spans, []*dialect.Source{report()})
			if len(alone) != 0 || (len(rest) == 0) != (c.want != "") {
				t.Fatalf("%d calls of their own, %d records left", len(alone), len(rest))
			}
			for _, s := range c.spans {
				if got := Read(s).Args.Value.JSON(); c.want != "" && got != c.want || c.want == "" && Read(s).Args.Present() {
					t.Errorf("arguments %s", got)
				}
			}
		})
	}
}
