// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e && linux

package e2e

import (
	"os/exec"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// TestALateVerdictSurvivesAKill sends what OpenInference's client recorded: a run, and then the verdicts on
// it, in traces of their own. One more names the session of the run and nothing else: a compaction or join
// gives it. The collector is killed when it has acknowledged them.
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
			sent = append(sent, ofTheSession(sent[1]))
			args := []string{"--config", example(t, local), soon, "--set=processors.agentrun.idle_timeout=1s", "--set=exporters.tape.layout=" + layout}
			if layout == "reels" {
				args = append(args, "--set=exporters.tape.compaction.interval=2s")
			}
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
			if layout == "reels" {
				until(t, "the verdict on the session", func() bool { return judged("helpful=yes") })
			}
			stop(t, p)
			if layout == "files" {
				tapedeck(t, "join", url)
			}
			if !judged("helpful=yes") {
				t.Error("no run has the verdict on its session")
			}
			tapedeck(t, "verify", url)
		})
	}
}

// ofTheSession is the span of a judge that is no agent. Its event judges the session of a run.
func ofTheSession(run ptrace.Traces) ptrace.Traces {
	td := ptrace.NewTraces()
	span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID{0xee})
	span.SetSpanID(pcommon.SpanID{0xee})
	span.SetName("evaluate")
	event := span.Events().AppendEmpty()
	event.SetName("gen_ai.evaluation.result")
	event.SetTimestamp(run.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).EndTimestamp())
	event.Attributes().PutStr("gen_ai.evaluation.name", "helpful")
	event.Attributes().PutStr("gen_ai.evaluation.score.label", "yes")
	session, _ := run.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().Get("session.id")
	event.Attributes().PutStr("gen_ai.conversation.id", session.Str())
	return td
}
