// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// semconv reads the OpenTelemetry GenAI conventions of every generation: attributes, span events and log records, and everything
// that borrows their names.
var semconv = &Dialect{
	ID:       "otel-genai",
	Name:     "OpenTelemetry GenAI semantic conventions",
	Marks:    []string{"gen_ai."},
	Root:     "the outermost `invoke_agent` or `invoke_workflow`",
	Switch:   "`OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY` (older packages: `true`, content then comes in log records)",
	classify: classifySemconv,
	read:     func(s *Source, o *Observation) { readSemconv(s, o, false) },
}

// vercelGenAI is the AI SDK v7 in its GenAI mode: the conventions, with every tool result JSON-encoded.
var vercelGenAI = &Dialect{
	ID:       "vercel-ai-genai",
	Name:     "Vercel AI SDK v7 (gen_ai)",
	Scopes:   []string{"gen_ai"},
	Rooted:   true,
	Root:     "`invoke_agent`",
	Encoded:  true,
	Switch:   "`recordInputs` and `recordOutputs` of the telemetry integration",
	classify: classifySemconv,
	read:     func(s *Source, o *Observation) { readSemconv(s, o, true) },
}

var operationClasses = map[string]Class{
	"chat": Model, "text_completion": Model, "generate_content": Model, "chat.completions": Model, "completion": Model, "responses": Model,
	"execute_tool": Tool, "tool.execute": Tool,
	"invoke_agent": Agent, "invoke_workflow": Agent, "agent.run": Agent, "workflow.run": Agent,
	"retrieval":  Retrieval,
	"embeddings": Noise, "create_agent": Structure, "agent_step": Structure, "plan": Structure, "handoff": Tool, "orchestrate_tools": Structure,
	"execute_task": Structure, "tool_selection": Structure, "framework": Structure,
}

// namePrefixes classify a span by its name where no attribute does.
var namePrefixes = []struct {
	prefix string
	class  Class
}{
	{"invoke_agent", Agent}, {"invoke_workflow", Agent}, {"execute_tool", Tool}, {"tools/call", Tool}, {"running tool", Tool},
	{"chat ", Model}, {"text_completion ", Model}, {"generate_content ", Model},
}

func classifySemconv(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	class := Unclassified
	if op := a.str("gen_ai.operation.name"); op != "" {
		class = operationClasses[op]
	}
	if class == Unclassified {
		if method := a.str("mcp.method.name"); method != "" {
			if method != "tools/call" {
				return Noise, false
			}
			class = Tool
		}
	}
	if class == Unclassified {
		for _, p := range namePrefixes {
			if strings.HasPrefix(s.Span.Name(), p.prefix) {
				class = p.class
				break
			}
		}
	}
	if class == Unclassified {
		model := a.has("gen_ai.request.model") || a.has("gen_ai.response.model") || a.has("gen_ai.usage.input_tokens") || hasMessages(a)
		switch {
		case !model && (a.has("gen_ai.tool.name") || a.has("gen_ai.tool.call.id")):
			class = Tool
		case model:
			class = Model
		}
	}
	return class, class == Agent
}

func hasMessages(a attributes) bool {
	return a.has("gen_ai.input.messages") || a.has("gen_ai.output.messages") || a.has("gen_ai.prompt") || a.has("gen_ai.completion")
}

func readSemconv(s *Source, o *Observation, encoded bool) {
	a := attributes(s.Span.Attributes())
	o.Agent = tape.Agent{Name: a.str("gen_ai.agent.name"), ID: a.str("gen_ai.agent.id"), Version: a.str("gen_ai.agent.version"), Description: a.str("gen_ai.agent.description")}
	events := eventsOf(s)
	switch o.Class {
	case Agent:
		str(&o.Agent.Name, a.str("gen_ai.workflow.name"))
		if o.Agent.Name == "" {
			o.Agent.Name = nameAfter(s.Span.Name(), "invoke_agent ", "invoke_workflow ")
		}
		o.System = systemParts(a, o)
		o.Input, _ = messagesOf(a.json("gen_ai.input.messages"), tape.RoleUser)
		o.Output = oneTurn(semconvOutput(a))
		external(a, "gen_ai.input.messages", o) // of a run there is no message to put in its place: a text would be invented
		external(a, "gen_ai.output.messages", o)
		external(a, "gen_ai.tool.definitions", o)
		readEvents(events, o, &o.Input, &o.Output)
	case Model:
		readSemconvModel(a, o)
		readEvents(events, o, &o.Request, &o.Response)
		o.Response = oneTurn(o.Response)
	case Tool:
		readSemconvTool(s, a, events, o, encoded)
	case Retrieval:
		o.Name = nameAfter(s.Span.Name(), "retrieval ")
		o.Query = Content{Value: a.json("gen_ai.retrieval.query.text", "gen_ai.retrieval.query")}
		if docs, ok := structureOf(a.json("gen_ai.retrieval.documents")); ok && docs.Kind() == exactjson.Array {
			for _, m := range docs.Members() {
				o.Documents = append(o.Documents, m.Value)
			}
		}
	case Noise:
		o.NoiseReason = a.str("gen_ai.operation.name")
		str(&o.NoiseReason, a.str("mcp.method.name"))
	}
}

func nameAfter(name string, prefixes ...string) string {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func systemParts(a attributes, o *Observation) []Part {
	if p, ok := external(a, "gen_ai.system_instructions", o); ok {
		return []Part{p}
	}
	return systemOf(a.json("gen_ai.system_instructions"))
}

func systemOf(v exactjson.Value) []Part {
	if v.IsEmpty() {
		return nil
	}
	if inner, ok := structureOf(v); ok {
		v = inner
	}
	if v.Kind() == exactjson.Array && v.At(0).Get("role").Kind() == exactjson.String {
		var parts []Part
		messages, _ := messagesOf(v, tape.RoleSystem)
		for _, m := range messages {
			parts = append(parts, m.Parts...)
		}
		return parts
	}
	if v.Kind() == exactjson.Object && v.Get("parts").Kind() == exactjson.Array {
		v = v.Get("parts")
	}
	return partsOf(v)
}

func semconvOutput(a attributes) []Message {
	messages, _ := messagesOf(a.json("gen_ai.output.messages"), tape.RoleAssistant)
	for i := range messages {
		if messages[i].Role == tape.RoleUser {
			messages[i].Role = tape.RoleAssistant // an answer without a role of its own
		}
	}
	return messages
}

// oneTurn joins the output messages of one model call: they are items of one answer, not turns.
func oneTurn(messages []Message) []Message {
	if len(messages) < 2 {
		return messages
	}
	joined := Message{Role: tape.RoleAssistant}
	for _, m := range messages {
		joined.Parts = append(joined.Parts, m.Parts...)
		str(&joined.FinishReason, m.FinishReason)
	}
	return []Message{joined}
}

var providerAliases = map[string]string{"openai": "openai", "anthropic": "anthropic", "azure": "azure.ai.openai", "xai": "x_ai"}

// frameworks stand in the provider's place with some instrumentations.
var frameworks = map[string]bool{
	"langchain": true, "langgraph": true, "strands-agents": true, "strands": true, "mastra": true, "haystack": true, "autogen": true, "spring_ai": true, "crewai": true,
	"microsoft.agent_framework": true, "trpc.go.agent": true, "gcp.vertex.agent": true, "unknown": true,
}

func providerOf(name string) string {
	name = strings.ToLower(name)
	if frameworks[name] {
		return ""
	}
	if alias, ok := providerAliases[name]; ok {
		return alias
	}
	return name
}

func modelName(name string) string {
	if name == "unknown" {
		return ""
	}
	return name
}

func readSemconvModel(a attributes, o *Observation) {
	o.Operation = a.str("gen_ai.operation.name")
	o.Model = modelName(a.str("gen_ai.request.model"))
	o.Provider = providerOf(a.str("gen_ai.provider.name", "gen_ai.system"))
	o.ResponseID, o.ResponseModel = a.str("gen_ai.response.id"), modelName(a.str("gen_ai.response.model"))
	o.FinishReasons = a.strings("gen_ai.response.finish_reasons")
	if len(o.FinishReasons) == 0 {
		o.FinishReasons = a.strings("gen_ai.response.finish_reason")
	}
	for key, v := range a.all() {
		if name, ok := strings.CutPrefix(key, "gen_ai.request."); ok {
			if canonical, ok := paramNames[name]; ok {
				p := jsonOf(v)
				if canonical == "stop_sequences" {
					if texts := textsOf(p); p.Kind() == exactjson.String && texts != nil {
						p = textArray(texts)
					}
				}
				o.param(canonical, p)
			}
		}
	}
	o.param("seed", a.json("gen_ai.openai.request.seed", "openai.request.seed"))
	o.param("choice_count", a.json("gen_ai.request.choice.count"))
	o.param("output_type", a.json("gen_ai.output.type"))
	o.param("response_format", a.json("gen_ai.openai.request.response_format", "openai.request.response_format"))
	o.param("service_tier", a.json("openai.request.service_tier", "gen_ai.openai.request.service_tier"))
	o.Streaming = a.str("gen_ai.request.stream") == "true"
	o.System = systemParts(a, o)
	o.Tools = toolDefinitions(a.json("gen_ai.tool.definitions"))
	external(a, "gen_ai.tool.definitions", o)
	o.Request, o.RequestLabel = labelledMessages(a, "gen_ai.input.messages", tape.RoleUser, o)
	o.Response, o.ResponseLabel = labelledMessages(a, "gen_ai.output.messages", tape.RoleAssistant, o)
	if len(o.Request) == 0 {
		o.Request, _ = messagesOf(a.json("gen_ai.prompt"), tape.RoleUser)
	}
	if len(o.Response) == 0 {
		o.Response, _ = messagesOf(a.json("gen_ai.completion"), tape.RoleAssistant)
	}
	o.Usage = tape.Usage{
		InputTokens:      a.count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
		OutputTokens:     a.count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
		CacheReadTokens:  a.count("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.cached_input_tokens"),
		CacheWriteTokens: a.count("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens", "gen_ai.usage.cache_write_input_tokens"),
		ReasoningTokens:  a.count("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
	}
}

// labelledMessages reads a message list; one that was cut or stands elsewhere is labelled.
func labelledMessages(a attributes, key string, role tape.Role, o *Observation) ([]Message, tape.Label) {
	v := a.json(key)
	if v.IsAbsent() {
		if p, ok := external(a, key, o); ok {
			return []Message{{Role: role, Parts: []Part{p}}}, tape.External
		}
		return nil, ""
	}
	if v.Kind() == exactjson.String && looksJSON(v.Str()) {
		text := strings.TrimSpace(v.Str())
		if parsed, err := exactjson.Parse(text); err == nil {
			v = parsed
		} else if parsed, lossy, ok := parsePython(text); ok && !lossy {
			v = parsed
		} else if startsStructure(text) {
			messages, _ := messagesOf(leadingElements(text), role)
			return messages, tape.Truncated
		}
	}
	messages, ok := messagesOf(v, role)
	if !ok && !v.IsEmpty() {
		return []Message{{Role: role, Parts: []Part{dataPart(v)}}}, ""
	}
	return messages, ""
}

// startsStructure tells the beginning of a JSON list or object from a text in brackets.
func startsStructure(text string) bool {
	rest := strings.TrimLeft(text[1:], " \t\r\n")
	return rest == "" || strings.ContainsRune("{[\"", rune(rest[0]))
}

func textArray(texts []string) exactjson.Value {
	values := make([]exactjson.Value, len(texts))
	for i, t := range texts {
		values[i] = exactjson.StringValue(t)
	}
	return exactjson.ArrayValue(values...)
}

func readSemconvTool(s *Source, a attributes, events []event, o *Observation, encoded bool) {
	o.Name = a.str("gen_ai.tool.name", "tool.name", "mcp.tool.name")
	str(&o.Name, nameAfter(s.Span.Name(), "execute_tool ", "tools/call ", "running tool: "))
	o.CallID = usableID(a.str("gen_ai.tool.call.id", "gen_ai.tool.call_id"))
	switch a.str("gen_ai.tool.type") {
	case "extension":
		o.ToolKind = tape.ToolServer
	case "function":
		o.ToolKind = tape.ToolFunction
	}
	if method := a.str("mcp.method.name"); method != "" {
		o.ToolKind, o.MCPLeg = tape.ToolMCP, true
	}
	o.Handoff = a.str("gen_ai.operation.name") == "handoff"
	if v := a.json("gen_ai.tool.call.arguments", "gen_ai.tool.input", "gen_ai.tool.args"); !v.IsAbsent() {
		o.Args = unwrapArgs(argsContent(v))
	}
	if v := a.json("gen_ai.tool.call.result", "gen_ai.tool.output"); !v.IsAbsent() {
		u := unwrapResult(resultContent(v, encoded))
		o.Result = u.content
		o.Failed = o.Failed || u.isError
		str(&o.CallID, u.callID)
	}
	for _, e := range events {
		switch e.name {
		case "gen_ai.tool.message", "gen_ai.tool.input":
			content(&o.Args, argsContent(e.fields.First("content", "gen_ai.tool.call.arguments")))
			str(&o.CallID, textOfID(e.fields.First("id", "tool_call_id")))
		case "gen_ai.choice", "gen_ai.tool.output", "tool.output":
			u := unwrapResult(resultContent(e.fields.First("message", "content", "output", "gen_ai.tool.call.result"), encoded))
			content(&o.Result, u.content)
			o.Failed = o.Failed || u.isError
			str(&o.CallID, textOfID(e.fields.First("id", "tool_call_id")))
		}
	}
	if a.str("error.type") != "" {
		o.Failed = true
	}
}

// unwrapArgs takes off what frameworks put around arguments.
func unwrapArgs(c Content) Content {
	v := c.Value
	if v.Kind() != exactjson.Object {
		return c
	}
	switch {
	case !v.Get("input_str").IsAbsent():
		if inputs := v.Get("inputs"); inputs.Kind() == exactjson.Object {
			c.Value = inputs
		} else {
			inner := argsContent(v.Get("input_str"))
			inner.Envelope = c.Envelope
			c = inner
		}
		c.Envelope = append(c.Envelope, "langchain.input")
	case v.Len() == 2 && v.Get("tool_name").Kind() == exactjson.String && !v.Get("arguments").IsAbsent():
		inner := argsContent(v.Get("arguments"))
		inner.Envelope = append(c.Envelope, "mcp.call")
		c = inner
	case v.Get("args").Kind() == exactjson.Array && v.Get("args").Len() == 0 && v.Get("kwargs").Kind() == exactjson.Object:
		c.Value = v.Get("kwargs")
		c.Envelope = append(c.Envelope, "python.call")
	}
	return c
}
