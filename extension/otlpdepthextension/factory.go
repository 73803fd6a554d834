// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpdepthextension // import "github.com/tapedeck/tapedeck/extension/otlpdepthextension"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"

	"github.com/tapedeck/tapedeck/extension/otlpdepthextension/internal/metadata"
)

// Config has no settings: the bound follows from that of the decoder of OTLP/protobuf.
type Config struct{}

// NewFactory returns the factory of the extension.
func NewFactory() extension.Factory {
	return extension.NewFactory(metadata.Type, func() component.Config { return &Config{} }, create, metadata.ExtensionStability)
}

func create(_ context.Context, set extension.Settings, _ component.Config) (extension.Extension, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	return &depth{telemetry: telemetry}, nil
}
