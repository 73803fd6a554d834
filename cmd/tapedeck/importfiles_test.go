// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// jaegerTrace is the export of a run whose question holds a secret.
const jaegerTrace = `{"data":[{"traceID":"5cf92f3577b34da6a3ce929d0e0e4736","spans":[
 {"traceID":"5cf92f3577b34da6a3ce929d0e0e4736","spanID":"00f067aa0ba902b7","operationName":"agent","references":[],"startTime":1793000000000000,"duration":2000000,
  "tags":[{"key":"openinference.span.kind","type":"string","value":"AGENT"},{"key":"input.value","type":"string","value":"use key AKIAIOSFODNN7EXAMPLE"},
   {"key":"output.value","type":"string","value":"done"},{"key":"otel.scope.name","type":"string","value":"openinference.instrumentation.x"}],"logs":[],"processID":"p1"}],
 "processes":{"p1":{"serviceName":"shop","tags":[{"key":"telemetry.sdk.language","type":"string","value":"python"}]}},"warnings":null}],"total":0,"errors":null}`

// TestFilesOfOtherProgramsBecomeEvidenceOfADeck: of a folder what is known is read and the rest is counted,
// derive reads the same, secrets are replaced, and a second import changes nothing.
func TestFilesOfOtherProgramsBecomeEvidenceOfADeck(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"a/trace.json": jaegerTrace, "notes.txt": "no telemetry", "b/config.json": `{"a":1}`, "../outside.json": "x",
	} {
		path := filepath.Join(folder, "in", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plain, err := os.ReadFile(forge)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "in", "spans"), plain, 0o600); err != nil {
		t.Fatal(err)
	}
	imported, derived := filepath.Join(folder, "imported"), filepath.Join(folder, "derived")
	first := tapedeck(t, "import", filepath.Join(folder, "in"), "--to", imported)
	if first.code != exitOK || !strings.Contains(first.stderr, "2 files are of no known format") || strings.Count(first.stdout, "\n") != 2 {
		t.Fatal(first)
	}
	if got := tapedeck(t, "show", "5cf92f3577b34da6a3ce929d0e0e4736", "--deck", imported); strings.Contains(got.stdout, "AKIA") {
		t.Error("a secret is stored", got)
	}
	listed := func(deck string) string {
		got := tapedeck(t, "ls", deck, "--columns", "run_id,tape_id,agent,status,findings", "--format", "json")
		return strings.ReplaceAll(got.stdout, deck, "DECK")
	}
	once := listed(imported)
	if got := tapedeck(t, "import", filepath.Join(folder, "in", "a", "trace.json"), "--to", imported); got.code != exitOK {
		t.Error(got)
	}
	if again := listed(imported); again != once {
		t.Errorf("a second import changes\n%s\nto\n%s", once, again)
	}
	got := tapedeck(t, "derive", filepath.Join(folder, "in", "a", "trace.json"), filepath.Join(folder, "in", "spans"), "--to", derived)
	if got.code != exitOK || listed(derived) != once {
		t.Errorf("%+v\n%s\nis not\n%s", got, listed(derived), once)
	}
	trace := filepath.Join(folder, "in", "a", "trace.json")
	if got := tapedeck(t, "show", trace); got.code != exitOK || !strings.Contains(got.stdout, "use key") {
		t.Error(got)
	}
	if got := tapedeck(t, "bisect", trace, trace); got.code != exitOK {
		t.Error(got)
	}
	for _, args := range [][]string{
		{filepath.Join(folder, "in", "notes.txt"), "--to", derived}, {filepath.Join(folder, "in", "b"), "--to", derived}, {imported, folder, "--to", derived},
		{filepath.Join(folder, "in"), "--to", derived, "--status", "ok"}, {imported, "--to", derived, "--redact", "off"}, {forge, "--redact", "off"},
		{filepath.Join(folder, "in"), "--to", derived, "--format", "waza"},
	} {
		if got := tapedeck(t, append([]string{"import"}, args...)...); got.code != exitFailed || got.stderr == "" {
			t.Error(args, got)
		}
	}
}
