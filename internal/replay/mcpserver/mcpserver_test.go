// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// recordedTape has two tools, one of them on the MCP server "stock" under another name, which is called twice with different answers,
// and one that failed. A third was offered and never called.
func recordedTape(t testing.TB) *Tape {
	t.Helper()
	line := `{"messages":[{"role":"user","content":"How many?"},{"role":"assistant","content":null,"tool_calls":[` +
		`{"id":"1","type":"function","function":{"name":"stock__count","arguments":"{\"of\":\"apples\"}"}},` +
		`{"id":"2","type":"function","function":{"name":"stock__count","arguments":"{\"of\":\"apples\"}"}},` +
		`{"id":"3","type":"function","function":{"name":"mail","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"1","content":"seven"},{"role":"tool","tool_call_id":"2","content":"six"},{"role":"tool","tool_call_id":"3","content":"no such address"},` +
		`{"role":"assistant","content":"Seven, then six."}],"tools":[` +
		`{"type":"function","function":{"name":"stock__count","description":"Counts.","parameters":{"type":"object","properties":{"of":{"type":"string"}},"required":["of"]}}},` +
		`{"type":"function","function":{"name":"unused","description":"Does nothing."}}]}`
	runs, err := chat.Decode([]byte(line+"\n"), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tp := runs[0].Tape
	for i := range tp.Events {
		switch e := &tp.Events[i]; e.Name {
		case "stock__count":
			e.Server = &tape.Server{Name: "stock", Tool: "count"}
		case "mail":
			e.Result, e.Error, e.Status, e.IsError = exactjson.Value{}, &tape.Error{Message: "no such address\n\nError: no such address\n    at mail (mail.mjs:1)"}, tape.EventError, true
		}
	}
	o, err := oracle.New(oracle.FromTape(tp), oracle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return New(tp, o)
}

// revisions are all that the SDK speaks: those with sessions, and the stateless one.
var revisions = mcp.SupportedProtocolVersions()

func connect(t *testing.T, transport mcp.Transport, revision string) *mcp.ClientSession {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func call(t *testing.T, s *mcp.ClientSession, name string, args any) (text string, r *mcp.CallToolResult) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r
}

// converse asks for everything on the tape, and for what is not on it.
func converse(t *testing.T, s *mcp.ClientSession) {
	t.Helper()
	listed, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tl := range listed.Tools {
		names = append(names, tl.Name)
		if schema := fmt.Sprint(tl.InputSchema); tl.Name == "count" && (tl.Description != "Counts." || !strings.Contains(schema, "required:[of]") || tl.Meta[metaMadeUp] != nil) {
			t.Errorf("%+v", tl)
		}
		if tl.Name == "mail" && tl.Meta[metaMadeUp] == nil {
			t.Errorf("a definition that is not recorded is not declared: %+v", tl)
		}
	}
	if strings.Join(names, " ") != "count mail unused" {
		t.Errorf("tools %v", names)
	}
	apples := map[string]any{"of": "apples"}
	for _, want := range []string{"seven", "six"} {
		if text, r := call(t, s, "count", apples); text != want || r.IsError {
			t.Errorf("%q, want %q", text, want)
		}
	}
	if text, r := call(t, s, "count", apples); !r.IsError || r.Meta[metaOutcome] != "exhausted" || !strings.Contains(text, "exhausted") {
		t.Errorf("%q %v", text, r.Meta)
	}
	if text, r := call(t, s, "count", map[string]any{"of": "pears"}); !r.IsError || r.Meta[metaOutcome] != "no_entry" {
		t.Errorf("%q %v", text, r.Meta)
	}
	if text, r := call(t, s, "mail", map[string]any{}); !r.IsError || text != "no such address" || r.Meta[metaOutcome] != "recorded_error" {
		t.Errorf("%q %v", text, r.Meta)
	}
	if text, r := call(t, s, "invented", map[string]any{}); !r.IsError || r.Meta[metaOutcome] != "no_entry" {
		t.Errorf("%q %v", text, r.Meta)
	}
}

func TestEveryRevisionOverHTTP(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			h := NewHandler(Config{Tape: recordedTape(t)})
			server := httptest.NewServer(h)
			t.Cleanup(server.Close)
			s := connect(t, &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp"}, revision)
			converse(t, s)
			if id, spoken := s.ID(), s.InitializeResult().ProtocolVersion; (id == "") != (revision >= firstStateless) || spoken != revision {
				t.Errorf("session id %q, revision %s", id, spoken)
			}
			if r := h.Reports(); len(r) != 1 || r[0].MCP.Calls.Total != 6 {
				t.Errorf("%+v", r)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEveryRevisionOverPipes(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			served := recordedTape(t)
			server, err := served.Server("", served.oracle.NewSession(0), nil)
			if err != nil {
				t.Fatal(err)
			}
			here, there := mcp.NewInMemoryTransports()
			ended, err := server.Connect(t.Context(), there, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := connect(t, here, revision)
			converse(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := ended.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOneRecordedServerAlone(t *testing.T) {
	server := httptest.NewServer(NewHandler(Config{Tape: recordedTape(t)}))
	t.Cleanup(server.Close)
	s := connect(t, &mcp.StreamableClientTransport{Endpoint: server.URL + "/mcp/stock"}, "")
	listed, err := s.ListTools(t.Context(), nil)
	if err != nil || len(listed.Tools) != 1 || listed.Tools[0].Name != "count" {
		t.Errorf("%+v, %v", listed, err)
	}
	resp, err := http.Post(server.URL+"/mcp/unknown", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Error(resp.Status)
	}
}

func TestReplaysShareNothing(t *testing.T) {
	h := NewHandler(Config{Tape: recordedTape(t)})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	var running sync.WaitGroup
	for i := range 50 {
		running.Go(func() {
			transport := &mcp.StreamableClientTransport{Endpoint: fmt.Sprintf("%s/session/%d/mcp", server.URL, i)}
			s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for _, want := range []string{"seven", "six"} {
				r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "count", Arguments: map[string]any{"of": "apples"}})
				if err != nil {
					t.Error(err)
				} else if text := r.Content[0].(*mcp.TextContent).Text; text != want {
					t.Errorf("replay %d: %q, want %q", i, text, want)
				}
			}
		})
	}
	running.Wait()
	if n := len(h.Reports()); n != 50 {
		t.Errorf("%d replays", n)
	}
}
