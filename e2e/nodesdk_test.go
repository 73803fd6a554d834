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
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/interop/chat"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/tape"
)

// What the run that SDKs read says.
const (
	sdkSystem, sdkQuestion = "You are the stock clerk.", "How many of SKU-7 and SKU-8?"
	sdkAnswer              = "SKU-7: 42, all of them in Bern. SKU-8: none — «ask again tomorrow», they say, and once more the day after."
)

// sdkRead is what an SDK read of it.
type sdkRead struct {
	First string
	Calls []sdkCall
	Last  string
}

type sdkCall struct {
	Name string
	Args map[string]string
}

// sdkRun is a run of two turns, and what an SDK reads of it.
func sdkRun(t *testing.T) (*tape.Tape, sdkRead) {
	t.Helper()
	conversation, err := json.Marshal(map[string]any{"messages": []any{
		map[string]any{"role": "system", "content": sdkSystem},
		map[string]any{"role": "user", "content": sdkQuestion},
		map[string]any{"role": "assistant", "content": "Let me look.", "tool_calls": []any{
			map[string]any{"id": "call_a", "type": "function", "function": map[string]any{"name": "get_stock", "arguments": `{"sku":"SKU-7"}`}},
			map[string]any{"id": "call_b", "type": "function", "function": map[string]any{"name": "get_stock", "arguments": `{"sku":"SKU-8"}`}},
		}},
		map[string]any{"role": "tool", "tool_call_id": "call_a", "content": `{"pieces":42,"place":"Bern"}`},
		map[string]any{"role": "tool", "tool_call_id": "call_b", "content": `{"pieces":0,"place":"nowhere"}`},
		map[string]any{"role": "assistant", "content": sdkAnswer},
	}})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := chat.Decode(append(conversation, '\n'), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return runs[0].Tape, sdkRead{"Let me look.", []sdkCall{{"get_stock", map[string]string{"sku": "SKU-7"}}, {"get_stock", map[string]string{"sku": "SKU-8"}}}, sdkAnswer}
}

// sdkVariables tell a script what to ask, and what the tools say.
func sdkVariables(url string) []string {
	return []string{"MODEL_URL=" + url, "SYSTEM=" + sdkSystem, "QUESTION=" + sdkQuestion,
		`RESULTS={"get_stock SKU-7":"{\"pieces\":42,\"place\":\"Bern\"}","get_stock SKU-8":"{\"pieces\":0,\"place\":\"nowhere\"}"}`}
}

// TestNodeSDKsReadTheModelStub lets the official SDKs for JavaScript read both turns of a run, whole and
// streamed.
func TestNodeSDKsReadTheModelStub(t *testing.T) {
	dir := nodeAgents(t, "node")
	for _, sdk := range []string{"openai-chat", "openai-responses", "anthropic", "google"} {
		for _, way := range []string{"whole", "streamed"} {
			t.Run(sdk+"/"+way, func(t *testing.T) {
				recorded, want := sdkRun(t)
				h := modelstub.NewHandler(modelstub.Config{Stub: modelstub.New(recorded, modelstub.Options{})})
				server := httptest.NewServer(h)
				defer server.Close()
				cmd := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "agents", "node", "sdks.mjs"), sdk, way)
				cmd.Env = append(append(os.Environ(), "NODE_AGENTS="+dir), sdkVariables(server.URL)...)
				var got sdkRead
				if err := json.Unmarshal([]byte(output(t, cmd)), &got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the SDK read (-want +got):\n%s", diff)
				}
				if r := h.Report(""); r.Missed != 0 || len(r.Unused) != 0 || len(r.Calls) != 2 {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}
