// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genailogsconnector // import "github.com/tapedeck/tapedeck/connector/genailogsconnector"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"

	"github.com/tapedeck/tapedeck/connector/genailogsconnector/internal/metadata"
)

// NewFactory returns the factory of the genailogs connector.
func NewFactory() connector.Factory {
	return connector.NewFactory(metadata.Type, createDefaultConfig, connector.WithLogsToTraces(createLogsToTraces, metadata.LogsToTracesStability))
}

func createLogsToTraces(_ context.Context, set connector.Settings, cfg component.Config, next consumer.Traces) (connector.Logs, error) {
	return newLogsToTraces(set, cfg.(*Config), next)
}
