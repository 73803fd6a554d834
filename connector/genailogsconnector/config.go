// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genailogsconnector // import "github.com/tapedeck/tapedeck/connector/genailogsconnector"

import "go.opentelemetry.io/collector/component"

// Config is empty: which records belong to agent runs is known from their event names.
type Config struct{}

var _ component.Config = (*Config)(nil)

func createDefaultConfig() component.Config { return &Config{} }
