// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ToolDefinitions reads the tools that a request offers, in any provider's shape: a list of objects, or of JSON texts.
func ToolDefinitions(v exactjson.Value) []tape.Tool {
	list, ok := Structure(v)
	if !ok {
		return nil
	}
	var tools []tape.Tool
	for _, m := range list.Members() {
		d, ok := Structure(m.Value)
		if !ok {
			if name := m.Value.Str(); name != "" {
				tools = append(tools, tape.Tool{Name: name})
			}
			continue
		}
		if declarations := d.First("function_declarations", "functionDeclarations"); declarations.Kind() == exactjson.Array {
			tools = append(tools, ToolDefinitions(declarations)...)
			continue
		}
		if inner := d.First("function", "toolSpec", "tool"); inner.Kind() == exactjson.Object {
			d = inner
		}
		parameters := d.First("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema", "schema")
		if inner, ok := Structure(parameters); ok {
			parameters = inner
			if wrapped := inner.First("json", "jsonSchema"); wrapped.Kind() == exactjson.Object && inner.Len() == 1 {
				parameters = wrapped
			}
		}
		name := d.First("name", "type").Str()
		if name == "" && list.Kind() == exactjson.Object && parameters.Kind() == exactjson.Object {
			name = m.Name // tools by their names, as the AI SDK takes them
		}
		if name == "" {
			continue
		}
		tools = append(tools, tape.Tool{Name: name, Description: d.Get("description").Str(), Parameters: parameters})
	}
	return tools
}

// ParamNames maps the recorded names of request parameters to the names on the tape.
var ParamNames = map[string]string{
	"temperature": "temperature", "topP": "top_p", "top_p": "top_p", "topK": "top_k", "top_k": "top_k", "seed": "seed",
	"maxTokens": "max_tokens", "maxOutputTokens": "max_tokens", "max_tokens": "max_tokens", "max_output_tokens": "max_tokens", "max_completion_tokens": "max_tokens",
	"frequencyPenalty": "frequency_penalty", "frequency_penalty": "frequency_penalty",
	"presencePenalty": "presence_penalty", "presence_penalty": "presence_penalty",
	"stopSequences": "stop_sequences", "stop_sequences": "stop_sequences", "stop": "stop_sequences",
	"tool_choice": "tool_choice", "toolChoice": "tool_choice", "parallel_tool_calls": "parallel_tool_calls",
	"response_format": "response_format", "reasoning_effort": "reasoning_effort", "service_tier": "service_tier", "n": "choice_count",
}

// IsSchema reports whether a value is a JSON schema or a map of parameter descriptions. Otherwise it may be arguments.
func IsSchema(v exactjson.Value) bool {
	if v.Get("properties").Kind() == exactjson.Object || v.Get("json_schema").Kind() == exactjson.Object {
		return true
	}
	for _, m := range v.Members() {
		if m.Value.Kind() != exactjson.Object || !describesParameter(m.Value) {
			return false
		}
	}
	return v.Len() > 0
}

// describesParameter reports an object that names the type of a value, or several, or describes it without one. An argument may have a member named type too.
func describesParameter(v exactjson.Value) bool {
	switch kind := v.Get("type"); kind.Kind() {
	case exactjson.Absent:
		return v.Get("description").Kind() == exactjson.String
	case exactjson.String:
		return namesType(kind) || v.Get("description").Kind() == exactjson.String
	case exactjson.Array:
		return kind.Len() > 0 && !slices.ContainsFunc(kind.Members(), func(m exactjson.Member) bool { return !namesType(m.Value) })
	default:
		return false
	}
}

// typeName is a type as JSON schemas, Python and Google's API name it.
var typeName = regexp.MustCompile(`(?i)^(object|array|string|number|integer|boolean|null|any|str|int|float|double|bool|list|dict|tuple|set|none|enum|(list|dict|optional|union|literal|array|map|tuple|sequence)[<\[].*|.*\|.*)$`)

func namesType(v exactjson.Value) bool {
	return v.Kind() == exactjson.String && typeName.MatchString(v.Str())
}

// RequestMessages reads the messages and the system prompt from the request object of a provider or framework. A message without a role
// gets the given one.
func RequestMessages(v exactjson.Value, role tape.Role) (messages []Message, system []Part) {
	v = plainNames(v)
	body := v
	if v.Kind() == exactjson.Object {
		system = System(v.First("system", "instructions", "system_instruction", "systemInstruction"))
		body = exactjson.Value{}
		for _, name := range []string{"messages", "contents", "input", "prompt", "prompts", "query", "question", "message", "new_message", "user_prompt"} {
			if body = v.Get(name); !body.IsAbsent() {
				break
			}
		}
		if body.IsAbsent() {
			body = v
		}
	}
	if first := body.At(0); body.Kind() == exactjson.Array && first.Kind() == exactjson.Array {
		if _, pair := rolePair(first); !pair {
			body = first // of a batch of prompts
		}
	}
	messages, _ = Messages(body, role)
	return messages, system
}

// OfferedAsMessages reads the definitions of tools that some handlers write among the messages of a request.
func OfferedAsMessages(v exactjson.Value) []tape.Tool {
	elements := v
	if v.Kind() == exactjson.Object {
		elements = v.First("messages", "input")
	}
	var tools []tape.Tool
	for _, m := range elements.Members() {
		if d, ok := Structure(m.Value.Get("content")); ok && isToolDefinition(m.Value) {
			tools = append(tools, ToolDefinitions(exactjson.ArrayValue(d))...)
		}
	}
	return tools
}

// HandsCalls reports a list of messages that ends with one that asks for tools. No tool has a list for its arguments: it is what the step is handed
// that runs all calls of a turn (Haystack's ToolInvoker under Langfuse).
func HandsCalls(v exactjson.Value) bool {
	if inner, ok := Structure(v); ok {
		v = inner
	}
	if v.Kind() != exactjson.Array || v.Len() == 0 || v.At(v.Len()-1).Kind() != exactjson.Object {
		return false
	}
	messages, _ := Messages(v, tape.RoleUser)
	return len(messages) > 0 && messages[len(messages)-1].Role == tape.RoleAssistant && HasCalls(messages[len(messages)-1])
}

// IsMessageList reports whether a list holds messages or parts.
func IsMessageList(v exactjson.Value) bool {
	first := v.At(0)
	if _, pair := rolePair(first); pair {
		return true
	}
	if first.Kind() == exactjson.Array {
		first = first.At(0)
	}
	if first.Kind() == exactjson.String {
		return IsMessageRepresentation(first.Str()) || IsDescribedMessage(first.Str())
	}
	first = plainNames(first)
	if first.Kind() == exactjson.Object && !first.First("role", "type", "kwargs", "message", "parts").IsAbsent() {
		return true
	}
	if _, typed := typedMessage(first); typed {
		return true
	}
	_, own := ownMessage(first)
	return own
}

// WholeText returns a value that is a text. A text that was JSON-encoded once more is decoded.
func WholeText(v exactjson.Value) (string, bool) {
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

// TextMessages makes one message of a text. If the text is JSON that was cut, it keeps the whole messages at the beginning and
// returns the label truncated.
func TextMessages(text string, role tape.Role) ([]Message, tape.Label) {
	trimmed := strings.TrimSpace(text)
	if (strings.HasPrefix(trimmed, "{\"") || strings.HasPrefix(trimmed, "[{\"")) && !strings.HasSuffix(trimmed, "}") && !strings.HasSuffix(trimmed, "]") {
		messages, _ := Messages(LeadingElements(trimmed), role)
		return messages, tape.Truncated
	}
	if role == tape.RoleUser {
		if messages, ok := LabelledTurns(trimmed); ok {
			return messages, ""
		}
	}
	messages, _ := Messages(exactjson.StringValue(text), role)
	return messages, ""
}
