// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// conversationLine is a run as a line of chat messages: two calls at once, their results, the answer.
const conversationLine = `{"messages":[
{"role":"system","content":"You are the stock clerk. Today is 2026-11-20."},
{"role":"user","content":"How many of SKU-7 and SKU-8?"},
{"role":"assistant","content":"Let me look.","tool_calls":[
 {"id":"call_a","type":"function","function":{"name":"get_stock","arguments":"{\"sku\":\"SKU-7\"}"}},
 {"id":"call_b","type":"function","function":{"name":"get_stock","arguments":"{\"sku\":\"SKU-8\"}"}}]},
{"role":"tool","tool_call_id":"call_a","content":"{\"pieces\":42,\"place\":\"Bern, rack nine\"}"},
{"role":"tool","tool_call_id":"call_b","content":"{\"pieces\":0,\"place\":\"none at the moment\"}"},
{"role":"assistant","content":"SKU-7: 42, SKU-8: 0. The first lies in Bern, and of the second there is none at the moment; ask again tomorrow."}]}`

func conversationTape(t testing.TB) *tape.Tape {
	t.Helper()
	runs, err := chat.Decode([]byte(strings.ReplaceAll(conversationLine, "\n", "")+"\n"), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return runs[0].Tape
}

func server(t *testing.T, tp *tape.Tape, o Options, c Config) *httptest.Server {
	t.Helper()
	c.Stub = New(tp, o)
	s := httptest.NewServer(NewHandler(c))
	t.Cleanup(s.Close)
	return s
}

func post(t *testing.T, url string, body any, headers ...string) (*http.Response, string) {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(string(encoded)))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

const system = "You are the stock clerk. Today is 2026-11-20."
const question = "How many of SKU-7 and SKU-8?"

// first are the first requests of the conversation, and second the ones that follow it, by protocol.
var requests = []struct {
	protocol, path string
	first, second  map[string]any
}{
	{
		"openai-chat", "/v1/chat/completions",
		map[string]any{"model": "m", "messages": []any{msg("system", system), msg("user", question)}},
		map[string]any{"model": "m", "messages": []any{
			msg("system", system), msg("user", question),
			map[string]any{"role": "assistant", "content": "Let me look.", "tool_calls": []any{chatCall("call_a", "SKU-7"), chatCall("call_b", "SKU-8")}},
			map[string]any{"role": "tool", "tool_call_id": "call_b", "content": `{"pieces":0,"place":"none at the moment"}`},
			map[string]any{"role": "tool", "tool_call_id": "call_a", "content": `{"pieces":42,"place":"Bern, rack nine"}`},
		}},
	},
	{
		"openai-responses", "/v1/responses",
		map[string]any{"model": "m", "instructions": system, "input": question},
		map[string]any{"model": "m", "instructions": system, "input": []any{
			msg("user", question),
			map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": "Let me look."}}},
			map[string]any{"type": "function_call", "call_id": "call_a", "name": "get_stock", "arguments": `{"sku":"SKU-7"}`},
			map[string]any{"type": "function_call", "call_id": "call_b", "name": "get_stock", "arguments": `{"sku":"SKU-8"}`},
			map[string]any{"type": "function_call_output", "call_id": "call_a", "output": `{"pieces":42,"place":"Bern, rack nine"}`},
			map[string]any{"type": "function_call_output", "call_id": "call_b", "output": `{"pieces":0,"place":"none at the moment"}`},
		}},
	},
	{
		"anthropic-messages", "/v1/messages",
		map[string]any{"model": "m", "max_tokens": 100, "system": system, "messages": []any{msg("user", question)}},
		map[string]any{"model": "m", "max_tokens": 100, "system": []any{map[string]any{"type": "text", "text": system}}, "messages": []any{
			msg("user", question),
			map[string]any{"role": "assistant", "content": []any{
				map[string]any{"type": "text", "text": "Let me look."},
				map[string]any{"type": "tool_use", "id": "call_a", "name": "get_stock", "input": map[string]any{"sku": "SKU-7"}},
				map[string]any{"type": "tool_use", "id": "call_b", "name": "get_stock", "input": map[string]any{"sku": "SKU-8"}},
			}},
			map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "tool_result", "tool_use_id": "call_a", "content": []any{map[string]any{"type": "text", "text": `{"pieces":42,"place":"Bern, rack nine"}`}}},
				map[string]any{"type": "tool_result", "tool_use_id": "call_b", "content": `{"pieces":0,"place":"none at the moment"}`},
			}},
		}},
	},
	{
		"gemini-generate-content", "/v1beta/models/m:generateContent",
		map[string]any{"systemInstruction": map[string]any{"parts": []any{map[string]any{"text": system}}}, "contents": []any{geminiText("user", question)}},
		map[string]any{"systemInstruction": map[string]any{"parts": []any{map[string]any{"text": system}}}, "contents": []any{
			geminiText("user", question),
			map[string]any{"role": "model", "parts": []any{
				map[string]any{"text": "Let me look."},
				map[string]any{"functionCall": map[string]any{"name": "get_stock", "args": map[string]any{"sku": "SKU-7"}}},
				map[string]any{"functionCall": map[string]any{"name": "get_stock", "args": map[string]any{"sku": "SKU-8"}}},
			}},
			map[string]any{"role": "user", "parts": []any{
				map[string]any{"functionResponse": map[string]any{"name": "get_stock", "response": map[string]any{"pieces": 42, "place": "Bern, rack nine"}}},
				map[string]any{"functionResponse": map[string]any{"name": "get_stock", "response": map[string]any{"pieces": 0, "place": "none at the moment"}}},
			}},
		}},
	},
}

func msg(role, text string) any { return map[string]any{"role": role, "content": text} }

func chatCall(id, sku string) any {
	return map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "get_stock", "arguments": `{"sku": "` + sku + `"}`}}
}

func geminiText(role, text string) any {
	return map[string]any{"role": role, "parts": []any{map[string]any{"text": text}}}
}

// said is an answer as the reader of the dialects reads it: its text and its calls.
func said(t *testing.T, body string) string {
	t.Helper()
	v, err := exactjson.Parse(body)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	text := ""
	for _, m := range decode.OutputMessages(v, 0) {
		for _, p := range m.Parts {
			switch p.Type {
			case tape.PartText:
				text += p.Text
			case tape.PartToolCall:
				text += fmt.Sprintf(" [%s %s]", p.Name, p.Args.JSON())
			}
		}
	}
	return text
}

const wantFirst = `Let me look. [get_stock {"sku":"SKU-7"}] [get_stock {"sku":"SKU-8"}]`
const wantSecond = "SKU-7: 42, SKU-8: 0. The first lies in Bern, and of the second there is none at the moment; ask again tomorrow."

func TestEveryProtocolAnswersTheSameConversation(t *testing.T) {
	for _, r := range requests {
		t.Run(r.protocol, func(t *testing.T) {
			s := server(t, conversationTape(t), Options{}, Config{})
			for i, turn := range []struct {
				body map[string]any
				want string
			}{{r.first, wantFirst}, {r.second, wantSecond}} {
				resp, body := post(t, s.URL+r.path, turn.body)
				if resp.StatusCode != http.StatusOK {
					t.Fatalf("turn %d: %s %s", i, resp.Status, body)
				}
				if got := said(t, body); got != turn.want {
					t.Errorf("turn %d: %q, want %q", i, got, turn.want)
				}
				if made := resp.Header.Get(headerMadeUp); !strings.Contains(made, "usage") || !strings.Contains(made, "id") {
					t.Errorf("turn %d: the tape has no usage and no id, declared is %q", i, made)
				}
			}
		})
	}
}

// data are the payloads of a stream.
func data(t *testing.T, body string) (list []exactjson.Value) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		payload, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || payload == "[DONE]" {
			continue
		}
		v, err := exactjson.Parse(payload)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

func TestStreamsCarryTheSameText(t *testing.T) {
	for _, r := range requests {
		t.Run(r.protocol, func(t *testing.T) {
			s := server(t, conversationTape(t), Options{}, Config{})
			body := map[string]any{"stream": true}
			for name, value := range r.second {
				body[name] = value
			}
			path := strings.Replace(r.path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
			if strings.Contains(path, "stream") {
				delete(body, "stream")
			}
			resp, streamed := post(t, s.URL+path, body)
			if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
				t.Fatalf("%s %s", resp.Status, streamed)
			}
			text := ""
			for _, v := range data(t, streamed) {
				text += v.Get("choices").At(0).Get("delta").Get("content").Str()
				if v.Get("type").Str() == "response.output_text.delta" {
					text += v.Get("delta").Str()
				}
				text += v.Get("delta").Get("text").Str()
				text += v.Get("candidates").At(0).Get("content").Get("parts").At(0).Get("text").Str()
			}
			if text != wantSecond {
				t.Errorf("%q", text)
			}
		})
	}
}

// with returns the second chat request with one message replaced.
func with(i int, message any) map[string]any {
	messages := slices.Clone(requests[0].second["messages"].([]any))
	messages[i] = message
	return map[string]any{"model": "m", "messages": messages}
}

func TestAnotherConversationIsAMissThatNamesThePlace(t *testing.T) {
	for _, tt := range []struct {
		name  string
		body  map[string]any
		place string
	}{
		{"system prompt", with(0, msg("system", "You are a pirate.")), "system_prompt"},
		{"user message", with(1, msg("user", "How many of SKU-9?")), "1.user"},
		{"tool result", with(4, map[string]any{"role": "tool", "tool_call_id": "call_a", "content": `{"pieces":43,"place":"Bern, rack nine"}`}), "2.assistant.calls.1.result"},
		{"arguments", with(2, map[string]any{"role": "assistant", "content": "Let me look.", "tool_calls": []any{chatCall("call_a", "SKU-7"), chatCall("call_b", "SKU-9")}}), "2.assistant.calls.2.args"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := server(t, conversationTape(t), Options{}, Config{})
			resp, body := post(t, s.URL+"/v1/chat/completions", tt.body)
			if resp.StatusCode != http.StatusUnprocessableEntity || resp.Header.Get("X-Should-Retry") != "false" {
				t.Errorf("%s, retry %q: %s", resp.Status, resp.Header.Get("X-Should-Retry"), body)
			}
			if !strings.Contains(body, " "+tt.place+":") || !strings.Contains(body, "no_turn") {
				t.Errorf("want %s in %s", tt.place, body)
			}
		})
	}
}

func TestAnAnswerIsServedAsOftenAsItWasRecorded(t *testing.T) {
	s := server(t, conversationTape(t), Options{}, Config{})
	post(t, s.URL+"/v1/chat/completions", requests[0].first)
	resp, body := post(t, s.URL+"/v1/chat/completions", requests[0].first)
	if resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "exhausted") {
		t.Errorf("%s %s", resp.Status, body)
	}
	resp, body = post(t, s.URL+"/session/other/v1/chat/completions", requests[0].first)
	if resp.StatusCode != http.StatusOK {
		t.Errorf("another session: %s %s", resp.Status, body)
	}
}

func TestRulesLetVolatilePromptsAgree(t *testing.T) {
	rules, err := normalise.New([]normalise.Rule{{Path: "$", Action: normalise.Normalise, Pattern: `\d{4}-\d\d-\d\d`, In: []string{"system_prompt"}}})
	if err != nil {
		t.Fatal(err)
	}
	tomorrow := with(0, msg("system", strings.Replace(system, "11-20", "11-21", 1)))
	s := server(t, conversationTape(t), Options{}, Config{})
	if resp, body := post(t, s.URL+"/v1/chat/completions", tomorrow); resp.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("without rules: %s %s", resp.Status, body)
	}
	s = server(t, conversationTape(t), Options{Rules: rules}, Config{})
	resp, body := post(t, s.URL+"/v1/chat/completions", tomorrow)
	if resp.StatusCode != http.StatusOK || !strings.Contains(resp.Header.Get(headerLabels), string(ByRule)) {
		t.Errorf("with rules: %s, labels %s: %s", resp.Status, resp.Header.Get(headerLabels), body)
	}
}

type everyToken struct{}

func (everyToken) VerifyToken(token, live string) bool {
	return token == "[REDACTED:email:0123abcd]" && live == "ann@example.com"
}

func TestTokensOnTheTapeAgreeWithWhatTheyStandFor(t *testing.T) {
	tp := conversationTape(t)
	for id, m := range tp.Messages {
		if m.Role == tape.RoleUser {
			m.Parts = []tape.Part{{Type: tape.PartText, Text: "Write to [REDACTED:email:0123abcd] about SKU-7."}}
			tp.Messages[id] = m
		}
	}
	ask := func(o Options, text string) *http.Response {
		resp, _ := post(t, server(t, tp, o, Config{}).URL+"/v1/chat/completions", map[string]any{"messages": []any{msg("system", system), msg("user", text)}})
		return resp
	}
	if r := ask(Options{Verifier: everyToken{}}, "Write to ann@example.com about SKU-7."); r.StatusCode != http.StatusOK || !strings.Contains(r.Header.Get(headerLabels), string(ByRedaction)) {
		t.Errorf("the right address: %s %s", r.Status, r.Header.Get(headerLabels))
	}
	if r := ask(Options{Verifier: everyToken{}}, "Write to bob@example.com about SKU-7."); r.StatusCode == http.StatusOK {
		t.Error("another address is served")
	}
	if r := ask(Options{}, "Write to ann@example.com about SKU-7."); r.StatusCode == http.StatusOK {
		t.Error("without a key an address is served")
	}
	if r := ask(Options{}, "Write to [REDACTED:email:0123abcd] about SKU-7."); r.StatusCode != http.StatusOK {
		t.Error("the token itself is not served")
	}
}

func TestRecordedFailuresAreServedWithTheirStatus(t *testing.T) {
	for _, tt := range []struct {
		recorded tape.Error
		status   int
		message  string
		madeUp   bool
	}{
		{tape.Error{Type: "openai.RateLimitError", Message: "Error code: 429 - {'error': {'message': 'Rate limit reached', 'type': 'tokens', 'code': None}}"}, 429, "Rate limit reached", false},
		{tape.Error{Type: "RateLimitError", Message: "429 Rate limit reached"}, 429, "Rate limit reached", false},
		{tape.Error{Type: "OverloadedError", Message: "try later"}, 529, "try later", true},
		{tape.Error{Message: "no idea"}, 500, "no idea", true},
	} {
		tp := conversationTape(t)
		tp.Events[0].Status, tp.Events[0].Error, tp.Events[0].Response = tape.EventError, &tt.recorded, nil
		resp, body := post(t, server(t, tp, Options{}, Config{}).URL+"/v1/chat/completions", requests[0].first)
		v, err := exactjson.Parse(body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != tt.status || v.Get("error").Get("message").Str() != tt.message || resp.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%+v: %s %s", tt.recorded, resp.Status, body)
		}
		if got := strings.Contains(resp.Header.Get(headerMadeUp), "status"); got != tt.madeUp {
			t.Errorf("%+v: made up: %s", tt.recorded, resp.Header.Get(headerMadeUp))
		}
	}
}

// A failed attempt and the next one, both recorded: the client is let try again, and not once more.
func TestAClientTriesAgainWhereTheNextAttemptIsRecorded(t *testing.T) {
	tp := conversationTape(t)
	failed := tp.Events[0]
	failed.Seq, failed.Status, failed.Error, failed.Response = 0, tape.EventError, &tape.Error{Type: "server_error", Message: "503 later"}, nil
	tp.Events = slices.Insert(tp.Events, 0, failed)
	url := server(t, tp, Options{}, Config{}).URL + "/v1/chat/completions"
	if resp, body := post(t, url, requests[0].first); resp.StatusCode != 503 || resp.Header.Get("X-Should-Retry") != "" {
		t.Errorf("%s %v %s", resp.Status, resp.Header, body)
	}
	if resp, body := post(t, url, requests[0].first); resp.StatusCode != 200 {
		t.Errorf("%s %s", resp.Status, body)
	}
	tp = conversationTape(t)
	tp.Events[0].Status, tp.Events[0].Error, tp.Events[0].Response = tape.EventError, failed.Error, nil
	if resp, _ := post(t, server(t, tp, Options{}, Config{}).URL+"/v1/chat/completions", requests[0].first); resp.StatusCode != 503 || resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
}

// Custom tools of the Responses API take a text: a call of one is served as such, whole and streamed.
func TestCallsOfCustomToolsAreServedAsSuch(t *testing.T) {
	tp := conversationTape(t)
	id := tp.Events[0].Response.Message
	m := tp.Messages[id]
	m.Parts = []tape.Part{
		{Type: tape.PartToolCall, ID: "c1", Name: "patch", Args: exactjson.StringValue("*** Begin")}, {Type: tape.PartToolCall, ID: "c2", Name: "offered", Args: exactjson.ObjectValue()},
		{Type: tape.PartToolCall, ID: "c3", Name: "f", Args: exactjson.StringValue("not json")}, {Type: tape.PartToolCall, ID: "c4", Name: "g", Args: exactjson.ObjectValue()},
	}
	tp.Messages[id] = m
	first := map[string]any{}
	for _, r := range requests {
		if strings.HasSuffix(r.path, "/responses") {
			for name, value := range r.first {
				first[name] = value
			}
		}
	}
	first["tools"] = []any{map[string]any{"type": "custom", "name": "offered"}, map[string]any{"type": "function", "name": "f"}}
	want := []string{"custom_tool_call patch *** Begin", "custom_tool_call offered {}", "function_call f not json", "function_call g {}"}
	for _, stream := range []bool{false, true} {
		first["stream"] = stream
		_, body := post(t, server(t, tp, Options{}, Config{}).URL+"/v1/responses", first)
		var items []exactjson.Value
		if stream {
			for _, e := range data(t, body) {
				if e.Get("type").Str() == "response.output_item.done" {
					items = append(items, e.Get("item"))
				}
			}
		} else if v, err := exactjson.Parse(body); err == nil {
			for _, item := range v.Get("output").Members() {
				items = append(items, item.Value)
			}
		}
		var got []string
		for _, item := range items {
			got = append(got, item.Get("type").Str()+" "+item.Get("name").Str()+" "+item.First("input", "arguments").Str())
		}
		if !slices.Equal(got, want) {
			t.Errorf("streamed %v: %q\n%s", stream, got, body)
		}
	}
}

func TestWhatHasNoStubIsRefusedByName(t *testing.T) {
	for _, tt := range []struct {
		path string
		body map[string]any
		want string
	}{
		{"/v1/images/generations", map[string]any{"prompt": "x"}, "/v1/images/generations"},
		{"/model/meta.llama3/invoke", map[string]any{"prompt": "x"}, "/model/meta.llama3/invoke"},
		{"/v1/projects/p/locations/l/publishers/meta/models/m:rawPredict", map[string]any{}, ":rawPredict"},
		{"/api/generate", map[string]any{"prompt": "x", "suffix": "y"}, "suffix"},
		{"/model/m/converse", map[string]any{"promptVariables": map[string]any{"x": map[string]any{"text": "y"}}}, "promptVariables"},
		{"/v1/chat/completions", map[string]any{"n": 2, "messages": []any{}}, "n greater than 1"},
		{"/v1/responses", map[string]any{"background": true, "input": "x"}, "background"},
		{"/v1beta/models/m:generateContent", map[string]any{"cachedContent": "c/1"}, "cachedContent"},
	} {
		h := NewHandler(Config{Stub: New(conversationTape(t), Options{})})
		s := httptest.NewServer(h)
		resp, body := post(t, s.URL+tt.path, tt.body)
		s.Close()
		if resp.StatusCode != http.StatusNotImplemented || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %s %s", tt.path, resp.Status, body)
		}
		if r := h.Reports(); len(r) != 1 || r[0].Missed != 1 || r[0].Calls[0].Outcome != Unsupported {
			t.Errorf("%s: not in the report: %+v", tt.path, r)
		}
	}
}

func TestAnAnswerThatIsNotRecordedIsNotMadeUp(t *testing.T) {
	tp := conversationTape(t)
	tp.Events[len(tp.Events)-1].Response = nil
	resp, body := post(t, server(t, tp, Options{}, Config{}).URL+"/v1/chat/completions", requests[0].second)
	if resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "unservable") {
		t.Errorf("%s %s", resp.Status, body)
	}
}

func TestResponsesContinueByID(t *testing.T) {
	s := server(t, conversationTape(t), Options{}, Config{})
	_, body := post(t, s.URL+"/v1/responses", requests[1].first)
	first, err := exactjson.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	next := map[string]any{"model": "m", "previous_response_id": first.Get("id").Str(), "instructions": system, "input": requests[1].second["input"].([]any)[4:]}
	resp, body := post(t, s.URL+"/v1/responses", next)
	if resp.StatusCode != http.StatusOK || said(t, body) != wantSecond {
		t.Errorf("%s %s", resp.Status, body)
	}
	next["previous_response_id"] = "resp_unknown"
	if resp, body := post(t, s.URL+"/v1/responses", next); resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "previous_response_id") {
		t.Errorf("%s %s", resp.Status, body)
	}
}

func TestTheKeyOfAnyProviderIsTheToken(t *testing.T) {
	s := server(t, conversationTape(t), Options{}, Config{Token: "0123456789abcdef"})
	for i, headers := range [][]string{{"Authorization", "Bearer 0123456789abcdef"}, {"X-Api-Key", "0123456789abcdef"}, {"X-Goog-Api-Key", "0123456789abcdef"}} {
		headers = append(headers, SessionHeader, fmt.Sprint(i))
		if resp, _ := post(t, s.URL+"/v1/chat/completions", requests[0].first, headers...); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", headers[0], resp.Status)
		}
	}
	if resp, _ := post(t, s.URL+"/v1/chat/completions", requests[0].first, "Authorization", "Bearer wrong"); resp.StatusCode != http.StatusUnauthorized {
		t.Error(resp.Status)
	}
}

func FuzzAnyRequestGetsAnAnswer(f *testing.F) {
	for _, r := range requests {
		for _, body := range []map[string]any{r.first, r.second} {
			text, err := json.Marshal(body)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	stub := New(conversationTape(f), Options{})
	f.Fuzz(func(t *testing.T, body string) {
		for _, r := range requests {
			for _, path := range []string{r.path, strings.Replace(r.path, ":g", ":streamG", 1)} {
				w := httptest.NewRecorder()
				NewHandler(Config{Stub: stub}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
				if w.Code < 200 || w.Code > 599 || w.Body.Len() == 0 {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
				}
			}
		}
	})
}

// A recorded request that holds only the id of a call is completed from the answer that asked for it.
func TestACallThatIsKnownByItsIDIsCompared(t *testing.T) {
	for what, want := range map[string]int{"SKU-7": http.StatusOK, "SKU-6": http.StatusUnprocessableEntity} {
		tp := conversationTape(t)
		for i := range tp.Events {
			if e := &tp.Events[i]; e.Request != nil {
				for _, id := range e.Request.Messages {
					m := tp.Messages[id]
					if e.Seq == tp.Events[0].Seq || m.Role != tape.RoleAssistant {
						continue
					}
					m.Parts = slices.Clone(m.Parts)
					for j := range m.Parts {
						if p := &m.Parts[j]; p.Type == tape.PartToolCall {
							p.Name, p.Args = "", exactjson.Value{}
						}
					}
					shown := id + "-cut" // the answer keeps its message
					tp.Messages[shown] = m
					for k := range e.Request.Messages {
						if e.Request.Messages[k] == id {
							e.Request.Messages[k] = shown
						}
					}
				}
			}
		}
		s := server(t, tp, Options{}, Config{})
		encoded, err := json.Marshal(requests[0].second)
		if err != nil {
			t.Fatal(err)
		}
		resp, body := post(t, s.URL+requests[0].path, json.RawMessage(strings.Replace(string(encoded), `\"SKU-7\"`, `\"`+what+`\"`, 1)))
		if resp.StatusCode != want {
			t.Errorf("%s: %s %s", what, resp.Status, body)
		}
	}
}

// An agent that shows the model less of a result than was recorded is not the recorded one.
func TestAResultThatIsCutShortIsAnother(t *testing.T) {
	for result, want := range map[string]int{
		`{\"pieces\":42,\"place\":\"Bern, rack nine\"}`: http.StatusOK,
		`{\"pieces\":42,\"place\":\"Bern, rack`:         http.StatusUnprocessableEntity,
		`{\"pieces\":42,\"place\":\"Bern...`:            http.StatusUnprocessableEntity,
	} {
		s := server(t, conversationTape(t), Options{}, Config{})
		encoded, err := json.Marshal(requests[0].second)
		if err != nil {
			t.Fatal(err)
		}
		whole := `{\"pieces\":42,\"place\":\"Bern, rack nine\"}`
		if !strings.Contains(string(encoded), whole) {
			t.Fatal(string(encoded))
		}
		resp, body := post(t, s.URL+requests[0].path, json.RawMessage(strings.Replace(string(encoded), whole, result, 1)))
		if resp.StatusCode != want {
			t.Errorf("%s: %s %s", result, resp.Status, body)
		}
	}
}
