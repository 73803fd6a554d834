// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

func TestRecordWithoutATraceIDHasTheTraceOfItsRun(t *testing.T) {
	for name, c := range map[string]struct {
		scope      string
		attributes []string
		run        string // "" is left out
	}{
		"prompt of a session":           {"com.anthropic.claude_code.events", []string{"event.name", "user_prompt", "session.id", "s", "prompt.id", "p"}, "s/p"},
		"session before its prompt":     {"com.anthropic.claude_code.events", []string{"event.name", "api_request", "session.id", "s"}, "s"},
		"conversation":                  {"codex_otel.log_only", []string{"event.name", "codex.tool_result", "conversation.id", "c", "call_id", "1"}, "c"},
		"conventions":                   {"x", []string{"event.name", "gen_ai.choice", "gen_ai.conversation.id", "g"}, "g"},
		"neither trace nor run":         {"x", []string{"event.name", "gen_ai.choice"}, ""},
		"piece of a stream":             {"codex_otel.log_only", []string{"event.name", "codex.sse_event", "conversation.id", "c", "event.kind", "response.created"}, ""},
		"start of the program":          {"com.anthropic.claude_code.events", []string{"event.name", "plugin_loaded", "session.id", "s"}, ""},
		"record of another application": {"app", []string{"event.name", "user_prompt", "session.id", "s"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ld := plog.NewLogs()
			sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
			sl.Scope().SetName(c.scope)
			record := sl.LogRecords().AppendEmpty()
			for i := 0; i < len(c.attributes); i += 2 {
				record.Attributes().PutStr(c.attributes[i], c.attributes[i+1])
			}
			var got []pcommon.TraceID
			for _, rs := range LogsToTraces(ld, segregation.Default).ResourceSpans().All() {
				for _, span := range rs.ScopeSpans().At(0).Spans().All() {
					got = append(got, span.TraceID())
				}
			}
			switch {
			case c.run == "" && len(got) != 0:
				t.Errorf("the record has trace %s", got[0])
			case c.run != "" && (len(got) != 1 || got[0] != LogTraceID(c.run)):
				t.Errorf("the record has traces %v, want %s", got, LogTraceID(c.run))
			}
		})
	}
}

func TestLogTraceIDIsTheDocumentedHash(t *testing.T) {
	// printf 'default\0c' | sha256sum
	if got, want := LogTraceID("c").String(), "b2fbcd07833d908dfbe0fd2e688f8875"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
