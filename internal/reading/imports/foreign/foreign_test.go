// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

func put(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSiblingsLieBelowTheFolder: a name that a file holds never leads out of its folder.
func TestSiblingsLieBelowTheFolder(t *testing.T) {
	folder := t.TempDir()
	at := put(t, filepath.Join(folder, "in", "a.jsonl"), "{}")
	put(t, filepath.Join(folder, "in", "sub", "b.jsonl"), "b")
	put(t, filepath.Join(folder, "secret"), "s")
	if err := os.Symlink(filepath.Join(folder, "secret"), filepath.Join(folder, "in", "link")); err != nil {
		t.Fatal(err)
	}
	f, err := sibling(at, "sub/b.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(f); string(text) != "b" || err != nil || f.Close() != nil {
		t.Error(string(text), err)
	}
	for _, name := range []string{"../secret", "link", "/etc/passwd", filepath.Join(folder, "secret"), "sub", "none", "", "sub/../../secret", "a\x00b"} {
		if _, err := sibling(at, name); err == nil {
			t.Errorf("%q is opened", name)
		}
	}
}

// TestFilesOfAFolderAreToldByContent: links are not followed, and what cannot be read counts as another file.
func TestFilesOfAFolderAreToldByContent(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "x", "spans.txt"), `{"resourceSpans":[]}`)
	put(t, filepath.Join(folder, "spans.json"), `{"a":1}`)
	put(t, filepath.Join(folder, "empty.json"), "")
	put(t, filepath.Join(folder, "broken.gz"), "\x1f\x8bnot")
	if err := os.Symlink(folder, filepath.Join(folder, "x", "loop")); err != nil {
		t.Fatal(err)
	}
	files, others, err := Files(folder)
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "spans.txt" || others != 3 {
		t.Error(files, others, err)
	}
	if _, _, err := Files(filepath.Join(folder, "none")); err == nil {
		t.Error("a folder that is not there")
	}
}

// TestTelemetryIsNoExport: files of OTLP stay such, whatever the names of their attributes and the texts in
// them.
func TestTelemetryIsNoExport(t *testing.T) {
	files, err := filepath.Glob("../../../../testdata/corpus/agents/*/*.json")
	if err != nil || len(files) < 100 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		head, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if f := formatOf(head[:min(len(head), 64<<10)]); f != nil {
			t.Errorf("%s is taken for %s", file, f.Name)
		}
	}
	for _, text := range []string{
		`{"resourceSpans":[{"x":["trace_id","run_type","traceId","parentObservationId","context","span_kind","span_id","traceID","spans"]}]}`,
		"\x0a\x10\x0a\x02{\"run_type\":\"llm\",\"trace_id\":\"\"}", `"run_type" "trace_id"`, "",
	} {
		if f := formatOf([]byte(text)); f != nil {
			t.Errorf("%q is taken for %s", text, f.Name)
		}
	}
}

// TestEachFormatIsToldFromTheOthers: by the least that a file of it holds.
func TestEachFormatIsToldFromTheOthers(t *testing.T) {
	for text, want := range map[string]string{
		`{"batches":[{"scopeSpans":[]}]}`:                                                    "tempo",
		`{"result":{"resourceSpans":[]}}`:                                                    "tempo",
		`{"data":[{"traceID":"a","spans":[],"processes":{}}]}`:                               "jaeger",
		`[{"id":"a","traceId":"t","parentObservationId":null}]`:                              "langfuse",
		`{"id":"a","trace_id":"t","parent_observation_id":""}`:                               "langfuse",
		`{"runs":[{"id":"a","run_type":"llm","trace_id":"t"}]}`:                              "langsmith",
		`{"data":[{"name":"n","context":{"trace_id":"t","span_id":"s"},"span_kind":"LLM"}]}`: "phoenix",
		`{"name":"n","span_kind":"LLM","context.span_id":"s"}`:                               "phoenix",
		`{"data":[{"attributes":[],"span_id":"s","start_time_unix_nano":1,"trace_id":"t"}]}`: "phoenix",
	} {
		if f := formatOf([]byte(text)); f == nil || f.Name != want {
			t.Errorf("%s is not taken for %s", text, want)
		}
	}
}
