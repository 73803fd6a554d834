// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genailogsconnector

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/tapedeck/tapedeck/connector/genailogsconnector/internal/metadatatest"
)

// someLogs holds a tool result of Codex and a prompt of Claude Code, both without ids, a choice of a traced model call, a stream event
// that says nothing, a record of the application, and an event that names neither trace nor run.
func someLogs() plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "agent")
	add := func(scope string, attributes ...string) plog.LogRecord {
		sl := rl.ScopeLogs().AppendEmpty()
		sl.Scope().SetName(scope)
		record := sl.LogRecords().AppendEmpty()
		record.SetTimestamp(1_700_000_000_000_000_000)
		for i := 0; i < len(attributes); i += 2 {
			record.Attributes().PutStr(attributes[i], attributes[i+1])
		}
		return record
	}
	add("codex_otel.log_only", "event.name", "codex.tool_result", "conversation.id", "c1", "call_id", "call_1", "tool_name", "shell", "arguments", "{}", "output", "ok")
	add("codex_otel.log_only", "event.name", "codex.sse_event", "conversation.id", "c1", "event.kind", "response.output_text.delta")
	add("com.anthropic.claude_code.events", "event.name", "user_prompt", "session.id", "s1", "prompt.id", "p1", "prompt", "hello")
	choice := add("openai", "event.name", "gen_ai.choice")
	choice.SetTraceID(pcommon.TraceID{1})
	choice.SetSpanID(pcommon.SpanID{2})
	choice.Body().SetStr(`{"message":{"content":"hi"}}`)
	add("app").Body().SetStr("listening on :8080")
	add("openai", "event.name", "gen_ai.choice")
	return ld
}

func run(t *testing.T, next consumer.Traces) (*componenttest.Telemetry, error) {
	t.Helper()
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.Background())) })
	set := connectortest.NewNopSettings(NewFactory().Type())
	set.TelemetrySettings = tel.NewTelemetrySettings()
	c, err := NewFactory().CreateLogsToTraces(t.Context(), set, createDefaultConfig(), next)
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context(), componenttest.NewNopHost()))
	err = c.ConsumeLogs(t.Context(), someLogs())
	require.NoError(t, c.Shutdown(t.Context()))
	return tel, err
}

func TestRecordsOfAgentsBecomeSpansAndOthersAreCounted(t *testing.T) {
	sink := new(consumertest.TracesSink)
	tel, err := run(t, sink)
	require.NoError(t, err)
	require.Len(t, sink.AllTraces(), 1)
	names := map[string]pcommon.TraceID{}
	for _, rs := range sink.AllTraces()[0].ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			require.Equal(t, "tapedeck.log", ss.Scope().Name())
			for _, span := range ss.Spans().All() {
				names[span.Name()] = span.TraceID()
				require.False(t, span.SpanID().IsEmpty())
			}
		}
	}
	require.Len(t, names, 3)
	require.Equal(t, pcommon.TraceID{1}, names["gen_ai.choice"])
	require.False(t, names["codex.tool_result"].IsEmpty(), "the run of a record without a trace id is its trace")
	require.NotEqual(t, names["codex.tool_result"], names["claude_code.user_prompt"])
	metadatatest.AssertEqualConnectorGenailogsPassedRecords(t, tel, points(3), metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualConnectorGenailogsLeftOutRecords(t, tel, points(3), metricdatatest.IgnoreTimestamp())
}

func TestARefusalReachesTheSender(t *testing.T) {
	refused := errors.New("full")
	_, err := run(t, consumertest.NewErr(refused))
	require.ErrorIs(t, err, refused)
}

func TestTheSameRecordIsTheSameSpan(t *testing.T) {
	sink := new(consumertest.TracesSink)
	_, err := run(t, sink)
	require.NoError(t, err)
	_, err = run(t, sink)
	require.NoError(t, err)
	require.Equal(t, sink.AllTraces()[0], sink.AllTraces()[1])
}

func points(n int64) []metricdata.DataPoint[int64] { return []metricdata.DataPoint[int64]{{Value: n}} }
