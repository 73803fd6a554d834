// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package google

import (
	"regexp"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// GeminiCLI reads Gemini CLI: llm_call, tool_call and the spans around them. Most of these spans open a trace
// of their own, so the prompt id holds a run together. Span values are cut at 10 000 characters. With traces
// off its log records tell the same without results.
var GeminiCLI = &dialect.Dialect{
	ID:     "gemini-cli",
	Name:   "Gemini CLI",
	Scopes: []string{"gemini-cli"},
	Root:   "`user_prompt` (interactive), else the log event `gemini_cli.user_prompt`",
	Switch: "`telemetry: {enabled: true, traces: true, logPrompts: true}` in settings.json",

	Records:  dialect.Records{Events: []string{geminiPrefix}, Log: geminiLog},
	Classify: classifyGeminiCLI,
	Read:     readGeminiCLI,
}

const (
	geminiPrefix = "gemini_cli."
	qwenPrefix   = "qwen-code."
)

// QwenCode reads Qwen Code, which writes the log records of Gemini CLI under names of its own. Requests lack
// the instructions. Of an answer its text is recorded; the calls in it stand in the next request.
var QwenCode = &dialect.Dialect{
	ID:     "qwen-code",
	Name:   "Qwen Code",
	Scopes: []string{"qwen-code"},
	Root:   "the log event `qwen-code.user_prompt`",
	Switch: "`QWEN_TELEMETRY_ENABLED=true`, `QWEN_TELEMETRY_LOG_PROMPTS=true`, with `QWEN_TELEMETRY_OTLP_ENDPOINT` and `QWEN_TELEMETRY_OTLP_PROTOCOL=http`",
	Settings: []dialect.Setting{
		{Name: "QWEN_TELEMETRY_ENABLED", Value: "true"}, {Name: "QWEN_TELEMETRY_LOG_PROMPTS", Value: "true"}, {Name: "QWEN_TELEMETRY_OTLP_PROTOCOL", Value: "http"},
		{Name: "QWEN_TELEMETRY_OTLP_ENDPOINT", Value: "http://127.0.0.1:4318", Optional: true},
	},
	Records:  dialect.Records{Events: []string{qwenPrefix}, Log: geminiLog},
	Classify: classifyGeminiCLI,
	Read:     readGeminiCLI,
}

// geminiEvent is the name of a log event without that of the program.
func geminiEvent(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, geminiPrefix), qwenPrefix)
}

// geminiLog returns the roles of log events. Requests and tool calls name their span where traces are on, and
// stand alone elsewhere.
func geminiLog(name string, a decode.Attributes) dialect.LogRole {
	role := dialect.LogRole{
		Conversation: a.Text("session.id"),
		Run:          a.Text("prompt_id"),
		Part:         geminiEvent(name),
		Lasted:       time.Duration(decode.OrZero(a.Count("duration_ms"))) * time.Millisecond,
	}
	if role.Run != "" && role.Run != role.Conversation {
		role.Run = role.Conversation + "/" + role.Run
	}
	switch role.Part {
	case "user_prompt":
		role.Class, role.Alone, role.Opens, role.Lasted = dialect.Agent, true, true, 0
	case "api_request":
		role.Class, role.Alone, role.Opens, role.AtStart = dialect.Model, true, true, true
	case "api_response", "api_error":
		role.Class = dialect.Model
	case "tool_call":
		role.Class, role.Alone = dialect.Tool, true
	default:
		return dialect.LogRole{}
	}
	return role
}

func classifyGeminiCLI(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	if s.ScopeName == dialect.LogScope {
		switch geminiEvent(s.Span.Name()) {
		case "user_prompt":
			return dialect.Agent, true
		case "api_request":
			return dialect.Model, false
		case "tool_call":
			return dialect.Tool, false
		}
		return dialect.Unclassified, false
	}
	op := a.Text("gen_ai.operation.name")
	decode.FillString(&op, s.Span.Name())
	switch op {
	case "user_prompt":
		return dialect.Agent, true
	case "agent_call":
		return dialect.Agent, true
	case "llm_call":
		return dialect.Model, false
	case "tool_call":
		return dialect.Tool, false
	}
	return dialect.Structure, false
}

func readGeminiCLI(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("gen_ai.conversation.id", "session.id")
	decode.FillString(&o.ConversationID, decode.Attributes(s.Resource).Text("session.id"))
	o.InvocationID = a.Text("gen_ai.prompt.name", "prompt_id")
	input, _ := decode.Structure(a.JSON("gen_ai.input.messages"))
	decode.FillString(&o.InvocationID, input.Get("prompt_id").Str())
	decode.FillString(&o.InvocationID, input.At(0).Get("prompt_id").Str())
	switch o.Class {
	case dialect.Agent:
		if s.Span.Name() != "agent_call" { // whose name is overwritten
			o.Agent.Name = geminiAgent(s)
			o.Agent.Description = a.Text("gen_ai.agent.description")
		}
		readGeminiPrompt(s, a, o)
	case dialect.Model:
		o.Operation = "generate_content"
		if s.ScopeName == dialect.LogScope {
			o.Model = a.Text("model")
		}
		readGeminiModel(s, a, o)
	case dialect.Tool:
		readGeminiTool(s, a, input, o)
	}
}

// geminiAgent returns the program that an item is of.
func geminiAgent(s *dialect.Source) string {
	if strings.HasPrefix(s.Span.Name(), qwenPrefix) {
		return "qwen-code"
	}
	return "gemini-cli"
}

func readGeminiPrompt(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	prompt := a.Text("prompt")
	for _, l := range s.Logs {
		if geminiEvent(l.Name()) == "user_prompt" {
			decode.FillString(&prompt, decode.Attributes(l.Attributes()).Text("prompt"))
			decode.FillString(&o.InvocationID, decode.Attributes(l.Attributes()).Text("prompt_id"))
		}
	}
	if prompt != "" {
		p := decode.TextPart(prompt)
		p.Label = decode.LabelOf(prompt)
		o.Input = []decode.Message{{Role: tape.RoleUser, Parts: []decode.Part{p}}}
		return
	}
	o.Input = geminiMessages(a, "gen_ai.input.messages", tape.RoleUser)
	o.Output = joinChunks(geminiMessages(a, "gen_ai.output.messages", tape.RoleAssistant))
}

func geminiMessages(a decode.Attributes, key string, role tape.Role) []decode.Message {
	v := a.JSON(key)
	if v.Kind() == exactjson.String {
		if parsed, err := exactjson.Parse(strings.TrimSpace(v.Str())); err == nil && parsed.Kind() == exactjson.String {
			v = parsed
		}
	}
	messages, _ := decode.Messages(v, role)
	OpenGeminiResults(messages)
	return messages
}

func readGeminiModel(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	if system := a.JSON("gen_ai.system_instructions"); !system.IsEmpty() {
		if parsed, err := exactjson.Parse(strings.TrimSpace(system.Str())); err == nil {
			system = parsed
		}
		o.System = decode.System(system)
	}
	o.Request, o.RequestLabel = semconv.LabelledMessages(a, "gen_ai.input.messages", tape.RoleUser, o)
	o.Response, o.ResponseLabel = semconv.LabelledMessages(a, "gen_ai.output.messages", tape.RoleAssistant, o)
	for _, l := range s.Logs {
		readGeminiModelLog(l.Name(), decode.Attributes(l.Attributes()), o)
	}
	if s.ScopeName == dialect.LogScope && len(s.Logs) == 0 {
		readGeminiModelLog(s.Span.Name(), a, o)
	}
	o.Response = joinChunks(o.Response)
	OpenGeminiResults(o.Request)
	OpenGeminiResults(o.Response)
}

// readGeminiModelLog takes from a log record what the span lacks or holds cut. Records are cut much later
// than spans.
func readGeminiModelLog(name string, a decode.Attributes, o *dialect.Draft) {
	switch geminiEvent(name) {
	case "api_request":
		decode.FillString(&o.InvocationID, a.Text("prompt_id"))
		if text := a.Text("request_text"); text != "" && (len(o.Request) == 0 || o.RequestLabel == tape.Truncated) && decode.LabelOf(text) == "" {
			if messages, ok := decode.Messages(exactjson.StringValue(text), tape.RoleUser); ok {
				o.Request, o.RequestLabel = messages, ""
			}
		}
	case "api_response":
		if text := a.Text("response_text"); text != "" && (len(o.Response) == 0 || o.ResponseLabel == tape.Truncated) {
			if chunks, ok := decode.ParseStructure(text); ok {
				o.Response, _ = decode.Messages(chunks, tape.RoleAssistant)
				o.ResponseLabel = ""
				decode.FillString(&o.ResponseID, chunks.At(0).Get("responseId").Str())
				decode.FillString(&o.ResponseModel, chunks.At(0).Get("modelVersion").Str())
			} else if strings.HasPrefix(name, qwenPrefix) {
				o.Response = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text)}}}
			}
		}
		decode.FillList(&o.FinishReasons, a.Texts("finish_reasons"))
		decode.FillUsage(&o.Usage, tape.Usage{
			InputTokens: a.Count("input_token_count"), OutputTokens: a.Count("output_token_count"),
			CacheReadTokens: a.Count("cached_content_token_count"), ReasoningTokens: a.Count("thoughts_token_count"),
		})
	case "api_error":
		o.Failed = true
		o.Error = &tape.Error{Type: a.Text("error_type", "error.type", "status_code"), Message: a.Text("error", "error.message", "error_message")}
	case "gen_ai.client.inference.operation.details":
		for key, v := range a.All() {
			if param, ok := strings.CutPrefix(key, "gen_ai.request."); ok {
				if canonical, ok := decode.ParamNames[param]; ok {
					o.AddParam(canonical, decode.JSONOf(v))
				}
			}
		}
		decode.FillString(&o.Provider, decode.Provider(a.Text("gen_ai.provider.name")))
	}
}

// joinChunks makes one message of the chunks of a streamed answer.
func joinChunks(chunks []decode.Message) []decode.Message {
	if len(chunks) == 0 {
		return chunks
	}
	joined := decode.Message{Role: tape.RoleAssistant}
	for _, m := range chunks {
		for _, p := range m.Parts {
			if n := len(joined.Parts) - 1; n >= 0 && joined.Parts[n].Type == p.Type && (p.Type == tape.PartText || p.Type == tape.PartReasoning) {
				joined.Parts[n].Text += p.Text
				decode.FillString((*string)(&joined.Parts[n].Label), string(p.Label))
				continue
			}
			joined.Parts = append(joined.Parts, p)
		}
		if m.FinishReason != "" {
			joined.FinishReason = m.FinishReason
		}
	}
	return []decode.Message{joined}
}

// GeminiID drops the name of the tool that stands before some call ids.
func GeminiID(name, id string) string { return strings.TrimPrefix(id, name+"__") }

// OpenGeminiResults takes off what Gemini CLI puts around results and ids in a message list. It marks what
// the program says of the session as injected.
func OpenGeminiResults(messages []decode.Message) {
	for _, m := range messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			p.ID = GeminiID(p.Name, p.ID)
			p.Injected = m.Role == tape.RoleUser && strings.HasPrefix(p.Text, "<session_context>")
			if p.Type == tape.PartToolResult {
				c, failed := GeminiResult(decode.Content{Value: p.Result, Envelope: p.Envelope, Label: p.Label})
				p.Result, p.Envelope, p.Label, p.IsError = c.Value, c.Envelope, c.Label, p.IsError || failed
			}
		}
	}
}

// GeminiResult opens {"output": text} and the marks around content from outside. {"error": text} says that
// the call failed.
func GeminiResult(c decode.Content) (decode.Content, bool) {
	if c.Value.Kind() != exactjson.Object || c.Value.Len() != 1 {
		return c, false
	}
	if failure := c.Value.Get("error"); !failure.IsAbsent() {
		return decode.Content{Value: failure, Envelope: append(c.Envelope, "gemini_cli.error")}, true
	}
	output := c.Value.Get("output")
	if output.Kind() != exactjson.String {
		return c, false
	}
	c.Value, c.Envelope = output, append(c.Envelope, "gemini_cli.output")
	if inner, ok := strings.CutPrefix(output.Str(), "<untrusted_context>\n"); ok {
		if inner, ok = strings.CutSuffix(inner, "\n</untrusted_context>"); ok {
			c.Value, c.Envelope = exactjson.StringValue(inner), append(c.Envelope, "gemini_cli.untrusted_context")
		}
	}
	if label := decode.LabelOf(c.Value.Str()); c.Label == "" {
		c.Label = label
	}
	return c, false
}

// mcpDisplayName is how Gemini CLI shows the tool of an MCP server.
var mcpDisplayName = regexp.MustCompile(`^(.+) \((.+) MCP Server\)$`)

// ReadGeminiServer takes the MCP server of a tool from the name that is shown for it.
func ReadGeminiServer(displayName string, o *dialect.Draft) {
	if m := mcpDisplayName.FindStringSubmatch(displayName); m != nil {
		o.ToolKind, o.Server = tape.ToolMCP, &tape.Server{Name: m[2], Tool: m[1]}
	}
}

func readGeminiTool(s *dialect.Source, a decode.Attributes, request exactjson.Value, o *dialect.Draft) {
	o.Name = a.Text("gen_ai.tool.name", "function_name")
	o.CallID = decode.UsableID(a.Text("gen_ai.tool.call_id", "gen_ai.tool.call.id"))
	o.ToolKind = tape.ToolBuiltin
	if s.ScopeName == dialect.LogScope {
		if v := a.JSON("function_args"); !v.IsAbsent() {
			o.Args = decode.Args(v)
		}
		if server := a.Text("mcp_server_name"); server != "" {
			o.ToolKind = tape.ToolMCP
			o.Server = &tape.Server{Name: server, Tool: strings.TrimPrefix(o.Name, "mcp_"+server+"_")}
		}
		if a.Text("success") == "false" {
			o.Failed = true
			o.Error = &tape.Error{Type: a.Text("error_type"), Message: a.Text("error")}
		}
		return
	}
	if inner := request.Get("request"); inner.Kind() == exactjson.Object {
		request = inner
	}
	done, whole := decode.Structure(a.JSON("gen_ai.output.messages"))
	if request.Kind() != exactjson.Object {
		request = done.Get("request")
	}
	decode.FillString(&o.InvocationID, request.Get("prompt_id").Str())
	decode.FillString(&o.Name, request.Get("name").Str())
	decode.FillString(&o.CallID, request.Get("callId").Str())
	o.CallID = GeminiID(o.Name, o.CallID)
	switch args := request.Get("args"); {
	case !args.IsAbsent():
		o.Args = decode.Content{Value: args}
	case a.Text("gen_ai.input.messages") != "":
		o.Args = decode.Content{Value: a.JSON("gen_ai.input.messages"), Label: tape.Truncated}
	}
	name := done.Get("tool").Get("displayName").Str()
	decode.FillString(&name, request.Get("display").Get("name").Str())
	ReadGeminiServer(name, o)
	if text := a.Text("gen_ai.output.messages"); !whole && text != "" {
		o.Result = decode.Content{Value: exactjson.StringValue(text), Label: tape.Truncated}
		return
	}
	response := done.Get("response")
	c, failed := GeminiResult(decode.Content{Value: response.Get("responseParts").At(0).Get("functionResponse").Get("response")})
	switch status := done.Get("status").Str(); {
	case failed, status == "error", status == "cancelled":
		o.Failed = true
		o.Error = &tape.Error{Type: response.Get("errorType").Str(), Message: c.Value.Text()}
		decode.FillString(&o.Error.Message, response.Get("error").Get("message").Str())
		if o.Error.Message == "" {
			o.Error.Message = status
		}
	case c.Present():
		o.Result = decode.UnwrapResult(c).Content
	}
}
