// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package codex reads the Codex CLI.
package codex

import (
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads the Codex CLI. Arguments, results and the prompt are in log records only. No record holds
// what the model was sent and answered. Spans hold the turn, the calls, their times and usage. Hundreds of
// other spans say nothing about the run.
var Dialect = &dialect.Dialect{
	ID:            "codex",
	Name:          "Codex CLI",
	Scopes:        []string{"codex_cli_rs", "codex_exec", "codex_app_server", "codex_mcp_server", "codex_tui"},
	ScopePrefixes: []string{"codex_otel"},
	Marks:         []string{"codex."},
	Root:          "`session_task.turn`",
	Switch:        "`[otel]` with `exporter`, `trace_exporter` and `log_user_prompt = true` in config.toml",
	Member:        isCodexMember,
	Records:       dialect.Records{Events: []string{"codex."}, Log: codexLog},
	Additions: dialect.Additions{Adds: func(span ptrace.Span) bool {
		return span.Name() == "handle_responses" || span.Name() == mcpToolsCall
	}},
	Classify: classifyCodex,
	Read:     readCodex,
}

// mcpToolsCall is the request to an MCP server inside a tool call. It alone tells the name of the tool apart
// from that of the server.
const mcpToolsCall = "mcp.tools.call"

// codexSpans are the spans that hold a run together.
var codexSpans = map[string]dialect.Class{
	"session_task.turn":             dialect.Agent,
	"session_task.run":              dialect.Structure,
	"run_turn":                      dialect.Structure,
	"run_hooks_and_record_inputs":   dialect.Structure,
	"run_sampling_request":          dialect.Structure,
	"try_run_sampling_request":      dialect.Model,
	"receiving_stream":              dialect.Structure,
	"handle_output_item_done":       dialect.Structure,
	"handle_tool_call_with_source":  dialect.Structure,
	"dispatch_tool_call_with_state": dialect.Structure,
	mcpToolsCall:                    dialect.Tool,
}

func isCodexMember(span ptrace.Span) bool {
	a := decode.Attributes(span.Attributes())
	if _, ok := codexSpans[span.Name()]; ok {
		return true
	}
	switch {
	case span.Name() == "handle_responses":
		return a.Has("gen_ai.usage.input_tokens") || a.Text("from") == "output_item_done"
	case a.Has("codex.tool.phase"):
		return true
	}
	return a.Has("gen_ai.operation.name")
}

func classifyCodex(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	if class, ok := codexSpans[s.Span.Name()]; ok {
		return class, class == dialect.Agent
	}
	switch {
	case a.Text("codex.tool.phase") == "dispatch":
		return dialect.Tool, false
	case s.Span.Name() == "handle_responses" && a.Has("gen_ai.usage.input_tokens"):
		return dialect.Model, false
	default:
		return dialect.Structure, false
	}
}

// codexLog tells the role of a log event. Most events have no id of the turn, so a prompt begins a turn.
func codexLog(name string, a decode.Attributes) dialect.LogRole {
	role := dialect.LogRole{
		Conversation: a.Text("conversation.id"),
		Run:          a.Text("turn.id", "turn_id"),
		Lasted:       time.Duration(decode.OrZero(a.Count("duration_ms"))) * time.Millisecond,
		Part:         strings.TrimPrefix(name, "codex."),
	}
	switch role.Part {
	case "user_prompt":
		role.Class, role.Alone, role.Opens, role.Lasted = dialect.Agent, true, true, 0
	case "agent_response":
		role.Class, role.Lasted = dialect.Agent, 0
	case "tool_result":
		role.Class, role.Alone, role.CallID = dialect.Tool, true, a.Text("call_id")
	case "tool_decision":
		role.Class, role.CallID, role.Lasted = dialect.Tool, a.Text("call_id"), 0
		role.Alone = strings.Contains(a.Text("decision"), "denied") || a.Text("decision") == "abort"
	case "api_request", "websocket_request":
		role.Class, role.Alone = dialect.Model, true
		if endpoint := a.Text("endpoint"); endpoint != "" && !strings.Contains(endpoint, "responses") && !strings.Contains(endpoint, "chat/completions") {
			return dialect.LogRole{}
		}
	case "sse_event", "websocket_event":
		role.Class, role.Lasted = dialect.Model, 0
		if role.Part = "completed"; !a.Has("input_token_count") && a.Text("error.message") == "" {
			return dialect.LogRole{} // one of hundreds of pieces of a stream
		}
	default:
		return dialect.LogRole{}
	}
	// turn ids stand on a few events only; the conversation keeps them together
	if role.Conversation != "" {
		role.Run = ""
	}
	return role
}

func readCodex(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("conversation.id", "session.id")
	o.InvocationID = a.Text("turn.id", "turn_id")
	o.UserID = a.Text("user.account_id")
	switch o.Class {
	case dialect.Agent:
		readCodexTurn(s, a, o)
	case dialect.Model:
		readCodexModel(s, a, o)
	case dialect.Tool:
		readCodexTool(s, a, o)
	}
}

func readCodexTurn(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	o.Agent.Name = decode.Attributes(s.Resource).Text("service.name")
	o.Agent.Version = decode.Attributes(s.Resource).Text("service.version")
	decode.FillString(&o.Agent.Version, a.Text("app.version"))
	o.Model = a.Text("model")
	codexUsage(a, "codex.turn.token_usage.input_tokens", "codex.turn.token_usage.output_tokens", "codex.turn.token_usage.cached_input_tokens",
		"codex.turn.token_usage.cache_write_input_tokens", "codex.turn.token_usage.reasoning_output_tokens", o)
	for _, l := range s.Logs {
		x := decode.Attributes(l.Attributes())
		decode.FillString(&o.ConversationID, x.Text("conversation.id"))
		decode.FillString(&o.InvocationID, x.Text("turn.id"))
		decode.FillString(&o.UserID, x.Text("user.account_id"))
		switch l.Name() {
		case "codex.user_prompt":
			if text := x.Text("prompt"); text != "" {
				p := decode.TextPart(text)
				p.Label = decode.LabelOf(text)
				o.Input = append(o.Input, decode.Message{Role: tape.RoleUser, Parts: []decode.Part{p}})
			}
		case "codex.agent_response":
			if text := x.Text("response", "message", "text", "content"); text != "" && x.Text("agent.type") != "subagent" {
				p := decode.TextPart(text)
				if p.Label = decode.LabelOf(text); x.Text("truncated", "response_truncated") == "true" {
					p.Label = tape.Truncated
				}
				o.Output = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{p}}}
			}
		}
	}
}

func readCodexModel(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	o.Operation = "chat"
	o.Model = a.Text("model", "slug")
	if effort := a.JSON("codex.request.reasoning_effort"); effort.Str() != "default" {
		o.AddParam("reasoning_effort", effort)
	}
	codexSpanUsage(a, o)
	failed, answered := "", false
	status := ""
	for _, l := range s.Logs {
		x := decode.Attributes(l.Attributes())
		decode.FillString(&o.Model, x.Text("model", "slug"))
		switch l.Name() {
		case "codex.api_request", "codex.websocket_request":
			if message := x.Text("error.message"); message != "" {
				failed, status = message, x.Text("http.response.status_code")
			} else {
				answered = true
			}
		case "codex.sse_event", "codex.websocket_event":
			if message := x.Text("error.message"); message != "" {
				failed = message
				continue
			}
			answered = true
			codexUsage(x, "input_token_count", "output_token_count", "cached_token_count", "cache_write_token_count", "reasoning_token_count", o)
		}
	}
	if failed != "" && !answered {
		o.Failed, o.Error = true, &tape.Error{Type: status, Message: failed}
	}
	o.Streaming = true
}

func codexSpanUsage(a decode.Attributes, o *dialect.Draft) {
	codexUsage(a, "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens", "codex.usage.reasoning_output_tokens", o)
}

func codexUsage(a decode.Attributes, input, output, read, write, reasoning string, o *dialect.Draft) {
	inclusive := true
	u := tape.Usage{
		InputTokens: a.Count(input), OutputTokens: a.Count(output), CacheReadTokens: a.Count(read), CacheWriteTokens: a.Count(write), ReasoningTokens: a.Count(reasoning),
	}
	if u.InputTokens != nil {
		u.InputIncludesCache = &inclusive
	}
	decode.FillUsage(&o.Usage, u)
}

// codexHeader is what Codex puts before the result of an MCP tool.
var codexHeader = regexp.MustCompile(`^Wall time: [0-9.]+ seconds?\nOutput:\n`)

func readCodexTool(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	o.CallID = a.Text("call_id", "tool.call_id")
	o.ToolKind = tape.ToolBuiltin
	server := ""
	for _, span := range append([]ptrace.Span{s.Span}, s.Also...) {
		if x := (decode.Attributes(span.Attributes())); span.Name() == mcpToolsCall {
			decode.FillString(&o.Name, x.Text("tool.name"))
			decode.FillString(&server, x.Text("mcp.server.name"))
		}
	}
	for _, l := range s.Logs {
		x := decode.Attributes(l.Attributes())
		decode.FillString(&o.Name, x.Text("tool_name"))
		decode.FillString(&o.CallID, x.Text("call_id"))
		decode.FillString(&server, x.Text("mcp_server"))
		switch l.Name() {
		case "codex.tool_decision":
			if d := x.Text("decision"); strings.Contains(d, "denied") || d == "abort" {
				o.Failed, o.Error = true, &tape.Error{Message: d}
			}
		case "codex.tool_result":
			if v := x.JSON("arguments"); !v.IsAbsent() {
				o.Args = decode.Args(v)
				if name := x.Text("tool_name"); name != "" { // beside the arguments; a span may name a class
					o.Name = name
				}
			}
			if v := x.JSON("output"); !v.IsAbsent() {
				o.Result = codexResult(v, server != "" || x.Text("mcp_server") != "", x.Text("output_truncated") == "true")
			}
			if x.Text("success") == "false" {
				o.Failed = true
				o.Error = &tape.Error{Message: o.Result.Value.Str()}
			}
		}
	}
	decode.FillString(&o.Name, a.Text("tool_name"))
	if server != "" || strings.HasPrefix(o.Name, "mcp__") {
		o.ToolKind = tape.ToolMCP
		if server != "" {
			o.Server = &tape.Server{Name: server, Tool: o.Name}
		}
	}
}

func codexResult(v exactjson.Value, mcp, cut bool) decode.Content {
	c := decode.Result(v, false)
	if text := v.Str(); mcp && c.Label == "" {
		if header := codexHeader.FindString(text); header != "" {
			c.Value, c.Envelope = exactjson.StringValue(text[len(header):]), []string{"codex.wall_time"}
		}
	}
	if cut {
		c.Label = tape.Truncated
	}
	return c
}
