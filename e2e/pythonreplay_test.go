// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPythonAgentsAreReplayed records real agents that are not changed for it, and runs them again with the model gone: as they were recorded,
// and with a tool that returns something else. docs/replay.md has the table.
func TestPythonAgentsAreReplayed(t *testing.T) {
	for _, framework := range []string{"openai-agents", "pydantic-ai", "langgraph", "llamaindex", "google-adk", "strands", "crewai"} {
		t.Run(framework, func(t *testing.T) {
			interpreter := python(t, framework)
			model := &clerkModel{}
			server := httptest.NewServer(model)
			script, err := filepath.Abs(filepath.Join("testdata", "agents", "clerk_"+strings.ReplaceAll(framework, "-", "_")+".py"))
			if err != nil {
				t.Fatal(err)
			}
			agent := []string{"--", interpreter, script, framework}
			command := func(variable string, args ...string) *exec.Cmd {
				cmd := exec.CommandContext(t.Context(), program(t, "tapedeck"), args...)
				cmd.Env = append(os.Environ(), "MODEL_URL=http://127.0.0.1:1", "OPENAI_API_KEY=none", "PYTHONPYCACHEPREFIX="+filepath.Join(filepath.Dir(filepath.Dir(interpreter)), "compiled"), redactionKey, variable)
				return cmd
			}
			recorded := output(t, command("MODEL_URL="+server.URL, append(append([]string{"record", "--to", t.TempDir()}, agent...), clerkTurns[0].question)...))
			server.Close()
			var line struct{ URL, Grade string }
			if err := json.Unmarshal([]byte(recorded), &line); err != nil || line.Grade != "offline" {
				t.Fatalf("%v: %s", err, recorded)
			}
			replay := func(flags ...string) []string {
				return append(append([]string{"replay", line.URL, "--json", "--input", "arg"}, flags...), agent...)
			}
			type report struct {
				Verdict    string
				Tools      []struct{ Layer string }
				Model      struct{ Calls []struct{ Outcome string } }
				Comparison struct {
					First struct{ A struct{ Type, Name string } }
				}
			}
			// A tool that ran would say something else.
			for layer, args := range map[string][]string{"oracle": {"SKU_7=99"}, "live": {"SKU_7=42", "--preload=false", "--allow-live", "get_stock"}} {
				var same report
				if err := json.Unmarshal([]byte(output(t, command(args[0], replay(args[1:]...)...))), &same); err != nil {
					t.Fatal(err)
				}
				if same.Verdict != "as_recorded" || len(same.Tools) != 2 || len(same.Model.Calls) != 2 {
					t.Errorf("%+v", same)
				}
				for _, tool := range same.Tools {
					if tool.Layer != layer {
						t.Errorf("a tool call was answered by %s, want %s", tool.Layer, layer)
					}
				}
			}
			var other report
			changed, err := command("SKU_7=43", replay("--allow-live", "get_stock")...).Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Fatalf("with another result: %v", err)
			}
			if err := json.Unmarshal(changed, &other); err != nil {
				t.Fatal(err)
			}
			if first := other.Comparison.First.A; other.Verdict != "diverged" || first.Type != "tool_call" || first.Name != "get_stock" {
				t.Errorf("with another result: %+v", other)
			}
		})
	}
}
