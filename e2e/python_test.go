// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Two turns of one conversation, as testdata/agents/common.py asks them.
var (
	pythonQuestions = []string{"How many of SKU-7 are in stock?", "And of SKU-8?"}
	pythonAnswers   = []string{"There are 42 pieces of SKU-7.", "There are 0 pieces of SKU-8."}
)

const pythonSystem = "You are the stock clerk. Look things up before you answer."

// clerkModel is a scripted model behind the chat completions API: it asks for the stock of the article that the user named last, and answers
// with what the tool said.
type clerkModel struct {
	mu       sync.Mutex
	requests int
}

func (m *clerkModel) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil || len(body.Messages) == 0 || body.Stream || !strings.HasSuffix(req.URL.Path, "/chat/completions") {
		http.Error(w, fmt.Sprintf("not scripted: %s, stream %t: %v", req.URL.Path, body.Stream, err), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	m.requests++
	n := m.requests
	m.mu.Unlock()
	last := body.Messages[len(body.Messages)-1]
	message, finish := map[string]any{"role": "assistant", "content": nil}, "stop"
	if last.Role == "tool" {
		var stock struct {
			SKU    string
			Pieces int
		}
		if err := json.Unmarshal([]byte(fmt.Sprint(last.Content)), &stock); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		message["content"] = fmt.Sprintf("There are %d pieces of %s.", stock.Pieces, stock.SKU)
	} else {
		sku := "SKU-7"
		if strings.Contains(fmt.Sprint(last.Content), "SKU-8") {
			sku = "SKU-8"
		}
		finish = "tool_calls"
		message["tool_calls"] = []any{map[string]any{"id": "call_" + sku, "type": "function", "function": map[string]any{"name": "get_stock", "arguments": `{"sku": "` + sku + `"}`}}}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": fmt.Sprintf("chatcmpl-%d", n), "object": "chat.completion", "created": 1, "model": body.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
	}) // a client that is gone shows in the test
}

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

// TestPythonAgentsLive runs real agents with their real instrumentation. What the tools were called with and what the model was asked is the
// truth; two turns in one process are two runs, and the first turn is history of the second.
func TestPythonAgentsLive(t *testing.T) {
	for _, framework := range []string{"openai-agents", "pydantic-ai", "langgraph"} {
		t.Run(framework, func(t *testing.T) {
			interpreter := python(t, framework)
			model := &clerkModel{}
			server := httptest.NewServer(model)
			defer server.Close()
			url := decktest.FileURL(t)
			p := collect(t, slim, local, url, soon)
			script := filepath.Join("testdata", "agents", "clerk_"+strings.ReplaceAll(framework, "-", "_")+".py")
			agent := exec.CommandContext(t.Context(), interpreter, script, framework)
			agent.Env = append(os.Environ(), "MODEL_URL="+server.URL+"/v1", "OTLP_URL=http://"+p.HTTP, "OPENAI_API_KEY=none", "PYTHONDONTWRITEBYTECODE=1")
			var seen struct {
				Calls []struct {
					Name   string
					Args   json.RawMessage
					Result string
				}
				Answers []string
			}
			if err := json.Unmarshal([]byte(output(t, agent)), &seen); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(seen.Answers, pythonAnswers) || len(seen.Calls) != 2 || model.requests != 4 {
				t.Fatalf("the agent itself: %+v, %d requests", seen, model.requests)
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
				call := seen.Calls[i]
				args, err := exactjson.Parse(string(call.Args))
				if err != nil {
					t.Fatal(err)
				}
				var tools []tape.Event
				models := 0
				for _, e := range tp.Events {
					switch e.Type {
					case tape.EventToolCall:
						tools = append(tools, e)
					case tape.EventModelCall:
						models++
					}
				}
				if models != 2 || len(tools) != 1 || tools[0].Name != call.Name || !tools[0].Args.Equal(args) || tools[0].ToolCallID != "call_"+args.Get("sku").Str() {
					t.Errorf("run %d: %d model calls, tool calls %+v, want one %s%s", i, models, tools, call.Name, call.Args)
				} else if result := tools[0].Result; result.Str() != call.Result && !sameJSON(result, call.Result) {
					t.Errorf("run %d: result %s, want %s", i, result.JSON(), call.Result)
				}
				if m := tp.Input.UserMessage; m == nil || *m != pythonQuestions[i] {
					t.Errorf("run %d: asked %v, want %q", i, m, pythonQuestions[i])
				}
				if out := tp.Output.Text; out == nil || *out != pythonAnswers[i] {
					t.Errorf("run %d: answered %v, want %q", i, out, pythonAnswers[i])
				}
				if s := tp.Input.SystemPrompt; s == nil || *s != pythonSystem {
					t.Errorf("run %d: system prompt %v", i, s)
				}
				if tp.Fidelity.Grade != tape.GradeOffline || tp.Fidelity.Proof.OK == nil || !*tp.Fidelity.Proof.OK {
					t.Errorf("run %d: grade %s, proof %+v, findings %+v", i, tp.Fidelity.Grade, tp.Fidelity.Proof, tp.Fidelity.Findings)
				}
				history := 0
				for _, id := range tp.Input.Messages {
					if tp.Messages[id].Role == tape.RoleUser {
						history++
					}
				}
				if history != i+1 {
					t.Errorf("run %d: %d messages of the user before the first answer, want %d", i, history, i+1)
				}
			}
		})
	}
}

func sameJSON(v exactjson.Value, text string) bool {
	want, err := exactjson.Parse(text)
	return err == nil && v.Equal(want)
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
