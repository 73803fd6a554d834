// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// api is the HTTP interface of a provider: it reads what is asked and writes what the script says. Facts about the formats are from the
// providers' references.
type api interface {
	read(path string, body []byte) (asked, error)
	write(w http.ResponseWriter, a asked, said answer) error
}

func apiOf(path string) api {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chatAPI{}
	case strings.HasSuffix(path, "/responses"):
		return responsesAPI{}
	case strings.HasSuffix(path, "/messages"):
		return anthropicAPI{}
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return geminiAPI{}
	case strings.HasSuffix(path, "/api/chat"):
		return ollamaAPI{}
	case strings.HasSuffix(path, "/converse"), strings.HasSuffix(path, "/converse-stream"):
		return converseAPI{}
	case strings.HasSuffix(path, "/v2/chat"):
		return cohereAPI{}
	}
	return nil
}

type m = map[string]any

// flat is the text of a content that is a text or a list of parts.
func flat(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		var text strings.Builder
		for _, part := range c {
			text.WriteString(flat(part))
		}
		return text.String()
	case m:
		if document, ok := c["document"].(m); ok {
			return flat(document["data"])
		}
		return flat(c["text"])
	}
	return ""
}

// dated is the name under which a provider answers when it is asked for the model by its short name.
func dated(model string) string {
	for asked, answers := range map[string]string{
		"gpt-4o-mini": "gpt-4o-mini-2024-07-18", "gpt-4o": "gpt-4o-2024-08-06", "gpt-4.1-mini": "gpt-4.1-mini-2025-04-14", "gpt-4.1": "gpt-4.1-2025-04-14",
		"claude-sonnet-4-5": "claude-sonnet-4-5-20250929", "claude-haiku-4-5": "claude-haiku-4-5-20251001",
	} {
		if model == asked {
			return answers
		}
	}
	return model
}

// pieces cuts a text as a stream of tokens does.
func pieces(text string) (cut []string) {
	for start, n := 0, 0; start < len(text); n++ {
		end := min(len(text), start+5+n%4)
		for end < len(text) && text[end]&0xC0 == 0x80 {
			end++
		}
		cut = append(cut, text[start:end])
		start = end
	}
	return cut
}

// events writes server-sent events; a name is left out where it is "".
type events struct {
	w       http.ResponseWriter
	started bool
}

func (e *events) send(name string, data any) {
	if !e.started {
		e.w.Header().Set("Content-Type", "text/event-stream")
		e.started = true
	}
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	doc, ok := data.(string)
	if !ok {
		doc = encode(data)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", doc)
	if flusher, ok := e.w.(http.Flusher); ok {
		flusher.Flush()
	}
}

func encode(value any) string {
	var doc strings.Builder
	encoder := json.NewEncoder(&doc)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // plain values always marshal
	return strings.TrimSuffix(doc.String(), "\n")
}

func arguments(c call) json.RawMessage { return json.RawMessage(c.args) }

// chatAPI is OpenAI's chat completions, which many others speak too.
type chatAPI struct{}

func (chatAPI) read(_ string, body []byte) (asked, error) {
	var req struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role       string
			Content    any
			ToolCallID string `json:"tool_call_id"`
		}
	}
	err := json.Unmarshal(body, &req)
	a := asked{api: "chat", model: req.Model, stream: req.Stream, idPrefix: "call_"}
	for _, message := range req.Messages {
		if message.Role == "tool" {
			a.shown = append(a.shown, shownResult{id: message.ToolCallID, text: flat(message.Content)})
		}
	}
	return a, err
}

func (chatAPI) write(w http.ResponseWriter, a asked, said answer) error {
	finish, calls := "stop", []any{}
	for i, c := range said.calls {
		finish = "tool_calls"
		call := m{"id": said.ids[i], "type": "function", "function": m{"name": c.name, "arguments": c.args}}
		if a.stream {
			call["index"] = i
		}
		calls = append(calls, call)
	}
	usage := m{"prompt_tokens": 40 + 10*said.number, "completion_tokens": 12, "total_tokens": 52 + 10*said.number,
		"prompt_tokens_details": m{"cached_tokens": 0, "audio_tokens": 0}, "completion_tokens_details": m{"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}}
	head := m{"id": "chatcmpl-" + said.id, "created": now(), "model": dated(a.model), "system_fingerprint": "fp_scripted"}
	if !a.stream {
		message := m{"role": "assistant", "content": nil, "refusal": nil}
		if said.text != "" {
			message["content"] = said.text
		}
		if len(calls) > 0 {
			message["tool_calls"] = calls
		}
		head["object"], head["usage"] = "chat.completion", usage
		head["choices"] = []any{m{"index": 0, "message": message, "logprobs": nil, "finish_reason": finish}}
		reply(w, http.StatusOK, head)
		return nil
	}
	head["object"] = "chat.completion.chunk"
	out := events{w: w}
	chunk := func(delta m, finish any) {
		head["choices"] = []any{m{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}
		out.send("", head)
	}
	chunk(m{"role": "assistant", "content": ""}, nil)
	for _, piece := range pieces(said.text) {
		chunk(m{"content": piece}, nil)
	}
	for i, c := range said.calls {
		if strings.HasPrefix(a.model, "mistral") { // whole, as that provider does
			chunk(m{"tool_calls": []any{m{"index": i, "id": said.ids[i], "type": "function", "function": m{"name": c.name, "arguments": c.args}}}}, nil)
			continue
		}
		chunk(m{"tool_calls": []any{m{"index": i, "id": said.ids[i], "type": "function", "function": m{"name": c.name, "arguments": ""}}}}, nil)
		for _, piece := range pieces(c.args) {
			chunk(m{"tool_calls": []any{m{"index": i, "function": m{"arguments": piece}}}}, nil)
		}
	}
	chunk(m{}, finish)
	head["choices"], head["usage"] = []any{}, usage
	out.send("", head)
	out.send("", "[DONE]")
	return nil
}

// responsesAPI is OpenAI's Responses API.
type responsesAPI struct{}

func (responsesAPI) read(_ string, body []byte) (asked, error) {
	var req struct {
		Model        string
		Stream       bool
		Input        any
		Instructions any
		Tools        []any
	}
	err := json.Unmarshal(body, &req)
	a := asked{api: "responses", model: req.Model, stream: req.Stream, idPrefix: "call_", instructions: req.Instructions, tools: append([]any{}, req.Tools...)}
	items, _ := req.Input.([]any)
	for _, item := range items {
		if i, ok := item.(m); ok && i["type"] == "function_call_output" {
			id, _ := i["call_id"].(string)
			a.shown = append(a.shown, shownResult{id: id, text: flat(i["output"])})
		}
	}
	return a, err
}

func (responsesAPI) write(w http.ResponseWriter, a asked, said answer) error {
	var items []any
	if said.text != "" {
		items = append(items, m{"type": "message", "id": "msg_" + said.id, "status": "completed", "role": "assistant",
			"content": []any{m{"type": "output_text", "text": said.text, "annotations": []any{}, "logprobs": []any{}}}})
	}
	for i, c := range said.calls {
		items = append(items, m{"type": "function_call", "id": fmt.Sprintf("fc_%s%d", said.id, i), "call_id": said.ids[i], "name": c.name, "arguments": c.args, "status": "completed"})
	}
	response := m{
		"id": "resp_" + said.id, "object": "response", "created_at": now(), "status": "completed", "model": dated(a.model), "output": items,
		"error": nil, "incomplete_details": nil, "instructions": a.instructions, "metadata": m{}, "parallel_tool_calls": true, "temperature": 1.0, "top_p": 1.0, "tool_choice": "auto", "tools": a.tools,
		"usage":                m{"input_tokens": 40, "input_tokens_details": m{"cached_tokens": 0}, "output_tokens": 12, "output_tokens_details": m{"reasoning_tokens": 0}, "total_tokens": 52},
		"previous_response_id": nil, "reasoning": m{"effort": nil, "summary": nil}, "store": true, "text": m{"format": m{"type": "text"}}, "truncation": "disabled", "user": nil,
	}
	if !a.stream {
		reply(w, http.StatusOK, response)
		return nil
	}
	out, n := events{w: w}, 0
	send := func(name string, data m) {
		data["type"], data["sequence_number"] = name, n
		n++
		out.send(name, data)
	}
	begun := m{}
	for name, value := range response {
		begun[name] = value
	}
	begun["status"], begun["output"], begun["usage"] = "in_progress", []any{}, nil
	send("response.created", m{"response": begun})
	for i, item := range items {
		item := item.(m)
		empty := m{}
		for name, value := range item {
			empty[name] = value
		}
		empty["status"] = "in_progress"
		id := item["id"]
		if item["type"] == "message" {
			empty["content"] = []any{}
			part := item["content"].([]any)[0]
			send("response.output_item.added", m{"output_index": i, "item": empty})
			send("response.content_part.added", m{"item_id": id, "output_index": i, "content_index": 0, "part": m{"type": "output_text", "text": "", "annotations": []any{}}})
			for _, piece := range pieces(said.text) {
				send("response.output_text.delta", m{"item_id": id, "output_index": i, "content_index": 0, "delta": piece, "logprobs": []any{}})
			}
			send("response.output_text.done", m{"item_id": id, "output_index": i, "content_index": 0, "text": said.text, "logprobs": []any{}})
			send("response.content_part.done", m{"item_id": id, "output_index": i, "content_index": 0, "part": part})
		} else {
			text, _ := item["arguments"].(string)
			empty["arguments"] = ""
			send("response.output_item.added", m{"output_index": i, "item": empty})
			for _, piece := range pieces(text) {
				send("response.function_call_arguments.delta", m{"item_id": id, "output_index": i, "delta": piece})
			}
			send("response.function_call_arguments.done", m{"item_id": id, "output_index": i, "arguments": text, "name": item["name"]})
		}
		send("response.output_item.done", m{"output_index": i, "item": item})
	}
	send("response.completed", m{"response": response})
	return nil
}

// anthropicAPI is Anthropic's Messages API.
type anthropicAPI struct{}

func (anthropicAPI) read(_ string, body []byte) (asked, error) {
	var req struct {
		Model    string
		Stream   bool
		Messages []struct{ Content any }
	}
	err := json.Unmarshal(body, &req)
	a := asked{api: "anthropic", model: req.Model, stream: req.Stream, idPrefix: "toolu_"}
	for _, message := range req.Messages {
		blocks, _ := message.Content.([]any)
		for _, b := range blocks {
			if block, ok := b.(m); ok && block["type"] == "tool_result" {
				id, _ := block["tool_use_id"].(string)
				a.shown = append(a.shown, shownResult{id: id, text: flat(block["content"])})
			}
		}
	}
	return a, err
}

func (anthropicAPI) write(w http.ResponseWriter, a asked, said answer) error {
	stop, content := "end_turn", []any{}
	if said.text != "" {
		content = append(content, m{"type": "text", "text": said.text})
	}
	for i, c := range said.calls {
		stop = "tool_use"
		content = append(content, m{"type": "tool_use", "id": said.ids[i], "name": c.name, "input": arguments(c)})
	}
	message := m{"id": "msg_" + said.id, "type": "message", "role": "assistant", "model": dated(a.model), "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": m{"input_tokens": 40, "output_tokens": 12}}
	if !a.stream {
		reply(w, http.StatusOK, message)
		return nil
	}
	out := events{w: w}
	message["content"], message["stop_reason"] = []any{}, nil
	out.send("message_start", m{"type": "message_start", "message": message})
	for i, block := range content {
		block := block.(m)
		var deltas []any
		if block["type"] == "text" {
			for _, piece := range pieces(said.text) {
				deltas = append(deltas, m{"type": "text_delta", "text": piece})
			}
			block["text"] = ""
		} else {
			for _, piece := range pieces(string(block["input"].(json.RawMessage))) {
				deltas = append(deltas, m{"type": "input_json_delta", "partial_json": piece})
			}
			block["input"] = m{}
		}
		out.send("content_block_start", m{"type": "content_block_start", "index": i, "content_block": block})
		for _, delta := range deltas {
			out.send("content_block_delta", m{"type": "content_block_delta", "index": i, "delta": delta})
		}
		out.send("content_block_stop", m{"type": "content_block_stop", "index": i})
	}
	out.send("message_delta", m{"type": "message_delta", "delta": m{"stop_reason": stop, "stop_sequence": nil}, "usage": m{"output_tokens": 12}})
	out.send("message_stop", m{"type": "message_stop"})
	return nil
}

// geminiAPI is Google's Gemini API, whole and as server-sent events. It has no ids of calls.
type geminiAPI struct{}

func (geminiAPI) read(path string, body []byte) (asked, error) {
	var req struct {
		Contents []struct {
			Parts []struct {
				FunctionResponse *struct {
					Name     string
					Response json.RawMessage
				}
			}
		}
	}
	err := json.Unmarshal(body, &req)
	name, action, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
	a := asked{api: "gemini", model: name, stream: strings.HasPrefix(action, "stream")}
	for _, content := range req.Contents {
		for _, part := range content.Parts {
			if shown := part.FunctionResponse; shown != nil {
				a.shown = append(a.shown, shownResult{name: shown.Name, text: geminiText(shown.Response)})
			}
		}
	}
	return a, err
}

// geminiText is what a function response tells the model: the text itself where the object that the API wants holds nothing but a text, under one of the names that its
// reference gives.
func geminiText(response json.RawMessage) string {
	var held map[string]json.RawMessage
	if json.Unmarshal(response, &held) == nil && len(held) == 1 {
		for _, name := range []string{"output", "result", "error"} {
			var text string
			if json.Unmarshal(held[name], &text) == nil {
				return text
			}
		}
	}
	return string(response)
}

func (geminiAPI) write(w http.ResponseWriter, a asked, said answer) error {
	var calls []any
	for _, c := range said.calls {
		calls = append(calls, m{"functionCall": m{"name": c.name, "args": arguments(c)}})
	}
	chunk := func(parts []any, finish bool) m {
		candidate := m{"index": 0, "content": m{"role": "model", "parts": parts}}
		doc := m{"candidates": []any{candidate}, "modelVersion": a.model, "responseId": "response-" + said.id}
		if finish {
			candidate["finishReason"] = "STOP"
			doc["usageMetadata"] = m{"promptTokenCount": 40, "candidatesTokenCount": 12, "totalTokenCount": 52}
		}
		return doc
	}
	if !a.stream {
		var parts []any
		if said.text != "" {
			parts = append(parts, m{"text": said.text})
		}
		reply(w, http.StatusOK, chunk(append(parts, calls...), true))
		return nil
	}
	out := events{w: w}
	var chunks [][]any
	for _, piece := range pieces(said.text) {
		chunks = append(chunks, []any{m{"text": piece}})
	}
	if len(calls) > 0 {
		chunks = append(chunks, calls)
	}
	for i, parts := range chunks {
		out.send("", chunk(parts, i == len(chunks)-1))
	}
	return nil
}

// ollamaAPI is Ollama's chat, whole and as lines of JSON. It has no ids of calls.
type ollamaAPI struct{}

func (ollamaAPI) read(_ string, body []byte) (asked, error) {
	req := struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role, Content string
			ToolName      string `json:"tool_name"`
		}
	}{Stream: true}
	err := json.Unmarshal(body, &req)
	a := asked{api: "ollama", model: req.Model, stream: req.Stream}
	for _, message := range req.Messages {
		if message.Role == "tool" {
			a.shown = append(a.shown, shownResult{name: message.ToolName, text: message.Content})
		}
	}
	return a, err
}

func (ollamaAPI) write(w http.ResponseWriter, a asked, said answer) error {
	var calls []any
	for _, c := range said.calls {
		calls = append(calls, m{"function": m{"name": c.name, "arguments": arguments(c)}})
	}
	line := func(text string, calls []any, done bool) m {
		message := m{"role": "assistant", "content": text}
		if len(calls) > 0 {
			message["tool_calls"] = calls
		}
		doc := m{"model": a.model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done}
		if done {
			doc["done_reason"], doc["prompt_eval_count"], doc["eval_count"] = "stop", 40, 12
			doc["total_duration"], doc["load_duration"], doc["prompt_eval_duration"], doc["eval_duration"] = 1000, 10, 100, 890
		}
		return doc
	}
	if !a.stream {
		reply(w, http.StatusOK, line(said.text, calls, true))
		return nil
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	for _, piece := range pieces(said.text) {
		fmt.Fprintln(w, encode(line(piece, nil, false)))
	}
	if len(calls) > 0 {
		fmt.Fprintln(w, encode(line("", calls, false)))
	}
	fmt.Fprintln(w, encode(line("", nil, true)))
	return nil
}

// cohereAPI is Cohere's chat, version 2.
type cohereAPI struct{}

func (cohereAPI) read(path string, body []byte) (asked, error) {
	a, err := chatAPI{}.read(path, body)
	a.api, a.idPrefix = "cohere", "tool_"
	return a, err
}

func (cohereAPI) write(w http.ResponseWriter, a asked, said answer) error {
	finish, calls := "COMPLETE", []any{}
	for i, c := range said.calls {
		finish = "TOOL_CALL"
		calls = append(calls, m{"id": said.ids[i], "type": "function", "function": m{"name": c.name, "arguments": c.args}})
	}
	usage := m{"billed_units": m{"input_tokens": 40, "output_tokens": 12}, "tokens": m{"input_tokens": 40, "output_tokens": 12}}
	id := "cohere-" + said.id
	if !a.stream {
		message := m{"role": "assistant"}
		switch {
		case len(calls) > 0:
			message["tool_plan"], message["tool_calls"] = said.text, calls
		default:
			message["content"] = []any{m{"type": "text", "text": said.text}}
		}
		reply(w, http.StatusOK, m{"id": id, "finish_reason": finish, "message": message, "usage": usage})
		return nil
	}
	out := events{w: w}
	out.send("message-start", m{"type": "message-start", "id": id, "delta": m{"message": m{"role": "assistant", "content": []any{}, "tool_plan": "", "tool_calls": []any{}, "citations": []any{}}}})
	if len(calls) > 0 {
		for _, piece := range pieces(said.text) {
			out.send("tool-plan-delta", m{"type": "tool-plan-delta", "delta": m{"message": m{"tool_plan": piece}}})
		}
		for i, c := range said.calls {
			out.send("tool-call-start", m{"type": "tool-call-start", "index": i, "delta": m{"message": m{"tool_calls": m{"id": said.ids[i], "type": "function", "function": m{"name": c.name, "arguments": ""}}}}})
			for _, piece := range pieces(c.args) {
				out.send("tool-call-delta", m{"type": "tool-call-delta", "index": i, "delta": m{"message": m{"tool_calls": m{"function": m{"arguments": piece}}}}})
			}
			out.send("tool-call-end", m{"type": "tool-call-end", "index": i})
		}
	} else {
		out.send("content-start", m{"type": "content-start", "index": 0, "delta": m{"message": m{"content": m{"type": "text", "text": ""}}}})
		for _, piece := range pieces(said.text) {
			out.send("content-delta", m{"type": "content-delta", "index": 0, "delta": m{"message": m{"content": m{"text": piece}}}})
		}
		out.send("content-end", m{"type": "content-end", "index": 0})
	}
	out.send("message-end", m{"type": "message-end", "id": id, "delta": m{"finish_reason": finish, "usage": usage}})
	return nil
}

// converseAPI is Bedrock's Converse, whole and as an event stream.
type converseAPI struct{}

func (converseAPI) read(path string, body []byte) (asked, error) {
	var req struct {
		Messages []struct {
			Content []struct {
				ToolResult *struct {
					ToolUseID string
					Content   []struct {
						Text string
						JSON json.RawMessage
					}
				}
			}
		}
	}
	err := json.Unmarshal(body, &req)
	segments := strings.Split(path, "/")
	a := asked{api: "converse", model: segments[max(0, len(segments)-2)], stream: strings.HasSuffix(path, "-stream"), idPrefix: "tooluse_"}
	if name, unescaped := url.PathUnescape(a.model); unescaped == nil {
		a.model = name
	}
	for _, message := range req.Messages {
		for _, block := range message.Content {
			if block.ToolResult == nil {
				continue
			}
			shown := shownResult{id: block.ToolResult.ToolUseID}
			for _, part := range block.ToolResult.Content {
				shown.text += part.Text + string(part.JSON)
			}
			a.shown = append(a.shown, shown)
		}
	}
	return a, err
}

func (converseAPI) write(w http.ResponseWriter, a asked, said answer) error {
	stop, content := "end_turn", []any{}
	if said.text != "" {
		content = append(content, m{"text": said.text})
	}
	for i, c := range said.calls {
		stop = "tool_use"
		content = append(content, m{"toolUse": m{"toolUseId": said.ids[i], "name": c.name, "input": arguments(c)}})
	}
	usage := m{"inputTokens": 40, "outputTokens": 12, "totalTokens": 52}
	if !a.stream {
		reply(w, http.StatusOK, m{"output": m{"message": m{"role": "assistant", "content": content}}, "stopReason": stop, "usage": usage, "metrics": m{"latencyMs": 5}})
		return nil
	}
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	send := func(name string, data m) { _, _ = w.Write(frame(name, encode(data))) } // the client is gone
	send("messageStart", m{"role": "assistant"})
	for i, block := range content {
		if use, ok := block.(m)["toolUse"].(m); ok {
			send("contentBlockStart", m{"contentBlockIndex": i, "start": m{"toolUse": m{"toolUseId": use["toolUseId"], "name": use["name"]}}})
			for _, piece := range pieces(string(use["input"].(json.RawMessage))) {
				send("contentBlockDelta", m{"contentBlockIndex": i, "delta": m{"toolUse": m{"input": piece}}})
			}
		} else {
			for _, piece := range pieces(said.text) {
				send("contentBlockDelta", m{"contentBlockIndex": i, "delta": m{"text": piece}})
			}
		}
		send("contentBlockStop", m{"contentBlockIndex": i})
	}
	send("messageStop", m{"stopReason": stop})
	send("metadata", m{"usage": usage, "metrics": m{"latencyMs": 5}})
	return nil
}
