// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestACommandIsToldOfReelsBeforeTheyAreRemoved by a compaction and by an erasure; where it fails, nothing is
// removed.
func TestACommandIsToldOfReelsBeforeTheyAreRemoved(t *testing.T) {
	if os.PathSeparator != '/' {
		t.Skip("the commands of this test are those of a POSIX shell")
	}
	folder := t.TempDir()
	queriedDeck(t, folder)
	told := filepath.Join(t.TempDir(), "told")
	reels := func() (keys []string) {
		found, err := filepath.Glob(filepath.Join(folder, "reels", "*", "*", "*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	before := reels()
	listed := tapedeck(t, "ls", folder, "--columns", "trace_id", "--format", "json", "--limit", "1")
	var run struct {
		TraceID string `json:"trace_id"`
	}
	if err := json.Unmarshal([]byte(listed.stdout), &run); err != nil {
		t.Fatalf("%v: %+v", err, listed)
	}
	// Each reel is there when the command is told of it.
	list := "cd " + folder + " && tee -a " + told + " | while read key; do test -f $key || exit 1; done"
	for _, args := range [][]string{
		{"compact", folder, "--grace", "0s", "--before-removal"},
		{"gc", folder, "--erase", run.TraceID, "--yes", "--before-removal"},
	} {
		if got := tapedeck(t, append(args, "exit 3")...); got.code == exitOK || !strings.Contains(got.stderr, "before the removal of") {
			t.Errorf("%q with a command that fails: %+v", args, got)
		}
		for _, key := range before {
			if _, err := os.Stat(key); err != nil {
				t.Errorf("%q with a command that fails: %v", args, err)
			}
		}
		if got := tapedeck(t, append(args, list)...); got.code != exitOK {
			t.Errorf("%q: %+v", args, got)
		}
		keys, err := os.ReadFile(told)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range before {
			_, err := os.Stat(key)
			if gone := err != nil; gone != strings.Contains(string(keys), strings.TrimPrefix(key, folder+"/")) {
				t.Errorf("%q: told of %s: %v, gone: %v", args, key, !gone, gone)
			}
		}
		before = reels()
	}
}
