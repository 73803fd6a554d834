// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracleextension

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/tapedeck/tapedeck/extension/oracleextension/internal/metadata"
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

func TestConfigDefaultsListenOnLoopback(t *testing.T) {
	cfg, err := load(t, "")
	require.NoError(t, err)
	require.Equal(t, "file:///var/lib/tapes", cfg.Deck)
	require.Equal(t, "localhost:8321", cfg.HTTP.NetAddr.Endpoint)
	require.True(t, cfg.private())
	require.EqualValues(t, 8<<20, cfg.HTTP.MaxRequestBodySize)
	require.Equal(t, 24*time.Hour, cfg.SessionAge)
	require.Zero(t, cfg.Speed)
}

func TestConfigTakesEveryOption(t *testing.T) {
	cfg, err := load(t, "all")
	require.NoError(t, err)
	require.Equal(t, "s3://bucket/prefix?region=eu-central-1", cfg.Deck)
	require.Equal(t, "acme", cfg.Tenant)
	require.Equal(t, "0.0.0.0:8321", cfg.HTTP.NetAddr.Endpoint)
	require.True(t, cfg.HTTP.Auth.HasValue())
	require.Equal(t, "server.pem", cfg.HTTP.TLS.Get().CertFile)
	require.EqualValues(t, 1<<20, cfg.HTTP.MaxRequestBodySize)
	require.Equal(t, "rules.yaml", cfg.Rules)
	require.Equal(t, []string{"tools.json"}, cfg.Tools)
	require.Equal(t, []string{"clock"}, cfg.Live)
	require.Equal(t, []string{"pay"}, cfg.Refuse)
	require.Equal(t, KeyConfig{Env: "TAPEDECK_REDACTION_KEY", Scope: "acme"}, cfg.RedactionKey)
	require.EqualValues(t, 10, cfg.Speed)
	require.Equal(t, 10, cfg.MaxSessions)
	require.Equal(t, 100, cfg.MaxCalls)
	require.Equal(t, time.Hour, cfg.SessionAge)

	_, err = load(t, "client_certificates")
	require.NoError(t, err)
}

func TestConfigErrorsNameTheSettingAndNoSecret(t *testing.T) {
	for name, want := range map[string]string{
		"open":      "refused to listen beyond loopback without a token",
		"open_tls":  "refused to listen beyond loopback without a token",
		"cors":      "cors is not available",
		"no_deck":   "deck is required",
		"no_scheme": "deck has no scheme",
		"no_url":    "deck is not a URL",
		"negative":  "speed must not be negative",
		"two_keys":  "a file or env, not both",
		"zero":      "must be positive",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, name)
			require.ErrorContains(t, err, want)
			require.False(t, strings.Contains(err.Error(), "secret"), "the error repeats the URL")
		})
	}
}

func TestConfigRefusesNumbersThatOverflow(t *testing.T) {
	require.Subset(t, configchecktest.Overflow(t, createDefaultConfig), []string{"max_sessions", "session_age", "speed", "read_timeout"})
}
