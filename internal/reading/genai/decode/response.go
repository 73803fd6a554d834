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

// OutputMessages reads the answer of an agent or a model from an output of any known shape.
func OutputMessages(v exactjson.Value, depth int) []Message {
	return outputMessages(v, depth, depth == 0)
}

// outputMessages reads a value that may be an answer in JSON as it stands, where it is whole.
func outputMessages(v exactjson.Value, depth int, whole bool) []Message {
	inner, ok := Structure(Response(v))
	inner = plainNames(inner)
	if !ok {
		text, ok := WholeText(v)
		if !ok || text == "" {
			return nil
		}
		messages, _ := Messages(exactjson.StringValue(text), tape.RoleAssistant)
		return messages
	}
	if depth >= maxInput {
		return nil
	}
	if inner.Kind() == exactjson.Array {
		if !IsMessageList(inner) {
			if only := inner.At(0); inner.Len() == 1 && only.Kind() == exactjson.Object && (only.Get("output").Kind() == exactjson.Array || only.Get("choices").Kind() == exactjson.Array) {
				return OutputMessages(only, depth+1) // the answer as a list of one response (the Agents SDK, of a stream)
			}
			return nil
		}
		messages, _ := Messages(inner, tape.RoleAssistant)
		return LastAnswers(messages)
	}
	if inner.Get("role").IsAbsent() && inner.Get("response").Get("role").Kind() == exactjson.String {
		return OutputMessages(inner.Get("response"), depth+1) // LlamaIndex's agents put the calls of the run beside the answer
	}
	if data := inner.Get("data"); inner.Len() == 1 && data.Get("choices").Kind() == exactjson.Array {
		return OutputMessages(data, depth+1) // the event of a stream around the answer (Mistral's package)
	}
	if own, ok := ownMessage(inner); ok {
		inner = own
	}
	if !inner.Get("role").IsAbsent() || inner.Get("tool_calls").Kind() == exactjson.Array {
		m := RoleMessage(inner, tape.RoleAssistant)
		if m.Role != tape.RoleAssistant {
			return nil
		}
		return []Message{m}
	}
	if messages, ok := kindMessages(inner); ok {
		return LastAnswers(messages)
	}
	if inner.First("toolExecutionRequests", "toolCalls").Kind() == exactjson.Array {
		if m, ok := typedMessage(inner); ok && m.Role == tape.RoleAssistant {
			return []Message{m}
		}
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
			m := RoleMessage(body.At(0).Get("content"), tape.RoleAssistant)
			m.Role, m.FinishReason = tape.RoleAssistant, body.At(0).First("finishReason", "finish_reason").Text()
			return []Message{m}
		case name == "choices" || name == "candidates" || name == "content" || name == "message" || name == "messages":
			if body.Kind() == exactjson.String && (name != "content" && name != "message" || whole && !Wraps(inner, name)) {
				continue
			}
			messages, ok := Messages(body, tape.RoleAssistant)
			if !ok {
				return nil
			}
			if name == "choices" && len(messages) > 1 {
				messages = messages[:1] // further choices are other answers, not further turns
			}
			if all := inner.Get("content").Str(); name == "messages" && saidInTurns(all, messages) {
				return []Message{{Role: tape.RoleAssistant, Parts: []Part{TextPart(all)}}}
			}
			return LastAnswers(messages)
		default:
			if body.Kind() == exactjson.String && name != "answer" && name != "final_output" && whole && !Wraps(inner, name) {
				continue
			}
			if messages := outputMessages(body, depth+1, body.Kind() == exactjson.String); messages != nil { // a text under a name of an answer may be one in JSON too
				return messages
			}
			if (name == "answer" || name == "final_output") && body.Kind() == exactjson.String {
				return []Message{{Role: tape.RoleAssistant, Parts: []Part{TextPart(body.Str())}}} // an answer in JSON
			}
		}
	}
	if raw := inner.Get("raw"); raw.Kind() == exactjson.String && raw.Str() != "" && (inner.Get("tasks_output").Kind() == exactjson.Array || !inner.Get("output_format").IsAbsent()) {
		return []Message{{Role: tape.RoleAssistant, Parts: []Part{TextPart(raw.Str())}}} // CrewAI, of a crew or a task
	}
	if m, ok := LangChainMessage(inner); ok && m.Role == tape.RoleAssistant {
		return []Message{m}
	}
	if m, ok := ResponseItem(inner); ok && m.Role == tape.RoleAssistant {
		return []Message{m}
	}
	return spreadAnswer(inner)
}

// Members that stand beside a text which is all that was answered: what was asked before it, what it is, where it came from and what it took.
var (
	beside = regexp.MustCompile(`(?i)^(id|.+_?id|lc|example|model|object|created(_?at)?|usage|.*tokens?|finish_?reason|stop_?reason|status|state|subtype|is_?error|error|refusal|role|name|num_turns|messages|content|annotations|audio|function_call|inputs?|question|query|prompt|task|context|documents|sources|citations|version|tags|` +
		`(user|reasoning|latency|duration|elapsed|cost|time).*|.*(history|steps|metadata|kwargs|tool_?calls|_ms|_usd))$`)
	textualType = regexp.MustCompile(`(?i)(text|^ai|message|assistant|result|output|response)`)
)

// Wraps reports an object around a text under a name that says that it came out: nothing else in it may be a part of an answer in JSON.
func Wraps(v exactjson.Value, name string) bool {
	return !slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool {
		return m.Name != name && !beside.MatchString(m.Name) && !(m.Name == "type" && textualType.MatchString(m.Value.Str())) && !m.Value.IsEmpty()
	})
}

// saidInTurns reports an answer that is the texts of the last turns of a conversation, one after the other: who streams a run may return all that it streamed (agno 1).
func saidInTurns(whole string, messages []Message) bool {
	turns := 0
	for _, m := range slices.Backward(messages) {
		if m.Role == tape.RoleAssistant && whole != "" {
			var said strings.Builder
			for _, p := range m.Parts {
				if p.Type == tape.PartText {
					said.WriteString(p.Text)
				}
			}
			before, ok := strings.CutSuffix(whole, said.String())
			if !ok {
				return false
			}
			whole, turns = before, turns+1
		}
	}
	return turns > 1 && whole == ""
}

// answerMembers may stand beside the text of an answer whose parts are members of one object.
var answerMembers = map[string]bool{
	"text": true, "toolCalls": true, "tool_calls": true, "reasoning": true, "files": true, "sources": true, "object": true, "usage": true, "finishReason": true,
	"finish_reason": true, "id": true, "model": true, "timestamp": true, "providerMetadata": true, "steps": true, "warnings": true, "toolResults": true,
}

// spreadAnswer reads an answer whose text and calls are members of one object. Numbers may stand there too if more than the text shows that the
// object is an answer: they are measurements, whatever their names.
func spreadAnswer(v exactjson.Value) []Message {
	known, numbers := 0, 0
	for _, m := range v.Members() {
		switch {
		case answerMembers[m.Name]:
			known++
		case m.Value.Kind() == exactjson.Number:
			numbers++
		default:
			return nil
		}
	}
	if numbers > 0 && known < 2 {
		return nil
	}
	out := Message{Role: tape.RoleAssistant, Parts: Parts(v.Get("text")), FinishReason: v.First("finishReason", "finish_reason").Str()}
	if calls, ok := Structure(v.First("toolCalls", "tool_calls")); ok {
		out.Parts = append(out.Parts, ChatCalls(calls)...)
	}
	if object := v.Get("object"); len(out.Parts) == 0 && object.Kind() == exactjson.String && LooksJSON(object.Str()) {
		out.Parts = Parts(object)
	}
	if len(out.Parts) == 0 {
		return nil
	}
	return []Message{out}
}

// generation reads one LangChain generation: {text, message, generation_info}.
func generation(v exactjson.Value) []Message {
	if message := v.Get("message"); message.Kind() == exactjson.Object {
		if m, ok := LangChainMessage(message); ok {
			FillString(&m.FinishReason, v.First("generation_info", "generationInfo").First("finish_reason", "stop_reason").Str())
			return []Message{m}
		}
		if messages, ok := Messages(message, tape.RoleAssistant); ok {
			return messages
		}
	}
	if text := v.Get("text").Str(); text != "" {
		return []Message{{Role: tape.RoleAssistant, Parts: Parts(v.Get("text"))}}
	}
	return nil
}

// Usage reads the token counts of a usage object, in the spelling of any provider.
func Usage(v exactjson.Value) tape.Usage {
	if inner, ok := Structure(v); ok {
		v = inner
	}
	count := func(v exactjson.Value, names ...string) *int64 {
		for _, name := range names {
			if n, ok := CountOf(v.Get(name)); ok {
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

// LastAnswers returns the assistant messages at the end of a list.
func LastAnswers(messages []Message) []Message {
	start := len(messages)
	for start > 0 && messages[start-1].Role == tape.RoleAssistant {
		start--
	}
	return messages[start:]
}

// Documents returns the elements of a list of documents. The list may lie in an object.
func Documents(out exactjson.Value) []exactjson.Value {
	v, ok := Structure(out)
	if !ok {
		return nil
	}
	if v.Kind() == exactjson.Object {
		v = v.First("documents", "output", "outputs", "results", "nodes")
	}
	if v.Kind() != exactjson.Array {
		return nil
	}
	var docs []exactjson.Value
	for _, m := range v.Members() {
		docs = append(docs, m.Value)
	}
	return docs
}
