// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/interop/formats"
)

// TestEvidenceComesBackAsTheSameTape exports the evidence of runs as OTLP/JSON and derives it again: spans alone, spans and log records,
// and a run that was joined of several traces.
func TestEvidenceComesBackAsTheSameTape(t *testing.T) {
	for name, address := range map[string]func(t *testing.T) string{
		"file": func(t *testing.T) string { return t.TempDir() },
		"s3":   func(t *testing.T) string { return decktest.S3(t).URL },
	} {
		t.Run(name, func(t *testing.T) {
			const withLogs = "../../testdata/corpus/agents/claude-code/parallel_tools"
			for _, files := range [][]string{{forge}, {withLogs + ".otlp.json", withLogs + ".logs.json"}, tornRun(t)} {
				first, second := address(t), t.TempDir()
				before := lines(t, tapedeck(t, append([]string{"derive", "--to", first, "--redact", "off"}, files...)...).stdout)
				exported := tapedeck(t, "export", first, "--format", "otlp")
				if exported.code != exitOK || exported.stderr != "" {
					t.Fatalf("%+v", exported)
				}
				made := tapedeck(t, "derive", write(t, "traces.otlp.jsonl", exported.stdout), "--to", second, "--redact", "off")
				after := lines(t, made.stdout)
				if made.code != exitOK || len(after) != len(before) || len(before) == 0 {
					t.Fatalf("%d runs become %d: %+v", len(before), len(after), made)
				}
				for i := range before {
					old, now := tapedeck(t, "show", before[i].URL, "--json"), tapedeck(t, "show", after[i].URL, "--json")
					if old.stdout == "" || old != now {
						t.Errorf("%s is another tape", before[i].RunID)
					}
				}
			}
		})
	}
	if got := tapedeck(t, "export", "../../tape/testdata/full.tape.json", "--format", "otlp"); got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "no evidence lies with the tape") {
		t.Errorf("%+v", got)
	}
}

// TestEveryFormatComesBackFromTheCommandLine exports a tape in every format and reads it again, with and without naming the format.
func TestEveryFormatComesBackFromTheCommandLine(t *testing.T) {
	for _, f := range formats.All {
		if f.Encode == nil || f.Decode == nil {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			for name, out := range map[string]string{"file": "file://" + t.TempDir(), "s3": decktest.S3(t).URL} {
				exported := conversions(t, tapedeck(t, "export", "../../tape/testdata/full.tape.json", "--format", f.Name, "--json", "-o", out).stdout)
				if len(exported) != 1 || len(exported[0].Losses) == 0 {
					t.Fatalf("%s: %+v", name, exported)
				}
				for _, l := range exported[0].Losses {
					if l.Reason == "" || l.What == "" {
						t.Errorf("%+v", l)
					}
				}
				imported := tapedeck(t, "import", exported[0].Files[0])
				if imported.code != exitOK || imported.stderr != "" {
					t.Fatalf("%s: %+v", name, imported)
				}
				again := tapedeck(t, "export", write(t, "tape.json", imported.stdout), "--format", f.Name)
				if text := read(t, exported[0].Files[0]); again.code != exitOK || text != "" && again.stdout != text {
					t.Errorf("%s: %+v", name, again)
				}
			}
		})
	}
}

// read returns a file of a file:// URL, nothing for any other.
func read(t *testing.T, url string) string {
	t.Helper()
	path, ok := strings.CutPrefix(url, "file://")
	if !ok {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestBadFilesGiveOneLineAndNothingElse(t *testing.T) {
	bad := map[string]string{
		"aiwg": `{"snapshot_id":"s","workflow_id":"w","captured_at":"2026-01-25T15:00:00Z","config":{"model":{"id":"m"},"execution_mode":"cached"},"inputs":{},"outputs":{}}`,
		"atif": `{"schema_version":"ATIF-v1.7","steps":[{"source":"robot","message":"SECRET"}]}`,
		"chat": `{"messages":[{"role":"robot","content":"SECRET"}]}`,
		"waza": `{"kind":"task-snapshot","schemaVersion":"7.0","prompt":{"message":"SECRET"}}`,
	}
	for _, f := range formats.All {
		if f.Decode == nil {
			continue
		}
		for _, text := range []string{"", "{", "[]", "\xff", strings.Repeat("[", 100000), bad[f.Name]} {
			for _, args := range [][]string{{"--format", f.Name}, nil} {
				got := tapedeck(t, append([]string{"import", write(t, "bad.json", text)}, args...)...)
				if got.code != exitFailed || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || strings.Contains(got.stderr, "SECRET") {
					t.Errorf("%s: %.40q: %+v", f.Name, text, got)
				}
			}
		}
	}
}

// TestDeriveWritesExecutionSnapshotsBesideTapes: under the name that the layout has for them; a run that the format cannot hold has none, and
// its tape says why.
func TestDeriveWritesExecutionSnapshotsBesideTapes(t *testing.T) {
	dir := t.TempDir()
	made := tapedeck(t, append([]string{"derive", "--to", dir, "--redact", "off", "--formats", "tape,oracle,aiwg,waza", forge}, tornRun(t)...)...)
	if made.code != exitOK {
		t.Fatalf("%+v", made)
	}
	snapshots, left := 0, 0
	for name, body := range contents(t, dir) {
		switch {
		case strings.HasSuffix(name, "/execution-snapshot.json"):
			snapshots++
			if !strings.Contains(body, `"snapshot_id": "`) || strings.Contains(body, "replay_status") {
				t.Errorf("%s: %s", name, body)
			}
		case strings.HasSuffix(name, "/tape.json") && strings.Contains(body, `"left_out":{"aiwg":`):
			left++
		}
	}
	if n := len(lines(t, made.stdout)); snapshots+left != n || snapshots == 0 {
		t.Errorf("%d snapshots and %d left out of %d runs", snapshots, left, n)
	}
	if got := tapedeck(t, "verify", dir); got.code != exitOK {
		t.Errorf("%+v", got)
	}
}
