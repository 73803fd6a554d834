// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/rerun"
)

const plantedToken = "ghp_Zk3vQ9rT7mW2xY8bN4cL6dF1gH5jK0pSaR2e"

// shellModel has the agent run commands, one after the other, and then says the last result.
func shellModel(t *testing.T, commands ...string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Messages []chatMessage }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		done := 0
		for _, m := range body.Messages {
			if m.Role == "tool" {
				done++
			}
		}
		message, finish := map[string]any{"role": "assistant", "content": "All is done."}, "stop"
		if done < len(commands) {
			args, err := json.Marshal(map[string]string{"command": commands[done]})
			if err != nil {
				panic(err)
			}
			message, finish = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": fmt.Sprint("call_", done), "type": "function", "function": map[string]any{"name": "bash", "arguments": string(args)}}}}, "tool_calls"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// contentsOf is what a folder holds, by path.
func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		all[path] = string(body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// recordedShell records an agent that works with a shell in a workspace, and returns the address of the tape
// and the workspace, which the agent has changed.
func recordedShell(t *testing.T) (url, ws string) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv(countsVariable, "6") // the agent does not give up before
	t.Setenv(keyVariable, "0123456789abcdefghijklmnopqrstuvwxyz")
	lay(t, home, map[string]string{".agent/settings": "mine"})
	ws = filepath.Join(t.TempDir(), "ws")
	lay(t, ws, map[string]string{"notes.txt": "Notes\nThe token is " + plantedToken + "\n", "src/version": "1\n", "build/out": "made", ".gitignore": "build/\n"})
	for _, args := range [][]string{{"init", "-q", "-b", "trunk"}, {"add", "-A"}, {"-c", "user.name=n", "-c", "user.email=a@b.c", "commit", "-q", "-m", "begin"}} {
		if out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", ws}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	lay(t, ws, map[string]string{"src/version": "2\n"}) // not committed
	t.Chdir(ws)
	t.Setenv(agentVariable, "live")
	t.Setenv("OPENAI_BASE_URL", shellModel(t,
		"echo ran > ran; cat notes.txt", "git status --short && git diff -U0 | tail -n 2 && git branch --show-current", "echo 3 > src/version && echo new > src/new && rm notes.txt && ls -A", "cat "+ws+"/src/version",
		"cat $HOME/.agent/settings && echo other > $HOME/.agent/settings && cat $HOME/.agent/settings", "echo $"+stockVariable)+"/v1")
	got := commanded(t, "record", "--to", filepath.Join(t.TempDir(), "deck"), "--workspace", ".", "--", os.Args[0])
	all := lines(t, got.stdout)
	if got.code != exitOK || len(all) != 1 || all[0].ToolCalls != 6 {
		t.Fatalf("%+v", got)
	}
	if !strings.Contains(got.stderr, "1 contents of folders ignored by git, 1 named .git") {
		t.Errorf("%s", got.stderr)
	}
	lay(t, home, map[string]string{".agent/settings": "mine"}) // as it was
	return all[0].URL, ws
}

func layersOf(r rerun.Report) (list []rerun.Layer) {
	for _, c := range r.Tools {
		list = append(list, c.Layer)
	}
	return slices.Compact(list)
}

// An agent that runs its tools itself does so in a copy of what the folder held when it was recorded, and the
// folder stays as it is.
func TestToolsRunInACopyOfTheRecordedWorkspace(t *testing.T) {
	url, ws := recordedShell(t)
	for file, body := range contentsOf(t, strings.TrimPrefix(url[:strings.Index(url, "/deck/")+5], "file://")) {
		if strings.Contains(body, plantedToken) {
			t.Errorf("%s holds the secret", file)
		}
	}
	// the folder of today is another one
	lay(t, ws, map[string]string{"src/version": "9\n", "late": "x"})
	before, home := contentsOf(t, ws), contentsOf(t, os.Getenv("HOME"))
	code, r := replayed(t, "live", url)
	if code != exitOK || failed(r) != "" || !slices.Equal(layersOf(r), []rerun.Layer{rerun.LayerCopy}) || len(r.Tools) != 6 {
		t.Fatalf("code %d: %s: %+v\n%s -> %s", code, failed(r), r.Copy, r.Comparison.First.Differences[0].A.JSON(), r.Comparison.First.Differences[0].B.JSON())
	}
	if c := r.Copy; c.Ran != 6 || c.AsRecorded != 6 || c.NotRecorded != 0 || !slices.Equal(c.Of.Redacted, []string{"notes.txt"}) || !c.Of.Git || c.LeftOut["contents of folders ignored by git"] != 1 || c.At != ws {
		t.Errorf("%+v", c)
	}
	var changed []string
	for _, f := range r.Evidence.Files {
		changed = append(changed, f.In+" "+f.Operation+" "+f.Path)
	}
	for _, want := range []string{"workspace deleted notes.txt", "workspace created src/new", "workspace modified src/version", "home modified .agent/settings"} {
		if !slices.Contains(changed, want) {
			t.Errorf("%q is not among %q", want, changed)
		}
	}
	if !r.Evidence.Watched || !slices.ContainsFunc(r.Evidence.Programs, func(p rerun.Started) bool {
		return filepath.Base(p.Path) == "sh" && strings.Contains(p.Command, "cat notes.txt")
	}) {
		t.Errorf("%+v", r.Evidence)
	}
	same := func() {
		t.Helper()
		for name, want := range before {
			if body, err := os.ReadFile(name); string(body) != want {
				t.Errorf("%s: %q, %v", name, body, err)
			}
		}
		if now := contentsOf(t, ws); len(now) != len(before) {
			t.Errorf("%d files, not %d", len(now), len(before))
		}
	}
	same()
	for name, want := range home {
		if body, err := os.ReadFile(name); string(body) != want {
			t.Errorf("%s: %q, %v", name, body, err)
		}
	}

	// a tool that returns something else is named
	t.Setenv(stockVariable, "eight")
	code, r = replayed(t, "live", url)
	if code != exitPartial || !strings.Contains(failed(r), "tools that ran in the copy did as recorded") || r.Copy.AsRecorded != 5 || len(r.Copy.Different) != 1 || !strings.Contains(r.Copy.Different[0], "differs in result") {
		t.Errorf("code %d: %s: %+v", code, failed(r), r.Copy)
	}
	t.Setenv(stockVariable, "")

	// an agent that asks for the recorded answer, and runs the tool all the same, is found out
	code, r = replayed(t, "both", url)
	if code != exitPartial || failed(r) != "what was seen agrees with what the report says" || !slices.Equal(layersOf(r), []rerun.Layer{rerun.LayerOracle}) ||
		len(r.Evidence.Contradictions) != 6 || !strings.Contains(r.Evidence.Contradictions[0], "sh was started with the command of bash, event 2 of the replay, which is said to be answered by oracle") {
		t.Errorf("code %d: %s: %+v", code, failed(r), r.Evidence)
	}
	same()

	// where the folder is gone its place is made
	away := ws + "-away"
	if err := os.Rename(ws, away); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(away))
	if code, r = replayed(t, "live", url); code != exitOK || r.Copy.At != ws || exists(ws) {
		t.Errorf("code %d: %s", code, failed(r))
	}
}

// Without a copy nothing is said of one, and what runs runs in the folder.
func TestAWorkspaceIsCopiedWhereThatIsPossibleAndWanted(t *testing.T) {
	url, ws := recordedShell(t)
	lay(t, ws, map[string]string{"notes.txt": "other"})
	code, r := replayed(t, "live", url, "--lockdown", "off")
	if code != exitOK || !strings.Contains(r.Copy.Promise, "nothing kept them from files outside") || r.Copy.At == ws || r.Evidence.Watched || exists(r.Copy.At) {
		t.Errorf("code %d: %s: %+v", code, failed(r), r.Copy)
	}
	code, r = replayed(t, "live", url, "--tools", "recorded-only")
	if code != exitPartial || !strings.Contains(failed(r), "no tool ran live") || r.Copy != nil || r.NoCopy != "--tools recorded-only" || !slices.Equal(layersOf(r), []rerun.Layer{rerun.LayerLive}) {
		t.Errorf("code %d: %s: %+v", code, failed(r), r.Copy)
	}
	if !slices.ContainsFunc(r.Evidence.Files, func(f rerun.ChangedFile) bool {
		return f.In == rerun.InFolder && f.Kept && f.Path == "ran" && f.Operation == "modified"
	}) {
		t.Errorf("%+v", r.Evidence.Files)
	}
	alone := filepath.Join(t.TempDir(), "tape.json")
	body, err := os.ReadFile(strings.TrimPrefix(url, "file://"))
	if err == nil {
		err = os.WriteFile(alone, body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, r = replayed(t, "live", alone); code != exitPartial || r.Copy != nil || !strings.Contains(r.NoCopy, "the contents lie in the deck") {
		t.Errorf("code %d: %+v", code, r)
	}
	got := commanded(t, "record", "--to", filepath.Join(t.TempDir(), "deck"), "--workspace-ignored", "--", os.Args[0])
	if got.code != exitFailed || !strings.Contains(got.stderr, "--workspace-ignored needs --workspace") {
		t.Errorf("%+v", got)
	}
}
