// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck/configchecktest"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadata"
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

func TestDefaultConfigIsValid(t *testing.T) {
	cfg, err := load(t, "")
	require.NoError(t, err)
	require.Equal(t, createDefaultConfig(), cfg)
}

func TestConfigTakesEveryOption(t *testing.T) {
	got, err := load(t, "all")
	require.NoError(t, err)
	want := &Config{
		NonAgent:  "drop",
		Tenant:    TenantConfig{From: "metadata", Key: "x-tenant", Default: "nobody"},
		Redaction: "none",
		Replay:    segregation.Config{Keys: []string{"eval.run"}, Markers: []segregation.Marker{{Key: "is_eval"}}},
		Rootless:  "production",

		QuietPeriod: time.Second, IdleTimeout: 2 * time.Minute, MaxAge: 30 * time.Minute,
		MaxTraceBytes: 1000, MaxTraceSpans: 2000, MaxTraces: 3000, MaxMemoryBytes: 4000,
		Spool: SpoolConfig{
			Directory: "/var/lib/otelcol/agentrun", MaxBytes: 100_000_000,
			Sync: "interval", SyncInterval: time.Second, Compression: "zstd",
		},

		EmitConcurrency: 5,
		EmitTimeout:     3 * time.Minute,
		Retry: RetryConfig{
			InitialInterval: 100 * time.Millisecond, MaxInterval: 10 * time.Second,
			ParkAfter: 20 * time.Minute, ParkedInterval: 2 * time.Hour,
		},
		OnShutdown:      "emit",
		ShutdownTimeout: 5 * time.Second,
		StatusEndpoint:  "localhost:13190",
	}
	require.Empty(t, cmp.Diff(want, got))
}

func TestConfigTakesTheTenantFromAResource(t *testing.T) {
	cfg, err := load(t, "tenant_of_resource")
	require.NoError(t, err)
	require.Equal(t, TenantConfig{From: "resource", Key: "service.namespace", Default: "default"}, cfg.Tenant)
}

func TestSpoolParksAtShutdownUnlessToldToEmit(t *testing.T) {
	for name, want := range map[string]bool{"": false, "spool": true, "all": false} {
		cfg, err := load(t, name)
		require.NoError(t, err)
		require.Equal(t, want, cfg.parks(), name)
	}
}

func TestConfigErrorsNameTheSetting(t *testing.T) {
	for name, want := range map[string]string{
		"non_agent":                  "non_agent must be",
		"redaction":                  "redaction must be",
		"rootless":                   "rootless must be",
		"replay":                     "replay: keys: an empty key",
		"tenant_without_key":         "tenant: from: resource needs a key",
		"tenant_with_key_of_nothing": "is given, but from is",
		"tenant_from_nowhere":        "tenant: from must be",
		"tenant_reserved":            "reserved namespace",
		"tenant_without_default":     "tenant: default must not be empty",
		"quiet_longer_than_idle":     "quiet_period (10m0s) must not exceed idle_timeout",
		"idle_longer_than_age":       "idle_timeout (2h0m0s) must not exceed max_age",
		"zero":                       "quiet_period must be positive",
		"no_concurrency":             "emit_concurrency must be positive",
		"negative":                   "max_traces must be positive",
		"backoff":                    "must not exceed retry_on_failure::max_interval",
		"one_trace_larger_than_all":  "must not exceed max_memory_bytes",
		"park_without_spool":         "park needs a spool::directory",
		"shutdown":                   "on_shutdown must be",
		"spool_small":                "spool: max_bytes must be at least",
		"spool_sync":                 "spool: sync must be one of",
		"spool_interval":             "spool: sync_interval must be positive",
		"spool_compression":          "spool: compression must be one of",
		"status":                     "status_endpoint: address localhost: missing port",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, name)
			require.ErrorContains(t, err, want)
		})
	}
}

func TestDefaultTenantIsBoundedLikeOthers(t *testing.T) {
	c := createDefaultConfig().(*Config)
	c.Tenant.Default = strings.Repeat("t", maxTenantBytes)
	require.NoError(t, c.Validate())
	c.Tenant.Default += "t"
	require.ErrorContains(t, c.Validate(), "tenant: default has 257 bytes")
}

func TestConfigRefusesNumbersThatOverflow(t *testing.T) {
	require.Subset(t, configchecktest.Overflow(t, createDefaultConfig), []string{"max_traces", "idle_timeout", "spool::max_bytes", "retry_on_failure::park_after"})
}
