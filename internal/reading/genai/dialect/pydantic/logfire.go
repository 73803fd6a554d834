// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pydantic

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/anthropic"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Logfire reads Logfire's own integrations: provider clients, the OpenAI Agents SDK and MCP. The name of a
// span is a template. Attributes without a namespace say what the span is about. The answer of a stream comes
// in a span of its own.
var Logfire = &dialect.Dialect{
	ID:            "logfire",
	Name:          "Logfire",
	Scopes:        []string{"logfire"},
	ScopePrefixes: []string{"logfire."},
	Marks:         []string{"logfire."},
	Root:          "`OpenAI Agents trace`, `invoke_agent`",
	Switch:        "on by default; mind the scrubbing of attributes",
	Classify:      classifyLogfire,
	Read:          readLogfire,
	Additions:     dialect.Additions{Adds: isLogfireStream, AddsTo: streamsAnswerOf},
}

const logfireStream = "streaming response from "

func isLogfireStream(span ptrace.Span) bool { return strings.HasPrefix(span.Name(), logfireStream) }

// streamsAnswerOf reports whether a streaming span tells the answer to a request.
func streamsAnswerOf(stream, request ptrace.Span) bool {
	a, b := decode.Attributes(stream.Attributes()), decode.Attributes(request.Attributes())
	return stream.ParentSpanID() == request.ParentSpanID() && request.StartTimestamp() <= stream.StartTimestamp() &&
		!b.Has("gen_ai.output.messages") && !b.Has("response_data") && a.JSON("request_data").Equal(b.JSON("request_data")) &&
		a.JSON("gen_ai.input.messages").Equal(b.JSON("gen_ai.input.messages"))
}

// logfireSpans classifies the spans of the Agents SDK and of MCP by the beginning of their names.
var logfireSpans = []struct {
	prefix string
	class  dialect.Class
}{
	{"OpenAI Agents trace", dialect.Agent}, {"Agent run", dialect.Agent}, {"Task", dialect.Structure}, {"Turn ", dialect.Structure},
	{"Responses API", dialect.Model}, {"Chat completion with", dialect.Model}, {"Chat Completion with", dialect.Model}, {"Message with", dialect.Model}, {"Completion with", dialect.Model},
	{"Function", dialect.Tool}, {"Handoff", dialect.Tool}, {"Guardrail", dialect.Noise}, {"MCP: list tools", dialect.Noise}, {"MCP server log", dialect.Noise},
	{"MCP request: tools/call", dialect.Tool}, {"MCP server handle request: tools/call", dialect.Tool}, {"MCP request", dialect.Noise}, {"MCP server handle", dialect.Noise},
	{"Embedding Creation", dialect.Noise}, {"Image Generation", dialect.Noise}, {"Speech → Text", dialect.Noise}, {"Text → Speech", dialect.Noise},
}

func classifyLogfire(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	if a.Text("logfire.span_type") == "pending_span" {
		return dialect.Noise, false
	}
	if isLogfireFunction(s, a) {
		return dialect.Structure, false
	}
	if loggedTool(s, a) != "" {
		return dialect.Tool, false
	}
	if !isLogfireIntegration(s, a) {
		if generic.WrittenAround(s.Span) != nil {
			return dialect.Structure, false
		}
		return dialect.Unclassified, false
	}
	for _, p := range logfireSpans {
		if strings.HasPrefix(s.Span.Name(), p.prefix) {
			return p.class, p.class == dialect.Agent
		}
	}
	if isLogfireStream(s.Span) || a.Has("request_data") && (a.Has("response_data") || a.Text("gen_ai.operation.name") == "chat") {
		return dialect.Model, false
	}
	if s.ScopeName == "logfire.openai" || s.ScopeName == "logfire.anthropic" {
		return dialect.Structure, false // of the provider's other interfaces
	}
	return dialect.Unclassified, false
}

// isLogfireIntegration tells spans that Logfire itself writes about agents from those of an application that
// it carries.
func isLogfireIntegration(s *dialect.Source, a decode.Attributes) bool {
	return strings.HasPrefix(s.ScopeName, "logfire.") || s.ScopeName == "" && a.Has("logfire.msg_template")
}

// isLogfireFunction reports the span of a function of the program, with what it returned, as the decorator
// writes it.
func isLogfireFunction(s *dialect.Source, a decode.Attributes) bool {
	return s.ScopeName == "logfire" && a.Has("return") && a.Has("code.function") && a.Has("logfire.json_schema")
}

// runningTool begins the name of a span that an application writes of a tool, by Logfire's own functions.
const runningTool = "running tool "

// loggedTool returns the name of the tool of such a span, "" for other spans. The name of the span tells it;
// where that is a template with names of attributes, the message does.
func loggedTool(s *dialect.Source, a decode.Attributes) string {
	name := s.Span.Name()
	if s.ScopeName != "logfire" || !strings.HasPrefix(name, runningTool) || a.Text("logfire.span_type") == "pending_span" || a.Has("gen_ai.tool.name") {
		return ""
	}
	if strings.Contains(name, "{") {
		name = a.Text("logfire.msg")
	}
	name, ok := strings.CutPrefix(name, runningTool)
	if !ok || strings.ContainsAny(name, " {}[]") { // two things, or a mask
		return ""
	}
	return name
}

// logfireFunction reads arguments and output. The schema beside them says which attributes these are, and
// which are JSON.
func logfireFunction(a decode.Attributes) *dialect.Called {
	name := a.Text("code.function")
	called := &dialect.Called{Name: name[strings.LastIndexByte(name, '.')+1:]}
	schema, _ := decode.Structure(a.JSON("logfire.json_schema"))
	var args []exactjson.Member
	for _, m := range schema.Get("properties").Members() {
		v := a.JSON(m.Name)
		if kind := m.Value.Get("type").Str(); kind == "object" || kind == "array" || kind == "null" {
			if inner, err := exactjson.Parse(v.Str()); err == nil {
				v = inner
			}
		}
		if m.Name == "return" {
			called.Out = v
		} else if !v.IsAbsent() {
			args = append(args, exactjson.Member{Name: m.Name, Value: v})
		}
	}
	called.In = exactjson.ObjectValue(args...)
	return called
}

func readLogfire(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	if o.Class == dialect.Noise {
		for _, p := range logfireSpans {
			if strings.HasPrefix(s.Span.Name(), p.prefix) {
				o.NoiseReason = strings.ToLower(p.prefix)
				break
			}
		}
		if a.Text("logfire.span_type") == "pending_span" {
			o.NoiseReason = "pending span"
		}
		return
	}
	if isLogfireFunction(s, a) {
		if o.Class == dialect.Structure {
			o.Called = logfireFunction(a)
		}
		return
	}
	if name := loggedTool(s, a); name != "" {
		o.Name, o.ToolKind, o.Function = name, tape.ToolFunction, true
		if v := a.JSON("args", "arguments", "input"); !v.IsAbsent() {
			o.Args = decode.UnwrapArgs(decode.Args(v))
		}
		if v := a.JSON("result", "output", "return"); !v.IsAbsent() {
			o.Result = decode.Result(v, false)
		}
		return
	}
	if !isLogfireIntegration(s, a) {
		if o.Called = generic.WrittenAround(s.Span); o.Called == nil {
			o.Class = dialect.Unclassified // nothing of its own here
		}
		return
	}
	switch o.Class {
	case dialect.Agent:
		if strings.HasPrefix(s.Span.Name(), "Agent run") {
			o.Agent.Name = a.Text("name")
		}
		if strings.HasPrefix(s.Span.Name(), "OpenAI Agents trace") {
			o.ConversationID, o.InvocationID = decode.UsableID(a.Text("group_id")), decode.UsableID(a.Text("agent_trace_id"))
		}
		o.Failed = a.Has("error")
	case dialect.Model:
		readLogfireModel(s, a, o)
	case dialect.Tool:
		readLogfireTool(s, a, o)
	}
	if failure, ok := decode.Structure(a.JSON("error")); ok && (o.Class == dialect.Agent || o.Class == dialect.Tool) {
		o.Failed = true
		o.Error = &tape.Error{Message: failure.Get("message").Str()}
		if inner := failure.Get("data").Get("error").Str(); inner != "" {
			o.Error.Message = inner
		}
	}
}

func readLogfireModel(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	o.Operation = "chat"
	request, _ := decode.Structure(a.JSON("request_data"))
	response, _ := decode.Structure(a.JSON("response_data"))
	agents := s.ScopeName == "logfire.openai_agents"
	if s.ScopeName == "logfire.anthropic" {
		anthropic.ReadRequest(request, o)
	} else {
		decode.FillString(&o.Model, request.Get("model").Str())
		if !agents { // there the messages of the request hold the answer too
			o.Request, _ = decode.Messages(request.Get("messages"), tape.RoleUser)
		}
		o.Tools = decode.ToolDefinitions(request.Get("tools"))
		logfireParams(request, o)
	}
	if message := response.Get("message"); message.Kind() == exactjson.Object {
		o.Response = []decode.Message{decode.RoleMessage(message, tape.RoleAssistant)}
		unwrapLogfireCalls(o.Response)
	} else if text := response.Get("combined_chunk_content"); text.Kind() == exactjson.String {
		o.Response = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text.Str())}}}
	}
	if a.Has("gen_ai.output.messages") && !agents {
		o.Response = nil // the same, with what the other form lacks
	}
	if agents {
		readLogfireAgents(a, o)
	}
	readLogfireEvents(a, o)
	o.Streaming = request.Get("stream").True() || isLogfireStream(s.Span)
	o.ResponseID = a.Text("response_id")
	usage, ok := decode.Structure(a.JSON("usage", "gen_ai.usage.raw"))
	if !ok {
		usage = response.Get("usage")
	}
	readLogfireUsage(s.ScopeName, usage, o)
}

// readLogfireAgents reads a model call of the Agents SDK. Its output is a list, or null where the call
// failed. Of a stream of chat completions the SDK makes a response of the other interface.
func readLogfireAgents(a decode.Attributes, o *dialect.Draft) {
	if input, ok := decode.Messages(a.JSON("raw_input", "input"), tape.RoleUser); ok {
		o.Request = input
	}
	said := a.JSON("output")
	if list, _ := decode.Structure(said); list.Len() == 1 && list.At(0).Get("output").Kind() == exactjson.Array {
		said = list.At(0).Get("output")
	}
	if output, ok := decode.Messages(said, tape.RoleAssistant); ok && said.Str() != "null" {
		o.Response = decode.OneTurn(output)
	}
	if settings, ok := decode.Structure(a.JSON("model_settings", "model_config")); ok {
		logfireParams(settings, o)
	}
}

// readLogfireEvents takes what the list of events tells and no other attribute does.
func readLogfireEvents(a decode.Attributes, o *dialect.Draft) {
	all := eventMessages(a.JSON("events"))
	if len(all) == 0 {
		return
	}
	asked, answered := splitAnswer(all)
	if len(o.Request) == 0 && !a.Has("gen_ai.input.messages") {
		o.Request = asked
	} else if len(asked) > 0 && asked[0].Role == tape.RoleSystem && !decode.HasRole(o.Request, tape.RoleSystem) {
		o.System = asked[0].Parts
	}
	if len(o.Response) == 0 && !a.Has("gen_ai.output.messages") {
		o.Response = answered
	}
}

func readLogfireUsage(scope string, usage exactjson.Value, o *dialect.Draft) {
	if scope == "logfire.anthropic" {
		anthropic.ReadResponse(exactjson.ObjectValue(exactjson.Member{Name: "usage", Value: usage}), o)
	} else if usage.Kind() == exactjson.Object {
		decode.FillUsage(&o.Usage, tape.Usage{
			InputTokens:     decode.OptionalCount(usage.First("input_tokens", "prompt_tokens")),
			OutputTokens:    decode.OptionalCount(usage.First("output_tokens", "completion_tokens")),
			CacheReadTokens: decode.OptionalCount(usage.First("input_tokens_details", "prompt_tokens_details").Get("cached_tokens")),
			ReasoningTokens: decode.OptionalCount(usage.First("output_tokens_details", "completion_tokens_details").Get("reasoning_tokens")),
		})
	}
}

func logfireParams(request exactjson.Value, o *dialect.Draft) {
	for _, m := range request.Members() {
		if name, ok := decode.ParamNames[m.Name]; ok {
			o.AddParam(name, m.Value)
		}
	}
	for _, name := range []string{"tool_choice", "response_format", "parallel_tool_calls"} {
		o.AddParam(name, request.Get(name))
	}
}

// unwrapLogfireCalls takes off the {"input": …} that the Anthropic integration puts around arguments.
func unwrapLogfireCalls(messages []decode.Message) {
	for _, m := range messages {
		for i, p := range m.Parts {
			if inner := p.Args.Get("input"); p.Type == tape.PartToolCall && p.Args.Len() == 1 && inner.Kind() == exactjson.Object {
				m.Parts[i].Args, m.Parts[i].ArgsText = inner, ""
			}
		}
	}
}

func readLogfireTool(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	switch {
	case strings.HasPrefix(s.Span.Name(), "Handoff"):
		o.Handoff = true
		o.Name = "handoff to " + a.Text("to_agent")
	case strings.HasPrefix(s.Span.Name(), "MCP"):
		o.MCPLeg, o.ToolKind = true, tape.ToolMCP
		request, _ := decode.Structure(a.JSON("request"))
		o.Name = request.Get("params").Get("name").Str()
		if args := request.Get("params").Get("arguments"); !args.IsAbsent() {
			o.Args = decode.Content{Value: args}
		}
		if response, ok := decode.Structure(a.JSON("response")); ok {
			o.Failed = response.Get("isError").True()
			if content := response.Get("content"); !content.IsAbsent() {
				o.Result = decode.UnwrapResult(decode.Content{Value: content}).Content
			}
		}
	case strings.HasPrefix(s.Span.Name(), "Function"):
		o.Name, o.ToolKind = a.Text("name"), tape.ToolFunction
		if v := a.JSON("input"); !v.IsAbsent() {
			o.Args = decode.Args(v)
		}
		mcp, _ := decode.Structure(a.JSON("mcp_data"))
		if server := mcp.Get("server").Str(); server != "" {
			o.ToolKind, o.Server = tape.ToolMCP, &tape.Server{Name: server, Tool: o.Name}
		}
		schema, _ := decode.Structure(a.JSON("logfire.json_schema"))
		// the SDK writes a null for whatever is empty: a text that reads so has no type there
		if v := a.JSON("output"); !v.IsAbsent() && schema.Get("properties").Get("output").Get("type").Str() != "null" {
			o.Result = decode.Result(v, false)
			if block, ok := decode.Structure(v); ok && o.Server != nil && block.Get("type").Str() == "text" && block.Get("text").Kind() == exactjson.String {
				o.Result.Value, o.Result.Envelope = block.Get("text"), []string{"content_blocks"}
			} else {
				o.Result = decode.UnwrapResult(o.Result).Content
			}
		}
	}
}
