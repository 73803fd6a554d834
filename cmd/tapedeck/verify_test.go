// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// newDeck returns a deck with two runs, and the folder of the tape of the first.
func newDeck(t *testing.T) (dir, folder string) {
	t.Helper()
	dir = t.TempDir()
	got := tapedeck(t, "derive", forge, spans, logs, "--to", dir, "--redact", "off")
	if got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	return dir, filepath.Dir(strings.TrimPrefix(lines(t, got.stdout)[0].URL, "file://"))
}

const (
	okForge  = "ok 4bf92f35 offline 3 events, verified 1 of 1 tool calls\n"
	okOpenai = "ok 9583ed5b offline 1 events\n"
)

func TestVerifyFindsEveryKindOfREF(t *testing.T) {
	dir, folder := newDeck(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{dir}, okForge + okOpenai},
		{[]string{"file://" + dir}, okForge + okOpenai},
		{[]string{"file://" + dir + "/"}, okForge + okOpenai},
		{[]string{folder}, okForge},
		{[]string{"file://" + folder}, okForge},
		{[]string{filepath.Join(folder, "tape.json")}, okForge},
		{[]string{"file://" + folder + "/tape.json"}, okForge},
		{[]string{forgeRun, "--deck", dir}, okForge},
		{[]string{forgeRun[:32], openaiRun[:8], "--deck", "file://" + dir}, okForge + okOpenai},
		{[]string{"testdata/full"}, "ok 11111111 offline 6 events, verified 2 of 2 tool calls\n"},
	} {
		got := tapedeck(t, append([]string{"verify"}, c.args...)...)
		if diff := cmp.Diff(result{exitOK, c.want, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
			t.Errorf("%v: %s", c.args, diff)
		}
	}
}

func TestVerifyListsAllProblems(t *testing.T) {
	dir, folder := newDeck(t)
	rewrite(t, filepath.Join(folder, "tape.json"), "There are 99 units.", "There are \x1b 9 units.")
	rewrite(t, filepath.Join(folder, "tape.json"), `"seq":3`, `"seq":7`)
	rewrite(t, filepath.Join(folder, "oracle.json"), "99", "98")
	if err := os.WriteFile(filepath.Join(folder, "extra.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := tapedeck(t, "verify", dir)
	if got.code != exitFailed { // a raw control character: the tape is no JSON any more
		t.Fatalf("%+v", got)
	}
	rewrite(t, filepath.Join(folder, "tape.json"), "There are \x1b 9 units.", "There are 98 units.")
	got = tapedeck(t, "verify", dir)
	if got.code != exitPartial || got.stderr != "" || !strings.HasSuffix(got.stdout, okOpenai) {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{"failed 4bf92f35 offline ", "  tape_id tape_id: ", "  sequence events.2.seq: is 7, not 3\n", "  pool_id messages.",
		"  file oracle.json: has sha256:", "  oracle oracle.json:0.response: ", "  file extra.json: is not listed on the tape\n"} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in %s", want, got.stdout)
		}
	}
	var v replay.Verdict
	asJSON := tapedeck(t, "verify", "--json", folder)
	if err := json.Unmarshal([]byte(asJSON.stdout), &v); err != nil || strings.Count(asJSON.stdout, "\n") != 1 {
		t.Fatalf("%v: %+v", err, asJSON)
	}
	if asJSON.code != exitPartial || v.OK || v.RunID != forgeRun || v.Grade != "offline" || len(v.Problems) != strings.Count(got.stdout, "\n  ") {
		t.Errorf("%+v", v)
	}
}

func TestVerifyJSONOfAConsistentTape(t *testing.T) {
	_, folder := newDeck(t)
	got := tapedeck(t, "verify", "--json", folder)
	if got.code != exitOK || !strings.HasPrefix(got.stdout, `{"url":"file://`) || !strings.HasSuffix(got.stdout, `,"grade":"offline","events":3,"ok":true,"proof":{"expected":1,"served":1,"verified":1,"mismatched":0,"unverifiable":0,"ok":true},"problems":[]}`+"\n") {
		t.Errorf("%+v", got)
	}
}

func TestVerifyFindsATapeInTheWrongPlace(t *testing.T) {
	dir, folder := newDeck(t)
	moved := filepath.Join(dir, "runs", "other", "4b", forgeRun[:32], strings.TrimSuffix(filepath.Base(folder), forgeRun[33:])+"0123456789abcdef")
	if err := os.MkdirAll(filepath.Dir(moved), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(folder, moved); err != nil {
		t.Fatal(err)
	}
	got := tapedeck(t, "verify", moved)
	want := "failed 4bf92f35 offline 2 problems\n" +
		"  place run.run_id: the tape lies in the location of " + forgeRun[:32] + "-0123456789abcdef\n" +
		"  place run.tenant: the tape lies in the location of another tenant\n"
	if diff := cmp.Diff(result{exitPartial, want, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Error(diff)
	}
}

func TestVerifyDemandsSiblingsOnlyInADeck(t *testing.T) {
	_, folder := newDeck(t)
	data, err := os.ReadFile(filepath.Join(folder, "tape.json"))
	if err != nil {
		t.Fatal(err)
	}
	copied := write(t, "tape.json", string(data))
	got := tapedeck(t, "verify", copied)
	if got.code != exitOK || got.stdout != okForge || !strings.Contains(got.stderr, "oracle.json is not beside it and was not checked") {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(filepath.Join(folder, "oracle.json")); err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, "verify", folder); got.code != exitPartial || !strings.Contains(got.stdout, "  file oracle.json: is missing\n") {
		t.Errorf("%+v", got)
	}
}

func TestVerifyGoesOnBehindWhatItCannotLoad(t *testing.T) {
	dir, folder := newDeck(t)
	empty := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tape.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := tapedeck(t, "verify", "nofile", empty, dir)
	if got.code != exitFailed || got.stdout != okOpenai || strings.Count(got.stderr, "\n") != 3 {
		t.Errorf("%+v", got)
	}
	asJSON := tapedeck(t, "verify", "--json", dir)
	if asJSON.code != exitFailed || strings.Count(asJSON.stdout, "\n") != 2 || !strings.Contains(asJSON.stdout, `"ok":false,"problems":[],"error":"`) {
		t.Errorf("%+v", asJSON)
	}
}

func TestVerifyOfAnEmptyDeckIsNotConsistent(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tapedeck.json"), []byte(`{"kind":"tape-deck","layout":"1"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	got := tapedeck(t, "verify", dir)
	if got.code != exitFailed || !strings.HasSuffix(got.stderr, " holds no tape\n") {
		t.Errorf("%+v", got)
	}
}

func rewrite(t *testing.T, file, old, replacement string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s holds no %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(data), old, replacement)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A recorded run in which every tool returns something that has nothing to do with what the model was shown.
func TestContradictedRunIsNotOK(t *testing.T) {
	recorded, err := os.ReadFile("../../testdata/traces/vercel-ai-research.otlp.json")
	if err != nil {
		t.Fatal(err)
	}
	results := regexp.MustCompile(`("key":"ai\.toolCall\.result","value":\{"stringValue":)"(?:[^"\\]|\\.)*"`)
	changed := results.ReplaceAll(recorded, []byte(`${1}"\"words of another tool\""`))
	file, dir := filepath.Join(t.TempDir(), "run.json"), t.TempDir()
	if err := os.WriteFile(file, changed, 0o600); err != nil || bytes.Equal(changed, recorded) {
		t.Fatal("nothing to change", err)
	}
	made := lines(t, tapedeck(t, "derive", file, "--to", dir, "--redact", "off").stdout)
	if len(made) != 1 || made[0].Grade != string(tape.GradeModel) {
		t.Errorf("%+v", made)
	}
	if got := tapedeck(t, "verify", dir); got.code != exitOK || !strings.HasPrefix(got.stdout, "unproved ") || !strings.Contains(got.stdout, "verified 0 of 3 tool calls") {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "replay", dir); got.code != exitPartial || !strings.Contains(got.stdout, "proof_mismatch") {
		t.Errorf("%+v", got)
	}
	args := `{"doc_id":"doc-eiffel"}`
	if got := tapedeck(t, "oracle", "lookup", made[0].RunID, "--deck", dir, "--tool", "lookup", "--args", args); got.code != exitOK || !strings.Contains(got.stdout, `"labels":["response_disputed"]`) {
		t.Errorf("%+v", got)
	}
}

func TestRunOfWhichNothingIsVerifiedIsNotOK(t *testing.T) {
	recorded, err := os.ReadFile("testdata/full/tape.json")
	if err != nil {
		t.Fatal(err)
	}
	tp, err := tape.Read(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tp.Events {
		tp.Events[i].Request = nil
	}
	used := map[string]tape.Message{}
	for i := range tp.Events {
		if r := tp.Events[i].Response; r != nil {
			used[r.Message] = tp.Messages[r.Message]
		}
	}
	tp.Tools, tp.Messages, tp.Input.Messages, tp.Extensions = map[string]tape.Tool{}, used, nil, exactjson.Value{}
	oracle.Assess(tp)
	if err := tp.Seal(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tape.json")
	if err := os.WriteFile(file, tp.AppendJSON(nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, "verify", file); got.code != exitOK || !strings.HasPrefix(got.stdout, "unverified ") {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "replay", file); got.code != exitPartial || !strings.Contains(got.stdout, "proof_unverified") {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "replay", file, "--strict=false"); got.code != exitOK || !strings.HasPrefix(got.stdout, "UNVERIFIED ") {
		t.Errorf("%+v", got)
	}
}

// A part that nobody can derive a tape from again is a problem of the tape that stands beside it, whether it
// is damaged, a bomb, or nested without end.
func TestVerifyReportsEvidenceThatCannotBeRead(t *testing.T) {
	deep := func(levels int) []byte {
		td := ptrace.NewTraces()
		span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		v := span.Attributes().PutEmpty("gen_ai.input.messages")
		for range levels {
			v = v.SetEmptySlice().AppendEmpty()
		}
		wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			t.Fatal(err)
		}
		return wire
	}
	bomb := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x38}, bytes.Repeat([]byte{0x02, 0x00, 0x10, 0x00}, deck.MaxObjectBytes>>17+1)...) // 128 KiB in 4 bytes
	for name, c := range map[string]struct {
		stored []byte
		ok     bool
	}{
		"bomb": {stored: bomb}, "damaged": {stored: []byte("no zstd")}, "too deep": {stored: deck.Pack(deep(nesting.Stored + 1))},
		"deeper than what is let in": {deck.Pack(deep(nesting.Stored)), true},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := newDeck(t)
			parts, err := filepath.Glob(filepath.Join(dir, "runs/*/*/"+forgeRun[:32]+"/*"+deck.PartSuffix))
			if err != nil || len(parts) != 1 {
				t.Fatal(parts, err)
			}
			content, err := deck.Unpack(c.stored)
			if err != nil {
				content = c.stored
			}
			sum := sha256.Sum256(content)
			if err := os.WriteFile(filepath.Join(filepath.Dir(parts[0]), hex.EncodeToString(sum[:])+deck.PartSuffix), c.stored, 0o600); err != nil {
				t.Fatal(err)
			}
			got := tapedeck(t, "verify", dir)
			if c.ok {
				if got.code != exitOK || got.stdout != okForge+okOpenai {
					t.Fatalf("%+v", got)
				}
				return
			}
			if got.code != exitPartial || !strings.Contains(got.stdout, "failed 4bf92f35 offline 1 problems\n  evidence "+hex.EncodeToString(sum[:])+": this part of the evidence cannot be read: ") {
				t.Fatalf("%+v", got)
			}
		})
	}
}
