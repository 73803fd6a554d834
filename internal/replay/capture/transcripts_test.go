// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"os"
	"path/filepath"
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
	codexTelemetry  = "../../../testdata/imports/runs/codex-0.171.0/"
	codexTranscript = "../../../testdata/imports/codex/codex-0.171.0/"
)

func codexProfile(t *testing.T) *agentprofile.Profile {
	t.Helper()
	for i := range agentprofile.Table {
		if agentprofile.Table[i].ID == "codex" {
			return &agentprofile.Table[i]
		}
	}
	t.Fatal("no profile of Codex")
	return nil
}

// captured holds what Codex sent of a scenario.
func captured(t *testing.T, scenario string, environ ...string) (c *Capture, said *strings.Builder) {
	t.Helper()
	said = &strings.Builder{}
	c = &Capture{In: ingest.NewBatch(nil, nil), Environ: environ, Say: func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) }}
	for _, kind := range []string{"otlp", "logs"} {
		for doc, err := range otlpfile.ReadFile(codexTelemetry+scenario+"."+kind+".json", nil, otlpfile.Options{}) {
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
	lines, err := os.ReadFile(codexTranscript + scenario + ".jsonl.zst") // what a file holds tells that it is packed
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
			c, _ := captured(t, scenario)
			alone := c.tapes(t)
			c, said := captured(t, scenario, "CODEX_HOME="+home, "HOME=/none")
			c.AddTranscripts(codexProfile(t), began)
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

// TestTranscriptsOfOthersAreLeftAlone: of another session, of one that began before, that was not changed, or
// of a program whose telemetry is enough.
func TestTranscriptsOfOthersAreLeftAlone(t *testing.T) {
	began := time.Date(2026, 11, 28, 22, 0, 0, 0, time.UTC)
	home := t.TempDir()
	transcriptIn(t, home, "plain")
	unknown := &agentprofile.Profile{Transcripts: "~/.codex/sessions"}
	for name, of := range map[string]struct {
		scenario, says string
		began          time.Time
		profile        *agentprofile.Profile
	}{
		"another session": {"errors", "", began, codexProfile(t)},
		"began before":    {"plain", "began earlier", began.Add(2 * time.Hour), codexProfile(t)},
		"not changed":     {"plain", "", time.Now().Add(time.Hour), codexProfile(t)},
		"enough":          {"plain", "", began, unknown},
	} {
		c, said := captured(t, of.scenario, "CODEX_HOME="+home, "HOME="+home)
		before := c.Len()
		c.AddTranscripts(of.profile, of.began)
		if c.Len() != before || !strings.Contains(said.String(), of.says) || of.says == "" && said.Len() > 0 {
			t.Errorf("%s: %d records more, said %q", name, c.Len()-before, said)
		}
	}
}
