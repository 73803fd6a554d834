// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// manyReels is a deck of small reels.
func manyReels(t *testing.T, runs, perReel, days int) string {
	t.Helper()
	address := t.TempDir() + "/deck"
	d, err := deck.OpenLayout(t.Context(), "file://"+address+"?sync=false", deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := manyruns.Write(t.Context(), d, manyruns.Options{Runs: runs, PerReel: perReel, Days: days, Kinds: 6}); err != nil {
		t.Fatal(err)
	}
	return address
}

func sumsOf(t *testing.T, r result) compaction.Sums {
	t.Helper()
	all := strings.Split(strings.TrimSpace(r.stdout), "\n")
	var last compacted
	if err := json.Unmarshal([]byte(all[len(all)-1]), &last); err != nil || r.code != exitOK {
		t.Fatal(r, err)
	}
	return last.Summary
}

func TestCompactSaysWhatItDoes(t *testing.T) {
	address := manyReels(t, 60, 5, 3)
	before := tapedeck(t, "ls", address, "--area", "all", "--format", "json")
	if before.code != exitOK || strings.Count(before.stdout, "\n") != 60 {
		t.Fatal(before)
	}
	if s := sumsOf(t, tapedeck(t, "compact", address, "--dry-run", "--grace", "0s")); s.Reels != 12 || s.Inputs != 12 || s.Outputs != 0 || s.Rows != 60 || !s.DryRun {
		t.Errorf("%+v", s)
	}
	// Shards together are everything, and share nothing.
	inputs := 0
	for _, shard := range []string{"1/2", "2/2"} {
		inputs += sumsOf(t, tapedeck(t, "compact", address, "--shard", shard, "--grace", "0s")).Inputs
	}
	if inputs != 12 {
		t.Errorf("two shards have merged %d reels", inputs)
	}
	if s := sumsOf(t, tapedeck(t, "compact", address, "--grace", "0s")); s.Reels != 3 || s.Merges != 0 {
		t.Errorf("again: %+v", s)
	}
	after := tapedeck(t, "ls", address, "--area", "all", "--format", "json")
	if after.stdout != before.stdout {
		t.Errorf("ls shows\n%s\nand showed\n%s", after.stdout, before.stdout)
	}
	if got := tapedeck(t, "verify", address); got.code != exitOK {
		t.Error(got)
	}
	// Days that have not ended that long ago stay as they are.
	young := manyReels(t, 10, 5, 1)
	if s := sumsOf(t, tapedeck(t, "compact", young, "--older-than", "800000h", "--grace", "0s")); s.Reels != 2 || s.Merges != 0 {
		t.Errorf("%+v", s)
	}
	for _, args := range [][]string{{young, "--shard", "3/2"}, {young, "--shard", "x"}, {young, "--max-bytes", "5"}, {young, "--max-bytes", "0"}, {}, {"mem://x"}} {
		if got := tapedeck(t, append([]string{"compact"}, args...)...); got.code != exitFailed || got.stderr == "" {
			t.Error(args, got)
		}
	}
	files := t.TempDir() + "/files"
	if got := tapedeck(t, "derive", "--redact", "off", forge, "--to", files); got.code != exitOK {
		t.Fatal(got)
	}
	if got := tapedeck(t, "compact", files); got.code != exitFailed || !strings.Contains(got.stderr, "a deck of files has nothing to compact") {
		t.Error(got)
	}
}
