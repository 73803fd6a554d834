// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestShowPrintsTheTimeline(t *testing.T) {
	for _, ref := range []string{"testdata/full", "testdata/full/", "testdata/full/tape.json", fileURL(t, "testdata/full/tape.json"), fileURL(t, "testdata/full")} {
		got := tapedeck(t, "show", ref)
		if got.code != exitOK || got.stderr != "" {
			t.Errorf("%s: %+v", ref, got)
		}
		golden(t, "full/show.txt", got.stdout)
	}
}

func TestShowJSONIsTheFileItself(t *testing.T) {
	want, err := os.ReadFile("testdata/full/tape.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, "show", "--json", "testdata/full"); got.code != exitOK || got.stdout != string(want) {
		t.Errorf("%+v", got)
	}
}

func TestShowHonoursTheWidthOfTheTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "40")
	narrow := tapedeck(t, "show", "testdata/full")
	t.Setenv("COLUMNS", "")
	if wide := tapedeck(t, "show", "testdata/full"); narrow.stdout == wide.stdout || strings.Contains(wide.stdout, "\x1b") {
		t.Error("COLUMNS changes nothing, or colours outside a terminal")
	}
}

func TestShowSaysWhyItCannot(t *testing.T) {
	empty := t.TempDir()
	for ref, want := range map[string]string{
		"nofile":                      "nofile: no such file or directory",
		"0123abcd":                    "0123abcd is no file; to find a run by its id, name its deck with --deck",
		"":                            "an empty REF",
		empty:                         empty + " holds neither a tape.json nor a deck",
		"mem://x/tape.json":           "a mem:// deck lives only as long as the process that wrote it",
		write(t, "tape.json", "{}"):   "not an agent tape",
		write(t, "tape.json", "\x80"): "read tape: ",
		write(t, "tape.json", `{"kind":"agent-tape","schema_version":"2.0"}`): `schema_version "2.0" cannot be read, this version reads 1.x`,
		"ftp://host/tape.json": "ftp",
	} {
		got := tapedeck(t, "show", ref)
		if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: %+v", ref, got)
		}
	}
}

func fileURL(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return "file://" + filepath.ToSlash(abs)
}

func TestShowOfDerivedTapes(t *testing.T) {
	dir, _ := newDeck(t)
	for id, file := range map[string]string{forgeRun: "forge_happy.txt", openaiRun[:12]: "openai_plain_answer.txt"} {
		got := tapedeck(t, "show", id, "--deck", dir)
		if got.code != exitOK || got.stderr != "" {
			t.Fatalf("%+v", got)
		}
		golden(t, file, tapeIDs.ReplaceAllString(got.stdout, "sha256:…"))
	}
	got := tapedeck(t, "show", dir)
	if got.code != exitFailed || got.stderr != "tapedeck: "+dir+" is a deck; name a run with: tapedeck show ID --deck "+dir+"\n" {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "show", "00000000", "--deck", dir); got.code != exitFailed || got.stderr == "" {
		t.Errorf("%+v", got)
	}
}

// tapeIDs change with the version of the producer.
var tapeIDs = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
