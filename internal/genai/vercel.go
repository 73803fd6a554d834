// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// vercelAI reads the Vercel AI SDK's own spans (v3 to v6, and v7 in legacy mode): an operation span, its .doGenerate or .doStream
// steps, and ai.toolCall.
var vercelAI = &Dialect{
	ID:       "vercel-ai",
	Name:     "Vercel AI SDK (ai.*)",
	Scopes:   []string{"ai"},
	Marks:    []string{"ai.operationId", "ai.toolCall.", "ai.prompt", "ai.response.", "ai.result.", "ai.model.", "ai.settings.", "ai.telemetry.", "ai.usage.", "ai.stream."},
	Root:     "the operation span (`ai.generateText`, `ai.streamText`, `ai.generateObject`, `ai.streamObject`)",
	Rooted:   true,
	Encoded:  true,
	Switch:   "`experimental_telemetry: { isEnabled: true, recordInputs: true, recordOutputs: true }`",
	classify: classifyVercel,
	read:     readVercel,
}

func vercelOperation(s *Source) string {
	if op := attributes(s.Span.Attributes()).str("ai.operationId"); op != "" {
		return op
	}
	name, _, _ := strings.Cut(s.Span.Name(), " ")
	if strings.HasPrefix(name, "ai.") {
		return name
	}
	return ""
}

func classifyVercel(s *Source) (Class, bool) {
	switch op := vercelOperation(s); {
	case op == "ai.toolCall":
		return Tool, false
	case strings.HasSuffix(op, ".doGenerate"), strings.HasSuffix(op, ".doStream"):
		return Model, false
	case strings.HasPrefix(op, "ai.embed"), strings.HasPrefix(op, "ai.rerank"):
		return Noise, false
	case strings.HasPrefix(op, "ai.generate"), strings.HasPrefix(op, "ai.stream"):
		return Agent, true
	default:
		return Unclassified, false
	}
}

func readVercel(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	str(&o.ConversationID, a.str("ai.settings.context.sessionId", "ai.settings.context.session_id"))
	switch o.Class {
	case Agent:
		o.Agent.Name = a.str("ai.telemetry.functionId", "resource.name")
		if prompt, ok := structureOf(a.json("ai.prompt")); ok {
			if system := prompt.First("system", "instructions"); !system.IsEmpty() {
				o.System = partsOf(system)
			}
			for _, key := range []string{"messages", "prompt"} {
				if messages, ok := messagesOf(prompt.Get(key), tape.RoleUser); ok {
					o.Input = messages
					break
				}
			}
		}
		if response, ok := vercelResponse(a); ok {
			o.Output = []Message{response}
		}
	case Model:
		readVercelModel(a, o)
	case Tool:
		o.Name = a.str("ai.toolCall.name")
		o.CallID = usableID(a.str("ai.toolCall.id"))
		o.ToolKind = tape.ToolFunction
		if v := a.json("ai.toolCall.args", "ai.toolCall.input"); !v.IsAbsent() {
			o.Args = argsContent(v)
		}
		if v := a.json("ai.toolCall.result", "ai.toolCall.output"); !v.IsAbsent() {
			o.Result = resultContent(v, true)
		}
	case Noise:
		o.NoiseReason = "embedding"
	}
}

func readVercelModel(a attributes, o *Observation) {
	o.Operation = "chat"
	o.Streaming = strings.HasSuffix(a.str("ai.operationId"), ".doStream")
	o.Model = a.str("ai.model.id")
	o.Provider, _, _ = strings.Cut(a.str("ai.model.provider"), ".")
	o.Request, _ = messagesOf(a.json("ai.prompt.messages"), tape.RoleUser)
	if len(o.Request) == 0 {
		if prompt, ok := structureOf(a.json("ai.prompt")); ok {
			o.Request, _ = messagesOf(prompt.First("messages", "prompt"), tape.RoleUser)
		}
	}
	if response, ok := vercelResponse(a); ok {
		o.Response = []Message{response}
	}
	o.Tools = toolDefinitions(a.json("ai.prompt.tools"))
	o.ResponseID, o.ResponseModel = a.str("ai.response.id"), a.str("ai.response.model")
	if reason := a.str("ai.response.finishReason"); reason != "" {
		o.FinishReasons = []string{reason}
	}
	for key, v := range a.all() {
		if name, ok := strings.CutPrefix(key, "ai.settings."); ok {
			if canonical, ok := paramNames[name]; ok {
				o.param(canonical, jsonOf(v))
			}
		}
	}
	if v, ok := structureOf(a.json("ai.prompt.toolChoice")); ok {
		o.param("tool_choice", v)
	}
	o.Usage = tape.Usage{
		InputTokens:      a.count("ai.usage.inputTokens", "ai.usage.promptTokens"),
		OutputTokens:     a.count("ai.usage.outputTokens", "ai.usage.completionTokens"),
		CacheReadTokens:  a.count("ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens"),
		CacheWriteTokens: a.count("ai.usage.inputTokenDetails.cacheWriteTokens"),
		ReasoningTokens:  a.count("ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"),
	}
	if o.Usage.CacheReadTokens != nil {
		inclusive := true
		o.Usage.InputIncludesCache = &inclusive
	}
}

// vercelResponse builds the message that an operation or step answered with.
func vercelResponse(a attributes) (Message, bool) {
	m := Message{Role: tape.RoleAssistant}
	if reasoning := a.str("ai.response.reasoning", "ai.result.reasoning"); reasoning != "" {
		text := reasoning
		if parts, ok := parseStructure(reasoning); ok {
			text = ""
			for _, p := range parts.Members() {
				text += p.Value.First("text", "reasoning").Str()
			}
		}
		m.Parts = append(m.Parts, Part{Part: tape.Part{Type: tape.PartReasoning, Text: text}})
	}
	if text := a.str("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"); text != "" {
		p := textPart(text)
		p.Label = labelOf(text)
		m.Parts = append(m.Parts, p)
	}
	if calls, ok := structureOf(a.json("ai.response.toolCalls", "ai.result.toolCalls")); ok {
		for _, call := range calls.Members() {
			m.Parts = append(m.Parts, toolCallPart(call.Value))
		}
	}
	return m, len(m.Parts) > 0
}

// toolDefinitions reads tool definitions: a list, or a list of JSON texts, of any provider's shape.
func toolDefinitions(v exactjson.Value) []tape.Tool {
	list, ok := structureOf(v)
	if !ok {
		return nil
	}
	var tools []tape.Tool
	for _, m := range list.Members() {
		d, ok := structureOf(m.Value)
		if !ok {
			if name := m.Value.Str(); name != "" {
				tools = append(tools, tape.Tool{Name: name})
			}
			continue
		}
		if declarations := d.First("function_declarations", "functionDeclarations"); declarations.Kind() == exactjson.Array {
			tools = append(tools, toolDefinitions(declarations)...)
			continue
		}
		if inner := d.First("function", "toolSpec", "tool"); inner.Kind() == exactjson.Object {
			d = inner
		}
		parameters := d.First("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema", "schema")
		if inner, ok := structureOf(parameters); ok {
			parameters = inner
			if wrapped := inner.First("json", "jsonSchema"); wrapped.Kind() == exactjson.Object && inner.Len() == 1 {
				parameters = wrapped
			}
		}
		name := d.First("name", "type").Str()
		if name == "" {
			continue
		}
		tools = append(tools, tape.Tool{Name: name, Description: d.Get("description").Str(), Parameters: parameters})
	}
	return tools
}

// paramNames maps the spellings of request parameters onto the tape's names.
var paramNames = map[string]string{
	"temperature": "temperature", "topP": "top_p", "top_p": "top_p", "topK": "top_k", "top_k": "top_k", "seed": "seed",
	"maxTokens": "max_tokens", "maxOutputTokens": "max_tokens", "max_tokens": "max_tokens", "max_output_tokens": "max_tokens", "max_completion_tokens": "max_tokens",
	"frequencyPenalty": "frequency_penalty", "frequency_penalty": "frequency_penalty",
	"presencePenalty": "presence_penalty", "presence_penalty": "presence_penalty",
	"stopSequences": "stop_sequences", "stop_sequences": "stop_sequences", "stop": "stop_sequences",
	"tool_choice": "tool_choice", "toolChoice": "tool_choice", "parallel_tool_calls": "parallel_tool_calls",
	"response_format": "response_format", "reasoning_effort": "reasoning_effort", "service_tier": "service_tier", "n": "choice_count",
}
