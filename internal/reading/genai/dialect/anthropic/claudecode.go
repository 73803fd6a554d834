// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package anthropic reads Claude Code, the Claude API and Anthropic SDKs, and the Claude Agent SDK.
package anthropic

import (
	"strings"
	"time"
	"unicode/utf16"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const (
	claudeCodeLogs   = "com.anthropic.claude_code.events"
	claudeCodePrefix = "claude_code."
)

// ClaudeCode reads Claude Code. Spans hold the tree, times and tool results. Log records hold the texts, the
// arguments and, where raw bodies are on, whole requests and responses. Both are joined by tool use id,
// prompt id and time.
var ClaudeCode = &dialect.Dialect{
	ID:       "claude-code",
	Name:     "Claude Code",
	Scopes:   []string{"com.anthropic.claude_code.tracing"},
	Root:     "`claude_code.interaction`",
	Switch:   "`CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1`, `OTEL_LOG_USER_PROMPTS=1`, `OTEL_LOG_ASSISTANT_RESPONSES=1`, `OTEL_LOG_TOOL_DETAILS=1`, `OTEL_LOG_TOOL_CONTENT=1`; whole requests: `OTEL_LOG_RAW_API_BODIES=1`",
	Settings: []dialect.Setting{{Name: "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", Value: "1"}, {Name: "OTEL_LOG_USER_PROMPTS", Value: "1"}, {Name: "OTEL_LOG_ASSISTANT_RESPONSES", Value: "1"}, {Name: "OTEL_LOG_TOOL_DETAILS", Value: "1"}, {Name: "OTEL_LOG_TOOL_CONTENT", Value: "1"}, {Name: "OTEL_LOG_RAW_API_BODIES", Value: "1", Optional: true}},
	Records:  dialect.Records{Events: []string{claudeCodePrefix}, Log: claudeCodeLog, EventName: claudeCodeEventName},
	Classify: classifyClaudeCode,
	Read:     readClaudeCode,
}

func claudeCodeEventName(scope, recorded string) string {
	if scope == claudeCodeLogs && recorded != "" && !strings.HasPrefix(recorded, claudeCodePrefix) {
		return claudeCodePrefix + recorded
	}
	return recorded
}

func classifyClaudeCode(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	kind := a.Text("span.type")
	if name, ok := strings.CutPrefix(s.Span.Name(), claudeCodePrefix); ok {
		kind = name
	}
	switch kind {
	case "interaction":
		return dialect.Agent, true
	case "llm_request":
		if claudeCodeAside(a) {
			return dialect.Noise, false
		}
		return dialect.Model, false
	case "tool", "tool.execution":
		return dialect.Tool, false
	case "hook":
		return dialect.Noise, false
	default:
		return dialect.Structure, false
	}
}

// claudeCodeAsides are calls that the program makes for itself (titles, suggestions, quota). They are no part
// of the run.
var claudeCodeAsides = []string{"title", "topic", "quota", "suggest", "summary_line", "prompt_hook", "hook_prompt", "away_summary", "rename", "classifier", "count_tokens", "verify_api_key"}

func claudeCodeAside(a decode.Attributes) bool {
	source := strings.ToLower(a.Text("query_source", "query_source_safe"))
	for _, name := range claudeCodeAsides {
		if strings.Contains(source, name) {
			return true
		}
	}
	return false
}

// claudeCodeLog tells the role of a log event.
func claudeCodeLog(name string, a decode.Attributes) dialect.LogRole {
	role := dialect.LogRole{
		Conversation: a.Text("session.id"),
		Run:          a.Text("prompt.id"),
		Lane:         a.Text("agent_id", "agent.id"),
		Request:      "",
		Lasted:       time.Duration(decode.OrZero(a.Count("duration_ms"))) * time.Millisecond,
		Part:         strings.TrimPrefix(name, claudeCodePrefix),
	}
	if role.Run != "" && role.Conversation != "" {
		role.Run = role.Conversation + "/" + role.Run
	}
	switch role.Part {
	case "user_prompt":
		role.Class, role.Alone, role.Opens, role.Lasted = dialect.Agent, true, true, 0
	case "tool_result":
		role.Class, role.Alone, role.CallID = dialect.Tool, true, a.Text("tool_use_id")
	case "tool_decision":
		role.Class, role.CallID, role.Lasted = dialect.Tool, a.Text("tool_use_id"), 0
		role.Alone = a.Text("decision") == "reject"
	case "api_request", "api_error":
		role.Class, role.Alone = dialect.Model, true
		if a.Text("attempt") != "" && role.Part == "api_error" {
			role.Part = ""
		}
	case "api_request_body":
		role.Class, role.Alone, role.Opens, role.AtStart = dialect.Model, true, true, true
	case "api_response_body", "assistant_response":
		role.Class, role.Alone, role.Lasted = dialect.Model, true, 0
	default:
		return dialect.LogRole{}
	}
	if role.Class == dialect.Model && claudeCodeAside(a) {
		return dialect.LogRole{}
	}
	return role
}

func readClaudeCode(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("gen_ai.conversation.id", "session.id")
	o.InvocationID = a.Text("prompt.id")
	o.UserID = a.Text("user.id", "user.account_uuid")
	switch o.Class {
	case dialect.Agent:
		readClaudeCodeRun(s, a, o)
	case dialect.Model:
		o.Provider, o.Operation = "anthropic", "chat"
		readClaudeCodeModel(s, a, o)
	case dialect.Tool:
		readClaudeCodeTool(s, a, o)
	case dialect.Noise:
		o.NoiseReason = strings.TrimPrefix(s.Span.Name(), claudeCodePrefix)
	}
}

func readClaudeCodeRun(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	o.Agent.Name = a.Text("gen_ai.agent.name")
	decode.FillString(&o.Agent.Name, decode.Attributes(s.Resource).Text("service.name"))
	o.Agent.Version = decode.Attributes(s.Resource).Text("service.version")
	prompt := a.Text("user_prompt", "prompt", "prompt_text")
	for _, l := range s.Logs {
		x := decode.Attributes(l.Attributes())
		decode.FillString(&o.InvocationID, x.Text("prompt.id"))
		if l.Name() == claudeCodePrefix+"user_prompt" && (prompt == "" || decode.LabelOf(prompt) != "") {
			decode.FillString(&prompt, x.Text("prompt", "prompt_text"))
		}
	}
	if prompt != "" {
		p := decode.TextPart(prompt)
		p.Label = decode.LabelOf(prompt)
		o.Input = []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{p}}}
	}
	if text := a.Text("system_prompt", "user_system_prompt"); text != "" {
		o.System = []decode.Part{decode.TextPart(text)}
	}
}

func readClaudeCodeModel(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	if s.ScopeName == dialect.LogScope {
		o.ResponseModel = a.Text("model") // records name the model that answered
	} else {
		o.Model = a.Text("gen_ai.request.model", "model")
	}
	o.ResponseID = a.Text("gen_ai.response.id")
	o.FinishReasons = a.Texts("gen_ai.response.finish_reasons")
	if stop := a.Text("stop_reason"); stop != "" {
		o.FinishReasons = []string{stop}
	}
	claudeCodeUsage(a, o)
	o.Streaming = a.Has("ttft_ms")
	if a.Text("success") == "false" {
		o.Failed = true
		o.Error = &tape.Error{Type: a.Text("status_code", "error.type"), Message: a.Text("error")}
	}
	said := readClaudeCodeRecords(s, a, o)
	decode.FillString(&said.text, a.Text("response.model_output"))
	if len(o.Response) == 0 && said.text != "" {
		p := decode.TextPart(said.text)
		if p.Label = decode.LabelOf(said.text); said.cut {
			p.Label = tape.Truncated
		}
		o.Response = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{p}}}
		if p.Label == tape.Masked {
			o.Response, o.ResponseLabel = nil, tape.Masked
		}
		if o.ResponseLabel = p.Label; p.Label == "" && len(o.FinishReasons) == 1 && o.FinishReasons[0] == "tool_use" {
			o.ResponseLabel = tape.Lossy // its text alone, without the calls
		}
	}
	if system := claudeCodeSystem(a); system != "" && len(o.System) == 0 {
		o.System = []decode.Part{decode.TextPart(system)}
	}
}

// claudeCodeText is the text of an answer as a log record has it.
type claudeCodeText struct {
	text string
	cut  bool
}

// readClaudeCodeRecords reads the log records of a model call.
func readClaudeCodeRecords(s *dialect.Source, a decode.Attributes, o *dialect.Draft) (said claudeCodeText) {
	for _, l := range s.Logs {
		x := decode.Attributes(l.Attributes())
		decode.FillString(&o.InvocationID, x.Text("prompt.id"))
		decode.FillString(&o.ResponseID, x.Text("gen_ai.response.id"))
		switch strings.TrimPrefix(l.Name(), claudeCodePrefix) {
		case "api_request":
			decode.FillString(&o.ResponseModel, x.Text("model"))
			claudeCodeUsage(x, o)
		case "api_error":
			o.Failed = o.Failed || s.ScopeName == dialect.LogScope && a.Text("event.name") == "api_error"
			if o.Failed && (o.Error == nil || o.Error.Message == "") {
				o.Error = &tape.Error{Type: x.Text("status_code"), Message: x.Text("error")}
			}
		case "api_request_body":
			if body, ok := claudeCodeBody(x, o, "request.messages"); ok {
				ReadRequest(body, o)
			}
		case "api_response_body":
			if body, ok := claudeCodeBody(x, o, "response.message"); ok {
				ReadResponse(body, o)
			}
		case "assistant_response":
			decode.FillString(&said.text, x.Text("response"))
			decode.FillString(&o.ResponseModel, x.Text("model"))
			said.cut = x.Text("response_truncated", "truncated") == "true"
		}
	}
	return said
}

// claudeCodeSystem returns the instructions of a request: the whole text, a preview that is as long as the
// whole, or what the program gave of them (in the first request of a run).
func claudeCodeSystem(a decode.Attributes) string {
	if text := a.Text("system_prompt"); text != "" {
		return text
	}
	preview := a.Text("system_prompt_preview")
	if length := a.Count("system_prompt_length"); length != nil && *length > 0 && *length == int64(len(utf16.Encode([]rune(preview)))) {
		return preview
	}
	return a.Text("user_system_prompt")
}

func claudeCodeUsage(a decode.Attributes, o *dialect.Draft) {
	exclusive := false
	usage := tape.Usage{
		InputTokens:      a.Count("input_tokens"),
		OutputTokens:     a.Count("output_tokens"),
		CacheReadTokens:  a.Count("cache_read_tokens"),
		CacheWriteTokens: a.Count("cache_creation_tokens"),
	}
	if usage.InputTokens != nil {
		usage.InputIncludesCache = &exclusive
	}
	decode.FillUsage(&o.Usage, usage)
}

// claudeCodeBody returns a raw request or response of the API, which may have been cut or written to a file.
func claudeCodeBody(a decode.Attributes, o *dialect.Draft, field string) (exactjson.Value, bool) {
	if ref := a.Text("body_ref"); ref != "" && !a.Has("body") {
		o.AddNote(tape.CodeExternalContent, field, "the raw body lies in a file")
		return exactjson.Value{}, false
	}
	if a.Text("body_truncated") == "true" {
		o.AddNote(tape.CodeTruncated, field, "the raw body was cut")
		return exactjson.Value{}, false
	}
	return decode.Structure(a.JSON("body"))
}

func readClaudeCodeTool(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	o.CallID = a.Text("tool_use_id", "gen_ai.tool.call.id")
	o.Name = a.Text("tool_name")
	if s.ScopeName == dialect.LogScope || strings.HasSuffix(s.Span.Name(), ".execution") {
		o.Name = ""
	}
	t := claudeCodeTool{
		server: a.Text("anthropic.mcp.server.name", "mcp_server.name"), tool: a.Text("gen_ai.tool.name", "mcp_tool.name"),
		success: a.Text("success"), failure: a.Text("error", "error_message"), decision: a.Text("decision"),
	}
	for _, l := range s.Logs {
		t.readRecord(strings.TrimPrefix(l.Name(), claudeCodePrefix), decode.Attributes(l.Attributes()), o)
	}
	t.name(o)
	if v := a.JSON("tool_input"); !v.IsEmpty() && s.ScopeName != dialect.LogScope {
		decode.FillContent(&o.Args, claudeCodeArgs(v, a.Count("tool_input_size_bytes")))
	}
	for _, e := range semconv.Events(s) {
		if e.Name != "tool.output" {
			continue
		}
		decode.FillContent(&o.Args, claudeCodeArgs(e.Fields.Get("input"), nil))
		result := e.Fields.First("output", "content")
		if result.IsAbsent() {
			result = e.Fields.Get("diff")
		}
		if !result.IsAbsent() {
			u := decode.UnwrapResult(decode.Result(result, false))
			decode.FillContent(&o.Result, u.Content)
			o.Failed = o.Failed || u.IsError
		}
	}
	if t.success == "false" || t.decision == "reject" {
		o.Failed = true
		if t.failure == "" && t.decision == "reject" {
			t.failure = "rejected"
		}
		o.Error = &tape.Error{Type: a.Text("error_type", "error.type"), Message: t.failure}
	}
}

// claudeCodeTool is what span and records of a tool call say beside its content.
type claudeCodeTool struct {
	server, tool               string
	logged                     string // the name in the records
	success, failure, decision string
}

// readRecord reads a log record of a tool call. The name of a tool of an MCP server stands beside the
// arguments; a span may name a class.
func (t *claudeCodeTool) readRecord(event string, x decode.Attributes, o *dialect.Draft) {
	decode.FillString(&o.InvocationID, x.Text("prompt.id"))
	params, _ := decode.Structure(x.JSON("tool_parameters"))
	decode.FillString(&t.server, params.Get("mcp_server_name").Str())
	if asked := params.Get("mcp_tool_name").Str(); params.Get("mcp_server_name").Str() != "" && asked != "" {
		if t.tool = asked; o.Name != "" && !strings.HasSuffix(o.Name, "__"+asked) {
			o.Name = ""
		}
	}
	decode.FillString(&t.logged, x.Text("tool_name"))
	switch event {
	case "tool_result":
		decode.FillString(&t.success, x.Text("success"))
		decode.FillString(&t.failure, x.Text("error", "error_message"))
		if v := x.JSON("tool_input"); !v.IsEmpty() {
			decode.FillContent(&o.Args, claudeCodeArgs(v, x.Count("tool_input_size_bytes")))
		}
		if v := x.JSON("tool_result", "tool_output"); !v.IsEmpty() {
			decode.FillContent(&o.Result, decode.Result(v, false))
		}
	case "tool_decision":
		decode.FillString(&t.decision, x.Text("decision"))
	}
}

// name tells the name, the kind and the server of a tool.
func (t *claudeCodeTool) name(o *dialect.Draft) {
	o.ToolKind = tape.ToolBuiltin
	if t.server != "" || strings.HasPrefix(o.Name, "mcp__") {
		o.ToolKind = tape.ToolMCP
		if t.server == "" {
			t.server, t.tool, _ = strings.Cut(strings.TrimPrefix(o.Name, "mcp__"), "__")
		}
		o.Server = &tape.Server{Name: t.server, Tool: t.tool}
		if o.Name == "" && t.tool != "" {
			o.Name = "mcp__" + t.server + "__" + t.tool
		}
	}
	if t.logged != "mcp_tool" || o.Name == "" {
		decode.FillString(&o.Name, t.logged)
	}
	if o.Name == "Task" || o.Name == "Agent" {
		o.ToolKind = tape.ToolAgent
	}
}

// maxRedacted is how much longer than its token a redacted value may have been: a private key has that
// length.
const maxRedacted = 4096

// claudeCodeArgs reads recorded arguments. The log cuts long texts inside them, which the stated size tells.
func claudeCodeArgs(v exactjson.Value, size *int64) decode.Content {
	if v.IsAbsent() {
		return decode.Content{}
	}
	if text := v.Str(); strings.HasPrefix(text, "[TOOL INPUT") {
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			v = exactjson.StringValue(rest)
		}
	}
	c := decode.Args(v)
	if c.Label == "" && size != nil && int64(len(v.Str())+strings.Count(v.Str(), "[REDACTED:")*maxRedacted) < *size {
		c.Label = tape.Truncated
	}
	if c.Label == "" && c.Value.Kind() == exactjson.String && decode.LooksJSON(c.Value.Str()) {
		c.Label = tape.Truncated // an object that does not end
	}
	return c
}
