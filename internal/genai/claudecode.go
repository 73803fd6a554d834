// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const (
	claudeCodeLogs   = "com.anthropic.claude_code.events"
	claudeCodePrefix = "claude_code."
)

// claudeCode reads Claude Code: spans hold the tree, times and tool results, log records the texts, the arguments and, where raw
// bodies are on, whole requests and responses. Both are joined by tool use id, prompt id and time.
var claudeCode = &Dialect{
	ID:     "claude-code",
	Name:   "Claude Code",
	Scopes: []string{"com.anthropic.claude_code.tracing"},
	Root:   "`claude_code.interaction`",
	Switch: "`CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1`, `OTEL_LOG_USER_PROMPTS=1`, `OTEL_LOG_ASSISTANT_RESPONSES=1`, `OTEL_LOG_TOOL_DETAILS=1`, `OTEL_LOG_TOOL_CONTENT=1`; whole requests: `OTEL_LOG_RAW_API_BODIES=1`",
	Events: []string{claudeCodePrefix},
	eventName: func(scope, recorded string) string {
		if scope == claudeCodeLogs && recorded != "" && !strings.HasPrefix(recorded, claudeCodePrefix) {
			return claudeCodePrefix + recorded
		}
		return recorded
	},
	log: claudeCodeLog,

	classify: classifyClaudeCode,
	read:     readClaudeCode,
}

func classifyClaudeCode(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	kind := a.str("span.type")
	if name, ok := strings.CutPrefix(s.Span.Name(), claudeCodePrefix); ok {
		kind = name
	}
	switch kind {
	case "interaction":
		return Agent, true
	case "llm_request":
		if claudeCodeAside(a) {
			return Noise, false
		}
		return Model, false
	case "tool", "tool.execution":
		return Tool, false
	case "hook":
		return Noise, false
	default:
		return Structure, false
	}
}

// claudeCodeAsides are the calls that the program makes for itself (titles, suggestions, quota), which are no part of the run.
var claudeCodeAsides = []string{"title", "topic", "quota", "suggest", "summary_line", "prompt_hook", "hook_prompt", "away_summary", "rename", "classifier", "count_tokens", "verify_api_key"}

func claudeCodeAside(a attributes) bool {
	source := strings.ToLower(a.str("query_source", "query_source_safe"))
	for _, name := range claudeCodeAsides {
		if strings.Contains(source, name) {
			return true
		}
	}
	return false
}

// claudeCodeLog tells the role of a log event.
func claudeCodeLog(name string, a attributes) logRole {
	role := logRole{
		conversation: a.str("session.id"),
		run:          a.str("prompt.id"),
		lane:         a.str("agent_id", "agent.id"),
		request:      "",
		lasted:       time.Duration(number(a.count("duration_ms"))) * time.Millisecond,
		part:         strings.TrimPrefix(name, claudeCodePrefix),
	}
	if role.run != "" && role.conversation != "" {
		role.run = role.conversation + "/" + role.run
	}
	switch role.part {
	case "user_prompt":
		role.class, role.alone, role.opens, role.lasted = Agent, true, true, 0
	case "tool_result":
		role.class, role.alone, role.callID = Tool, true, a.str("tool_use_id")
	case "tool_decision":
		role.class, role.callID, role.lasted = Tool, a.str("tool_use_id"), 0
		role.alone = a.str("decision") == "reject"
	case "api_request", "api_error":
		role.class, role.alone = Model, true
		if a.str("attempt") != "" && role.part == "api_error" {
			role.part = ""
		}
	case "api_request_body":
		role.class, role.alone, role.opens, role.atStart = Model, true, true, true
	case "api_response_body", "assistant_response":
		role.class, role.alone, role.lasted = Model, true, 0
	default:
		return logRole{}
	}
	if role.class == Model && claudeCodeAside(a) {
		return logRole{}
	}
	return role
}

func number(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func readClaudeCode(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.ConversationID = a.str("gen_ai.conversation.id", "session.id")
	o.InvocationID = a.str("prompt.id")
	o.UserID = a.str("user.id", "user.account_uuid")
	switch o.Class {
	case Agent:
		readClaudeCodeRun(s, a, o)
	case Model:
		o.Provider, o.Operation = "anthropic", "chat"
		readClaudeCodeModel(s, a, o)
	case Tool:
		readClaudeCodeTool(s, a, o)
	case Noise:
		o.NoiseReason = strings.TrimPrefix(s.Span.Name(), claudeCodePrefix)
	}
}

func readClaudeCodeRun(s *Source, a attributes, o *Observation) {
	o.Agent.Name = a.str("gen_ai.agent.name")
	str(&o.Agent.Name, attributes(s.Resource).str("service.name"))
	o.Agent.Version = attributes(s.Resource).str("service.version")
	prompt := a.str("user_prompt", "prompt", "prompt_text")
	for _, l := range s.Logs {
		x := attributes(l.Attributes())
		str(&o.InvocationID, x.str("prompt.id"))
		if l.Name() == claudeCodePrefix+"user_prompt" && (prompt == "" || labelOf(prompt) != "") {
			str(&prompt, x.str("prompt", "prompt_text"))
		}
	}
	if prompt != "" {
		p := textPart(prompt)
		p.Label = labelOf(prompt)
		o.Input = []Message{{Role: tape.RoleUser, Parts: []Part{p}}}
	}
	if text := a.str("system_prompt", "user_system_prompt"); text != "" {
		o.System = []Part{textPart(text)}
	}
}

func readClaudeCodeModel(s *Source, a attributes, o *Observation) {
	if s.ScopeName == LogScope {
		o.ResponseModel = a.str("model") // records name the model that answered
	} else {
		o.Model = a.str("gen_ai.request.model", "model")
	}
	o.ResponseID = a.str("gen_ai.response.id")
	o.FinishReasons = a.strings("gen_ai.response.finish_reasons")
	if stop := a.str("stop_reason"); stop != "" {
		o.FinishReasons = []string{stop}
	}
	claudeCodeUsage(a, o)
	o.Streaming = a.has("ttft_ms")
	if a.str("success") == "false" {
		o.Failed = true
		o.Error = &tape.Error{Type: a.str("status_code", "error.type"), Message: a.str("error")}
	}
	text := ""
	cut := false
	for _, l := range s.Logs {
		x := attributes(l.Attributes())
		str(&o.InvocationID, x.str("prompt.id"))
		str(&o.ResponseID, x.str("gen_ai.response.id"))
		switch strings.TrimPrefix(l.Name(), claudeCodePrefix) {
		case "api_request":
			str(&o.ResponseModel, x.str("model"))
			claudeCodeUsage(x, o)
		case "api_error":
			o.Failed = o.Failed || s.ScopeName == LogScope && a.str("event.name") == "api_error"
			if o.Failed && (o.Error == nil || o.Error.Message == "") {
				o.Error = &tape.Error{Type: x.str("status_code"), Message: x.str("error")}
			}
		case "api_request_body":
			if body, ok := claudeCodeBody(x, o, "request.messages"); ok {
				readAnthropicRequest(body, o)
			}
		case "api_response_body":
			if body, ok := claudeCodeBody(x, o, "response.message"); ok {
				readAnthropicResponse(body, o)
			}
		case "assistant_response":
			str(&text, x.str("response"))
			str(&o.ResponseModel, x.str("model"))
			cut = x.str("response_truncated", "truncated") == "true"
		}
	}
	str(&text, a.str("response.model_output"))
	if len(o.Response) == 0 && text != "" {
		p := textPart(text)
		p.Label = labelOf(text)
		if cut {
			p.Label = tape.Truncated
		}
		o.Response = []Message{{Role: tape.RoleAssistant, Parts: []Part{p}}}
		if p.Label == tape.Masked {
			o.Response, o.ResponseLabel = nil, tape.Masked
		}
		if o.ResponseLabel = p.Label; p.Label == "" && len(o.FinishReasons) == 1 && o.FinishReasons[0] == "tool_use" {
			o.ResponseLabel = tape.Lossy // its text alone, without the calls
		}
	}
	if system := a.str("system_prompt"); system != "" && len(o.System) == 0 {
		o.System = []Part{textPart(system)}
	}
}

func claudeCodeUsage(a attributes, o *Observation) {
	exclusive := false
	usage := tape.Usage{
		InputTokens:      a.count("input_tokens"),
		OutputTokens:     a.count("output_tokens"),
		CacheReadTokens:  a.count("cache_read_tokens"),
		CacheWriteTokens: a.count("cache_creation_tokens"),
	}
	if usage.InputTokens != nil {
		usage.InputIncludesCache = &exclusive
	}
	fillUsage(&o.Usage, usage)
}

// claudeCodeBody returns a raw request or response of the API, which may have been cut or written to a file.
func claudeCodeBody(a attributes, o *Observation, field string) (exactjson.Value, bool) {
	if ref := a.str("body_ref"); ref != "" && !a.has("body") {
		o.note(tape.CodeExternalContent, field, "the raw body lies in a file")
		return exactjson.Value{}, false
	}
	if a.str("body_truncated") == "true" {
		o.note(tape.CodeTruncated, field, "the raw body was cut")
		return exactjson.Value{}, false
	}
	return structureOf(a.json("body"))
}

func readClaudeCodeTool(s *Source, a attributes, o *Observation) {
	o.CallID = a.str("tool_use_id", "gen_ai.tool.call.id")
	o.Name = a.str("tool_name")
	if s.ScopeName == LogScope || strings.HasSuffix(s.Span.Name(), ".execution") {
		o.Name = ""
	}
	server, tool := a.str("anthropic.mcp.server.name", "mcp_server.name"), a.str("gen_ai.tool.name", "mcp_tool.name")
	success, failure := a.str("success"), a.str("error", "error_message")
	decision := a.str("decision")
	logged := ""
	for _, l := range s.Logs {
		x := attributes(l.Attributes())
		str(&o.InvocationID, x.str("prompt.id"))
		params, _ := structureOf(x.json("tool_parameters"))
		str(&server, params.Get("mcp_server_name").Str())
		if params.Get("mcp_server_name").Str() != "" {
			str(&tool, params.Get("mcp_tool_name").Str())
		}
		str(&logged, x.str("tool_name"))
		switch strings.TrimPrefix(l.Name(), claudeCodePrefix) {
		case "tool_result":
			str(&success, x.str("success"))
			str(&failure, x.str("error", "error_message"))
			if v := x.json("tool_input"); !v.IsEmpty() {
				content(&o.Args, claudeCodeArgs(v, x.count("tool_input_size_bytes")))
			}
			if v := x.json("tool_result", "tool_output"); !v.IsEmpty() {
				content(&o.Result, resultContent(v, false))
			}
		case "tool_decision":
			str(&decision, x.str("decision"))
		}
	}
	o.ToolKind = tape.ToolBuiltin
	if server != "" || strings.HasPrefix(o.Name, "mcp__") {
		o.ToolKind = tape.ToolMCP
		if server == "" {
			server, tool, _ = strings.Cut(strings.TrimPrefix(o.Name, "mcp__"), "__")
		}
		o.Server = &tape.Server{Name: server, Tool: tool}
		if o.Name == "" && tool != "" {
			o.Name = "mcp__" + server + "__" + tool
		}
	}
	if logged != "mcp_tool" || o.Name == "" {
		str(&o.Name, logged)
	}
	switch o.Name {
	case "Task", "Agent":
		o.ToolKind = tape.ToolAgent
	}
	if v := a.json("tool_input"); !v.IsEmpty() && s.ScopeName != LogScope {
		content(&o.Args, claudeCodeArgs(v, a.count("tool_input_size_bytes")))
	}
	for _, e := range eventsOf(s) {
		if e.name != "tool.output" {
			continue
		}
		content(&o.Args, claudeCodeArgs(e.fields.Get("input"), nil))
		result := e.fields.First("output", "content")
		if result.IsAbsent() {
			result = e.fields.Get("diff")
		}
		if !result.IsAbsent() {
			u := unwrapResult(resultContent(result, false))
			content(&o.Result, u.content)
			o.Failed = o.Failed || u.isError
		}
	}
	if success == "false" || decision == "reject" {
		o.Failed = true
		if failure == "" && decision == "reject" {
			failure = "rejected"
		}
		o.Error = &tape.Error{Type: a.str("error_type", "error.type"), Message: failure}
	}
}

// maxRedacted is how much longer than its token a redacted value may be taken to have been: that of a private key.
const maxRedacted = 4096

// claudeCodeArgs reads recorded arguments. The log cuts long texts inside them; the stated size tells.
func claudeCodeArgs(v exactjson.Value, size *int64) Content {
	if v.IsAbsent() {
		return Content{}
	}
	if text := v.Str(); strings.HasPrefix(text, "[TOOL INPUT") {
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			v = exactjson.StringValue(rest)
		}
	}
	c := argsContent(v)
	if c.Label == "" && size != nil && int64(len(v.Str())+strings.Count(v.Str(), "[REDACTED:")*maxRedacted) < *size {
		c.Label = tape.Truncated
	}
	if c.Label == "" && c.Value.Kind() == exactjson.String && looksJSON(c.Value.Str()) {
		c.Label = tape.Truncated // an object that does not end
	}
	return c
}
