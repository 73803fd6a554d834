// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentredactionprocessor // import "github.com/tapedeck/tapedeck/processor/agentredactionprocessor"

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck"
)

// Config is the user's settings of the agentredaction processor.
type Config struct {
	// Profile is "default" or "strict".
	Profile string `mapstructure:"profile"`
	// Mode is "token", or "mask" for a plain [REDACTED].
	Mode string `mapstructure:"mode"`
	// Key is where the key of the tokens comes from; exactly one source.
	Key KeyConfig `mapstructure:"key"`
	// Disable names rules or sections (gitleaks, vendor, credentials, pii) that do not run.
	Disable []string `mapstructure:"disable"`
	// RulesFiles are read in this order; the redaction files of waza have the same form.
	RulesFiles []string `mapstructure:"redaction_rules_files"`
	// Rules are further rules.
	Rules []redact.UserRule `mapstructure:"redaction_rules"`
	// SecretKeys are further names whose values are secret.
	SecretKeys []string `mapstructure:"secret_keys"`
	// Allow is what no rule touches.
	Allow redact.Allow `mapstructure:"allow"`
}

// KeyConfig names the source of the key. The key itself never stands in the configuration, which collectors print.
type KeyConfig struct {
	// File holds a key of at least 32 bytes.
	File string `mapstructure:"file"`
	// Env is the name of an environment variable that holds one.
	Env string `mapstructure:"env"`
	// GenerateIn is a folder on this node: a key is made in it on first use. For a single collector only.
	GenerateIn string `mapstructure:"generate_in"`
	// Scope separates tokens: equal values have different tokens in different scopes.
	Scope string `mapstructure:"scope"`
}

var (
	_ component.Config    = (*Config)(nil)
	_ confmap.Unmarshaler = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	return &Config{Profile: redact.PolicyDefault, Mode: string(redact.ModeToken)}
}

// Unmarshal refuses numbers that a setting cannot hold.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return configcheck.Unmarshal(conf, c) }

// Validate reports every setting that cannot work.
func (c *Config) Validate() error {
	var errs []error
	sources := 0
	for _, s := range []string{c.Key.File, c.Key.Env, c.Key.GenerateIn} {
		if s != "" {
			sources++
		}
	}
	if sources != 1 {
		errs = append(errs, fmt.Errorf("key: needs exactly one of file, env and generate_in, got %d", sources))
	} else if c.Key.GenerateIn == "" { // that one is made at the start
		if _, err := c.Key.load(); err != nil {
			errs = append(errs, err)
		}
	}
	p, err := c.profile()
	if err != nil {
		errs = append(errs, err)
	} else if _, err := redact.New(p); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// profile is what the settings say, without the key.
func (c *Config) profile() (redact.Profile, error) {
	p := redact.Profile{
		Policy: c.Profile, Mode: redact.Mode(c.Mode), Disable: c.Disable, Rules: c.Rules, SecretKeys: c.SecretKeys, Allow: c.Allow,
	}
	for _, file := range c.RulesFiles {
		var err error
		if p, err = p.Read(file); err != nil {
			return p, err
		}
	}
	return p, nil
}

// load reads the key.
func (c *KeyConfig) load() (*redact.Key, error) {
	switch {
	case c.File != "":
		return redact.KeyFromFile(c.File, c.Scope)
	case c.Env != "":
		return redact.KeyFromEnv(c.Env, c.Scope)
	default:
		return redact.GeneratedKey(c.GenerateIn, c.Scope)
	}
}
