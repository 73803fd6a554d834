// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genailogsconnector // import "github.com/tapedeck/tapedeck/connector/genailogsconnector"

import (
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck"
)

// Config is the user's settings of the genailogs connector. Event names tell which records belong to agent runs.
type Config struct {
	// Replay says what tells replays from production: a record that belongs to no run may say it of its trace.
	Replay segregation.Config `mapstructure:"replay"`
}

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

func createDefaultConfig() component.Config { return &Config{} }

// Unmarshal refuses numbers that a setting cannot hold.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// Validate reports keys that cannot work.
func (c *Config) Validate() error {
	if _, err := c.Replay.Rules(); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	return nil
}
