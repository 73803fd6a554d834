// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector // import "github.com/tapedeck/tapedeck/connector/replaysplitconnector"

import (
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/pipeline"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck"
)

// Values of the setting that says by what spans are decided.
const (
	byRun      = "run"
	byResource = "resource"
)

// Config is the user's settings of the replaysplit connector.
type Config struct {
	// Production, Replay and Undecided are the pipelines of each side, of all signals. Without undecided pipelines of a signal, what is undecided
	// goes to its replay pipelines.
	Production []pipeline.ID `mapstructure:"production_pipelines"`
	Replay     []pipeline.ID `mapstructure:"replay_pipelines"`
	Undecided  []pipeline.ID `mapstructure:"undecided_pipelines"`

	// Tags say what tells replays from production.
	Tags segregation.Config `mapstructure:"replay"`
	// DecideBy is "run" (behind an agentrun processor) or "resource".
	DecideBy string `mapstructure:"decide_by"`
	// Remember is of how many runs it is remembered where they went.
	Remember int `mapstructure:"remember"`
	// Storage is the extension that keeps the memory of replays over a restart.
	Storage *component.ID `mapstructure:"storage"`
}

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	// About 50 bytes for each run: 5 MB when full.
	return &Config{DecideBy: byRun, Remember: 100_000}
}

// Unmarshal refuses numbers that a setting cannot hold.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// Validate reports every setting that cannot work. It does not check that the pipelines exist: that is known when the connector
// is built.
func (c *Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Production) == 0 {
		fail("production_pipelines names no pipeline")
	}
	if len(c.Replay) == 0 {
		fail("replay_pipelines names no pipeline")
	}
	for name, list := range map[string][]pipeline.ID{"production_pipelines": c.Production, "replay_pipelines": c.Replay, "undecided_pipelines": c.Undecided} {
		for i, id := range list {
			if slices.Contains(list[:i], id) {
				fail("%s names pipeline %q twice", name, id)
			}
			if name != "production_pipelines" && slices.Contains(c.Production, id) {
				fail("pipeline %q is named under production_pipelines and under %s: what must not meet would meet there", id, name)
			}
		}
	}
	if c.DecideBy != byRun && c.DecideBy != byResource {
		fail("decide_by must be %q or %q, got %q", byRun, byResource, c.DecideBy)
	}
	if c.Remember <= 0 {
		fail("remember must be positive, got %d", c.Remember)
	}
	if _, err := c.Tags.Rules(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
