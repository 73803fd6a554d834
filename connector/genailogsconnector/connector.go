// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genailogsconnector // import "github.com/tapedeck/tapedeck/connector/genailogsconnector"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/connector/genailogsconnector/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// logsToTraces passes the records of agents on as spans, in the call in which they came. It keeps nothing.
type logsToTraces struct {
	component.StartFunc
	component.ShutdownFunc

	next      consumer.Traces
	rules     *segregation.Rules
	telemetry *metadata.TelemetryBuilder
}

func newLogsToTraces(set connector.Settings, cfg *Config, next consumer.Traces) (*logsToTraces, error) {
	rules, err := cfg.Replay.Rules()
	if err != nil {
		return nil, err
	}
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &logsToTraces{next: next, rules: rules, telemetry: telemetry}, nil
}

// Capabilities says that the records are left as they are: their content is copied.
func (c *logsToTraces) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: false}
}

// ConsumeLogs returns what the next component returns, so that a refusal reaches the sender.
func (c *logsToTraces) ConsumeLogs(ctx context.Context, ld plog.Logs) error {
	td := evidence.LogsToTraces(ld, c.rules)
	passed := 0
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			if ss.Scope().Name() == genai.LogScope { // the rest are notes
				passed += ss.Spans().Len()
			}
		}
	}
	if td.SpanCount() > 0 {
		if err := c.next.ConsumeTraces(ctx, td); err != nil {
			return err
		}
	}
	c.telemetry.ConnectorGenailogsPassedRecords.Add(ctx, int64(passed))
	c.telemetry.ConnectorGenailogsLeftOutRecords.Add(ctx, int64(ld.LogRecordCount()-passed))
	return nil
}
