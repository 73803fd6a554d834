// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestADeckIsCarriedIntoTheOtherLayoutAndBack: a new deck gets the other layout, readers find the same runs in it, and called again nothing is written.
func TestADeckIsCarriedIntoTheOtherLayoutAndBack(t *testing.T) {
	files, _ := bothLayouts(t)
	folder := t.TempDir()
	reels, back, some := filepath.Join(folder, "reels"), filepath.Join(folder, "back"), filepath.Join(folder, "some")
	run := func(args ...string) (sums carried) {
		t.Helper()
		got := tapedeck(t, append([]string{"import"}, args...)...)
		if err := json.Unmarshal([]byte(got.stdout), &sums); got.code != exitOK || err != nil {
			t.Fatal(args, got, err)
		}
		return sums
	}
	list := func(deck string, args ...string) string {
		got := tapedeck(t, append([]string{"ls", deck, "--area", "all", "--format", "json", "--sort", "run_id"}, args...)...)
		if got.code != exitOK {
			t.Fatal(got)
		}
		return sameKeys(strings.ReplaceAll(got.stdout, deck, "DECK"))
	}
	for _, step := range []struct{ from, to, layout string }{{files, reels, "reels"}, {reels, back, "files"}} {
		first := run(step.from, "--to", step.to)
		if first.Layout != step.layout || first.Traces.Written == 0 || first.Traces.Written != first.Traces.Read || first.Beside+first.LeftOut+first.United != 0 {
			t.Errorf("%+v", first)
		}
		if again := run(step.from, "--to", step.to); again.Traces.Written+again.Parts.Written+again.Tapes.Written != 0 || again.Traces.There != first.Traces.Written {
			t.Errorf("again: %+v", again)
		}
		// Digests of evidence and what writers alone know stand in reels only.
		columns := "run_id,trace_id,tenant,started_at,agent,status,grade,models,tools,findings,user_message,tape_id,items,revision,replay_run_id,replay_of"
		if diff := cmp.Diff(list(files, "--columns", columns), list(step.to, "--columns", columns)); diff != "" {
			t.Errorf("ls lists\n%.2000s", diff)
		}
		if got := tapedeck(t, "verify", step.to); got.code != exitOK {
			t.Error(got)
		}
	}
	sums := run(reels, "--to", some, "--layout", "reels", "--status", "error")
	want, got := list(reels, "--status", "error", "--columns", "run_id"), list(some, "--columns", "run_id")
	if sums.Layout != "reels" || sums.LeftOut == 0 || want != got || want == "" {
		t.Errorf("%+v\n%s", sums, cmp.Diff(want, got))
	}
	for _, args := range [][]string{
		{files}, {files, "--status", "error"}, {files, "--to", files}, {files, reels, "--to", back}, {files, "--to", back, "--format", "waza"}, {files, "--to", back, "--layout", "x"},
		{files, "--to", back, "--layout", "reels"}, {filepath.Join(folder, "none"), "--to", back},
	} {
		if got := tapedeck(t, append([]string{"import"}, args...)...); got.code != exitFailed || got.stderr == "" {
			t.Error(args, got)
		}
	}
}

// TestAReplayIsFoundByWhatItReplaysInBothLayouts: the tape says it.
func TestAReplayIsFoundByWhatItReplaysInBothLayouts(t *testing.T) {
	folder := t.TempDir()
	for _, layout := range []string{"files", "reels"} {
		deck := filepath.Join(folder, layout)
		plain, err := os.ReadFile(forge)
		if err != nil {
			t.Fatal(err)
		}
		tagged := write(t, layout+".json", strings.Replace(string(plain), `"attributes": [`,
			`"attributes": [{"key":"replay_run_id","value":{"stringValue":"r-1"}},{"key":"replay_of","value":{"stringValue":"4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"}},`, 1))
		if got := tapedeck(t, "derive", "--redact", "off", "--no-join", "--to", deck, "--layout", layout, tagged); got.code != exitOK {
			t.Fatal(got)
		}
		if got := tapedeck(t, "ls", deck, "--format", "refs", "--replay-of", "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"); got.code != exitOK || got.stdout == "" {
			t.Error(layout, got)
		}
	}
}
