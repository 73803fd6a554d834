// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter/internal/metadata"
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

// wrap adds what exporterhelper does for every exporter: timeout, retry, queue and its metrics.
func wrap(ctx context.Context, set exporter.Settings, cfg *Config, e *tapeExporter) (exporter.Traces, error) {
	return exporterhelper.NewTraces(ctx, set, cfg, e.pushTraces,
		exporterhelper.WithStart(e.start),
		exporterhelper.WithShutdown(e.shutdown),
		exporterhelper.WithTimeout(cfg.Timeout),
		exporterhelper.WithRetry(cfg.Retry),
		exporterhelper.WithQueue(cfg.Queue),
	)
}
