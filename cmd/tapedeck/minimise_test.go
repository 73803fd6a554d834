// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/evaluation/minimise"
	"github.com/tapedeck/tapedeck/tape"
)

// countingScript is a check that fails where a pattern stands in the file that it gets, and counts its calls.
func countingScript(t *testing.T) (command, counts string) {
	t.Helper()
	counts = filepath.Join(t.TempDir(), "count")
	return "sh " + write(t, "check.sh", "echo >> '"+counts+"'\nif grep -q \"$2\" \"$1\"; then exit 7; fi\n") + " {tape}", counts
}

func countOf(t *testing.T, file string) int {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(body, []byte{'\n'})
}

func minimised(t *testing.T, args ...string) (int, minimise.Result) {
	t.Helper()
	got := tapedeck(t, append([]string{"minimise", "--json", "--quiet"}, args...)...)
	var r minimise.Result
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return got.code, r
}

func TestARunIsMinimised(t *testing.T) {
	url := recordedAgent(t)
	command, counts := countingScript(t)
	out := filepath.Join(t.TempDir(), "small.json")
	code, r := minimised(t, url, "--check", command+" apples", "-o", out)
	if code != exitOK || !r.Minimal || r.Failure != "exit code 7" || r.To.Events != 0 || r.To.Characters != len("apples") || r.Checks != countOf(t, counts) {
		t.Errorf("code %d: %+v", code, r)
	}
	if got := tapedeck(t, "verify", out); got.code != exitOK || !strings.HasPrefix(got.stdout, "ok") && !strings.HasPrefix(got.stdout, "un") {
		t.Errorf("%+v", got)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := tape.ReadSealed(data)
	if err != nil || !bytes.Contains(data, []byte("apples")) || !strings.HasPrefix(kept.Run.ReplayRunID, "minimised-") {
		t.Errorf("%v: %.2000s", err, data)
	}
}

func TestAMinimisationGoesOnWhereItWasStopped(t *testing.T) {
	url := recordedAgent(t)
	command, counts := countingScript(t)
	dir := t.TempDir()
	whole, out, state := filepath.Join(dir, "whole.json"), filepath.Join(dir, "small.json"), filepath.Join(dir, "state")
	if code, r := minimised(t, url, "--check", command+" apples", "-o", whole); code != exitOK {
		t.Fatalf("%+v", r)
	}
	once := countOf(t, counts)
	args := []string{url, "--check", command + " apples", "-o", out, "--state", state}
	if code, r := minimised(t, append(args, "--max-checks", "9")...); code != exitPartial || r.Stopped != "max-checks" || r.Checks != 9 {
		t.Errorf("code %d: %+v", code, r)
	}
	code, r := minimised(t, args...)
	if code != exitOK || r.Known != 9 || countOf(t, counts) != 2*once {
		t.Errorf("code %d: %+v; %d checks, %d in one", code, r, countOf(t, counts)-once, once)
	}
	a, errA := os.ReadFile(whole)
	b, errB := os.ReadFile(out)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("%v %v\n%s\n%s", errA, errB, a, b)
	}
	// People are shown the short id.
	if got := tapedeck(t, append([]string{"minimise", "--quiet"}, args...)...); got.code != exitOK || fullID.MatchString(got.stdout) || shortID.FindString(got.stdout) != fullID.FindString(url)[:8] {
		t.Errorf("%+v", got)
	}
	// The folder belongs to this search.
	if got := tapedeck(t, "minimise", url, "--check", command+" pears", "-o", out, "--state", state); got.code != exitFailed || !strings.Contains(got.stderr, "another search") {
		t.Errorf("%+v", got)
	}
}

// A check that kills tapedeck at its 13th call, as the kernel does where memory is short: what was known before is not checked again.
func TestAMinimisationGoesOnAfterAKill(t *testing.T) {
	url := recordedAgent(t)
	command, counts := countingScript(t)
	dir := t.TempDir()
	whole, out := filepath.Join(dir, "whole.json"), filepath.Join(dir, "small.json")
	if code, r := minimised(t, url, "--check", command+" apples", "-o", whole); code != exitOK {
		t.Fatalf("%+v", r)
	}
	once := countOf(t, counts)
	const before = 12
	kills := "sh " + write(t, "kills.sh", fmt.Sprintf("[ \"$(wc -l < '%s')\" -ne %d ] || { echo >> '%[1]s'; kill -9 $PPID; exec sleep 60; }\nexec \"$@\"\n", counts, once+before))
	args := []string{"minimise", "--json", "--quiet", url, "--check", kills + " " + command + " apples", "-o", out, "--state", filepath.Join(dir, "state")}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), agentVariable+"=cli")
	var exit *exec.ExitError
	if said, err := cmd.CombinedOutput(); !errors.As(err, &exit) || exit.ExitCode() >= 0 {
		t.Fatalf("it was not killed: %v\n%s", err, said)
	}
	if _, err := os.Stat(out); err == nil {
		t.Fatal("it came to an end")
	}
	code, r := minimised(t, args[3:]...)
	if now := countOf(t, counts) - once; code != exitOK || r.Known != before || now != once+1 { // the check that was killed is made again
		t.Errorf("code %d: %+v; %d checks, %d in one", code, r, now, once)
	}
	a, errA := os.ReadFile(whole)
	b, errB := os.ReadFile(out)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("%v %v\n%s\n%s", errA, errB, a, b)
	}
}

// The outcomes of another check are not those of this one, though it is called the same.
func TestAChangedCheckDoesNotGoOn(t *testing.T) {
	url := recordedAgent(t)
	script, dir := write(t, "check.sh", "! grep -q apples \"$1\"\n"), t.TempDir()
	args := []string{url, "--check", "sh " + script + " {tape}", "--down-to", "events", "-o", filepath.Join(dir, "small.json"), "--state", filepath.Join(dir, "state")}
	if code, r := minimised(t, args...); code != exitOK {
		t.Fatalf("%+v", r)
	}
	if code, r := minimised(t, args...); code != exitOK || r.Checks != 0 {
		t.Errorf("%+v", r)
	}
	if got := tapedeck(t, append([]string{"minimise", "--check-timeout", "59s"}, args...)...); got.code != exitFailed || !strings.Contains(got.stderr, "other settings") {
		t.Errorf("%+v", got)
	}
	if err := os.WriteFile(script, []byte("! grep -q seven \"$1\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, append([]string{"minimise"}, args...)...); got.code != exitFailed || !strings.Contains(got.stderr, "other programs") {
		t.Errorf("%+v", got)
	}
}

func TestReplaysAreTheTestOfAMinimisation(t *testing.T) {
	url := recordedAgent(t)
	command, _ := countingScript(t)
	dir := t.TempDir()
	t.Setenv(agentVariable, "oracle")
	// The check looks at what the agent did in the replay: it asked for a count. Without the first model call it does not.
	code, r := minimised(t, url, "--down-to", "events", "--check", command+` '"name":"count"'`, "-o", filepath.Join(dir, "small.json"), "--input", "stdin", "--lockdown", "off", "--template", "{{or .user_message \"?\"}}", ofTheAgent[0], ofTheAgent[1], "--", os.Args[0])
	if code != exitOK || !r.Minimal || r.To.Events == 0 || r.To.Events >= r.From.Events {
		t.Errorf("code %d: %+v", code, r)
	}
}

func TestWhatCannotBeMinimisedIsSaid(t *testing.T) {
	url := recordedAgent(t)
	command, _ := countingScript(t)
	there := write(t, "there.json", "{}")
	out := filepath.Join(t.TempDir(), "small.json")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{url}, "--check is missing"},
		{[]string{url, "--check", command + " zebras", "-o", out}, "does not fail on the source"},
		{[]string{url, "--check", "sh -c 'exit 125'", "-o", out}, "could not tell"},
		{[]string{url, "--check", "/nonexistent/check", "-o", out}, "could not be run"},
		{[]string{url, "--check", command + " apples", "-o", there}, "is there already"},
		{[]string{url, "--check", "'", "-o", out}, "is not closed"},
		{[]string{url, "--check", "true", "--down-to", "atoms"}, "is unknown"},
		{[]string{url, "--check", "true", "--max-checks", "-1"}, "must not be negative"},
		{[]string{url, "--check", "true", "--check-timeout", "0s"}, "must be positive"},
		{[]string{url, url, "--check", "true"}, "takes one REF"},
		{[]string{url, "--check", "true", "--"}, "no command behind"},
		{[]string{url, "--check", "true", "-o", out, "--", "/nonexistent/agent"}, "could not be run"},
	} {
		if got := tapedeck(t, append([]string{"minimise"}, c.args...)...); got.code != exitFailed || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was written")
	}
}
