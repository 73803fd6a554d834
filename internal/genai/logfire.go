// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// logfire reads Logfire's own integrations: provider clients, the OpenAI Agents SDK and MCP. The name of a span is a template, what it is
// about stands in attributes without a namespace; the answer of a stream comes in a span of its own.
var logfire = &Dialect{
	ID:            "logfire",
	Name:          "Logfire",
	Scopes:        []string{"logfire"},
	ScopePrefixes: []string{"logfire."},
	Marks:         []string{"logfire."},
	Root:          "`OpenAI Agents trace`, `invoke_agent`",
	Switch:        "on by default; mind the scrubbing of attributes",
	classify:      classifyLogfire,
	read:          readLogfire,
	adds:          isLogfireStream,
	addsTo:        streamsAnswerOf,
}

const logfireStream = "streaming response from "

func isLogfireStream(span ptrace.Span) bool { return strings.HasPrefix(span.Name(), logfireStream) }

// streamsAnswerOf reports whether a streaming span tells the answer to a request.
func streamsAnswerOf(stream, request ptrace.Span) bool {
	a, b := attributes(stream.Attributes()), attributes(request.Attributes())
	return stream.ParentSpanID() == request.ParentSpanID() && request.StartTimestamp() <= stream.StartTimestamp() &&
		!b.has("gen_ai.output.messages") && !b.has("response_data") && a.json("request_data").Equal(b.json("request_data")) &&
		a.json("gen_ai.input.messages").Equal(b.json("gen_ai.input.messages"))
}

// logfireSpans classifies the spans of the Agents SDK and of MCP by the beginning of their names.
var logfireSpans = []struct {
	prefix string
	class  Class
}{
	{"OpenAI Agents trace", Agent}, {"Agent run", Agent}, {"Task", Structure}, {"Turn ", Structure},
	{"Responses API", Model}, {"Chat completion with", Model}, {"Chat Completion with", Model}, {"Message with", Model}, {"Completion with", Model},
	{"Function", Tool}, {"Handoff", Tool}, {"Guardrail", Noise}, {"MCP: list tools", Noise}, {"MCP server log", Noise},
	{"MCP request: tools/call", Tool}, {"MCP server handle request: tools/call", Tool}, {"MCP request", Noise}, {"MCP server handle", Noise},
	{"Embedding Creation", Noise}, {"Image Generation", Noise}, {"Speech → Text", Noise}, {"Text → Speech", Noise},
}

func classifyLogfire(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	if a.str("logfire.span_type") == "pending_span" {
		return Noise, false
	}
	if !isLogfireIntegration(s, a) {
		return Unclassified, false
	}
	for _, p := range logfireSpans {
		if strings.HasPrefix(s.Span.Name(), p.prefix) {
			return p.class, p.class == Agent
		}
	}
	if isLogfireStream(s.Span) || a.has("request_data") && (a.has("response_data") || a.str("gen_ai.operation.name") == "chat") {
		return Model, false
	}
	if s.ScopeName == "logfire.openai" || s.ScopeName == "logfire.anthropic" {
		return Structure, false // of the provider's other interfaces
	}
	return Unclassified, false
}

// isLogfireIntegration tells the spans that Logfire itself writes about agents from those of an application that it carries.
func isLogfireIntegration(s *Source, a attributes) bool {
	return strings.HasPrefix(s.ScopeName, "logfire.") || s.ScopeName == "" && a.has("logfire.msg_template")
}

func readLogfire(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	if o.Class == Noise {
		for _, p := range logfireSpans {
			if strings.HasPrefix(s.Span.Name(), p.prefix) {
				o.NoiseReason = strings.ToLower(p.prefix)
				break
			}
		}
		if a.str("logfire.span_type") == "pending_span" {
			o.NoiseReason = "pending span"
		}
		return
	}
	if !isLogfireIntegration(s, a) {
		o.Class = Unclassified // nothing of its own here
		return
	}
	switch o.Class {
	case Agent:
		if strings.HasPrefix(s.Span.Name(), "Agent run") {
			o.Agent.Name = a.str("name")
		}
		if strings.HasPrefix(s.Span.Name(), "OpenAI Agents trace") {
			o.ConversationID, o.InvocationID = usableID(a.str("group_id")), usableID(a.str("agent_trace_id"))
		}
		o.Failed = a.has("error")
	case Model:
		readLogfireModel(s, a, o)
	case Tool:
		readLogfireTool(s, a, o)
	}
	if failure, ok := structureOf(a.json("error")); ok && (o.Class == Agent || o.Class == Tool) {
		o.Failed = true
		o.Error = &tape.Error{Message: failure.Get("message").Str()}
		if inner := failure.Get("data").Get("error").Str(); inner != "" {
			o.Error.Message = inner
		}
	}
}

func readLogfireModel(s *Source, a attributes, o *Observation) {
	o.Operation = "chat"
	request, _ := structureOf(a.json("request_data"))
	response, _ := structureOf(a.json("response_data"))
	agents := s.ScopeName == "logfire.openai_agents"
	switch {
	case s.ScopeName == "logfire.anthropic":
		readAnthropicRequest(request, o)
	default:
		str(&o.Model, request.Get("model").Str())
		if !agents { // there the messages of the request hold the answer too
			o.Request, _ = messagesOf(request.Get("messages"), tape.RoleUser)
		}
		o.Tools = toolDefinitions(request.Get("tools"))
		logfireParams(request, o)
	}
	if message := response.Get("message"); message.Kind() == exactjson.Object {
		o.Response = []Message{roleMessage(message, tape.RoleAssistant)}
		unwrapLogfireCalls(o.Response)
	} else if text := response.Get("combined_chunk_content"); text.Kind() == exactjson.String {
		o.Response = []Message{{Role: tape.RoleAssistant, Parts: []Part{textPart(text.Str())}}}
	}
	if a.has("gen_ai.output.messages") && !agents {
		o.Response = nil // the same, with what the other form lacks
	}
	if agents {
		if input, ok := messagesOf(a.json("raw_input", "input"), tape.RoleUser); ok {
			o.Request = input
		}
		if output, ok := messagesOf(a.json("output"), tape.RoleAssistant); ok {
			o.Response = oneTurn(output)
		}
		if settings, ok := structureOf(a.json("model_settings", "model_config")); ok {
			logfireParams(settings, o)
		}
	}
	if all := eventMessages(a.json("events")); len(all) > 0 {
		asked, answered := splitAnswer(all)
		if len(o.Request) == 0 && !a.has("gen_ai.input.messages") {
			o.Request = asked
		} else if len(asked) > 0 && asked[0].Role == tape.RoleSystem && !hasRole(o.Request, tape.RoleSystem) {
			o.System = asked[0].Parts
		}
		if len(o.Response) == 0 && !a.has("gen_ai.output.messages") {
			o.Response = answered
		}
	}
	o.Streaming = request.Get("stream").True() || isLogfireStream(s.Span)
	o.ResponseID = a.str("response_id")
	usage, ok := structureOf(a.json("usage", "gen_ai.usage.raw"))
	if !ok {
		usage = response.Get("usage")
	}
	if s.ScopeName == "logfire.anthropic" {
		readAnthropicResponse(exactjson.ObjectValue(exactjson.Member{Name: "usage", Value: usage}), o)
	} else if usage.Kind() == exactjson.Object {
		fillUsage(&o.Usage, tape.Usage{
			InputTokens:     wholeOf(usage.First("input_tokens", "prompt_tokens")),
			OutputTokens:    wholeOf(usage.First("output_tokens", "completion_tokens")),
			CacheReadTokens: wholeOf(usage.First("input_tokens_details", "prompt_tokens_details").Get("cached_tokens")),
			ReasoningTokens: wholeOf(usage.First("output_tokens_details", "completion_tokens_details").Get("reasoning_tokens")),
		})
	}
}

func logfireParams(request exactjson.Value, o *Observation) {
	for _, m := range request.Members() {
		if name, ok := paramNames[m.Name]; ok {
			o.param(name, m.Value)
		}
	}
	for _, name := range []string{"tool_choice", "response_format", "parallel_tool_calls"} {
		o.param(name, request.Get(name))
	}
}

// unwrapLogfireCalls takes off the {"input": …} that the Anthropic integration puts around arguments.
func unwrapLogfireCalls(messages []Message) {
	for _, m := range messages {
		for i, p := range m.Parts {
			if inner := p.Args.Get("input"); p.Type == tape.PartToolCall && p.Args.Len() == 1 && inner.Kind() == exactjson.Object {
				m.Parts[i].Args, m.Parts[i].ArgsText = inner, ""
			}
		}
	}
}

func readLogfireTool(s *Source, a attributes, o *Observation) {
	switch {
	case strings.HasPrefix(s.Span.Name(), "Handoff"):
		o.Handoff = true
		o.Name = "handoff to " + a.str("to_agent")
	case strings.HasPrefix(s.Span.Name(), "MCP"):
		o.MCPLeg, o.ToolKind = true, tape.ToolMCP
		request, _ := structureOf(a.json("request"))
		o.Name = request.Get("params").Get("name").Str()
		if args := request.Get("params").Get("arguments"); !args.IsAbsent() {
			o.Args = Content{Value: args}
		}
		if response, ok := structureOf(a.json("response")); ok {
			o.Failed = response.Get("isError").True()
			if content := response.Get("content"); !content.IsAbsent() {
				o.Result = unwrapResult(Content{Value: content}).content
			}
		}
	case strings.HasPrefix(s.Span.Name(), "Function"):
		o.Name, o.ToolKind = a.str("name"), tape.ToolFunction
		if v := a.json("input"); !v.IsAbsent() {
			o.Args = argsContent(v)
		}
		mcp, _ := structureOf(a.json("mcp_data"))
		if server := mcp.Get("server").Str(); server != "" {
			o.ToolKind, o.Server = tape.ToolMCP, &tape.Server{Name: server, Tool: o.Name}
		}
		if v := a.json("output"); !v.IsAbsent() {
			o.Result = resultContent(v, false)
			if block, ok := structureOf(v); ok && o.Server != nil && block.Get("type").Str() == "text" && block.Get("text").Kind() == exactjson.String {
				o.Result.Value, o.Result.Envelope = block.Get("text"), []string{"content_blocks"}
			} else {
				o.Result = unwrapResult(o.Result).content
			}
		}
	}
}
