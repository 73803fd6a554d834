// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Two turns of one conversation, as testdata/agents/common.py asks them: two calls at once, and one that fails.
var clerkTurns = []struct {
	question, answer string
	articles         []string
}{
	{"How many of SKU-7 and SKU-8 are in stock?", "SKU-7: 42, SKU-8: 0.", []string{"SKU-7", "SKU-8"}},
	{"And of SKU-9?", "SKU-9: unknown.", []string{"SKU-9"}},
}

const clerkSystem = "You are the stock clerk. Look things up before you answer."

// python is the interpreter of an environment with the packages of a framework.
func python(t *testing.T, framework string) string {
	t.Helper()
	dir := os.Getenv("TAPEDECK_TEST_PYTHON_AGENTS")
	path := filepath.Join(dir, framework, "bin", "python")
	if _, err := os.Stat(path); dir == "" || err != nil {
		if dir != "" && os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatalf("no environment %s in %s: %v", framework, dir, err)
		}
		t.Skipf("TAPEDECK_TEST_PYTHON_AGENTS does not name a folder with a virtual environment %s; .ci/run makes them where python3 is", framework)
	}
	return path
}

// clerkCall is a call of the tool as the tool itself saw it.
type clerkCall struct {
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Result *string         `json:"result"`
	Error  *string         `json:"error"`
}

// clerkRun is what an agent prints of its two turns.
type clerkRun struct {
	Calls   []clerkCall
	Answers []string
}

// TestPythonAgentsLive runs real agents with their real instrumentation, two turns of one conversation in one process. What the tools were
// called with and what the model was asked is the truth; the turns are two runs, and the first is history of the second.
func TestPythonAgentsLive(t *testing.T) {
	for _, framework := range []string{"openai-agents", "pydantic-ai", "langgraph", "llamaindex", "google-adk", "strands", "crewai"} {
		t.Run(framework, func(t *testing.T) {
			interpreter := python(t, framework)
			model := &clerkModel{}
			server := httptest.NewServer(model)
			defer server.Close()
			url := decktest.FileURL(t)
			p := collect(t, slim, local, url, soon)
			script := filepath.Join("testdata", "agents", "clerk_"+strings.ReplaceAll(framework, "-", "_")+".py")
			agent := exec.CommandContext(t.Context(), interpreter, script, framework)
			agent.Env = append(os.Environ(), "MODEL_URL="+server.URL, "OTLP_URL=http://"+p.HTTP, "OPENAI_API_KEY=none", "PYTHONPYCACHEPREFIX="+filepath.Join(filepath.Dir(filepath.Dir(interpreter)), "compiled"))
			var seen clerkRun
			if err := json.Unmarshal([]byte(output(t, agent)), &seen); err != nil {
				t.Fatal(err)
			}
			if len(seen.Calls) != 3 || len(seen.Answers) != 2 || len(model.turns) != 4 {
				t.Fatalf("the agent itself: %+v, model %+v", seen, model.turns)
			}
			var tapes []*tape.Tape
			until(t, "two tapes", func() bool {
				tapes = at{t, url}.played()
				return len(tapes) >= 2
			})
			stop(t, p)
			if tapes = (at{t, url}).played(); len(tapes) != 2 {
				t.Fatalf("%d tapes, want 2", len(tapes))
			}
			for i, tp := range tapes {
				calls, turns := seen.Calls[:2], model.turns[:2]
				if i == 1 {
					calls, turns = seen.Calls[2:], model.turns[2:]
				}
				for _, row := range clerkTruth(t, i, seen.Answers[i], calls, turns).Score([]*tape.Tape{tp}) {
					if row.Outcome != groundtruth.Exact && !(row.Field == "tool.error" && failureDisputed(tp)) {
						t.Errorf("run %d: %s %s %s", i, row.Field, row.Outcome, row.Detail)
					}
				}
				if tp.Fidelity.Grade != tape.GradeOffline || tp.Fidelity.Proof.OK == nil || !*tp.Fidelity.Proof.OK {
					t.Errorf("run %d: grade %s, proof %+v, findings %+v", i, tp.Fidelity.Grade, tp.Fidelity.Proof, tp.Fidelity.Findings)
				}
				said := 0
				for _, id := range tp.Input.Messages {
					if tp.Messages[id].Role == tape.RoleUser {
						said++
					}
				}
				if said != i+1 {
					t.Errorf("run %d: %d messages of the user before the first answer, want %d", i, said, i+1)
				}
			}
			entries, _ := oracle.Merge([][]oracle.Entry{oracle.FromTape(tapes[0]), oracle.FromTape(tapes[1])})
			replayed(t, agent, entries)
		})
	}
}

// failureDisputed reports a tape that says of a failed tool that its framework made a result of the failure: a text for the model.
func failureDisputed(tp *tape.Tape) bool {
	return slices.ContainsFunc(tp.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeStatusDisputed && f.Seq > 0 })
}

// clerkTruth is what really happened in one turn, in the form of the recorded corpus.
func clerkTruth(t *testing.T, i int, answer string, calls []clerkCall, turns []clerkTurn) groundtruth.Run {
	t.Helper()
	want := clerkTurns[i]
	if answer != want.answer || len(turns[0].Asks) != len(want.articles) || len(turns[1].Shown) != len(calls) {
		t.Fatalf("turn %d of the agent itself: answer %q, calls %+v, model %+v", i, answer, calls, turns)
	}
	// parallel calls run in any order, and the truth has that of the model
	slices.SortFunc(calls, func(a, b clerkCall) int { return strings.Compare(string(a.Args), string(b.Args)) })
	var list []any
	for k, call := range calls {
		list = append(list, map[string]any{
			"order": k, "name": call.Name, "args": call.Args, "result": call.Result, "error": call.Error, "llm_order": 0,
			"sent_to_model": turns[1].Shown[k], "call_id": callID(want.articles[k]),
		})
	}
	body, err := json.Marshal(map[string]any{
		"user_input": want.question, "system_prompt": clerkSystem, "final_output": answer, "status": "ok", "model": turns[0].Model,
		"tool_calls": list, "llm_turns": len(turns), "llm_failures": 0,
	})
	if err != nil {
		t.Fatal(err)
	}
	truth, err := exactjson.Parse(string(body))
	if err != nil {
		t.Fatal(err)
	}
	return groundtruth.Live(truth)
}

// played are the tapes of the deck in the order of their start.
func (a at) played() []*tape.Tape {
	a.t.Helper()
	files, _ := a.tapes()
	var tapes []*tape.Tape
	for name, body := range files {
		if !strings.HasSuffix(name, "/"+deck.TapeFile) {
			continue
		}
		tp, err := tape.Read([]byte(body))
		if err != nil {
			a.t.Fatal(err)
		}
		tapes = append(tapes, tp)
	}
	slices.SortFunc(tapes, func(x, y *tape.Tape) int { return x.Run.StartedAt.Compare(y.Run.StartedAt) })
	return tapes
}
