// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deploytest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

const repository = "../../.."

var (
	pinned  = regexp.MustCompile(`^golang:(\d+\.\d+)\.\d+-\w+@sha256:[0-9a-f]{64}$`)
	written = regexp.MustCompile(`(?:-o|mkdir -p) (/out/\w+)`)
	built   = regexp.MustCompile(`go (?:-C (\S+) )?build .* (\./?\S*)`)
)

// No container engine builds it here: BuildKit's own parser reads it, and what it copies, builds and runs as is compared with the repository.
func TestContainerFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(deploy, "container", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(stages) != 2 {
		t.Fatalf("%d stages", len(stages))
	}
	mod, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if m := pinned.FindStringSubmatch(stages[0].BaseName); m == nil || !strings.Contains(string(mod), "\ngo "+m[1]+".") {
		t.Errorf("%s is not a release of the Go of go.mod by its digest", stages[0].BaseName)
	}
	if stages[1].BaseName != "scratch" {
		t.Errorf("the image is made on %s", stages[1].BaseName)
	}
	made := []string{"/etc/ssl/certs/ca-certificates.crt"} // of the image of Go, which is Debian with ca-certificates
	for _, c := range stages[0].Commands {
		switch c := c.(type) {
		case *instructions.CopyCommand:
			for _, source := range c.SourcePaths {
				if _, err := os.Stat(filepath.Join(repository, source)); err != nil {
					t.Errorf("it copies what is not there: %v", err)
				}
			}
		case *instructions.RunCommand:
			line := strings.NewReplacer("${TARGET}", "otelcol-tapedeck", "$(TARGET)", "otelcol-tapedeck").Replace(strings.Join(c.CmdLine, " "))
			for _, m := range written.FindAllStringSubmatch(line, -1) {
				made = append(made, m[1])
			}
			for _, command := range strings.Split(line, "&&") {
				if m := built.FindStringSubmatch(command); m != nil {
					if files, _ := filepath.Glob(filepath.Join(repository, m[1], m[2], "main*.go")); len(files) == 0 {
						t.Errorf("it builds what is no program: %s", command)
					}
				}
			}
		}
	}
	env, user, entry := map[string]string{}, "", ""
	for _, c := range stages[1].Commands {
		switch c := c.(type) {
		case *instructions.CopyCommand:
			for _, source := range c.SourcePaths {
				if c.From != "build" || !slices.Contains(made, source) {
					t.Errorf("the image copies %s from %q, where nothing makes it: %v", source, c.From, made)
				}
			}
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EnvCommand:
			for _, e := range c.Env {
				env[e.Key] = e.Value
			}
		case *instructions.EntrypointCommand:
			if c.PrependShell {
				t.Error("scratch has no shell")
			}
			entry = strings.Join(c.CmdLine, " ")
		case *instructions.RunCommand:
			t.Error("scratch has nothing that could be run while it is built")
		}
	}
	id, _, _ := strings.Cut(user, ":")
	if n, err := strconv.Atoi(id); err != nil || n == 0 {
		t.Errorf("it runs as %q: runAsNonRoot needs a number other than 0", user)
	}
	if entry != "/otelcol" {
		t.Errorf("it starts %q", entry)
	}
	for name := range env {
		if strings.Contains(name, "KEY") || strings.Contains(name, "DECK") {
			t.Errorf("%s is built in", name)
		}
	}
	// What is left out of the context is nothing that is built: a pattern names one folder at the top.
	ignored, err := os.ReadFile(filepath.Join(deploy, "container", "Dockerfile.dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range strings.Fields(string(ignored)) {
		if strings.ContainsAny(pattern, "*!/") || !slices.Contains([]string{".git", "bin", "build", "dist", "testdata"}, pattern) {
			t.Errorf("the pattern %s may leave sources out", pattern)
		}
	}
}
