// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelonly

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/tape"
)

const line = `{"messages":[{"role":"system","content":"Look things up."},{"role":"user","content":"How many of SKU-7?"},` +
	`{"role":"assistant","content":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"stock","arguments":"{\"sku\":\"SKU-7\",\"n\":1}"}}]},` +
	`{"role":"tool","tool_call_id":"call_a","content":"42"},{"role":"assistant","content":"There are 42."}],` +
	`"tools":[{"type":"function","function":{"name":"stock","parameters":{"type":"object"}}}]}` + "\n"

func recorded(t testing.TB) *tape.Tape {
	t.Helper()
	runs, err := chat.Decode([]byte(line), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return runs[0].Tape
}

// models answers as its name says, and keeps what it was asked.
type models struct{ asked []string }

func (m *models) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.asked = append(m.asked, r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body))
	var request struct {
		Model    string
		Messages []struct{ Role string }
	}
	if err := json.Unmarshal(body, &request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	first := request.Messages[len(request.Messages)-1].Role == "user"
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"other","type":"function","function":{"name":"stock","arguments":"{ \"n\": 1, \"sku\": \"SKU-7\" }"}}]}`
	answer := `{"role":"assistant","content":"There  are 42."}`
	switch request.Model {
	case "wordy":
		answer = `{"role":"assistant","content":"It is 42 pieces."}`
	case "lazy":
		call = `{"role":"assistant","content":"About ten."}`
	case "wrong":
		call = strings.Replace(call, "SKU-7", "SKU-8", 1)
	case "broken":
		http.Error(w, "overloaded, token sk-ABCDEFGHIJKLMNOPQRSTUVWX", http.StatusServiceUnavailable)
		return
	case "odd":
		_, _ = io.WriteString(w, `{"choices":[]}`)
		return
	}
	if first {
		answer = call
	}
	_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":`+answer+`}]}`)
}

func TestEachTurnIsAskedAloneOfEveryModel(t *testing.T) {
	m := &models{}
	server := httptest.NewServer(m)
	defer server.Close()
	var o Options
	for _, name := range []string{"same", "wordy", "lazy", "wrong", "broken", "odd"} {
		e, err := ParseEndpoint(name, server.URL+"/v1/")
		if err != nil {
			t.Fatal(err)
		}
		o.Models = append(o.Models, e)
	}
	o.Key, o.Mask = func(*url.URL) string { return "k" }, func(s string) string { return strings.ReplaceAll(s, "sk-ABCDEFGHIJKLMNOPQRSTUVWX", "[hidden]") }
	tp := recorded(t)
	r, err := Run(t.Context(), tp, o)
	if err != nil {
		t.Fatal(err)
	}
	var events []int
	for i := range tp.Events {
		if tp.Events[i].Type == tape.EventModelCall {
			events = append(events, tp.Events[i].Seq)
		}
	}
	if len(events) != 2 || len(r.Turns) != 2 || len(m.asked) != 12 {
		t.Fatalf("%d events, %d turns, %d requests", len(events), len(r.Turns), len(m.asked))
	}
	for model, want := range map[string][2]Outcome{
		"same": {Same, Same}, "wordy": {Same, TextDiffers}, "lazy": {CallsDiffer, Same}, "wrong": {CallsDiffer, Same}, "broken": {Failed, Failed}, "odd": {Failed, Failed},
	} {
		for i, turn := range r.Turns {
			at := slices.IndexFunc(turn.Asked, func(a Asked) bool { return a.Model == model })
			if at < 0 || turn.Seq != events[i] || turn.Asked[at].Outcome != want[i] {
				t.Errorf("%s, turn %d: %+v", model, i, turn.Asked)
			}
		}
	}
	if !slices.Equal(r.Differ["lazy"], events[:1]) || !slices.Equal(r.Texts["wordy"], events[1:]) || !slices.Equal(r.Fails["odd"], events) {
		t.Errorf("%+v", r)
	}
	if text := r.Text(); strings.Contains(text, "sk-ABC") || !strings.Contains(text, "wrong: calls_differ: call 1, stock {\"sku\":\"SKU-7\",\"n\":1}") {
		t.Errorf("%s", text)
	}
	first := m.asked[0]
	for _, part := range []string{"/v1/chat/completions Bearer k ", `"model":"same"`, `"role":"system","content":"Look things up."`, `"name":"stock"`} {
		if !strings.Contains(first, part) {
			t.Errorf("%s is not in %s", part, first)
		}
	}
	if strings.Contains(first, "call_a") || !strings.Contains(m.asked[6], "call_a") || strings.Contains(m.asked[6], "There are 42") {
		t.Errorf("a turn was asked with what came after it, or without what came before: %s", m.asked[6])
	}
}

func TestATurnThatIsNotRecordedIsNotAsked(t *testing.T) {
	m := &models{}
	server := httptest.NewServer(m)
	defer server.Close()
	tp := recorded(t)
	for i := range tp.Events {
		if tp.Events[i].Type == tape.EventModelCall {
			tp.Events[i].Provenance = tape.Provenance{"request.messages.0": tape.Truncated}
			break
		}
	}
	r, err := Run(t.Context(), tp, Options{Models: []Endpoint{{"same", server.URL + "/v1"}}})
	if err != nil || r.Turns[0].Outcome != NotAskable || len(m.asked) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Run(t.Context(), &tape.Tape{}, Options{Models: []Endpoint{{"same", server.URL}}}); err == nil {
		t.Error("a tape without model calls was asked")
	}
}

func FuzzParseEndpoint(f *testing.F) {
	for _, text := range []string{"m", "m@http://127.0.0.1:1/v1", "claude@20240101@https://h/v1/", "@http://h", "m@http://u:p@h", "m@https://h/?q"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseEndpoint(text, "https://base/v1")
		if err == nil && (e.Model == "" || !strings.HasPrefix(e.URL, "http") || strings.Contains(e.URL, "?")) {
			t.Errorf("%q: %+v", text, e)
		}
	})
}

func TestEndpoints(t *testing.T) {
	for text, want := range map[string]Endpoint{
		"gpt-4o": {"gpt-4o", "https://base/v1"}, "m@http://127.0.0.1:8/v1/": {"m", "http://127.0.0.1:8/v1"}, "claude@2024@https://h/v1": {"claude@2024", "https://h/v1"},
	} {
		if got, err := ParseEndpoint(text, "https://base/v1"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "@http://h", "m@http://user:secret@h/v1", "m@http://h/?key=1", "m@http://h?", "m@http://h#"} {
		if got, err := ParseEndpoint(text, "https://base/v1"); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
