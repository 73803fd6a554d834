// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
)

// NewFactory returns the factory of the tape exporter.
func NewFactory() exporter.Factory {
	return exporter.NewFactory(metadata.Type, createDefaultConfig, exporter.WithTraces(createTraces, metadata.TracesStability))
}

func createTraces(ctx context.Context, set exporter.Settings, c component.Config) (exporter.Traces, error) {
	cfg := c.(*Config)
	e, err := newTapeExporter(set, cfg)
	if err != nil {
		return nil, err
	}
	return wrap(ctx, set, cfg, e)
}

// wrap adds what exporterhelper does for every exporter: timeout, retry, queue and its metrics. The log of exporterhelper is for exporters
// that drop what they cannot send. It advises a queue at every attempt. This exporter says once a minute what is the matter.
func wrap(ctx context.Context, set exporter.Settings, cfg *Config, e *tapeExporter) (exporter.Traces, error) {
	if !cfg.Queue.HasValue() {
		set.Logger = zap.NewNop()
	}
	repeats := cfg.Queue.HasValue() || cfg.Retry.Enabled // td, which must stay as it is then
	push := e.takeTraces
	if repeats {
		push = e.pushTraces
	}
	// Without a queue, what agentrun brings is taken as it is.
	takes := exporterhelper.WithCapabilities(consumer.Capabilities{MutatesData: !cfg.Queue.HasValue()})
	asConfigured, err := exporterhelper.NewTraces(ctx, set, cfg, push,
		exporterhelper.WithStart(e.start),
		exporterhelper.WithShutdown(e.shutdown),
		exporterhelper.WithTimeout(cfg.Timeout),
		exporterhelper.WithRetry(cfg.Retry),
		exporterhelper.WithQueue(cfg.Queue),
		takes,
	)
	if err != nil || cfg.Queue.HasValue() || !cfg.Retry.Enabled {
		return asConfigured, err
	}
	once, err := exporterhelper.NewTraces(ctx, set, cfg, e.takeTraces, exporterhelper.WithTimeout(cfg.Timeout), takes)
	return &traces{asConfigured, once}, err
}

// traces tries once what agentrun brings. The agentrun processor tries again: it keeps the evidence, and lets other traces pass one that fails.
// Traces from elsewhere are repeated here.
type traces struct {
	exporter.Traces
	once exporter.Traces
}

func (t *traces) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	if rs := td.ResourceSpans(); rs.Len() > 0 {
		if handover.ReadRun(rs.At(0).Resource().Attributes()).Assembled() {
			return t.once.ConsumeTraces(ctx, td)
		}
	}
	return t.Traces.ConsumeTraces(ctx, td)
}
