// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// openInference reads the OpenInference conventions: flattened messages under llm.*, and the framework's own objects as JSON in
// input.value and output.value. Neither is complete with every package: the better one of the two is read, field by field.
var openInference = &Dialect{
	ID:            "openinference",
	Name:          "OpenInference",
	ScopePrefixes: []string{"openinference.instrumentation.", "@arizeai/openinference-", "openinference-core"},
	Marks:         []string{"openinference."},
	Root:          "the outermost `AGENT`, else the outermost `CHAIN`",
	Switch:        "on by default; unset `OPENINFERENCE_HIDE_INPUTS`, `OPENINFERENCE_HIDE_OUTPUTS` and the other `OPENINFERENCE_HIDE_*`",
	classify:      classifyOpenInference,
	read:          readOpenInference,
}

var openInferenceKinds = map[string]Class{
	"LLM": Model, "AGENT": Agent, "CHAIN": Agent, "TOOL": Tool, "RETRIEVER": Retrieval,
	"RERANKER": Noise, "EMBEDDING": Noise, "GUARDRAIL": Noise, "EVALUATOR": Noise, "PROMPT": Structure,
}

func classifyOpenInference(s *Source) (Class, bool) {
	kind := attributes(s.Span.Attributes()).str("openinference.span.kind")
	class := openInferenceKinds[strings.ToUpper(kind)]
	return class, class == Agent
}

func readOpenInference(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	kind := strings.ToUpper(a.str("openinference.span.kind"))
	metadata, _ := structureOf(a.json("metadata"))
	switch o.Class {
	case Agent:
		o.WeakAgent = kind == "CHAIN"
		readOpenInferenceAgent(s, a, metadata, o)
	case Model:
		readOpenInferenceModel(a, o)
	case Tool:
		readOpenInferenceTool(s, a, o)
	case Retrieval:
		o.Name = s.Span.Name()
		o.Query = Content{Value: a.json("input.value")}
		for _, m := range a.unflatten("retrieval.documents.").Members() {
			if d := m.Value.Get("document"); !d.IsAbsent() {
				o.Documents = append(o.Documents, d)
			}
		}
	case Noise:
		o.NoiseReason = strings.ToLower(kind)
	}
}

func readOpenInferenceAgent(s *Source, a attributes, metadata exactjson.Value, o *Observation) {
	o.Agent.Name = a.str("agent.name", "graph.node.id")
	str(&o.Agent.Name, metadata.Get("lc_agent_name").Str())
	if o.Agent.Name == "" && s.Span.Name() != "Agent workflow" {
		o.Agent.Name = s.Span.Name()
	}
	o.InputData = Content{Value: a.json("input.value")}
	o.OutputData = Content{Value: a.json("output.value")}
	o.Input, _ = openInferenceBlob(o.InputData.Value, tape.RoleUser)
	o.Output = openInferenceAnswer(a)
	if out := o.OutputData.Value; len(o.Output) == 0 && out.Kind() == exactjson.String && !looksJSON(out.Str()) {
		o.Output, _ = messagesOf(out, tape.RoleAssistant)
	}
}

// openInferenceBlob reads input.value when it holds messages: a list, a request body, or a batch of prompts of which the first counts.
func openInferenceBlob(v exactjson.Value, role tape.Role) ([]Message, []Part) {
	inner, ok := structureOf(v)
	if !ok {
		if v.Kind() == exactjson.String && v.Str() != "" && !looksJSON(v.Str()) {
			messages, _ := messagesOf(v, role)
			return messages, nil
		}
		return nil, nil
	}
	return requestOf(inner, role)
}

// requestOf reads a provider's or framework's request object.
func requestOf(v exactjson.Value, role tape.Role) (messages []Message, system []Part) {
	body := v
	if v.Kind() == exactjson.Object {
		system = systemOf(v.First("system", "instructions", "system_instruction", "systemInstruction"))
		body = exactjson.Value{}
		for _, name := range []string{"messages", "contents", "input", "prompt", "prompts", "query", "question", "message", "new_message"} {
			if body = v.Get(name); !body.IsAbsent() {
				break
			}
		}
		if body.IsAbsent() {
			body = v
		}
	}
	if body.Kind() == exactjson.Array && body.At(0).Kind() == exactjson.Array {
		body = body.At(0)
	}
	messages, _ = messagesOf(body, role)
	return messages, system
}

func readOpenInferenceModel(a attributes, o *Observation) {
	o.Operation = "chat"
	flat, _ := openInferenceMessages(a.unflatten("llm.input_messages."))
	blob, system := openInferenceBlob(a.json("input.value"), tape.RoleUser)
	o.System = system
	o.Request = richer(flat, blob)
	for _, m := range flat {
		if m.Role == tape.RoleSystem && !hasRole(o.Request, tape.RoleSystem) && len(o.System) == 0 {
			o.System = append(o.System, m.Parts...)
		}
	}
	flatAnswer, _ := openInferenceMessages(a.unflatten("llm.output_messages."))
	answer, _ := structureOf(a.json("output.value"))
	o.Response = richer(oneTurn(flatAnswer), oneTurn(openInferenceAnswer(a)))
	for i := range o.Response {
		o.Response[i].Role = tape.RoleAssistant
	}
	if len(o.System) == 0 && !hasRole(o.Request, tape.RoleSystem) {
		o.System = systemOf(answer.Get("instructions"))
	}
	for _, m := range a.unflatten("llm.tools.").Members() {
		o.Tools = append(o.Tools, toolDefinitions(exactjson.ArrayValue(m.Value.Get("tool").First("json_schema", "input_schema")))...)
	}
	params, _ := structureOf(a.json("llm.invocation_parameters"))
	input, _ := structureOf(a.json("input.value"))
	responseDump := !params.Get("created_at").IsAbsent() // the Agents SDK packages write the whole response here
	for _, m := range params.Members() {
		if name, ok := paramNames[m.Name]; ok {
			o.param(name, m.Value)
		}
	}
	o.Streaming = params.Get("stream").True()
	o.ResponseID = answer.Get("id").Str()
	o.ResponseModel = answer.Get("model").Str()
	str(&o.ResponseModel, a.str("llm.response.model_name", "llm.output_model_name"))
	if generation := answer.Get("generations").At(0).At(0).Get("message"); generation.Kind() == exactjson.Object {
		fields := generation
		if k := generation.First("kwargs", "data"); k.Kind() == exactjson.Object {
			fields = k
		}
		if id := fields.Get("id").Str(); !strings.HasPrefix(id, "run-") {
			str(&o.ResponseID, id)
		}
		str(&o.ResponseModel, fields.Get("response_metadata").First("model_name", "model").Str())
	}
	o.Model = a.str("llm.request.model_name", "llm.input_model_name")
	if !responseDump {
		str(&o.Model, params.First("model", "model_name", "modelId").Str())
	}
	str(&o.Model, input.Get("model").Str())
	if name := a.str("llm.model_name"); name != o.ResponseModel {
		str(&o.Model, name)
	}
	o.Provider = providerOf(a.str("llm.provider", "llm.system"))
	if reason := a.str("llm.finish_reason"); reason != "" {
		o.FinishReasons = []string{reason}
	} else if reasons := a.strings("llm.finish_reasons"); reasons != nil {
		o.FinishReasons = reasons
	}
	o.Usage = tape.Usage{
		InputTokens:      a.count("llm.token_count.prompt"),
		OutputTokens:     a.count("llm.token_count.completion"),
		CacheReadTokens:  a.count("llm.token_count.prompt_details.cache_read"),
		CacheWriteTokens: a.count("llm.token_count.prompt_details.cache_write"),
		ReasoningTokens:  a.count("llm.token_count.completion_details.reasoning"),
	}
}

func hasRole(messages []Message, role tape.Role) bool {
	for _, m := range messages {
		if m.Role == role {
			return true
		}
	}
	return false
}

// openInferenceMessages reads the flattened list: each element is {message: {role, content, contents, tool_calls, …}}.
func openInferenceMessages(v exactjson.Value) ([]Message, bool) {
	var out []Message
	for _, m := range v.Members() {
		fields := m.Value.Get("message")
		if fields.Kind() != exactjson.Object {
			continue
		}
		role := roleOf(fields.Get("role").Str())
		if role == tape.RoleTool || !fields.Get("tool_call_id").IsAbsent() {
			body := fields.Get("content")
			if body.IsAbsent() {
				body = exactjson.ArrayValue(contentsOf(fields)...)
			}
			out = append(out, Message{Role: tape.RoleTool, Parts: []Part{resultPart(textOfID(fields.Get("tool_call_id")), fields.Get("name").Str(), body, false)}})
			continue
		}
		var parts []Part
		if contents := contentsOf(fields); len(contents) > 0 {
			parts = partsOf(exactjson.ArrayValue(contents...))
		} else {
			parts = partsOf(fields.Get("content"))
		}
		if calls := fields.Get("tool_calls"); calls.Kind() == exactjson.Array && !hasCallParts(parts) {
			parts = append(parts, chatCalls(calls)...)
		} else if name := fields.Get("function_call_name").Str(); name != "" {
			parts = append(parts, callPart("", name, fields.Get("function_call_arguments_json")))
		}
		out = append(out, messageWith(role, fields.Get("name").Str(), parts))
	}
	return out, len(out) > 0
}

// contentsOf returns the ordered parts of a flattened message without the wrapper around each.
func contentsOf(fields exactjson.Value) []exactjson.Value {
	var out []exactjson.Value
	for _, m := range fields.Get("contents").Members() {
		part := m.Value
		if inner := part.Get("message_content"); inner.Kind() == exactjson.Object {
			part = inner
		}
		if image := part.Get("image"); image.Get("image").Kind() == exactjson.Object {
			part = exactjson.ObjectValue(exactjson.Member{Name: "type", Value: exactjson.StringValue("image")}, exactjson.Member{Name: "image_url", Value: image.Get("image").Get("url")})
		}
		if call := m.Value.Get("tool_call"); call.Kind() == exactjson.Object {
			part = exactjson.ObjectValue(exactjson.Member{Name: "type", Value: exactjson.StringValue("tool_call")}, exactjson.Member{Name: "id", Value: call.Get("id")}, exactjson.Member{Name: "function", Value: call.Get("function")})
		}
		out = append(out, part)
	}
	return out
}

// openInferenceAnswer reads the answer from output.value: a completion, a response object, generations or a list of messages, of
// which only what came after the input counts.
func openInferenceAnswer(a attributes) []Message {
	v, ok := structureOf(a.json("output.value"))
	if !ok {
		return nil
	}
	for _, name := range []string{"choices", "output", "generations", "candidates", "messages", "content", "message"} {
		body := v.Get(name)
		if name == "generations" {
			body = body.At(0)
			if body.Kind() == exactjson.Array {
				body = body.At(0)
			}
		}
		if body.Kind() != exactjson.Array && body.Kind() != exactjson.Object {
			continue
		}
		messages, ok := messagesOf(body, tape.RoleAssistant)
		if !ok {
			continue
		}
		return lastAnswers(messages)
	}
	return nil
}

// lastAnswers returns the assistant messages at the end of a list.
func lastAnswers(messages []Message) []Message {
	start := len(messages)
	for start > 0 && messages[start-1].Role == tape.RoleAssistant {
		start--
	}
	return messages[start:]
}

// richer returns the list that lacks less: messages without content, calls without id. The flattened list wins a tie.
func richer(flat, blob []Message) []Message {
	if len(flat) == 0 {
		return blob
	}
	if len(blob) == 0 || gaps(blob) >= gaps(flat) || parts(blob) < parts(flat)-systemParts0(flat) {
		return flat
	}
	return blob
}

func gaps(messages []Message) int {
	n := 0
	for _, m := range messages {
		if len(m.Parts) == 0 {
			n += 2
		}
		for _, p := range m.Parts {
			if (p.Type == tape.PartToolCall || p.Type == tape.PartToolResult) && p.ID == "" {
				n++
			}
		}
	}
	return n
}

func parts(messages []Message) int {
	n := 0
	for _, m := range messages {
		n += len(m.Parts)
	}
	return n
}

func systemParts0(messages []Message) int {
	if len(messages) > 0 && messages[0].Role == tape.RoleSystem {
		return len(messages[0].Parts)
	}
	return 0
}

func readOpenInferenceTool(s *Source, a attributes, o *Observation) {
	o.Name = a.str("tool.name")
	str(&o.Name, s.Span.Name())
	o.CallID = usableID(a.str("tool.id", "tool_call.id", "tool.call_id"))
	o.ToolKind = tape.ToolFunction
	if strings.HasPrefix(s.Span.Name(), "handoff to ") || strings.HasPrefix(o.Name, "handoff_to_") || strings.HasPrefix(o.Name, "handoff to ") {
		o.Handoff = true
	}
	if v := a.json("input.value"); !v.IsAbsent() {
		o.Args = unwrapArgs(argsContent(v))
	} else if v, ok := structureOf(a.json("tool.parameters")); ok && !isSchema(v) {
		o.Args = Content{Value: v}
	}
	if v := a.json("output.value"); !v.IsAbsent() {
		u := unwrapResult(resultContent(v, false))
		o.Result = u.content
		o.Failed = u.isError
		str(&o.CallID, u.callID)
	}
}

// isSchema tells a JSON schema or a map of parameter descriptions from arguments.
func isSchema(v exactjson.Value) bool {
	if v.Get("properties").Kind() == exactjson.Object || v.Get("json_schema").Kind() == exactjson.Object {
		return true
	}
	for _, m := range v.Members() {
		if m.Value.Kind() != exactjson.Object || m.Value.First("type", "description").IsAbsent() {
			return false
		}
	}
	return v.Len() > 0
}
