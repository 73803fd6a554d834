// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/rerun"
)

// asking is a command that runs the agent once for each question, each in a trace of its own.
func asking(questions ...string) []string {
	script := ""
	for _, q := range questions {
		script += "TAPEDECK_TEST_QUESTION='" + q + "' TAPEDECK_TEST_STOCK='the apples of " + q + "' \"$0\" || exit; "
	}
	return []string{"sh", "-c", script, os.Args[0]}
}

// recordedFamily records a command that makes a run for each of three questions, and returns the deck and the
// run ids.
func recordedFamily(t *testing.T, flags ...string) (deck string, urls []string) {
	t.Helper()
	t.Setenv(agentVariable, "oracle") // which runs its tool where there is no oracle
	t.Setenv("OPENAI_BASE_URL", scripted(t)+"/v1")
	deck = filepath.Join(t.TempDir(), "deck")
	got := commanded(t, append(append([]string{"record", "--to", deck}, flags...), append([]string{"--"}, asking("Ann", "Bo", "Cleo")...)...)...)
	all := lines(t, got.stdout)
	if got.code != exitOK || len(all) != 3 {
		t.Fatalf("%+v", got)
	}
	for _, one := range all {
		urls = append(urls, one.URL)
	}
	return deck, urls
}

// replayedFamily replays a command on runs, and returns its report.
func replayedFamily(t *testing.T, command []string, args ...string) (int, rerun.Report) {
	t.Helper()
	got := commanded(t, append(append([]string{"replay", "--json"}, args...), append([]string{"--"}, command...)...)...)
	var r rerun.Report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return got.code, r
}

func verdicts(r rerun.Report) (list string) {
	for _, run := range r.Runs {
		list += string(run.Verdict) + " "
	}
	return strings.TrimSpace(list)
}

func TestARecordedCommandIsReplayedWithAllItsRuns(t *testing.T) {
	deck, _ := recordedFamily(t, "--task", "patients")
	md, html, junit := filepath.Join(t.TempDir(), "r.md"), filepath.Join(t.TempDir(), "r.html"), filepath.Join(t.TempDir(), "r.xml")
	code, r := replayedFamily(t, asking("Ann", "Bo", "Cleo"), "patients", "--deck", deck, "--markdown", md, "--html", html, "--junit", junit)
	if code != exitOK || verdicts(r) != "as_recorded as_recorded as_recorded" || len(r.OtherRuns) != 0 || failed(r) != "" || len(r.Model.Calls) != 6 || len(r.Tools) != 3 {
		t.Fatalf("code %d: %+v", code, r)
	}
	for i, run := range r.Runs {
		if c := r.Model.Calls[2*i]; run.Source == "" || run.Replayed == "" || c.Run != run.Source || len(run.Tools) != 1 || run.Comparison == nil {
			t.Errorf("run %d: %+v, %+v", i+1, run, c)
		}
	}
	for file, want := range map[string]string{md: "### Run 3 of 3: as recorded", html: "3 of 3 runs", junit: "run " + r.Runs[2].Source + ": "} {
		if body, err := os.ReadFile(file); err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s: no %q in %.300s, %v", file, want, body, err)
		}
	}
	got := commanded(t, append([]string{"replay", "patients", "--deck", deck, "--"}, asking("Ann", "Bo", "Cleo")...)...)
	if got.code != exitOK || strings.Count(got.stdout, "run 2 of 3, ") != 1 || !strings.Contains(got.stdout, "the runs are those of the recording: 3 of 3") {
		t.Errorf("%+v", got)
	}
}

func TestEachRunOfACommandIsJudged(t *testing.T) {
	deck, _ := recordedFamily(t, "--task", "patients")
	for name, of := range map[string]struct {
		questions      []string
		verdicts, says string
	}{
		"one asks something else": {[]string{"Ann", "Bill", "Cleo"}, "as_recorded diverged as_recorded", "model calls were recorded"},
		"one is missing":          {[]string{"Ann", "Cleo"}, "as_recorded not_done as_recorded", "the runs are those of the recording"},
		"one comes twice":         {[]string{"Ann", "Bo", "Cleo", "Bo"}, "as_recorded as_recorded as_recorded", "the runs are those of the recording"},
	} {
		command := asking(of.questions...)
		command[2] = strings.ReplaceAll(command[2], "|| exit", "|| true")
		code, r := replayedFamily(t, command, "patients", "--deck", deck)
		if code != exitPartial || r.Verdict != rerun.Diverged || verdicts(r) != of.verdicts || !strings.Contains(failed(r), of.says) {
			t.Errorf("%s: code %d, %s, %s", name, code, verdicts(r), failed(r))
		}
	}
}

// One run of a command is judged alone, and yet its command makes the others too.
func TestOneRunOfACommandIsServedWithTheOthers(t *testing.T) {
	for _, flags := range [][]string{{"--task", "patients"}, nil} {
		_, urls := recordedFamily(t, flags...)
		code, r := replayedFamily(t, asking("Ann", "Bo", "Cleo"), urls[1])
		if code != exitOK || len(r.Runs) != 0 || len(r.Served) != 3 || len(r.OtherRuns) != 0 || len(r.Model.Calls) != 6 {
			t.Errorf("code %d: %s %+v", code, failed(r), r.Served)
		}
		// what is not judged need not come
		id := r.Source
		for i, q := range []string{"Ann", "Bo", "Cleo"} {
			if code, r := replayedFamily(t, asking(q), urls[i]); code != exitOK {
				t.Errorf("%s alone: code %d: %s", q, code, failed(r))
			}
		}
		if code, r := replayedFamily(t, asking("Ann", "Cleo"), urls[1]); code != exitPartial || r.Source != id || !strings.Contains(failed(r), "recorded model calls were asked for") {
			t.Errorf("without it: code %d: %s", code, failed(r))
		}
	}
}

// What is about one run is refused for several, and so is a name that stands for several recordings.
func TestWhatWantsOneRunIsRefusedForAFamily(t *testing.T) {
	deck, _ := recordedFamily(t, "--task", "patients")
	for _, flags := range [][]string{{"--fork-at", "2"}, {"--answer", "stdout"}} {
		got := commanded(t, append(append([]string{"replay", "patients", "--deck", deck}, flags...), append([]string{"--"}, asking("Ann")...)...)...)
		if got.code != exitFailed || !strings.Contains(got.stderr, "wants one run, and the command made 3") {
			t.Errorf("%v: %+v", flags, got)
		}
	}
	if got := commanded(t, append([]string{"record", "--to", deck, "--task", "patients", "--"}, asking("Ann")...)...); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	got := commanded(t, append([]string{"replay", "patients", "--deck", deck, "--"}, asking("Ann")...)...)
	if got.code != exitFailed || !strings.Contains(got.stderr, "stands for 4 runs") {
		t.Errorf("%+v", got)
	}
}
