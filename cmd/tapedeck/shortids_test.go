// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/tape"
)

var (
	fullID  = regexp.MustCompile(`[0-9a-f]{32}`)
	shortID = regexp.MustCompile(`\b[0-9a-f]{8,31}(-[0-9a-f]{4,16})?\b`)
)

// TestOutputForPeopleHasShortIDsThatCommandsTake: two traces whose ids begin alike, and a trace of two runs. No output for people holds a whole id or a path into the deck, and
// what it holds names the run.
func TestOutputForPeopleHasShortIDsThatCommandsTake(t *testing.T) {
	dir := t.TempDir()
	alike := "aaaaaaaa" + "b" + strings.Repeat("0", 23)
	putRun(t, dir, deck.AreaRuns, traceOf("a"), func(tp *tape.Tape) { tp.Run.StartedAt = aDay })
	putRun(t, dir, deck.AreaRuns, alike, func(tp *tape.Tape) { tp.Run.StartedAt = aDay })
	putRun(t, dir, deck.AreaRuns, traceOf("c"), func(tp *tape.Tape) { tp.Run.StartedAt = aDay })
	for _, args := range [][]string{
		{"ls", dir, "--format", "table"}, {"show", dir}, {"verify", dir}, {"bisect", "cccccccc", "aaaaaaaab", "--deck", dir}, {"diff", "aaaaaaaaa", "aaaaaaaab", "--deck", dir},
		{"show", "aaaaaaaa", "--deck", dir}, {"bisect", "aaaaaaaa", "cccccccc", "--deck", dir},
	} {
		got := tapedeck(t, args...)
		text := got.stdout + got.stderr
		if id := fullID.FindString(text); id != "" || strings.Contains(text, deck.TapeFile) {
			t.Errorf("%v: an id of %d digits or a path: %s", args, len(id), text)
		}
		ids := shortID.FindAllString(text, -1)
		if len(ids) < 2 {
			t.Errorf("%v: %d ids in %s", args, len(ids), text)
		}
		for _, id := range ids {
			if id == "aaaaaaaa" && args[0] != "ls" {
				continue // whoever prints one run after the other knows no later one: to take it is an error that lists both
			}
			if got := tapedeck(t, "request", id, "--deck", dir); strings.Contains(got.stderr, "several") || strings.Contains(got.stderr, "no tape") {
				t.Errorf("%v: %s names no run: %s", args, id, got.stderr)
			}
		}
	}
}

// TestAnAmbiguousIDListsItsCandidates, each by an id that names it.
func TestAnAmbiguousIDListsItsCandidates(t *testing.T) {
	dir := t.TempDir()
	alike := "aaaaaaaa" + "b" + strings.Repeat("0", 23)
	putRun(t, dir, deck.AreaRuns, traceOf("a"), func(*tape.Tape) {})
	putRun(t, dir, deck.AreaRuns, alike, func(*tape.Tape) {})
	got := tapedeck(t, "show", "aaaaaaaa", "--deck", dir)
	if got.code != exitFailed || !strings.Contains(got.stderr, "aaaaaaaaa (runs") || !strings.Contains(got.stderr, "aaaaaaaab (runs") {
		t.Errorf("%+v", got)
	}
}

// TestTheFirstHelpExplainsTheWordsOfTheOutput: what tail, ls and verify print is not explained anywhere earlier.
func TestTheFirstHelpExplainsTheWordsOfTheOutput(t *testing.T) {
	got := tapedeck(t, "--help")
	for _, word := range []string{"deck", "tape", "short id", "evidence", "part", "grade", "proof", "finding", "oracle", "gate", "docs/glossary.md"} {
		if got.code != exitOK || !strings.Contains(got.stdout, word) {
			t.Errorf("no %q in %s", word, got.stdout)
		}
	}
	if _, err := os.Stat("../../docs/glossary.md"); err != nil {
		t.Error(err)
	}
}
