// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wordVectors are texts as counts of pairs of their letters, and a model that says what it was shown.
func wordVectors(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Input    []string
		Messages []struct{ Content string }
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var answer any
	if strings.HasSuffix(req.URL.Path, "/embeddings") {
		var list []any
		for i, text := range body.Input {
			vector := make([]float64, 1536)
			for j := range len(text) - 1 {
				vector[(int(text[j])*31+int(text[j+1]))%len(vector)]++
			}
			list = append(list, map[string]any{"object": "embedding", "index": i, "embedding": vector})
		}
		answer = map[string]any{"object": "list", "data": list, "model": "v", "usage": map[string]any{"prompt_tokens": 1, "total_tokens": 1}}
	} else {
		said := map[string]any{"role": "assistant", "content": "Notes: " + body.Messages[len(body.Messages)-1].Content}
		answer = map[string]any{
			"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini", "choices": []any{map[string]any{"index": 0, "message": said, "finish_reason": "stop"}},
			"usage": map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// TestASearchOfOwnVectorsIsReplayed records a program that embeds its documents and searches them, and runs
// it again with vectors that the stub makes up: it finds the same documents in the same order, and asks the
// model the same. For another question the vectors lead elsewhere, and the call is a miss.
func TestASearchOfOwnVectorsIsReplayed(t *testing.T) {
	interpreter := python(t, "langgraph")
	script := absolute(t, "testdata", "agents", "rag.py")
	server := httptest.NewServer(http.HandlerFunc(wordVectors))
	defer server.Close()
	command := func(url string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), program(t, "tapedeck"), args...)
		cmd.Env = append(os.Environ(), "MODEL_URL="+url, redactionKey, "PYTHONPYCACHEPREFIX="+filepath.Join(filepath.Dir(filepath.Dir(interpreter)), "compiled"))
		return cmd
	}
	recorded := output(t, command(server.URL, "record", "--to", t.TempDir(), "--", interpreter, script, "rag", "Which rack holds the rivets?"))
	var line struct{ URL, Grade string }
	if err := json.Unmarshal([]byte(recorded), &line); err != nil || line.Grade != "offline" {
		t.Fatal(err, recorded)
	}
	server.Close()
	replay := func(question string) (replayReport, string) {
		out, err := command("http://127.0.0.1:1", "replay", line.URL, "--json", "--answer", "stdout", "--", interpreter, script, "rag", question).Output()
		if exit, ended := err.(*exec.ExitError); err != nil && (!ended || exit.ExitCode() != 1) {
			t.Fatalf("%v: %s", err, out)
		}
		var report replayReport
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatal(err, string(out))
		}
		return report, string(out)
	}
	report, text := replay("Which rack holds the rivets?")
	if report.Verdict != "as_recorded" || len(report.failed()) > 0 {
		t.Errorf("%s: %v\n%s", report.Verdict, report.failed(), text)
	}
	var made []string
	for _, b := range report.Model.Beside {
		made = append(made, b.Request+": "+strings.Join(b.MadeUp, ", "))
	}
	if want := []string{"POST /v1/embeddings: vectors", "POST /v1/embeddings: vectors, vectors: nearest to the recorded documents"}; !slices.Equal(made, want) {
		t.Errorf("made up: %q", made)
	}
	if report, text := replay("Which rack holds the pegs?"); len(report.Model.Calls) != 1 || report.Model.Calls[0].Outcome != "no_turn" {
		t.Errorf("another question: %s", text)
	}
}
