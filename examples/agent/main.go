// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command agent is a stock clerk: an agent small enough to read, for the first five lines of the README. It asks a model over the API of OpenAI,
// has one tool, and sends its spans by OTLP. Without OPENAI_BASE_URL it brings a scripted model of its own, so that it needs nothing but Go.
//
// Its second release has a bug: what a tool returns reaches the model cut.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/tapedeck/tapedeck/oracle/oracleclient"
)

const (
	name   = "stock-clerk"
	system = "You are the stock clerk. Look things up before you answer."
)

func main() {
	release := flag.Int("release", 1, "which release of the agent runs: 1, 2 or 3")
	flag.Parse()
	if err := serve(*release, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(release int, question string) error {
	if question == "" {
		return errors.New(`usage: agent [-release N] "How many of SKU-7 are in stock?"`)
	}
	base := os.Getenv("OPENAI_BASE_URL")
	if base == "" {
		model, stop, err := scripted()
		if err != nil {
			return err
		}
		defer stop()
		base = model
	}
	c := &clerk{release: release, base: base, oracle: oracleclient.FromEnv(), trace: randomID(16), root: randomID(8)}
	begun := time.Now()
	answer, err := c.answer(context.Background(), question)
	c.span(c.root, "", "invoke_agent "+name, begun, err, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", name, "gen_ai.agent.version", strconv.Itoa(release))
	if err := errors.Join(err, c.send()); err != nil {
		return err
	}
	fmt.Println(answer)
	return nil
}

// clerk is one run.
type clerk struct {
	release     int
	base        string
	oracle      *oracleclient.Client // nil outside of a replay
	trace, root string
	spans       []any
}

// message is one of the API of OpenAI.
type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// answer asks the model until it has no more calls of tools.
func (c *clerk) answer(ctx context.Context, question string) (string, error) {
	messages := []message{{Role: "system", Content: system}, {Role: "user", Content: question}}
	for range 10 {
		said, err := c.ask(ctx, messages)
		if err != nil {
			return "", err
		}
		if len(said.ToolCalls) == 0 {
			return said.Content, nil
		}
		messages = append(messages, said)
		for _, wanted := range said.ToolCalls {
			result, err := c.use(ctx, wanted)
			if err != nil {
				return "", err
			}
			if c.release == 2 && len(result) > 30 {
				result = result[:30] // "no model needs more than this"
			}
			messages = append(messages, message{Role: "tool", ToolCallID: wanted.ID, Content: result})
		}
	}
	return "", errors.New("ten turns and no answer")
}

// ask sends the conversation to the model.
func (c *clerk) ask(ctx context.Context, messages []message) (said message, err error) {
	begun := time.Now()
	finish := ""
	defer func() {
		out := ""
		if err == nil {
			out = recorded(finish, said)
		}
		c.span(randomID(8), c.root, "chat", begun, err, "gen_ai.operation.name", "chat", "gen_ai.provider.name", "openai", "gen_ai.request.model", "clerk-1",
			"gen_ai.input.messages", recorded("", messages...), "gen_ai.output.messages", out)
	}()
	var reply struct {
		Choices []struct {
			Message message `json:"message"`
			Finish  string  `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := post(ctx, c.base+"/chat/completions", map[string]any{"model": "clerk-1", "messages": messages}, &reply); err != nil {
		return said, err
	}
	if len(reply.Choices) == 0 {
		return said, errors.New("the model said nothing")
	}
	finish = reply.Choices[0].Finish
	return reply.Choices[0].Message, nil
}

// use calls the tool; in a replay the oracle answers in its place.
func (c *clerk) use(ctx context.Context, wanted call) (result string, err error) {
	begun := time.Now()
	defer func() {
		c.span(randomID(8), c.root, "execute_tool "+wanted.Function.Name, begun, err, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", wanted.Function.Name,
			"gen_ai.tool.call.id", wanted.ID, "gen_ai.tool.call.arguments", wanted.Function.Arguments, "gen_ai.tool.call.result", result)
	}()
	if c.oracle != nil {
		answer, err := c.oracle.Call(ctx, oracleclient.Call{Tool: wanted.Function.Name, Args: json.RawMessage(wanted.Function.Arguments), ID: wanted.ID})
		return answer.Response, err
	}
	return stock(wanted.Function.Arguments)
}

// stock is the tool.
func stock(args string) (string, error) {
	var asked struct {
		SKU string `json:"sku"`
	}
	if err := json.Unmarshal([]byte(args), &asked); err != nil {
		return "", err
	}
	return fmt.Sprintf(`{"sku":%q,"shelf":"Bern, rack 9","pieces":%d}`, asked.SKU, 6*len(asked.SKU)+12), nil
}

func post(ctx context.Context, url string, body, into any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode >= http.StatusMultipleChoices:
		return fmt.Errorf("%s: %s", resp.Status, text)
	case into == nil:
		return nil
	}
	return json.Unmarshal(text, into)
}

// recorded are messages as the semantic conventions of OpenTelemetry have them.
func recorded(finish string, messages ...message) string {
	type part map[string]any
	list := []part{}
	for _, m := range messages {
		parts := []part{}
		switch {
		case m.Role == "tool":
			parts = append(parts, part{"type": "tool_call_response", "id": m.ToolCallID, "response": m.Content})
		case m.Content != "":
			parts = append(parts, part{"type": "text", "content": m.Content})
		}
		for _, c := range m.ToolCalls {
			parts = append(parts, part{"type": "tool_call", "id": c.ID, "name": c.Function.Name, "arguments": json.RawMessage(c.Function.Arguments)})
		}
		one := part{"role": m.Role, "parts": parts}
		if finish != "" {
			one["finish_reason"] = finish
		}
		list = append(list, one)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "" // arguments that are no JSON
	}
	return string(text)
}

func randomID(bytes int) string {
	id := make([]byte, bytes)
	_, _ = rand.Read(id) // it never fails
	return hex.EncodeToString(id)
}

// span notes what was done. Attributes are names and values; those without a value are left out.
func (c *clerk) span(id, parent, name string, begun time.Time, failed error, attributes ...string) {
	list := []any{}
	for i := 0; i+1 < len(attributes); i += 2 {
		if attributes[i+1] != "" {
			list = append(list, map[string]any{"key": attributes[i], "value": map[string]any{"stringValue": attributes[i+1]}})
		}
	}
	s := map[string]any{
		"traceId": c.trace, "spanId": id, "parentSpanId": parent, "name": name, "kind": 1, "attributes": list,
		"startTimeUnixNano": strconv.FormatInt(begun.UnixNano(), 10), "endTimeUnixNano": strconv.FormatInt(time.Now().UnixNano(), 10),
	}
	if failed != nil {
		s["status"] = map[string]any{"code": 2, "message": failed.Error()}
	}
	c.spans = append(c.spans, s)
}

// send exports the spans, where a receiver is named.
func (c *clerk) send() error {
	endpoint := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" {
		return nil
	}
	service := map[string]any{"key": "service.name", "value": map[string]any{"stringValue": cmp.Or(os.Getenv("OTEL_SERVICE_NAME"), name)}}
	return post(context.Background(), endpoint+"/v1/traces", map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": []any{service}},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": name}, "spans": c.spans}},
	}}}, nil)
}
