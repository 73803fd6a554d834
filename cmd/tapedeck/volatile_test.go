// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
)

// TestToleratedResultsAreAsRecorded has a tool run again that prints a secret and its process id. The key of
// the environment tells the secret, one renaming the id; the comparison of the tapes tolerates what the model
// stub did, and says so. With --exact, and where a word differs too, the replay diverges at the result.
func TestToleratedResultsAreAsRecorded(t *testing.T) {
	secret := "ghp_" + strings.Repeat("Zk3v", 8) + "aR2e"
	stock := func(pid, apples string) string {
		return "counted with " + secret + " by pid " + pid + ": " + apples + " apples in the cellar"
	}
	t.Setenv(keyVariable, "8aeeaa50b9373c5d836d539bfab32b24e402e86149061991e0f8d1baae3e43eb")
	t.Setenv(stockVariable, stock("4711", "seven"))
	url := recordedAgent(t)
	args := []string{url, "--input", "stdin", "--allow-live", "count"}

	t.Setenv(stockVariable, stock("38", "seven"))
	code, r := replayed(t, "live", args...)
	if code != exitOK || r.Verdict != rerun.AsRecorded {
		t.Fatalf("code %d: %s %+v", code, failed(r), r.Model.Calls)
	}
	want := []modelstub.Label{modelstub.ByRedaction, modelstub.ByRenaming, modelstub.AnswerRedacted}
	if last := r.Model.Calls[len(r.Model.Calls)-1]; !slices.Equal(last.Labels, want) {
		t.Errorf("labels %v, want %v", last.Labels, want)
	}
	if len(r.Model.Volatile) != 1 || r.Model.Volatile[0].Form != "process id" || r.Model.Volatile[0].Recorded != "4711" || r.Model.Volatile[0].Live != "38" {
		t.Errorf("%+v", r.Model.Volatile)
	}
	if len(r.Tolerated) != 1 || r.Tolerated[0].Seq != 2 || r.Tolerated[0].Field != "result" || !slices.Equal(r.Tolerated[0].Labels, []modelstub.Label{modelstub.ByRenaming}) {
		t.Errorf("%+v", r.Tolerated)
	}
	if said := strings.Join(r.Notes(), "\n"); !strings.Contains(said, `1 of the form process id taken for equal, such as "38" for "4711"`) {
		t.Error(said)
	}

	exact := append([]string{"--exact"}, args...)
	if code, r := replayed(t, "live", exact...); code != exitPartial || r.Comparison.First == nil || r.Comparison.First.A.Seq != 2 || r.Model.Missed != 1 {
		t.Errorf("--exact: code %d: %s", code, failed(r))
	} else if rules := r.Model.Calls[len(r.Model.Calls)-1].Nearest.Rules; len(rules) != 1 || rules[0] != `- {tool: "count", path: "$", action: normalise, pattern: "by pid \\S+", in: [result]}` {
		t.Errorf("rules %q", rules)
	}
	t.Setenv(stockVariable, stock("38", "eight"))
	if code, r := replayed(t, "live", args...); code != exitPartial || r.Comparison.First == nil || r.Comparison.First.A.Seq != 2 {
		t.Errorf("another word: code %d: %s", code, failed(r))
	}
	t.Setenv(stockVariable, strings.Replace(stock("38", "seven"), "Zk3v", "Zk3w", 1))
	if code, r := replayed(t, "live", args...); code != exitPartial || r.Model.Missed != 1 {
		t.Errorf("another secret: code %d: %s", code, failed(r))
	}
}

// TestFreezeSaysWhoTookTheClock replays an agent that is compiled, and a shell that starts Python.
func TestFreezeSaysWhoTookTheClock(t *testing.T) {
	url := recordedAgent(t)
	code, r := replayed(t, "oracle", url, "--input", "stdin", "--freeze")
	if code != exitOK || !strings.Contains(strings.Join(r.Notes(), "\n"), "freeze: no process took the recorded clock") {
		t.Errorf("code %d: %q", code, r.Notes())
	}
	if got := commanded(t, "replay", url, "--freeze", "--preload=false", "--", "true"); got.code != exitFailed || !strings.Contains(got.stderr, "--preload=false") {
		t.Errorf("%+v", got)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no Python: ", err)
	}
	got := commanded(t, "replay", url, "--freeze", "--json", "--", python, "-c", "import time; print('clock', time.time())")
	var report rerun.Report
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	if len(report.Preload.Frozen) != 1 || !strings.Contains(got.stderr, "clock ") {
		t.Errorf("%+v: %s", report.Preload, got.stderr)
	}
}
