// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/pipeline"

	"github.com/tapedeck/tapedeck/connector/replaysplitconnector/internal/metadata"
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

func ids(names ...string) (list []pipeline.ID) {
	for _, name := range names {
		var id pipeline.ID
		if err := id.UnmarshalText([]byte(name)); err != nil {
			panic(err)
		}
		list = append(list, id)
	}
	return list
}

func TestConfigDefaults(t *testing.T) {
	cfg, err := load(t, "")
	require.NoError(t, err)
	want := &Config{Production: ids("traces/production"), Replay: ids("traces/replay"), DecideBy: "run", Remember: 100_000}
	require.Empty(t, cmp.Diff(want, cfg, cmp.Comparer(func(a, b pipeline.ID) bool { return a == b })))
}

func TestConfigTakesEveryOption(t *testing.T) {
	cfg, err := load(t, "all")
	require.NoError(t, err)
	storage := component.MustNewIDWithName("file_storage", "replays")
	want := &Config{
		Production: ids("traces/production", "logs/production", "metrics/production"),
		Replay:     ids("traces/replay", "logs/replay", "metrics/replay"),
		Undecided:  ids("traces/undecided"),
		Tags: segregation.Config{
			Keys:    []string{"replay_run_id", "experiment.id"},
			Markers: []segregation.Marker{{Key: "deployment.environment.name", Values: []string{"evaluation", "shadow"}}, {Key: "is_evaluation"}},
		},
		DecideBy: "resource", Remember: 1000, Storage: &storage,
	}
	require.Empty(t, cmp.Diff(want, cfg, cmp.Comparer(func(a, b pipeline.ID) bool { return a == b }),
		cmp.Comparer(func(a, b component.ID) bool { return a == b })))
}

func TestConfigErrorsNameTheSetting(t *testing.T) {
	for name, want := range map[string]string{
		"no_production":     "production_pipelines names no pipeline",
		"no_replay":         "replay_pipelines names no pipeline",
		"meeting":           `pipeline "traces/one" is named under production_pipelines and under replay_pipelines`,
		"meeting_undecided": `pipeline "traces/one" is named under production_pipelines and under undecided_pipelines`,
		"twice":             `production_pipelines names pipeline "traces/one" twice`,
		"decide_by":         `decide_by must be "run" or "resource", got "span"`,
		"remember":          "remember must be positive, got -1",
		"keys":              "keys: an empty key",
	} {
		_, err := load(t, name)
		require.ErrorContains(t, err, want, name)
	}
}

func TestConfigRefusesNumbersThatOverflow(t *testing.T) {
	require.Subset(t, configchecktest.Overflow(t, createDefaultConfig), []string{"remember"})
}
