// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/tape"
)

const (
	recorded         = "../../../testdata/imports/"
	codexTelemetry   = recorded + "runs/codex-0.171.0/"
	codexTranscript  = recorded + "codex/codex-0.171.0/"
	claudeTelemetry  = recorded + "runs/claude-code-2.1.332/"
	claudeTranscript = recorded + "claude-code/claude-code-2.1.332/"
)

func profileOf(t *testing.T, id string) *agentprofile.Profile {
	t.Helper()
	for i := range agentprofile.Table {
		if agentprofile.Table[i].ID == id {
			return &agentprofile.Table[i]
		}
	}
	t.Fatalf("no profile of %s", id)
	return nil
}

// captured holds what a program sent of a scenario.
func captured(t *testing.T, telemetry, scenario string, environ ...string) (c *Capture, said *strings.Builder) {
	t.Helper()
	said = &strings.Builder{}
	c = &Capture{In: ingest.NewBatch(nil, nil), Environ: environ, Say: func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) }}
	for _, kind := range []string{"otlp", "logs"} {
		for doc, err := range otlpfile.ReadFile(telemetry+scenario+"."+kind+".json", nil, otlpfile.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			if doc.Signal == otlpfile.SignalTraces {
				c.AddTraces(doc.Traces)
			} else {
				c.AddLogs(doc.Logs)
			}
		}
	}
	return c, said
}

// transcriptIn writes the transcript of a scenario below the folder of Codex.
func transcriptIn(t *testing.T, home, scenario string) {
	t.Helper()
	// What a file holds tells that it is packed.
	lines, err := os.ReadFile(codexTranscript + scenario + ".jsonl.zst")
	if err != nil {
		t.Fatal(err)
	}
	day := filepath.Join(home, "sessions", "2026", "11", "28")
	if err := os.MkdirAll(day, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(day, "rollout-"+scenario+".jsonl"), lines, 0o600); err != nil {
		t.Fatal(err)
	}
}

// tapes are those of the capture. A trace without a run has none.
func (c *Capture) tapes(t *testing.T) (list []*tape.Tape) {
	t.Helper()
	if err := c.Release(&harness.Facts{}, nil); err != nil {
		t.Fatal(err)
	}
	for _, trace := range c.In.Set.Split() {
		of, _ := reconstruct.Trace(trace, reconstruct.Options{Tenant: "default"})
		list = append(list, of...)
	}
	return list
}

func calls(t *tape.Tape) (list []string) {
	for _, e := range t.Events {
		list = append(list, string(e.Type)+" "+e.Name)
	}
	return list
}

// TestATranscriptFillsInWhatTelemetryLacks: spans and transcript of a session are one run with the calls of
// each, and the answers of the model are those of the transcript.
func TestATranscriptFillsInWhatTelemetryLacks(t *testing.T) {
	began := time.Date(2026, 11, 28, 22, 0, 0, 0, time.UTC)
	for _, scenario := range []string{"plain", "parallel", "errors", "secret"} {
		t.Run(scenario, func(t *testing.T) {
			home := t.TempDir()
			for _, other := range []string{"plain", "parallel", "errors", "secret"} {
				transcriptIn(t, home, other) // those of other sessions are left alone
			}
			c, _ := captured(t, codexTelemetry, scenario)
			alone := c.tapes(t)
			c, said := captured(t, codexTelemetry, scenario, "CODEX_HOME="+home, "HOME=/none")
			c.AddTranscripts(profileOf(t, "codex"), began)
			both := c.tapes(t)
			if len(alone) != 1 || len(both) != 1 {
				t.Fatalf("%d runs by telemetry, %d by both", len(alone), len(both))
			}
			if got, want := calls(both[0]), calls(alone[0]); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("calls %q, by telemetry %q", got, want)
			}
			if both[0].Output.Text == nil || alone[0].Output.Text != nil {
				t.Error("the answer does not come from the transcript")
			}
			for _, e := range both[0].Events {
				if e.Type == tape.EventModelCall && (e.Request == nil || e.Response == nil || len(e.SpanIDs) < 2) {
					t.Errorf("event %d is not told by both: %v", e.Seq, e.SpanIDs)
				}
			}
			if n := strings.Count(said.String(), "the transcript is evidence"); n != 1 {
				t.Errorf("said:\n%s", said)
			}
		})
	}
}

// claudeTranscripts writes all transcripts of Claude Code below its folder.
func claudeTranscripts(t *testing.T, home string) {
	t.Helper()
	err := filepath.WalkDir(claudeTranscript, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		lines, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(home, "projects", strings.TrimSuffix(strings.TrimPrefix(path, filepath.FromSlash(claudeTranscript)), ".zst"))
		return errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, lines, 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestATranscriptCompletesSpansWithContent: the spans of Claude Code without raw bodies tell texts and
// results of tools. The transcript adds requests, calls and what the model was told, and no model call stands
// twice.
func TestATranscriptCompletesSpansWithContent(t *testing.T) {
	home := t.TempDir()
	claudeTranscripts(t, home)
	began := time.Date(2026, 11, 28, 20, 0, 0, 0, time.UTC)
	of := func(scenario string) *Capture {
		c, said := captured(t, claudeTelemetry, scenario, "CLAUDE_CONFIG_DIR="+home, "HOME=/none")
		if c.AddTranscripts(profileOf(t, "claude"), began); !strings.Contains(said.String(), "the transcript is evidence") {
			t.Errorf("said:\n%s", said)
		}
		return c
	}
	for scenario, told := range map[string]Values{
		"plain":    {Requests: 1},
		"parallel": {Requests: 4, Answers: 3, Results: 2},
		"errors":   {Requests: 5, Answers: 4, Results: 4},
		"secret":   {Requests: 3, Answers: 2, Results: 1},
		"subagent": {Requests: 5, Answers: 3, Results: 2},
	} {
		t.Run(scenario, func(t *testing.T) {
			alone, _ := captured(t, claudeTelemetry, scenario)
			before := modelCalls(alone.tapes(t))
			c := of(scenario)
			both := c.tapes(t)
			if len(both) != 1 || both[0].Fidelity.Grade != tape.GradeOffline {
				t.Fatalf("%d runs, grade %s", len(both), both[0].Fidelity.Grade)
			}
			after := modelCalls(both)
			if len(after) != len(before) {
				t.Fatalf("%d model calls, by telemetry %d", len(after), len(before))
			}
			for i, e := range after {
				if e.Request == nil || e.Response == nil || e.Response.Message == "" || len(e.SpanIDs) != 2 {
					t.Errorf("event %d is not told by both: %v", e.Seq, e.SpanIDs)
				}
				if !e.StartedAt.Equal(before[i].StartedAt) || e.DurationMS != before[i].DurationMS {
					t.Errorf("event %d has other times than its span", e.Seq)
				}
			}
			if _, got, _, err := c.Origins(); err != nil || got != told {
				t.Errorf("of the transcript: %s, %v", got, err)
			}
			again := of(scenario)
			slices.Reverse(again.held)
			again.held = append(again.held, again.held...)
			if !bytes.Equal(again.tapes(t)[0].AppendJSON(nil), both[0].AppendJSON(nil)) {
				t.Error("the tape depends on the order in which its evidence came")
			}
		})
	}
}

func modelCalls(tapes []*tape.Tape) (list []tape.Event) {
	for _, t := range tapes {
		for _, e := range t.Events {
			if e.Type == tape.EventModelCall {
				list = append(list, e)
			}
		}
	}
	return list
}

// TestTranscriptsOfOthersAreLeftAlone: of another session, of one that began before, that was not changed, of
// a program whose telemetry is enough, of a session of several traces, or of a version that writes no
// requests.
func TestTranscriptsOfOthersAreLeftAlone(t *testing.T) {
	began := time.Date(2026, 11, 28, 22, 0, 0, 0, time.UTC)
	home := t.TempDir()
	transcriptIn(t, home, "plain")
	claudeTranscripts(t, home)
	unknown := &agentprofile.Profile{Transcripts: "~/.codex/sessions"}
	codex, claude := profileOf(t, "codex"), profileOf(t, "claude")
	later := *claude
	later.Requests = "of a later version"
	for name, of := range map[string]struct {
		telemetry, scenario, says string
		began                     time.Time
		profile                   *agentprofile.Profile
	}{
		"another session": {codexTelemetry, "errors", "", began, codex},
		"began before":    {codexTelemetry, "plain", "began earlier", began.Add(2 * time.Hour), codex},
		"not changed":     {codexTelemetry, "plain", "", time.Now().Add(time.Hour), codex},
		"enough":          {codexTelemetry, "plain", "", began, unknown},
		"several traces":  {claudeTelemetry, "compact", "tells of several runs", began.Add(-2 * time.Hour), claude},
		"no requests":     {claudeTelemetry, "plain", "holds no requests", began.Add(-2 * time.Hour), &later},
	} {
		c, said := captured(t, of.telemetry, of.scenario, "CODEX_HOME="+home, "CLAUDE_CONFIG_DIR="+home, "HOME="+home)
		before := c.Len()
		c.AddTranscripts(of.profile, of.began)
		if c.Len() != before || !strings.Contains(said.String(), of.says) || of.says == "" && said.Len() > 0 {
			t.Errorf("%s: %d records more, said %q", name, c.Len()-before, said)
		}
	}
}
