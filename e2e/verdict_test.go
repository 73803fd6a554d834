// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && linux

package e2e

import (
	"os/exec"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// TestALateVerdictSurvivesAKill sends what OpenInference's client recorded: a run, and then the verdicts on
// it, in traces of their own. The collector is killed when it has acknowledged them.
func TestALateVerdictSurvivesAKill(t *testing.T) {
	for _, layout := range []string{"files", "reels"} {
		t.Run(layout, func(t *testing.T) {
			var sent []ptrace.Traces
			for doc, err := range otlpfile.ReadFile("../testdata/conventions/sdk-verdicts.jsonl", nil, otlpfile.Options{}) {
				if err != nil {
					t.Fatal(err)
				}
				if doc.Signal == otlpfile.SignalTraces {
					sent = append(sent, doc.Traces)
				}
			}
			url := decktest.FileURL(t)
			env := []string{"TAPEDECK_DECK=" + url, "TAPEDECK_SPOOL=" + t.TempDir()}
			args := []string{"--config", example(t, local), soon, "--set=processors.agentrun.idle_timeout=1s", "--set=exporters.tape.layout=" + layout}
			p := run(t, program(t, slim), env, args...)
			for _, td := range sent[:2] { // the model call and the agent
				send(t, p, td)
			}
			judged := func(name string) bool {
				out, err := exec.CommandContext(t.Context(), program(t, "tapedeck"), "ls", url, "--verdict", name, "--format", "refs").Output()
				return err == nil && len(out) > 0 // the collector makes the deck when the first run is complete
			}
			until(t, "the run", func() bool { return judged("hallucination") })
			if judged("tone") {
				t.Fatal("a verdict is there before it was given")
			}
			for _, td := range sent[2:] {
				send(t, p, td)
			}
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			p = run(t, program(t, slim), env, args...)
			until(t, "the late verdicts", func() bool { return judged("tone=rude") && judged("thumbs<1") && judged("Relevance=0.5") })
			stop(t, p)
			tapedeck(t, "verify", url)
		})
	}
}
