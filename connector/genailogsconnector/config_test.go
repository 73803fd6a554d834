// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genailogsconnector

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/tapedeck/tapedeck/connector/genailogsconnector/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/surfaces/configcheck/configchecktest"
)

func TestConfigHasNoSettings(t *testing.T) {
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	sub, err := conf.Sub(component.NewID(metadata.Type).String())
	require.NoError(t, err)
	cfg := createDefaultConfig()
	require.NoError(t, sub.Unmarshal(cfg))
	require.Equal(t, createDefaultConfig(), cfg)
}

func TestConfigRefusesNumbersThatOverflow(t *testing.T) {
	require.Empty(t, configchecktest.Overflow(t, createDefaultConfig))
}
