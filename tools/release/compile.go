// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// collected are the platforms for which compile builds the collector too: one of each system but Linux.
var collected = []string{"darwin/arm64", "windows/amd64"}

// compiledFor names the programs that compile builds for a platform. Each program of each platform would take half an
// hour of CPU time. make build compiles those of this machine.
func compiledFor(platform string) (names []string) {
	if platform == runtime.GOOS+"/"+runtime.GOARCH {
		return nil
	}
	names = []string{"tapedeck"}
	if slices.Contains(collected, platform) {
		names = append(names, "otelcol-tapedeck")
	}
	return names
}

// compile builds programs for the platforms of a release and keeps none. Without optimisation the compiler takes a
// third less time, and refuses the same sources.
func (o options) compile() error {
	dir, err := os.MkdirTemp("", "tapedeck-compile-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, platform := range o.platforms {
		for _, p := range programs {
			if !slices.Contains(compiledFor(platform), p.name) {
				continue
			}
			if err := o.build(platform, p, filepath.Join(dir, "program"), "-gcflags=all=-N -l"); err != nil {
				return fmt.Errorf("%s: %w", platform, err)
			}
		}
	}
	return nil
}
