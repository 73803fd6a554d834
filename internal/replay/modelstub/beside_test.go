// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// namedTape is the run of conversationTape with the names of its models, when it began, and how many tokens
// the second call read.
func namedTape(t testing.TB) *tape.Tape {
	t.Helper()
	tp := conversationTape(t)
	last := &tp.Events[len(tp.Events)-1]
	tp.Events[0].Model, tp.Events[0].StartedAt, tp.Events[0].Response.Model = "gpt-4o", time.Unix(1700000000, 0), "gpt-4o-2024-08-06"
	last.Model = "qwen3:latest"
	in, cached, apart := int64(100), int64(20), false
	last.Usage = &tape.Usage{InputTokens: &in, CacheReadTokens: &cached, InputIncludesCache: &apart}
	return tp
}

// get asks a stub with a method other than POST.
func get(t *testing.T, h http.Handler, method, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	resp := w.Result()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// What programs look up at their start is made of the models of the tape, in the words of their provider, and
// counts as no call.
func TestModelsAreThoseOfTheTape(t *testing.T) {
	for _, tt := range []struct {
		path    string
		headers []string
		place   string
		want    []string
	}{
		{"/v1/models", nil, "data.%d.id", []string{"gpt-4o", "gpt-4o-2024-08-06", "qwen3:latest"}},
		{"/api/v1/models", nil, "data.%d.name", []string{"gpt-4o", "gpt-4o-2024-08-06", "qwen3:latest"}},
		{"/v1/models?limit=20", []string{"Anthropic-Version", "2023-06-01"}, "data.%d.display_name", []string{"gpt-4o", "gpt-4o-2024-08-06", "qwen3:latest"}},
		{"/v1/models", []string{"X-Fern-SDK-Name", "cohere"}, "models.%d.name", []string{"gpt-4o", "gpt-4o-2024-08-06", "qwen3:latest"}},
		{"/v1beta/models", nil, "models.%d.name", []string{"models/gpt-4o", "models/gpt-4o-2024-08-06", "models/qwen3:latest"}},
		{"/v1beta1/publishers/google/models", nil, "publisherModels.%d.baseModelId", []string{"gpt-4o", "gpt-4o-2024-08-06", "qwen3:latest"}},
		{"/api/tags", nil, "models.%d.model", []string{"gpt-4o", "gpt-4o-2024-08-06", "qwen3:latest"}},
		{"/inference-profiles?maxResults=1000", nil, "inferenceProfileSummaries.%d.inferenceProfileId", []string{"gpt-4o", "gpt-4o-2024-08-06", "qwen3:latest"}},
		{"/foundation-models", nil, "modelSummaries.%d.modelId", []string{"gpt-4o", "gpt-4o-2024-08-06", "qwen3:latest"}},
	} {
		h := NewHandler(Config{Stub: New(namedTape(t), Options{})})
		resp, body := get(t, h, http.MethodGet, tt.path, tt.headers...)
		v, err := exactjson.Parse(body)
		if err != nil {
			t.Fatalf("%s: %v: %s", tt.path, err, body)
		}
		var got []string
		for i := range len(tt.want) + 1 {
			if name := at(v, fmt.Sprintf(tt.place, i)).Str(); name != "" {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, tt.want) || resp.StatusCode != http.StatusOK || resp.Header.Get(headerMadeUp) != "models" {
			t.Errorf("%s: %s %v, made up %q", tt.path, resp.Status, got, resp.Header.Get(headerMadeUp))
		}
		if r := h.Report(""); r.Missed != 0 || len(r.Calls) != 0 || len(r.Beside) != 1 || r.Beside[0].Outcome != MadeUp || r.Beside[0].Count != 1 {
			t.Errorf("%s: %+v", tt.path, r)
		}
	}
}

func TestOneModelIsKnownByAnyOfItsNames(t *testing.T) {
	h := NewHandler(Config{Stub: New(namedTape(t), Options{})})
	for path, want := range map[string]int{
		"/v1/models/gpt-4o": 200, "/v1/models/openai/gpt-4o": 200, "/v1beta/models/qwen3": 200, "/v1/models/gpt-5": 404, "/v1/models/4o": 404,
	} {
		resp, body := get(t, h, http.MethodGet, path)
		if resp.StatusCode != want || want == 200 && !strings.Contains(body, path[strings.LastIndex(path, "/")+1:]) || want == 404 && !strings.Contains(body, "gpt-4o, gpt-4o-2024-08-06, qwen3:latest") {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
	for model, want := range map[string]int{"qwen3": 200, "qwen3:latest": 200, "llama3": 404} {
		resp, v, _ := askStub(t, namedTape(t), "/api/show", map[string]any{"model": model})
		if resp.StatusCode != want || want == 200 && at(v, "capabilities.1").Str() != "tools" {
			t.Errorf("%s: %s %s", model, resp.Status, v.JSON())
		}
	}
	// a tape that names no model has any
	if resp, _, _ := askStub(t, conversationTape(t), "/api/show", map[string]any{"model": "llama3"}); resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
}

func TestTokensAreCountedAsRecordedWhereTheyAre(t *testing.T) {
	gemini := map[string]any{"contents": requests[3].second["contents"], "systemInstruction": requests[3].second["systemInstruction"]}
	for _, tt := range []struct {
		path   string
		body   map[string]any
		place  string
		want   string
		madeUp bool
	}{
		{"/v1/messages/count_tokens?beta=true", requests[2].second, "input_tokens", "120", false},
		{"/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict", requests[2].second, "input_tokens", "120", false},
		{"/v1/responses/input_tokens", requests[1].second, "input_tokens", "120", false},
		{"/v1beta/models/m:countTokens", gemini, "totalTokens", "120", false},
		{"/v1beta/models/m:countTokens", map[string]any{"generateContentRequest": gemini}, "totalTokens", "120", false},
		{"/model/m/count-tokens", map[string]any{"input": map[string]any{"converse": elsewhere[0].second}}, "inputTokens", "120", false},
		{"/v1/messages/count_tokens", map[string]any{"messages": []any{msg("user", "Something else, twelve more.")}}, "input_tokens", "18", true}, // of 71 bytes
	} {
		resp, v, report := askStub(t, namedTape(t), tt.path, tt.body)
		if got := at(v, tt.place).Text(); got != tt.want || (resp.Header.Get(headerMadeUp) == "token count") != tt.madeUp || report.Missed != 0 || len(report.Calls) != 0 || len(report.Unused) != 2 {
			t.Errorf("%s: %s, want %s, made up %q", tt.path, v.JSON(), tt.want, resp.Header.Get(headerMadeUp))
		}
	}
}

// What a program sends of itself, or looks for in vain, is in the report and no miss: no answer to it is part
// of a conversation.
func TestWhatIsNoModelCallIsNoMiss(t *testing.T) {
	h := NewHandler(Config{Stub: New(namedTape(t), Options{})})
	s := httptest.NewServer(h)
	defer s.Close()
	for method, want := range map[string]int{"HEAD /": 200, "GET /": 200, "GET /api/version": 200, "GET /v1/nothing": 404, "DELETE /v1/files/f": 404, "GET /v1/responses": 404, "PUT /v1/chat/completions": 404} {
		verb, path, _ := strings.Cut(method, " ")
		if resp, body := get(t, h, verb, path); resp.StatusCode != want {
			t.Errorf("%s: %s %s", method, resp.Status, body)
		}
	}
	for _, path := range []string{"/v1/analytics/codex/turn-costs", "/api/event_logging/batch", "/api/claude_code/metrics"} {
		if resp, body := post(t, s.URL+path, map[string]any{}); resp.StatusCode != http.StatusNotFound || resp.Header.Get(headerOutcome) != string(NotServed) {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
	if resp, _ := post(t, s.URL+"/api/pull", map[string]any{"model": "nomic-embed-text"}); resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
	r := h.Report("")
	if r.Missed != 0 || len(r.Calls) != 0 || len(r.Beside) != 11 {
		t.Errorf("%+v", r)
	}
	// what may be a model call still is one
	if resp, _ := post(t, s.URL+"/v1/audio/speech", map[string]any{}); resp.StatusCode != http.StatusNotImplemented || h.Report("").Missed != 1 {
		t.Errorf("%s %+v", resp.Status, h.Report(""))
	}
}

func TestTheReportOfLookupsIsBounded(t *testing.T) {
	h := NewHandler(Config{Stub: New(namedTape(t), Options{})})
	long := "/" + strings.Repeat("ä", 4*maxBesidePath)
	for i := range 2 * maxBeside {
		get(t, h, http.MethodGet, fmt.Sprintf("/v1/nothing/%d", i))
		get(t, h, http.MethodGet, long)
	}
	r, n := h.Report(""), 0
	for _, b := range r.Beside {
		n += b.Count
		if len(b.Request) > maxBesidePath+10 {
			t.Errorf("%d bytes: %s", len(b.Request), b.Request)
		}
	}
	if len(r.Beside) != maxBeside || n != 4*maxBeside || r.Beside[maxBeside-1].Request != "others" {
		t.Errorf("%d lines for %d requests, the last %+v", len(r.Beside), n, r.Beside[len(r.Beside)-1])
	}
}

func TestALookupNeedsTheToken(t *testing.T) {
	h := NewHandler(Config{Stub: New(namedTape(t), Options{}), Token: "0123456789abcdef"})
	if resp, _ := get(t, h, http.MethodGet, "/v1/models"); resp.StatusCode != http.StatusUnauthorized || len(h.Reports()) != 0 {
		t.Error(resp.Status)
	}
	if resp, _ := get(t, h, http.MethodGet, "/v1/models", "Authorization", "Bearer 0123456789abcdef"); resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
}
