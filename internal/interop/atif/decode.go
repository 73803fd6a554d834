// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package atif

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Decode reads a trajectory as a tape. One that the tape does not give again as it was stands at extensions.atif.document. Embedded
// trajectories of sub-agents stand there too.
func Decode(data []byte, o interop.Options) ([]interop.Run, error) {
	doc, err := read(data)
	if err != nil {
		return nil, err
	}
	run, err := runOf(doc, o)
	if err != nil {
		return nil, err
	}
	run.Losses, err = interop.DocumentLosses(data, interop.Indented(doc), nil)
	return []interop.Run{run}, err
}

var (
	runIDForm  = regexp.MustCompile(`^[0-9a-f]{32}-[0-9a-f]{16}$`)
	spanIDForm = regexp.MustCompile(`^[0-9a-f]{16}$`)
	ownStatus  = map[string]tape.RunStatus{"error": tape.StatusError, "interrupted": tape.StatusInterrupted, "incomplete": tape.StatusIncomplete}
	kinds      = map[string]tape.ToolKind{"function": tape.ToolFunction, "mcp": tape.ToolMCP, "builtin": tape.ToolBuiltin, "server": tape.ToolServer, "agent": tape.ToolAgent}
)

func runOf(doc exactjson.Value, o interop.Options) (interop.Run, error) {
	t := &tape.Tape{}
	r := &t.Run
	if id := doc.Get("trajectory_id").Str(); runIDForm.MatchString(id) {
		r.TraceID, r.RootSpanID, _ = strings.Cut(id, "-")
	}
	if id := doc.Get("session_id").Str(); id != doc.Get("trajectory_id").Str() {
		r.ConversationID = id
	}
	agent, own := doc.Get("agent"), doc.Get("extra").Get("tapedeck")
	known := func(v exactjson.Value) string {
		if v.Str() == unknown {
			return ""
		}
		return v.Str()
	}
	r.Agent.Name, r.Agent.Version = known(agent.Get("name")), known(agent.Get("version"))
	if r.Service.Name = own.Get("service").Str(); r.Agent.Name == r.Service.Name {
		r.Agent.Name = ""
	}
	t.Config.Model = agent.Get("model_name").Str()
	r.Status = ownStatus[own.Get("status").Str()]
	total := doc.Get("final_metrics")
	t.Usage.InputTokens, t.Usage.OutputTokens = count(total.Get("total_prompt_tokens")), count(total.Get("total_completion_tokens"))
	if cost := total.Get("total_cost_usd"); cost.Kind() == exactjson.Number {
		t.Usage.CostUSD = cost
	}
	var turns []interop.Turn
	for _, m := range doc.Get("steps").Members() {
		turns = append(turns, turnsOf(m.Value)...)
	}
	var tools []string
	if slices.ContainsFunc(turns, func(n interop.Turn) bool { return n.Message.Role == tape.RoleAssistant && !n.Dispatch }) {
		tools = chat.ReadTools(t, agent.Get("tool_definitions"))
	}
	interop.Converse(t, turns, tools)
	for _, n := range turns {
		if !n.At.IsZero() && (r.StartedAt.IsZero() || n.At.Before(r.StartedAt)) {
			r.StartedAt = n.At
		}
		if n.At.After(r.EndedAt) {
			r.EndedAt = n.At
		}
	}
	if at := timeOf(own.Get("ended_at").Str()); at.After(r.EndedAt) {
		r.EndedAt = at
	}
	if !r.StartedAt.IsZero() {
		r.DurationMS = r.EndedAt.Sub(r.StartedAt).Milliseconds()
	}
	if !bytes.Equal(document(t).AppendJSON(nil), doc.AppendJSON(nil)) {
		interop.KeepOriginal(t, name, doc)
	}
	return interop.Finish(t, name, []byte(doc.Digest()), o), nil
}

func count(v exactjson.Value) *int64 {
	if n, ok := v.Int(); ok && n >= 0 {
		return &n
	}
	return nil
}

// turnsOf is a step as messages: what was said, and what the tools returned.
func turnsOf(step exactjson.Value) []interop.Turn {
	source := step.Get("source").Str()
	turn := interop.Turn{At: timeOf(step.Get("timestamp").Str())}
	m := &turn.Message
	m.Parts = []tape.Part{}
	switch source {
	case fromAgent:
		m.Role = tape.RoleAssistant
	case fromUser:
		m.Role = tape.RoleUser
	default:
		m.Role = tape.RoleSystem
	}
	if text := step.Get("reasoning_content").Str(); text != "" {
		m.Parts = append(m.Parts, tape.Part{Type: tape.PartReasoning, Text: text})
	}
	m.Parts = append(m.Parts, parts(step.Get("message"))...)
	results := step.Get("observation").Get("results")
	if source == fromAgent {
		readCall(&turn, step)
	} else if len(m.Parts) == 0 && results.Len() > 0 {
		return observed(step, results) // no words, only what tools returned
	}
	return append([]interop.Turn{turn}, observed(step, results)...)
}

func parts(message exactjson.Value) (list []tape.Part) {
	if text := message.Str(); text != "" {
		return []tape.Part{{Type: tape.PartText, Text: text}}
	}
	if message.Kind() != exactjson.Array {
		return nil
	}
	for _, p := range message.Members() {
		source := p.Value.Get("source")
		switch {
		case p.Value.Get("type").Str() == "text":
			list = append(list, tape.Part{Type: tape.PartText, Text: p.Value.Get("text").Str()})
		case source.Get("path").Str() != "":
			list = append(list, tape.Part{Type: tape.PartMedia, MIMEType: source.Get("media_type").Str(), URI: source.Get("path").Str()})
		default:
			list = append(list, tape.Part{Type: tape.PartData, Value: p.Value})
		}
	}
	return list
}

// readCall takes what a step of the agent says of its model call and its tool calls.
func readCall(turn *interop.Turn, step exactjson.Value) {
	own := step.Get("extra")
	if n, ok := step.Get("llm_call_count").Int(); ok && n == 0 {
		turn.Dispatch = true
	}
	e := &turn.Call
	readTimes(e, own)
	e.Model, e.Provider = step.Get("model_name").Str(), own.Get("provider").Str()
	e.Usage = usage(step.Get("metrics"))
	if own.Get("failed").True() {
		e.Status = tape.EventError
	}
	e.Response = &tape.Response{}
	for _, reason := range own.Get("finish_reasons").Members() {
		if reason.Value.Str() != "" {
			e.Response.FinishReasons = append(e.Response.FinishReasons, reason.Value.Str())
		}
	}
	for n, m := range step.Get("tool_calls").Members() {
		c := m.Value
		p := tape.Part{Type: tape.PartToolCall, ID: c.Get("tool_call_id").Str(), Name: c.Get("function_name").Str(), Args: c.Get("arguments")}
		own := c.Get("extra")
		if own.Get("made_up_id").True() && p.ID == callID("", n) {
			p.ID = ""
		}
		if raw := own.Get("raw_arguments"); !raw.IsEmpty() {
			p.Args = raw
		}
		if p.Args.Kind() == exactjson.Null {
			p.Args = exactjson.ObjectValue()
		}
		if own.Get("arguments_missing").True() {
			p.Args = exactjson.Value{}
		}
		p.ArgsText = own.Get("arguments_text").Str()
		turn.Message.Parts = append(turn.Message.Parts, p)
		var e tape.Event
		readTimes(&e, own)
		e.ToolKind = kinds[own.Get("kind").Str()]
		e.StartedAt = timeOf(own.Get("started_at").Str())
		e.Error = failure(step, c.Get("tool_call_id").Str())
		turn.Tools = append(turn.Tools, e)
	}
}

func readTimes(e *tape.Event, own exactjson.Value) {
	e.Caller = own.Get("caller").Str()
	if n := count(own.Get("duration_ms")); n != nil {
		e.DurationMS = *n
	}
	for _, id := range own.Get("span_ids").Members() {
		if spanIDForm.MatchString(id.Value.Str()) {
			e.SpanIDs = append(e.SpanIDs, id.Value.Str())
		}
	}
}

// failure is the error that a call ended with.
func failure(step exactjson.Value, call string) *tape.Error {
	for _, m := range step.Get("observation").Get("results").Members() {
		if e := m.Value.Get("extra").Get("error"); m.Value.Get("source_call_id").Str() == call && e.Len() > 0 {
			if f := (tape.Error{Type: e.Get("type").Str(), Message: e.Get("message").Str()}); f.Type+f.Message != "" {
				return &f
			}
		}
	}
	return nil
}

func usage(v exactjson.Value) *tape.Usage {
	own := v.Get("extra")
	u := tape.Usage{InputTokens: count(v.Get("prompt_tokens")), OutputTokens: count(v.Get("completion_tokens")), CacheReadTokens: count(v.Get("cached_tokens")),
		CacheWriteTokens: count(own.Get("cache_write_tokens")), ReasoningTokens: count(own.Get("reasoning_tokens"))}
	if includes := own.Get("input_includes_cache"); includes.Kind() == exactjson.Bool {
		b := includes.True()
		u.InputIncludesCache = &b
	}
	if u.InputTokens == nil && u.OutputTokens == nil && u.CacheReadTokens == nil && u.CacheWriteTokens == nil && u.ReasoningTokens == nil && u.InputIncludesCache == nil {
		return nil
	}
	return &u
}

// observed are the results of a step, one message each.
func observed(step, results exactjson.Value) (turns []interop.Turn) {
	ids := map[string]string{} // as in the step → as recorded
	for n, c := range step.Get("tool_calls").Members() {
		id := c.Value.Get("tool_call_id").Str()
		if c.Value.Get("extra").Get("made_up_id").True() && id == callID("", n) {
			ids[id] = ""
		}
	}
	for _, m := range results.Members() {
		own := m.Value.Get("extra")
		id := m.Value.Get("source_call_id").Str()
		if recorded, made := ids[id]; made {
			id = recorded
		}
		p := tape.Part{Type: tape.PartToolResult, ID: id, Result: m.Value.Get("content"), IsError: own.Get("is_error").True()}
		if p.ID == "" {
			p.ID = own.Get("answers").Str()
		}
		if own.Get("format").Str() == "json" {
			if v, err := exactjson.Parse(p.Result.Str()); err == nil {
				p.Result = v
			}
		}
		turns = append(turns, interop.Turn{Message: tape.Message{Role: tape.RoleTool, Parts: []tape.Part{p}}})
	}
	return turns
}
