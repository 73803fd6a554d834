// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/evaluation/suite"
)

// caseOfTheDocuments is the case that docs/evaluate.md shows.
func caseOfTheDocuments(t *testing.T) []byte {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(documentRoot, "docs", "evaluate.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?ms)^```yaml\n(# checks/stock/case.yaml\n.*?)^```$").FindSubmatch(page)
	if found == nil {
		t.Fatal("docs/evaluate.md shows no case for suite check")
	}
	return found[1]
}

// caseFile writes the file of a case, and returns its name.
func caseFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The program itself does what the page says, with the case that it shows.
func TestTheCaseOfTheDocumentsHoldsForItsRun(t *testing.T) {
	d := madeDeck(t)
	dir := filepath.Join(t.TempDir(), "checks", "stock")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, suite.CaseFile)
	body := caseOfTheDocuments(t)
	program := func(args ...string) (string, int) {
		if err := os.WriteFile(file, body, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"suite", "check"}, args...)...)
		cmd.Env = append(os.Environ(), programVariable+"=1")
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, args := range [][]string{{file, "4bf92f35", "--deck", d}, {filepath.Dir(dir), "--deck", d}} {
		if out, code := program(args...); code != exitOK || out != "stock: the run holds\n" {
			t.Errorf("%v: code %d: %s", args, code, out)
		}
	}
	body = bytes.Replace(body, []byte("max_turns: 5"), []byte("max_turns: 1"), 1)
	body = bytes.Replace(body, []byte("name: http_request"), []byte("name: search"), 1)
	const want = "failed  stock  4bf92f35  max_turns: expected at most 1, found 2\n" +
		"failed  stock  4bf92f35  tools: expected call 1: search with $.method = \"GET\", $.url matching ^http://127\\.0\\.0\\.1:, found no such call\n" +
		"stock: 0 of 1 runs hold\n"
	if out, code := program(file, "--deck", d); code != exitPartial || out != want {
		t.Errorf("code %d:\n%s\nwant\n%s", code, out, want)
	}
}

func TestRecordedRunsAreCheckedByColumnsAndTapes(t *testing.T) {
	d := madeDeck(t)
	for _, c := range []struct {
		name, expect string
		args         []string
		code         int
		want         string
	}{
		{"columns", "expect: {max_turns: 2, status: ok}", []string{"--deck", d}, exitOK, "mine: the run holds\n"},
		{"not", "expect: {max_turns: 1, status: error}", []string{"--deck", d}, exitPartial, "max_turns: expected at most 1, found 2\nfailed  mine  4bf92f35  status: expected error, found ok\nmine: 0 of 1 runs hold\n"},
		{"tape", "answer: {contains: [99 units]}", []string{"--deck", d}, exitOK, "holds"},
		{"calls", "calls: {expect: [{tool: http_request, args: {url: 'http://127.0.0.1:14318/tool/counter', method: GET}}]}", []string{"4bf92f35", "--deck", d}, exitOK, "holds"},
		{"check", "answer: {check: \"sh -c 'grep -q 99 {answer} && test -s {tape}'\"}", []string{"--deck", d}, exitOK, "holds"},
		{"check fails", "answer: {check: \"sh -c 'echo no; exit 4'\"}", []string{"--deck", d}, exitPartial, "answer: the check ended with exit code 4: no"},
		{"scorer", "expect: {answer: {scorer: \"check:sh -c 'grep -q SKU-7'\"}}", []string{"--deck", d}, exitOK, "holds"},
		{"filter", "expect: {status: ok}", []string{"--deck", d, "--agent", "other"}, exitNoVerdict, "mine: no run to check\n"},
		{"filter of a REF", "expect: {status: ok}", []string{d, "--agent", "other"}, exitNoVerdict, "no run"},
		{"where", "runs: {where: \"tools = 'mail'\"}\nexpect: {status: ok}", []string{"--deck", d}, exitNoVerdict, "no run"},
		{"question", "runs: {user_message: 'How many units of SKU-7 are in stock?'}\nexpect: {status: ok}", []string{"--deck", d}, exitOK, "holds"},
		{"other question", "runs: {user_message: 'How many?'}\nexpect: {status: ok}", []string{"--deck", d}, exitNoVerdict, "no run"},
		{"other question, and the tape", "runs: {user_message: 'How many?'}\nanswer: {contains: [x]}", []string{"4bf92f35", "--deck", d}, exitNoVerdict, "no run"},
		{"telemetry", "expect: {max_tool_calls: 0}", []string{forge}, exitPartial, "max_tool_calls: expected at most 0, found 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := tapedeck(t, append([]string{"suite", "check", caseFile(t, "version: 1\n"+c.expect+"\n")}, c.args...)...)
			if got.code != c.code || !strings.HasSuffix(got.stdout, c.want) && !strings.Contains(got.stdout, c.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestACheckThatCannotBeMadeIsExitCode2(t *testing.T) {
	d := madeDeck(t)
	good := caseFile(t, "version: 1\nexpect: {status: ok}\n")
	altered := filepath.Join(t.TempDir(), "tape.json")
	got := tapedeck(t, "show", "4bf92f35", "--deck", d, "--json")
	if err := os.WriteFile(altered, []byte(strings.Replace(got.stdout, "99 units", "98 units", 1)), 0o600); err != nil || !strings.Contains(got.stdout, "99 units") {
		t.Fatal(err, got)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{good}, "no run to check"},
		{[]string{"nowhere.yaml", "--deck", d}, "no such file"},
		{[]string{caseFile(t, "version: 1\nexpect: {max_turn: 3}\n"), "--deck", d}, "max_turn"},
		{[]string{caseFile(t, "version: 1\nruns: {where: 'agent ='}\n"), "--deck", d}, "runs: where"},
		{[]string{caseFile(t, "version: 1\ncompare: all\n"), "--deck", d}, "expects nothing"},
		{[]string{good, "4bf92f36", "--deck", d}, "4bf92f36"},
		{[]string{good, altered}, "digest"},
		{[]string{good, "--deck", d, "--only", "other"}, "fits no case"},
		{[]string{good, "--deck", d, "--follow", "--junit", "x.xml"}, "--follow is for"},
		{[]string{good, "--deck", d, "--every", "0s"}, "must be positive"},
		{[]string{caseFile(t, "version: 1\nanswer: {check: /nonexistent/check}\n"), "--deck", d}, "could not be run"},
	} {
		if got := tapedeck(t, append([]string{"suite", "check"}, c.args...)...); got.code != exitFailed || !strings.Contains(got.stderr+got.stdout, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

func TestACheckIsReported(t *testing.T) {
	d, junit := madeDeck(t), filepath.Join(t.TempDir(), "check.xml")
	got := tapedeck(t, "suite", "check", caseFile(t, "version: 1\nexpect: {max_turns: 1}\n"), "--deck", d, "--json", "--junit", junit)
	var r suite.Checked
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != exitPartial {
		t.Fatalf("%v: %+v", err, got)
	}
	if c := r.Cases[0]; r.Failed != 1 || r.Held != 0 || c.Name != "mine" || c.Failed[0].RunID != forgeRun || c.Failed[0].Failures[0].Found != "2" || c.Failed[0].URL == "" {
		t.Errorf("%+v", r)
	}
	body, err := os.ReadFile(junit)
	if err != nil || !bytes.Contains(body, []byte(`failures="1"`)) || !bytes.Contains(body, []byte(`name="4bf92f35"`)) || !bytes.Contains(body, []byte("max_turns: expected at most 1, found 2")) {
		t.Errorf("%v: %s", err, body)
	}
}

// Runs that come while a check follows the deck are checked.
func TestACheckFollowsADeck(t *testing.T) {
	d := madeDeck(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &untilItIsTold{word: "9583ed5b", stop: stop}
	var stderr bytes.Buffer
	done := make(chan int)
	file := caseFile(t, "version: 1\nexpect: {max_tool_calls: 0, max_turns: 0}\n")
	go func() {
		done <- run(ctx, []string{"suite", "check", file, "--deck", d, "--follow", "--every", "20ms", "--json"}, strings.NewReader(""), out, &stderr)
	}()
	for begun := time.Now(); !strings.Contains(out.text(), "4bf92f35") && time.Since(begun) < time.Minute; {
		time.Sleep(10 * time.Millisecond)
	}
	if got := tapedeck(t, "derive", spans, logs, "--to", d, "--redact", "off"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	if code := <-done; code != exitPartial || !strings.Contains(out.text(), `{"case":"mine","id":"9583ed5b"`) || !strings.Contains(stderr.String(), "2 checks made, 2 failed") {
		t.Errorf("code %d: %s%s", code, out.text(), stderr.String())
	}
}

// A run whose content a policy dropped still has its columns.
func TestRunsWithoutContentAreCheckedByTheirColumns(t *testing.T) {
	address := droppedRuns(t, 3)
	for expected, checked := range map[string]string{"{max_turns: 99}": "all 3 runs hold", "{max_turns: 99, tools: {mode: superset}}": "the run holds; not looked at: 2, whose content was not kept"} {
		if got := tapedeck(t, "suite", "check", caseFile(t, "version: 1\nexpect: "+expected+"\n"), "--deck", address); got.code != exitOK || got.stdout != "mine: "+checked+"\n" {
			t.Errorf("%s: %+v", expected, got)
		}
	}
}

func TestAnEvalSetOfADKBecomesCases(t *testing.T) {
	d, dir := madeDeck(t), filepath.Join(t.TempDir(), "checks")
	got := tapedeck(t, "suite", "import", "testdata/agent.evalset.json", "--suite", dir)
	if want := filepath.Join(dir, "one-question") + "\n" + filepath.Join(dir, "two-turns-1") + "\n" + filepath.Join(dir, "two-turns-2") + "\n"; got.stdout != want || got.code != exitPartial || !strings.Contains(got.stderr, "simulated has no conversation") {
		t.Fatalf("%+v", got)
	}
	if got := tapedeck(t, "suite", "check", filepath.Join(dir, "one-question", "case.yaml"), "--deck", d); got.code != exitOK {
		t.Errorf("%+v", got)
	}
	// Cases of which no run was asked leave the check without a verdict.
	if got := tapedeck(t, "suite", "check", dir, "--deck", d); got.code != exitNoVerdict || !strings.Contains(got.stdout, "two-turns-1: no run to check") {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "suite", "list", "--suite", dir); got.code != exitOK || strings.Count(got.stdout, "for suite check") != 3 {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "suite", "run", "--suite", dir, "--", "true"); got.code != exitFailed || !strings.Contains(got.stderr, "no case has a tape") {
		t.Errorf("%+v", got)
	}
	config := filepath.Join(t.TempDir(), "test_config.json")
	if err := os.WriteFile(config, []byte(`{"criteria":{"tool_trajectory_avg_score":{"threshold":1.0,"match_type":"ANY_ORDER","ignore_args":true},"response_match_score":0.99,"safety_v1":0.8}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, "suite", "import", "testdata/agent.evalset.json", "--suite", dir); got.code != exitFailed || !strings.Contains(got.stderr, "is there already") {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "suite", "import", "testdata/agent.evalset.json", "--suite", dir, "--replace", "--criteria", config); got.code != exitPartial || !strings.Contains(got.stderr, "safety_v1 is not taken over") {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "suite", "check", dir, "--only", "one-*", "--deck", d); got.code != exitPartial || !strings.Contains(got.stdout, "expected a score of rouge1 of 0.99 or more, found 0.8") {
		t.Errorf("%+v", got)
	}
}

// untilItIsTold is the output of a command, which ends when it holds a word.
type untilItIsTold struct {
	untilItListens
	word string
	stop context.CancelFunc
}

func (o *untilItIsTold) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Write(p)
	if bytes.Contains(o.b.Bytes(), []byte(o.word)) {
		o.stop()
	}
	return len(p), nil
}
