// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentredactionprocessor // import "github.com/tapedeck/tapedeck/processor/agentredactionprocessor"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"

	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/processor/agentredactionprocessor/internal/metadata"
)

// NewFactory returns the factory of the agentredaction processor.
func NewFactory() processor.Factory {
	return processor.NewFactory(metadata.Type, createDefaultConfig,
		processor.WithTraces(createTraces, metadata.TracesStability),
		processor.WithLogs(createLogs, metadata.LogsStability),
		processor.WithMetrics(createMetrics, metadata.MetricsStability))
}

func createTraces(_ context.Context, set processor.Settings, cfg component.Config, next consumer.Traces) (processor.Traces, error) {
	p, err := newAgentRedaction(set, cfg.(*Config))
	if err == nil {
		p.withdraw = redact.Announce()
	}
	return &traces{p, next}, err
}

func createLogs(_ context.Context, set processor.Settings, cfg component.Config, next consumer.Logs) (processor.Logs, error) {
	p, err := newAgentRedaction(set, cfg.(*Config))
	return &logs{p, next}, err
}

func createMetrics(_ context.Context, set processor.Settings, cfg component.Config, next consumer.Metrics) (processor.Metrics, error) {
	p, err := newAgentRedaction(set, cfg.(*Config))
	return &metrics{p, next}, err
}
