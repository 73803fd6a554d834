// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// codex reads the Codex CLI. Arguments, results and the prompt are in log records only, what the model was sent and answered is nowhere;
// spans hold the turn, the calls, their times and usage, and hundreds of others that say nothing about the run.
var codex = &Dialect{
	ID:            "codex",
	Name:          "Codex CLI",
	Scopes:        []string{"codex_cli_rs", "codex_exec", "codex_app_server", "codex_mcp_server", "codex_tui"},
	ScopePrefixes: []string{"codex_otel"},
	Marks:         []string{"codex."},
	Root:          "`session_task.turn`",
	Switch:        "`[otel]` with `exporter`, `trace_exporter` and `log_user_prompt = true` in config.toml",
	Events:        []string{"codex."},
	log:           codexLog,
	member:        isCodexMember,
	adds:          func(span ptrace.Span) bool { return span.Name() == "handle_responses" || span.Name() == mcpToolsCall },
	classify:      classifyCodex,
	read:          readCodex,
}

// mcpToolsCall is the request to an MCP server inside a tool call; it alone spells the tool's name apart from the server's.
const mcpToolsCall = "mcp.tools.call"

// codexSpans are the spans that hold a run together.
var codexSpans = map[string]Class{
	"session_task.turn":             Agent,
	"session_task.run":              Structure,
	"run_turn":                      Structure,
	"run_hooks_and_record_inputs":   Structure,
	"run_sampling_request":          Structure,
	"try_run_sampling_request":      Model,
	"receiving_stream":              Structure,
	"handle_output_item_done":       Structure,
	"handle_tool_call_with_source":  Structure,
	"dispatch_tool_call_with_state": Structure,
	mcpToolsCall:                    Tool,
}

func isCodexMember(span ptrace.Span) bool {
	a := attributes(span.Attributes())
	if _, ok := codexSpans[span.Name()]; ok {
		return true
	}
	switch {
	case span.Name() == "handle_responses":
		return a.has("gen_ai.usage.input_tokens") || a.str("from") == "output_item_done"
	case a.has("codex.tool.phase"):
		return true
	}
	return a.has("gen_ai.operation.name")
}

func classifyCodex(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	if class, ok := codexSpans[s.Span.Name()]; ok {
		return class, class == Agent
	}
	switch {
	case a.str("codex.tool.phase") == "dispatch":
		return Tool, false
	case s.Span.Name() == "handle_responses" && a.has("gen_ai.usage.input_tokens"):
		return Model, false
	default:
		return Structure, false
	}
}

// codexLog tells the role of a log event. There is no id of the turn on most of them: a prompt begins one.
func codexLog(name string, a attributes) logRole {
	role := logRole{
		conversation: a.str("conversation.id"),
		run:          a.str("turn.id", "turn_id"),
		lasted:       time.Duration(number(a.count("duration_ms"))) * time.Millisecond,
		part:         strings.TrimPrefix(name, "codex."),
	}
	switch role.part {
	case "user_prompt":
		role.class, role.alone, role.opens, role.lasted = Agent, true, true, 0
	case "agent_response":
		role.class, role.lasted = Agent, 0
	case "tool_result":
		role.class, role.alone, role.callID = Tool, true, a.str("call_id")
	case "tool_decision":
		role.class, role.callID, role.lasted = Tool, a.str("call_id"), 0
		role.alone = strings.Contains(a.str("decision"), "denied") || a.str("decision") == "abort"
	case "api_request", "websocket_request":
		role.class, role.alone = Model, true
		if endpoint := a.str("endpoint"); endpoint != "" && !strings.Contains(endpoint, "responses") && !strings.Contains(endpoint, "chat/completions") {
			return logRole{}
		}
	case "sse_event", "websocket_event":
		role.class, role.lasted = Model, 0
		if role.part = "completed"; !a.has("input_token_count") && a.str("error.message") == "" {
			return logRole{} // one of hundreds of pieces of a stream
		}
	default:
		return logRole{}
	}
	// turn ids stand on a few events only; the conversation keeps them together
	if role.conversation != "" {
		role.run = ""
	}
	return role
}

func readCodex(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.ConversationID = a.str("conversation.id", "session.id")
	o.InvocationID = a.str("turn.id", "turn_id")
	o.UserID = a.str("user.account_id")
	switch o.Class {
	case Agent:
		readCodexTurn(s, a, o)
	case Model:
		readCodexModel(s, a, o)
	case Tool:
		readCodexTool(s, a, o)
	}
}

func readCodexTurn(s *Source, a attributes, o *Observation) {
	o.Agent.Name = attributes(s.Resource).str("service.name")
	o.Agent.Version = attributes(s.Resource).str("service.version")
	str(&o.Agent.Version, a.str("app.version"))
	o.Model = a.str("model")
	codexUsage(a, "codex.turn.token_usage.input_tokens", "codex.turn.token_usage.output_tokens", "codex.turn.token_usage.cached_input_tokens",
		"codex.turn.token_usage.cache_write_input_tokens", "codex.turn.token_usage.reasoning_output_tokens", o)
	for _, l := range s.Logs {
		x := attributes(l.Attributes())
		str(&o.ConversationID, x.str("conversation.id"))
		str(&o.InvocationID, x.str("turn.id"))
		str(&o.UserID, x.str("user.account_id"))
		switch l.Name() {
		case "codex.user_prompt":
			if text := x.str("prompt"); text != "" {
				p := textPart(text)
				p.Label = labelOf(text)
				o.Input = append(o.Input, Message{Role: tape.RoleUser, Parts: []Part{p}})
			}
		case "codex.agent_response":
			if text := x.str("response", "message", "text", "content"); text != "" && x.str("agent.type") != "subagent" {
				p := textPart(text)
				if p.Label = labelOf(text); x.str("truncated", "response_truncated") == "true" {
					p.Label = tape.Truncated
				}
				o.Output = []Message{{Role: tape.RoleAssistant, Parts: []Part{p}}}
			}
		}
	}
}

func readCodexModel(s *Source, a attributes, o *Observation) {
	o.Operation = "chat"
	o.Model = a.str("model", "slug")
	if effort := a.json("codex.request.reasoning_effort"); effort.Str() != "default" {
		o.param("reasoning_effort", effort)
	}
	codexSpanUsage(a, o)
	failed, answered := "", false
	status := ""
	for _, l := range s.Logs {
		x := attributes(l.Attributes())
		str(&o.Model, x.str("model", "slug"))
		switch l.Name() {
		case "codex.api_request", "codex.websocket_request":
			if message := x.str("error.message"); message != "" {
				failed, status = message, x.str("http.response.status_code")
			} else {
				answered = true
			}
		case "codex.sse_event", "codex.websocket_event":
			if message := x.str("error.message"); message != "" {
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

func codexSpanUsage(a attributes, o *Observation) {
	codexUsage(a, "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens", "codex.usage.reasoning_output_tokens", o)
}

func codexUsage(a attributes, input, output, read, write, reasoning string, o *Observation) {
	inclusive := true
	u := tape.Usage{
		InputTokens: a.count(input), OutputTokens: a.count(output), CacheReadTokens: a.count(read), CacheWriteTokens: a.count(write), ReasoningTokens: a.count(reasoning),
	}
	if u.InputTokens != nil {
		u.InputIncludesCache = &inclusive
	}
	fillUsage(&o.Usage, u)
}

// codexHeader is what Codex puts before the result of an MCP tool.
var codexHeader = regexp.MustCompile(`^Wall time: [0-9.]+ seconds?\nOutput:\n`)

func readCodexTool(s *Source, a attributes, o *Observation) {
	o.CallID = a.str("call_id", "tool.call_id")
	o.ToolKind = tape.ToolBuiltin
	server := ""
	for _, span := range append([]ptrace.Span{s.Span}, s.Also...) {
		if x := (attributes(span.Attributes())); span.Name() == mcpToolsCall {
			str(&o.Name, x.str("tool.name"))
			str(&server, x.str("mcp.server.name"))
		}
	}
	for _, l := range s.Logs {
		x := attributes(l.Attributes())
		str(&o.Name, x.str("tool_name"))
		str(&o.CallID, x.str("call_id"))
		str(&server, x.str("mcp_server"))
		switch l.Name() {
		case "codex.tool_decision":
			if d := x.str("decision"); strings.Contains(d, "denied") || d == "abort" {
				o.Failed, o.Error = true, &tape.Error{Message: d}
			}
		case "codex.tool_result":
			if v := x.json("arguments"); !v.IsAbsent() {
				o.Args = argsContent(v)
			}
			if v := x.json("output"); !v.IsAbsent() {
				o.Result = codexResult(v, server != "" || x.str("mcp_server") != "", x.str("output_truncated") == "true")
			}
			if x.str("success") == "false" {
				o.Failed = true
				o.Error = &tape.Error{Message: o.Result.Value.Str()}
			}
		}
	}
	str(&o.Name, a.str("tool_name"))
	if server != "" || strings.HasPrefix(o.Name, "mcp__") {
		o.ToolKind = tape.ToolMCP
		if server != "" {
			o.Server = &tape.Server{Name: server, Tool: o.Name}
		}
	}
}

func codexResult(v exactjson.Value, mcp, cut bool) Content {
	c := resultContent(v, false)
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
