// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestReadRefusesWhatIsNoSnapshot(t *testing.T) {
	for file, want := range map[string]string{
		``:                                                 "not JSON",
		`[]`:                                               "not an object",
		`{} {}`:                                            "",
		`{"kind":"results"}`:                               `kind is not "task-snapshot"`,
		`{"kind":7}`:                                       `kind is not "task-snapshot"`,
		`{"kind":"agent-tape"}`:                            `kind is not "task-snapshot"`,
		`{"schemaVersion":1.0}`:                            "schemaVersion: not a string",
		`{"schemaVersion":"2.0"}`:                          `schemaVersion "2.0" cannot be read`,
		`{"schemaVersion":"0.9"}`:                          `schemaVersion "0.9" cannot be read`,
		`{"schemaVersion":"1"}`:                            "is not MAJOR.MINOR",
		`{"schemaVersion":"1.0.0"}`:                        "is not MAJOR.MINOR",
		`{"schemaVersion":"1.x"}`:                          "is not MAJOR.MINOR",
		`{"schemaVersion":".0"}`:                           "is not MAJOR.MINOR",
		`{"ToolEvents":[]}`:                                "case only",
		`{"toolEvents":[{"Tool_name":"x"}]}`:               "case only",
		`{"toolEvents":[{"sequence":1.0}]}`:                "toolEvents.0.sequence: not an integer",
		`{"toolEvents":[{"sequence":"1"}]}`:                "not an integer",
		`{"toolEvents":[{"turn":1e0}]}`:                    "not an integer",
		`{"toolEvents":[{"success":"true"}]}`:              "toolEvents.0.success: not true or false",
		`{"toolEvents":{}}`:                                "toolEvents: not an array",
		`{"toolEvents":[[]]}`:                              "toolEvents.0: not an object",
		`{"createdAt":"yesterday"}`:                        "createdAt: not an RFC 3339 time",
		`{"env":{"captured":{"A":1}}}`:                     "env.captured: not an object of strings",
		`{"task":{"tags":"x"}}`:                            "task.tags: not an array of strings",
		`{"result":{"validations":{"a":{"score":"1"}}}}`:   "result.validations.a.score: not a number",
		`{"result":{"validations":{"a":{"score":1e999}}}}`: "not a number that a double holds",
		`{"engine":{"seed":99999999999999999999}}`:         "engine.seed: not an integer",
		`{"task":{"testId":"a","testId":"b"}}`:             "duplicate",
		"{\"task\":{\"testId\":\"\xff\"}}":                 "",
		`{"prompt":` + strings.Repeat("[", 600) + strings.Repeat("]", 600): "",
	} {
		s, err := Read([]byte(file))
		if err == nil || !strings.Contains(err.Error(), want) || s != nil {
			t.Errorf("%.60s: %v, want %q", file, err, want)
		}
	}
	for _, file := range []string{`{}`, `{"kind":null,"schemaVersion":null,"task":null,"toolEvents":null}`, `{"schemaVersion":" "}`, `{"schemaVersion":"1.99","kind":"task-snapshot","later":1}`,
		`{"kind":""}`, `{"toolEvents":[null]}`, `{"result":{"validations":{"a":null}}}`, `{"toolEvents":[{"args":null}]}`} {
		if _, err := Read([]byte(file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := Read([]byte(`{"kind":"results"}`)); !errors.Is(err, interop.ErrNotFormat) {
		t.Error(err)
	}
}

func TestFileNames(t *testing.T) {
	for id, want := range map[string]string{
		"planner": "planner-run1.json", "a/b": "a_b-run1.json", "a_b": "a_b-run1.json", "日本": "__-run1.json", "": "task-run1.json", "A.b-c_9": "A.b-c_9-run1.json",
		".hidden": "_hidden-run1.json", "a__0x2f": "a___x2f-run1.json", ". 0x": "___x-run1.json", "a b\n": "a_b_-run1.json",
	} {
		if got := FileName(&tape.Tape{Run: tape.Run{Agent: tape.Agent{Name: id}}}); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
	if got := FileName(&tape.Tape{Run: tape.Run{Service: tape.Service{Name: "svc"}}}); got != "svc-run1.json" {
		t.Error(got)
	}
}

func FuzzFileNameFitsADeck(f *testing.F) {
	f.Add("planner")
	f.Add(".tapedeck-tmp-x")
	f.Add(strings.Repeat("é", 300))
	f.Fuzz(func(t *testing.T, id string) {
		name := FileName(&tape.Tape{Run: tape.Run{Agent: tape.Agent{Name: id}}})
		if err := deck.CheckKey(name); err != nil || strings.Contains(name, "/") || name == "tape.json" || name == "oracle.json" {
			t.Errorf("%q: %q: %v", id, name, err)
		}
	})
}

// derived is a tape of one tool call, as telemetry gives it.
func derived(args, result exactjson.Value) *tape.Tape {
	t := &tape.Tape{Events: []tape.Event{{Type: tape.EventToolCall, Name: "a", Args: args, Result: result}}}
	t.Run.Agent.Name = "planner"
	interop.Finish(t, "test", nil, interop.Options{})
	return t
}

func parse(t testing.TB, text string) exactjson.Value {
	t.Helper()
	v, err := exactjson.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPayloadsAreWhatEveryReaderTakes(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, c := range []struct{ args, want string }{
		{`{"b":1,"a":{"d":1,"c":2}}`, `{"a":{"c":2,"d":1},"b":1}`}, // names sorted, as Go does
		{`9007199254740993`, `9007199254740993`},
		{`{"n":1e999}`, `"{\"n\":1e999}"`},
		{nested(61), nested(61)},
		{nested(62), quote(nested(62))},
		{`null`, ``},
		{`"to [REDACTED:email:abcdefghijklmnopqrstuvwxye]"`, `"to [REDACTED]"`},
	} {
		tp := derived(parse(t, c.args), exactjson.Value{})
		tp.Redaction.Count = 1
		body, losses, err := Encode(tp, oracle.FromTape(tp), interop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(body)
		if err != nil {
			t.Fatal(err)
		}
		got := s.Events()[0].Args
		if got.IsAbsent() != (c.want == "") || !got.IsAbsent() && got.JSON() != c.want {
			t.Errorf("%.80s: %.80s", c.args, got.JSON())
		}
		if s.doc.Depth() > maxDepth {
			t.Errorf("%.80s: %d levels", c.args, s.doc.Depth())
		}
		changed := slices.ContainsFunc(losses, func(l interop.Loss) bool { return l.Path == "events.0.args" })
		if changed != (c.want == "" || !got.Equal(parse(t, c.args))) {
			t.Errorf("%.80s: %+v", c.args, losses)
		}
	}
}

func quote(s string) string { return string(exactjson.AppendString(nil, s)) }

func TestMissingArgumentsAreNotInvented(t *testing.T) {
	tp := derived(exactjson.Value{}, exactjson.StringValue("ok"))
	body, _, err := Encode(tp, oracle.FromTape(tp), interop.Options{})
	if err != nil || strings.Contains(string(body), `"args"`) {
		t.Fatalf("%v %s", err, body)
	}
	run, err := Decode(body, interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := run[0].Tape.Events[0]
	if e.Provenance["args"] != tape.Missing || e.ArgsHash != "" || run[0].Tape.Fidelity.Replayable.Tools {
		t.Errorf("%+v", e)
	}
}

func TestEnvironmentIsDeniedUnlessAllowed(t *testing.T) {
	tp := derived(parse(t, "{}"), exactjson.Value{})
	tp.Extensions = parse(t, `{"process":{"environment_variable.GOOS":"linux","environment_variable.GO_TOKEN":"secret","environment_variable.HOME":"/root","environment_variable.N":1,"pid":"7"}}`)
	for _, c := range []struct {
		allow []string
		want  string
	}{
		{nil, `{}`},
		{[]string{" "}, `{}`},
		{[]string{"*"}, `{"allowList":["*"]}`},
		{[]string{"GO*"}, `{"allowList":["GO*"],"captured":{"GOOS":"linux","GO_TOKEN":"[REDACTED]"}}`},
		{[]string{"home", "HOM", "N"}, `{"allowList":["home","HOM","N"]}`},
		{[]string{" HOME "}, `{"allowList":["HOME"],"captured":{"HOME":"/root"}}`},
	} {
		body, _, err := Encode(tp, nil, interop.Options{EnvAllow: c.allow})
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(t, string(body)).Get("env").JSON(); got != c.want {
			t.Errorf("%q: %s", c.allow, got)
		}
	}
}

func TestFixturesAreFilesWithDigests(t *testing.T) {
	tp := derived(parse(t, "{}"), exactjson.Value{})
	sum := strings.Repeat("ab", 32)
	tp.Input.Messages = []string{interop.Pool(tp, tape.Message{Role: tape.RoleUser, Parts: []tape.Part{
		{Type: tape.PartMedia, URI: "file:///work/b.png", SHA256: sum, Size: 3},
		{Type: tape.PartMedia, URI: "a/c.txt", SHA256: sum},
		{Type: tape.PartMedia, URI: "https://example.com/a.png", SHA256: sum},
		{Type: tape.PartMedia, URI: "file:///work/no-digest.png"},
	}})}
	tp.Config.SystemPromptSHA256 = sum
	body, _, err := Encode(tp, nil, interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	doc := parse(t, string(body))
	want := `[{"path":"a/c.txt","sha256":"` + sum + `"},{"path":"work/b.png","size":3,"sha256":"` + sum + `"}]`
	if got := doc.Get("fixtures").JSON(); got != want {
		t.Error(got)
	}
	if got := doc.Get("prompt").Get("instructions").JSON(); got != `[{"path":"system-prompt","sha256":"`+sum+`"}]` {
		t.Error(got)
	}
}

func TestStatusFollowsTheRun(t *testing.T) {
	for status, want := range map[tape.RunStatus]string{tape.StatusOK: "skipped", tape.StatusError: "error", tape.StatusInterrupted: "skipped", tape.StatusIncomplete: "skipped"} {
		tp := derived(parse(t, "{}"), exactjson.Value{})
		tp.Run.Status = status
		body, _, err := Encode(tp, nil, interop.Options{})
		if err != nil {
			t.Fatal(err)
		}
		run, err := Decode(body, interop.Options{})
		if err != nil || parse(t, string(body)).Get("result").Get("status").Str() != want || run[0].Tape.Run.Status != status {
			t.Errorf("%s: %v %s", status, err, body)
		}
	}
	// A verdict that an edited tape contradicts is not written.
	_, tp := through(t, `{"result":{"status":"passed"}}`)
	tp.Run.Status = tape.StatusError
	body, _, err := Encode(tp, nil, interop.Options{})
	if err != nil || parse(t, string(body)).Get("result").Get("status").Str() != "error" {
		t.Errorf("%v %s", err, body)
	}
}

func TestRedactedValuesAreNotServed(t *testing.T) {
	_, tp := through(t, `{"prompt":{"message":"hi"},"toolEvents":[{"sequence":1,"tool_name":"a","args":{"k":["[REDACTED]"]},"result":"ok","success":true},
		{"sequence":2,"tool_name":"a","args":{"k":1},"result":"bearer [REDACTED]","success":true},{"sequence":3,"tool_name":"b","args":{}}]}`)
	if tp.Events[0].Provenance["args"] != tape.Masked || tp.Events[1].Provenance["result"] != tape.Masked || tp.Fidelity.Replayable.Tools {
		t.Errorf("%+v", tp.Events)
	}
	var codes []tape.Code
	for _, f := range tp.Fidelity.Findings {
		codes = append(codes, f.Code)
	}
	if diff := cmp.Diff([]tape.Code{tape.CodeMasked, tape.CodeMasked, tape.CodeUnansweredToolCall, tape.CodeToolsUnproved}, codes); diff != "" {
		t.Error(diff)
	}
}

// TestAnEditedTapeGivesAnEditedSnapshot: nothing stale is written back.
func TestAnEditedTapeGivesAnEditedSnapshot(t *testing.T) {
	_, tp := through(t, `{"prompt":{"message":"hi"},"toolEvents":[{"sequence":1,"turn":3,"tool_name":"a","args":{},"result":"old","success":true}],"result":{"finalOutput":"old"}}`)
	tp.Events[0].Result = exactjson.StringValue("new")
	text := "new"
	tp.Output.Text = &text
	body, _, err := Encode(tp, nil, interop.Options{})
	if err != nil || strings.Contains(string(body), "old") || strings.Count(string(body), `"new"`) != 2 || !strings.Contains(string(body), `"turn": 3`) {
		t.Errorf("%v %s", err, body)
	}
}

func TestLaterMessagesOfTheUserAreFollowUps(t *testing.T) {
	said := func(tp *tape.Tape, role tape.Role, text string) string {
		m := tape.Message{Role: role, Parts: []tape.Part{{Type: tape.PartText, Text: text}}}
		return interop.Pool(tp, m)
	}
	first := "one"
	tp := &tape.Tape{Run: tape.Run{Agent: tape.Agent{Name: "a"}}, Input: tape.Input{UserMessage: &first}}
	system, one, two := said(tp, tape.RoleSystem, "be brief"), said(tp, tape.RoleUser, "one"), said(tp, tape.RoleUser, "two")
	answer, again, summary := said(tp, tape.RoleAssistant, "yes"), said(tp, tape.RoleUser, "one"), said(tp, tape.RoleUser, "three")
	tp.Input.Messages = []string{system, one}
	call := func(parent int, messages ...string) {
		tp.Events = append(tp.Events, tape.Event{Seq: len(tp.Events) + 1, Type: tape.EventModelCall, Parent: parent, Request: &tape.Request{Messages: messages}})
	}
	call(0, system, one)
	call(0, system, one) // the same request once more
	call(0, system, one, answer, two)
	tp.Events = append(tp.Events, tape.Event{Seq: 4, Type: tape.EventAgentCall})
	call(4, system, said(tp, tape.RoleUser, "to a sub-agent"))
	call(0, system, one, answer, two, answer, again)
	call(0, system, two, answer, summary) // the conversation was cut
	body, _, err := Encode(tp, nil, interop.Options{NoLosses: true})
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Prompt struct {
			Message   string   `json:"message"`
			FollowUps []string `json:"followUps"`
		} `json:"prompt"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(doc.Prompt.FollowUps, ","); doc.Prompt.Message != "one" || got != "two,one,three" {
		t.Errorf("%q, then %s", doc.Prompt.Message, got)
	}
	if _, err := Read(body); err != nil {
		t.Error(err)
	}
}
