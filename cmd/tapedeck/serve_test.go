// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
)

// server is a running tapedeck serve.
type server struct {
	serving
	stdout *bufio.Reader
	stop   context.CancelFunc
	code   chan int
	stderr *bytes.Buffer // read after end only
	client *http.Client
}

func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	s := &server{stdout: bufio.NewReader(r), stop: cancel, code: make(chan int, 1), stderr: &bytes.Buffer{},
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	go func() {
		code := run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), strings.NewReader(""), w, s.stderr)
		_ = w.Close()
		s.code <- code
	}()
	line, err := s.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("code %d: %s", <-s.code, s.stderr)
	}
	if err := json.Unmarshal([]byte(line), &s.serving); err != nil {
		t.Fatal(err)
	}
	return s
}

// end interrupts the server and returns its exit code and the reports.
func (s *server) end(t *testing.T) (int, []oraclehttp.Report) {
	t.Helper()
	s.stop()
	var reports []oraclehttp.Report
	for {
		line, err := s.stdout.ReadString('\n')
		if err != nil {
			return <-s.code, reports
		}
		var r oraclehttp.Report
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		reports = append(reports, r)
	}
}

func (s *server) call(t *testing.T, path, token, members string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.Listening+path, strings.NewReader(`{"replay_run_id":"replay",`+members+`}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

const counter = `"tool_name":"http_request","args":{"method":"GET","url":"http://127.0.0.1:14318/tool/counter"}`

func TestServeAnswersFromARun(t *testing.T) {
	_, folder := newDeck(t)
	for _, ref := range []string{folder, filepath.Join(folder, "tape.json"), filepath.Join(folder, "oracle.json")} {
		s := startServer(t, "--oracle", ref)
		if s.RunID != forgeRun || s.Entries != 1 {
			t.Errorf("%+v", s.serving)
		}
		if status, body := s.call(t, "/v1/tool-calls", "", counter); status != 200 || !strings.Contains(body, `"match":"exact"`) || !strings.Contains(body, "99") {
			t.Errorf("%d %s", status, body)
		}
		code, reports := s.end(t)
		if code != exitOK || len(reports) != 1 || reports[0].Entries.Served != 1 || s.stderr.Len() != 0 {
			t.Errorf("%d %+v %s", code, reports, s.stderr)
		}
	}
}

func TestServeNamesMissesAndUnusedEntries(t *testing.T) {
	dir, _ := newDeck(t)
	s := startServer(t, "--oracle", forgeRun[:32], "--deck", dir)
	if _, body := s.call(t, "/v1/tool-calls", "", `"tool_name":"http_request","args":{"secret":"hunter2"}`); !strings.Contains(body, `"reason":"no_entry"`) {
		t.Error(body)
	}
	code, reports := s.end(t)
	if code != exitPartial || len(reports) != 1 || len(reports[0].Unused) != 1 {
		t.Errorf("%d %+v", code, reports)
	}
	if text := s.stderr.String(); !strings.Contains(text, "replay replay call 1: no_entry: http_request sha256:") || strings.Contains(text, "hunter2") {
		t.Error(text)
	}
}

func TestServeAnswersFromEveryRunOfADeck(t *testing.T) {
	dir, _ := newDeck(t)
	token := write(t, "token", "0123456789abcdef\n")
	s := startServer(t, "--oracle", dir, "--token-file", token, "--live", "clock")
	if s.RunID != "" {
		t.Errorf("%+v", s.serving)
	}
	for _, c := range []struct {
		path, token, members string
		status               int
		want                 string
	}{
		{"/v1/tool-calls", "", counter, 401, "unauthorised"},
		{"/v1/tool-calls", "0123456789abcdef", counter, 409, "/v1/runs/{run}/tool-calls"},
		{"/v1/runs/" + forgeRun[:8] + "/tool-calls", "0123456789abcdef", counter, 200, `"run_id":"` + forgeRun + `"`},
		{"/v1/runs/" + forgeRun + "/tool-calls", "0123456789abcdef", counter, 200, "exhausted"}, // the same session
		{"/v1/tool-calls", "0123456789abcdef", `"run":"` + forgeRun[:32] + `","tool_name":"clock","args":{}`, 200, `"outcome":"live"`},
		{"/v1/runs/ffffffffffffffff/tool-calls", "0123456789abcdef", counter, 404, "no_run"},
		{"/v1/runs/..%2f..%2fetc/tool-calls", "0123456789abcdef", counter, 404, "no_run"},
	} {
		if status, body := s.call(t, c.path, c.token, c.members); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
	}
	if code, _ := s.end(t); code != exitPartial {
		t.Errorf("%d", code)
	}
}

func TestServeRefusesToStart(t *testing.T) {
	file := plainOracle(t, "sun")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--oracle, --model and --mcp are missing"},
		{[]string{"--mcp", file}, "--mcp needs the tape"},
		{[]string{"--model", file, "--stdio"}, "--stdio needs --mcp"},
		{[]string{"--model", file}, "--model needs the tape"},
		{[]string{"--oracle", file, "--listen", "0.0.0.0:0"}, "refused to listen beyond loopback without a token"},
		{[]string{"--oracle", file, "--listen", ":0"}, "refused to listen beyond loopback without a token"},
		{[]string{"--oracle", file, "--token-file", write(t, "token", "\n")}, "is empty"},
		{[]string{"--oracle", file, "--token-file", write(t, "token", "short")}, "shorter than 16 bytes"},
		{[]string{"--oracle", file, "--token-file", filepath.Join(t.TempDir(), "none")}, "no such file"},
		{[]string{"--oracle", file, "--realtime", "--speed", "10x"}, "exclude each other"},
		{[]string{"--oracle", file, "--speed", "0"}, "want a factor"},
		{[]string{"--oracle", file, "--max-calls", "0"}, "must be positive"},
		{[]string{"--oracle", filepath.Join(t.TempDir(), "none.json")}, "no such file"},
		{[]string{"--oracle", file, "--listen", "127.0.0.1:notaport"}, "notaport"},
		{[]string{"--oracle", file, "--listen", "nonsense"}, `--listen: "nonsense" is no address to listen on: want HOST:PORT`},
		{[]string{"--oracle", file, "--listen", "127.0.0.1:99999"}, `--listen: "127.0.0.1:99999" is no address to listen on`},
	} {
		got := tapedeck(t, append([]string{"serve"}, c.args...)...)
		if got.code != exitFailed || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

func TestServeTakesTheTokenFromTheEnvironment(t *testing.T) {
	t.Setenv(tokenVariable, "0123456789abcdef")
	s := startServer(t, "--oracle", plainOracle(t, "sun"), "--speed", "100x")
	if status, _ := s.call(t, "/v1/tool-calls", "", counter); status != 401 {
		t.Error(status)
	}
	if status, body := s.call(t, "/v1/tool-calls", os.Getenv(tokenVariable), `"tool_name":"weather","args":{"city":"Bern"}`); status != 200 || !strings.Contains(body, "sun") {
		t.Errorf("%d %s", status, body)
	}
	if code, _ := s.end(t); code != exitOK {
		t.Error(code)
	}
}

func TestServeAnswersModelCallsBesideToolCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tape.json")
	if err := os.WriteFile(file, modelTape(t), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "--model", file, "--oracle", file)
	if s.Model == nil || s.Model.Turns != 2 || s.Entries != 1 {
		t.Fatalf("%+v", s.serving)
	}
	ask := func(body string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.Listening+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	if status, body := ask(`{"model":"m","messages":[{"role":"user","content":"How many?"}]}`); status != 200 || !strings.Contains(body, `"name":"count"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := s.call(t, "/v1/tool-calls", "", `"tool_name":"count","args":{"of":"apples"}`); status != 200 || !strings.Contains(body, `"response":"seven"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := ask(`{"model":"m","messages":[{"role":"user","content":"What is the password ghp_0123456789abcdefghijABCDEFGHIJ012345?"}]}`); status != 422 || strings.Contains(body, "ghp_0") {
		t.Errorf("%d %s", status, body)
	}
	s.stop()
	rest, err := io.ReadAll(s.stdout)
	if err != nil {
		t.Fatal(err)
	}
	if code := <-s.code; code != exitPartial {
		t.Errorf("code %d", code)
	}
	if out := string(rest); !strings.Contains(out, `"turns":2,"missed":1`) || !strings.Contains(s.stderr.String(), "model call 2: no_turn") {
		t.Errorf("%s\n%s", out, s.stderr)
	}
}

// modelTape is a sealed tape of a question, a tool call and an answer.
func modelTape(t *testing.T) []byte {
	t.Helper()
	runs, err := chat.Decode([]byte(`{"messages":[{"role":"user","content":"How many?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"count","arguments":"{\"of\":\"apples\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"seven"},{"role":"assistant","content":"Seven."}]}`+"\n"), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := runs[0].Tape.Seal(); err != nil {
		t.Fatal(err)
	}
	return runs[0].Tape.AppendJSON(nil)
}

func TestServeIsAnMCPServerOnStdinAndStdout(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tape.json")
	if err := os.WriteFile(file, modelTape(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of, want string
		code     int
	}{
		{"apples", "seven", exitOK},
		{"pears", "tapedeck: no_entry", exitPartial},
	} {
		stdin, toServer := io.Pipe()
		fromServer, stdout := io.Pipe()
		var stderr bytes.Buffer
		code := make(chan int, 1)
		go func() { code <- run(t.Context(), []string{"serve", "--mcp", file, "--stdio"}, stdin, stdout, &stderr) }()
		client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "count", Arguments: map[string]any{"of": c.of}})
		if err != nil || !strings.HasPrefix(r.Content[0].(*mcp.TextContent).Text, c.want) {
			t.Errorf("%s: %+v, %v", c.of, r, err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if got := <-code; got != c.code || !strings.Contains(stderr.String(), `"total":1`) {
			t.Errorf("%s: code %d, %s", c.of, got, &stderr)
		}
	}
}

func TestServeIsAnMCPServerOverHTTP(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tape.json")
	if err := os.WriteFile(file, modelTape(t), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "--mcp", file, "--model", file)
	if s.MCP == nil || s.MCP.Tools != 1 || s.MCP.URL != s.Listening+"/mcp" {
		t.Fatalf("%+v", s.serving)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.MCP.URL, HTTPClient: s.client}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "count", Arguments: map[string]any{"of": "apples"}})
	if err != nil || r.IsError || r.Content[0].(*mcp.TextContent).Text != "seven" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	s.stop()
	rest, err := io.ReadAll(s.stdout)
	if err != nil {
		t.Fatal(err)
	}
	if code := <-s.code; code != exitOK || !strings.Contains(string(rest), `"mcp":{`) {
		t.Errorf("code %d: %s", code, rest)
	}
}
