// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// answeredWith is the run of conversationTape, whose last answer begins with what a tool of the provider did,
// as telemetry has it.
func answeredWith(t *testing.T, parts string) *tape.Tape {
	t.Helper()
	v, err := exactjson.Parse(parts)
	if err != nil {
		t.Fatal(err)
	}
	tp := conversationTape(t)
	id := tp.Events[len(tp.Events)-1].Response.Message
	m := tp.Messages[id]
	var list []tape.Part
	for _, p := range v.Members() {
		if item, ok := decode.ResponseItem(p.Value); ok {
			list = append(list, item.Parts[0].Part)
			continue
		}
		for _, p := range decode.Parts(exactjson.ArrayValue(p.Value)) {
			list = append(list, p.Part)
		}
	}
	m.Parts = append(list, m.Parts...)
	tp.Messages[id] = m
	return tp
}

// What a tool of the provider did is served back where the protocol has a place for it, and is said to be
// left out where it has none.
func TestToolsOfTheProviderAreServedBack(t *testing.T) {
	search := `[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"racks in Bern"}},
		{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"Racks","url":"https://x.test","encrypted_content":"e"}]}]`
	described := `[{"type":"tool_call","id":"srvtoolu_1","name":"web_search","arguments":{"query":"racks in Bern"}},
		{"type":"tool_call_response","id":"srvtoolu_1","result":[{"type":"web_search_result","title":"Racks","url":"https://x.test","encrypted_content":"e"}]}]`
	conventions := `[{"type":"server_tool_call","id":"srvtoolu_1","name":"web_search","server_tool_call":{"type":"web_search","query":"racks in Bern"}},
		{"type":"server_tool_call_response","id":"srvtoolu_1","server_tool_call_response":{"type":"web_search","results":[{"type":"web_search_result","title":"Racks","url":"https://x.test","encrypted_content":"e"}]}}]`
	code := `[{"executableCode":{"language":"PYTHON","code":"print(42)"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"42"}}]`
	item := `[{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"racks in Bern"}}]`
	for _, tt := range []struct {
		name, parts string
		request     int
		want        []string // of the JSON, in this order
		madeUp      bool
	}{
		{"anthropic", search, 2, []string{`"srvtoolu_1"`, `"web_search"`, `"encrypted_content":"e"`, `"web_search_tool_result"`, "SKU-7: 42"}, false},
		{"anthropic from OpenTelemetry", described, 2, []string{`"type":"server_tool_use"`, `"type":"web_search_tool_result"`, "SKU-7: 42"}, true},
		{"anthropic from the conventions", conventions, 2, []string{`"type":"server_tool_use"`, `"type":"web_search_tool_result"`, "SKU-7: 42"}, true},
		{"responses from the conventions", conventions, 1, []string{`"type":"search"`, "SKU-7: 42"}, true},
		{"gemini", code, 3, []string{`"executableCode":{"language":"PYTHON","code":"print(42)"}`, `"codeExecutionResult"`, "SKU-7: 42"}, false},
		{"responses", item, 1, []string{`"ws_1"`, "SKU-7: 42"}, false},
	} {
		for _, streamed := range []bool{false, true} {
			tp := answeredWith(t, tt.parts)
			h := NewHandler(Config{Stub: New(tp, Options{})})
			s := httptest.NewServer(h)
			body, path := maps.Clone(requests[tt.request].second), requests[tt.request].path
			if streamed && tt.request == 3 {
				path = strings.Replace(path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
			} else {
				body["stream"] = streamed
			}
			resp, text := post(t, s.URL+path, body)
			s.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("%s: %s %s", tt.name, resp.Status, text)
			}
			rest := text
			for _, want := range tt.want {
				_, after, found := strings.Cut(rest, want)
				if rest = after; !found {
					t.Errorf("%s, streamed %v: no %s in its place: %s", tt.name, streamed, want, text)
					break
				}
			}
			if call := h.Report("").Calls[0]; len(call.LeftOut) != 0 || slices.Contains(call.MadeUp, "tools of the provider") != tt.madeUp {
				t.Errorf("%s: left out %v, made up %v", tt.name, call.LeftOut, call.MadeUp)
			}
			if streamed && tt.request == 2 && (!strings.Contains(text, `"input_json_delta","partial_json":"{\"query\"`) && !strings.Contains(text, `"partial_json":"{\"query\":\"racks in Bern\"}"`)) {
				t.Errorf("%s: the input of the search does not stream: %s", tt.name, text)
			}
		}
	}
	for _, i := range []int{0, 1, 3} { // others than Anthropic have no place for its blocks
		h := NewHandler(Config{Stub: New(answeredWith(t, search), Options{})})
		s := httptest.NewServer(h)
		resp, text := post(t, s.URL+requests[i].path, requests[i].second)
		s.Close()
		if call := h.Report("").Calls[0]; resp.StatusCode != http.StatusOK || !slices.Equal(call.LeftOut, []string{"data", "data"}) || strings.Contains(text, "srvtoolu") {
			t.Errorf("%s: %s, left out %v: %s", requests[i].protocol, resp.Status, call.LeftOut, text)
		}
	}
}

// An answer takes as long as the recorded call took where that is asked for, piece after piece; and no longer
// than the client waits.
func TestAnswersAreAsSlowAsTheyWereWhereThatIsAskedFor(t *testing.T) {
	const whole = 400 * time.Millisecond
	tp := conversationTape(t)
	for i := range tp.Events {
		tp.Events[i].DurationMS = whole.Milliseconds()
	}
	for _, speed := range []float64{0, 1} {
		paced := speed > 0
		for _, streamed := range []bool{false, true} {
			s := httptest.NewUnstartedServer(NewHandler(Config{Stub: New(tp, Options{}), Speed: speed}))
			s.Config.ReadTimeout, s.Config.WriteTimeout = whole/4, whole/4 // are for answers that come at once
			s.Start()
			defer s.Close()
			begun := time.Now()
			body := maps.Clone(requests[0].second)
			body["stream"] = streamed
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+requests[0].path, strings.NewReader(string(encode(body))))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			first := time.Since(begun)
			buffer, n := make([]byte, 1<<16), 0
			for {
				read, err := resp.Body.Read(buffer)
				if n += read; err != nil {
					break
				}
			}
			_ = resp.Body.Close()
			took := time.Since(begun)
			if n == 0 || (took >= whole) != paced {
				t.Errorf("paced %v, streamed %v: %d bytes in %v", paced, streamed, n, took)
			}
			if paced && streamed && first > took/2 {
				t.Errorf("the first piece came after %v of %v", first, took)
			}
		}
	}
}

func TestARecordedFailureIsAsSlowAsItWas(t *testing.T) {
	const whole = 200 * time.Millisecond
	tp := conversationTape(t)
	e := &tp.Events[0]
	e.Status, e.Error, e.Response, e.DurationMS = tape.EventError, &tape.Error{Message: "429 slow down"}, nil, 10*whole.Milliseconds()
	begun := time.Now()
	resp, _ := post(t, server(t, tp, Options{}, Config{Speed: 10}).URL+requests[0].path, requests[0].first)
	if took := time.Since(begun); resp.StatusCode != http.StatusTooManyRequests || took < whole || took > 9*whole {
		t.Errorf("%s after %v", resp.Status, took)
	}
}

func TestWhatIsNotSentOnSaysSo(t *testing.T) {
	base, err := url.Parse("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range elsewhere {
		h := NewHandler(Config{Stub: New(conversationTape(t), Options{Before: 1}), Upstream: &Upstream{URL: base, Key: func(string) string { return "" }, Transport: http.DefaultTransport}})
		s := httptest.NewServer(h)
		resp, text := post(t, s.URL+r.path, r.first)
		s.Close()
		signed := strings.HasPrefix(r.protocol, "bedrock") || strings.HasPrefix(r.protocol, "anthropic-")
		if want := map[bool]int{true: http.StatusNotImplemented, false: http.StatusBadGateway}[signed]; resp.StatusCode != want || h.Report("").Calls[0].Outcome != Live {
			t.Errorf("%s: %s %s", r.protocol, resp.Status, text)
		}
	}
}
