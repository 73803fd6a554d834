// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/replay.md anew, from the frameworks that were run")

// recordable is an agent that nobody changed for tapedeck, with the instrumentation that its framework recommends.
type recordable struct {
	name, language string
	argv           func(t *testing.T) []string
	env            func(t *testing.T) []string
}

// recordables are the agents that are recorded and replayed.
func recordables() (all []recordable) {
	for _, f := range [][2]string{
		{"openai-agents", "OpenAI Agents"}, {"pydantic-ai", "Pydantic AI"}, {"langgraph", "LangGraph"}, {"llamaindex", "LlamaIndex"}, {"google-adk", "Google ADK"}, {"strands", "Strands"}, {"crewai", "CrewAI"},
	} {
		all = append(all, recordable{f[1], "Python", func(t *testing.T) []string {
			return []string{python(t, f[0]), absolute(t, "testdata", "agents", "clerk_"+strings.ReplaceAll(f[0], "-", "_")+".py"), f[0]}
		}, func(t *testing.T) []string {
			return []string{"PYTHONPYCACHEPREFIX=" + filepath.Join(filepath.Dir(filepath.Dir(python(t, f[0]))), "compiled")}
		}})
	}
	for _, f := range [][3]string{
		{"node", "vercel", "Vercel AI SDK 7"}, {"node-ai6", "vercel", "Vercel AI SDK 6"}, {"node-ai5", "vercel", "Vercel AI SDK 5"},
		{"node", "langchain", "LangChain.js"}, {"node", "openai-agents", "OpenAI Agents JS"}, {"node", "mastra", "Mastra"},
	} {
		all = append(all, recordable{f[2], "JavaScript", func(t *testing.T) []string {
			return []string{"node", nodeScript(t, nodeAgents(t, f[0])), f[1], "esm"}
		}, func(t *testing.T) []string {
			return []string{"NODE_AGENTS=" + nodeAgents(t, f[0]), "MASTRA_TELEMETRY_DISABLED=1"}
		}})
	}
	return all
}

func absolute(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// replayReport is what these tests look at in the report of a replay.
type replayReport struct {
	Verdict  string
	Lockdown bool
	Answer   *string
	Tools    []struct{ Tool, Layer string }
	Checks   []struct {
		Name string
		OK   bool
	}
	Model struct {
		Calls []struct {
			Outcome, API string
			Labels       []string
			Nearest      *struct {
				Seq            int
				Place          string
				Recorded, Live string
			}
		}
		Beside []struct {
			Request string
			MadeUp  []string `json:"made_up"`
		}
	}
	Comparison struct {
		First *struct {
			A *struct{ Type, Name string }
			B *struct{ Type, Name string }
		}
	}
}

func (r replayReport) failed() (names []string) {
	for _, c := range r.Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

// divergedAt is the name of the tool at whose call the runs part, "" if they part elsewhere or not at all.
func (r replayReport) divergedAt() string {
	first := r.Comparison.First
	if first == nil || first.A == nil || first.A.Type != "tool_call" {
		return ""
	}
	return first.A.Name
}

// retryQuestion names articles of which the first look-up fails: each framework has an error of its own for one of them, or an error that nobody can make of a text.
const retryQuestion = "How many of SKU-5 and SKU-6 are in stock?"

// What these tests find is the table of docs/replay.md.
func TestPythonAgentsAreReplayed(t *testing.T) { agentsAreReplayed(t, "Python") }

func TestNodeAgentsAreReplayed(t *testing.T) { agentsAreReplayed(t, "JavaScript") }

// agentsAreReplayed records real agents that are not changed for it, and runs them again with the model gone, in a lockdown where this machine
// has one: with the tools answered from the tape; with tools that the hooks let run, for they are declared; with one of the recorded answers
// changed; with tools that run, are not declared and return something else; and with tools that reach for the network. A second run, of which
// the tools fail once and are asked again, is recorded and run again too: the model is shown the failures word for word.
func agentsAreReplayed(t *testing.T, language string) {
	rows := map[string]string{}
	for _, agent := range recordables() {
		if agent.language != language {
			continue
		}
		t.Run(agent.name, func(t *testing.T) {
			argv, env := append([]string{"--"}, agent.argv(t)...), agent.env(t)
			server := httptest.NewServer(&clerkModel{})
			command := func(variable string, args ...string) *exec.Cmd {
				cmd := exec.CommandContext(t.Context(), program(t, "tapedeck"), args...)
				cmd.Env = append(append(os.Environ(), "MODEL_URL=http://127.0.0.1:1", "OPENAI_API_KEY=none", redactionKey), append(env, variable)...)
				return cmd
			}
			record := func(question string) string {
				t.Helper()
				recorded := output(t, command("MODEL_URL="+server.URL, append(append([]string{"record", "--to", t.TempDir()}, argv...), question)...))
				var line struct{ URL, Grade string }
				if err := json.Unmarshal([]byte(recorded), &line); err != nil || line.Grade != "offline" {
					t.Fatalf("%v: %s", err, recorded)
				}
				return line.URL
			}
			whole, retried := record(clerkTurns[0].question), record(retryQuestion)
			server.Close()
			replayOf := func(url, variable string, flags ...string) (int, replayReport) {
				t.Helper()
				args := append([]string{"replay", url, "--json", "--input", "arg", "--env", "MODEL_URL", "--env", "STOCK_URL", "--env-from", "SKU_*", "--env-from", "MASTRA_*"}, lockdownFlags(t)...)
				cmd := command(variable, append(append(args, flags...), argv...)...)
				var stderr strings.Builder
				cmd.Stderr = &stderr
				out, err := cmd.Output()
				var exit *exec.ExitError
				if err != nil && !errors.As(err, &exit) {
					t.Fatal(err)
				}
				var r replayReport
				if err := json.Unmarshal(out, &r); err != nil {
					t.Fatalf("%v: %s%s", err, out, stderr.String())
				}
				if len(lockdownFlags(t)) > 0 != r.Lockdown {
					t.Errorf("lockdown: %v", r.Lockdown)
				}
				return cmd.ProcessState.ExitCode(), r
			}
			replay := func(variable string, flags ...string) (int, replayReport) {
				t.Helper()
				return replayOf(whole, variable, flags...)
			}
			protocol := ""
			// A tool that ran would say something else.
			for layer, args := range map[string][]string{"oracle": {"SKU_7=99"}, "live": {"SKU_7=42", "--allow-live", "get_stock"}} {
				code, same := replay(args[0], args[1:]...)
				if code != 0 || same.Verdict != "as_recorded" || len(same.Tools) != 2 || len(same.Model.Calls) != 2 {
					t.Fatalf("%s: exit code %d: %+v", layer, code, same)
				}
				for _, tool := range same.Tools {
					if tool.Layer != layer {
						t.Errorf("a tool call was answered by %s, want %s", tool.Layer, layer)
					}
				}
				protocol = same.Model.Calls[0].API
			}
			code, again := replayOf(retried, "SKU_7=99")
			if code != 0 || again.Verdict != "as_recorded" || len(again.Tools) != 4 || len(again.Model.Calls) != 3 {
				t.Fatalf("with tools that fail once: exit code %d: %+v", code, again)
			}
			for _, tool := range again.Tools {
				if tool.Layer != "oracle" {
					t.Errorf("with tools that fail once: a call was answered by %s", tool.Layer)
				}
			}
			// Where the telemetry holds what the model was shown, it is shown that word for word: the second call is that which shows the failures.
			words := ", word for word"
			if shows := again.Model.Calls[1]; slices.Contains(shows.Labels, "rewritten") || slices.Contains(shows.Labels, "spacing") {
				words = ""
			}
			code, changed := replay("SKU_7=99", "--override", overridden(t, whole))
			if last := len(changed.Model.Calls) - 1; code != 1 || last < 1 || changed.Model.Calls[last].Outcome != "no_turn" || changed.Model.Calls[last].Nearest == nil ||
				!strings.HasSuffix(changed.Model.Calls[last].Nearest.Place, ".result") || !strings.Contains(changed.Model.Calls[last].Nearest.Live, "41") {
				t.Errorf("with a recorded answer changed: exit code %d: %+v", code, changed)
			}
			code, other := replay("SKU_7=43", "--preload=false")
			if code != 1 || other.divergedAt() != "get_stock" || !slices.Contains(other.failed(), "no tool ran live") {
				t.Errorf("undeclared, with another result: exit code %d: %+v", code, other)
			}
			code, lost := replay("STOCK_URL=http://192.0.2.1:9/stock", "--allow-live", "get_stock")
			if code != 1 || lost.divergedAt() != "get_stock" {
				t.Errorf("with a tool that reaches for the network: exit code %d: %+v", code, lost)
			}
			rows[agent.name] = fmt.Sprintf("| %s | %s | model stub, `%s` | hooks: as recorded | hooks: as recorded%s | hooks: as recorded | exit code 1, at the result | exit code 1, at the call | exit code 1, at the call |", agent.name, agent.language, protocol, words)
		})
	}
	const begin, end = "<!-- agents, written by the tests of e2e with -update -->\n", "\n<!-- /agents -->"
	path := filepath.Join("..", "docs", "replay.md")
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), begin)
	table, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("docs/replay.md has no table of agents")
	}
	said := strings.Split(table, "\n")
	if !*update {
		for name, row := range rows {
			if !slices.Contains(said, row) {
				t.Errorf("docs/replay.md does not say of %s\n%s", name, row)
			}
		}
		return
	}
	all := []string{"| framework | language | model calls | tools answered | a tool fails once, is retried | tools that run, declared | one recorded answer changed | undeclared, with another result | a tool that reaches for the network |", "|---|---|---|---|---|---|---|---|---|"}
	for _, agent := range recordables() { // rows of agents that were not run stay
		if i := slices.IndexFunc(said, func(row string) bool { return strings.HasPrefix(row, "| "+agent.name+" |") }); rows[agent.name] == "" && i >= 0 {
			rows[agent.name] = said[i]
		}
		if row := rows[agent.name]; row != "" {
			all = append(all, row)
		}
	}
	if err := os.WriteFile(path, []byte(before+begin+strings.Join(all, "\n")+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// overridden is an oracle file with one of the recorded answers, changed.
func overridden(t *testing.T, ref string) string {
	t.Helper()
	out := output(t, exec.CommandContext(t.Context(), program(t, "tapedeck"), "oracle", "derive", ref))
	changed := strings.Replace(out, "42", "41", 1)
	if changed == out {
		t.Fatalf("no 42 in %s", out)
	}
	path := filepath.Join(t.TempDir(), "oracle.json")
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// lockdownFlags shut the network where this machine can; a machine of CI has to.
func lockdownFlags(t *testing.T) []string {
	t.Helper()
	if err := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "--net", "true").Run(); err != nil {
		if os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatal("no network namespaces here: ", err)
		}
		return nil
	}
	return []string{"--require-lockdown"}
}
