// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheFiveLinesOfTheReadme runs the lines as they stand in README.md, in a clone that holds nothing but the agent and its module.
func TestTheFiveLinesOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.SplitSeq(string(readme), "\n") {
		if strings.HasPrefix(line, "tapedeck ") && (strings.Contains(line, "./examples/agent") || strings.Contains(line, "good bad")) {
			lines = append(lines, line)
		}
	}
	want := []struct {
		name string
		code int
		says []string
	}{
		{"record", 0, []string{`"grade":"offline"`, "SKU-7: 42, SKU-8: 42."}},
		{"break", 0, []string{"SKU-7: nobody knows how many"}},
		{"bisect", 1, []string{"The runs part at event 4", "instead of “SKU-7: 42, SKU-8: 42.”"}},
		{"replay", 1, []string{": diverged", "differs from event 4 at 2.assistant.calls.1.result"}},
		{"fixed", 0, []string{": as recorded", "SKU-7: 42, SKU-8: 42."}},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d: %q", len(lines), len(want), lines)
	}
	clone := t.TempDir()
	for _, part := range []string{"go.mod", "go.sum"} {
		body, err := os.ReadFile(filepath.Join(repository, part))
		if err == nil {
			err = os.WriteFile(filepath.Join(clone, part), body, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"examples/agent", "oracle/oracleclient"} {
		if err := os.CopyFS(filepath.Join(clone, part), os.DirFS(filepath.Join(repository, part))); err != nil {
			t.Fatal(err)
		}
	}
	for i, line := range lines {
		_, comment, _ := strings.Cut(line, " # ")
		if name, _, _ := strings.Cut(comment, ":"); strings.TrimSpace(name) != want[i].name {
			t.Errorf("line %d is %q, want %s", i+1, comment, want[i].name)
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = clone
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program(t, "tapedeck"))+string(os.PathListSeparator)+os.Getenv("PATH"), "XDG_STATE_HOME="+clone, "OPENAI_BASE_URL=")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != want[i].code {
			t.Fatalf("%s\nexit code %d, want %d\n%s", line, code, want[i].code, out)
		}
		for _, text := range want[i].says {
			if !strings.Contains(string(out), text) {
				t.Errorf("%s\nsays no %q:\n%s", line, text, out)
			}
		}
	}
}
