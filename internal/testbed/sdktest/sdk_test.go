// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sdktest

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
)

const (
	system   = "You are the stock clerk."
	question = "How many of SKU-7 and SKU-8?"
	seven    = `{"pieces":42,"place":"Bern"}`
	eight    = `{"pieces":0,"place":"nowhere"}`
	answer   = "SKU-7: 42, all of them in Bern. SKU-8: none — «ask again tomorrow», they say, and once more the day after."
)

const line = `{"messages":[{"role":"system","content":"` + system + `"},{"role":"user","content":"` + question + `"},` +
	`{"role":"assistant","content":"Let me look.","tool_calls":[` +
	`{"id":"call_a","type":"function","function":{"name":"get_stock","arguments":"{\"sku\":\"SKU-7\"}"}},` +
	`{"id":"call_b","type":"function","function":{"name":"get_stock","arguments":"{\"sku\":\"SKU-8\"}"}}]},` +
	`{"role":"tool","tool_call_id":"call_a","content":"{\"pieces\":42,\"place\":\"Bern\"}"},` +
	`{"role":"tool","tool_call_id":"call_b","content":"{\"pieces\":0,\"place\":\"nowhere\"}"},` +
	`{"role":"assistant","content":"` + answer + `"}]}`

// stub serves a run of two turns. What a test leaves unasked, and what is missed, fails it.
func stub(t *testing.T) string {
	t.Helper()
	runs, err := chat.Decode([]byte(line+"\n"), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := modelstub.NewHandler(modelstub.Config{Stub: modelstub.New(runs[0].Tape, modelstub.Options{})})
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		for _, r := range h.Reports() {
			if r.Missed != 0 || len(r.Unused) != 0 {
				t.Errorf("%+v", r)
			}
		}
	})
	return s.URL
}

// result is what the tool says to a call.
func result(t *testing.T, name, args string) string {
	t.Helper()
	if name != "get_stock" {
		t.Errorf("tool %s", name)
	}
	if strings.Contains(args, "SKU-7") {
		return seven
	}
	return eight
}

func check(t *testing.T, first string, calls int, last string) {
	t.Helper()
	if first != "Let me look." || calls != 2 || last != answer {
		t.Errorf("first %q with %d calls, last %q", first, calls, last)
	}
}

func eachWay(t *testing.T, run func(t *testing.T, stream bool)) {
	t.Helper()
	t.Run("whole", func(t *testing.T) { run(t, false) })
	t.Run("streamed", func(t *testing.T) { run(t, true) })
}

func TestOpenAIChat(t *testing.T) {
	eachWay(t, func(t *testing.T, stream bool) {
		client := openai.NewClient(option.WithBaseURL(stub(t)+"/v1"), option.WithAPIKey("none"))
		messages := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system), openai.UserMessage(question)}
		ask := func() openai.ChatCompletionMessage {
			params := openai.ChatCompletionNewParams{Model: "m", Messages: messages}
			if !stream {
				got, err := client.Chat.Completions.New(t.Context(), params)
				if err != nil {
					t.Fatal(err)
				}
				return got.Choices[0].Message
			}
			var whole openai.ChatCompletionAccumulator
			s := client.Chat.Completions.NewStreaming(t.Context(), params)
			for s.Next() {
				if !whole.AddChunk(s.Current()) {
					t.Fatal("a chunk does not fit")
				}
			}
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			return whole.Choices[0].Message
		}
		first := ask()
		messages = append(messages, first.ToParam())
		for _, c := range first.ToolCalls {
			messages = append(messages, openai.ToolMessage(result(t, c.Function.Name, c.Function.Arguments), c.ID))
		}
		check(t, first.Content, len(first.ToolCalls), ask().Content)
	})
}

func TestOpenAIResponses(t *testing.T) {
	eachWay(t, func(t *testing.T, stream bool) {
		client := openai.NewClient(option.WithBaseURL(stub(t)+"/v1"), option.WithAPIKey("none"))
		ask := func(params responses.ResponseNewParams) *responses.Response {
			params.Model, params.Instructions = "m", openai.String(system)
			if !stream {
				got, err := client.Responses.New(t.Context(), params)
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			text := ""
			var end *responses.Response
			s := client.Responses.NewStreaming(t.Context(), params)
			for s.Next() {
				switch e := s.Current().AsAny().(type) {
				case responses.ResponseTextDeltaEvent:
					text += e.Delta
				case responses.ResponseCompletedEvent:
					end = &e.Response
				}
			}
			if s.Err() != nil || end == nil || text != end.OutputText() {
				t.Fatalf("%v, end %v, text %q", s.Err(), end, text)
			}
			return end
		}
		first := ask(responses.ResponseNewParams{Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(question)}})
		var items responses.ResponseInputParam
		for _, item := range first.Output {
			if c, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
				item := responses.ResponseInputItemParamOfFunctionCallOutput(result(t, c.Name, c.Arguments))
				item.OfFunctionCallOutput.CallID = openai.String(c.CallID)
				items = append(items, item)
			}
		}
		last := ask(responses.ResponseNewParams{PreviousResponseID: openai.String(first.ID), Input: responses.ResponseNewParamsInputUnion{OfInputItemList: items}})
		check(t, first.OutputText(), len(items), last.OutputText())
	})
}

func TestAnthropicMessages(t *testing.T) {
	eachWay(t, func(t *testing.T, stream bool) {
		client := anthropic.NewClient(anthropicoption.WithBaseURL(stub(t)), anthropicoption.WithAPIKey("none"))
		messages := []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))}
		ask := func() anthropic.Message {
			params := anthropic.MessageNewParams{Model: "m", MaxTokens: 100, System: []anthropic.TextBlockParam{{Text: system}}, Messages: messages}
			if !stream {
				got, err := client.Messages.New(t.Context(), params)
				if err != nil {
					t.Fatal(err)
				}
				return *got
			}
			var whole anthropic.Message
			s := client.Messages.NewStreaming(t.Context(), params)
			for s.Next() {
				if err := whole.Accumulate(s.Current()); err != nil {
					t.Fatal(err)
				}
			}
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			return whole
		}
		text := func(m anthropic.Message) (s string) {
			for _, b := range m.Content {
				s += b.Text
			}
			return s
		}
		first := ask()
		var results []anthropic.ContentBlockParamUnion
		for _, b := range first.Content {
			if c, ok := b.AsAny().(anthropic.ToolUseBlock); ok {
				results = append(results, anthropic.NewToolResultBlock(c.ID, result(t, c.Name, string(c.Input)), false))
			}
		}
		if first.StopReason != anthropic.StopReasonToolUse {
			t.Errorf("stop reason %s", first.StopReason)
		}
		messages = append(messages, first.ToParam(), anthropic.NewUserMessage(results...))
		check(t, text(first), len(results), text(ask()))
	})
}

func TestGemini(t *testing.T) {
	eachWay(t, func(t *testing.T, stream bool) {
		client, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: stub(t)}})
		if err != nil {
			t.Fatal(err)
		}
		config := &genai.GenerateContentConfig{SystemInstruction: genai.NewContentFromText(system, "")}
		contents := []*genai.Content{genai.NewContentFromText(question, genai.RoleUser)}
		ask := func() *genai.Content {
			if !stream {
				got, err := client.Models.GenerateContent(t.Context(), "m", contents, config)
				if err != nil {
					t.Fatal(err)
				}
				return got.Candidates[0].Content
			}
			whole := &genai.Content{Role: genai.RoleModel}
			for got, err := range client.Models.GenerateContentStream(t.Context(), "m", contents, config) {
				if err != nil {
					t.Fatal(err)
				}
				whole.Parts = append(whole.Parts, got.Candidates[0].Content.Parts...)
			}
			return whole
		}
		text := func(c *genai.Content) (s string) {
			for _, p := range c.Parts {
				s += p.Text
			}
			return s
		}
		first := ask()
		var results []*genai.Part
		for _, p := range first.Parts {
			if c := p.FunctionCall; c != nil {
				args, err := json.Marshal(c.Args)
				if err != nil {
					t.Fatal(err)
				}
				var response map[string]any
				if err := json.Unmarshal([]byte(result(t, c.Name, string(args))), &response); err != nil {
					t.Fatal(err)
				}
				results = append(results, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: c.ID, Name: c.Name, Response: response}})
			}
		}
		contents = append(contents, first, &genai.Content{Role: genai.RoleUser, Parts: results})
		check(t, text(first), len(results), text(ask()))
	})
}

// TestAMissIsAnErrorThatIsNotTriedAgain: the SDKs try again what they take for a passing failure, which a miss is not.
func TestAMissIsAnErrorThatIsNotTriedAgain(t *testing.T) {
	runs, err := chat.Decode([]byte(line+"\n"), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := modelstub.NewHandler(modelstub.Config{Stub: modelstub.New(runs[0].Tape, modelstub.Options{})})
	s := httptest.NewServer(h)
	defer s.Close()
	openAI := openai.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey("none"))
	_, chatErr := openAI.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Another question?")}})
	claude := anthropic.NewClient(anthropicoption.WithBaseURL(s.URL), anthropicoption.WithAPIKey("none"))
	_, messagesErr := claude.Messages.New(t.Context(), anthropic.MessageNewParams{Model: "m", MaxTokens: 1, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Another question?"))}})
	if e := (*openai.Error)(nil); !errors.As(chatErr, &e) || e.Code != "no_turn" || e.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("%v", chatErr)
	}
	if e := (*anthropic.Error)(nil); !errors.As(messagesErr, &e) || !strings.Contains(e.RawJSON(), "no_turn") {
		t.Errorf("%v", messagesErr)
	}
	if r := h.Reports(); len(r) != 1 || len(r[0].Calls) != 2 {
		t.Errorf("%+v", r)
	}
}
