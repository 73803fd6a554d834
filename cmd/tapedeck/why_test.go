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
	if !strings.Contains(derived.stderr, "tapedeck: event 1  recover/transcripts  response.message") {
		t.Fatalf("derive --explain says %s", derived.stderr)
	}
	_, run, _ := strings.Cut(derived.stdout, `"run_id":"`)
	run, _, _ = strings.Cut(run, `"`)
	for _, ref := range [][]string{{file}, {run, "--deck", deck}} {
		for of, want := range map[string]string{
			"1": "recover/transcripts  response.message", "2": "no rule changed it", "output.text": "label   none", "9": "no event 9", "x.y": "want the number of an event", "output.x": "want the number of an event", "run": "no rule changed it",
		} {
			got := tapedeck(t, slices.Concat([]string{"show", "--why", of}, ref)...)
			if !strings.Contains(got.stdout+got.stderr, want) {
				t.Errorf("show --why %s of %v: %s%s", of, ref, got.stdout, got.stderr)
			}
		}
	}
}
