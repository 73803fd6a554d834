// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"math"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// mastra reads Mastra's AI tracing through its OpenTelemetry exporters. A run is agent_run → model_generation → model_step →
// model_inference; the step is the model call with its input, text and tool calls, the generation sums up all steps.
var mastra = &Dialect{
	ID:            "mastra",
	Name:          "Mastra",
	ScopePrefixes: []string{"@mastra/"},
	Marks:         []string{"mastra."},
	Root:          "the outermost `agent_run` or `workflow_run`",
	Rooted:        true,
	Switch:        "on by default (`hideInput`, `hideOutput` turn it off; Mastra's own SensitiveDataFilter masks values)",
	classify:      classifyMastra,
	read:          readMastra,
}

func classifyMastra(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	kind := a.str("mastra.span.type")
	if kind == "" { // early exporters: only the operation
		kind = map[string]string{
			"agent.run": "agent_run", "workflow.run": "workflow_run", "tool.execute": "tool_call", "model.step": "model_step",
			"model.chunk": "model_chunk", "chat": "chat",
		}[a.str("gen_ai.operation.name")]
	}
	switch kind {
	case "agent_run", "workflow_run":
		return Agent, true
	case "model_step", "model_inference", "llm_step", "chat":
		return Model, false
	case "tool_call", "mcp_tool_call", "provider_tool_call", "client_tool_call":
		return Tool, false
	case "model_chunk", "llm_chunk", "generic_chunk":
		return Noise, false
	case "":
		return Unclassified, false
	default: // a generation sums up its steps; workflow steps, processors and memory hold the tree together
		return Structure, false
	}
}

func readMastra(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	kind := a.str("mastra.span.type")
	o.InvocationID = a.str("mastra.metadata.runId", "mastra.runId", "runId")
	o.ConversationID = a.str("gen_ai.conversation.id", "mastra.metadata.threadId", "mastra.metadata.sessionId", "threadId", "sessionId")
	o.UserID = a.str("mastra.metadata.userId", "mastra.metadata.resourceId", "userId")
	input := a.json("mastra."+kind+".input", "input", "gen_ai.prompt")
	output := a.json("mastra."+kind+".output", "output", "gen_ai.completion")
	switch o.Class {
	case Agent:
		o.Agent = tape.Agent{Name: a.str("gen_ai.agent.name", "gen_ai.workflow.name"), ID: a.str("gen_ai.agent.id", "agent.id", "workflow.id")}
		str(&o.Agent.Name, nameAfter(s.Span.Name(), "invoke_agent ", "invoke_workflow ", "agent.", "workflow."))
		if text := a.str("gen_ai.system_instructions", "agent.instructions"); text != "" && !looksJSON(text) {
			o.System = []Part{textPart(text)}
		}
		o.InputData, o.OutputData = Content{Value: input}, Content{Value: output}
		if kind != "workflow_run" {
			o.Input, _ = messagesOf(input, tape.RoleUser)
		}
		if v, ok := structureOf(output); ok {
			if text := v.Get("text"); text.Kind() == exactjson.String && text.Str() != "" {
				o.Output = []Message{{Role: tape.RoleAssistant, Parts: []Part{textPart(text.Str())}}}
			}
		} else if output.Kind() == exactjson.String && output.Str() != "" {
			o.Output = []Message{{Role: tape.RoleAssistant, Parts: []Part{textPart(output.Str())}}}
		}
	case Model:
		readMastraModel(a, input, output, o)
	case Tool:
		o.Name = a.str("gen_ai.tool.name")
		str(&o.Name, nameAfter(s.Span.Name(), "execute_tool ", "tool.execute "))
		o.CallID = usableID(a.str("gen_ai.tool.call.id", "mastra.metadata.toolCallId"))
		o.ToolKind = tape.ToolFunction
		switch {
		case kind == "mcp_tool_call":
			o.ToolKind = tape.ToolMCP
			o.Server = &tape.Server{Name: a.str("mastra.mcp_tool_call.server_name", "mcp.server_name", "mcpServer"), Tool: o.Name}
		case kind == "provider_tool_call":
			o.ToolKind = tape.ToolServer
		}
		if v := a.json("gen_ai.tool.call.arguments", "gen_ai.tool.input", "mastra."+kind+".input", "input"); !v.IsAbsent() {
			o.Args = argsContent(v)
			o.Args.scrubbed()
		}
		if v := a.json("gen_ai.tool.call.result", "gen_ai.tool.output", "mastra."+kind+".output", "output"); !v.IsAbsent() {
			u := unwrapResult(structuredResult(v))
			o.Result, o.Failed = u.content, u.isError
			mastraDamage(&o.Result)
		}
		if message := a.str("error.message"); message != "" || a.str("gen_ai.tool.success") == "false" {
			o.Failed = true
		}
	case Structure:
		if kind == "model_generation" || kind == "llm_generation" {
			o.Summary = true
			readMastraModel(a, input, output, o)
		}
	case Noise:
		o.NoiseReason = "chunk"
	}
	if message := a.str("error.message"); message != "" {
		o.Error = &tape.Error{Message: message}
		if t := a.str("error.type"); t != "unknown" {
			o.Error.Type = t
		}
		if o.Error.Type == "" {
			for _, e := range s.Span.Events().All() {
				str(&o.Error.Type, attributes(e.Attributes()).str("exception.type"))
			}
		}
	}
}

// mastraDamage labels a decoded value in which Mastra's filter replaced a field, or whose integers are beyond what JavaScript holds:
// results are parsed and written again.
func mastraDamage(c *Content) {
	switch {
	case c.Label != "":
	case strings.Contains(c.Value.JSON(), `"[REDACTED]"`):
		c.Label, c.Masked = tape.Lossy, true
	case roundedInJS(c.Value):
		c.Label = tape.Lossy
	}
}

// roundedInJS reports an integer that JavaScript may have rounded.
func roundedInJS(v exactjson.Value) bool {
	if v.Kind() == exactjson.Number {
		f, ok := v.Float()
		return ok && math.Abs(f) >= 1<<53 && math.Abs(f) < 1e21
	}
	for _, m := range v.Members() {
		if roundedInJS(m.Value) {
			return true
		}
	}
	return false
}

func readMastraModel(a attributes, input, output exactjson.Value, o *Observation) {
	o.Operation = "chat"
	o.Model, o.Provider = modelName(a.str("gen_ai.request.model")), mastraProvider(a.str("gen_ai.provider.name", "gen_ai.system"))
	for _, key := range []string{"mastra.metadata.modelMetadata", "modelMetadata"} {
		if metadata, ok := structureOf(a.json(key)); ok {
			str(&o.Model, metadata.Get("modelId").Str())
			str(&o.Provider, mastraProvider(metadata.Get("modelProvider").Str()))
		}
	}
	if v, ok := structureOf(input); !ok || v.Len() > 0 {
		o.Request, _ = messagesOf(input, tape.RoleUser)
		o.RequestLabel = mastraPreviews(o.Request)
	}
	o.Response = mastraAnswer(a, output)
	body, _ := structureOf(a.json("mastra.metadata.body"))
	o.ResponseID, o.ResponseModel = body.Get("id").Str(), modelName(body.Get("model").Str())
	if len(o.Response) > 0 {
		for _, reason := range a.strings("gen_ai.response.finish_reasons") {
			o.FinishReasons = append(o.FinishReasons, reason)
			str(&o.Response[0].FinishReason, reason)
		}
	}
}

// mastraProvider drops the API that the AI SDK appends to a provider's name (openai.chat, google.generative-ai).
func mastraProvider(name string) string {
	provider, _, _ := strings.Cut(name, ".")
	return providerOf(provider)
}

// mastraAnswer prefers the provider's own response body, whose arguments are exact, to Mastra's summary of the step.
func mastraAnswer(a attributes, output exactjson.Value) []Message {
	if body, ok := structureOf(a.json("mastra.metadata.body")); ok {
		if choice := body.Get("choices").At(0); choice.Get("message").Kind() == exactjson.Object {
			if messages, ok := messagesOf(exactjson.ArrayValue(choice), tape.RoleAssistant); ok && len(messages) == 1 && len(messages[0].Parts) > 0 {
				return messages
			}
		}
	}
	v, ok := structureOf(output)
	if !ok || v.Kind() != exactjson.Object {
		if output.Kind() == exactjson.String && output.Str() != "" {
			return []Message{{Role: tape.RoleAssistant, Parts: []Part{textPart(output.Str())}}}
		}
		return nil
	}
	m := Message{Role: tape.RoleAssistant}
	for _, r := range v.Get("reasoning").Members() {
		if text := r.Value.First("text", "payload").Str(); text != "" {
			m.Parts = append(m.Parts, Part{Part: tape.Part{Type: tape.PartReasoning, Text: text}})
		}
	}
	if text := v.Get("text").Str(); text != "" {
		m.Parts = append(m.Parts, textPart(text))
	}
	for _, call := range v.Get("toolCalls").Members() {
		c := call.Value
		if payload := c.Get("payload"); payload.Kind() == exactjson.Object {
			c = payload
		}
		m.Parts = append(m.Parts, toolCallPart(c))
	}
	if len(m.Parts) == 0 {
		return nil
	}
	return []Message{m}
}

// mastraPreviews labels the messages of which a step shows only a preview: "[tool: search]" stands for a call, "[tool-result: …]" for
// a result.
func mastraPreviews(messages []Message) tape.Label {
	var label tape.Label
	for _, m := range messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			text := p.Text
			if p.Type == tape.PartToolResult {
				text = p.Result.Str()
			}
			if strings.Contains(text, "[tool: ") || strings.Contains(text, "[tool-result: ") || strings.HasSuffix(text, "[file]") {
				p.Label, label = tape.Lossy, tape.Lossy
			}
		}
	}
	return label
}
