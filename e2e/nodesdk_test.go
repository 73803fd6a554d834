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
)

// TestNodeSDKsReadTheModelStub lets the official SDKs for JavaScript read both turns of a run, whole and streamed.
func TestNodeSDKsReadTheModelStub(t *testing.T) {
	const (
		system, question = "You are the stock clerk.", "How many of SKU-7 and SKU-8?"
		answer           = "SKU-7: 42, all of them in Bern. SKU-8: none — «ask again tomorrow», they say, and once more the day after."
	)
	conversation, err := json.Marshal(map[string]any{"messages": []any{
		map[string]any{"role": "system", "content": system},
		map[string]any{"role": "user", "content": question},
		map[string]any{"role": "assistant", "content": "Let me look.", "tool_calls": []any{
			map[string]any{"id": "call_a", "type": "function", "function": map[string]any{"name": "get_stock", "arguments": `{"sku":"SKU-7"}`}},
			map[string]any{"id": "call_b", "type": "function", "function": map[string]any{"name": "get_stock", "arguments": `{"sku":"SKU-8"}`}},
		}},
		map[string]any{"role": "tool", "tool_call_id": "call_a", "content": `{"pieces":42,"place":"Bern"}`},
		map[string]any{"role": "tool", "tool_call_id": "call_b", "content": `{"pieces":0,"place":"nowhere"}`},
		map[string]any{"role": "assistant", "content": answer},
	}})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := chat.Decode(append(conversation, '\n'), interop.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := nodeAgents(t, "node")
	for _, sdk := range []string{"openai-chat", "openai-responses", "anthropic", "google"} {
		for _, way := range []string{"whole", "streamed"} {
			t.Run(sdk+"/"+way, func(t *testing.T) {
				h := modelstub.NewHandler(modelstub.Config{Stub: modelstub.New(runs[0].Tape, modelstub.Options{})})
				server := httptest.NewServer(h)
				defer server.Close()
				cmd := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "agents", "node", "sdks.mjs"), sdk, way)
				cmd.Env = append(os.Environ(), "NODE_AGENTS="+dir, "MODEL_URL="+server.URL, "SYSTEM="+system, "QUESTION="+question,
					`RESULTS={"get_stock SKU-7":"{\"pieces\":42,\"place\":\"Bern\"}","get_stock SKU-8":"{\"pieces\":0,\"place\":\"nowhere\"}"}`)
				type call struct {
					Name string
					Args map[string]string
				}
				type read struct {
					First string
					Calls []call
					Last  string
				}
				var got read
				if err := json.Unmarshal([]byte(output(t, cmd)), &got); err != nil {
					t.Fatal(err)
				}
				want := read{"Let me look.", []call{{"get_stock", map[string]string{"sku": "SKU-7"}}, {"get_stock", map[string]string{"sku": "SKU-8"}}}, answer}
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
