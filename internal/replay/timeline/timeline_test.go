// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const hostile = "\x1b[2J\x1b]0;title\x07\u009b31m\u202eevil\u2066\r\xff\x00"

// hostileTape has hostile text in every field that a person reads.
func hostileTape() *tape.Tape {
	text := hostile
	t := &tape.Tape{
		Run: tape.Run{
			RunID: text, ReplayRunID: text, Agent: tape.Agent{Name: text, Version: text}, Service: tape.Service{Name: text, Environment: text},
			Status: tape.RunStatus(text), Error: &tape.Error{Type: text, Message: text}, StartedAt: time.Unix(0, 0),
		},
		Config: tape.Config{Model: text, Provider: text},
		Input:  tape.Input{UserMessage: &text, SystemPrompt: &text, A2A: &tape.A2A{Method: text, Missing: []string{text}}, Provenance: tape.Provenance{"user_message": tape.Label(text)}},
		Messages: map[string]tape.Message{"m1": {Role: tape.RoleAssistant, Parts: []tape.Part{
			{Type: tape.PartText, Text: text}, {Type: tape.PartReasoning, Text: text}, {Type: tape.PartToolCall, Name: text, Args: exactjson.StringValue(text)},
			{Type: tape.PartMedia, MIMEType: text, URI: text}, {Type: tape.PartData, Value: exactjson.StringValue(text)}, {Type: tape.PartType(text)},
		}}},
		Output: tape.Output{Text: &text, Error: &tape.Error{Message: text}},
		Fidelity: tape.Fidelity{Grade: tape.Grade(text), Findings: []tape.Finding{
			{Code: tape.Code(text), Severity: tape.SeverityError, Field: text, Detail: text}, {Code: "x", Severity: tape.Severity(text), Detail: text},
		}},
		Verdicts:  []tape.Verdict{{Name: text, Value: exactjson.StringValue(text), Label: text, Explanation: text, Judge: text, Of: tape.OfSpan, SpanID: text, Error: &tape.Error{Type: text}}},
		Redaction: tape.Redaction{Policy: text},
		TapeID:    text,
	}
	t.Events = []tape.Event{
		{Seq: 1, Type: tape.EventModelCall, Model: text, Operation: text, Request: &tape.Request{}, Caller: "a/" + text,
			Response: &tape.Response{Message: "m1", FinishReasons: []string{text}}, Provenance: tape.Provenance{tapeField(text): tape.Label(text)}},
		{Seq: 2, Type: tape.EventToolCall, Name: text, ToolKind: tape.ToolKind(text), Server: &tape.Server{Name: text, Tool: text}, Envelope: []string{text},
			Args: exactjson.ObjectValue(exactjson.Member{Name: text, Value: exactjson.StringValue(text)}), Result: exactjson.StringValue(text), Error: &tape.Error{Message: text}},
		{Seq: 3, Type: tape.EventAgentCall, Agent: &tape.Agent{Name: text}, Relation: tape.Relation(text), Input: exactjson.StringValue(text)},
		{Seq: 4, Type: tape.EventRetrieval, Name: text, Parent: 3, Query: exactjson.StringValue(text)},
		{Seq: 5, Type: tape.EventType(text), Name: text, Parent: 5},
	}
	return t
}

func tapeField(s string) string { return s }

func TestNoContentReachesTheTerminalUnneutralised(t *testing.T) {
	for _, full := range []bool{false, true} {
		var b bytes.Buffer
		if err := Render(&b, hostileTape(), Options{Width: 80, Full: full}); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b.Bytes()) {
			t.Error("invalid UTF-8")
		}
		for i, r := range b.String() {
			if r != '\n' && !printable(r) {
				t.Fatalf("full=%v: %U in %q", full, r, b.String()[max(0, i-40):i+1])
			}
		}
	}
}

func TestColoursAreTheOnlyEscapes(t *testing.T) {
	var plainText, coloured bytes.Buffer
	if err := Render(&plainText, hostileTape(), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := Render(&coloured, hostileTape(), Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	stripped := coloured.String()
	for _, s := range []Style{"0", Bold, Dim, Red, Green, Yellow, Cyan} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+string(s)+"m", "")
	}
	if strings.Contains(stripped, "\x1b") {
		t.Error("an unknown escape")
	}
	if coloured.Len() == plainText.Len() {
		t.Error("no colours")
	}
}

func TestCleanKeepsTextAndSpellsOutControls(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ntext äöü 日本 👩\u200d💻": "plain\ntext äöü 日本 👩\u200d💻",
		"a\tb":           "a    b",
		"\x1b[31m":       `\x1b[31m`,
		"\u009b":         `\x9b`,
		"\u202e\u2066":   `\u202e\u2066`,
		"\U000e0041":     `\U000e0041`,
		"a\xffb":         `a\xffb`,
		"a\r\nb":         "a\\r\nb",
		"\u2028":         `\u2028`,
		"replaced\uFFFD": "replaced\uFFFD",
	} {
		if diff := cmp.Diff(want, Clean(in)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestTextIsBrokenAndCutByTerminalCells(t *testing.T) {
	if diff := cmp.Diff([]string{"one two", "three", "日本日", "本日本"}, wrap("one two three\n日本日本日本", 7)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"averylongw", "ordwithout", "spaces"}, wrap("averylongwordwithoutspaces", 10)); diff != "" {
		t.Error(diff)
	}
	for s, want := range map[string]string{"short": "short", "日本日本": "日本…", "exactly6!": "exact…"} {
		if got, _ := cut(s, 6); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestLongContentIsShortenedWithItsSizeUnlessFull(t *testing.T) {
	long := strings.Repeat("0123456789 ", 5000)
	tp := &tape.Tape{Input: tape.Input{SystemPrompt: &long}, Events: []tape.Event{{Seq: 1, Type: tape.EventToolCall, Name: "f", Result: exactjson.StringValue(long),
		Provenance: tape.Provenance{"result": tape.Truncated}}}}
	var short, full bytes.Buffer
	if err := Render(&short, tp, Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if err := Render(&full, tp, Options{Width: 80, Full: true}); err != nil {
		t.Fatal(err)
	}
	if short.Len() > 2000 || !strings.Contains(short.String(), "…  (55 kB)") || !strings.Contains(short.String(), "(truncated, 55 kB)") {
		t.Errorf("%s", short.String())
	}
	for _, l := range strings.Split(short.String(), "\n") {
		if columns(l) > 80 {
			t.Errorf("%d cells: %s", columns(l), l)
		}
	}
	if strings.Count(full.String(), long) != 1 && strings.Count(full.String(), strings.TrimRight(long, " ")) != 2 {
		t.Error("full is not full")
	}
}

func TestParentLoopsEnd(t *testing.T) {
	tp := &tape.Tape{Events: []tape.Event{{Seq: 1, Parent: 2}, {Seq: 2, Parent: 1}, {Seq: 3, Parent: 9}}}
	if err := Render(&bytes.Buffer{}, tp, Options{}); err != nil {
		t.Fatal(err)
	}
}

func TestFindingsOfOneCauseAreOneLine(t *testing.T) {
	lacking := func(grade tape.Grade) *tape.Tape {
		t := &tape.Tape{Fidelity: tape.Fidelity{Grade: grade}}
		for seq := range 16 {
			t.Fidelity.AddFinding(tape.CodeContentAbsent, seq+1, "request.messages", "no record holds it")
		}
		t.Fidelity.AddFinding(tape.CodeNoRoot, 0, "", "grouped")
		return t
	}
	odd := &tape.Tape{Fidelity: tape.Fidelity{Grade: tape.GradeInspect}}
	for seq := range 4 {
		odd.Fidelity.AddFinding(tape.CodeTruncated, seq+1, "args", "")
	}
	odd.Fidelity.AddFinding(tape.CodeRootMissing, 0, "", "")
	for _, c := range []struct {
		name  string
		t     *tape.Tape
		full  bool
		lines int
		want  string
	}{
		{"inspect", lacking(tape.GradeInspect), false, 3, "16 findings of this cause (content_absent, 1 other); --full lists them\n    → tapedeck doctor"},
		{"partial", lacking(tape.GradePartial), false, 5, "its content\n    16 findings of this cause (content_absent); --full lists them\n"},
		{"full", lacking(tape.GradeInspect), true, 19, "#16 request.messages"},
		{"another cause", odd, false, 3, "  the producer cut the named field; it is kept as it came and never served\n    4 findings of this cause (truncated, 1 other)"},
	} {
		var out bytes.Buffer
		if err := Render(&out, c.t, Options{Full: c.full}); err != nil {
			t.Fatal(err)
		}
		_, findings, _ := strings.Cut(out.String(), "\nFindings\n")
		if n := strings.Count(findings, "\n"); n != c.lines || !strings.Contains(findings, c.want) {
			t.Errorf("%s: %d lines\n%s", c.name, n, findings)
		}
	}
}

func TestVerdictsInOneLine(t *testing.T) {
	for want, v := range map[string]tape.Verdict{
		"correctness: 0.2, fail (of event 3, LLM, 2026-11-20 10:00:00)": {Name: "correctness", Value: exactjson.FloatValue(0.2), Label: "fail", Judge: "LLM", Of: tape.OfEvent, Seq: 3, At: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)},
		"tone: failed: timeout (of the run)":                            {Name: "tone", Of: tape.OfRun, Error: &tape.Error{Type: "timeout"}},
		"(no name): bad (of span 01)":                                   {Label: "bad", Of: tape.OfSpan, SpanID: "01"},
	} {
		if got := Judgement(&v); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
