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
	// Tags are tried in order; the first one that has an id for a resource tags it.
	Tags []Tag `mapstructure:"tags"`
}

// Tag says which resources are tagged, and with what.
type Tag struct {
	// Services limits the tag to resources with one of these values of service.name; none: all resources.
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
	if len(c.Tags) == 0 {
		errs = append(errs, errors.New("tags is empty"))
	}
	for i, r := range c.Tags {
		if (r.ReplayRunID == "") == (r.FromMetadata == "") {
			errs = append(errs, fmt.Errorf("tags::%d needs either replay_run_id or from_metadata", i))
		}
		if slices.Contains(r.Services, "") {
			errs = append(errs, fmt.Errorf("tags::%d names an empty service", i))
		}
	}
	return errors.Join(errs...)
}
