// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
)

// manifest is what the tests need of a builder manifest.
type manifest struct {
	Dist struct {
		Name string `yaml:"name"`
	} `yaml:"dist"`
	Extensions []moduleRef `yaml:"extensions"`
	Receivers  []moduleRef `yaml:"receivers"`
	Processors []moduleRef `yaml:"processors"`
	Exporters  []moduleRef `yaml:"exporters"`
	Connectors []moduleRef `yaml:"connectors"`
	Providers  []moduleRef `yaml:"providers"`
}

type moduleRef struct {
	GoMod string `yaml:"gomod"`
}

// components is what `otelcol-tapedeck components` prints.
type components struct {
	BuildInfo struct {
		Command string `yaml:"command"`
		Version string `yaml:"version"`
	} `yaml:"buildinfo"`
	Extensions []component `yaml:"extensions"`
	Receivers  []component `yaml:"receivers"`
	Processors []component `yaml:"processors"`
	Exporters  []component `yaml:"exporters"`
	Connectors []component `yaml:"connectors"`
	Providers  []component `yaml:"providers"`
}

type component struct {
	Name   string `yaml:"name"`
	Scheme string `yaml:"scheme"`
	Module string `yaml:"module"`
}

func TestCollectorsHaveTheComponentsOfTheirManifests(t *testing.T) {
	for file, name := range map[string]string{"builder-config.yaml": slim, "builder-config-full.yaml": full} {
		t.Run(name, func(t *testing.T) {
			var wanted manifest
			decode(t, readFile(t, filepath.Join(repository, file)), &wanted)
			var built components
			decode(t, output(t, exec.CommandContext(t.Context(), program(t, name), "components")), &built)

			if wanted.Dist.Name != name || built.BuildInfo.Command != name {
				t.Errorf("the names differ: manifest %q, program %q", wanted.Dist.Name, built.BuildInfo.Command)
			}
			for kind, pair := range map[string]struct {
				wanted []moduleRef
				built  []component
			}{
				"extensions": {wanted.Extensions, built.Extensions},
				"receivers":  {wanted.Receivers, built.Receivers},
				"processors": {wanted.Processors, built.Processors},
				"exporters":  {wanted.Exporters, built.Exporters},
				"connectors": {wanted.Connectors, built.Connectors},
				"providers":  {wanted.Providers, built.Providers},
			} {
				var want, got []string
				for _, m := range pair.wanted {
					want = append(want, strings.Replace(m.GoMod, "tapedeck v0.0.0", "tapedeck v"+built.BuildInfo.Version, 1)) // from the folder
				}
				for _, c := range pair.built {
					got = append(got, c.Module)
				}
				slices.Sort(want)
				slices.Sort(got)
				if !slices.Equal(want, got) {
					t.Errorf("%s: the manifest has\n  %s\nthe program has\n  %s", kind, strings.Join(want, "\n  "), strings.Join(got, "\n  "))
				}
			}
			for kind, wantedName := range map[string]string{"processors": "agentrun", "exporters": "tape"} {
				list := map[string][]component{"processors": built.Processors, "exporters": built.Exporters}[kind]
				if !slices.ContainsFunc(list, func(c component) bool { return c.Name == wantedName }) {
					t.Errorf("%s has no %s", kind, wantedName)
				}
			}
		})
	}
}

func TestExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repository, "examples", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, name := range []string{"base/collector.yaml", "overlays/gateway/gateway.yaml", "overlays/agent/agent.yaml"} {
		files = append(files, filepath.Join(repository, "deploy", "kubernetes", name))
	}
	for _, file := range files {
		folder, name := filepath.Base(filepath.Dir(file)), filepath.Base(file)
		if folder == "grafana" || name == "tapes.yaml" { // no collector, and an addition to the file beside it
			continue
		}
		if strings.Contains("\n"+readFile(t, file), "\napiVersion: ") { // a manifest of Kubernetes
			continue
		}
		t.Run(folder+"/"+name, func(t *testing.T) {
			args := []string{"validate", "--config", file}
			if addition := filepath.Join(filepath.Dir(file), "tapes.yaml"); exists(addition) {
				args = append(args, "--config", addition)
			}
			binary := slim
			if strings.Contains(readFile(t, file), "t needs "+full) {
				binary = full
			}
			cmd := exec.CommandContext(t.Context(), program(t, binary), args...)
			cmd.Env = append(os.Environ(), "TAPEDECK_DECK="+decktest.FileURL(t), redactionKey)
			output(t, cmd)
		})
	}
}

func TestS3ExampleDoesNotStartWithoutADeck(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), program(t, slim), "validate", "--config", example(t, s3))
	cmd.Env = append(os.Environ(), "TAPEDECK_DECK=", redactionKey)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "deck is required") {
		t.Errorf("got %v\n%s", err, out)
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
