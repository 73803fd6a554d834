// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaytagprocessor // import "github.com/tapedeck/tapedeck/processor/replaytagprocessor"

import (
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck"
)

// Config is the user's settings of the replaytag processor.
type Config struct {
	// Key is the resource attribute that is written.
	Key string `mapstructure:"key"`
	// Rules are tried in order; the first one that has an id for a resource tags it.
	Rules []Rule `mapstructure:"rules"`
}

// Rule says which resources are tagged, and with what.
type Rule struct {
	// Services limits the rule to resources with one of these values of service.name; none: all resources.
	Services []string `mapstructure:"services"`
	// ReplayRunID is the id, or
	ReplayRunID string `mapstructure:"replay_run_id"`
	// FromMetadata is the key of the client metadata (a header of the request) that holds it. The receiver needs include_metadata.
	FromMetadata string `mapstructure:"from_metadata"`
}

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

func createDefaultConfig() component.Config { return &Config{Key: segregation.Key} }

// Unmarshal refuses numbers that a setting cannot hold.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// Validate reports every setting that cannot work.
func (c *Config) Validate() error {
	var errs []error
	if _, err := segregation.New([]string{c.Key}, nil); err != nil {
		errs = append(errs, fmt.Errorf("key: %w", err))
	}
	if len(c.Rules) == 0 {
		errs = append(errs, errors.New("rules has no rule"))
	}
	for i, r := range c.Rules {
		if (r.ReplayRunID == "") == (r.FromMetadata == "") {
			errs = append(errs, fmt.Errorf("rules::%d needs either replay_run_id or from_metadata", i))
		}
		if slices.Contains(r.Services, "") {
			errs = append(errs, fmt.Errorf("rules::%d names an empty service", i))
		}
	}
	return errors.Join(errs...)
}
