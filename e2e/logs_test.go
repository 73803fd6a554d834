// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
)

// An agent whose spans hold no content: prompts, arguments and results come in log records only.
func TestLogRecordsBecomePartOfTheRun(t *testing.T) {
	for _, run := range []string{"codex-cli/parallel_tools", "openai-otel-contrib/research_chain"} {
		t.Run(run, func(t *testing.T) {
			url, derived := decktest.FileURL(t), decktest.FileURL(t)
			p := collect(t, slim, local, url, soon, patient)
			traces, logs := example(t, "testdata/corpus/agents/"+run+".otlp.json"), example(t, "testdata/corpus/agents/"+run+".logs.json")
			post(t, "http://"+p.HTTP+"/v1/traces", traces)
			post(t, "http://"+p.HTTP+"/v1/logs", logs)
			until(t, "the run to lie in the deck", func() bool { return len((at{t, url}).traces()) > 0 })
			stop(t, p)

			tapedeck(t, "derive", "--no-join", "--to", derived, traces, logs)
			want, got := current1(t, derived), current1(t, url)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the tapes of the collector and of tapedeck derive --no-join differ (-derive +collector):\n%s", diff)
			}
			if !strings.Contains(got["tape.json"], `"logs":`) {
				t.Error("no log record is part of the tape")
			}
		})
	}
}

// current1 returns the files of the only run in a deck.
func current1(t *testing.T, url string) map[string]string {
	t.Helper()
	a := at{t, url}
	var files map[string]string
	for trace := range a.traces() {
		if files != nil {
			t.Fatalf("several traces in %s", url)
		}
		files = map[string]string{}
		for name, body := range a.current(trace) {
			files[name[strings.LastIndexByte(name, '/')+1:]] = body
		}
	}
	return files
}

// post sends a recorded OTLP document as it is.
func post(t *testing.T, url, file string) {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK {
		t.Fatalf("%s answered %s: %s", url, answer.Status, text)
	}
}
