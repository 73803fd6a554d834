// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
)

// strangersManifest is a collector that somebody else builds: their receiver and extension, and our components. ROOT is
// the checkout, because path stands in for a version while none is published.
const strangersManifest = `dist:
  module: example.test/stranger
  name: stranger
  output_path: ./out
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver v0.165.0
extensions:
  - gomod: github.com/open-telemetry/opentelemetry-collector-contrib/extension/healthcheckextension v0.165.1
  - {gomod: github.com/tapedeck/tapedeck v0.0.0, import: github.com/tapedeck/tapedeck/extension/otlpdepthextension, path: ROOT}
processors:
  - gomod: go.opentelemetry.io/collector/processor/memorylimiterprocessor v0.165.0
  - {gomod: github.com/tapedeck/tapedeck v0.0.0, import: github.com/tapedeck/tapedeck/processor/agentredactionprocessor, path: ROOT}
  - {gomod: github.com/tapedeck/tapedeck v0.0.0, import: github.com/tapedeck/tapedeck/processor/agentrunprocessor, path: ROOT}
exporters:
  - {gomod: github.com/tapedeck/tapedeck v0.0.0, import: github.com/tapedeck/tapedeck/exporter/tapeexporter, path: ROOT}
connectors:
  - {gomod: github.com/tapedeck/tapedeck v0.0.0, import: github.com/tapedeck/tapedeck/connector/genailogsconnector, path: ROOT}
providers:
  - gomod: go.opentelemetry.io/collector/confmap/provider/envprovider v1.71.0
  - gomod: go.opentelemetry.io/collector/confmap/provider/fileprovider v1.71.0
  - gomod: go.opentelemetry.io/collector/confmap/provider/yamlprovider v1.71.0
`

func TestStrangerBuildsACollectorWithOurComponents(t *testing.T) {
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "builder-config.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(strangersManifest, "ROOT", root)), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), program(t, filepath.Join("tools", "builder")), "--config", file)
	build.Dir = dir
	output(t, build)
	binary := filepath.Join(dir, "out", "stranger")

	// They link what they import: no cloud driver unless they ask for all stores.
	linked := output(t, exec.CommandContext(t.Context(), "go", "version", "-m", binary))
	for _, heavy := range []string{"cloud.google.com/go/storage", "azure-sdk-for-go", "gocloud.dev"} {
		if strings.Contains(linked, heavy) {
			t.Errorf("%s is linked into a collector that imports neither", heavy)
		}
	}

	url := decktest.FileURL(t)
	p := run(t, binary, []string{"TAPEDECK_DECK=" + url}, "--config", example(t, local), soon)
	traces := recorded(t)
	send(t, p, traces)
	drained(t, p, traces.SpanCount())
	stop(t, p)

	ours := decktest.FileURL(t)
	q := collect(t, slim, local, ours, soon)
	send(t, q, traces)
	drained(t, q, traces.SpanCount())
	stop(t, q)
	if want, got := (at{t, ours}).tape(traceID(traces)), (at{t, url}).tape(traceID(traces)); want != got {
		t.Error("the stranger's collector writes another tape than ours")
	}
}
