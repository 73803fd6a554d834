// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/tape"
)

// teed records an agent without telemetry, with a model at the base URL, and returns what record said and the
// tapes.
func teed(t *testing.T, base string, more ...string) (result, []*tape.Tape) {
	t.Helper()
	t.Setenv("OPENAI_BASE_URL", base)
	args := append([]string{"record", "--tee", "--to", filepath.Join(t.TempDir(), "deck")}, more...)
	got := commanded(t, append(args, "--", os.Args[0])...)
	var tapes []*tape.Tape
	for _, line := range lines(t, got.stdout) {
		read, err := tape.Read([]byte(readAll(t, strings.TrimPrefix(line.URL, "file://"))))
		if err != nil {
			t.Fatal(err)
		}
		tapes = append(tapes, read)
	}
	return got, tapes
}

func TestAnAgentWithoutTelemetryIsRecordedByItsModelCalls(t *testing.T) {
	t.Setenv(agentVariable, "silent")
	got, tapes := teed(t, scripted(t)+"/v1")
	if got.code != exitOK || len(tapes) != 1 {
		t.Fatalf("%+v", got)
	}
	if n := strings.Count(got.stderr, "--tee: model calls pass through this program, on loopback, and are recorded: OPENAI_BASE_URL for http://127.0.0.1:"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, got.stderr)
	}
	if !strings.Contains(got.stderr, "--tee: 2 model calls passed, in 1 conversations\n") {
		t.Errorf("%s", got.stderr)
	}
	one := tapes[0]
	if one.Fidelity.Grade != tape.GradeOffline || one.Run.Status != tape.StatusOK || *one.Output.Text != "There are seven apples in the cellar." || *one.Input.UserMessage != "How many?" {
		t.Errorf("%+v %+v %+v", one.Fidelity, one.Run, one.Output)
	}
	if !slices.Contains(one.Sources.Dialects, "tee") || len(one.Sources.Scopes) != 1 || one.Sources.Scopes[0].Name != "tapedeck.tee" {
		t.Errorf("the tape does not say how it was made: %+v", one.Sources)
	}
	if len(one.Events) != 3 || one.Events[1].Name != "count" || one.Events[1].Result.Str() != "seven apples in the cellar" || !one.Events[1].StartedAt.IsZero() ||
		one.Events[1].Provenance["result"] != tape.Recovered {
		t.Errorf("%+v", one.Events)
	}
}

// The telemetry of an agent that has some is not mixed in: no call stands on a tape twice.
func TestTelemetryIsNotMixedWithWhatPassed(t *testing.T) {
	received := 0
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received++ }))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv(agentVariable, "live")
	got, tapes := teed(t, scripted(t)+"/v1")
	if got.code != exitOK || len(tapes) != 1 || len(tapes[0].Events) != 3 || len(tapes[0].Sources.Scopes) != 1 || received != 1 {
		t.Errorf("%d batches at the collector, %+v", received, got)
	}
}

// What passes is what the agent sends, and what record says holds nothing of it.
func TestKeysPassAndAreSaidNowhere(t *testing.T) {
	const key = "sk-proj-Zk3vQ9rT7mW2xY8bN4cL6dF1gH5jK0pSaR2e"
	model := scripted(t)
	var seen []http.Header
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Clone())
		http.Redirect(w, r, model+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer front.Close()
	t.Setenv(agentVariable, "silent")
	t.Setenv("TAPEDECK_TEST_QUESTION", "How many? My key is "+key)
	got, tapes := teed(t, front.URL+"/v1")
	if got.code != exitOK || len(seen) != 2 || strings.Contains(got.stderr+got.stdout, key) {
		t.Fatalf("%d %+v", len(seen), got)
	}
	for _, h := range seen {
		if h.Get("X-Forwarded-For") != "" || h.Get("Content-Type") != "application/json" || !strings.HasPrefix(h.Get("User-Agent"), "Go-http-client") {
			t.Errorf("%v", h)
		}
	}
	if len(tapes) == 0 || strings.Contains(readAll(t, strings.TrimPrefix(lines(t, got.stdout)[0].URL, "file://")), key) {
		t.Error("the tape holds the key")
	}
}

func TestARecordingOfModelCallsIsReplayed(t *testing.T) {
	t.Setenv(agentVariable, "silent")
	got, tapes := teed(t, scripted(t)+"/v1")
	if len(tapes) != 1 {
		t.Fatalf("%+v", got)
	}
	url := lines(t, got.stdout)[0].URL
	t.Setenv("OPENAI_BASE_URL", "http://192.0.2.1:1/v1") // whoever asks it is not in a replay
	saw := func(r rerun.Report) bool {
		return r.Seen && slices.ContainsFunc(r.Checks, func(c rerun.Check) bool {
			return c.Name == "telemetry came" && c.OK && c.Detail == "none; the record is what the stub saw"
		})
	}
	if code, r := replayed(t, "quiet-oracle", url, "--input", "stdin"); code != exitOK || failed(r) != "" || !saw(r) || len(r.Tools) != 1 || r.Tools[0].Layer != rerun.LayerOracle {
		t.Errorf("as recorded: code %d: %s %+v", code, failed(r), r)
	}
	// An agent whose telemetry comes is compared by its model calls all the same.
	if code, r := replayed(t, "oracle", url, "--input", "stdin"); code != exitOK || failed(r) != "" || !saw(r) {
		t.Errorf("with telemetry: code %d: %s", code, failed(r))
	}
	t.Setenv(stockVariable, "eight apples in the cellar")
	code, r := replayed(t, "silent", url, "--input", "stdin", "--allow-live", "count")
	if code != exitPartial || !strings.Contains(failed(r), rerun.CheckEvents) || r.Comparison.First == nil || r.Comparison.First.A.Seq != 2 || r.Comparison.First.Differences[0].Field != "result" {
		t.Errorf("another result: code %d: %s %+v", code, failed(r), r.Comparison)
	}
}

// A recording with telemetry is replayed by an agent that sends none.
func TestWhatTheStubSawIsTheRecordOfASilentReplay(t *testing.T) {
	url := recordedAgent(t)
	code, r := replayed(t, "quiet-oracle", url, "--input", "stdin")
	if code != exitOK || failed(r) != "" || !r.Seen || len(r.Tools) != 1 || !slices.ContainsFunc(r.Notes(), func(line string) bool { return strings.Contains(line, "what the model stub was asked") }) {
		t.Errorf("code %d: %s %+v", code, failed(r), r)
	}
	t.Setenv(stockVariable, "eight apples in the cellar")
	if code, r := replayed(t, "silent", url, "--input", "stdin", "--allow-live", "count"); code != exitPartial || r.Comparison.First == nil || r.Comparison.First.A.Seq != 2 {
		t.Errorf("another result: code %d: %+v", code, r.Comparison)
	}
}

func TestRecordingModelCallsFailsWhereNonePass(t *testing.T) {
	t.Setenv(agentVariable, "idle")
	if got, _ := teed(t, "http://127.0.0.1:1/v1"); got.code != exitFailed || !strings.Contains(got.stderr, "nothing was written: no model call passed") {
		t.Errorf("%+v", got)
	}
	if got, _ := teed(t, "ftp://example.test/v1"); got.code != exitFailed || !strings.Contains(got.stderr, "--tee: OPENAI_BASE_URL is no address of an HTTP endpoint") {
		t.Errorf("%+v", got)
	}
	// An endpoint that is not there is a call that failed, and the tape says so.
	t.Setenv(agentVariable, "silent")
	got, tapes := teed(t, "http://127.0.0.1:1/v1")
	if got.code != exitPartial || len(tapes) != 1 || tapes[0].Run.Status != tape.StatusError || tapes[0].Events[0].Status != tape.EventError || !strings.HasPrefix(tapes[0].Events[0].Error.Message, "502 ") {
		t.Errorf("%+v", got)
	}
}
