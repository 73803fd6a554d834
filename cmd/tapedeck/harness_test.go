// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func hexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// exported is the run of an address in another format.
func exported(t *testing.T, url string, args ...string) exactjson.Value {
	t.Helper()
	got := commanded(t, append([]string{"export", url, "--format"}, args...)...)
	if got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	v, err := exactjson.Parse(got.stdout)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWhatTheHarnessKnowsStandsOnTheTapeAndInSnapshots(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	t.Setenv(keyVariable, "0123456789abcdefghijklmnopqrstuvwxyz")
	t.Setenv(agentVariable, "live")
	t.Setenv("OPENAI_BASE_URL", scripted(t)+"/v1")
	t.Setenv("CLERK_MODE", "fast")
	t.Setenv("CLERK_API_KEY", "9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c")
	t.Setenv("CLERK_HOME", filepath.Join(home, "clerk"))
	t.Setenv("OTHER", "not to be seen")
	lay(t, "fixtures", map[string]string{"stock/list.csv": "apples,7\n", "of jane.doe@example.org": "hers", ".git/config": "no fixture"})
	lay(t, "ws", map[string]string{"old.txt": "old", "same.txt": "same", "changed.txt": "before"})
	lay(t, ".", map[string]string{"AGENTS.md": "Count well."})
	if err := os.Symlink("/etc/passwd", "fixtures/out"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("list.csv", "fixtures/stock/again.csv"); err != nil {
		t.Fatal(err)
	}
	got := commanded(t, "record", "--to", "deck", "--task", "count/apples", "--run", "3", "--eval-id", "e-17", "--eval-name", "nightly", "--skill", "counting", "--golden",
		"--rules-active", "no-guessing,be-brief", "--env-allow", "CLERK_*", "--fixtures", "fixtures", "--instructions", filepath.Join(home, "AGENTS.md"), "--workspace", "ws",
		"--check", "test -f ws/new.txt", "--check", "exit 3", "--",
		"/bin/sh", "-c", `printf new > ws/new.txt; rm ws/old.txt; printf after > ws/changed.txt; exec "$0"`, os.Args[0])
	if got.code != exitPartial || !strings.Contains(got.stderr, "check-2 failed with code 3") || !strings.Contains(got.stderr, "CLERK_HOME holds a path") ||
		!strings.Contains(got.stderr, "--fixtures: left out: 1 symlinks") {
		t.Fatalf("%+v", got)
	}
	all := lines(t, got.stdout)
	if len(all) != 1 {
		t.Fatalf("%+v", got)
	}
	shown := commanded(t, "show", "--json", all[0].URL)
	for _, secret := range []string{home, "jane.doe", "9f8a7b6c", "not to be seen", "OTHER", "CLERK_HOME"} {
		if strings.Contains(shown.stdout, secret) {
			t.Errorf("the tape holds %q", secret)
		}
	}
	stored, err := exactjson.Parse(shown.stdout)
	if err != nil {
		t.Fatal(err)
	}
	known := stored.Get("extensions").Get("harness")
	mail := known.Get("fixtures").At(0).Get("path").Str()
	if !strings.HasPrefix(mail, "of [REDACTED:email:") {
		t.Errorf("path %q", mail)
	}
	for path, want := range map[string]string{
		"task_id": `"count/apples"`, "run_number": `3`, "eval_id": `"e-17"`, "eval_name": `"nightly"`, "skill": `"counting"`, "golden": `true`,
		"rules_active": `["no-guessing","be-brief"]`, "env_allow": `["CLERK_*"]`,
		"instructions":      `[{"path":"AGENTS.md","sha256":"` + hexSum("Count well.") + `","size":11}]`,
		"fixtures_left_out": `{"symlinks that lead out of the folder, nowhere or to a folder":1}`,
		"workspace": `[{"operation":"modified","path":"changed.txt","sha256":"` + hexSum("after") + `","sha256_before":"` + hexSum("before") + `","size":5},` +
			`{"operation":"created","path":"new.txt","sha256":"` + hexSum("new") + `","size":3},{"operation":"deleted","path":"old.txt","sha256_before":"` + hexSum("old") + `"}]`,
	} {
		if got := known.Get(path).JSON(); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if n := known.Get("fixtures").Len(); n != 3 { // the list, the symlink to it, the other one
		t.Errorf("%d fixtures: %s", n, known.Get("fixtures").JSON())
	}

	snapshot := exported(t, all[0].URL, "waza")
	for _, c := range []struct {
		at   exactjson.Value
		want string
	}{
		{snapshot.Get("evalId"), `"e-17"`}, {snapshot.Get("evalName"), `"nightly"`}, {snapshot.Get("skill"), `"counting"`},
		{snapshot.Get("task").Get("testId"), `"count/apples"`}, {snapshot.Get("task").Get("golden"), `true`}, {snapshot.Get("task").Get("runNumber"), `3`},
		{snapshot.Get("prompt").Get("instructions").At(0), `{"path":"AGENTS.md","sha256":"` + hexSum("Count well.") + `"}`},
		{snapshot.Get("env").Get("allowList"), `["CLERK_*"]`}, {snapshot.Get("env").Get("captured"), `{"CLERK_API_KEY":"[REDACTED]","CLERK_MODE":"fast"}`},
		{snapshot.Get("result").Get("status"), `"failed"`},
		{snapshot.Get("result").Get("validations").Get("check-1").Get("passed"), `true`}, {snapshot.Get("result").Get("validations").Get("check-2").Get("passed"), `false`},
		{snapshot.Get("fixtures").At(1), `{"path":"stock/again.csv","size":9,"sha256":"` + hexSum("apples,7\n") + `"}`},
		{snapshot.Get("fixtures").At(0).Get("path"), `"of [REDACTED]"`},
	} {
		if got := c.at.JSON(); got != c.want {
			t.Errorf("waza: %s, want %s", got, c.want)
		}
	}
	// A folder of snapshots as waza writes it, with the results.json of the evaluation; both are read again.
	written := commanded(t, "export", all[0].URL, "--snapshot", "snaps", "--results", "results.json")
	results, err := os.ReadFile("results.json")
	if err != nil || written.code != exitOK || !exists("snaps/count_apples-run3.json") {
		t.Fatalf("%v: %+v", err, written)
	}
	for _, want := range []string{`"eval_id": "e-17"`, `"skill": "counting"`, `"test_id": "count/apples"`, `"run_number": 3`, `"snapshot_path": "snaps/count_apples-run3.json"`, `"failed": 1`, `"aggregate_score": 0.5`} {
		if !strings.Contains(string(results), want) {
			t.Errorf("%s is not in %s", want, results)
		}
	}
	if back := commanded(t, "import", "results.json", "--json", "-o", "back"); back.code != exitOK || strings.Contains(back.stdout, "the snapshot says otherwise") || strings.Count(back.stdout, `"run_id"`) != 1 {
		t.Errorf("%+v", back)
	}
	for want, args := range map[string][]string{
		"--results goes with --format waza": {"--format", "aiwg", "-o", "x", "--results", "r.json"},
		"--snapshot DIR stands for":         {"--format", "aiwg", "--snapshot", "x"},
	} {
		if got := commanded(t, append([]string{"export", all[0].URL}, args...)...); got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: %+v", args, got)
		}
	}
	execution := exported(t, all[0].URL, "aiwg")
	if got := execution.Get("agent").Get("rules_active").JSON(); got != `["no-guessing","be-brief"]` {
		t.Errorf("aiwg: rules %s", got)
	}
	if got := execution.Get("inputs").Get("environment").Get("CLERK_MODE").Str(); got != "fast" {
		t.Errorf("aiwg: %s", execution.Get("inputs").Get("environment").JSON())
	}
	if made, given := execution.Get("outputs").Get("artifacts_created"), execution.Get("inputs").Get("context_files"); made.Len() != 3 || made.At(2).Get("operation").Str() != "deleted" || given.Len() != 4 {
		t.Errorf("aiwg: made %s, given %s", made.JSON(), given.JSON())
	}
}

func TestDecksAreNoFilesOfATask(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(keyVariable, "0123456789abcdefghijklmnopqrstuvwxyz")
	t.Setenv(agentVariable, "live")
	t.Setenv("OPENAI_BASE_URL", scripted(t)+"/v1")
	lay(t, ".", map[string]string{"list.csv": "apples,7\n", "earlier/tapedeck.json": "{}", "earlier/runs/a.txt": "a", "deckhand/b.txt": "b"})
	got := commanded(t, "record", "--to", "deck", "--task", "t", "--display-name", "Count the apples", "--fixtures", ".", "--workspace", ".", "--", os.Args[0])
	all := lines(t, got.stdout)
	if len(all) != 1 {
		t.Fatalf("%+v", got)
	}
	again := commanded(t, "record", "--to", "deck", "--task", "t", "--fixtures", ".", "--workspace", ".", "--", os.Args[0])
	for _, run := range append(all, lines(t, again.stdout)...) {
		snapshot := exported(t, run.URL, "waza")
		var paths []string
		for _, m := range snapshot.Get("fixtures").Members() {
			paths = append(paths, m.Value.Get("path").Str())
		}
		if !slices.Equal(paths, []string{"deckhand/b.txt", "list.csv"}) {
			t.Errorf("fixtures %v", paths)
		}
		tp, err := exactjson.Parse(commanded(t, "show", "--json", run.URL).stdout)
		if err != nil {
			t.Fatal(err)
		}
		if changed := tp.Get("extensions").Get("harness").Get("workspace"); changed.Len() != 0 {
			t.Errorf("the run changed %s", changed.JSON())
		}
	}
	snapshot := exported(t, all[0].URL, "waza")
	if got := snapshot.Get("task").Get("displayName").Str(); got != "Count the apples" {
		t.Errorf("display name %q", got)
	}
	if got := snapshot.Get("redaction").Get("policy").Str(); got != "default" {
		t.Errorf("no rule of the user's was used: %q", got)
	}
}

func TestWhatCannotBeTakenDownIsSaidBeforeTheAgentRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	lay(t, ".", map[string]string{"file": "x"})
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--fixtures", "nowhere"}, "--fixtures nowhere: no such file or directory"},
		{[]string{"--workspace", "file"}, "--workspace file: "},
		{[]string{"--instructions", "/dev/null"}, "--instructions /dev/null: it is no file that can be read"},
		{[]string{"--task", "/home/me/task"}, "--task holds a path of this machine"},
		{[]string{"--run", "-1"}, "--run must be"},
	} {
		got := commanded(t, append(append([]string{"record", "--to", "deck"}, c.args...), "--", "/bin/sh", "-c", "touch ran")...)
		if got.code != exitFailed || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
		if exists("ran") {
			t.Errorf("%v: the command ran", c.args)
		}
	}
}

func TestTurnsAreAskedOfOtherModels(t *testing.T) {
	url := recordedAgent(t)
	base := scripted(t) + "/v1"
	t.Setenv("OPENAI_BASE_URL", base)
	got := commanded(t, "replay", url, "--model-only", "--ask", "other")
	if got.code != exitOK || strings.Count(got.stdout, "other: same") != 2 {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--ask", "gone@http://127.0.0.1:1/v1"}, exitFailed, `"failed":2`},
		{[]string{}, exitFailed, "needs --ask MODEL"},
		{[]string{"--ask", "m@http://u:p@h"}, exitFailed, "is no model"},
	} {
		got := commanded(t, append([]string{"replay", url, "--model-only", "--ndjson"}, c.args...)...)
		if got.code != c.code || !strings.Contains(got.stdout+got.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}
