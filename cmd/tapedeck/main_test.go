// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// result is what one command line gave.
type result struct {
	code           int
	stdout, stderr string
}

func tapedeck(t *testing.T, args ...string) result { return tapedeckWith(t, "", args...) }

func tapedeckWith(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	for _, l := range strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n") {
		if l != "" && !strings.HasPrefix(l, "tapedeck: ") {
			t.Errorf("not a diagnostic: %s", l)
		}
	}
	return result{code, stdout.String(), stderr.String()}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test -update rewrites it):\n%s", file, diff)
	}
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestMisuseIsExitCode2AndOneLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nosuch"}, `unknown command "nosuch"; see tapedeck --help`},
		{[]string{"--nosuch"}, "unknown flag: --nosuch"},
		{[]string{"show"}, "show needs a REF; see tapedeck show --help"},
		{[]string{"show", "a", "b"}, "show takes one REF, not 2"},
		{[]string{"version", "x"}, `unknown command "x" for "tapedeck version"`},
	} {
		got := tapedeck(t, c.args...)
		if diff := cmp.Diff(result{exitFailed, "", "tapedeck: " + c.want + "\n"}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%v: %s", c.args, diff)
		}
	}
}

func TestHelpAndVersionAreExitCode0(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"help", "show"}, {"show", "-h"}, {"version"}} {
		got := tapedeck(t, args...)
		if got.code != exitOK || got.stdout == "" || got.stderr != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

// TestVersionsAgree: the programs, the manifests and the README name one version.
func TestEveryHelpSaysWhatTheExitCodesMean(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		if got := tapedeck(t, args...); got.code != exitOK || !strings.HasSuffix(got.stdout, exitHelp) {
			t.Errorf("%v: %d, ends with %.200q", args, got.code, got.stdout[max(0, len(got.stdout)-200):])
		}
		if page := string(manPage(c)); !strings.Contains(page, "not done: misuse") {
			t.Errorf("the manual page of %s does not", c.CommandPath())
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(newRoot())
}

func TestVersionsAgree(t *testing.T) {
	got := tapedeck(t, "version").stdout
	number, _, _ := strings.Cut(strings.TrimPrefix(got, "tapedeck "), ",")
	release, _, _ := strings.Cut(number, "-")
	for file, want := range map[string]string{
		"../otelcol-tapedeck/version.go": `var version = "` + number + `"`, "../otelcol-tapedeck-full/version.go": `var version = "` + number + `"`,
		"../../Makefile": "VERSION ?= " + number, "../../builder-config.yaml": "version: " + release, "../../builder-config-full.yaml": "version: " + release,
		"../../README.md": "tapedeck v" + release,
	} {
		if !strings.Contains(readAll(t, file), want) {
			t.Errorf("%s: no %q", file, want)
		}
	}
}

func TestDiagnosticsAreOneSafeLine(t *testing.T) {
	got := tapedeck(t, "show", "no\x1b[2J\nfile")
	if got.code != exitFailed || strings.Count(got.stderr, "\n") != 1 || strings.Contains(got.stderr, "\x1b") {
		t.Errorf("%+v", got)
	}
}

func TestAnInterruptedCommandSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"derive", forge, "--to", t.TempDir(), "--redact", "off"}, {"verify", "testdata/full"}, {"show", "testdata/full"}} {
		var stdout, stderr bytes.Buffer
		code := run(ctx, args, strings.NewReader(""), &stdout, &stderr)
		if code != exitFailed || stdout.Len() != 0 || stderr.String() != "tapedeck: interrupted\n" {
			t.Errorf("%v: %d %s %s", args, code, stdout.String(), stderr.String())
		}
	}
}
