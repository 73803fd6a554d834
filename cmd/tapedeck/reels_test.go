// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
)

// recordings are some of the recorded runs.
func recordings(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../../testdata/corpus/agents/*/tool_error_retry.otlp.json")
	if err != nil || len(all) < 20 {
		t.Fatal(all, err)
	}
	slices.Sort(all)
	return append(all[:20], forge)
}

// bothLayouts derives the same telemetry into a deck of files and one of reels.
func bothLayouts(t *testing.T) (files, reels string) {
	t.Helper()
	return layoutsOf(t, recordings(t))
}

func layoutsOf(t *testing.T, telemetry []string) (files, reels string) {
	t.Helper()
	folder := t.TempDir()
	files, reels = filepath.Join(folder, "deck-a"), filepath.Join(folder, "deck-b")
	var out [2]string
	for i, deck := range []string{files, reels} {
		layout := []string{"files", "reels"}[i]
		got := tapedeck(t, append([]string{"derive", "--redact", "off", "--no-join", "--to", deck, "--layout", layout}, telemetry...)...)
		if got.code != exitOK {
			t.Fatal(got)
		}
		out[i] = sameKeys(strings.ReplaceAll(got.stdout, "deck-b", "deck-a"))
	}
	if diff := cmp.Diff(out[0], out[1]); diff != "" {
		t.Fatalf("derive reports other tapes:\n%s", diff)
	}
	return files, reels
}

// ofRun is the beginning of the address of a run: the layout of files has another sign in it than what a deck of reels shows.
var ofRun = regexp.MustCompile(`(g\d{10}-r\d{4}-[0-9a-f]{64})[./]([0-9a-f]{16})`)

// shortened is such an address where a report has no room for it.
var shortened = regexp.MustCompile(`…\S*tape\.json`)

func sameKeys(text string) string {
	return shortened.ReplaceAllString(ofRun.ReplaceAllString(text, "$1/$2"), "…tape.json")
}

// TestEveryCommandAnswersTheSameInBothLayouts: no command knows which one it has.
func TestEveryCommandAnswersTheSameInBothLayouts(t *testing.T) {
	files, reels := bothLayouts(t)
	made := lines(t, tapedeck(t, "derive", "--redact", "off", "--no-join", "--to", files, recordings(t)[0], forge).stdout)
	if len(made) < 2 {
		t.Fatal(made)
	}
	for _, args := range [][]string{
		{"show", made[0].RunID, "--deck", "DECK"},
		{"show", made[0].TraceID[:10], "--deck", "DECK", "--json"},
		{"show", "TAPE"},
		{"show", "FOLDER"},
		{"show", "file://TAPE"},
		{"verify", "DECK"},
		{"verify", "TAPE"},
		{"verify", "DECK", "--secrets"},
		{"replay", "DECK"},
		{"replay", made[0].TraceID, "--deck", "DECK", "--ndjson"},
		{"bisect", made[0].RunID, made[1].RunID, "--deck", "DECK"},
		{"diff", made[0].RunID, made[1].RunID, "--deck", "DECK"},
		{"match", made[0].RunID, made[1].RunID, "--deck", "DECK"},
		{"export", made[0].RunID, "--deck", "DECK", "--format", "otlp", "-o", "-"},
		{"export", made[0].RunID, "--deck", "DECK", "--format", "waza", "-o", "-"},
		{"oracle", "lint", "DECK"},
		{"oracle", "derive", made[0].RunID, "--deck", "DECK"},
		{"doctor", "DECK"},
		{"join", "DECK"},
		{"gc", "DECK", "--days", "1"},
		{"gc", "DECK", "--days", "30000", "--failure-days", "30000"},
		{"show", "no-such-run", "--deck", "DECK"},
		{"show", "ffffffff", "--deck", "DECK"},
	} {
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			var got [2]result
			missing := args[0] == "show" && (args[1] == "no-such-run" || args[1] == "ffffffff")
			for i, deck := range []string{files, reels} {
				at := strings.ReplaceAll(strings.TrimPrefix(made[0].URL, "file://"), files, deck)
				if i == 1 {
					at = sameKeys(at)
				}
				with := slices.Clone(args)
				for j := range with {
					with[j] = strings.NewReplacer("DECK", deck, "TAPE", at, "FOLDER", filepath.Dir(at)).Replace(with[j])
				}
				got[i] = tapedeck(t, with...)
				got[i].stdout, got[i].stderr = sameKeys(strings.ReplaceAll(got[i].stdout, reels, files)), sameKeys(strings.ReplaceAll(got[i].stderr, reels, files))
			}
			if diff := cmp.Diff(got[0], got[1], cmp.AllowUnexported(result{})); diff != "" {
				t.Errorf("%v answers\n%.3000s", args, diff)
			}
			if (got[0].code == exitFailed) != missing {
				t.Errorf("%v: %v", args, got[0])
			}
			if got[0].stdout+got[0].stderr == "" && args[0] != "gc" && args[0] != "join" {
				t.Errorf("%v says nothing", args)
			}
		})
	}
}

// ofLate is a recording with another trace id whose last span ends now: what retention keeps whenever the tests run.
func ofLate(t *testing.T, recording string) (path, traceID string) {
	t.Helper()
	text, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	times := regexp.MustCompile(`(imeUnixNano":\s*")(\d+)`)
	last := int64(0)
	for _, found := range times.FindAllSubmatch(text, -1) {
		at, err := strconv.ParseInt(string(found[2]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		last = max(last, at)
	}
	later := time.Now().UnixNano() - last
	text = times.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := times.FindSubmatch(found)
		at, _ := strconv.ParseInt(string(parts[2]), 10, 64)
		return strconv.AppendInt(parts[1], at+later, 10)
	})
	traceID = "0123456789abcdef0123456789abcdef"
	text = regexp.MustCompile(`(raceId":\s*")[0-9a-f]{32}`).ReplaceAll(text, []byte("${1}"+traceID))
	path = filepath.Join(t.TempDir(), "late.otlp.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, traceID
}

// TestWhatIsCollectedLeavesTheReels: gc ends with the reels written again, or gone.
func TestWhatIsCollectedLeavesTheReels(t *testing.T) {
	all := recordings(t)
	late, kept := ofLate(t, all[0])
	files, reels := layoutsOf(t, append(all, late))
	var sums [2]string
	for i, address := range []string{files, reels} {
		got := tapedeck(t, "gc", address, "--days", "1", "--yes")
		if got.code != exitOK {
			t.Fatal(got)
		}
		sums[i] = strings.ReplaceAll(got.stdout, reels, files)
	}
	if diff := cmp.Diff(len(strings.Split(sums[0], "\n")), len(strings.Split(sums[1], "\n"))); diff != "" {
		t.Error(diff)
	}
	d, err := deck.Open(t.Context(), reels)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var left []string
	for entries, err := range view.Catalog(d).Walk(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, entries[0].TraceID)
	}
	if diff := cmp.Diff([]string{kept}, left); diff != "" || !strings.Contains(sums[1], `"removed":true`) || strings.Contains(sums[1], kept) {
		t.Errorf("the reels hold\n%s\n%s", diff, sums[1])
	}
}

func TestALayoutIsWhatItIs(t *testing.T) {
	deck := t.TempDir() + "/deck"
	if got := tapedeck(t, "derive", "--redact", "off", forge, "--to", deck, "--layout", "reels"); got.code != exitOK {
		t.Fatal(got)
	}
	if got := tapedeck(t, "derive", "--redact", "off", forge, "--to", deck, "--layout", "files"); got.code != exitFailed || !strings.Contains(got.stderr, "it is a deck of reels, not of files") {
		t.Error(got)
	}
	if got := tapedeck(t, "derive", "--redact", "off", forge, "--to", deck); got.code != exitOK {
		t.Error("the layout of a deck is not taken from the deck:", got)
	}
	if got := tapedeck(t, "derive", "--redact", "off", forge, "--to", deck, "--layout", "x"); got.code != exitFailed || !strings.Contains(got.stderr, "--layout must be") {
		t.Error(got)
	}
}
