// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package segregation

// Config is how rules stand in the configuration of a component.
type Config struct {
	// Keys are the attributes that tag a replay; none: [Key].
	Keys []string `mapstructure:"keys"`
	// Markers are attributes that say "evaluation" without naming a replay.
	Markers []Marker `mapstructure:"markers"`
}

// Rules returns the rules, or what is wrong with the configuration.
func (c Config) Rules() (*Rules, error) { return New(c.Keys, c.Markers) }
