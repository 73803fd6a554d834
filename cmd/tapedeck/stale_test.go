// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolServer is an MCP server of tools that nobody may call; it returns its URL.
func toolServer(t *testing.T, schema string, names ...string) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for _, name := range names {
		var parameters any
		if err := json.Unmarshal([]byte(schema), &parameters); err != nil {
			t.Fatal(err)
		}
		server.AddTool(&mcp.Tool{Name: name, Description: "d", InputSchema: parameters}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			t.Error("a tool was called")
			return nil, nil
		})
	}
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(s.Close)
	return s.URL
}

func TestStale(t *testing.T) {
	files, reels := bothLayouts(t)
	var names []string
	for _, line := range strings.Split(strings.TrimSpace(tapedeck(t, "ls", files, "--format", "json", "--columns", "tools").stdout), "\n") {
		var r struct{ Tools []string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		names = append(names, r.Tools...)
	}
	var unique []string
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n], unique = true, append(unique, n)
		}
	}
	if len(unique) < 3 {
		t.Fatalf("only the tools %v were called", unique)
	}
	for _, address := range []string{files, reels} {
		lenient := tapedeck(t, "stale", address, "--all", "--mcp", toolServer(t, `{"type":"object"}`, unique...))
		if lenient.code != exitOK || strings.Contains(lenient.stdout, "stale ") || lenient.stdout == "" {
			t.Errorf("every tool takes anything: %v", lenient)
		}
		gone := tapedeck(t, "stale", address, "--json", "--mcp", toolServer(t, `{"type":"object"}`, unique[1:]...))
		if gone.code != exitPartial || !strings.Contains(gone.stdout, `"tool":"`+unique[0]+`","state":"stale","code":"tool_gone"`) {
			t.Errorf("without %s: %v", unique[0], gone)
		}
		if other := tapedeck(t, "stale", address, "--called", unique[1], "--mcp", toolServer(t, `{"type":"object"}`, unique[1:]...)); other.code != exitOK {
			t.Errorf("%s does not count: %v", unique[0], other)
		}
	}
	file := filepath.Join(t.TempDir(), "tools.json")
	list := []map[string]any{}
	for _, name := range unique {
		list = append(list, map[string]any{"type": "function", "function": map[string]any{"name": name, "parameters": map[string]any{"type": "object", "required": []string{"not_recorded"}}}})
	}
	body, err := json.Marshal(list)
	if err == nil {
		err = os.WriteFile(file, body, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if strict := tapedeck(t, "stale", files, "--schema", file); strict.code != exitPartial || !strings.Contains(strict.stdout, "args_invalid: the arguments violates required") {
		t.Error(strict)
	}
	for want, args := range map[string][]string{"--mcp or --schema": nil, "no such file": {"--schema", "/no/such/file"}, "definitions: not JSON": {"--schema", "../../testdata/golden/REVISION"}, "--mcp http://127.0.0.1:1": {"--mcp", "http://127.0.0.1:1"}} {
		if got := tapedeck(t, append([]string{"stale", files}, args...)...); got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: %v", args, got)
		}
	}
}
