// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build published

package published

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// scriptedTurn is one answer of the scripted model: what it says, and the tools that it calls, each as its
// name with its arguments. Arguments that are a text make a custom call of the responses API.
type scriptedTurn struct {
	Text  string
	Calls []map[string]any
}

// scriptedCall is a call that the model asked for, and what it was later told of it.
type scriptedCall struct {
	ID, Name  string
	Arguments any
	Result    string // "" until a request held it
	Answered  bool
}

// scriptedRequest is a request as it came, and what was answered.
type scriptedRequest struct {
	N            int
	Method, Path string
	API          string         `json:",omitempty"` // chat, responses, anthropic, gemini; "" where it is no model call
	Main         bool           `json:",omitempty"`
	Turn         int            `json:",omitempty"`
	Stream       bool           `json:",omitempty"`
	Offered      []string       `json:",omitempty"`
	NotOffered   []string       `json:",omitempty"` // tools of the script that the agent does not have
	Text         string         `json:",omitempty"`
	Calls        []scriptedCall `json:",omitempty"`
	Body         map[string]any `json:",omitempty"`
}

// scriptedModel speaks the protocols of OpenAI (chat completions, responses), Anthropic and Gemini, whole and
// streamed. The place in the script is the number of turns with calls that a request holds, so that it keeps
// no state; what it noted is the truth of a run.
type scriptedModel struct {
	turns    []scriptedTurn
	side     string // what a request gets that is not of the main conversation: a title, a summary
	main     string // the tool that marks the main conversation, or with texts a text; without it any tool, or any request, does
	texts    bool   // turns are counted by what the assistant said, for agents that offer no tools
	log      io.Writer
	mu       sync.Mutex
	requests []*scriptedRequest
	truth    map[string]*scriptedCall
	order    []string // the ids of the calls of the conversation, for agents that have no ids or their own
}

// bodyLimit is far more than any agent sends.
const bodyLimit = 64 << 20

func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	raw, err := decoded(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r := &scriptedRequest{Method: req.Method, Path: req.URL.RequestURI()}
	_ = json.Unmarshal(raw, &r.Body) // a request without a body, or with a form, has none
	switch p := req.URL.Path; {
	case req.Method != http.MethodPost:
	case strings.HasSuffix(p, "/chat/completions"):
		r.API = "chat"
	case strings.HasSuffix(p, "/responses"):
		r.API = "responses"
	case strings.HasSuffix(p, "/messages"):
		r.API = "anthropic"
	case strings.HasSuffix(p, ":generateContent"), strings.HasSuffix(p, ":streamGenerateContent"):
		r.API = "gemini"
	}
	if r.API == "" {
		m.note(r)
		m.other(w, req)
		return
	}
	r.Stream = r.Body["stream"] == true || strings.HasSuffix(req.URL.Path, ":streamGenerateContent")
	r.Offered = offered(r.API, r.Body)
	r.Main = len(r.Offered) > 0
	switch {
	case m.texts:
		r.Main = strings.Contains(string(raw), m.main)
	case m.main != "":
		r.Main = slices.Contains(r.Offered, m.main)
	}
	turn := scriptedTurn{Text: m.side}
	m.mu.Lock()
	if r.Main {
		r.Turn = m.told(r.API, r.Body)
		turn = m.turns[min(r.Turn, len(m.turns)-1)]
	}
	r.Text = turn.Text
	for i, call := range turn.Calls {
		for name, arguments := range call {
			c := scriptedCall{ID: fmt.Sprintf("%s%02d%02d%04d", map[string]string{"anthropic": "toolu_01"}[r.API]+"call", r.Turn, i, len(m.requests)), Name: name, Arguments: arguments}
			r.Calls = append(r.Calls, c)
			m.truth[c.ID] = &c
			if !slices.Contains(r.Offered, name) && !m.texts {
				r.NotOffered = append(r.NotOffered, name)
			}
			m.order = append(m.order[:min(len(m.order), m.callsBefore(r.Turn)+i)], c.ID)
		}
	}
	m.mu.Unlock()
	m.note(r)
	model, _ := r.Body["model"].(string)
	if model == "" {
		model = "gemini-2.5-pro"
	}
	switch r.API {
	case "chat":
		chatAnswer(w, r, model)
	case "responses":
		responsesAnswer(w, r, model)
	case "anthropic":
		anthropicAnswer(w, r, model)
	case "gemini":
		geminiAnswer(w, r, model)
	}
}

// callsBefore is the number of calls of the turns before one.
func (m *scriptedModel) callsBefore(turn int) (n int) {
	for _, t := range m.turns[:min(turn, len(m.turns))] {
		n += len(t.Calls)
	}
	return n
}

func decoded(req *http.Request) ([]byte, error) {
	body := io.Reader(req.Body)
	switch req.Header.Get("Content-Encoding") {
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = z
	case "zstd":
		z, err := zstd.NewReader(body)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		body = z
	}
	return io.ReadAll(io.LimitReader(body, bodyLimit))
}

func (m *scriptedModel) note(r *scriptedRequest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.N = len(m.requests)
	m.requests = append(m.requests, r)
	if m.log != nil {
		_ = json.NewEncoder(m.log).Encode(r)
	}
}

// other answers what agents ask beside model calls.
func (m *scriptedModel) other(w http.ResponseWriter, req *http.Request) {
	switch p := req.URL.Path; {
	case strings.HasSuffix(p, "/count_tokens"):
		whole(w, map[string]any{"input_tokens": 100})
	case strings.HasSuffix(p, ":countTokens"):
		whole(w, map[string]any{"totalTokens": 100})
	case strings.HasSuffix(p, "/models"):
		var data []any
		for _, id := range []string{"gpt-4o", "gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro"} {
			data = append(data, map[string]any{"id": id, "object": "model", "created": 1700000000, "owned_by": "scripted", "display_name": id, "type": "model"})
		}
		whole(w, map[string]any{"object": "list", "data": data, "has_more": false, "models": []any{}})
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"message":"the scripted model does not have this","type":"not_found"}}`)
	}
}

func offered(api string, body map[string]any) (names []string) {
	for _, tool := range list(body["tools"]) {
		switch {
		case api == "gemini":
			for _, member := range []string{"functionDeclarations", "function_declarations"} {
				for _, f := range list(object(tool)[member]) {
					names = append(names, text(object(f)["name"]))
				}
			}
		case api == "chat":
			names = append(names, text(object(object(tool)["function"])["name"]))
		default:
			name := text(object(tool)["name"])
			if name == "" {
				name = text(object(tool)["type"])
			}
			names = append(names, name)
			for _, f := range list(object(tool)["tools"]) { // a namespace of the responses API
				names = append(names, text(object(f)["name"]))
			}
		}
	}
	return names
}

// told notes what a request says that the calls before came to, and counts the turns in it.
func (m *scriptedModel) told(api string, body map[string]any) (turns int) {
	answered := 0
	result := func(id string, content any) {
		if m.truth[id] == nil && answered < len(m.order) {
			id = m.order[answered]
		}
		answered++
		if call := m.truth[id]; call != nil && !call.Answered {
			call.Result, call.Answered = flat(content), true
		}
	}
	switch api {
	case "chat", "anthropic":
		for _, message := range list(body["messages"]) {
			message := object(message)
			calls := len(list(message["tool_calls"])) > 0
			for _, part := range list(message["content"]) {
				calls = calls || object(part)["type"] == "tool_use"
				if object(part)["type"] == "tool_result" {
					result(text(object(part)["tool_use_id"]), object(part)["content"])
				}
			}
			if message["role"] == "assistant" && m.isTurn(calls, message["content"]) {
				turns++
			}
			if message["role"] == "tool" {
				result(text(message["tool_call_id"]), message["content"])
			}
		}
	case "responses":
		within := false
		for _, item := range list(body["input"]) {
			item := object(item)
			switch kind := text(item["type"]); {
			case strings.HasSuffix(kind, "_call_output"):
				within = false
				result(text(item["call_id"]), item["output"])
			case strings.HasSuffix(kind, "_call"):
				if !within {
					turns++
				}
				within = true
			case item["role"] == "assistant" && m.isTurn(false, item["content"]):
				turns++
			}
		}
	case "gemini":
		for _, content := range list(body["contents"]) {
			calls := false
			for _, part := range list(object(content)["parts"]) {
				part := object(part)
				calls = calls || part["functionCall"] != nil
				if response := object(part["functionResponse"]); part["functionResponse"] != nil {
					result("", response["response"])
				}
			}
			if object(content)["role"] == "model" && m.isTurn(calls, object(content)["parts"]) {
				turns++
			}
		}
	}
	return turns
}

// isTurn tells a turn of the script from what else the assistant is made to have said, such as examples in a
// prompt.
func (m *scriptedModel) isTurn(calls bool, content any) bool {
	if !m.texts {
		return calls
	}
	said := flat(content)
	return slices.ContainsFunc(m.turns, func(t scriptedTurn) bool { return strings.Contains(said, strings.TrimSpace(t.Text)) })
}

func list(v any) []any { l, _ := v.([]any); return l }

func object(v any) map[string]any { o, _ := v.(map[string]any); return o }

func text(v any) string { s, _ := v.(string); return s }

// flat is the text of a content that is one, or a list of parts, or values.
func flat(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		var all []string
		for _, part := range c {
			if s := text(object(part)["text"]); s != "" {
				all = append(all, s)
			} else {
				all = append(all, flat(part))
			}
		}
		return strings.Join(all, "\n")
	case map[string]any:
		if len(c) == 1 && text(c["output"]) != "" {
			return text(c["output"])
		}
	}
	return string(encoded(content))
}

func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

func whole(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encoded(v))
}

// streamed sends events; named ones with their type in the line of the event, as Anthropic and the responses
// API do.
func streamed(w http.ResponseWriter, named bool, events ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events {
		if s, ok := event.(string); ok {
			fmt.Fprintf(w, "data: %s\n\n", s)
			continue
		}
		if named {
			fmt.Fprintf(w, "event: %s\n", object(event)["type"])
		}
		fmt.Fprintf(w, "data: %s\n\n", encoded(event))
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}

// pieces cuts a text in up to four, between runes.
func pieces(s string) (all []string) {
	runes := []rune(s)
	for step := max(1, len(runes)/3); len(runes) > 0; {
		n := min(step, len(runes))
		all, runes = append(all, string(runes[:n])), runes[n:]
	}
	return all
}

type o = map[string]any

func chatAnswer(w http.ResponseWriter, r *scriptedRequest, model string) {
	finish, usage := "stop", o{"prompt_tokens": 120, "completion_tokens": 14, "total_tokens": 134}
	var calls []any
	for _, c := range r.Calls {
		finish = "tool_calls"
		calls = append(calls, o{"id": c.ID, "type": "function", "function": o{"name": c.Name, "arguments": string(encoded(c.Arguments))}})
	}
	base := func(kind string, choices ...any) o {
		if choices == nil {
			choices = []any{}
		}
		return o{"id": fmt.Sprintf("chatcmpl-%08d", r.N), "object": kind, "created": 1767225600 + r.N, "model": model, "choices": choices}
	}
	if !r.Stream {
		message := o{"role": "assistant", "content": r.Text}
		if calls != nil {
			message["tool_calls"] = calls
			if r.Text == "" {
				message["content"] = nil
			}
		}
		answer := base("chat.completion", o{"index": 0, "message": message, "finish_reason": finish, "logprobs": nil})
		answer["usage"] = usage
		whole(w, answer)
		return
	}
	chunk := func(delta o, finish any) any {
		return base("chat.completion.chunk", o{"index": 0, "delta": delta, "finish_reason": finish})
	}
	events := []any{chunk(o{"role": "assistant", "content": ""}, nil)}
	for _, piece := range pieces(r.Text) {
		events = append(events, chunk(o{"content": piece}, nil))
	}
	for i, c := range calls {
		function := object(object(c)["function"])
		events = append(events, chunk(o{"tool_calls": []any{o{"index": i, "id": object(c)["id"], "type": "function", "function": o{"name": function["name"], "arguments": ""}}}}, nil))
		for _, piece := range pieces(text(function["arguments"])) {
			events = append(events, chunk(o{"tool_calls": []any{o{"index": i, "function": o{"arguments": piece}}}}, nil))
		}
	}
	last := base("chat.completion.chunk")
	last["usage"] = usage
	streamed(w, false, append(events, chunk(o{}, finish), last, "[DONE]")...)
}

func responsesAnswer(w http.ResponseWriter, r *scriptedRequest, model string) {
	output := []any{}
	if r.Text != "" {
		output = append(output, o{"id": fmt.Sprintf("msg_%08d", r.N), "type": "message", "role": "assistant", "status": "completed", "content": []any{o{"type": "output_text", "text": r.Text, "annotations": []any{}}}})
	}
	for i, c := range r.Calls {
		item := o{"id": fmt.Sprintf("fc_%04d%04d", r.N, i), "status": "completed", "call_id": c.ID, "name": c.Name}
		if input, ok := c.Arguments.(string); ok {
			item["type"], item["input"] = "custom_tool_call", input
		} else {
			item["type"], item["arguments"] = "function_call", string(encoded(c.Arguments))
		}
		output = append(output, item)
	}
	tools := list(r.Body["tools"])
	if tools == nil {
		tools = []any{}
	}
	response := func(status string, output []any) o {
		answer := o{"id": fmt.Sprintf("resp_%08d", r.N), "object": "response", "created_at": 1767225600 + r.N, "status": status, "model": model, "output": output, "error": nil, "incomplete_details": nil,
			"instructions": r.Body["instructions"], "metadata": o{}, "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": tools, "top_p": 1.0, "previous_response_id": nil,
			"reasoning": o{"effort": nil, "summary": nil}, "text": o{"format": o{"type": "text"}}, "truncation": "disabled", "store": false}
		if status == "completed" {
			answer["usage"] = o{"input_tokens": 120, "input_tokens_details": o{"cached_tokens": 0}, "output_tokens": 14, "output_tokens_details": o{"reasoning_tokens": 0}, "total_tokens": 134}
		}
		return answer
	}
	if !r.Stream {
		whole(w, response("completed", output))
		return
	}
	var events []any
	event := func(kind string, members o) {
		members["type"], members["sequence_number"] = kind, len(events)
		events = append(events, members)
	}
	event("response.created", o{"response": response("in_progress", []any{})})
	event("response.in_progress", o{"response": response("in_progress", []any{})})
	for i, item := range output {
		item := object(item)
		id, begun := item["id"], o{}
		for k, v := range item {
			begun[k] = v
		}
		begun["status"] = "in_progress"
		pieceEvents := func(name, whole string, more o) {
			for _, piece := range pieces(whole) {
				members := o{"item_id": id, "output_index": i, "delta": piece}
				for k, v := range more {
					members[k] = v
				}
				event(name, members)
			}
		}
		switch item["type"] {
		case "message":
			begun["content"] = []any{}
			event("response.output_item.added", o{"output_index": i, "item": begun})
			event("response.content_part.added", o{"item_id": id, "output_index": i, "content_index": 0, "part": o{"type": "output_text", "text": "", "annotations": []any{}}})
			pieceEvents("response.output_text.delta", r.Text, o{"content_index": 0, "logprobs": []any{}})
			event("response.output_text.done", o{"item_id": id, "output_index": i, "content_index": 0, "text": r.Text, "logprobs": []any{}})
			event("response.content_part.done", o{"item_id": id, "output_index": i, "content_index": 0, "part": list(item["content"])[0]})
		case "custom_tool_call":
			begun["input"] = ""
			event("response.output_item.added", o{"output_index": i, "item": begun})
			pieceEvents("response.custom_tool_call_input.delta", text(item["input"]), nil)
			event("response.custom_tool_call_input.done", o{"item_id": id, "output_index": i, "input": item["input"]})
		default:
			begun["arguments"] = ""
			event("response.output_item.added", o{"output_index": i, "item": begun})
			pieceEvents("response.function_call_arguments.delta", text(item["arguments"]), nil)
			event("response.function_call_arguments.done", o{"item_id": id, "output_index": i, "name": item["name"], "arguments": item["arguments"]})
		}
		event("response.output_item.done", o{"output_index": i, "item": item})
	}
	event("response.completed", o{"response": response("completed", output)})
	streamed(w, true, events...)
}

func anthropicAnswer(w http.ResponseWriter, r *scriptedRequest, model string) {
	content, reason := []any{}, "end_turn"
	if r.Text != "" {
		content = append(content, o{"type": "text", "text": r.Text})
	}
	for _, c := range r.Calls {
		reason = "tool_use"
		content = append(content, o{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Arguments})
	}
	usage := o{"input_tokens": 120, "output_tokens": 14, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
	message := func(content []any, reason any) o {
		return o{"id": fmt.Sprintf("msg_01%08d", r.N), "type": "message", "role": "assistant", "model": model, "content": content, "stop_reason": reason, "stop_sequence": nil, "usage": usage}
	}
	if !r.Stream {
		whole(w, message(content, reason))
		return
	}
	events := []any{o{"type": "message_start", "message": message([]any{}, nil)}}
	for i, block := range content {
		block := object(block)
		delta, begun, pieced := func(p string) o { return o{"type": "text_delta", "text": p} }, o{"type": "text", "text": ""}, r.Text
		if block["type"] == "tool_use" {
			delta = func(p string) o { return o{"type": "input_json_delta", "partial_json": p} }
			begun, pieced = o{"type": "tool_use", "id": block["id"], "name": block["name"], "input": o{}}, string(encoded(block["input"]))
		}
		events = append(events, o{"type": "content_block_start", "index": i, "content_block": begun})
		for _, piece := range pieces(pieced) {
			events = append(events, o{"type": "content_block_delta", "index": i, "delta": delta(piece)})
		}
		events = append(events, o{"type": "content_block_stop", "index": i})
	}
	streamed(w, true, append(events, o{"type": "message_delta", "delta": o{"stop_reason": reason, "stop_sequence": nil}, "usage": o{"input_tokens": 120, "output_tokens": 14}}, o{"type": "message_stop"})...)
}

func geminiAnswer(w http.ResponseWriter, r *scriptedRequest, model string) {
	answer := func(parts []any, last bool) any {
		candidate := o{"content": o{"role": "model", "parts": parts}, "index": 0}
		if last {
			candidate["finishReason"] = "STOP"
		}
		return o{"candidates": []any{candidate}, "usageMetadata": o{"promptTokenCount": 120, "candidatesTokenCount": 14, "totalTokenCount": 134}, "modelVersion": model, "responseId": fmt.Sprintf("response-%04d", r.N)}
	}
	var texts, calls []any
	for _, c := range r.Calls {
		calls = append(calls, o{"functionCall": o{"name": c.Name, "args": c.Arguments}})
	}
	if !r.Stream {
		if r.Text != "" {
			texts = []any{o{"text": r.Text}}
		}
		whole(w, answer(append(texts, calls...), true))
		return
	}
	for _, piece := range pieces(r.Text) {
		texts = append(texts, answer([]any{o{"text": piece}}, false))
	}
	if calls == nil {
		calls = []any{o{"text": ""}}
	}
	streamed(w, false, append(texts, answer(calls, true))...)
}
