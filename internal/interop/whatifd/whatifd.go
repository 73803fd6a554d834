// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package whatifd writes runs as the raw traces of whatifd 0.3.0: JSON lines with the members of its RawTrace. From them its library makes the tool cache of a run.
package whatifd

import (
	"fmt"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const name = "whatifd"

// Format is the entry in the table of formats.
var Format = &interop.Format{
	Name:        name,
	Title:       "raw traces of whatifd 0.3.0, one run per line",
	Lines:       true,
	ContentType: "application/jsonl",
	FileName:    func(*tape.Tape) string { return "rawtrace.jsonl" },
	Encode:      Encode,
}

// Encode writes a run as one line. Only answers that an oracle would serve have an output: whatifd takes a call without arguments for one with none, and
// the last answer for all equal calls.
func Encode(t *tape.Tape, _ []oracle.Entry, o interop.Options) ([]byte, []interop.Loss, error) {
	doc := document(t)
	body := append(doc.AppendJSON(nil), '\n')
	if o.NoLosses {
		return body, nil, nil
	}
	back := runOf(doc)
	losses, err := interop.TapeLosses(t, back, interop.KeptEvents(t, back), "tool calls are kept, nothing else of what happened", reasons)
	if err != nil {
		return nil, nil, err
	}
	return body, append(losses, repeated(t)...), nil
}

var reasons = []interop.Reason{
	{Path: "events", Reason: "a span holds arguments and answer; an answer that an oracle would not serve is left out"},
	{Path: "messages", Reason: "the format holds the question, tool calls and the answer"},
	{Path: "*", Reason: "the format holds the question, tool calls and the answer"},
}

// repeated names calls whose earlier answers whatifd's cache does not keep.
func repeated(t *tape.Tape) (losses []interop.Loss) {
	last := map[[2]string]string{}
	for _, e := range oracle.FromTape(t) {
		key := [2]string{e.ToolName, e.ArgsHash}
		if was, known := last[key]; known && was != e.Response && e.Servable() {
			losses = append(losses, interop.Loss{Path: "events", What: interop.Changed,
				Reason: fmt.Sprintf("equal calls of %q had different answers: the cache of whatifd keeps the last one", e.ToolName)})
		}
		if e.Servable() {
			last[key] = e.Response
		}
	}
	return losses
}

func text(s string) exactjson.Value { return exactjson.StringValue(s) }

func optional(s *string) exactjson.Value {
	if s == nil {
		return text("")
	}
	return text(*s)
}

func document(t *tape.Tape) exactjson.Value {
	var spans []exactjson.Value
	for _, e := range oracle.FromTape(t) {
		id, args, output := exactjson.NullValue, exactjson.NullValue, exactjson.NullValue
		if e.ToolCallID != "" {
			id = text(e.ToolCallID)
		}
		if e.Args.Kind() == exactjson.Object && e.Servable() {
			args, output = e.Args, text(e.Response)
		}
		members := []exactjson.Member{
			interop.Member("name", text(e.ToolName)), interop.Member("kind", text("tool")), interop.Member("tool_call_id", id), interop.Member("args", args), interop.Member("output", output),
		}
		if e.IsError {
			members = append(members, interop.Member("attributes", exactjson.ObjectValue(interop.Member("tapedeck.is_error", exactjson.BoolValue(true)))))
		}
		spans = append(spans, exactjson.ObjectValue(members...))
	}
	cohort, rule := "baseline", "run.status"
	if t.Run.Status == tape.StatusError {
		cohort = "failure"
	}
	for i := range t.Verdicts {
		v := &t.Verdicts[i]
		if passed, said := v.Passed(); said && !passed && v.Of == tape.OfRun && cohort == "baseline" {
			cohort, rule = "failure", "verdict "+v.Name
		}
	}
	skip := exactjson.NullValue
	switch {
	case t.Input.UserMessage == nil:
		skip = text("the tape does not hold what the user asked")
	case t.Output.Text == nil:
		skip = text("the tape does not hold an answer")
	}
	return exactjson.ObjectValue(
		interop.Member("trace_id", text(t.Run.RunID)),
		interop.Member("cohort", text(cohort)),
		interop.Member("user_message", optional(t.Input.UserMessage)),
		interop.Member("original_response", optional(t.Output.Text)),
		interop.Member("tool_spans", exactjson.ArrayValue(spans...)),
		interop.Member("metadata", exactjson.ObjectValue(
			interop.Member("tapedeck.tape_id", text(t.TapeID)),
			interop.Member("tapedeck.grade", text(string(t.Fidelity.Grade))),
			interop.Member("tapedeck.cohort_rule", text(rule)),
		)),
		interop.Member("skip_reason", skip),
	)
}

// runOf is what a reader could make of a line.
func runOf(doc exactjson.Value) *tape.Tape {
	t := &tape.Tape{}
	if doc.Get("skip_reason").IsEmpty() {
		asked, answered := doc.Get("user_message").Str(), doc.Get("original_response").Str()
		t.Input.UserMessage, t.Output.Text = &asked, &answered
	}
	for _, m := range doc.Get("tool_spans").Members() {
		e := tape.Event{Type: tape.EventToolCall, Name: m.Value.Get("name").Str(), ToolCallID: m.Value.Get("tool_call_id").Str()}
		if output := m.Value.Get("output"); output.Kind() == exactjson.String {
			e.Args, e.Result = m.Value.Get("args"), output
		}
		e.IsError = !m.Value.Get("attributes").Get("tapedeck.is_error").IsAbsent()
		t.Events = append(t.Events, e)
	}
	return interop.Finish(t, name, []byte(doc.Digest()), interop.Options{}).Tape
}
