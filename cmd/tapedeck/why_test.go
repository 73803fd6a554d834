// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestShowSaysWhyAValueIsWhatItIs(t *testing.T) {
	const file = "../../testdata/corpus/agents/langchain-traceloop/research_chain.otlp.json"
	deck := t.TempDir()
	derived := tapedeck(t, "derive", "--redact", "off", "--explain", "--to", deck, file)
	if !strings.Contains(derived.stderr, "tapedeck: event 1  recover/transcripts  response.message") || !strings.Contains(derived.stderr, "tapedeck: run  value/output-from-run-span  output.text: ") {
		t.Fatalf("derive --explain says %s", derived.stderr)
	}
	_, run, _ := strings.Cut(derived.stdout, `"run_id":"`)
	run, _, _ = strings.Cut(run, `"`)
	for _, ref := range [][]string{{file}, {run, "--deck", deck}} {
		for of, want := range map[string]string{
			"1": "recover/transcripts  response.message", "2": "no rule changed it\n  value/args-received-as-asked  args: ", "output.text": "label   none\n  value/output-from-run-span  output.text: About 26.8 times",
			"output.message": "value/output-message  output.message: m", "input.user_message": "value/message-from-run-span", "input.system_prompt": "value/instructions-from-first-request", "run.status": "value/status-ok  run.status: ok", "config.model": "label   none\n", "9": "no event 9", "x.y": "want the number of an event", "output.x": "want the number of an event", "run": "no rule changed it",
		} {
			got := tapedeck(t, slices.Concat([]string{"show", "--why", of}, ref)...)
			if !strings.Contains(got.stdout+got.stderr, want) {
				t.Errorf("show --why %s of %v: %s%s", of, ref, got.stdout, got.stderr)
			}
		}
	}
}

func TestRunsAreFoundByTheRulesThatTouchedThem(t *testing.T) {
	const file = "../../testdata/corpus/agents/langchain-traceloop/research_chain.otlp.json"
	for _, layout := range []string{"files", "reels"} {
		deck := t.TempDir()
		if made := tapedeck(t, "derive", "--redact", "off", "--layout", layout, "--to", deck, file); made.code != 0 {
			t.Fatal(made.stderr)
		}
		for where, want := range map[string]int{"rules = 'recover/transcripts'": 1, "rules = 'value/output-from-run-span'": 0, "rules = 'pair/by-name'": 0, "rules IS NULL": 0} {
			if got := strings.Count(tapedeck(t, "ls", deck, "--format", "refs", "--where", where).stdout, "\n"); got != want {
				t.Errorf("%s: %d runs where %s, want %d", layout, got, where, want)
			}
		}
	}
}
