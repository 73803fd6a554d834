// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFromACloneToATapeOfAnAgentOfTheirOwn types the commands of docs/first-tape.md as they stand there, in a folder that holds nothing but the agent of the page and
// the packages that it imports. The repository is cloned from this one; a scripted model stands in for that of the vendor, and is gone when the agent is replayed.
func TestFromACloneToATapeOfAnAgentOfTheirOwn(t *testing.T) {
	if _, err := os.Stat(filepath.Join(repository, ".git")); err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip("an archive of the sources has no history to clone: ", err)
	}
	page, err := os.ReadFile(filepath.Join(repository, "docs", "first-tape.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string][]string{}
	for _, m := range regexp.MustCompile("(?ms)^```(sh|python|javascript)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		blocks[m[1]] = append(blocks[m[1]], m[2])
	}
	if len(blocks["sh"]) != 2 || len(blocks["python"]) != 1 || len(blocks["javascript"]) != 1 {
		t.Fatalf("blocks: %d of commands, %d agents in Python, %d in JavaScript", len(blocks["sh"]), len(blocks["python"]), len(blocks["javascript"]))
	}
	first := strings.Split(strings.TrimSpace(blocks["sh"][0]), "\n")
	if len(first) != 5 {
		t.Fatalf("%d commands, want 5", len(first))
	}
	// Both agents in one folder: the second reader has the clone and the program already.
	folder, bin := t.TempDir(), t.TempDir()
	env := append(os.Environ(), "GOBIN="+bin, "XDG_STATE_HOME="+folder, "GOFLAGS=-trimpath -buildvcs=false", // the flags of the Makefile: what is compiled already serves
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=url."+absolute(t, repository)+".insteadOf", "GIT_CONFIG_VALUE_0=https://github.com/tapedeck/tapedeck.git",
		"GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*")
	typed(t, first[:2], folder, env, nil)
	for _, agent := range []struct {
		name, file, text string
		interpreter      func(t *testing.T) string
		lines            []string
	}{
		{"Python", "agent.py", blocks["python"][0], func(t *testing.T) string { return filepath.Dir(python(t, "pydantic-ai")) }, first[2:]},
		{"JavaScript", "agent.mjs", blocks["javascript"][0], func(t *testing.T) string {
			if err := os.Symlink(filepath.Join(nodeAgents(t, "node"), "node_modules"), filepath.Join(folder, "node_modules")); err != nil {
				t.Fatal(err)
			}
			return bin
		}, strings.Split(strings.TrimSpace(blocks["sh"][1]), "\n")},
	} {
		t.Run(agent.name, func(t *testing.T) {
			path := bin + string(os.PathListSeparator) + agent.interpreter(t) + string(os.PathListSeparator) + os.Getenv("PATH")
			if err := os.WriteFile(filepath.Join(folder, agent.file), []byte(agent.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(folder, "deck")); err != nil {
				t.Fatal(err)
			}
			model := httptest.NewServer(&clerkModel{})
			defer model.Close()
			env := append(env, "PATH="+path, "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_API_KEY=none")
			typed(t, agent.lines[:1], folder, env, []string{`"grade":"offline"`, "SKU-7: 42."})
			model.Close()
			typed(t, agent.lines[1:2], folder, env, []string{"How many of SKU-7 are in stock?", `get_stock {"sku":"SKU-7"}`, "grade      offline", "SKU-7: 42."})
			typed(t, agent.lines[2:], folder, env, []string{": as recorded", "no tool ran live"})
		})
	}
}

// typed runs lines as a shell does, each to the end and without an error, and looks for what they have to say.
func typed(t *testing.T, lines []string, dir string, env, says []string) {
	t.Helper()
	for _, line := range lines {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s\n%v\n%s", line, err, out)
		}
		for _, text := range says {
			if !strings.Contains(string(out), text) {
				t.Errorf("%s\nsays no %q:\n%s", line, text, out)
			}
		}
	}
}
