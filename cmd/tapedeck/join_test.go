// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/replay"
)

// tornRun are the traces of one recorded run whose model calls are traces of their own.
func tornRun(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/corpus/agents/openai-traceloop-norootspan/research_chain*.otlp.json")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

func TestJoinGivesWhatOneDeriveGives(t *testing.T) {
	files := tornRun(t)
	one, dir := t.TempDir(), t.TempDir()
	derived := tapedeck(t, append([]string{"derive", "--to", one, "--redact", "off"}, files...)...)
	for _, f := range files {
		if got := tapedeck(t, "derive", f, "--to", dir, "--redact", "off", "--no-join"); got.code != exitOK {
			t.Fatalf("%+v", got)
		}
	}
	rehearsed := tapedeck(t, "join", dir, "--dry-run")
	if got := contents(t, dir); len(joinedOnly(got)) != 0 || rehearsed.code != exitOK {
		t.Fatalf("%+v", rehearsed)
	}
	for range 2 {
		got := tapedeck(t, "join", dir)
		want := result{exitOK, strings.ReplaceAll(derived.stdout, one, dir), ""}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(joinedOnly(contents(t, one)), joinedOnly(contents(t, dir))); diff != "" {
			t.Errorf("%.1000s", diff)
		}
		if rehearsed.stdout != got.stdout {
			t.Errorf("a rehearsal says %s", rehearsed.stdout)
		}
	}
	if got := tapedeck(t, "verify", dir); got.code != exitOK {
		t.Errorf("%+v", got)
	}
}

func joinedOnly(files map[string]string) map[string]string {
	out := map[string]string{}
	for name, body := range files {
		if strings.HasPrefix(name, "/joined/") {
			out[name] = body
		}
	}
	return out
}

func TestJoinOfADeckWithNothingToJoin(t *testing.T) {
	dir, _ := newDeck(t)
	if diff := cmp.Diff(result{}, tapedeck(t, "join", dir), cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
}

func TestJoinRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"join"}, "join needs one DECK; see tapedeck join --help"},
		{[]string{"join", "a", "b"}, "join needs one DECK; see tapedeck join --help"},
		{[]string{"join", "mem://x"}, replay.ErrMem.Error()},
		{[]string{"join", "testdata", "--max-traces", "1"}, "--max-traces must be 2 or more"},
		{[]string{"join", "testdata", "--formats", "oracle"}, `--formats must contain "tape"`},
	} {
		got := tapedeck(t, c.args...)
		if diff := cmp.Diff(result{exitFailed, "", "tapedeck: " + c.want + "\n"}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%v: %s", c.args, diff)
		}
	}
	if got := tapedeck(t, "join", t.TempDir()); got.code != exitFailed || !strings.HasSuffix(got.stderr, " holds no deck\n") {
		t.Errorf("%+v", got)
	}
}

func TestJoinSaysWhatItCouldNotRead(t *testing.T) {
	dir := t.TempDir()
	for _, f := range append(tornRun(t), forge) {
		tapedeck(t, "derive", f, "--to", dir, "--redact", "off", "--no-join")
	}
	tapes, err := filepath.Glob(filepath.Join(dir, "runs/default/4b/*/*/tape.json"))
	if err != nil || len(tapes) != 1 {
		t.Fatal(tapes, err)
	}
	rewrite(t, tapes[0], "{", "[")
	got := tapedeck(t, "join", dir)
	if got.code != exitPartial || len(lines(t, got.stdout)) != 1 || !strings.HasPrefix(got.stderr, "tapedeck: trace "+forgeRun[:32]+": ") {
		t.Errorf("%+v", got)
	}
}
