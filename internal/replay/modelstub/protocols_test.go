// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const (
	seven = `{"pieces":42,"place":"Bern, rack nine"}`
	eight = `{"pieces":0,"place":"none at the moment"}`
)

// elsewhere are the same requests as other providers take them. whole and streamed are where an answer
// has its texts, and its arguments.
var elsewhere = []struct {
	protocol, path, stream string // "": a member of the body says that it is streamed
	first, second          map[string]any
	whole, streamed        []string
	args, argsStreamed     string
}{
	{
		"bedrock-converse", "/model/arn:aws:bedrock:eu-west-1:1:inference-profile%2Fm/converse", "/model/m/converse-stream",
		map[string]any{"system": []any{map[string]any{"text": system}}, "messages": []any{converse("user", map[string]any{"text": question})}},
		map[string]any{
			"system": []any{map[string]any{"text": system}}, "toolConfig": map[string]any{"tools": []any{map[string]any{"toolSpec": map[string]any{"name": "get_stock", "inputSchema": map[string]any{"json": map[string]any{}}}}}},
			"messages": []any{
				converse("user", map[string]any{"text": question}),
				converse("assistant", map[string]any{"text": "Let me look."}, use("call_a", "SKU-7"), use("call_b", "SKU-8")),
				converse("user", used("call_a", map[string]any{"text": seven}), used("call_b", map[string]any{"json": json.RawMessage(eight)})),
			},
		},
		[]string{"output.message.content.0.text"}, []string{"delta.text"}, "output.message.content.1.toolUse.input.sku", "delta.toolUse.input",
	},
	{
		"anthropic-bedrock", "/model/eu.anthropic.claude-m-v1:0/invoke", "/model/eu.anthropic.claude-m-v1:0/invoke-with-response-stream", requests[2].first, requests[2].second,
		[]string{"content.0.text"}, []string{"delta.text"}, "content.1.input.sku", "delta.partial_json",
	},
	{
		"anthropic-vertex", "/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict", "/v1/projects/p/locations/l/publishers/anthropic/models/m:streamRawPredict", requests[2].first, requests[2].second,
		[]string{"content.0.text"}, []string{"delta.text"}, "content.1.input.sku", "delta.partial_json",
	},
	{
		"gemini-generate-content", "/v1/projects/p/locations/l/publishers/google/models/m:generateContent", "/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent?alt=sse",
		requests[3].first, requests[3].second,
		[]string{"candidates.0.content.parts.0.text"}, []string{"candidates.0.content.parts.0.text"}, "candidates.0.content.parts.1.functionCall.args.sku", "candidates.0.content.parts.0.functionCall.args.sku",
	},
	{
		"openai-chat", "/openai/deployments/m/chat/completions?api-version=2024-10-21", "", requests[0].first, requests[0].second,
		[]string{"choices.0.message.content"}, []string{"choices.0.delta.content"}, "choices.0.message.tool_calls.0.function.arguments", "choices.0.delta.tool_calls.0.function.arguments",
	},
	{
		"openrouter-chat", "/api/v1/chat/completions", "", requests[0].first, requests[0].second,
		[]string{"choices.0.message.content"}, []string{"choices.0.delta.content"}, "choices.0.message.tool_calls.0.function.arguments", "choices.0.delta.tool_calls.0.function.arguments",
	},
	{
		"mistral-chat", "/mistral/v1/chat/completions", "", requests[0].first, requests[0].second,
		[]string{"choices.0.message.content"}, []string{"choices.0.delta.content"}, "choices.0.message.tool_calls.0.function.arguments", "choices.0.delta.tool_calls.0.function.arguments",
	},
	{
		"ollama-chat", "/api/chat", "", map[string]any{"model": "m", "messages": []any{msg("system", system), msg("user", question)}},
		map[string]any{"model": "m", "messages": []any{
			msg("system", system), msg("user", question),
			map[string]any{"role": "assistant", "content": "Let me look.", "tool_calls": []any{ollamaCall("SKU-7"), ollamaCall("SKU-8")}},
			map[string]any{"role": "tool", "tool_name": "get_stock", "content": seven}, map[string]any{"role": "tool", "tool_name": "get_stock", "content": eight},
		}},
		[]string{"message.content"}, []string{"message.content"}, "message.tool_calls.0.function.arguments.sku", "message.tool_calls.0.function.arguments.sku",
	},
	{
		"cohere-chat", "/v2/chat", "", map[string]any{"model": "m", "messages": []any{msg("system", system), msg("user", question)}},
		map[string]any{"model": "m", "messages": []any{
			msg("system", system), msg("user", question),
			map[string]any{"role": "assistant", "tool_plan": "Let me look.", "tool_calls": []any{chatCall("call_a", "SKU-7"), chatCall("call_b", "SKU-8")}},
			map[string]any{"role": "tool", "tool_call_id": "call_a", "content": []any{map[string]any{"type": "document", "document": map[string]any{"data": seven}}}},
			map[string]any{"role": "tool", "tool_call_id": "call_b", "content": eight},
		}},
		[]string{"message.tool_plan", "message.content.0.text"}, []string{"delta.message.tool_plan", "delta.message.content.text"},
		"message.tool_calls.0.function.arguments", "delta.message.tool_calls.function.arguments",
	},
}

func converse(role string, content ...any) any {
	return map[string]any{"role": role, "content": content}
}

func use(id, sku string) any {
	return map[string]any{"toolUse": map[string]any{"toolUseId": id, "name": "get_stock", "input": map[string]any{"sku": sku}}}
}

func used(id string, content any) any {
	return map[string]any{"toolResult": map[string]any{"toolUseId": id, "content": []any{content}, "status": "success"}}
}

func ollamaCall(sku string) any {
	return map[string]any{"function": map[string]any{"name": "get_stock", "arguments": map[string]any{"sku": sku}}}
}

// at is what stands at a place of an object, such as a.0.b.
func at(v exactjson.Value, place string) exactjson.Value {
	for step := range strings.SplitSeq(place, ".") {
		if v.Kind() == exactjson.Array {
			n := 0
			_, _ = fmt.Sscan(step, &n)
			v = v.At(n)
			continue
		}
		v = v.Get(step)
	}
	return v
}

// textsAt are the texts at one of the places, of all objects.
func textsAt(objects []exactjson.Value, places ...string) (text string) {
	for _, o := range objects {
		for _, place := range places {
			text += at(o, place).Str()
		}
	}
	return text
}

// objectsOf are the objects of an answer, however they are framed.
func objectsOf(t *testing.T, resp *http.Response, body string) (list []exactjson.Value) {
	t.Helper()
	add := func(text string) {
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		list = append(list, v)
	}
	switch kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); kind {
	case "text/event-stream":
		return data(t, body)
	case ndjson:
		for line := range strings.Lines(body) {
			add(line)
		}
	case awsStream:
		for in := strings.NewReader(body); ; {
			m, err := eventstream.NewDecoder().Decode(in, nil)
			if errors.Is(err, io.EOF) {
				return list
			}
			if err != nil || m.Headers.Get(":message-type").String() != "event" || m.Headers.Get(":event-type") == nil {
				t.Fatalf("%v %v", err, m)
			}
			if m.Headers.Get(":event-type").String() != "chunk" {
				add(string(m.Payload))
				continue
			}
			var chunk struct{ Bytes []byte }
			if err := json.Unmarshal(m.Payload, &chunk); err != nil {
				t.Fatal(err)
			}
			add(string(chunk.Bytes))
		}
	default:
		add(body)
	}
	return list
}

func TestOtherProvidersAnswerTheSameConversation(t *testing.T) {
	for _, r := range elsewhere {
		for _, streamed := range []bool{false, true} {
			t.Run(fmt.Sprint(r.path, " ", streamed), func(t *testing.T) {
				h := NewHandler(Config{Stub: New(conversationTape(t), Options{})})
				s := httptest.NewServer(h)
				defer s.Close()
				path, places, args := r.path, r.whole, r.args
				if streamed {
					places, args = r.streamed, r.argsStreamed
					if r.stream != "" {
						path = r.stream
					}
				}
				var found []string
				for _, body := range []map[string]any{r.first, r.second} {
					body = maps.Clone(body)
					if r.stream == "" {
						body["stream"] = streamed
					}
					resp, text := post(t, s.URL+path, body)
					if resp.StatusCode != http.StatusOK {
						t.Fatalf("%s %s", resp.Status, text)
					}
					objects := objectsOf(t, resp, text)
					if streamed == (len(objects) == 1) {
						t.Errorf("%d objects: %s", len(objects), text)
					}
					found = append(found, textsAt(objects, places...), textsAt(objects, args))
				}
				if found[0] != "Let me look." || !strings.Contains(found[1], "SKU-7") || found[2] != wantSecond || found[3] != "" {
					t.Errorf("%q", found)
				}
				if report := h.Report(""); report.Missed != 0 || len(report.Unused) != 0 || report.Calls[0].API != r.protocol || report.Calls[0].Stream != streamed || report.Calls[0].Model == "" {
					t.Errorf("%+v %+v", report, report.Calls[0])
				}
			})
		}
	}
}

// Another result is a miss in each of them, with an error in the words of the provider.
func TestAnotherResultIsAMissInEveryProtocol(t *testing.T) {
	for _, r := range elsewhere {
		s := server(t, conversationTape(t), Options{}, Config{})
		encoded, err := json.Marshal(r.second)
		if err != nil {
			t.Fatal(err)
		}
		resp, body := post(t, s.URL+r.path, json.RawMessage(strings.ReplaceAll(string(encoded), "rack nine", "rack ten")))
		if resp.StatusCode != http.StatusUnprocessableEntity || resp.Header.Get(headerOutcome) != string(NoTurn) || !strings.Contains(body, "rack ten") || !strings.Contains(body, "calls.1.result") {
			t.Errorf("%s: %s %s", r.path, resp.Status, body)
		}
		v, err := exactjson.Parse(body)
		if err != nil {
			t.Fatal(err)
		}
		if message := textsAt([]exactjson.Value{v}, "message", "error", "error.message"); !strings.HasPrefix(message, "tapedeck: ") {
			t.Errorf("%s: %s", r.path, body)
		}
	}
}

// Calls of Ollama have no ids: their results are told apart by the name of the tool.
func TestResultsOfOllamaAreThoseOfTheToolThatTheyName(t *testing.T) {
	line := `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[` +
		`{"id":"1","type":"function","function":{"name":"east","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"west","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"1","content":"warm"},{"role":"tool","tool_call_id":"2","content":"cold"},{"role":"assistant","content":"So."}]}`
	runs, err := chat.Decode([]byte(line+"\n"), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	call := func(name string) any {
		return map[string]any{"function": map[string]any{"name": name, "arguments": map[string]any{}}}
	}
	for _, tt := range []struct {
		first, second string // the tools of the results warm and cold, which come the other way round
		want          int
	}{{"east", "west", http.StatusOK}, {"west", "east", http.StatusUnprocessableEntity}} {
		resp, body := post(t, server(t, runs[0].Tape, Options{}, Config{}).URL+"/api/chat", map[string]any{"model": "m", "messages": []any{
			msg("user", "q"), map[string]any{"role": "assistant", "content": "", "tool_calls": []any{call("east"), call("west")}},
			map[string]any{"role": "tool", "tool_name": tt.second, "content": "cold"}, map[string]any{"role": "tool", "tool_name": tt.first, "content": "warm"},
		}})
		if resp.StatusCode != tt.want {
			t.Errorf("%s %s", resp.Status, body)
		}
	}
}

// What the model thought comes back in a request of Mistral as a part of the content, and is not compared.
func TestThoughtsInARequestOfMistralAreNotCompared(t *testing.T) {
	said := map[string]any{"role": "assistant", "content": []any{mistralThought("Hm."), map[string]any{"type": "text", "text": "Let me look."}}, "tool_calls": []any{chatCall("call_a", "SKU-7"), chatCall("call_b", "SKU-8")}}
	resp, body := post(t, server(t, conversationTape(t), Options{}, Config{}).URL+"/mistral/v1/chat/completions", with(2, said))
	if resp.StatusCode != http.StatusOK || resp.Header.Get(headerLabels) != string(OutOfOrder) {
		t.Errorf("%s, labels %s: %s", resp.Status, resp.Header.Get(headerLabels), body)
	}
}

// The SDKs of AWS, Mistral and OpenRouter tell errors apart by names and numbers of their own.
func TestARecordedFailureHasTheNameThatItsSDKKnows(t *testing.T) {
	for path, want := range map[string]string{
		"/model/m/converse": `{"__type":"ThrottlingException","message":"slow down"}`, "/model/anthropic.m/invoke": `{"__type":"ThrottlingException","message":"slow down"}`,
		"/api/v1/chat/completions": `{"error":{"code":429,"message":"slow down","metadata":{"type":"RateLimitError"}}}`, "/api/chat": `{"error":"slow down"}`,
		"/v2/chat": `{"message":"slow down","type":"RateLimitError"}`,
	} {
		tp := conversationTape(t)
		tp.Events[0].Status, tp.Events[0].Error, tp.Events[0].Response = tape.EventError, &tape.Error{Type: "RateLimitError", Message: "429 slow down"}, nil
		body := requests[0].first
		if strings.HasPrefix(path, "/model/") {
			body = elsewhere[0].first
		}
		resp, text := post(t, server(t, tp, Options{}, Config{}).URL+path, body)
		if resp.StatusCode != http.StatusTooManyRequests || strings.TrimSpace(text) != want {
			t.Errorf("%s: %s %s", path, resp.Status, text)
		}
	}
}

// An SDK that does not know X-Should-Retry gets a recorded failure as often as it tries at once, within a
// bound, and no other answer in its place.
func TestARecordedFailureIsServedToWhoTriesAgain(t *testing.T) {
	failed := func() *Handler {
		tp := conversationTape(t)
		tp.Events[0].Status, tp.Events[0].Error, tp.Events[0].Response = tape.EventError, &tape.Error{Type: "TooManyRequestsError", Message: "429 slow down"}, nil
		return NewHandler(Config{Stub: New(tp, Options{})})
	}
	h := failed()
	s := httptest.NewServer(h)
	defer s.Close()
	for i := range maxTries + 2 {
		want := http.StatusTooManyRequests
		if i > maxTries {
			want = http.StatusUnprocessableEntity
		}
		if resp, body := post(t, s.URL+"/v2/chat", elsewhere[8].first); resp.StatusCode != want || strings.Contains(resp.Header.Get(headerLabels), string(TriedAgain)) != (i > 0 && i <= maxTries) {
			t.Errorf("%d: %s, labels %q: %s", i, resp.Status, resp.Header.Get(headerLabels), body)
		}
	}
	if r := h.Report(""); r.Missed != 1 || len(r.Calls) != maxTries+2 {
		t.Errorf("%+v", r)
	}
	// behind another answer it is another call
	h = failed()
	other := httptest.NewServer(h)
	defer other.Close()
	for i, want := range []int{http.StatusTooManyRequests, http.StatusOK, http.StatusUnprocessableEntity} {
		body := elsewhere[8].first
		if i == 1 {
			body = elsewhere[8].second
		}
		if resp, text := post(t, other.URL+"/v2/chat", body); resp.StatusCode != want {
			t.Errorf("%d: %s %s", i, resp.Status, text)
		}
	}
}

func TestGenerateOfOllamaIsAConversationOfOneQuestion(t *testing.T) {
	tp := conversationTape(t)
	tp.Messages[tp.Events[0].Response.Message] = tape.Message{Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartReasoning, Text: "Hm."}, {Type: tape.PartText, Text: "Ask again."}}}
	for _, streamed := range []bool{false, true} {
		resp, body := post(t, server(t, tp, Options{}, Config{}).URL+"/api/generate", map[string]any{"model": "m", "system": system, "prompt": question, "stream": streamed})
		objects := objectsOf(t, resp, body)
		if last := objects[len(objects)-1]; textsAt(objects, "response") != "Ask again." || textsAt(objects, "thinking") != "Hm." || !last.Get("done").True() || (len(objects) > 1) != streamed {
			t.Errorf("%s %s", resp.Status, body)
		}
	}
	// without a word about it Ollama streams
	resp, _ := post(t, server(t, tp, Options{}, Config{}).URL+"/api/generate", map[string]any{"model": "m", "system": system, "prompt": question})
	if resp.Header.Get("Content-Type") != ndjson {
		t.Error(resp.Header)
	}
}

// The SDK of Mistral gathers no pieces of a call, and OpenRouter and Mistral end a stream with the counts of
// tokens unasked.
func TestChatCompletionsOfOthersStreamInTheirOwnWay(t *testing.T) {
	body := maps.Clone(requests[0].first)
	body["stream"] = true
	long := conversationTape(t)
	m := long.Messages[long.Events[0].Response.Message]
	m.Parts = append([]tape.Part{{Type: tape.PartReasoning, Text: "Hm."}}, m.Parts...)
	args, err := exactjson.Parse(`{"sku":"` + strings.Repeat("SKU-7 ", 30) + `"}`)
	if err != nil {
		t.Fatal(err)
	}
	m.Parts[2].Args = args
	long.Messages[long.Events[0].Response.Message] = m
	for _, tt := range []struct {
		path, agent, thought string
		whole                bool
	}{
		{"/mistral/v1/chat/completions", "x", "choices.0.delta.content.0.thinking.0.text", true},
		{"/v1/chat/completions", "mistral-client-python/3", "choices.0.delta.content.0.thinking.0.text", true},
		{"/api/v1/chat/completions", "x", "choices.0.delta.reasoning_details.0.text", false},
	} {
		resp, text := post(t, server(t, long, Options{}, Config{}).URL+tt.path, body, "User-Agent", tt.agent)
		objects := objectsOf(t, resp, text)
		usage, first := 0, ""
		for _, o := range objects {
			if !o.Get("usage").IsEmpty() {
				usage++
			}
			if call := at(o, "choices.0.delta.tool_calls.0.function.arguments"); first == "" {
				first = call.Str()
			}
		}
		if usage != 1 || strings.HasSuffix(first, "}") != tt.whole || textsAt(objects, tt.thought) != "Hm." {
			t.Errorf("%s: %d, %q: %s", tt.path, usage, first, text)
		}
	}
}

// everyRequest are all requests of this package, with their paths.
func everyRequest() map[string][]map[string]any {
	all := map[string][]map[string]any{}
	for _, r := range requests {
		all[r.path] = append(all[r.path], r.first, r.second)
	}
	for _, r := range elsewhere {
		for _, path := range []string{r.path, r.stream} {
			if path != "" {
				all[path] = append(all[path], r.first, r.second)
			}
		}
	}
	for _, r := range vectorRequests {
		all[r.path] = append(all[r.path], r.body)
	}
	for _, path := range []string{"/api/generate", "/api/show", "/api/pull", "/v1/messages/count_tokens", "/v1/responses/input_tokens", "/v1beta/models/m:countTokens", "/model/m/count-tokens", "/v1/vector_stores/vs_1/search"} {
		all[path] = append(all[path], map[string]any{"model": "m", "prompt": "x", "query": "x", "input": map[string]any{"converse": map[string]any{"messages": []any{}}}})
	}
	return all
}

func FuzzOtherProvidersAnswerAnyRequest(f *testing.F) {
	for path, bodies := range everyRequest() {
		for _, body := range bodies {
			text, err := json.Marshal(body)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(path, string(text))
		}
	}
	stub := New(conversationTape(f), Options{})
	f.Fuzz(func(t *testing.T, path, body string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://stub", bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		if u, err := req.URL.Parse(path); err == nil {
			req.URL = u
		} else {
			req.URL.Path = path
		}
		w, h := httptest.NewRecorder(), NewHandler(Config{Stub: stub})
		h.ServeHTTP(w, req)
		if w.Code < 200 || w.Code > 599 || w.Body.Len() == 0 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if r := h.Reports(); w.Code != http.StatusBadRequest && len(r) == 1 && len(r[0].Calls)+len(r[0].Beside) != 1 {
			t.Errorf("%s: %d, and the report says %+v", path, w.Code, r[0])
		}
	})
}
