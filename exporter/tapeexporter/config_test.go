// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/deck/keep"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck/configchecktest"
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

func TestConfigDefaultsWaitForTheStoreWithoutEnd(t *testing.T) {
	cfg, err := load(t, "")
	require.NoError(t, err)
	require.Equal(t, "file:///var/lib/tapes", cfg.Deck)
	require.Equal(t, []string{"tape", "oracle"}, cfg.Formats)
	require.Equal(t, "none", cfg.Compression)
	require.Equal(t, time.Minute, cfg.Timeout.Timeout)
	require.True(t, cfg.Retry.Enabled)
	require.Zero(t, cfg.Retry.MaxElapsedTime)
	require.False(t, cfg.Queue.HasValue())
	require.False(t, cfg.Keep.HasValue())
}

func TestConfigTakesEveryOption(t *testing.T) {
	cfg, err := load(t, "all")
	require.NoError(t, err)
	require.Equal(t, "s3://bucket/prefix?region=eu-central-1", cfg.Deck)
	require.Equal(t, []string{"tape", "waza"}, cfg.Formats)
	require.Equal(t, "zstd", cfg.Compression)
	require.Equal(t, "production", cfg.Accept)
	require.Equal(t, []string{"replay_run_id", "experiment.id"}, cfg.Replay.Keys)
	require.Equal(t, []segregation.Marker{{Key: "deployment.environment.name", Values: []string{"evaluation"}}}, cfg.Replay.Markers)
	require.Equal(t, "on", cfg.Gate)
	require.True(t, cfg.AllowBatch)
	require.Equal(t, GateProfile{
		Disable: []string{"ip-address"}, RulesFiles: []string{"testdata/rules.yaml"}, Allow: redact.Allow{Values: []string{"support@example.com"}},
	}, cfg.GateProfile)
	require.Equal(t, BoundsConfig{1_000_000, 2000, 30}, cfg.Bounds)
	require.Equal(t, &keep.Config{
		Errors: true, Grades: []string{"partial", "inspect"}, Findings: []string{"result_disputed"}, Verdicts: []string{"correctness<0.5"}, Agents: []string{"billing", "triage-*"}, SlowerThan: 30 * time.Second, Percent: 2.5,
	}, cfg.Keep.Get())
	require.Equal(t, 20*time.Second, cfg.Timeout.Timeout)
	require.Equal(t, time.Second, cfg.Retry.InitialInterval)
	require.Equal(t, 0.25, cfg.Retry.RandomizationFactor)
	require.Equal(t, 2.0, cfg.Retry.Multiplier)
	require.Equal(t, 10*time.Second, cfg.Retry.MaxInterval)
	require.Equal(t, 10*time.Minute, cfg.Retry.MaxElapsedTime)
}

func TestConfigSwitchesRetryOff(t *testing.T) {
	cfg, err := load(t, "no_retry")
	require.NoError(t, err)
	require.False(t, cfg.Retry.Enabled)
}

func TestConfiguredQueueWaitsForItsResult(t *testing.T) {
	cfg, err := load(t, "queue")
	require.NoError(t, err)
	require.True(t, cfg.Queue.HasValue())
	q := cfg.Queue.Get()
	require.EqualValues(t, 10, q.QueueSize)
	require.True(t, q.WaitForResult)
	require.True(t, q.BlockOnOverflow)
	require.False(t, q.Batch.HasValue())
}

func TestConfigErrorsNameTheSettingAndNoSecret(t *testing.T) {
	for name, want := range map[string]string{
		"no_deck":               "deck is required",
		"no_scheme":             "deck has no scheme",
		"no_url":                "deck is not a URL",
		"ftp":                   "no driver for this scheme in this program (it has file, mem, s3)",
		"not_linked":            "otelcol-tapedeck-full has one",
		"misspelt_option":       `unknown option "endpoit" (known: endpoint`,
		"password":              "credentials do not belong in a deck URL",
		"one_slash":             "deck has no scheme",
		"no_tape":               "formats must contain",
		"unknown_format":        `unknown format "vhs"`,
		"twice":                 "listed twice",
		"gate_maybe":            "gate must be",
		"gate_off_with_profile": "but gate is off",
		"gate_unknown_rule":     "no-such-rule",
		"gate_no_rules_file":    "none.yaml",
		"bounds":                "max_parts must be at least 1",
		"compression":           `compression must be none or zstd, got "gzip"`,
		"keep":                  `keep: grades: unknown grade "poor", known: offline, tools, model, partial, inspect`,
		"keep_nothing":          "keep: no runs are named",
		"side":                  `accept must be production, replay, undecided or empty, got "everything"`,
		"queue_of_items":        "sending_queue::sizer must be requests or bytes",
		"keys":                  "replay: keys: \"tapedeck.run.key\" lies in the reserved namespace",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, name)
			require.ErrorContains(t, err, want)
			require.False(t, strings.Contains(err.Error(), "secret"), "the error repeats the URL")
		})
	}
}

func TestConfigRefusesNumbersThatOverflow(t *testing.T) {
	require.Subset(t, configchecktest.Overflow(t, createDefaultConfig), []string{"bounds::max_items", "timeout", "retry_on_failure::max_interval", "sending_queue::queue_size"})
}
