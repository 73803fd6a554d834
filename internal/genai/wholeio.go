// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Many producers write one attribute for all that went into a span and one for all that came out: a text, a provider's request and
// response, or the arguments and the return value of a function. These functions read such pairs.

// maxInput bounds wrappings of an input or output.
const maxInput = 4

// wholeText returns the text of a value that is a text, also when it was JSON-encoded once more.
func wholeText(v exactjson.Value) (string, bool) {
	if v.Kind() != exactjson.String {
		return "", false
	}
	text := v.Str()
	if strings.HasPrefix(text, `"`) {
		if inner, err := exactjson.Parse(strings.TrimSpace(text)); err == nil && inner.Kind() == exactjson.String {
			text = inner.Str()
		}
	}
	return text, true
}

// readWholeAgent fills an agent's input and output from one value each.
func readWholeAgent(o *Observation, in, out exactjson.Value) {
	if !in.IsAbsent() {
		o.InputData = Content{Value: in, Label: labelOf(in.Str())}
		var system []Part
		o.Input, system = inputMessages(in, 0)
		list(&o.System, system)
	}
	if !out.IsAbsent() {
		o.OutputData = Content{Value: out, Label: labelOf(out.Str())}
		o.Output = oneTurn(outputMessages(out, 0))
	}
}

// inputMessages reads what was given to an agent: a text, messages, a request, or the arguments of the function that runs it.
func inputMessages(v exactjson.Value, depth int) ([]Message, []Part) {
	inner, ok := structureOf(v)
	if !ok {
		text, ok := wholeText(v)
		if !ok || strings.TrimSpace(text) == "" || isBrokenStructure(text) {
			return nil, nil
		}
		messages, _ := messagesOf(exactjson.StringValue(text), tape.RoleUser)
		return messages, nil
	}
	if depth < maxInput && inner.Kind() == exactjson.Object {
		args, kwargs := inner.Get("args"), inner.Get("kwargs")
		switch {
		case args.Kind() == exactjson.Array && args.Len() == 1 && kwargs.Len() == 0:
			return inputMessages(args.At(0), depth+1)
		case args.Kind() == exactjson.Array && args.Len() == 0 && kwargs.Kind() == exactjson.Object:
			return inputMessages(kwargs, depth+1)
		}
		for _, name := range []string{"inputs", "input"} {
			if wrapped := inner.Get(name); wrapped.Kind() == exactjson.Object {
				return inputMessages(wrapped, depth+1)
			}
		}
	}
	if inner.Kind() == exactjson.Array && !isMessageList(inner) {
		return nil, nil
	}
	return requestOf(inner, tape.RoleUser)
}

// isBrokenStructure tells a structure that was cut or written as a Python repr from a text that happens to begin with a bracket.
func isBrokenStructure(text string) bool {
	text = strings.TrimSpace(text)
	for _, begin := range []string{`{"`, `{'`, `[{`, `["`, `['`, `[[`, "{}", "[]"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

// isMessageList tells a list of messages or parts from any other list.
func isMessageList(v exactjson.Value) bool {
	first := v.At(0)
	if first.Kind() == exactjson.Array {
		first = first.At(0)
	}
	return first.Kind() == exactjson.Object && (!first.First("role", "type", "kwargs", "message", "parts").IsAbsent())
}

// outputMessages reads what an agent or a model answered.
func outputMessages(v exactjson.Value, depth int) []Message {
	inner, ok := structureOf(v)
	if !ok {
		text, ok := wholeText(v)
		if !ok || text == "" {
			return nil
		}
		messages, _ := messagesOf(exactjson.StringValue(text), tape.RoleAssistant)
		return messages
	}
	if depth >= maxInput {
		return nil
	}
	if inner.Kind() == exactjson.Array {
		if !isMessageList(inner) {
			return nil
		}
		messages, _ := messagesOf(inner, tape.RoleAssistant)
		return lastAnswers(messages)
	}
	if !inner.Get("role").IsAbsent() || inner.Get("tool_calls").Kind() == exactjson.Array {
		m := roleMessage(inner, tape.RoleAssistant)
		if m.Role != tape.RoleAssistant {
			return nil
		}
		return []Message{m}
	}
	for _, name := range []string{"choices", "output", "outputs", "generations", "candidates", "messages", "message", "content", "return_values", "result", "response", "answer", "final_output"} {
		body := inner.Get(name)
		switch {
		case body.IsEmpty():
			continue
		case name == "generations":
			if body = body.At(0); body.Kind() == exactjson.Array {
				body = body.At(0)
			}
			return generation(body)
		case name == "candidates" && body.At(0).Get("content").Kind() == exactjson.Object: // Gemini
			m := roleMessage(body.At(0).Get("content"), tape.RoleAssistant)
			m.Role, m.FinishReason = tape.RoleAssistant, body.At(0).First("finishReason", "finish_reason").Text()
			return []Message{m}
		case name == "choices" || name == "candidates" || name == "content" || name == "message" || name == "messages":
			if body.Kind() == exactjson.String && name != "content" && name != "message" {
				continue
			}
			messages, ok := messagesOf(body, tape.RoleAssistant)
			if !ok {
				return nil
			}
			if name == "choices" && len(messages) > 1 {
				messages = messages[:1] // further choices are other answers, not further turns
			}
			return lastAnswers(messages)
		default:
			if messages := outputMessages(body, depth+1); messages != nil {
				return messages
			}
		}
	}
	if m, ok := langchainMessage(inner); ok && m.Role == tape.RoleAssistant {
		return []Message{m}
	}
	if m, ok := responseItemOf(inner); ok && m.Role == tape.RoleAssistant {
		return []Message{m}
	}
	if inner.Len() == 1 {
		if text := inner.Members()[0].Value; text.Kind() == exactjson.String && inner.Members()[0].Name == "text" {
			return []Message{{Role: tape.RoleAssistant, Parts: partsOf(text)}}
		}
	}
	return nil
}

// generation reads one LangChain generation: {text, message, generation_info}.
func generation(v exactjson.Value) []Message {
	if message := v.Get("message"); message.Kind() == exactjson.Object {
		if m, ok := langchainMessage(message); ok {
			str(&m.FinishReason, v.First("generation_info", "generationInfo").First("finish_reason", "stop_reason").Str())
			return []Message{m}
		}
		if messages, ok := messagesOf(message, tape.RoleAssistant); ok {
			return messages
		}
	}
	if text := v.Get("text").Str(); text != "" {
		return []Message{{Role: tape.RoleAssistant, Parts: partsOf(v.Get("text"))}}
	}
	return nil
}

// readWholeModel fills a model call from a provider's or framework's request and response.
func readWholeModel(o *Observation, in, out exactjson.Value) {
	str(&o.Operation, "chat")
	if request, ok := structureOf(in); ok {
		readProviderRequest(o, request)
	} else if text, ok := wholeText(in); ok && text != "" {
		o.Request, o.RequestLabel = textMessages(text, tape.RoleUser)
	}
	if response, ok := structureOf(out); ok {
		readProviderResponse(o, response)
	} else if text, ok := wholeText(out); ok && text != "" {
		o.Response, o.ResponseLabel = textMessages(text, tape.RoleAssistant)
	}
}

// textMessages makes one message of a text, unless it is JSON that was cut: of that only the whole messages at the start are kept.
func textMessages(text string, role tape.Role) ([]Message, tape.Label) {
	trimmed := strings.TrimSpace(text)
	if (strings.HasPrefix(trimmed, "{\"") || strings.HasPrefix(trimmed, "[{\"")) && !strings.HasSuffix(trimmed, "}") && !strings.HasSuffix(trimmed, "]") {
		messages, _ := messagesOf(leadingElements(trimmed), role)
		return messages, tape.Truncated
	}
	messages, _ := messagesOf(exactjson.StringValue(text), role)
	return messages, ""
}

// readProviderRequest reads messages, system prompt, tools and parameters of a request object.
func readProviderRequest(o *Observation, v exactjson.Value) {
	if inner := v.Get("kwargs"); inner.Kind() == exactjson.Object && v.Get("args").Kind() == exactjson.Array && v.Get("args").Len() == 0 {
		v = inner
	}
	if v.Kind() == exactjson.Array && !isMessageList(v) {
		if v.At(0).Kind() == exactjson.String { // a batch of prompts, of which the first counts
			o.Request, _ = messagesOf(v.At(0), tape.RoleUser)
			return
		}
		o.Request = []Message{{Role: tape.RoleUser, Parts: []Part{dataPart(v)}}}
		return
	}
	var system []Part
	o.Request, system = requestOf(v, tape.RoleUser)
	o.Tools = append(o.Tools, offeredAsMessages(v)...)
	list(&o.System, system)
	if len(o.Request) == 0 && v.Kind() == exactjson.Object {
		if prompts := v.Get("prompts"); prompts.Kind() == exactjson.Array {
			o.Request, _ = messagesOf(prompts.At(0), tape.RoleUser)
		}
	}
	if v.Kind() != exactjson.Object {
		return
	}
	list(&o.Tools, toolDefinitions(v.First("tools", "functions")))
	list(&o.Tools, toolDefinitions(v.Get("toolConfig").Get("tools")))
	str(&o.Model, v.First("model", "modelId", "model_name").Str())
	readParams(o, v)
	if config := v.First("config", "generationConfig", "inferenceConfig", "options"); config.Kind() == exactjson.Object {
		readParams(o, config)
		list(&o.Tools, toolDefinitions(config.Get("tools")))
		list(&o.System, systemOf(config.First("system_instruction", "systemInstruction")))
	}
}

// offeredAsMessages reads the tools that some handlers write among the messages, see isToolDefinition.
func offeredAsMessages(v exactjson.Value) []tape.Tool {
	elements := v
	if v.Kind() == exactjson.Object {
		elements = v.First("messages", "input")
	}
	var tools []tape.Tool
	for _, m := range elements.Members() {
		if d, ok := structureOf(m.Value.Get("content")); ok && isToolDefinition(m.Value) {
			tools = append(tools, toolDefinitions(exactjson.ArrayValue(d))...)
		}
	}
	return tools
}

// readParams takes the request parameters out of an object.
func readParams(o *Observation, v exactjson.Value) {
	for _, m := range v.Members() {
		name, ok := paramNames[m.Name]
		if n, isNumber := m.Value.Int(); isNumber && n < 0 && name == "max_tokens" {
			continue // what some packages write when no limit was set
		}
		if ok {
			o.param(name, m.Value)
		}
	}
	o.Streaming = o.Streaming || v.Get("stream").True()
}

// readProviderResponse reads the answer, its id and model, why it ended and what it cost from a response object.
func readProviderResponse(o *Observation, v exactjson.Value) {
	o.Response = oneTurn(outputMessages(v, 0))
	for i := range o.Response {
		o.Response[i].Role = tape.RoleAssistant
	}
	defer func() {
		if len(o.FinishReasons) == 0 && len(o.Response) > 0 && o.Response[0].FinishReason != "" {
			o.FinishReasons = []string{o.Response[0].FinishReason}
		}
	}()
	if v.Kind() != exactjson.Object {
		return
	}
	if v.Get("choices").Kind() == exactjson.Array || !v.First("object", "stop_reason", "usage", "modelVersion", "model").IsAbsent() {
		str(&o.ResponseID, v.First("id", "responseId").Str())
		str(&o.ResponseModel, v.First("model", "modelVersion").Str())
	}
	if reason := v.First("stop_reason", "stopReason").Str(); reason != "" {
		list(&o.FinishReasons, []string{reason})
	}
	generation := v.Get("generations").At(0)
	if generation.Kind() == exactjson.Array {
		generation = generation.At(0)
	}
	if fields := generation.Get("message"); fields.Kind() == exactjson.Object {
		if k := fields.First("kwargs", "data"); k.Kind() == exactjson.Object {
			fields = k
		}
		if id := fields.Get("id").Str(); !strings.HasPrefix(id, "run-") && !strings.HasPrefix(id, "lc_run") {
			str(&o.ResponseID, id)
		}
		metadata := fields.Get("response_metadata")
		str(&o.ResponseModel, metadata.First("model_name", "model").Str())
		fillUsage(&o.Usage, providerUsage(fields.Get("usage_metadata")))
	}
	fillUsage(&o.Usage, providerUsage(v.First("usage", "usage_metadata", "usageMetadata")))
}

// providerUsage reads a usage object of any provider's spelling.
func providerUsage(v exactjson.Value) tape.Usage {
	if inner, ok := structureOf(v); ok {
		v = inner
	}
	count := func(v exactjson.Value, names ...string) *int64 {
		for _, name := range names {
			if n, ok := countOf(v.Get(name)); ok {
				return &n
			}
		}
		return nil
	}
	first := func(a, b *int64) *int64 {
		if a != nil {
			return a
		}
		return b
	}
	inDetails := v.First("prompt_tokens_details", "input_tokens_details", "input_token_details")
	outDetails := v.First("completion_tokens_details", "output_tokens_details", "output_token_details")
	return tape.Usage{
		InputTokens:      count(v, "input_tokens", "prompt_tokens", "promptTokens", "inputTokens", "input", "promptTokenCount", "prompt_token_count"),
		OutputTokens:     count(v, "output_tokens", "completion_tokens", "completionTokens", "outputTokens", "output", "candidatesTokenCount", "candidates_token_count"),
		CacheReadTokens:  first(count(v, "cache_read_input_tokens", "input_cached_tokens", "cachedContentTokenCount", "cached_content_token_count", "input_cache_read", "cache_read_input_tokens"), count(inDetails, "cached_tokens", "cache_read")),
		CacheWriteTokens: first(count(v, "cache_creation_input_tokens", "input_cache_creation", "cache_write_input_tokens"), count(inDetails, "cache_creation", "cache_write")),
		ReasoningTokens:  first(count(v, "output_reasoning_tokens", "thoughtsTokenCount", "thoughts_token_count", "reasoning_tokens"), count(outDetails, "reasoning_tokens", "reasoning")),
	}
}

// readWholeTool fills a tool call from one value for the arguments and one for the result. A result that was recorded as JSON text
// stays text unless an envelope is taken off.
func readWholeTool(o *Observation, in, out exactjson.Value, encoded bool) {
	if o.ToolKind == "" {
		o.ToolKind = tape.ToolFunction
	}
	if !in.IsAbsent() {
		o.Args = unwrapArgs(argsContent(in))
		if v := o.Args.Value; v.Get("args").Len() == 1 && v.Get("args").Kind() == exactjson.Array && v.Get("kwargs").Len() == 0 && v.Len() <= 2 && (v.Len() == 1 || !v.Get("kwargs").IsAbsent()) {
			o.Args.Value = v.Get("args").At(0) // one argument by position: its value alone is known
			o.Args.Envelope = append(o.Args.Envelope, "python.call")
		}
		if wrapped := o.Args.Value.Get("input"); o.Args.Value.Len() == 1 && wrapped.Kind() == exactjson.String {
			// LangChain hands a tool's arguments to its tracers as one text; a text that is no object is the argument itself
			if inner := argsContent(wrapped); inner.Label == "" && inner.Value.Kind() == exactjson.Object {
				inner.Envelope = append(o.Args.Envelope, "langchain.input")
				o.Args = inner
			} else if inner.Label == tape.Lossy && strings.HasPrefix(strings.TrimSpace(wrapped.Str()), "{") {
				o.Args.Label = tape.Lossy
			}
		}
	}
	if !out.IsAbsent() {
		u := unwrapResult(resultContent(out, encoded))
		o.Result = u.content
		o.Failed = o.Failed || u.isError
		str(&o.CallID, usableID(u.callID))
	}
}
