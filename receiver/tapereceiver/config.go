// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapereceiver // import "github.com/tapedeck/tapedeck/receiver/tapereceiver"

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel/filter"
)

// Config is the user's settings of the tape receiver.
type Config struct {
	// Deck is the URL of the deck, such as file:///var/lib/tapes or s3://bucket/prefix.
	Deck string `mapstructure:"deck"`
	// Area is runs, replays or undecided.
	Area string `mapstructure:"area"`
	// Tenant takes the runs of one tenant; empty: of all.
	Tenant string `mapstructure:"tenant"`
	// Is, Where, Since and Until are the filters of `tapedeck ls`.
	Is    []string `mapstructure:"is"`
	Where string   `mapstructure:"where"`
	Since string   `mapstructure:"since"`
	Until string   `mapstructure:"until"`
	// Runs are ids of runs or traces; empty: all that the filters take.
	Runs []string `mapstructure:"runs"`
	// Watch lists the deck again after this long, for what is new; 0 lists it once.
	Watch time.Duration `mapstructure:"watch"`

	// Timestamps are original, shifted (by Shift) or now (each run starts when it is emitted).
	Timestamps string        `mapstructure:"timestamps"`
	Shift      time.Duration `mapstructure:"shift"`
	// TracesPerSecond bounds how fast traces are emitted; 0 is as fast as they are taken.
	TracesPerSecond float64 `mapstructure:"traces_per_second"`

	// Mark says how what is emitted is told from what it was: attribute, replay (a tag with ReplayRunID) or none.
	Mark        string `mapstructure:"mark"`
	ReplayRunID string `mapstructure:"replay_run_id"`
	// TenantKey is the key of the client metadata that holds the tenant.
	TenantKey string `mapstructure:"tenant_key"`

	// Storage is the extension that remembers what was emitted, over restarts.
	Storage *component.ID `mapstructure:"storage"`
}

// What Config can say.
const (
	original, shifted, nowStarting = "original", "shifted", "now"
	byAttribute, asReplay, byNone  = "attribute", "replay", "none"
)

var _ component.Config = (*Config)(nil)

func createDefaultConfig() component.Config {
	return &Config{Area: string(deck.AreaRuns), Timestamps: original, Mark: byAttribute, TenantKey: "x-tapedeck-tenant"}
}

// filter reads the filters; ages count from now.
func (c *Config) filter(now time.Time) (*filter.Filter, error) {
	f := &filter.Filter{Is: c.Is, Where: c.Where, Since: c.Since, Until: c.Until, Area: c.Area, Tenant: c.Tenant}
	if err := f.Check(now); err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "--")) // the option has the name of the flag
	}
	return f, nil
}

// Validate implements component.Config.
func (c *Config) Validate() error {
	var errs []error
	if c.Deck == "" {
		errs = append(errs, errors.New("deck is required"))
	}
	if areas := []string{string(deck.AreaRuns), string(deck.AreaReplays), string(deck.AreaUndecided)}; !slices.Contains(areas, c.Area) {
		errs = append(errs, fmt.Errorf("area must be one of %s, not %q: what is joined has no evidence of its own", strings.Join(areas, ", "), c.Area))
	} else if _, err := c.filter(time.Now()); err != nil {
		errs = append(errs, err)
	}
	if !slices.Contains([]string{original, shifted, nowStarting}, c.Timestamps) {
		errs = append(errs, fmt.Errorf("timestamps must be original, shifted or now, not %q", c.Timestamps))
	}
	if (c.Timestamps == shifted) != (c.Shift != 0) {
		errs = append(errs, errors.New("shift and timestamps: shifted belong together"))
	}
	if c.Watch < 0 || c.TracesPerSecond < 0 {
		errs = append(errs, errors.New("watch and traces_per_second must not be negative"))
	}
	if !slices.Contains([]string{byAttribute, asReplay, byNone}, c.Mark) {
		errs = append(errs, fmt.Errorf("mark must be attribute, replay or none, not %q", c.Mark))
	}
	if (c.Mark == asReplay) != (c.ReplayRunID != "") {
		errs = append(errs, errors.New("replay_run_id and mark: replay belong together"))
	}
	if c.TenantKey == "" {
		errs = append(errs, errors.New("tenant_key must not be empty"))
	}
	return errors.Join(errs...)
}
