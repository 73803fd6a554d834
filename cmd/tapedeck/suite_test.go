// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/internal/evaluation/suite"
)

// suiteOf makes a suite of a recorded agent, with one case.
func suiteOf(t *testing.T) (dir string) {
	t.Helper()
	url := recordedAgent(t)
	dir = filepath.Join(t.TempDir(), "tapes")
	if got := tapedeck(t, "suite", "add", url, "--suite", dir, "--name", "apples"); got.code != exitOK || got.stdout != filepath.Join(dir, "apples")+"\n" {
		t.Fatalf("%+v", got)
	}
	return dir
}

// edit changes the expectations of the case.
func edit(t *testing.T, dir, old, now string) {
	t.Helper()
	file := filepath.Join(dir, "apples", suite.CaseFile)
	body, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(body, []byte(old)) {
		t.Fatalf("%v: no %s in\n%s", err, old, body)
	}
	if err := os.WriteFile(file, bytes.Replace(body, []byte(old), []byte(now), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

func suiteRun(t *testing.T, mode, dir string, args ...string) (int, suite.Report) {
	t.Helper()
	t.Setenv(agentVariable, mode)
	got := commanded(t, append([]string{"suite", "run", "--json", "--suite", dir, "--input", "stdin", "--lockdown", "off"}, append(args, "--", os.Args[0])...)...)
	var r suite.Report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return got.code, r
}

func TestASuiteIsReplayed(t *testing.T) {
	dir := suiteOf(t)
	code, r := suiteRun(t, "oracle", dir)
	if code != exitOK || len(r.Cases) != 1 || r.Cases[0].Status != suite.Passed || len(r.Cases[0].Replays) != 1 {
		t.Fatalf("code %d: %+v", code, r)
	}
	if got := tapedeck(t, "suite", "list", "--suite", dir, "--json"); got.code != exitOK || !strings.Contains(got.stdout, `"name":"apples"`) || !strings.Contains(got.stdout, `"calls":1`) {
		t.Errorf("%+v", got)
	}
	edit(t, dir, "calls:\n", "expect: {max_turns: 1, forbidden_tools: [delete]}\ncalls:\n")
	if code, r := suiteRun(t, "oracle", dir); code != exitPartial || strings.Join(r.Cases[0].Replays[0].Reasons, ";") != "max_turns: expected at most 1, found 2" {
		t.Errorf("code %d: %+v", code, r)
	}
	edit(t, dir, "max_turns: 1", "max_turns: 2")
	// What a person expects counts, beside what was recorded.
	edit(t, dir, "There are seven apples", "There are eight apples")
	if code, r := suiteRun(t, "oracle", dir); code != exitPartial || len(r.Cases[0].Replays[0].Reasons) != 1 || !strings.HasPrefix(r.Cases[0].Replays[0].Reasons[0], "answer: ") {
		t.Errorf("code %d: %+v", code, r)
	}
	edit(t, dir, "equals: ", "check: sh -c 'grep -q seven {answer} && test -s {tape} && test -s {report}' #")
	if code, r := suiteRun(t, "oracle", dir); code != exitOK {
		t.Errorf("code %d: %+v", code, r)
	}
	edit(t, dir, "grep -q seven", "grep -q eight")
	if code, r := suiteRun(t, "oracle", dir); code != exitPartial || r.Cases[0].Replays[0].Reasons[0] != "answer: the check ended with exit code 1" {
		t.Errorf("code %d: %+v", code, r)
	}
}

func TestAChangedAgentFailsItsSuite(t *testing.T) {
	dir := suiteOf(t)
	out := t.TempDir()
	t.Setenv(stockVariable, "eight apples in the cellar")
	files := []string{"--junit", filepath.Join(out, "s.xml"), "--markdown", filepath.Join(out, "s.md"), "--pages", filepath.Join(out, "pages")}
	code, r := suiteRun(t, "live", dir, files...) // its tool runs, and returns something else
	if code != exitPartial || r.Cases[0].Status != suite.Failed || r.Counts[suite.Failed] != 1 {
		t.Fatalf("code %d: %+v", code, r)
	}
	for file, want := range map[string]string{"s.xml": `failures="1"`, "s.md": "| apples | **failed** |", "pages/apples.html": "the runs part here"} {
		if body, err := os.ReadFile(filepath.Join(out, file)); err != nil || !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s: %v\n%.500s", file, err, body)
		}
	}
	// Events that are not compared, and a tool that may run: what is left is that the model is asked for what is not recorded.
	edit(t, dir, "compare: results", "compare: none")
	if code, r := suiteRun(t, "live", dir, "--allow-live", "count"); code != exitPartial || strings.Contains(strings.Join(r.Cases[0].Replays[0].Reasons, ";"), "events are those") {
		t.Errorf("code %d: %+v", code, r)
	}
	// It asked the model for that before it ended without telemetry.
	if code, r := suiteRun(t, "silent", dir, files...); code != exitPartial || r.Cases[0].Status != suite.Failed || !strings.Contains(strings.Join(r.Cases[0].Replays[0].Reasons, ";"), "model calls were recorded") {
		t.Errorf("code %d: %+v", code, r)
	}
	t.Setenv(stockVariable, "")
	if code, r := suiteRun(t, "idle", dir); code != exitFailed || r.Cases[0].Status != suite.NotDone {
		t.Errorf("code %d: %+v", code, r)
	}
}

func TestFlakinessOfASuiteIsMeasured(t *testing.T) {
	dir := suiteOf(t)
	t.Setenv(placeVariable, filepath.Join(t.TempDir(), "times"))
	code, r := suiteRun(t, "flaky", dir, "--repeat", "3")
	if c := r.Cases[0]; code != exitPartial || c.Status != suite.Flaky || c.Passed != 2 || len(c.Replays) != 3 || c.Replays[1].Status == suite.Passed {
		t.Errorf("code %d: %+v", code, r)
	}
}

func TestASuiteThatCannotBeReplayedIsExitCode2(t *testing.T) {
	dir := suiteOf(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--suite", dir}, "no command behind"},
		{[]string{"run", "apples", "--suite", dir, "--", "true"}, "takes no apples"},
		{[]string{"run", "--suite", t.TempDir(), "--", "true"}, "there are no cases"},
		{[]string{"run", "--suite", dir, "--only", "pears", "--", "true"}, "fits no case"},
		{[]string{"run", "--suite", dir, "--repeat", "0", "--", "true"}, "must be positive"},
		{[]string{"run", "--suite", dir, "--", "/nonexistent/agent"}, "could not be run"},
		{[]string{"list", "--suite", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"add", filepath.Join(dir, "apples"), "--suite", dir}, "--name is missing"},
		{[]string{"add", filepath.Join(dir, "apples"), "--suite", dir, "--name", "../x"}, "no name of a case"},
		{[]string{"add", filepath.Join(dir, "apples"), "--suite", dir, "--name", "apples"}, "is there already"},
	} {
		if got := tapedeck(t, append([]string{"suite"}, c.args...)...); got.code != exitFailed || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
	edit(t, dir, "version: 1", "version: 9")
	if got := tapedeck(t, "suite", "list", "--suite", dir); got.code != exitFailed || !strings.Contains(got.stderr, "version is 9") {
		t.Errorf("%+v", got)
	}
	if code, r := suiteRun(t, "oracle", dir); code != exitFailed || len(r.Broken) != 1 {
		t.Errorf("code %d: %+v", code, r)
	}
}

// ciStep is a step of a file of examples/ci that is shell.
type ciStep struct {
	shell, script string
	env           []string
}

// ciSteps reads the steps of the action and of the job, with the inputs set.
func ciSteps(t *testing.T, inputs map[string]string) map[string]ciStep {
	t.Helper()
	read := func(file string, into any) {
		body, err := os.ReadFile(filepath.Join("../../examples/ci", file))
		if err == nil {
			err = yaml.Unmarshal(body, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var action struct {
		Inputs map[string]struct{ Default string }
		Runs   struct {
			Using string
			Steps []struct {
				Shell, Run, Uses string
				Env              map[string]string
			}
		}
	}
	read("action.yml", &action)
	steps := map[string]ciStep{}
	for _, s := range action.Runs.Steps {
		if s.Run == "" {
			continue
		}
		step := ciStep{shell: s.Shell, script: "set -eo pipefail\n" + s.Run} // as GitHub runs bash
		for name, value := range s.Env {
			of := strings.TrimSuffix(strings.TrimPrefix(value, "${{ inputs."), " }}")
			set, given := inputs[of]
			if _, declared := action.Inputs[of]; !declared {
				t.Errorf("%s is %q, which is no input", name, value)
			}
			if !given {
				set = action.Inputs[of].Default
			}
			step.env = append(step.env, name+"="+set)
		}
		if strings.Contains(s.Run, "${{") || s.Shell == "" {
			t.Errorf("a script with text from outside, or without a shell: %s", s.Run)
		}
		steps["GitHub"] = step
	}
	var job map[string]struct {
		Variables map[string]string
		Script    []string
	}
	read("gitlab-ci.yml", &job)
	step := ciStep{shell: "bash", script: "set -eo pipefail\n" + strings.Join(job["regression-suite"].Script, "\n")}
	for name := range job["regression-suite"].Variables {
		set := inputs[strings.ToLower(name)]
		if set == "" {
			set = job["regression-suite"].Variables[name]
		}
		step.env = append(step.env, name+"="+set)
	}
	steps["GitLab"] = step
	if action.Runs.Using != "composite" || len(steps) != 2 || len(job["regression-suite"].Script) == 0 {
		t.Fatalf("%+v", action)
	}
	return steps
}

func TestTheStepsOfTheExamplesForCIRun(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal("there is no bash")
		}
		t.Skip("there is no bash")
	}
	dir := suiteOf(t)
	bin := t.TempDir()
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "tapedeck"), []byte("#!/bin/sh\nTAPEDECK_TEST_AGENT=cli exec '"+self+"' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mode, suite, wantIn string
		code                int
	}{{"oracle", dir, `failures="0" errors="0"`, exitOK}, {"live", dir, `failures="1"`, exitPartial}, {"oracle", t.TempDir(), "", exitFailed}} {
		for name, step := range ciSteps(t, map[string]string{
			"command": agentVariable + "=" + c.mode + " " + stockVariable + "='eight apples in the cellar' '" + self + "'", "suite": c.suite}) {
			work := t.TempDir()
			summary := filepath.Join(work, "summary.md")
			cmd := exec.Command(step.shell, "-c", step.script)
			cmd.Dir = work
			cmd.Env = append(append(os.Environ(), step.env...), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "GITHUB_STEP_SUMMARY="+summary, placeVariable+"="+c.mode)
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != c.code {
				t.Errorf("%s, %s: %v\n%s", name, c.mode, err, out)
				continue
			}
			report, _ := os.ReadFile(filepath.Join(work, "tapedeck-report/suite.xml")) // none where there is no suite
			if !strings.Contains(string(report), c.wantIn) || c.wantIn == "" && len(report) > 0 {
				t.Errorf("%s, %s: %s\n%s", name, c.mode, report, out)
			}
			if text, _ := os.ReadFile(summary); name == "GitHub" && c.wantIn != "" && !strings.Contains(string(text), "Regression suite") {
				t.Errorf("the summary is %q", text)
			}
		}
	}
}
