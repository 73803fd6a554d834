// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// requestLines are a line for each trace of a deck.
func requestLines(t *testing.T, address string) (lines []string) {
	t.Helper()
	d, err := deck.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for location, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		digests, err := d.Parts(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for _, digest := range digests {
			body, err := d.ReadPart(t.Context(), location, digest)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, base64.StdEncoding.EncodeToString(body))
		}
		line, err := json.Marshal(map[string]any{"trace_id": location.TraceID, "area": location.Area, "parts": parts, "date": "2026-11-20"})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	return lines
}

type anyLine struct {
	Line    int               `json:"line"`
	TraceID string            `json:"trace_id"`
	Error   string            `json:"error"`
	Runs    json.RawMessage   `json:"runs"`
	Reel    json.RawMessage   `json:"reel"`
	Verdict struct{ OK bool } `json:"verdict"`
	Hits    []struct {
		File, Rule, Path string
	} `json:"hits"`
	RunID string `json:"run_id"`
	Cases []struct {
		Case string
		Held bool
	} `json:"cases"`
}

func lineAnswers(t *testing.T, stdout string) (list []anyLine) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		var a anyLine
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, a)
	}
	return list
}

// TestDeriveAnswersLines: every line has an answer, in order and whatever it holds, and a deck of reels that
// was made of lines shows what the deck shows that they are from.
func TestDeriveAnswersLines(t *testing.T) {
	files, _ := bothLayouts(t)
	lines := requestLines(t, files)
	input := strings.Join(append([]string{"no JSON", "", strings.Repeat("x", 2<<20)}, lines...), "\n")
	out := tapedeckWith(t, input, "derive", "--stdin", "--stdout", "--jobs", "4", "--max-line", "1MiB")
	answers := lineAnswers(t, out.stdout)
	if out.code != exitPartial || len(answers) != len(lines)+2 || answers[0].Error == "" || answers[1].Line != 3 || !strings.Contains(answers[1].Error, "longer than") {
		t.Fatalf("%d answers, %+v", len(answers), out.code)
	}
	for i, a := range answers[2:] {
		if a.Line != i+4 || a.Error != "" || !strings.Contains(lines[i], a.TraceID) {
			t.Errorf("%+v", a)
		}
	}
	one := tapedeckWith(t, input, "derive", "--stdin", "--stdout", "--max-line", "1MiB")
	if one.stdout != out.stdout {
		t.Error("another number of jobs gives another answer")
	}

	to := filepath.Join(t.TempDir(), "deck")
	for again := range 2 {
		stored := tapedeckWith(t, input, "derive", "--stdin", "--to", to, "--jobs", "2")
		answers := lineAnswers(t, stored.stdout)
		if stored.code != exitPartial || answers[0].Error == "" || answers[0].Line != 1 {
			t.Fatal(stored)
		}
		if created := strings.Contains(stored.stdout, `"created":true`); created != (again == 0) {
			t.Errorf("call %d: %s", again, stored.stdout)
		}
	}
	list := func(address string) string {
		return tapedeck(t, "ls", address, "--columns", "run_id,tape_id,events,grade", "--sort", "run_id").stdout
	}
	if diff := cmp.Diff(list(files), list(to)); diff != "" || len(lines) < 20 {
		t.Errorf("%d traces, other runs:\n%s", len(lines), diff)
	}
	if got := tapedeck(t, "verify", to); got.code != exitOK {
		t.Error(got)
	}
}

// TestChecksAnswerLines: verify, redact and suite check say of a tape that comes as a line what they say of
// one in a deck.
func TestChecksAnswerLines(t *testing.T) {
	files, _ := bothLayouts(t)
	const secret = "AKIAIOSFODNN7EXAMPLE"
	var good, bad []string
	for _, derived := range lineAnswers(t, tapedeckWith(t, strings.Join(requestLines(t, files), "\n"), "derive", "--stdin", "--stdout").stdout) {
		var runs []struct {
			Row struct {
				Tenant, Area   string
				Formats, Files []string
			}
			Tape string
		}
		if err := json.Unmarshal(derived.Runs, &runs); err != nil {
			t.Fatal(err)
		}
		for _, run := range runs {
			for _, of := range []struct {
				list *[]string
				tape string
			}{{&good, run.Tape}, {&bad, strings.Replace(run.Tape, `"status":"`, `"status":"`+secret+" ", 1)}} {
				line, err := json.Marshal(map[string]any{"tenant": run.Row.Tenant, "trace_id": derived.TraceID, "area": run.Row.Area, "tape": of.tape, "formats": run.Row.Formats, "files": run.Row.Files})
				if err != nil {
					t.Fatal(err)
				}
				*of.list = append(*of.list, string(line))
			}
		}
	}
	cases := filepath.Join(t.TempDir(), "case.yaml")
	if err := os.WriteFile(cases, []byte("version: 1\nexpect: {max_tool_calls: 100}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		args []string
		ok   func(anyLine) bool
	}{
		"verify": {[]string{"verify", "--stdin"}, func(a anyLine) bool { return a.Verdict.OK }},
		"redact": {[]string{"redact", "--stdin", "--dry-run"}, func(a anyLine) bool { return len(a.Hits) == 0 }},
		"suite check": {[]string{"suite", "check", cases, "--stdin"}, func(a anyLine) bool {
			return a.Error == "" && len(a.Cases) == 1 && a.Cases[0].Held && a.RunID != ""
		}},
	} {
		got := tapedeckWith(t, strings.Join(good, "\n"), of.args...)
		answers := lineAnswers(t, got.stdout)
		if got.code != exitOK || len(answers) != len(good) || len(good) < 20 {
			t.Errorf("%s: %d answers to %d lines: %d %s", name, len(answers), len(good), got.code, got.stderr)
		}
		for _, a := range answers {
			if !of.ok(a) {
				t.Errorf("%s: %+v", name, a)
			}
		}
		got = tapedeckWith(t, bad[0]+"\n"+good[0]+"\n{", of.args...)
		answers = lineAnswers(t, got.stdout)
		if got.code != exitPartial || len(answers) != 3 || of.ok(answers[0]) || !of.ok(answers[1]) || answers[2].Error == "" {
			t.Errorf("%s: %+v", name, got)
		}
		if strings.Contains(got.stdout+got.stderr, secret) {
			t.Errorf("%s: the answer has what was found", name)
		}
	}
}

func TestFlagsThatDoNotGoWithStdin(t *testing.T) {
	for want, args := range map[string][]string{
		"needs --to DECK":               {"derive", "--stdin"},
		"or --stdin and --stdout":       {"derive", "--stdout", "--to", "x", "y"},
		"--redact does not go":          {"derive", "--stdin", "--stdout", "--redact", "off"},
		"everything comes from there":   {"derive", "--stdin", "--stdout", "x"},
		"--jobs must be at least 1":     {"verify", "--stdin", "--jobs", "0"},
		"--jobs goes with --stdin":      {"verify", "--jobs", "2", "x"},
		"--deck does not go with":       {"verify", "--stdin", "--deck", "x"},
		"it goes with --dry-run":        {"redact", "--stdin"},
		"lives only as long":            {"derive", "--stdin", "--to", "mem://x"},
		"a deck of files, not of reels": {"derive", "--stdin", "--to", filepath.Join(t.TempDir(), "files")},
	} {
		if strings.Contains(want, "of files") {
			if got := tapedeck(t, "derive", forge, "--redact", "off", "--to", args[len(args)-1]); got.code != exitOK {
				t.Fatal(got)
			}
		}
		if got := tapedeckWith(t, "", args...); got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: want %q, got %+v", args, want, got)
		}
	}
}
