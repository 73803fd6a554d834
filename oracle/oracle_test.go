// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/bind"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var update = flag.Bool("update", false, "write golden files anew")

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not current; go test ./oracle -update\n%s", path, diff)
	}
}

func TestEntriesOfATapeListEveryToolCall(t *testing.T) {
	entries := FromTape(everyKind(t))
	golden(t, "testdata/every_kind.oracle.json", Append(nil, entries))
	again, err := Read(Append(nil, entries))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(entries, again); diff != "" {
		t.Error(diff)
	}
}

func TestFidelityOfEntriesFollowsProvenance(t *testing.T) {
	for _, c := range []struct {
		provenance     tape.Provenance
		args, response Fidelity
	}{
		{nil, Exact, Exact},
		{tape.Provenance{"args": tape.Recovered, "result": tape.Recovered}, Exact, Exact},
		{tape.Provenance{"args.password": tape.Redacted, "result.0.text": tape.Lossy}, Redacted, Lossy},
		{tape.Provenance{"args": tape.Masked, "result": tape.Truncated, "result.x": tape.Lossy}, Redacted, Truncated},
		{tape.Provenance{"args_hash": tape.Missing, "resulting": tape.Missing, "executed_args": tape.Truncated}, Exact, Exact},
		{tape.Provenance{"args": tape.Truncated, "result": tape.External}, Truncated, Missing},
	} {
		e := toolCall(1, "t", `{}`, `"r"`)
		e.Provenance = c.provenance
		got := FromTape(&tape.Tape{Events: []tape.Event{e}})[0]
		if got.ArgsFidelity != c.args || got.ResponseFidelity != c.response {
			t.Errorf("%v: %s, %s", c.provenance, got.ArgsFidelity, got.ResponseFidelity)
		}
	}
}

func TestUnansweredCallHasNoResponse(t *testing.T) {
	e := toolCall(1, "t", `{}`, "")
	e.Status, e.Error = tape.EventError, &tape.Error{Message: "no answer"}
	tp := &tape.Tape{Events: []tape.Event{e}}
	if got := FromTape(tp)[0]; got.Response != "no answer" || !got.IsError || !got.Servable() {
		t.Errorf("a failed call answers with its error: %+v", got)
	}
	tp.Fidelity.Findings = []tape.Finding{{Code: tape.CodeUnansweredToolCall, Seq: 1}}
	if got := FromTape(tp)[0]; got.Response != "" || got.IsError || got.ResponseFidelity != Missing {
		t.Errorf("an unanswered call has no response: %+v", got)
	}
}

func TestJoinedTapeDoesNotClaimATraceForASpan(t *testing.T) {
	e := toolCall(1, "t", `{}`, `"r"`)
	e.SpanIDs = []string{"aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"}
	tp := &tape.Tape{Run: tape.Run{TraceID: "t1"}, Events: []tape.Event{e}, Sources: tape.Sources{TraceIDs: []string{"t1"}}}
	if got := FromTape(tp)[0].Source; got.TraceID != "t1" || got.SpanID != "aaaaaaaaaaaaaaaa" {
		t.Errorf("%+v", got)
	}
	tp.Sources.TraceIDs = []string{"t1", "t2"}
	if got := FromTape(tp)[0].Source; got.TraceID != "" || got.SpanID == "" {
		t.Errorf("%+v", got)
	}
}

func TestReadAcceptsPlainFilesAndKeepsUnknownMembers(t *testing.T) {
	const plain = `[{"tool_name":"t","args_hash":"sha256:x","response":"r"}]`
	entries, err := Read([]byte(plain))
	if err != nil || len(entries) != 1 || !entries[0].Servable() {
		t.Fatalf("%+v, %v", entries, err)
	}
	const extended = "[\n" + `{"tool_name":"t","args_hash":"","response":"","is_error":false,"source":{"span_id":"s","log":1},"z":[1.0],"a":{}}` + "\n]\n"
	entries, err = Read([]byte(extended))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(Append(nil, entries)); got != extended {
		t.Error(cmp.Diff(extended, got))
	}
	if got := string(Append(nil, nil)); got != "[]\n" {
		t.Errorf("%q", got)
	}
}

func TestHashesInAnySpellingFindTheirCalls(t *testing.T) {
	digits := func(args string) string {
		_, of, _ := strings.Cut(HashText(args), ":")
		return of
	}
	entries, err := Read([]byte(`[
		{"tool_name":"a","args_hash":"` + digits(`{}`) + `","response":"bare"},
		{"tool_name":"b","args_hash":"` + strings.ToUpper(digits(`{"x":1}`)) + `","response":"upper","args":{"x":1}},
		{"tool_name":"c","args_hash":"` + digits(`ls -la`) + `","response":"text","args":"ls -la"},
		{"tool_name":"d","args_hash":"` + digits(`{}`)[1:] + `","response":"short"},
		{"tool_name":"e","args_hash":"md5:` + digits(`{}`) + `","response":"another"}]`))
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(entries, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := o.NewSession(0)
	for _, c := range []struct{ tool, args, want string }{
		{"a", `{}`, "bare"}, {"b", `{"x": 1.0}`, "upper"}, {"c", `ls -la`, "text"}, {"d", `{}`, ""}, {"e", `{}`, ""},
	} {
		answer, err := s.Answer(Query{ToolName: c.tool, ArgsText: c.args})
		if err != nil || answer.Outcome.Served() != (c.want != "") || c.want != "" && answer.Entry.Response != c.want || len(answer.Labels) > 0 {
			t.Errorf("%s of %s: %+v, %v", c.args, c.tool, answer, err)
		}
	}
	var named []int
	for _, f := range Lint(entries, nil) {
		if f.Code == "malformed_hash" {
			named = append(named, f.Entry)
		}
	}
	if !slices.Equal(named, []int{3, 4}) {
		t.Errorf("lint names the entries %v", named)
	}
}

func TestReadNamesWhatIsWrong(t *testing.T) {
	for text, path := range map[string]string{
		`{}`:                                  "",
		`[{"tool_name":"t","args_hash":"h"}]`: "response",
		`[{"tool_name":"t","args_hash":null,"response":""}]`: "args_hash",
		`[7]`: "tool_name",
		`[{"tool_name":"t","args_hash":"h","response":"","source":"s"}]`:    "source",
		`[{"tool_name":"t","args_hash":"h","response":"","occurrence":""}]`: "occurrence",
	} {
		var wrong *bind.FieldError
		if _, err := Read([]byte(text)); !errors.As(err, &wrong) || wrong.Path != path {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Read([]byte(`[`)); !errors.Is(err, exactjson.ErrSyntax) {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[{"tool_name":"t","args_hash":"h","response":"r"}]`,
		`[{"tool_name":"t","args_hash":"","response":"","x":1e999,"source":{"y":[]},"args":null,"latency_ms":0}]`,
	} {
		f.Add([]byte(seed))
	}
	file, err := os.ReadFile("testdata/every_kind.oracle.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := Read(data)
		if err != nil {
			return
		}
		text := Append(nil, entries)
		again, err := Read(text)
		if err != nil {
			t.Fatalf("%s\ncannot be read back: %v", text, err)
		}
		if got := Append(nil, again); string(got) != string(text) {
			t.Fatal(cmp.Diff(string(text), string(got)))
		}
		o, err := New(entries, Options{})
		if errors.Is(err, ErrWrongHash) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		session := o.NewSession(0)
		for _, e := range entries {
			a, err := session.Answer(Query{Caller: e.Caller, Unnamed: true, ToolName: e.ToolName, ArgsHash: e.ArgsHash})
			if err != nil || e.ArgsHash != "" && a.Outcome == NoEntry {
				t.Fatalf("%+v is not found: %v", e, err)
			}
		}
		addsUp(t, session.Report())
	})
}

func parse(tb testing.TB, text string) exactjson.Value {
	tb.Helper()
	v, err := exactjson.Parse(text)
	if err != nil {
		tb.Fatalf("%.80q: %v", text, err)
	}
	return v
}

// toolCall is an event with arguments and a result of the given JSON; no JSON is absent.
func toolCall(seq int, name, args, result string) tape.Event {
	e := tape.Event{Seq: seq, Type: tape.EventToolCall, Name: name, Caller: "agent", Status: tape.EventOK}
	if args != "" {
		e.Args, _ = exactjson.Parse(args)
	}
	if result != "" {
		e.Result, _ = exactjson.Parse(result)
	}
	e.ArgsHash, e.ResultSHA256 = tape.ArgsHash(e.Args), tape.ResultSHA256(e.Result)
	return e
}

// everyKind has tool calls of every kind, twice the same call, and calls without arguments, result or span.
func everyKind(tb testing.TB) *tape.Tape {
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	calls := []tape.Event{
		{Seq: 1, Type: tape.EventModelCall},
		toolCall(2, "poll", `{"n":1.0}`, `{"b":1,"a":2.0}`),
		toolCall(3, "poll", `{"n":1}`, `"text \"as\" it was"`),
		{Seq: 4, Type: tape.EventModelCall},
		toolCall(5, "delegate", `{"to":"expert"}`, `"done"`),
		toolCall(6, "search", `"not json"`, `[]`),
		toolCall(7, "silent", "", ""),
		toolCall(8, "broken", `{}`, ""),
	}
	for i := range calls {
		calls[i].Caller = "agent"
	}
	calls[1].RequestedBy, calls[1].ToolCallID, calls[1].StartedAt, calls[1].SpanIDs = 1, "call_1", start, []string{"aaaaaaaaaaaaaaaa"}
	calls[2].RequestedBy, calls[2].StartedAt, calls[2].DurationMS = 1, start, 12
	calls[4].ToolKind, calls[4].RequestedBy = tape.ToolAgent, 4
	calls[5].ToolKind = tape.ToolServer
	calls[7].Status, calls[7].Error, calls[7].Provenance = tape.EventError, &tape.Error{Message: "timeout"}, tape.Provenance{"args": tape.Redacted}
	return &tape.Tape{Run: tape.Run{TraceID: strings.Repeat("1", 32)}, Events: calls}
}

func TestPublishedSchemaIsCurrent(t *testing.T) {
	golden(t, "../docs/schema/oracle-1.0.schema.json", JSONSchema())
}
