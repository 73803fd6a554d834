// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// verdictsOn are the verdicts of a tape as they are written.
func verdictsOn(t *testing.T, tp *tape.Tape) string {
	t.Helper()
	var written struct {
		Verdicts json.RawMessage `json:"verdicts"`
	}
	if err := json.Unmarshal(tp.AppendJSON(nil), &written); err != nil {
		t.Fatal(err)
	}
	return string(written.Verdicts)
}

func judges(s ptrace.Span, attrs ...string) {
	for i := 0; i < len(attrs); i += 2 {
		s.Attributes().PutStr(attrs[i], attrs[i+1])
	}
}

func linksTo(s ptrace.Span, id int) {
	l := s.Links().AppendEmpty()
	l.SetTraceID(s.TraceID())
	l.SetSpanID(spanID(id))
}

func TestFeedbackOfSpansTracesAndSessions(t *testing.T) {
	tr := plainRun()
	s := tr.chat(5, 1, 31, 40, list(user("q2")), list(says("a2")))
	judges(s, "annotations.0.annotation.name", "tone", "annotations.0.annotation.label", "rude", "annotations.0.annotation.annotator_kind", "HUMAN",
		"annotations.0.annotation.identifier", "j1", "annotations.0.annotation.metadata", `{"rubric":"2"}`,
		"evaluations.0.evaluation.name", "tone", "evaluations.0.evaluation.label", "rude", "evaluations.0.evaluation.annotator_kind", "HUMAN",
		"evaluations.0.evaluation.identifier", "j1", "evaluations.0.evaluation.metadata", `{"rubric":"2"}`,
		"trace.evaluations.3.evaluation.name", "whole", "trace.evaluations.3.evaluation.explanation", "fine",
		"session.annotations.0.annotation.name", "patience", "session.annotations.0.annotation.label", "lost",
		"annotations.1.annotation.name", "without a result")
	want := `[{"name":"whole","explanation":"fine","of":"run"},{"name":"patience","label":"lost","of":"session"},` +
		`{"name":"tone","label":"rude","judge":"HUMAN","id":"j1","of":"event","seq":4,"span_id":"0000000000000005","metadata":{"rubric":"2"}}]`
	if got := verdictsOn(t, the(t, tr.runs(t))); got != want {
		t.Errorf("verdicts %s\nwant %s", got, want)
	}
}

// TestACarrierJudgesWhatItLinksTo sends the span of an evaluator beside the run, in its trace.
func TestACarrierJudgesWhatItLinksTo(t *testing.T) {
	tr := plainRun()
	s := tr.in("openinference.instrumentation.x", "judge", 70, 0, 200, 210, "openinference.span.kind", "EVALUATOR")
	judges(s, "evaluations.0.evaluation.name", "ok", "evaluations.0.evaluation.label", "no")
	linksTo(s, 3)
	got := verdictsOn(t, the(t, tr.runs(t)))
	if !strings.HasPrefix(got, `[{"name":"ok","label":"no","of":"event","seq":2,"span_id":"0000000000000003","at":"`) {
		t.Errorf("verdicts %s", got)
	}
}

func TestAVerdictNamesTheResponse(t *testing.T) {
	tr := plainRun()
	tr.chat(5, 1, 31, 40, list(user("q2")), list(says("a2")), "gen_ai.response.id", "r5")
	tapes := tr.with(t,
		[]any{genai.VerdictEvent, 50, 0, "gen_ai.evaluation.name", "n", "gen_ai.evaluation.score.label", "bad", "gen_ai.response.id", "r5", "acme.rubric", "x"},
		[]any{genai.VerdictEvent, 51, 0, "gen_ai.evaluation.name", "n", "gen_ai.evaluation.score.label", "bad", "gen_ai.response.id", "unknown"},
		[]any{genai.VerdictEvent, 52, 99, "gen_ai.evaluation.name", "n", "error.type", "timeout"},
	)
	tp := the(t, tapes)
	for _, part := range []string{
		`"of":"event","seq":4,"span_id":"0000000000000005"`, `"metadata":{"acme.rubric":"x"}`,
		`"of":"run"`, `"metadata":{"gen_ai.response.id":"unknown"}`,
		`"of":"span","span_id":"0000000000000063"`, `"error":{"type":"timeout"}`,
	} {
		if got := verdictsOn(t, tp); !strings.Contains(got, part) {
			t.Errorf("verdicts %s do not hold %s", got, part)
		}
	}
	if slices.ContainsFunc(tp.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeUnassignedRecords }) || tp.Sources.Logs != 0 {
		t.Errorf("%d records, %v", tp.Sources.Logs, tp.Fidelity.Findings)
	}
}

// TestALaterVerdictOfTheSameIDReplacesIt also counts equal verdicts once.
func TestALaterVerdictOfTheSameIDReplacesIt(t *testing.T) {
	tr := plainRun()
	s := tr.chat(5, 1, 31, 40, list(user("q2")), list(says("a2")))
	for i, label := range []string{"old", "new", "new"} {
		e := s.Events().AppendEmpty()
		e.SetName(genai.VerdictEvent)
		e.SetTimestamp(pcommon.Timestamp(1790000000_000000000 + min(i, 1)))
		e.Attributes().PutStr("gen_ai.evaluation.name", "n")
		e.Attributes().PutStr("gen_ai.evaluation.score.label", label)
	}
	if got := the(t, tr.runs(t)).Verdicts; len(got) != 2 {
		t.Errorf("%d verdicts", len(got))
	}
	judges(s, "annotations.0.annotation.name", "n", "annotations.0.annotation.label", "first", "annotations.0.annotation.identifier", "i",
		"annotations.1.annotation.name", "n", "annotations.1.annotation.label", "second", "annotations.1.annotation.identifier", "i")
	if got := the(t, tr.runs(t)).Verdicts; len(got) != 3 {
		t.Errorf("%d verdicts", len(got))
	}
}

// TestVerdictsChangeNothingElse compares the run with and without records of verdicts.
func TestVerdictsChangeNothingElse(t *testing.T) {
	without := the(t, plainRun().runs(t))
	tapes := plainRun().with(t, []any{genai.VerdictEvent, 500, 4, "gen_ai.evaluation.name", "n", "gen_ai.evaluation.score.label", "bad"})
	with := the(t, tapes)
	if len(with.Verdicts) != 1 {
		t.Fatalf("verdicts %+v", with.Verdicts)
	}
	with.Verdicts, with.TapeID = nil, without.TapeID
	if a, b := string(without.AppendJSON(nil)), string(with.AppendJSON(nil)); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}
