// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package aiwg

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func parse(tb testing.TB, text string) exactjson.Value {
	tb.Helper()
	v, err := exactjson.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func fullTape(tb testing.TB) *tape.Tape {
	tb.Helper()
	data, err := os.ReadFile("../../../tape/testdata/full.tape.json")
	if err != nil {
		tb.Fatal(err)
	}
	t, err := tape.Read(data)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func encode(tb testing.TB, t *tape.Tape) exactjson.Value {
	tb.Helper()
	body, _, err := Encode(t, oracle.FromTape(t), interop.Options{NoLosses: true})
	if err != nil {
		tb.Fatal(err)
	}
	return parse(tb, strings.TrimSpace(string(body)))
}

func TestEveryProbeComesBack(t *testing.T) {
	for _, p := range probes(t) {
		if !p.Annotation {
			if _, err := Decode(p.Instance, interop.Options{}); err == nil {
				t.Errorf("%s: read although it is not valid", p.Label)
			}
			continue
		}
		runs, err := Decode(p.Instance, interop.Options{})
		if err != nil {
			t.Errorf("%s: %v", p.Label, err)
			continue
		}
		again, _, err := Encode(runs[0].Tape, runs[0].Oracle, interop.Options{NoLosses: true})
		if err != nil {
			t.Fatal(err)
		}
		before, after := parse(t, string(p.Instance)), parse(t, strings.TrimSpace(string(again)))
		if !before.Equal(after) {
			t.Errorf("%s: %s", p.Label, cmp.Diff(before.JSON(), after.JSON()))
		}
	}
}

func TestWhatIsWrittenInAnotherWayIsTheOnlyLossOfReading(t *testing.T) {
	text := `{"snapshot_id":"snap-001","workflow_id":"w","captured_at":"2026-01-25T17:00:00+02:00","config":{"model":{"id":"m"},"execution_mode":"logged","seed":42.0},"inputs":{},"outputs":{"response":"r","response_hash":"ghi789..."},"later":{"a":null}}`
	runs, err := Decode([]byte(text), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]interop.Loss{{Path: "", What: interop.Layout, Reason: "white space, the order of members or the spelling of a value is not the usual one"}}, runs[0].Losses); diff != "" {
		t.Error(diff)
	}
	body, _, err := Encode(runs[0].Tape, nil, interop.Options{NoLosses: true})
	if err != nil || string(interop.Indented(parse(t, text))) != string(body) {
		t.Errorf("%v\n%s", err, body)
	}
	again, err := Decode(body, interop.Options{})
	if err != nil || len(again[0].Losses) > 0 {
		t.Errorf("%v %+v", err, again[0].Losses)
	}
}

func TestAChangedTapeIsWrittenAnew(t *testing.T) {
	runs, err := Decode([]byte(`{"snapshot_id":"s","workflow_id":"w","captured_at":"2026-01-25T15:00:00Z","config":{"model":{"id":"m"},"execution_mode":"default"},"inputs":{},"outputs":{"response":"old"},"stale":1}`), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	changed := "new"
	runs[0].Tape.Output.Text = &changed
	doc := encode(t, runs[0].Tape)
	if got := doc.Get("outputs"); got.Get("response").Str() != "new" || got.Get("response_hash").Str() != sha256Hex("new") || !doc.Get("stale").IsAbsent() {
		t.Errorf("%s", doc.JSON())
	}
}

func TestTheSameRunHasTheSameSnapshotID(t *testing.T) {
	a, b := fullTape(t), fullTape(t)
	b.Run.EndedAt = b.Run.EndedAt.Add(time.Hour)
	if snapshotID(a) != snapshotID(b) {
		t.Error("it depends on more than the run")
	}
	for _, change := range []func(*tape.Tape){
		func(t *tape.Tape) { t.Run.Tenant = "other" },
		func(t *tape.Tape) { t.Run.TraceID = strings.Repeat("a", 32) },
		func(t *tape.Tape) { t.Run.RootSpanID = strings.Repeat("a", 16) },
	} {
		if c := fullTape(t); true {
			change(c)
			if snapshotID(a) == snapshotID(c) {
				t.Error("two runs have one id")
			}
		}
	}
	if id := snapshotID(a); !uuidForm.MatchString(id) || id[14] != '5' || !strings.ContainsRune("89ab", rune(id[19])) {
		t.Errorf("%s is not of version 5", id)
	}
	if got := uuid5([16]byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8}, "www.example.com"); got[0] != 0x2e || got[1] != 0xd6 {
		t.Errorf("%x is not what RFC 9562 has", got) // appendix A.4
	}
}

func TestModeClaimsNoMoreThanWasSeen(t *testing.T) {
	call := func(params, message string) tape.Event {
		e := tape.Event{Type: tape.EventModelCall}
		if params != "" {
			e.Params = parse(t, params)
		}
		if message != "" {
			e.Response = &tape.Response{Message: message}
		}
		return e
	}
	tool := func(args string) tape.Event {
		e := tape.Event{Type: tape.EventToolCall, Result: parse(t, `"r"`)}
		if args != "" {
			e.Args = parse(t, args)
		}
		return e
	}
	for _, c := range []struct {
		want   string
		events []tape.Event
	}{
		{modeStrict, []tape.Event{call(`{"temperature":0.0,"seed":1}`, ""), call(`{"temperature":0,"seed":2}`, "")}},
		{modeSeeded, []tape.Event{call(`{"temperature":0.1,"seed":1}`, ""), call(`{"temperature":0,"seed":2}`, "")}},
		{modeSeeded, []tape.Event{call(`{"seed":1}`, "m")}},
		{modeDefault, []tape.Event{call(`{"temperature":0,"seed":1}`, ""), call(`{"temperature":0}`, "")}},
		{modeDefault, []tape.Event{call(`{"temperature":0,"seed":"1"}`, "")}},
		{modeLogged, []tape.Event{call(`{"temperature":0}`, "m"), tool(`{}`)}},
		{modeDefault, []tape.Event{call("", "m"), tool("")}},
		{modeLogged, []tape.Event{tool(`{}`)}},
		{modeDefault, nil},
	} {
		if got := seenOf(&tape.Tape{Events: c.events}).mode(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.events, got, c.want)
		}
	}
}

func TestFilesAreNamedWhereKnownToolsTouchedThem(t *testing.T) {
	tool := func(name, args, result string) tape.Event {
		return tape.Event{Type: tape.EventToolCall, Name: name, Args: parse(t, args), Result: parse(t, result), Status: tape.EventOK}
	}
	failed := tool("write_file", `{"path":"no.txt","content":"x"}`, `"denied"`)
	failed.IsError = true
	tp := &tape.Tape{Events: []tape.Event{
		tool("read_file", `{"path":"a.txt"}`, `"hello"`),
		tool("read_file", `{"path":"a.txt"}`, `"hello again"`),
		tool("read_file", `{"path":"b.txt","limit":3}`, `"hel"`),
		tool("Read", `{"file_path":"/c.go"}`, `"1\tpackage c"`),
		tool("unknown", `{"path":"d.txt"}`, `"x"`),
		tool("create_file", `{"path":"e.txt","content":"new"}`, `"ok"`),
		tool("Edit", `{"file_path":"/c.go","new_string":"x"}`, `"ok"`),
		tool("Write", `{"file_path":"f.txt","content":"w"}`, `"ok"`),
		failed,
		{Type: tape.EventRetrieval, Documents: parse(t, `[{"id":"1","metadata":{"source":"docs/x.md"}},{"id":"2","source":"https://example.com/y"}]`)},
	}}
	if diff := cmp.Diff(`[{"path":"a.txt","hash":"`+sha256Hex("hello")+`","size_bytes":5},{"path":"b.txt"},{"path":"/c.go"},{"path":"docs/x.md"}]`, contextFiles(tp).JSON()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(`[{"path":"e.txt","hash":"`+sha256Hex("new")+`","operation":"created"},{"path":"/c.go","operation":"modified"},{"path":"f.txt","hash":"`+sha256Hex("w")+`"}]`, artifacts(tp).JSON()); diff != "" {
		t.Error(diff)
	}
}

func TestFileNamesFollowTheRuleAndFitEveryStore(t *testing.T) {
	tp := &tape.Tape{Run: tape.Run{WorkflowID: "../flows/a b", TraceID: strings.Repeat("1", 32), RootSpanID: strings.Repeat("2", 16), Tenant: "default",
		EndedAt: time.Date(2026, 1, 25, 16, 0, 0, 5, time.FixedZone("", 3600))}}
	if got, want := HomeName(tp), "_._flows_a_b-2026-01-25T15-00-00.000000005Z.json"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := FileName(tp), "_._flows_a_b-2026-01-25T15-00-00Z-"+snapshotID(tp)[:8]+".json"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, id := range []string{". 0x", "a__0x2f", strings.Repeat("é", 300), "..."} {
		tp.Run.WorkflowID = id
		if err := deck.CheckKey(FileName(tp)); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestWhatTheSchemaDemandsAndTheTapeLacksIsNotInvented(t *testing.T) {
	for name, tp := range map[string]*tape.Tape{
		"no end":   {Config: tape.Config{Model: "m"}},
		"no model": {Run: tape.Run{EndedAt: time.Unix(1, 0)}},
	} {
		if _, _, err := Encode(tp, nil, interop.Options{}); !errors.Is(err, interop.ErrNotHeld) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
