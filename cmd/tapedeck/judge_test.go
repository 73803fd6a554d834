// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAVerdictByHandAndByAScorer(t *testing.T) {
	for _, layout := range []string{"files", "reels"} {
		t.Run(layout, func(t *testing.T) {
			dir := t.TempDir()
			if got := tapedeck(t, "derive", "../../testdata/conventions/t0.jsonl", "--to", dir, "--layout", layout, "--redact", "off"); got.code != exitOK {
				t.Fatalf("%+v", got)
			}
			const id = "a0a0a0a0"
			for _, args := range [][]string{
				{"--name", "correctness", "--value", "0.2", "--label", "fail", "--explanation", "mail bob@example.com", "--event", "3", "--at", "2026-11-20T12:00:00Z"},
				{"--name", "thumbs", "--label", "up", "--id", "user-7"},
				{"--name", "tests", "--scorer", "exec:echo 0.75"},
			} {
				got := tapedeck(t, append([]string{"judge", id, "--deck", dir}, args...)...)
				if got.code != exitOK || !strings.HasPrefix(got.stdout, `{"run_id":"a0a0a0a0`) {
					t.Fatalf("%+v", got)
				}
			}
			shown := tapedeck(t, "show", id, "--deck", dir).stdout
			for _, want := range []string{"3 verdicts", "correctness: 0.2, fail (of event 3, HUMAN, 2026-11-20 12:00:00)", "thumbs: up (of the run, HUMAN, ", "tests: 0.75 (of the run, CODE, ", "[REDACTED:email:"} {
				if !strings.Contains(shown, want) {
					t.Errorf("%s is not shown:\n%s", want, shown)
				}
			}
			for condition, found := range map[string]bool{"correctness<0.5": true, "correctness>0.5": false, "tests": true, "thumbs=up": true, "thumbs=down": false} {
				got := tapedeck(t, "ls", dir, "--verdict", condition, "--format", "refs")
				if got.code != exitOK || (got.stdout != "") != found {
					t.Errorf("%s: %+v", condition, got)
				}
			}
			if got := tapedeck(t, "verify", dir); got.code != exitOK {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestJoinAndCompactGiveLateVerdicts: one in a trace of its own names the answer of a run.
func TestJoinAndCompactGiveLateVerdicts(t *testing.T) {
	late := filepath.Join(t.TempDir(), "late.json")
	record := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1795200000000000000","traceId":"` + strings.Repeat("e1", 16) + `","eventName":"gen_ai.evaluation.result","attributes":[` +
		`{"key":"gen_ai.evaluation.name","value":{"stringValue":"tone"}},{"key":"gen_ai.evaluation.score.label","value":{"stringValue":"rude"}},{"key":"gen_ai.response.id","value":{"stringValue":"resp_1"}}]}]}]}]}`
	if err := os.WriteFile(late, []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	for layout, of := range map[string]struct {
		command []string
		said    string
	}{"files": {[]string{"join"}, "1 runs have verdicts that came in other traces"}, "reels": {[]string{"compact", "--grace", "0s"}, `"given":1`}} {
		dir := t.TempDir()
		if got := tapedeck(t, "derive", "../../testdata/conventions/t0.jsonl", late, "--to", dir, "--layout", layout, "--redact", "off"); got.code != exitOK {
			t.Fatalf("%+v", got)
		}
		judged := func() bool { return tapedeck(t, "ls", dir, "--verdict", "tone=rude", "--format", "refs").stdout != "" }
		if judged() {
			t.Errorf("%s: it has the verdict before %s", layout, of.command[0])
		}
		if layout == "files" {
			if got := tapedeck(t, "join", dir, "--dry-run"); got.code != exitOK || !strings.Contains(got.stderr, of.said) || judged() {
				t.Errorf("a rehearsal: %+v", got)
			}
		}
		if got := tapedeck(t, append(of.command, dir)...); got.code != exitOK || !strings.Contains(got.stdout+got.stderr, of.said) || !judged() {
			t.Errorf("%s: %+v", of.command[0], got)
		}
		if got := tapedeck(t, append(of.command, dir)...); got.code != exitOK || strings.Contains(got.stdout+got.stderr, of.said) {
			t.Errorf("%s again: %+v", of.command[0], got)
		}
	}
}

func TestVerdictsThatAreNotGiven(t *testing.T) {
	dir := t.TempDir()
	if got := tapedeck(t, "derive", "../../testdata/conventions/t0.jsonl", "--to", dir, "--redact", "off"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	t.Setenv(deckVariable, "")
	for want, args := range map[string][]string{
		"needs --deck":              {"a0a0a0a0", "--name", "n", "--label", "l"},
		"needs a name":              {"a0a0a0a0", "--deck", dir, "--label", "l"},
		"needs a value":             {"a0a0a0a0", "--deck", dir, "--name", "n"},
		"no span tells event 7":     {"a0a0a0a0", "--deck", dir, "--name", "n", "--label", "l", "--event", "7"},
		"exclude each other":        {"a0a0a0a0", "--deck", dir, "--name", "n", "--value", "1", "--scorer", "exec:true"},
		"--at:":                     {"a0a0a0a0", "--deck", dir, "--name", "n", "--label", "l", "--at", "then"},
		"there is one":              {"a0a0a0a0", "--deck", dir, "--name", "n", "--scorer", "exact"},
		"needs the id of a run":     {strings.TrimSpace(tapedeck(t, "ls", dir, "--format", "refs").stdout), "--deck", dir, "--name", "n", "--label", "l"},
		"judge takes one ID, not 2": {"a", "b", "--deck", dir},
	} {
		if got := tapedeck(t, append([]string{"judge"}, args...)...); got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: %+v", want, got)
		}
	}
}
