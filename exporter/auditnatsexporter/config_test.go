// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package auditnatsexporter

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/tapedeck/tapedeck/exporter/auditnatsexporter/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
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

func TestConfigDefaultsKeepEverySideApartAndWaitWithoutEnd(t *testing.T) {
	cfg, err := load(t, "")
	require.NoError(t, err)
	require.Equal(t, "auditEvent", cfg.Subject)
	require.Equal(t, "replayEvent", cfg.ReplaySubject)
	require.True(t, cfg.Retry.Enabled)
	require.Zero(t, cfg.Retry.MaxElapsedTime)
	require.False(t, cfg.Queue.HasValue())
	require.False(t, cfg.TLS.HasValue())
}

func TestConfigTakesEveryOption(t *testing.T) {
	cfg, err := load(t, "all")
	require.NoError(t, err)
	require.Equal(t, []string{"tls://a:4222", "tls://b:4222"}, cfg.Servers)
	require.Equal(t, "audit.production", cfg.Subject)
	require.Equal(t, "audit.replay", cfg.ReplaySubject)
	require.Equal(t, "audit.subject", cfg.SubjectAttribute)
	require.Equal(t, []string{"audit.security"}, cfg.AllowedSubjects)
	require.Equal(t, "AUDIT", cfg.Stream)
	require.Equal(t, segregation.Config{Keys: []string{"replay_run_id", "experiment.id"}, Markers: []segregation.Marker{{Key: "is_evaluation"}}}, cfg.Tags)
	require.EqualValues(t, 1000, cfg.MaxOutstandingBytes)
	require.Equal(t, AuthConfig{Username: "tapedeck", Password: "secret"}, cfg.Auth)
	require.Equal(t, "ca.pem", cfg.TLS.Get().CAFile)
	require.Equal(t, 5*time.Second, cfg.Timeout.Timeout)
	require.Equal(t, time.Hour, cfg.Retry.MaxElapsedTime)
	require.EqualValues(t, 10, cfg.Queue.Get().QueueSize)
	require.True(t, cfg.Queue.Get().WaitForResult)
}

func TestConfigTakesAQueueThatKeepsTheOrder(t *testing.T) {
	_, err := load(t, "queue")
	require.NoError(t, err)
}

func TestConfigErrorsNameTheSettingAndNoSecret(t *testing.T) {
	for name, want := range map[string]string{
		"no_servers":  "servers is required",
		"credentials": "servers::0 holds credentials",
		"no_url":      "servers::0 is not a URL",
		"scheme":      "servers::0 is not of the form",
		"same":        "subject and replay_subject are the same",
		"wildcard":    `subject "audit.>" is not a subject to publish under`,
		"choice":      "allowed_subjects has the replay_subject",
		"any_choice":  "subject_attribute and allowed_subjects need each other",
		"bytes":       "max_outstanding_bytes must be positive",
		"two_ways":    "more than one way to log in",
		"password":    "password without a username",
		"keys":        "keys: an empty key",
		"overtakes":   "num_consumers must be 1",
	} {
		_, err := load(t, name)
		require.ErrorContains(t, err, want, name)
		require.NotContains(t, err.Error(), "secret", name)
	}
}

func TestConfigRefusesNumbersThatOverflow(t *testing.T) {
	require.Subset(t, configchecktest.Overflow(t, createDefaultConfig), []string{"max_outstanding_bytes", "timeout", "tls::reload_interval"})
}
