// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package atif

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// unknown stands for the name and version of an agent that no record tells: the format demands both.
const unknown = "unknown"

// Encode writes a tape as a trajectory. Each message becomes one step, in the order in which it first came up. Each model call becomes a
// step with its tool calls and what they returned. A run without any message or call is not held.
func Encode(t *tape.Tape, _ []oracle.Entry, o interop.Options) ([]byte, []interop.Loss, error) {
	doc, kept := interop.Original(t, name, runOf)
	if !kept {
		doc = document(t)
	}
	if doc.Get("steps").Len() == 0 {
		return nil, nil, fmt.Errorf("%w: no message and no call is recorded", interop.ErrNotHeld)
	}
	body := interop.Indented(doc)
	if o.NoLosses {
		return body, nil, nil
	}
	back, err := runOf(doc, interop.Options{})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", interop.ErrNotHeld, err)
	}
	losses, err := interop.TapeLosses(t, back.Tape, interop.KeptEvents(t, back.Tape), "a trajectory lists model and tool calls, in the order of the conversation", reasons)
	return body, losses, err
}

func document(t *tape.Tape) exactjson.Value {
	w := &writer{tape: t, shown: map[string]bool{}, asked: map[int][]*tape.Event{}, told: map[string]int{}}
	r := &t.Run
	ids := slices.Sorted(maps.Keys(t.Tools))
	tokens := func(n *int64) exactjson.Value {
		if n == nil {
			return exactjson.Value{}
		}
		return exactjson.IntValue(*n)
	}
	steps := w.steps()
	cost := t.Usage.CostUSD
	if _, ok := cost.Float(); !ok {
		cost = exactjson.Value{}
	}
	ended := exactjson.Value{}
	if !r.EndedAt.IsZero() {
		ended = exactjson.StringValue(r.EndedAt.UTC().Format(time.RFC3339Nano))
	}
	return exactjson.ObjectValue(
		interop.Member("schema_version", exactjson.StringValue(version)),
		interop.Member("session_id", interop.StringOrNone(cmp.Or(r.ConversationID, r.RunID))),
		interop.Member("trajectory_id", interop.StringOrNone(r.RunID)),
		interop.Member("agent", exactjson.ObjectValue(
			interop.Member("name", exactjson.StringValue(cmp.Or(r.Agent.Name, r.Service.Name, unknown))),
			interop.Member("version", exactjson.StringValue(cmp.Or(r.Agent.Version, r.Service.Version, unknown))),
			interop.Member("model_name", interop.StringOrNone(t.Config.Model)),
			interop.Member("tool_definitions", chat.Tools(t, ids)))),
		interop.Member("steps", exactjson.ArrayValue(steps...)),
		interop.Member("final_metrics", exactjson.ObjectValue(
			interop.Member("total_prompt_tokens", tokens(t.Usage.InputTokens)),
			interop.Member("total_completion_tokens", tokens(t.Usage.OutputTokens)),
			interop.Member("total_cost_usd", cost),
			interop.Member("total_steps", exactjson.IntValue(int64(len(steps)))))),
		interop.Member("extra", exactjson.ObjectValue(interop.Member("tapedeck", exactjson.ObjectValue(
			interop.Member("status", interop.StringOrNone(string(r.Status))),
			interop.Member("ended_at", ended),
			interop.Member("grade", interop.StringOrNone(string(t.Fidelity.Grade))),
			interop.Member("service", interop.StringOrNone(r.Service.Name)))))))
}

type writer struct {
	tape  *tape.Tape
	list  []exactjson.Value
	shown map[string]bool       // messages that are a step, or a part of one
	asked map[int][]*tape.Event // seq of a model call → the tool calls it asked for
	told  map[string]int        // result of recorded calls → how many of them have it
}

func (w *writer) steps() []exactjson.Value {
	t := w.tape
	answered := map[string]bool{}
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type == tape.EventToolCall {
			w.asked[e.RequestedBy] = append(w.asked[e.RequestedBy], e)
			answered[e.ToolCallID] = true
			w.told[e.Result.JSON()]++
		}
		if e.Response != nil && e.Response.Message != "" {
			answered["m:"+e.Response.Message] = true
		}
	}
	if !slices.ContainsFunc(t.Events, func(e tape.Event) bool {
		return e.Type == tape.EventModelCall && e.Request != nil && len(e.Request.Messages) > 0
	}) {
		w.plain(fromSystem, t.Input.SystemPrompt)
		w.plain(fromUser, t.Input.UserMessage)
	}
	for i := range t.Events {
		e := &t.Events[i]
		switch {
		case e.Type == tape.EventModelCall:
			if e.Request != nil {
				for _, id := range e.Request.Messages {
					if !w.shown[id] && !answered["m:"+id] {
						w.shown[id] = true
						w.message(t.Messages[id], answered)
					}
				}
			}
			w.call(e)
		case e.Type == tape.EventToolCall && e.RequestedBy == 0:
			w.dispatch(e)
		}
	}
	if len(t.Events) == 0 {
		w.plain(fromAgent, t.Output.Text)
	}
	return w.list
}

// add numbers a step. Members stand in the order of the format.
func (w *writer) add(source string, at time.Time, members ...exactjson.Member) {
	stamp := exactjson.Value{}
	if !at.IsZero() {
		stamp = exactjson.StringValue(at.UTC().Format(time.RFC3339Nano))
	}
	head := []exactjson.Member{
		interop.Member("step_id", exactjson.IntValue(int64(len(w.list)+1))),
		interop.Member("timestamp", stamp),
		interop.Member("source", exactjson.StringValue(source)),
	}
	w.list = append(w.list, exactjson.ObjectValue(append(head, members...)...))
}

func (w *writer) plain(source string, text *string) {
	if text != nil {
		w.add(source, time.Time{}, interop.Member("message", exactjson.StringValue(*text)))
	}
}

// message is a step of a message that no recorded call gave: the beginning of the conversation, or what came in between.
func (w *writer) message(m tape.Message, answered map[string]bool) {
	switch m.Role {
	case tape.RoleSystem, tape.RoleUser:
		w.add(string(m.Role), time.Time{}, interop.Member("message", content(m)))
	case tape.RoleAssistant:
		w.add(fromAgent, time.Time{}, interop.Member("message", content(m)), interop.Member("reasoning_content", reasoning(m)),
			interop.Member("tool_calls", toolCalls(m, nil)), interop.Member("is_copied_context", exactjson.BoolValue(true)))
	case tape.RoleTool:
		var results []exactjson.Value
		for _, p := range m.Parts {
			// The result of a recorded call stands with the call. A request without ids shows it as it is.
			switch same := p.Result.JSON(); {
			case p.Type != tape.PartToolResult, p.ID != "" && answered[p.ID]:
			case p.ID == "" && w.told[same] > 0:
				w.told[same]--
			default:
				results = append(results, result("", p.Result, p.IsError, p.ID))
			}
		}
		if len(results) > 0 {
			w.add(fromSystem, time.Time{}, interop.Member("message", exactjson.StringValue("")),
				interop.Member("observation", exactjson.ObjectValue(interop.Member("results", exactjson.ArrayValue(results...)))),
				interop.Member("is_copied_context", exactjson.BoolValue(true)))
		}
	}
}

func (w *writer) call(e *tape.Event) {
	var m tape.Message
	reasons := exactjson.Value{}
	if e.Response != nil {
		m, reasons = w.tape.Messages[e.Response.Message], interop.Strings(e.Response.FinishReasons)
		w.shown[e.Response.Message] = true
	}
	asked := w.asked[e.Seq]
	w.add(fromAgent, e.StartedAt,
		interop.Member("model_name", interop.StringOrNone(e.Model)),
		interop.Member("message", content(m)),
		interop.Member("reasoning_content", reasoning(m)),
		interop.Member("tool_calls", toolCalls(m, asked)),
		interop.Member("observation", observation(asked)),
		interop.Member("metrics", metrics(e.Usage)),
		interop.Member("llm_call_count", exactjson.IntValue(1)),
		interop.Member("extra", extra(e, interop.Member("finish_reasons", reasons), interop.Member("provider", interop.StringOrNone(e.Provider)))))
}

// dispatch is a tool call that no recorded model call asked for.
func (w *writer) dispatch(e *tape.Event) {
	calls := []*tape.Event{e}
	w.add(fromAgent, e.StartedAt, interop.Member("message", exactjson.StringValue("")), interop.Member("tool_calls", toolCalls(tape.Message{}, calls)),
		interop.Member("observation", observation(calls)), interop.Member("llm_call_count", exactjson.IntValue(0)), interop.Member("extra", extra(e)))
}

func extra(e *tape.Event, more ...exactjson.Member) exactjson.Value {
	failed := exactjson.Value{}
	if e.Status == tape.EventError && e.Type == tape.EventModelCall {
		failed = exactjson.BoolValue(true)
	}
	duration := exactjson.Value{}
	if e.DurationMS > 0 {
		duration = exactjson.IntValue(e.DurationMS)
	}
	return interop.ObjectOrNone(append([]exactjson.Member{
		interop.Member("caller", interop.StringOrNone(e.Caller)),
		interop.Member("duration_ms", duration),
		interop.Member("span_ids", interop.Strings(e.SpanIDs)),
		interop.Member("failed", failed)}, more...)...)
}

func content(m tape.Message) exactjson.Value {
	var parts []exactjson.Value
	media := false
	for _, p := range m.Parts {
		switch {
		case p.Type == tape.PartText:
			parts = append(parts, exactjson.ObjectValue(interop.Member("type", exactjson.StringValue("text")), interop.Member("text", exactjson.StringValue(p.Text))))
		case p.Type == tape.PartMedia && p.URI != "" && slices.Contains(images, p.MIMEType):
			media = true
			parts = append(parts, exactjson.ObjectValue(interop.Member("type", exactjson.StringValue("image")),
				interop.Member("source", exactjson.ObjectValue(
					interop.Member("media_type", exactjson.StringValue(p.MIMEType)), interop.Member("path", exactjson.StringValue(p.URI))))))
		}
	}
	if !media {
		return exactjson.StringValue(interop.Texts(m))
	}
	return exactjson.ArrayValue(parts...)
}

// images are the types that the format takes.
var images = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

func reasoning(m tape.Message) exactjson.Value {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == tape.PartReasoning {
			texts = append(texts, p.Text)
		}
	}
	return interop.StringOrNone(strings.Join(texts, "\n"))
}

// toolCalls are the calls of the events, else those that the message asks for.
func toolCalls(m tape.Message, events []*tape.Event) exactjson.Value {
	var list []exactjson.Value
	for _, e := range events {
		duration, started := exactjson.Value{}, exactjson.Value{}
		if e.DurationMS > 0 {
			duration = exactjson.IntValue(e.DurationMS)
		}
		if !e.StartedAt.IsZero() {
			started = exactjson.StringValue(e.StartedAt.UTC().Format(time.RFC3339Nano))
		}
		list = append(list, toolCall(e.ToolCallID, len(list), e.Name, e.Args, textOf(m, e),
			interop.Member("started_at", started), interop.Member("duration_ms", duration), interop.Member("span_ids", interop.Strings(e.SpanIDs)),
			interop.Member("caller", interop.StringOrNone(e.Caller)), interop.Member("kind", interop.StringOrNone(string(e.ToolKind)))))
	}
	if len(events) > 0 {
		return exactjson.ArrayValue(list...)
	}
	for _, p := range m.Parts {
		if p.Type == tape.PartToolCall {
			list = append(list, toolCall(p.ID, len(list), p.Name, p.Args, p.ArgsText, interop.Member("not_run", exactjson.BoolValue(true))))
		}
	}
	return interop.ArrayOrNone(list)
}

// textOf is the text in which the message of a model has the arguments of a call.
func textOf(m tape.Message, e *tape.Event) string {
	for _, p := range m.Parts {
		if p.Type == tape.PartToolCall && p.ID == e.ToolCallID && p.Name == e.Name {
			return p.ArgsText
		}
	}
	return ""
}

// toolCall writes one call: arguments must be an object, others stand beside.
func toolCall(id string, n int, name string, args exactjson.Value, text string, more ...exactjson.Member) exactjson.Value {
	value, raw := args, exactjson.Value{}
	if args.Kind() != exactjson.Object {
		value, raw = exactjson.ObjectValue(), args
	}
	made := exactjson.Value{}
	if id == "" {
		made = exactjson.BoolValue(true)
	}
	missing := exactjson.Value{}
	if args.IsAbsent() {
		missing = exactjson.BoolValue(true)
	}
	return exactjson.ObjectValue(
		interop.Member("tool_call_id", exactjson.StringValue(callID(id, n))),
		interop.Member("function_name", exactjson.StringValue(name)),
		interop.Member("arguments", value),
		interop.Member("extra", interop.ObjectOrNone(append([]exactjson.Member{
			interop.Member("raw_arguments", raw), interop.Member("arguments_missing", missing),
			interop.Member("arguments_text", interop.StringOrNone(text)), interop.Member("made_up_id", made)}, more...)...)))
}

// callID is the id of a call within its step.
func callID(id string, n int) string { return cmp.Or(id, fmt.Sprintf("call_%d", n+1)) }

func observation(events []*tape.Event) exactjson.Value {
	var results []exactjson.Value
	for n, e := range events {
		if e.Result.IsAbsent() && !e.IsError && e.Status != tape.EventError {
			continue
		}
		value := e.Result
		message := exactjson.Value{}
		if e.Error != nil {
			message = interop.ObjectOrNone(interop.Member("type", interop.StringOrNone(e.Error.Type)), interop.Member("message", interop.StringOrNone(e.Error.Message)))
		}
		results = append(results, result(callID(e.ToolCallID, n), value, e.IsError, "", interop.Member("error", message)))
	}
	if len(results) == 0 {
		return exactjson.Value{}
	}
	return exactjson.ObjectValue(interop.Member("results", exactjson.ArrayValue(results...)))
}

// result writes what a call returned, as text; JSON is marked as such.
func result(call string, v exactjson.Value, isError bool, answers string, more ...exactjson.Member) exactjson.Value {
	text, format, failed := exactjson.Value{}, exactjson.Value{}, exactjson.Value{}
	if !v.IsAbsent() {
		text = exactjson.StringValue(interop.ResultText(v))
		if v.Kind() != exactjson.String {
			format = exactjson.StringValue("json")
		}
	}
	if isError {
		failed = exactjson.BoolValue(true)
	}
	return exactjson.ObjectValue(
		interop.Member("source_call_id", interop.StringOrNone(call)),
		interop.Member("content", text),
		interop.Member("extra", interop.ObjectOrNone(append([]exactjson.Member{
			interop.Member("format", format), interop.Member("is_error", failed), interop.Member("answers", interop.StringOrNone(answers))}, more...)...)))
}

func metrics(u *tape.Usage) exactjson.Value {
	if u == nil {
		return exactjson.Value{}
	}
	tokens := func(n *int64) exactjson.Value {
		if n == nil {
			return exactjson.Value{}
		}
		return exactjson.IntValue(*n)
	}
	includes := exactjson.Value{}
	if u.InputIncludesCache != nil {
		includes = exactjson.BoolValue(*u.InputIncludesCache)
	}
	return interop.ObjectOrNone(
		interop.Member("prompt_tokens", tokens(u.InputTokens)),
		interop.Member("completion_tokens", tokens(u.OutputTokens)),
		interop.Member("cached_tokens", tokens(u.CacheReadTokens)),
		interop.Member("extra", interop.ObjectOrNone(
			interop.Member("cache_write_tokens", tokens(u.CacheWriteTokens)),
			interop.Member("reasoning_tokens", tokens(u.ReasoningTokens)),
			interop.Member("input_includes_cache", includes))))
}

var reasons = []interop.Reason{
	{Path: "messages", Reason: "every message is a step, in the roles and parts of the format"},
	{Path: "events.*.request", Reason: "every call is taken to have been sent all steps before it"},
	{Path: "tools", Reason: "every call is taken to have been offered all tools"},
	{Path: "events.*.*", Reason: "a step has no place for it"},
	{Path: "*", Reason: "a trajectory has no place for it"},
}
