// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package mastra reads Mastra's AI tracing.
package mastra

import (
	"math"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads Mastra's AI tracing through its OpenTelemetry exporters. A run is agent_run →
// model_generation → model_step → model_inference. The step is the model call with its input, text and tool
// calls. The generation sums up all steps.
var Dialect = &dialect.Dialect{
	ID:            "mastra",
	Name:          "Mastra",
	ScopePrefixes: []string{"@mastra/"},
	Marks:         []string{"mastra."},
	Root:          "the outermost `agent_run` or `workflow_run`",
	Rooted:        true,
	Rootless:      wasBeforeTracing,
	Switch:        "on by default (`hideInput`, `hideOutput` turn it off; Mastra's own SensitiveDataFilter masks values)",
	Classify:      classifyMastra,
	Read:          readMastra,
}

// wasBeforeTracing reports a span of the telemetry before Mastra's tracing. Steps, calls and streams have an
// operation and no type there, and no span stands for a run.
func wasBeforeTracing(s *dialect.Source) bool {
	a := decode.Attributes(s.Span.Attributes())
	return a.Has("mastra.operationId") && !a.Has("mastra.span.type")
}

func classifyMastra(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	kind := a.Text("mastra.span.type")
	if kind == "" { // early exporters: only the operation
		kind = map[string]string{
			"agent.run": "agent_run", "workflow.run": "workflow_run", "tool.execute": "tool_call", "model.step": "model_step",
			"model.chunk": "model_chunk", "chat": "chat",
		}[a.Text("gen_ai.operation.name")]
	}
	switch kind {
	case "agent_run", "workflow_run":
		return dialect.Agent, true
	case "model_step", "model_inference", "llm_step", "chat":
		return dialect.Model, false
	case "tool_call", "mcp_tool_call", "provider_tool_call":
		return dialect.Tool, false
	case "client_tool_call":
		// a tool without a function, also one that the agent does not have: the span says that it was asked
		// for, and never what came of it
		if a.Has("gen_ai.tool.call.result") || a.Has("mastra.client_tool_call.output") || a.Has("output.value") || a.Has("output") {
			return dialect.Tool, false
		}
		return dialect.Structure, false
	case "model_chunk", "llm_chunk", "generic_chunk":
		return dialect.Noise, false
	case "":
		return dialect.Unclassified, false
	default: // a generation sums up its steps; workflow steps, processors and memory hold the tree together
		return dialect.Structure, false
	}
}

func readMastra(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	kind := a.Text("mastra.span.type")
	o.InvocationID = a.Text("mastra.metadata.runId", "mastra.runId", "runId")
	o.ConversationID = a.Text("gen_ai.conversation.id", "mastra.metadata.threadId", "mastra.metadata.sessionId", "threadId", "sessionId")
	o.UserID = a.Text("mastra.metadata.userId", "mastra.metadata.resourceId", "userId")
	// the last of its exporter for Langfuse
	input := a.JSON("mastra."+kind+".input", "input", "gen_ai.prompt", "langfuse.observation.input")
	output := a.JSON("mastra."+kind+".output", "output", "gen_ai.completion", "langfuse.observation.output")
	switch o.Class {
	case dialect.Agent:
		readMastraAgent(s, a, kind, input, output, o)
	case dialect.Model:
		readMastraModel(a, input, output, o)
	case dialect.Tool:
		readMastraTool(s, a, kind, o)
	case dialect.Structure:
		if kind == "model_generation" || kind == "llm_generation" {
			o.Summary = true
			readMastraModel(a, input, output, o)
			if len(o.Request)+len(o.Response) == 0 { // its exporter of the conventions
				o.Request, _ = decode.Messages(a.JSON("gen_ai.input.messages"), tape.RoleUser)
				o.Response = decode.OneTurn(semconv.Output(a))
			}
		}
	case dialect.Noise:
		o.NoiseReason = "chunk"
	}
	if message := a.Text("error.message"); message != "" {
		o.Error = &tape.Error{Message: message}
		if t := a.Text("error.type"); t != "unknown" {
			o.Error.Type = t
		}
		if o.Error.Type == "" {
			for _, e := range s.Span.Events().All() {
				decode.FillString(&o.Error.Type, decode.Attributes(e.Attributes()).Text("exception.type"))
			}
		}
	}
}

func readMastraAgent(s *dialect.Source, a decode.Attributes, kind string, input, output exactjson.Value, o *dialect.Draft) {
	o.Agent = tape.Agent{Name: a.Text("gen_ai.agent.name", "gen_ai.workflow.name"), ID: a.Text("gen_ai.agent.id", "agent.id", "workflow.id")}
	decode.FillString(&o.Agent.Name, decode.NameAfter(s.Span.Name(), "invoke_agent ", "invoke_workflow ", "agent.", "workflow."))
	if text := a.Text("gen_ai.system_instructions", "agent.instructions"); text != "" && !decode.LooksJSON(text) {
		o.System = []decode.Part{decode.TextPart(text)}
	}
	o.Tools = decode.ToolDefinitions(a.JSON("gen_ai.tool.definitions"))
	o.InputData, o.OutputData = decode.Content{Value: input}, decode.Content{Value: output}
	if kind != "workflow_run" {
		o.Input, _ = decode.Messages(input, tape.RoleUser)
	}
	text := output
	if v, ok := decode.Structure(output); ok {
		text = v.Get("text")
	}
	if text.Kind() == exactjson.String && text.Str() != "" {
		o.Output = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text.Str())}}}
	}
}

func readMastraTool(s *dialect.Source, a decode.Attributes, kind string, o *dialect.Draft) {
	o.Name = a.Text("gen_ai.tool.name")
	decode.FillString(&o.Name, decode.NameAfter(s.Span.Name(), "execute_tool ", "tool.execute ", "client_tool_call "))
	o.CallID = decode.UsableID(a.Text("gen_ai.tool.call.id", "mastra.metadata.toolCallId"))
	o.ToolKind = tape.ToolFunction
	switch kind {
	case "mcp_tool_call":
		o.ToolKind = tape.ToolMCP
		o.Server = &tape.Server{Name: a.Text("mastra.mcp_tool_call.server_name", "mcp.server_name", "mcpServer"), Tool: o.Name}
	case "provider_tool_call":
		o.ToolKind = tape.ToolServer
	}
	if v := a.JSON("gen_ai.tool.call.arguments", "gen_ai.tool.input", "mastra."+kind+".input", "input", "input.value"); !v.IsAbsent() {
		o.Args = decode.Args(v)
		labelArgs(&o.Args)
	}
	if v := a.JSON("gen_ai.tool.call.result", "gen_ai.tool.output", "mastra."+kind+".output", "output", "output.value"); !v.IsAbsent() {
		u := decode.UnwrapResult(decode.StructuredResult(v))
		o.Result, o.Failed = u.Content, u.IsError
		mastraDamage(&o.Result)
	}
	if a.Text("error.message") != "" || a.Text("gen_ai.tool.success") == "false" {
		o.Failed = true
	}
}

// mastraDamage labels a decoded value in which Mastra's filter replaced a field, or whose integers are beyond
// what JavaScript holds: results are parsed and written again.
func mastraDamage(c *decode.Content) {
	if c.LabelMasks(); c.Label == "" && roundedInJS(c.Value) {
		c.Label = tape.Lossy
	}
}

// labelArgs labels arguments that mastraDamage tells of, and those with a text that is JSON. Mastra's filter
// of sensitive data, on by default, parses such a text and writes it again, without the model's white space.
func labelArgs(c *decode.Content) {
	if mastraDamage(c); c.Label == "" && decode.RewrittenJSON(c.Value) {
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

func readMastraModel(a decode.Attributes, input, output exactjson.Value, o *dialect.Draft) {
	o.Operation = "chat"
	o.Model, o.Provider = decode.ModelName(a.Text("gen_ai.request.model")), mastraProvider(a.Text("gen_ai.provider.name", "gen_ai.system"))
	if params, ok := decode.Structure(a.JSON("llm.invocation_parameters")); ok {
		decode.FillString(&o.Model, params.Get("model").Str())
	}
	for _, key := range []string{"mastra.metadata.modelMetadata", "modelMetadata"} {
		if metadata, ok := decode.Structure(a.JSON(key)); ok {
			decode.FillString(&o.Model, metadata.Get("modelId").Str())
			decode.FillString(&o.Provider, mastraProvider(metadata.Get("modelProvider").Str()))
		}
	}
	if v, ok := decode.Structure(input); ok && v.Get("body").Get("messages").Kind() == exactjson.Array {
		input = v.Get("body") // core before 1.0: a step shows the request as the provider got it
	}
	if v, ok := decode.Structure(input); !ok || v.Len() > 0 {
		o.Request, _ = decode.Messages(input, tape.RoleUser)
		o.RequestLabel = mastraPreviews(o.Request)
	}
	o.Response = mastraAnswer(a, output)
	body, _ := decode.Structure(a.JSON("mastra.metadata.body"))
	o.ResponseID, o.ResponseModel = body.Get("id").Str(), decode.ModelName(body.Get("model").Str())
	if len(o.Response) > 0 {
		for _, reason := range a.Texts("gen_ai.response.finish_reasons") {
			o.FinishReasons = append(o.FinishReasons, reason)
			decode.FillString(&o.Response[0].FinishReason, reason)
		}
	}
}

// mastraProvider drops the API that the AI SDK appends to a provider's name (openai.chat,
// google.generative-ai).
func mastraProvider(name string) string {
	provider, _, _ := strings.Cut(name, ".")
	return decode.Provider(provider)
}

// mastraAnswer prefers the response body of the provider, whose arguments are exact, to Mastra's summary of
// the step.
func mastraAnswer(a decode.Attributes, output exactjson.Value) []decode.Message {
	if body, ok := decode.Structure(a.JSON("mastra.metadata.body")); ok {
		if choice := body.Get("choices").At(0); choice.Get("message").Kind() == exactjson.Object {
			if messages, ok := decode.Messages(exactjson.ArrayValue(choice), tape.RoleAssistant); ok && len(messages) == 1 && len(messages[0].Parts) > 0 {
				decode.LabelRewritten(messages[0].Parts)
				return messages
			}
		}
	}
	v, ok := decode.Structure(output)
	if !ok || v.Kind() != exactjson.Object {
		if output.Kind() == exactjson.String && output.Str() != "" {
			return []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(output.Str())}}}
		}
		return nil
	}
	m := decode.Message{Role: tape.RoleAssistant}
	for _, r := range v.Get("reasoning").Members() {
		if text := r.Value.First("text", "payload").Str(); text != "" {
			m.Parts = append(m.Parts, decode.Part{Part: tape.Part{Type: tape.PartReasoning, Text: text}})
		}
	}
	if text := v.Get("text").Str(); text != "" {
		m.Parts = append(m.Parts, decode.TextPart(text))
	}
	for _, call := range v.Get("toolCalls").Members() {
		c := call.Value
		if payload := c.Get("payload"); payload.Kind() == exactjson.Object {
			c = payload
		}
		asked := decode.ToolCallPart(c)
		args := decode.Content{Value: asked.Args, Label: asked.Label, Masked: asked.Masked}
		labelArgs(&args)
		asked.Label, asked.Masked = args.Label, args.Masked
		m.Parts = append(m.Parts, asked)
	}
	if len(m.Parts) == 0 {
		return nil
	}
	return []decode.Message{m}
}

// tooDeep stands for a value that lies deeper than Mastra's exporter goes.
const tooDeep = "[MaxDepth]"

// mastraPreviews labels messages of which a step shows a preview: "[tool: search]" for a call, "[tool-result:
// …]" for a result, tooDeep for the name and the arguments of a call.
func mastraPreviews(messages []decode.Message) tape.Label {
	var label tape.Label
	for _, m := range messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			if p.Type == tape.PartToolCall && (p.Name == tooDeep || p.Args.Str() == tooDeep) {
				p.Name, p.Args = strings.TrimPrefix(p.Name, tooDeep), exactjson.Value{}
				p.Label, label = tape.Lossy, tape.Lossy
			}
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
