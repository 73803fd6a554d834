// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestVulnerabilitiesThatNobodyLookedForAreSaidLast: with a database that cannot be reached the last line of .ci/vulncheck begins with what .ci/run repeats at its end, and it fails
// where that is asked for. With a verdict it says nothing of the kind.
func TestVulnerabilitiesThatNobodyLookedForAreSaidLast(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a script of a shell")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		says, require   string
		code, want      int
		last, mustntSay string
	}{
		"no database":           {"govulncheck: fetching vulnerabilities: dial tcp: no such host", "", 1, 0, "NOT CHECKED: ", "no known vulnerability"},
		"no database, required": {"govulncheck: fetching vulnerabilities: dial tcp: no such host", "1", 1, 1, ".: govulncheck failed", "NOT CHECKED"},
		"nothing found":         {"No vulnerabilities found.", "", 0, 0, "cmd/tapedeck-iceberg: no known vulnerability", "NOT CHECKED"},
		"found":                 {"Vulnerability #1: GO-2026-0001", "", 3, 1, "Vulnerability #1", "NOT CHECKED"},
		"another failure":       {"govulncheck: cannot load packages", "", 1, 1, ".: govulncheck failed", "NOT CHECKED"},
	} {
		t.Run(name, func(t *testing.T) {
			tool := filepath.Join(t.TempDir(), "govulncheck")
			if err := os.WriteFile(tool, []byte("#!/bin/sh\necho '"+c.says+"'\nexit "+string(rune('0'+c.code))+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			relative, err := filepath.Rel(root, tool)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(filepath.Join(root, ".ci", "vulncheck"), relative)
			cmd.Env = append(os.Environ(), "TAPEDECK_REQUIRE_VULNDB="+c.require)
			out, err := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); code != c.want {
				t.Errorf("exit code %d, %v:\n%s", code, err, out)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, c.last) || strings.Contains(string(out), c.mustntSay) {
				t.Errorf("%s", out)
			}
		})
	}
	// The script of CI takes the line from it.
	if ci, err := os.ReadFile(filepath.Join(root, ".ci", "run")); err != nil || !strings.Contains(string(ci), "grep '^NOT CHECKED'") {
		t.Errorf("%v", err)
	}
}
