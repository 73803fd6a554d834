// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// clerkModel is a scripted model behind the chat completions API, whole and streamed, and behind the Gemini API. It asks for the stock of every
// article that the user named last, all at once, asks once more for those of which the first look-up fails, and answers with what the tools said. It keeps what it was
// asked and what it answered.
type clerkModel struct {
	mu    sync.Mutex
	turns []clerkTurn
}

// clerkTurn is one request and its answer.
type clerkTurn struct {
	Model  string
	Shown  []string // the results of tools since the last message of the user
	Asks   []string // articles
	Round  int      // counts from 0 what was asked since the last message of the user
	Answer string
}

// clerkMessage is a message of any of the APIs: its text, or the result of a tool.
type clerkMessage struct {
	user, tool bool
	text       string
}

var (
	article = regexp.MustCompile(`SKU-\d+`)
	pieces  = regexp.MustCompile(`pieces\W+(\d+)`)
)

// failOnce are the articles of which the first look-up fails, as testdata/agents have it.
var failOnce = []string{"SKU-5", "SKU-6"}

// turn answers a conversation.
func (m *clerkModel) turn(model string, messages []clerkMessage) (turn clerkTurn, number int) {
	turn.Model = model
	asked := ""
	for _, message := range messages {
		switch {
		case message.user:
			asked, turn.Shown = message.text, nil
		case message.tool:
			turn.Shown = append(turn.Shown, message.text)
		}
	}
	turn.Asks = article.FindAllString(asked, -1)
	articles, counts := turn.Asks, map[string]string{}
	for shown := turn.Shown; len(shown) > 0 && len(turn.Asks) > 0; turn.Round++ {
		var again []string
		for i, sku := range turn.Asks {
			result := shown[min(i, len(shown)-1)]
			counts[sku] = "unknown"
			if found := pieces.FindStringSubmatch(result); found != nil {
				counts[sku] = found[1]
			} else if turn.Round == 0 && slices.Contains(failOnce, sku) {
				again = append(again, sku)
			}
		}
		shown, turn.Asks = shown[min(len(turn.Asks), len(shown)):], again
	}
	if len(turn.Asks) == 0 {
		var said []string
		for _, sku := range articles {
			said = append(said, sku+": "+counts[sku])
		}
		turn.Answer = strings.Join(said, ", ") + "."
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = append(m.turns, turn)
	return turn, len(m.turns)
}

func (m *clerkModel) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var err error
	switch {
	case strings.HasSuffix(req.URL.Path, "/chat/completions"):
		err = m.chat(w, req)
	case strings.HasSuffix(req.URL.Path, ":generateContent"):
		err = m.gemini(w, req)
	default:
		err = errors.New("not scripted: " + req.URL.Path)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// flat is the text of a content that is a text or a list of parts.
func flat(content any) string {
	parts, ok := content.([]any)
	if !ok {
		text, _ := content.(string)
		return text
	}
	var text strings.Builder
	for _, p := range parts {
		part, _ := p.(map[string]any)
		text.WriteString(flat(part["text"]))
	}
	return text.String()
}

func (m *clerkModel) chat(w http.ResponseWriter, req *http.Request) error {
	var body struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		return err
	}
	var messages []clerkMessage
	for _, message := range body.Messages {
		messages = append(messages, clerkMessage{user: message.Role == "user", tool: message.Role == "tool", text: flat(message.Content)})
	}
	turn, n := m.turn(body.Model, messages)
	finish, message := "stop", map[string]any{"role": "assistant", "content": nil}
	if turn.Answer != "" {
		message["content"] = turn.Answer
	} else {
		finish = "tool_calls"
		var calls []any
		for i, sku := range turn.Asks {
			calls = append(calls, map[string]any{"index": i, "id": callID(sku) + strings.Repeat("_again", turn.Round), "type": "function", "function": map[string]any{"name": "get_stock", "arguments": `{"sku": "` + sku + `"}`}})
		}
		message["tool_calls"] = calls
	}
	answer := map[string]any{"id": fmt.Sprintf("chatcmpl-%d", n), "created": 1, "model": body.Model}
	usage := map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	choices := func(member string, content any, finish any) []any {
		return []any{map[string]any{"index": 0, member: content, "finish_reason": finish}}
	}
	if !body.Stream {
		answer["object"], answer["choices"], answer["usage"] = "chat.completion", choices("message", message, finish), usage
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(answer)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	answer["object"] = "chat.completion.chunk"
	for _, chunk := range []map[string]any{
		{"choices": choices("delta", message, nil)},
		{"choices": choices("delta", map[string]any{}, finish)},
		{"choices": []any{}, "usage": usage},
	} {
		for name, value := range answer {
			chunk[name] = value
		}
		line, err := json.Marshal(chunk)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "data: %s\n\n", line)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
	return nil
}

func (m *clerkModel) gemini(w http.ResponseWriter, req *http.Request) error {
	var body struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				FunctionResponse *struct{ Response json.RawMessage }
			}
		}
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		return err
	}
	var messages []clerkMessage
	for _, content := range body.Contents {
		for _, part := range content.Parts {
			if part.FunctionResponse != nil {
				messages = append(messages, clerkMessage{tool: true, text: string(part.FunctionResponse.Response)})
			} else if content.Role == "user" {
				messages = append(messages, clerkMessage{user: true, text: part.Text})
			}
		}
	}
	name := req.URL.Path[strings.LastIndex(req.URL.Path, "/")+1:]
	turn, n := m.turn(strings.TrimSuffix(name, ":generateContent"), messages)
	var parts []any
	if turn.Answer != "" {
		parts = append(parts, map[string]any{"text": turn.Answer})
	}
	for _, sku := range turn.Asks {
		parts = append(parts, map[string]any{"functionCall": map[string]any{"name": "get_stock", "args": map[string]any{"sku": sku}}})
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(map[string]any{
		"candidates":    []any{map[string]any{"index": 0, "finishReason": "STOP", "content": map[string]any{"role": "model", "parts": parts}}},
		"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
		"modelVersion":  turn.Model, "responseId": fmt.Sprintf("response-%d", n),
	})
}

func callID(sku string) string { return "call_" + sku }
