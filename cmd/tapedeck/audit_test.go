// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

const (
	cutRun    = forgeCorpus + "truncated_redacted.otlp.json"
	auditFile = forgeCorpus + "stock-helper.audit.ndjson"
	auditKeys = forgeCorpus + "audit.jwks.json"
)

// tapeOf returns the only tape of a deck.
func tapeOf(t *testing.T, to string) string {
	t.Helper()
	files, err := filepath.Glob(to + "/runs/default/*/*/*/tape.json")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// tapeAt returns the tape that a line of derive names.
func tapeAt(t *testing.T, line string) string {
	t.Helper()
	_, rest, _ := strings.Cut(line, `"url":"file://`)
	file, _, _ := strings.Cut(rest, `"`)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestDeriveTakesAnAuditStreamForWhatItIs: told by its content, in any place among the files, also on stdin; the tapes are the same.
func TestDeriveTakesAnAuditStreamForWhatItIs(t *testing.T) {
	audit, err := os.ReadFile(auditFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(audit), "\n")
	half := write(t, "a", strings.Join(lines[:80], ""))
	rest := write(t, "b", strings.Join(lines[80:], ""))
	first := ""
	for _, c := range []struct {
		stdin string
		files []string
	}{
		{"", []string{cutRun, auditFile}}, {"", []string{auditFile, cutRun}}, {string(audit), []string{"-", cutRun}}, {"", []string{rest, cutRun, half, auditFile}},
	} {
		to := t.TempDir()
		got := tapedeckWith(t, c.stdin, append([]string{"derive", "--to", to, "--redact", "off", "--audit-keys", auditKeys}, c.files...)...)
		if got.code != exitOK || !strings.Contains(got.stderr, "9 audit records belong to no run") && !strings.Contains(got.stderr, "6 audit records belong to no run") {
			t.Errorf("%v: %+v", c.files, got)
		}
		if !strings.Contains(tapeOf(t, to), `"served":4`) {
			t.Errorf("%v: the audit stream completed nothing", c.files)
		}
		if tape := tapeOf(t, to); first == "" {
			first = tape
		} else if tape != first {
			t.Errorf("%v: another tape", c.files)
		}
		if got := tapedeck(t, "verify", to); got.code != exitOK {
			t.Errorf("%+v", got)
		}
	}
}

// TestDeriveKeepsAuditRecordsAsEvidence: a later call finds them in the deck, line for line.
func TestDeriveKeepsAuditRecordsAsEvidence(t *testing.T) {
	to := t.TempDir()
	for i, files := range [][]string{{auditFile}, {cutRun}, {auditFile, cutRun}} {
		got := tapedeck(t, append([]string{"derive", "--to", to, "--redact", "off"}, files...)...)
		if want := map[int]int{0: exitFailed, 1: exitOK, 2: exitOK}[i]; got.code != want || i > 0 && !strings.Contains(tapeAt(t, got.stdout), `"served":4`) {
			t.Errorf("%v: %+v", files, got)
		}
	}
	audit, err := os.ReadFile(auditFile)
	if err != nil {
		t.Fatal(err)
	}
	d, err := deck.Open(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	place := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: "a49f5495cecdad31398c302ddb48d078"}
	parts, err := d.Parts(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	set := evidence.NewSet()
	for _, digest := range parts {
		body, err := d.ReadPart(t.Context(), place, digest)
		if err != nil {
			t.Fatal(err)
		}
		part, err := evidence.FromPart(body)
		if err != nil {
			t.Fatal(err)
		}
		set.Merge(part)
	}
	records := 0
	for _, item := range set.Items() {
		if item.Scope.Scope().Name() != genai.LogScope {
			continue
		}
		records++
		if line, _ := item.Span.Attributes().Get(genai.LogBody); !strings.Contains(string(audit), line.Str()+"\n") {
			t.Error("a record is not the line as it came")
		}
	}
	if records != 21 {
		t.Errorf("%d records", records)
	}
}

func TestDeriveSaysWhatSpeaksAgainstAuditRecords(t *testing.T) {
	audit, err := os.ReadFile(auditFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(audit), "\n")
	changed := append([]string{}, lines...)
	changed[79] = strings.Replace(changed[79], "0123456789", "9876543210", 1)
	cut := append([]string{"* a banner\n"}, lines...)
	cut[30] = `{"ts":"2026-11-20T16:19:01Z","event":"tool_exec","schema_version":"1.0","fields":{` + "\n"
	cut[31] = `{"ts":"today","event":"tool_exec","schema_version":"1.0"}` + "\n"
	for name, c := range map[string]struct {
		lines  []string
		args   []string
		said   []string
		served int // calls of the run that can be served
	}{
		"changed": {changed, nil, []string{
			":80: hash chain: no record confirms it, and the stream goes on after one that is missing or was changed; nothing is taken from it",
			"the signatures of 161 audit records were not checked; name the keys with --audit-keys",
		}, 3},
		"changed, with keys": {changed, []string{"--audit-keys", auditKeys}, []string{":80: its signature does not verify; nothing is taken from it"}, 3},
		"malformed": {cut, []string{"--audit-keys", auditKeys}, []string{
			":1: not OTLP telemetry: the line does not start a JSON object", ":31: truncated: the document is not closed where the next one starts",
			":32: malformed audit record: ts is no time",
		}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			to := t.TempDir()
			got := tapedeck(t, append([]string{"derive", cutRun, write(t, "audit", strings.Join(c.lines, "")), "--to", to, "--redact", "off"}, c.args...)...)
			if got.code != exitPartial || !strings.Contains(tapeOf(t, to), fmt.Sprintf(`"served":%d`, c.served)) {
				t.Errorf("%+v", got)
			}
			for _, said := range c.said {
				if !strings.Contains(got.stderr, said) {
					t.Errorf("not said: %s\n%s", said, got.stderr)
				}
			}
		})
	}
}

func TestDeriveRefusesKeysThatAreNone(t *testing.T) {
	for want, file := range map[string]string{"no such file": "nofile", "not a JWK set": write(t, "k", "["), "holds no Ed25519 key": write(t, "k", `{"keys":[]}`)} {
		got := tapedeck(t, "derive", cutRun, "--to", t.TempDir(), "--redact", "off", "--audit-keys", file)
		if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "--audit-keys "+file+": ") || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", file, got)
		}
	}
}
