// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestTelemetryIsShownAndComparedWithoutADeck: what derive would make of it, and nothing is written.
func TestTelemetryIsShownAndComparedWithoutADeck(t *testing.T) {
	dir, _ := newDeck(t)
	want := tapedeck(t, "show", forgeRun, "--deck", dir)
	work := t.TempDir()
	t.Chdir(work)
	file := write(t, "traces.jsonl", readAll(t, filepath.Join(dir0, forge)))
	if got := tapedeck(t, "show", file); got.code != exitOK || got.stdout != want.stdout {
		t.Errorf("%+v, want %s", got, want.stdout)
	}
	for _, command := range []string{"bisect", "diff"} {
		if got := tapedeck(t, command, file, forgeRun, "--deck", dir); got.code != exitOK {
			t.Errorf("%s: %+v", command, got)
		}
	}
	if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
	none := write(t, "none.json", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"GET"}]}]}]}`)
	if got := tapedeck(t, "show", none); got.code != exitFailed || !strings.Contains(got.stderr, "holds no run of an agent") {
		t.Errorf("%+v", got)
	}
}

// dir0 is where the tests start.
var dir0, _ = os.Getwd()

func readAll(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEveryCommandSaysWhatAFileIs(t *testing.T) {
	waza, _ := filepath.Abs(wazaCorpus)
	snapshots := t.TempDir()
	if got := tapedeck(t, "export", "testdata/full", "--format", "aiwg", "--flat", "-o", snapshots); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	aiwg, _ := filepath.Glob(snapshots + "/*.json")
	oracle := plainOracle(t, "sun")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"verify", forge}, "tapedeck derive forge_happy.otlp.json --to DECK"},
		{[]string{"replay", forge}, "tapedeck derive"},
		{[]string{"export", forge, "--format", "waza"}, "tapedeck derive"},
		{[]string{"match", forge, forge}, "tapedeck derive"},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--oracle", forge}, "tapedeck derive"},
		{[]string{"oracle", "lint", forge}, "tapedeck derive"},
		{[]string{"match", waza, waza}, "replay --bisect"},
		{[]string{"show", waza}, "tapedeck replay"},
		{[]string{"serve", "--listen", "127.0.0.1:0", "--oracle", waza}, "tapedeck replay"},
		{[]string{"show", aiwg[0]}, "tapedeck match"},
		{[]string{"show", oracle}, "tapedeck serve --oracle"},
		{[]string{"verify", oracle}, "tapedeck serve --oracle"},
	} {
		if got := tapedeck(t, c.args...); got.code != exitFailed || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: no %q in %+v", c.args, c.want, got)
		}
	}
}

func TestADeckThatIsNotThereIsSaidToBeMissing(t *testing.T) {
	nowhere, empty := filepath.Join(t.TempDir(), "nowhere"), t.TempDir()
	for _, args := range [][]string{
		{"show", "4bf92f35", "--deck", "DECK"}, {"verify", "4bf92f35", "--deck", "DECK"}, {"serve", "--oracle", "4bf92f35", "--deck", "DECK"},
		{"bisect", "4bf92f35", "4bf92f36", "--deck", "DECK"}, {"gc", "DECK"}, {"join", "DECK"}, {"scrub", "DECK"}, {"resolve", "DECK", "--allow", "/x"},
	} {
		for deck, want := range map[string]string{nowhere: "there is no deck at " + nowhere + ": no such folder", "file://" + nowhere: nowhere + ": no such folder",
			empty: "holds no deck", write(t, "file", ""): "it is a file"} {
			line := strings.Split(strings.ReplaceAll(strings.Join(args, "\x00"), "DECK", deck), "\x00")
			if got := tapedeck(t, line...); got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, want) {
				t.Errorf("%v: no %q in %+v", line, want, got)
			}
		}
	}
	if _, err := os.Stat(nowhere); err == nil {
		t.Error("it was made")
	}
}

// TestTheAdviceForADeckIsTheCommandItself: each command says how it takes one run of a deck.
func TestTheAdviceForADeckIsTheCommandItself(t *testing.T) {
	dir, _ := newDeck(t)
	for _, args := range [][]string{{"oracle", "derive", dir}, {"oracle", "lookup", dir, "--tool", "t", "--args", "{}"}, {"request", dir}, {"bisect", dir, dir}, {"match", dir, dir}} {
		command := strings.Join(args[:slices.Index(args, dir)], " ")
		if got := tapedeck(t, args...); got.code != exitFailed || !strings.Contains(got.stderr, "name a run with: tapedeck "+command+" ID --deck "+dir) {
			t.Errorf("%v: %+v", args, got)
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
	if got.code != exitOK || got.stderr != "" || strings.Count(got.stdout, "\n") != 2 || !strings.Contains(got.stdout, "4bf92f35  2026-11-20T16:19:00Z  ok           offline    3 events  runs  default  stock-helper\n") {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "show", dir, "--json"); got.code != exitOK || json1(t, got.stdout, "run_id") != forgeRun || json1(t, got.stdout, "grade") != "offline" {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "show", "00000000", "--deck", dir); got.code != exitFailed || got.stderr == "" {
		t.Errorf("%+v", got)
	}
}

// tapeIDs change with the version of the producer.
var tapeIDs = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

func TestShowWritesAPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.html")
	got := tapedeck(t, "show", "testdata/full", "--html", file)
	if got.code != exitOK || got.stdout != "" || !strings.Contains(got.stderr, "run.html: ") {
		t.Fatalf("%+v", got)
	}
	text := readAll(t, file)
	for _, want := range []string{"<!DOCTYPE html>", "default-src &#39;none&#39;", `id="event-1"`, "tapedeck verify testdata/full"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s on the page", want)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read the page: %v %v", info.Mode(), err)
	}
	if got := tapedeck(t, "show", "testdata/full", "--html", file, "--json"); got.code != exitFailed {
		t.Errorf("%+v", got)
	}
}

func TestShowSomeEvents(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^ +(\d+) (?:model|tool|agent|fetch) `)
	numbers := func(flags ...string) (list []string) {
		got := tapedeck(t, append([]string{"show", "testdata/full"}, flags...)...)
		if got.code != exitOK {
			t.Fatalf("%+v", got)
		}
		for _, m := range rows.FindAllStringSubmatch(got.stdout, -1) {
			list = append(list, m[1])
		}
		return list
	}
	all := numbers()
	if len(all) < 4 {
		t.Fatal(all)
	}
	for text, want := range map[string][]string{"2-3": {"2", "3"}, "2": {"2"}, "-2": {"1", "2"}, "3-": all[2:], "900-": nil} {
		if got := numbers("--events", text); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for _, bad := range []string{"-", "0", "x", "3-2", "1-x", "--", "99999999999999999999"} {
		if got := tapedeck(t, "show", "testdata/full", "--events="+bad); got.code != exitFailed || !strings.Contains(got.stderr, "want 7, 3-9, 40- or -5") {
			t.Errorf("%s: %+v", bad, got)
		}
	}
}

func TestPagerOf(t *testing.T) {
	for _, c := range []struct {
		own, general string
		want         []string
	}{{"more -s", "less", []string{"more", "-s"}}, {"", "most", []string{"most"}}, {"cat", "less", nil}} {
		got := pagerOf(func(name string) string { return map[string]string{"TAPEDECK_PAGER": c.own, "PAGER": c.general}[name] })
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
