// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const forgeCorpus = "../../testdata/corpus/forge/"

// deckOf writes the runs of recorded files to a deck and returns its folder.
func deckOf(t *testing.T, files ...string) string {
	t.Helper()
	to := t.TempDir()
	args := []string{"derive", "--to", to, "--redact", "off"}
	for _, f := range files {
		args = append(args, forgeCorpus+f)
	}
	if got := tapedeck(t, args...); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	return to
}

// TestRequestIsTheOneThatWasSent compares the printed request with the one that Forge really got.
func TestRequestIsTheOneThatWasSent(t *testing.T) {
	data, err := os.ReadFile(forgeCorpus + "ground_truth.json")
	if err != nil {
		t.Fatal(err)
	}
	truth, err := exactjson.Parse(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	sent := truth.At(0)
	to := deckOf(t, "happy.otlp.json", "stock-helper.audit.ndjson")
	got := tapedeck(t, "request", "4bf92f3577b34da6", "--deck", to, "--url", "http://127.0.0.1:1/")
	if got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	var printed struct {
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
		Missing []string          `json:"missing"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &printed); err != nil {
		t.Fatal(err)
	}
	if body, err := exactjson.Parse(string(printed.Body)); err != nil || !body.Equal(sent.Get("body")) || printed.URL != "http://127.0.0.1:1/" {
		t.Errorf("%v %s", err, printed.Body)
	}
	for _, m := range sent.Get("headers").Members() {
		_, there := printed.Headers[m.Name]
		switch m.Name {
		case "X-Forge-Correlation-Id", "traceparent", "baggage": // ignored by Forge, never sent again, not recorded
			if there {
				t.Errorf("%s is sent", m.Name)
			}
		default:
			if printed.Headers[m.Name] != m.Value.Str() {
				t.Errorf("%s: %q", m.Name, printed.Headers[m.Name])
			}
		}
	}
	want := []string{"id", "params.message.role", "params.message.parts", "headers.Authorization", "headers.baggage"}
	if diff := cmp.Diff(want, printed.Missing); diff != "" || !strings.Contains(got.stderr, "no record carries: "+strings.Join(want, ", ")) {
		t.Errorf("%s %s", diff, got.stderr)
	}
}

func TestRequestForAShellAndAsHTTP(t *testing.T) {
	to := deckOf(t, "happy.otlp.json")
	for format, begin := range map[string]string{"curl": "curl -sS -X POST 'http://h:1/' \\\n  -H 'Accept: application/json'", "http": "POST / HTTP/1.1\r\nHost: h:1\r\n"} {
		got := tapedeck(t, "request", "4bf92f3577b34da6", "--deck", to, "--format", format, "--url", "http://h:1/", "--task-id", "again")
		if got.code != exitOK || !strings.HasPrefix(got.stdout, begin) || !strings.Contains(got.stdout, `"id":"again"`) || strings.Contains(got.stderr, "--task-id") {
			t.Errorf("%s: %+v", format, got)
		}
	}
}

// TestRequestSpeaksEveryVersionOfA2A: what was recorded in the oldest is written in the others.
func TestRequestSpeaksEveryVersionOfA2A(t *testing.T) {
	to := deckOf(t, "happy.otlp.json")
	for method, want := range map[string]string{
		"message/send":         `{"kind":"text","text":"How many`,
		"SendMessage":          `"role":"ROLE_USER","parts":[{"text":"How many`,
		"SendStreamingMessage": `"headers":{"A2A-Version":"1.0","Accept":"text/event-stream"`,
	} {
		got := tapedeck(t, "request", "4bf92f3577b34da6", "--deck", to, "--method", method)
		if got.code != exitOK || !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, `"method":"`+method+`"`) {
			t.Errorf("%s: %+v", method, got)
		}
	}
}

func TestRequestNamesTheSessionThatItDoesNotHold(t *testing.T) {
	to := deckOf(t, "followup_turn.otlp.json")
	got := tapedeck(t, "request", "5b8d4a44a173e7a9", "--deck", to)
	if got.code != exitOK || !strings.Contains(got.stdout, `"history":4`) || !strings.Contains(got.stderr, "4 messages before this one") {
		t.Errorf("%+v", got)
	}
}

func TestRequestWithoutAMessageIsExitCode1(t *testing.T) {
	to := t.TempDir()
	if got := tapedeck(t, "derive", forgeCorpus+"capture_off_replay_tagged_leaky_urls.otlp.json", "--to", to, "--redact", "off"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	files, err := filepath.Glob(to + "/replays/*/default/*/*/*/tape.json")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, format := range []string{"json", "curl"} {
		got := tapedeck(t, "request", files[0], "--format", format, "--url", "http://h/")
		if got.code != exitPartial || !strings.Contains(got.stderr, "the message is not in the telemetry") || (format == "json") != strings.Contains(got.stdout, `"body":null,"missing":["id","params.message",`) {
			t.Errorf("%s: %+v", format, got)
		}
	}
}

func TestRequestMisuseAndOtherRunsAreExitCode2(t *testing.T) {
	other := deckOf(t, "../agents/strands/handoff.otlp.json")
	files, _ := filepath.Glob(other + "/runs/default/*/*/*/tape.json")
	if len(files) != 1 {
		t.Fatal(files)
	}
	for want, args := range map[string][]string{
		"request needs a REF":             {},
		"request takes one REF, not 2":    {"a", "b"},
		"want json, curl or http":         {"testdata/full", "--format", "xml"},
		"--format curl needs --url":       {"testdata/full", "--format", "curl"},
		"--url: want http://HOST/":        {"testdata/full", "--url", "ftp://h/"},
		"--method tasks/get: want one of": {"testdata/full", "--method", "tasks/get"},
		"the tape holds no A2A request":   {files[0]},
		"no such file":                    {"nofile"},
		"read tape: ":                     {write(t, "tape.json", "{")},
	} {
		got := tapedeck(t, append([]string{"request"}, args...)...)
		if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, want) || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
