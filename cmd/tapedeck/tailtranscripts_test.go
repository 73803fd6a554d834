// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// transcriptOf is a recorded transcript whose run ends in the time of tailClock.
func transcriptOf(t *testing.T, recording string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("../../testdata/imports", recording))
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	plain, err := z.DecodeAll(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.ReplaceAll(plain, []byte("2026-11-28T"), []byte("2097-11-28T")))
}

// TestTailWatchesTranscripts: a run is shown when it has ended, once, redacted, and the folder stays as it
// is.
func TestTailWatchesTranscripts(t *testing.T) {
	for name, recording := range map[string]string{
		"claude": "claude-code/claude-code-2.1.332/secret.jsonl.zst", "codex": "codex/codex-0.171.0/secret.jsonl.zst",
	} {
		t.Run(name, func(t *testing.T) {
			folder, kept := t.TempDir(), t.TempDir()
			text := transcriptOf(t, recording)
			old := filepath.Join(folder, "old.jsonl")
			file := filepath.Join(folder, "project", "new.jsonl")
			put := func(path, text string) {
				t.Helper()
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put(old, strings.ReplaceAll(text, "notes.txt holds", "an old run:"))
			put(filepath.Join(folder, "settings.json"), `{"a":1}`)
			f := tailFlags{redactionFlags: redactionFlags{redact: "default"}, filter: runFilter{now: tailClock}, keep: kept, quiet: 30 * time.Millisecond, idle: time.Hour, every: 10 * time.Millisecond}
			t.Setenv(keyVariable, readAll(t, keyFile(t)))
			out, stderr := newLines(), newLines()
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- f.follow(ctx, folder, &runPrinter{out: out, now: tailClock}, stderr) }()
			if begun := <-stderr.came; !strings.Contains(begun, "watching 2 files") {
				t.Error(begun)
			}
			lines := strings.SplitAfter(text, "\n")
			half := strings.Join(lines[:len(lines)/2], "") + lines[len(lines)/2][:10]
			put(file, half) // not ended, and a line is not whole
			time.Sleep(200 * time.Millisecond)
			put(file, text)
			line := <-out.came
			put(file, text+"\n")
			time.Sleep(200 * time.Millisecond)
			cancel()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(line, "notes.txt holds a deploy token") || !strings.Contains(line, "ok") || strings.Count(out.String(), "\n") != 1 {
				t.Errorf("%s\n%s\n%s", line, out, stderr)
			}
			stored := strings.Join(tapesBelow(t, kept), "\n")
			if strings.Contains(out.String()+stderr.String()+stored, plantedToken) || !strings.Contains(stored, "[REDACTED:github-token:") {
				t.Error("a secret is shown or stored")
			}
			if got := readAll(t, file); got != text+"\n" {
				t.Error("the transcript was written to")
			}
			if entries, err := os.ReadDir(folder); err != nil || len(entries) != 3 {
				t.Error(entries, err)
			}
		})
	}
}
