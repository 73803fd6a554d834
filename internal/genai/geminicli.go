// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"regexp"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// geminiCLI reads Gemini CLI: llm_call, tool_call and the spans around them, most of which open a trace of their own; the prompt id
// holds a run together. Span values are cut at 10 000 characters. With traces off its log records tell the same without results.
var geminiCLI = &Dialect{
	ID:     "gemini-cli",
	Name:   "Gemini CLI",
	Scopes: []string{"gemini-cli"},
	Root:   "`user_prompt` (interactive), else the log event `gemini_cli.user_prompt`",
	Switch: "`telemetry: {enabled: true, traces: true, logPrompts: true}` in settings.json",
	Events: []string{geminiPrefix},
	log:    geminiLog,

	classify: classifyGeminiCLI,
	read:     readGeminiCLI,
}

const geminiPrefix = "gemini_cli."

// geminiLog gives the roles of the log events. With traces on, requests and tool calls name their span; without, they stand alone.
func geminiLog(name string, a attributes) logRole {
	role := logRole{
		conversation: a.str("session.id"),
		run:          a.str("prompt_id"),
		part:         strings.TrimPrefix(name, geminiPrefix),
		lasted:       time.Duration(number(a.count("duration_ms"))) * time.Millisecond,
	}
	if role.run != "" && role.run != role.conversation {
		role.run = role.conversation + "/" + role.run
	}
	switch role.part {
	case "user_prompt":
		role.class, role.alone, role.opens, role.lasted = Agent, true, true, 0
	case "api_request":
		role.class, role.alone, role.opens, role.atStart = Model, true, true, true
	case "api_response", "api_error":
		role.class = Model
	case "tool_call":
		role.class, role.alone = Tool, true
	default:
		return logRole{}
	}
	return role
}

func classifyGeminiCLI(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	if s.ScopeName == LogScope {
		switch strings.TrimPrefix(s.Span.Name(), geminiPrefix) {
		case "user_prompt":
			return Agent, true
		case "api_request":
			return Model, false
		case "tool_call":
			return Tool, false
		}
		return Unclassified, false
	}
	op := a.str("gen_ai.operation.name")
	str(&op, s.Span.Name())
	switch op {
	case "user_prompt":
		return Agent, true
	case "agent_call":
		return Agent, true
	case "llm_call":
		return Model, false
	case "tool_call":
		return Tool, false
	}
	return Structure, false
}

func readGeminiCLI(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.ConversationID = a.str("gen_ai.conversation.id", "session.id")
	str(&o.ConversationID, attributes(s.Resource).str("session.id"))
	o.InvocationID = a.str("gen_ai.prompt.name", "prompt_id")
	input, _ := structureOf(a.json("gen_ai.input.messages"))
	str(&o.InvocationID, input.Get("prompt_id").Str())
	str(&o.InvocationID, input.At(0).Get("prompt_id").Str())
	switch o.Class {
	case Agent:
		if s.Span.Name() != "agent_call" { // whose name is overwritten
			o.Agent.Name = "gemini-cli"
			o.Agent.Description = a.str("gen_ai.agent.description")
		}
		readGeminiPrompt(s, a, o)
	case Model:
		o.Operation = "generate_content"
		if s.ScopeName == LogScope {
			o.Model = a.str("model")
		}
		readGeminiModel(s, a, o)
	case Tool:
		readGeminiTool(s, a, input, o)
	}
}

func readGeminiPrompt(s *Source, a attributes, o *Observation) {
	prompt := a.str("prompt")
	for _, l := range s.Logs {
		if l.Name() == geminiPrefix+"user_prompt" {
			str(&prompt, attributes(l.Attributes()).str("prompt"))
			str(&o.InvocationID, attributes(l.Attributes()).str("prompt_id"))
		}
	}
	if prompt != "" {
		p := textPart(prompt)
		p.Label = labelOf(prompt)
		o.Input = []Message{{Role: tape.RoleUser, Parts: []Part{p}}}
		return
	}
	o.Input = geminiMessages(a, "gen_ai.input.messages", tape.RoleUser)
	o.Output = joinChunks(geminiMessages(a, "gen_ai.output.messages", tape.RoleAssistant))
}

func geminiMessages(a attributes, key string, role tape.Role) []Message {
	v := a.json(key)
	if v.Kind() == exactjson.String {
		if parsed, err := exactjson.Parse(strings.TrimSpace(v.Str())); err == nil && parsed.Kind() == exactjson.String {
			v = parsed
		}
	}
	messages, _ := messagesOf(v, role)
	geminiResults(messages)
	return messages
}

func readGeminiModel(s *Source, a attributes, o *Observation) {
	if system := a.json("gen_ai.system_instructions"); !system.IsEmpty() {
		if parsed, err := exactjson.Parse(strings.TrimSpace(system.Str())); err == nil {
			system = parsed
		}
		o.System = systemOf(system)
	}
	o.Request, o.RequestLabel = labelledMessages(a, "gen_ai.input.messages", tape.RoleUser, o)
	o.Response, o.ResponseLabel = labelledMessages(a, "gen_ai.output.messages", tape.RoleAssistant, o)
	for _, l := range s.Logs {
		readGeminiModelLog(l.Name(), attributes(l.Attributes()), o)
	}
	if s.ScopeName == LogScope && len(s.Logs) == 0 {
		readGeminiModelLog(s.Span.Name(), a, o)
	}
	o.Response = joinChunks(o.Response)
	geminiResults(o.Request)
	geminiResults(o.Response)
	for i, m := range o.Request {
		for k := range m.Parts {
			p := &o.Request[i].Parts[k]
			p.Injected = m.Role == tape.RoleUser && strings.HasPrefix(p.Text, "<session_context>")
		}
	}
}

// readGeminiModelLog takes from a log record what the span lacks or holds cut; records are cut much later than spans.
func readGeminiModelLog(name string, a attributes, o *Observation) {
	switch strings.TrimPrefix(name, geminiPrefix) {
	case "api_request":
		str(&o.InvocationID, a.str("prompt_id"))
		if text := a.str("request_text"); text != "" && (len(o.Request) == 0 || o.RequestLabel == tape.Truncated) && labelOf(text) == "" {
			if messages, ok := messagesOf(exactjson.StringValue(text), tape.RoleUser); ok {
				o.Request, o.RequestLabel = messages, ""
			}
		}
	case "api_response":
		if text := a.str("response_text"); text != "" && (len(o.Response) == 0 || o.ResponseLabel == tape.Truncated) {
			if chunks, ok := parseStructure(text); ok {
				o.Response, _ = messagesOf(chunks, tape.RoleAssistant)
				o.ResponseLabel = ""
				str(&o.ResponseID, chunks.At(0).Get("responseId").Str())
				str(&o.ResponseModel, chunks.At(0).Get("modelVersion").Str())
			}
		}
		list(&o.FinishReasons, a.strings("finish_reasons"))
		fillUsage(&o.Usage, tape.Usage{
			InputTokens: a.count("input_token_count"), OutputTokens: a.count("output_token_count"),
			CacheReadTokens: a.count("cached_content_token_count"), ReasoningTokens: a.count("thoughts_token_count"),
		})
	case "api_error":
		o.Failed = true
		o.Error = &tape.Error{Type: a.str("error_type", "error.type", "status_code"), Message: a.str("error", "error.message", "error_message")}
	case "gen_ai.client.inference.operation.details":
		for key, v := range a.all() {
			if param, ok := strings.CutPrefix(key, "gen_ai.request."); ok {
				if canonical, ok := paramNames[param]; ok {
					o.param(canonical, jsonOf(v))
				}
			}
		}
		str(&o.Provider, providerOf(a.str("gen_ai.provider.name")))
	}
}

// joinChunks makes one message of the chunks of a streamed answer.
func joinChunks(chunks []Message) []Message {
	if len(chunks) == 0 {
		return chunks
	}
	joined := Message{Role: tape.RoleAssistant}
	for _, m := range chunks {
		for _, p := range m.Parts {
			if n := len(joined.Parts) - 1; n >= 0 && joined.Parts[n].Type == p.Type && (p.Type == tape.PartText || p.Type == tape.PartReasoning) {
				joined.Parts[n].Text += p.Text
				str((*string)(&joined.Parts[n].Label), string(p.Label))
				continue
			}
			joined.Parts = append(joined.Parts, p)
		}
		if m.FinishReason != "" {
			joined.FinishReason = m.FinishReason
		}
	}
	return []Message{joined}
}

// geminiID drops the tool's name that some places put before a call id, some do not.
func geminiID(name, id string) string { return strings.TrimPrefix(id, name+"__") }

// geminiResults takes off what Gemini CLI puts around results and ids in a message list.
func geminiResults(messages []Message) {
	for _, m := range messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			p.ID = geminiID(p.Name, p.ID)
			if p.Type == tape.PartToolResult {
				c, failed := geminiResult(Content{Value: p.Result, Envelope: p.Envelope, Label: p.Label})
				p.Result, p.Envelope, p.Label, p.IsError = c.Value, c.Envelope, c.Label, p.IsError || failed
			}
		}
	}
}

// geminiResult opens {"output": text} and the marks around what came from outside; {"error": text} says that the call failed.
func geminiResult(c Content) (Content, bool) {
	if c.Value.Kind() != exactjson.Object || c.Value.Len() != 1 {
		return c, false
	}
	if failure := c.Value.Get("error"); !failure.IsAbsent() {
		return Content{Value: failure, Envelope: append(c.Envelope, "gemini_cli.error")}, true
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
	if label := labelOf(c.Value.Str()); c.Label == "" {
		c.Label = label
	}
	return c, false
}

// mcpDisplayName is how Gemini CLI shows the tool of an MCP server.
var mcpDisplayName = regexp.MustCompile(`^(.+) \((.+) MCP Server\)$`)

func readGeminiTool(s *Source, a attributes, request exactjson.Value, o *Observation) {
	o.Name = a.str("gen_ai.tool.name", "function_name")
	o.CallID = usableID(a.str("gen_ai.tool.call_id", "gen_ai.tool.call.id"))
	o.ToolKind = tape.ToolBuiltin
	if s.ScopeName == LogScope {
		if v := a.json("function_args"); !v.IsAbsent() {
			o.Args = argsContent(v)
		}
		if server := a.str("mcp_server_name"); server != "" {
			o.ToolKind = tape.ToolMCP
			o.Server = &tape.Server{Name: server, Tool: strings.TrimPrefix(o.Name, "mcp_"+server+"_")}
		}
		if a.str("success") == "false" {
			o.Failed = true
			o.Error = &tape.Error{Type: a.str("error_type"), Message: a.str("error")}
		}
		return
	}
	if inner := request.Get("request"); inner.Kind() == exactjson.Object {
		request = inner
	}
	done, whole := structureOf(a.json("gen_ai.output.messages"))
	if request.Kind() != exactjson.Object {
		request = done.Get("request")
	}
	str(&o.InvocationID, request.Get("prompt_id").Str())
	str(&o.Name, request.Get("name").Str())
	str(&o.CallID, request.Get("callId").Str())
	o.CallID = geminiID(o.Name, o.CallID)
	switch args := request.Get("args"); {
	case !args.IsAbsent():
		o.Args = Content{Value: args}
	case a.str("gen_ai.input.messages") != "":
		o.Args = Content{Value: a.json("gen_ai.input.messages"), Label: tape.Truncated}
	}
	name := done.Get("tool").Get("displayName").Str()
	str(&name, request.Get("display").Get("name").Str())
	if m := mcpDisplayName.FindStringSubmatch(name); m != nil {
		o.ToolKind, o.Server = tape.ToolMCP, &tape.Server{Name: m[2], Tool: m[1]}
	}
	if text := a.str("gen_ai.output.messages"); !whole && text != "" {
		o.Result = Content{Value: exactjson.StringValue(text), Label: tape.Truncated}
		return
	}
	response := done.Get("response")
	c, failed := geminiResult(Content{Value: response.Get("responseParts").At(0).Get("functionResponse").Get("response")})
	switch status := done.Get("status").Str(); {
	case failed, status == "error", status == "cancelled":
		o.Failed = true
		o.Error = &tape.Error{Type: response.Get("errorType").Str(), Message: c.Value.Text()}
		str(&o.Error.Message, response.Get("error").Get("message").Str())
		if o.Error.Message == "" {
			o.Error.Message = status
		}
	case c.Present():
		o.Result = unwrapResult(c).content
	}
}
