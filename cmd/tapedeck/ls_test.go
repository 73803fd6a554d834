// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLsAndStatsAnswerTheSameInBothLayouts, whichever filter, order and form is asked for.
func TestLsAndStatsAnswerTheSameInBothLayouts(t *testing.T) {
	files, reels := bothLayouts(t)
	// common leaves out what the layouts know apart from each other: how evidence came, and how the deck is stored.
	common := func(text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			var object map[string]any
			if json.Unmarshal([]byte(line), &object) == nil {
				for _, name := range []string{"evidence_bytes", "part", "parts", "producer", "formats", "files", "complete", "layout", "objects", "stored_bytes"} {
					delete(object, name)
				}
				sorted, err := json.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				line = string(sorted) + "\n"
			}
			b.WriteString(line)
		}
		return b.String()
	}
	for _, args := range [][]string{
		{"ls"}, {"ls", "--format", "table"}, {"ls", "--format", "json"}, {"ls", "--format", "refs"}, {"ls", "--sort", "agent", "--limit", "5", "--format", "table"},
		{"ls", "--sort", "-tool_calls", "--columns", "tool_calls,run_id", "--format", "table"}, {"ls", "--area", "replays"}, {"ls", "--is", "area=runs"},
		{"ls", "--where", "status = 'error' OR tool_calls > 2"}, {"ls", "--where", "tools = 'http_request' AND NOT status IN ('ok', 'x')"},
		{"ls", "--where", "agent IS NULL"}, {"ls", "--where", "area <> 'runs'"}, {"ls", "--where", "user_message LIKE '%the%' AND started_at >= '2025-01-01'", "--format", "json"},
		{"ls", "--status", "error"}, {"ls", "--tool", "http_request"}, {"ls", "--grade", "offline", "--model", "gpt-4o"}, {"ls", "--is", "models=gpt-4o", "--is", "status=ok"},
		{"ls", "--since", "2026-01-01", "--until", "2027-01-01", "--area", "runs"}, {"ls", "--since", "2030-01-01"}, {"ls", "--tenant", "default"}, {"ls", "--tenant", "nobody"},
		{"ls", "--finding", "masked"}, {"stats", "--json"}, {"stats", "--status", "error", "--json"},
	} {
		var got [2]result
		for i, address := range []string{files, reels} {
			got[i] = tapedeck(t, append(args, address)...)
			got[i].stdout = common(sameKeys(strings.ReplaceAll(got[i].stdout, reels, files)))
		}
		if diff := cmp.Diff(got[0], got[1], cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%v:\n%.3000s", args, diff)
		}
		if got[0].code != exitOK {
			t.Errorf("%v: %v", args, got[0])
		}
	}
}

func TestLsFiltersAndOrders(t *testing.T) {
	_, reels := bothLayouts(t)
	list := func(args ...string) (runs []map[string]any) {
		t.Helper()
		got := tapedeck(t, append(args, reels, "--format", "json")...)
		if got.code != exitOK {
			t.Fatal(got)
		}
		for text := range strings.Lines(got.stdout) {
			var run map[string]any
			if err := json.Unmarshal([]byte(text), &run); err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run)
		}
		return runs
	}
	all := list("ls")
	if len(all) < 15 {
		t.Fatalf("%d runs", len(all))
	}
	for i := range all[1:] {
		a, b := all[i]["started_at"].(string), all[i+1]["started_at"].(string)
		x, err := time.Parse(time.RFC3339Nano, a)
		y, err2 := time.Parse(time.RFC3339Nano, b)
		if err != nil || err2 != nil || x.Before(y) {
			t.Errorf("%s stands before %s", a, b)
		}
	}
	forgeRuns := list("ls", "--is", "run_id="+forgeRun)
	if len(forgeRuns) != 1 || forgeRuns[0]["run_id"] != forgeRun {
		t.Fatal(forgeRuns)
	}
	tool := forgeRuns[0]["tools"].([]any)[0].(string)
	with := 0
	for _, run := range all {
		if tools, _ := run["tools"].([]any); strings.Contains(","+joinAny(tools)+",", ","+tool+",") {
			with++
		}
	}
	if got := list("ls", "--tool", tool); len(got) != with || with == 0 {
		t.Errorf("%d runs called %s, %d are listed", with, tool, len(got))
	}
	if got := list("ls", "--limit", "3"); len(got) != 3 || got[0]["run_id"] != all[0]["run_id"] {
		t.Error(got)
	}
	if got := tapedeck(t, "ls", reels, "--format", "refs", "--is", "run_id="+forgeRun); tapedeck(t, "show", strings.TrimSpace(got.stdout)).code != exitOK {
		t.Error("a ref of ls is none:", got)
	}
	var stats deckStats
	if err := json.Unmarshal([]byte(tapedeck(t, "stats", reels, "--json").stdout), &stats); err != nil || stats.Runs != len(all) || stats.Layout != "reels" || stats.Objects != 2 {
		t.Error(stats, err)
	}
}

// A pipe gets the table too, whose lines a person can read, and addresses only where it asks for them.
func TestLsIntoAPipeIsTheTable(t *testing.T) {
	files, _ := bothLayouts(t)
	refs := tapedeck(t, "ls", files, "--format", "refs")
	table := tapedeck(t, "ls", files)
	if !strings.HasSuffix(strings.TrimSpace(refs.stdout), "tape.json") || table.stdout != tapedeck(t, "ls", files, "--format", "table").stdout {
		t.Errorf("%q, refs %q", table.stdout, refs.stdout)
	}
	for line := range strings.Lines(table.stdout) {
		if len([]rune(line)) > 180 || strings.Contains(line, "tape.json") {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
	if got := tapedeck(t, "ls", files, "--json", "--format", "refs"); got.code != exitFailed || !strings.Contains(got.stderr, "--json and --format refs exclude each other") {
		t.Errorf("%+v", got)
	}
	if a, b := tapedeck(t, "ls", files, "--json"), tapedeck(t, "ls", files, "--format", "json"); a != b {
		t.Errorf("%+v, %+v", a, b)
	}
}

func joinAny(list []any) string {
	var texts []string
	for _, v := range list {
		texts = append(texts, v.(string))
	}
	return strings.Join(texts, ",")
}

func TestLsRefusesWhatItDoesNotKnow(t *testing.T) {
	_, reels := bothLayouts(t)
	for want, args := range map[string][]string{
		"there is no column": {"--columns", "x"}, "want COLUMN=VALUE": {"--is", "x=1"}, "is no time": {"--since", "soon"}, "--area must be": {"--area", "x"},
		"--where: at character 9: want": {"--where", "status ="}, "--format must be": {"--format", "x"}, "must not be negative": {"--limit", "-1"},
	} {
		if got := tapedeck(t, append([]string{"ls", reels}, args...)...); got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: %v", args, got)
		}
	}
}

// replayOfForge is the telemetry of a replay of the run in forge.
func replayOfForge(t *testing.T) string {
	t.Helper()
	plain, err := os.ReadFile(forge)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(string(plain), forgeRun[:32], traceOf("5"))
	return write(t, "replay.json", strings.Replace(other, `"attributes": [`,
		`"attributes": [{"key":"replay_run_id","value":{"stringValue":"r-1"}},{"key":"replay_of","value":{"stringValue":"`+forgeRun+`"}},`, 1))
}

// A replay of a run is no second run of production, in no list and in no sum.
func TestReplaysAreNoRunsOfProduction(t *testing.T) {
	for _, layout := range []string{"files", "reels"} {
		dir := t.TempDir()
		if got := tapedeck(t, "derive", "--redact", "off", "--no-join", "--to", dir, "--layout", layout, forge, replayOfForge(t)); got.code != exitOK || len(lines(t, got.stdout)) != 2 {
			t.Fatal(got)
		}
		for _, c := range []struct {
			args   []string
			runs   int
			column bool // an area column
		}{
			{nil, 1, false}, {[]string{"--area", "runs"}, 1, false}, {[]string{"--area", "replays"}, 1, false}, {[]string{"--area", "all"}, 2, true},
			{[]string{"--replay-of", forgeRun}, 1, false}, {[]string{"--where", "area = 'replays'"}, 1, false}, {[]string{"--where", "area IN ('replays', 'runs')"}, 2, true},
			{[]string{"--is", "area=replays"}, 1, false}, {[]string{"--where", "replay_of IS NOT NULL"}, 1, false}, {[]string{"--where", "tool_calls >= 0"}, 1, false},
		} {
			table := tapedeck(t, append([]string{"ls", dir, "--format", "table"}, c.args...)...)
			rows := strings.Split(strings.TrimSpace(table.stdout), "\n")
			if table.code != exitOK || len(rows) != 1+c.runs || slices.Contains(strings.Fields(rows[0]), "area") != c.column {
				t.Errorf("%s, ls %v: %+v", layout, c.args, table)
			}
			var stats deckStats
			if err := json.Unmarshal([]byte(tapedeck(t, append([]string{"stats", dir, "--json"}, c.args...)...).stdout), &stats); err != nil || stats.Runs != c.runs || len(stats.Areas) != c.runs {
				t.Errorf("%s, stats %v: %+v, %v", layout, c.args, stats, err)
			}
		}
	}
}

// A run of several traces is listed once it is derived, also where its traces have no tapes of their own.
func TestJoinedRunsAreRunsOfProduction(t *testing.T) {
	for layout, fragments := range map[string]int{"files": 0, "reels": 4} {
		dir := t.TempDir()
		if got := tapedeck(t, append([]string{"derive", "--redact", "off", "--to", dir, "--layout", layout}, tornRun(t)...)...); got.code != exitOK {
			t.Fatal(got)
		}
		listed := tapedeck(t, "ls", dir, "--format", "refs")
		if listed.code != exitOK || strings.Count(listed.stdout, "\n") != 1+fragments || strings.Count(listed.stdout, "/joined/") != 1 {
			t.Errorf("%s: %+v", layout, listed)
		}
		var stats deckStats
		if err := json.Unmarshal([]byte(tapedeck(t, "stats", dir, "--json").stdout), &stats); err != nil || stats.Runs != 1+fragments || stats.Areas["joined"] != 1 {
			t.Errorf("%s: %+v, %v", layout, stats, err)
		}
		if got := tapedeck(t, "ls", dir, "--area", "runs", "--format", "refs"); strings.Count(got.stdout, "\n") != fragments {
			t.Errorf("%s: %+v", layout, got)
		}
	}
}
