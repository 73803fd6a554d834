// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentredactionprocessor

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck/configchecktest"
	"github.com/tapedeck/tapedeck/processor/agentredactionprocessor/internal/metadata"
)

func load(t *testing.T, name string) (*Config, error) {
	t.Helper()
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	sub, err := conf.Sub(component.NewIDWithName(metadata.Type, name).String())
	require.NoError(t, err)
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, sub.Unmarshal(cfg))
	return cfg, cfg.Validate()
}

func TestConfigTakesEveryOption(t *testing.T) {
	t.Setenv("TAPEDECK_TEST_REDACTION_KEY", "0123456789abcdefghijklmnopqrstuvwxyz")
	got, err := load(t, "all")
	require.NoError(t, err)
	want := &Config{
		Profile: "strict", Mode: "mask",
		Key:        KeyConfig{Env: "TAPEDECK_TEST_REDACTION_KEY", Scope: "tenant-a"},
		Disable:    []string{"phone", "ip-address"},
		RulesFiles: []string{"testdata/rules.yaml"},
		Rules: []redact.UserRule{
			{Name: "employee-number", Pattern: `EMP-(\d{6})`, Allow: []string{"000000"}},
			{Name: "customer-name", Paths: []string{"$..customer.name"}, Keys: []string{"*.customer_name"}},
		},
		SecretKeys: []string{"x-corp-auth"},
		Allow: redact.Allow{
			Values: []string{"support@example.com"}, Patterns: []string{`test-[0-9]+@example\.com`}, Paths: []string{`$["http.route"]`},
		},
	}
	require.Empty(t, cmp.Diff(want, got))
}

func TestConfigOfAKeyAlone(t *testing.T) {
	cfg, err := load(t, "")
	require.NoError(t, err)
	require.Equal(t, "default", cfg.Profile)
	cfg, err = load(t, "generated")
	require.NoError(t, err)
	require.Equal(t, "/var/lib/otelcol/redaction", cfg.Key.GenerateIn)
}

func TestConfigErrorsNameTheSetting(t *testing.T) {
	t.Setenv("TAPEDECK_TEST_SHORT_KEY", "short-secret")
	for name, want := range map[string]string{
		"no_key":              "key: needs exactly one of file, env and generate_in, got 0",
		"two_keys":            "got 2",
		"key_not_set":         "the environment variable TAPEDECK_TEST_NO_KEY is not set",
		"key_too_short":       "32",
		"key_file_missing":    "no-such.key",
		"profile":             `policy must be "default" or "strict"`,
		"mode":                `mode must be "token" or "mask"`,
		"unknown_rule":        `"phones" is no rule and no section`,
		"lookaround":          "patterns are RE2, which has no look-around",
		"matches_everything":  "matches the empty text",
		"name_taken":          `the name "email" is that of another rule`,
		"path":                "filters and slices are not supported",
		"no_rules_file":       "testdata/none.yaml",
		"misspelt_rules_file": "field rule not found",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, name)
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "short-secret")
		})
	}
}

func TestConfigRefusesNumbersThatOverflow(t *testing.T) {
	require.Empty(t, configchecktest.Overflow(t, createDefaultConfig))
}
