// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestACodingAgentLooksIntoADeck: a client that starts the built program finds a run, reads it, and replays it with the agent and with one that has a bug.
func TestACodingAgentLooksIntoADeck(t *testing.T) {
	dir := t.TempDir()
	agent := filepath.Join(dir, "agent")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", agent, "./examples/agent")
	build.Dir = repository
	output(t, build)
	deck := filepath.Join(dir, "deck")
	tapedeck(t, "record", "--to", deck, "--", agent, "How many of SKU-7 and SKU-8?")
	for release, want := range map[string]string{"1": "exit code 0", "2": "exit code 1"} {
		server := exec.CommandContext(t.Context(), program(t, "tapedeck"), "mcp", deck, "--replay-flag=--input=arg", "--", agent, "-release", release)
		server.Env = append(os.Environ(), "XDG_STATE_HOME="+state(t), "OPENAI_BASE_URL=")
		client, err := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: server}, nil)
		if err != nil {
			t.Fatal(err)
		}
		call := func(tool string, args map[string]any) string {
			r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
			if err != nil || r.IsError {
				t.Fatalf("%s: %v %+v", tool, err, r)
			}
			return r.Content[0].(*mcp.TextContent).Text
		}
		id := regexp.MustCompile(`"run_id":"([0-9a-f-]{49})"`).FindStringSubmatch(call("list_runs", map[string]any{"search": "sku-7"}))
		if id == nil {
			t.Fatal("the run is not listed")
		}
		if text := call("show_run", map[string]any{"run_id": id[1][:12]}); !strings.Contains(text, "SKU-7: 42, SKU-8: 42.") {
			t.Error(text)
		}
		if text := call("replay_run", map[string]any{"run_id": id[1]}); !strings.Contains(text, want) {
			t.Errorf("release %s: %s", release, text)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}
