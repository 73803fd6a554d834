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

// compiled are the programs that compile builds, for one platform of each system. What a processor alone
// changes lies in the modules that are linked. Every program of each platform would take half an hour of CPU
// time. make build compiles those of this machine.
var compiled = map[string][]string{
	"linux/amd64":   {"tapedeck"},
	"darwin/arm64":  {"tapedeck"},
	"windows/amd64": {"tapedeck", "otelcol-tapedeck"},
}

// compiledFor names the programs that compile builds for a platform.
func compiledFor(platform string) []string {
	if platform == runtime.GOOS+"/"+runtime.GOARCH {
		return nil
	}
	return compiled[platform]
}

// compile builds programs for the platforms of a release and keeps none. Without optimisation the compiler
// takes a third less time, and refuses the same sources.
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
