// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestActionsOfSmolagentsAreCallsAndResults(t *testing.T) {
	said := func(role tape.Role, text string) decode.Message {
		return decode.Message{Role: role, Parts: []decode.Part{decode.TextPart(text)}}
	}
	calls := func(list string) decode.Message { return said(tape.RoleUser, "Calling tools:\n"+list) }
	const (
		system = "You are an expert assistant who can solve any task using tool calls."
		one    = `[{'id': 'c1', 'type': 'function', 'function': {'name': 'f', 'arguments': {'a': 1}}}]`
		two    = `[{'id': 'c2', 'type': 'function', 'function': {'name': 'f', 'arguments': {}}}, {'id': 'c3', 'type': 'function', 'function': {'name': 'g', 'arguments': {}}}]`
	)
	got := genaitest.Messages(decode.OpenActions([]decode.Message{
		said(tape.RoleSystem, system), said(tape.RoleUser, "New task:\nCount."),
		calls(one), said(tape.RoleUser, "Observation:\nfirst\nsecond"),
		calls(two), said(tape.RoleUser, "Observation:\nx\ny"),
		calls(two), said(tape.RoleUser, "Observation:\nx\ny\nz"),
	}))
	want := []string{
		"system: text(You are an expert assistant who can solve any task using tool calls.)", "user: text(New task:\n) text(Count.)",
		`assistant: call(c1 f {"a":1})`, `tool: result(c1 f "first\nsecond")`,
		`assistant: call(c2 f {}) call(c3 g {})`, `tool: result(c2 f "x")~lossy result(c3 g "y")~lossy`,
		`assistant: call(c2 f {}) call(c3 g {})`, "tool: text(x\ny\nz)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	other := []decode.Message{said(tape.RoleSystem, "Be brief."), calls(one)}
	if got := decode.OpenActions(other); got[1].Role != tape.RoleUser {
		t.Errorf("what any user says is no call: %+v", got)
	}
}

// FuzzOpenActions opens conversations of smolagents of any content. Opening loses no message, invents no result without a call, and finds nothing
// more the second time.
func FuzzOpenActions(f *testing.F) {
	const system = "You are an expert assistant who can solve any task using tool calls."
	f.Add("New task:\nCount.", `Calling tools:
[{'id': 'c1', 'type': 'function', 'function': {'name': 'f', 'arguments': {'a': 1}}}]`, "Observation:\nfirst\nsecond", "Observation:\nx")
	f.Add("Observation:\n", "Calling tools:\n[[]]", "Calling tools:\n[{}, {}]", "Observation:\n\n")
	f.Add("", "Calling tools:\n(1", "New task:\n", "Calling tools:\nNone")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		conversation := func() []decode.Message {
			messages := []decode.Message{{Role: tape.RoleSystem, Parts: []decode.Part{decode.TextPart(system)}}}
			for _, text := range []string{a, b, c, d} {
				messages = append(messages, decode.Message{Role: tape.RoleUser, Parts: []decode.Part{decode.TextPart(text)}})
			}
			return messages
		}
		opened := decode.OpenActions(conversation())
		once := genaitest.Messages(opened)
		if len(once) != 5 {
			t.Fatalf("5 messages became %q", once)
		}
		for i, m := range opened {
			if m.Role == tape.RoleTool && m.Parts[0].Type == tape.PartToolResult && (i == 0 || !decode.HasCalls(opened[i-1])) {
				t.Fatalf("a result without a call: %q", once)
			}
		}
		if again := genaitest.Messages(decode.OpenActions(opened)); !slices.Equal(once, again) {
			t.Fatalf("opened twice: %q, then %q", once, again)
		}
	})
}

// What the framework puts behind a task or a result in the same message is none of it, and what the model said before its calls is kept.
func TestWhatSmolagentsAddsIsToldApart(t *testing.T) {
	calls := "Calling tools:\n[{'id': 'c1', 'type': 'function', 'function': {'name': 'f', 'arguments': {'a': 1}}}]"
	retry := "\nError:\nUnknown tool g.\nNow let's retry: take care not to repeat previous errors! If you have retried several times, try a completely different approach.\n"
	ask := "\nBased on the above, please provide an answer to the following user task:\nCount."
	said := func(role tape.Role, text string) decode.Message {
		return decode.Message{Role: role, Parts: []decode.Part{decode.TextPart(text)}}
	}
	got := genaitest.Messages(decode.OpenActions([]decode.Message{
		said(tape.RoleSystem, "You are an expert assistant who can solve any task using tool calls."), said(tape.RoleUser, "New task:\nCount."+retry),
		said(tape.RoleAssistant, "One moment.\n"+calls), said(tape.RoleUser, "Observation:\nx\nError:\ny"+ask),
		said(tape.RoleAssistant, calls), said(tape.RoleUser, "Observation:\nx\nError:\ny"),
	}))
	want := []string{
		"system: text(You are an expert assistant who can solve any task using tool calls.)", "user: text(New task:\n) text(Count.) text(" + retry + ")",
		`assistant: text(One moment.) call(c1 f {"a":1})`, `tool: result(c1 f "x\nError:\ny") text(` + ask + ")",
		`assistant: call(c1 f {"a":1})`, `tool: result(c1 f "x\nError:\ny")`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for args, want := range map[string]string{`{"answer":"42"}`: "42", `{"answer":42}`: "", `{"answer":"42","why":"x"}`: ""} {
		v, _ := exactjson.Parse(args)
		p := decode.Part{}
		p.Name, p.Args = "final_answer", v
		if got, ok := decode.AnswerBy(&p); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v", args, got, ok)
		}
	}
}
