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

	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
)

// TestPythonSDKsReadTheModelStub lets the official SDKs for Python of other providers than those of
// nodesdk_test.go read both turns of a run, whole and streamed. They find the stub by the variables that a
// replay sets; some look for models, count tokens and ask for vectors before.
func TestPythonSDKsReadTheModelStub(t *testing.T) {
	interpreter := python(t, "sdks")
	for sdk, api := range map[string]string{
		"bedrock": "bedrock-converse", "anthropic-bedrock": "anthropic-bedrock", "anthropic-vertex": "anthropic-vertex", "azure": "openai-chat", "openrouter": "openrouter-chat",
		"ollama": "ollama-chat", "cohere": "cohere-chat", "mistral": "mistral-chat", "vertex": "gemini-generate-content",
	} {
		for _, way := range []string{"whole", "streamed"} {
			t.Run(sdk+"/"+way, func(t *testing.T) {
				recorded, want := sdkRun(t)
				h := modelstub.NewHandler(modelstub.Config{Stub: modelstub.New(recorded, modelstub.Options{})})
				server := httptest.NewServer(h)
				defer server.Close()
				services := rerun.Services{Model: server.URL}
				cmd := exec.CommandContext(t.Context(), interpreter, filepath.Join("testdata", "agents", "sdks.py"), sdk, way)
				before := append(os.Environ(), "AWS_ACCESS_KEY_ID=none", "AWS_REGION=eu-west-1", "AWS_DEFAULT_REGION=eu-west-1", "AZURE_OPENAI_ENDPOINT=https://somewhere.test", "CO_API_KEY=none")
				cmd.Env = append(rerun.Environ(before, append(services.Variables(), services.StandIns(before, nil)...)), sdkVariables(server.URL)...)
				var got sdkRead
				if err := json.Unmarshal([]byte(output(t, cmd)), &got); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the SDK read (-want +got):\n%s", diff)
				}
				r := h.Report("")
				if r.Missed != 0 || len(r.Unused) != 0 || len(r.Calls) != 2 || r.Calls[0].API != api || r.Calls[0].Stream != (way == "streamed") {
					t.Errorf("%+v %+v", r, r.Calls)
				}
			})
		}
	}
}
