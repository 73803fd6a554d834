// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

func TestSubjectsAreShortAndImperative(t *testing.T) {
	for subject, want := range map[string]string{
		"Read answers with many calls in linear time": "",
		"Set the bound of a reel":                     "",
		"Address the reels of a deck":                 "",
		strings.Repeat("Ää ", 24):                     "",
		"Say " + strings.Repeat("a", 69):              "73 characters, more than 72",
		"Read the table.":                             "a full stop at the end",
		"deck: read the table":                        "no capital letter at the beginning",
		"Wip":                                         "one word says too little",
		"Fixes the table":                             `"Fixes" is not imperative: "Fix"`,
		"Stopped the table":                           `"Stopped" is not imperative: "Stop"`,
		"Removing the table":                          `"Removing" is not imperative: "Remove"`,
		"Tidied the table":                            `"Tidied" is not imperative: "Tidy"`,
	} {
		if got := wrong(subject); got != want {
			t.Errorf("%q: %q, want %q", subject, got, want)
		}
	}
}

func TestCommitsBehindTheFirstOneAreChecked(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		identity := []string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}
		out, err := exec.Command("git", append(identity, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	check := func(base string) (string, error) {
		var out bytes.Buffer
		err := run(root, base, &out)
		return out.String(), err
	}
	if said, err := check(began); err != nil || !strings.Contains(said, "no subject of a commit was checked") {
		t.Errorf("no repository: %q, %v", said, err)
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "old ways.")
	base := git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "Read the table", "-m", "fixes nothing.")
	if said, err := check(base); err != nil || said != "1 subjects of commits checked\n" {
		t.Errorf("%q, %v", said, err)
	}
	if said, err := check(began); err != nil || !strings.Contains(said, "no subject of a commit was checked") {
		t.Errorf("another history: %q, %v", said, err)
	}
	git("commit", "-q", "--allow-empty", "-m", "Adds a table")
	if _, err := check(base); err == nil || !strings.Contains(err.Error(), `is not imperative: "Add": "Adds a table"`) {
		t.Errorf("%v", err)
	}
}
