// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"bytes"
	"encoding/xml"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func asked(text string) *tape.Tape {
	t := &tape.Tape{Run: tape.Run{RunID: "t-r"}}
	t.Input.UserMessage = &text
	return t
}

func TestNotesNameWhatWasAskedBesideModelCalls(t *testing.T) {
	r := Report{Model: modelstub.Report{Beside: []modelstub.Beside{
		{Request: "GET /v1/models", Outcome: modelstub.MadeUp, MadeUp: []string{"models"}, Count: 1}, {Request: "GET /x", Outcome: modelstub.NotServed, Count: 3},
	}}}
	want := "beside model calls, GET /v1/models: made_up (models)\nbeside model calls, GET /x: refused, 3 times"
	if got := strings.Join(r.Notes(), "\n"); !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestTheTemplateMakesTheInput(t *testing.T) {
	source := asked("How many \"apples\"?")
	for text, want := range map[string]string{
		DefaultTemplate:                          `How many "apples"?`,
		`{"q":{{json user_message}}}`:            `{"q":"How many \"apples\"?"}`,
		"{{json .}}":                             `{"run_id":"t-r","user_message":"How many \"apples\"?"}`,
		"{{run_id}}: {{user_message}}":           `t-r: How many "apples"?`,
		"{{if .system_prompt}}x{{else}}y{{end}}": "y",
	} {
		if got, err := Render(text, source, source.Input.UserMessage); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{"{{": "template", "{{system_prompt}}": "the tape does not hold the system prompt"} {
		if _, err := Render(text, source, source.Input.UserMessage); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestKindsOfInput(t *testing.T) {
	for _, text := range []string{"", "stdin:x", "env:", "env:A=B", "http:", "http:POST", "http:post http://h/", "http:POST file:///x", "a2a", "a2a:x"} {
		if in, err := ParseInput(text); err == nil {
			t.Errorf("%q is %+v", text, in)
		}
	}
	in, err := ParseInput("http:POST http://127.0.0.1:8000/ask")
	if err != nil || in.Method != "POST" || in.URL != "http://127.0.0.1:8000/ask" {
		t.Errorf("%+v, %v", in, err)
	}
	argv := make([]string, 1, 5)
	c := Command{Argv: argv}
	if in, err = ParseInput("arg"); err != nil {
		t.Fatal(err)
	}
	if err := in.Give(&c, "question", ""); err != nil || len(c.Argv) != 2 || argv[:2][1] != "" {
		t.Errorf("%v %v, %v", c.Argv, argv[:2], err)
	}
}

func TestTheEnvironmentOfACommand(t *testing.T) {
	base := []string{"PATH=/bin", "OPENAI_API_KEY=sk-real", "TRACEPARENT=00-1", "OTEL_RESOURCE_ATTRIBUTES=team=a,replay_run_id=old,", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://elsewhere"}
	env := Environ(base, Services{OTLP: "http://127.0.0.1:1", Model: "http://127.0.0.1:2", Oracle: "http://127.0.0.1:2", ReplayRunID: "r1", ReplayOf: "t-r"}.Variables())
	for _, want := range []string{"PATH=/bin", "OPENAI_API_KEY=tapedeck", "OPENAI_BASE_URL=http://127.0.0.1:2/v1", "OTEL_RESOURCE_ATTRIBUTES=team=a,replay_run_id=r1,replay_of=t-r", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is not in %q", want, env)
		}
	}
	for _, v := range env {
		if strings.HasPrefix(v, "TRACEPARENT") || strings.Contains(v, "elsewhere") || strings.Contains(v, "sk-real") {
			t.Errorf("%s is still there", v)
		}
	}
	seen := map[string]bool{}
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if seen[name] {
			t.Errorf("%s stands there twice", name)
		}
		seen[name] = true
	}
}

func TestCallsAreGivenToTheLayerThatAnsweredThem(t *testing.T) {
	tp := &tape.Tape{}
	for i, name := range []string{"a", "a", "b", "c", "search"} {
		e := tape.Event{Seq: i + 1, Type: tape.EventToolCall, Name: name, ArgsHash: "h"}
		if name == "search" {
			e.ToolKind = tape.ToolServer
		}
		tp.Events = append(tp.Events, e)
	}
	got := Layers(tp, map[Layer][]Asked{LayerOracle: {{Tool: "a", ArgsHash: "h"}, {Tool: "b", ArgsHash: "other"}}, LayerMCP: {{Tool: "c", ArgsHash: "h"}}}, func(tool string) bool { return tool == "b" }, 0)
	want := []ToolCall{{Seq: 1, Name: "a", Layer: LayerOracle}, {Seq: 2, Name: "a", Layer: LayerLive}, {Seq: 3, Name: "b", Layer: LayerLive, Allowed: true}, {Seq: 4, Name: "c", Layer: LayerMCP}, {Seq: 5, Name: "search", Layer: LayerModel}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// Who ran a tool is told by the answers of the models, not by the kind that its telemetry gives it.
func TestALocalToolOfACodingAgentIsNotTheProviders(t *testing.T) {
	block := func(text string) tape.Part {
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return tape.Part{Type: tape.PartData, Value: v}
	}
	answer := func(parts ...tape.Part) *tape.Tape {
		m := map[string]tape.Message{}
		call := tape.Event{Seq: 1, Type: tape.EventModelCall, Response: &tape.Response{}}
		if parts != nil {
			m["m"], call.Response.Message = tape.Message{Role: tape.RoleAssistant, Parts: parts}, "m"
		}
		return &tape.Tape{Messages: m, Events: []tape.Event{call}}
	}
	for what, of := range map[string]struct {
		answer *tape.Tape
		event  tape.Event
		want   Layer
	}{
		"a shell that the model asks for":       {answer(tape.Part{Type: tape.PartToolCall, ID: "1"}), tape.Event{Name: "run_shell_command", ToolKind: tape.ToolBuiltin, ToolCallID: "1"}, LayerLive},
		"a shell without content":               {answer(), tape.Event{Name: "Bash", ToolKind: tape.ToolBuiltin, ToolCallID: "1"}, LayerLive},
		"a search that the answer holds":        {answer(block(`{"type":"server_tool_use","id":"1"}`)), tape.Event{Name: "web_search", ToolKind: tape.ToolBuiltin, ToolCallID: "1"}, LayerModel},
		"a search that the answer asks for":     {answer(tape.Part{Type: tape.PartToolCall, ID: "1"}), tape.Event{Name: "web_search", ToolKind: tape.ToolBuiltin, ToolCallID: "1"}, LayerLive},
		"a search without content":              {answer(), tape.Event{Name: "web_search", ToolKind: tape.ToolBuiltin, ToolCallID: "1"}, LayerUnknown},
		"a search in no answer that is known":   {answer(tape.Part{Type: tape.PartText, Text: "hm"}), tape.Event{Name: "web_search", ToolKind: tape.ToolBuiltin}, LayerLive},
		"a shell of the agent, as a block":      {answer(block(`{"type":"local_shell_call","call_id":"1"}`)), tape.Event{Name: "shell", ToolKind: tape.ToolBuiltin, ToolCallID: "1"}, LayerLive},
		"a tool of the provider by its kind":    {answer(), tape.Event{Name: "search", ToolKind: tape.ToolServer}, LayerModel},
		"a function that the answer holds":      {answer(block(`{"type":"server_tool_use","id":"1"}`)), tape.Event{Name: "search", ToolKind: tape.ToolFunction, ToolCallID: "1"}, LayerModel},
		"a server tool that the agent is asked": {answer(tape.Part{Type: tape.PartToolCall, ID: "1"}), tape.Event{Name: "search", ToolKind: tape.ToolServer, ToolCallID: "1"}, LayerLive},
	} {
		of.event.Seq, of.event.Type = 2, tape.EventToolCall
		of.answer.Events = append(of.answer.Events, of.event)
		calls := Layers(of.answer, map[Layer][]Asked{}, func(string) bool { return false }, 0)
		if len(calls) != 1 || calls[0].Layer != of.want {
			t.Errorf("%s: %+v, want %s", what, calls, of.want)
		}
		if ran := undeclared(calls); (ran == "") != (of.want == LayerModel) {
			t.Errorf("%s: %q", what, ran)
		}
	}
}

func TestAFailureIsSaidInEveryForm(t *testing.T) {
	source := asked("?")
	r := Report{Source: "s", ReplayRunID: "r", Tools: []ToolCall{{Seq: 1, Name: "mail|x", Layer: LayerLive}}, Model: modelstub.Report{Turns: 1, Unused: []modelstub.Unused{{Seq: 3}}},
		Oracle: &oracle.Report{Calls: oracle.CallCounts{Total: 1, Outcomes: map[oracle.Outcome]int{oracle.Exhausted: 1}}}}
	r.Judge(source, source, nil)
	if r.Verdict != Diverged {
		t.Fatalf("%+v", r)
	}
	var junit bytes.Buffer
	if err := r.JUnit(&junit); err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
	}
	if err := xml.Unmarshal(junit.Bytes(), &suite); err != nil || suite.Tests != len(r.Checks) || suite.Failures != 3 {
		t.Errorf("%v\n%s", err, &junit)
	}
	for _, want := range []string{"no tool ran live", "recorded model calls were asked for: 0 of 1; event 3", "tool calls were recorded (oracle): 0 of 1"} {
		if !strings.Contains(r.Text(), want) {
			t.Errorf("%s is not in\n%s", want, r.Text())
		}
	}
	if md := r.Markdown(); !strings.Contains(md, "| **fail** | no tool ran live |") || !strings.Contains(md, `mail\|x`) {
		t.Error(md)
	}
	if r.Judge(source, nil, nil); r.Verdict != Diverged { // it had asked for what is not recorded
		t.Errorf("%+v", r)
	}
	r.Oracle = nil
	if r.Judge(source, nil, nil); r.Verdict != NotDone {
		t.Errorf("%+v", r)
	}
}

// A name that ends in * takes away all that begin so, and nothing else.
func TestAFamilyOfVariablesIsTakenAway(t *testing.T) {
	got := Environ([]string{RedactionKeyVariable + "=k", "OPENINFERENCE_HIDE_INPUTS=true", "OPENINFERENCE_HIDE_LLM_TOOLS=1", "OPENINFERENCE_HIDES=x", "A=B"}, Services{OTLP: "http://127.0.0.1:1"}.Variables())
	for _, v := range got {
		if strings.HasPrefix(v, "OPENINFERENCE_HIDE_") || strings.HasPrefix(v, RedactionKeyVariable) {
			t.Errorf("%s is left", v)
		}
	}
	if !slices.Contains(got, "OPENINFERENCE_HIDES=x") || !slices.Contains(got, "A=B") || !slices.Contains(got, "HAYSTACK_CONTENT_TRACING_ENABLED=true") {
		t.Errorf("%v", got)
	}
}
