// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/agentreplay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// forgeDeck holds the recorded invocation.
func forgeDeck(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deck")
	if got := commanded(t, "derive", "--redact", "off", "--to", dir, forge); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	return dir
}

func forgeReplayed(t *testing.T, args ...string) (result, agentreplay.ForgeReplay) {
	t.Helper()
	address := freeAddress(t)
	t.Setenv(agentVariable, "forge")
	file := filepath.Join(t.TempDir(), "replay.json")
	got := commanded(t, append(append([]string{"replay", "--replay-output", file, "--replay-run-id", "r17", "--input", "a2a:http://" + address + "/", "--json"}, args...), "--", os.Args[0])...)
	var doc agentreplay.ForgeReplay
	body, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(body, &doc)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return got, doc
}

func TestAnInvocationOfForgeIsReplayed(t *testing.T) {
	dir := forgeDeck(t)
	for _, source := range []string{forgeInvocation, forgeTrace} {
		got, doc := forgeReplayed(t, "--replay-source", source, "--deck", dir)
		if got.code != exitOK || doc.Report == nil || doc.Report.Verdict != rerun.AsRecorded || !doc.Report.Exit.Stopped {
			t.Fatalf("%s: %+v", source, got)
		}
		if doc.Source.ID != source || doc.Source.InvocationID != forgeInvocation || doc.ReplayRunID != "r17" || doc.Oracle != "tape" ||
			!strings.Contains(doc.Request, `"id":"r17"`) || !strings.Contains(doc.Request, "SKU-7") || doc.Answer == nil || !strings.Contains(*doc.Answer, "99 units") {
			t.Errorf("%s: %+v", source, doc)
		}
		recorded, err := os.ReadFile(forgeAudit)
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Events) != 3 {
			t.Fatalf("%s: %d audit records", source, len(doc.Events))
		}
		for i, line := range strings.SplitN(string(recorded), "\n", 4)[:3] {
			if e := doc.Events[i]; e.Subject != "replayEvent" || e.ReplayRunID != "r17" || e.Line != line && !e.Redacted {
				t.Errorf("%s: record %d: %+v", source, i, e)
			}
		}
	}
}

func TestAnotherFileAndAnotherModelAnswerForge(t *testing.T) {
	dir := forgeDeck(t)
	// An oracle that knows nothing: the call is a miss, not a call of the tool.
	empty := filepath.Join(t.TempDir(), "oracle.json")
	if err := os.WriteFile(empty, []byte("[]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, doc := forgeReplayed(t, "--replay-source", forgeInvocation, "--deck", dir, "--replay-tool-oracle", empty); got.code != exitPartial || failed(*doc.Report) != "tool calls were recorded (oracle)" ||
		doc.Report.Tools[0].Layer != rerun.LayerOracle || doc.Report.Tools[0].Outcome != oracle.NoEntry {
		t.Errorf("an empty oracle: %+v", got)
	}
	var asked []string
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var of struct{ Model string }
		_ = json.Unmarshal(body, &of)
		asked = append(asked, r.URL.Path+" "+of.Model+" "+r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"x"}}]}`)
	}))
	defer model.Close()
	t.Setenv("OPENAI_API_KEY", "of this process")
	got, doc := forgeReplayed(t, "--replay-source", forgeInvocation, "--deck", dir, "--replay-candidate-model", "candidate-2@"+model.URL+"/v1")
	want := "/v1/chat/completions candidate-2 Bearer of this process"
	if len(asked) != 2 || asked[0] != want || asked[1] != want || doc.Candidate == "" {
		t.Errorf("%q, %+v, %+v", asked, got, doc)
	}
	if !strings.Contains(got.stderr, `forge: model candidate-2, fallbacks ""`) {
		t.Errorf("%s", got.stderr)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"REF", "--replay-source", "x"}, "stands in the place of a REF"},
		{[]string{"--replay-source", forgeInvocation, "--deck", dir, "--replay-candidate-model", "m@http://u:p@h"}, "--replay-candidate-model"},
		{[]string{"--replay-source", forgeInvocation, "--deck", dir, "--replay-tool-oracle", "nowhere.json"}, "--replay-tool-oracle"},
		{[]string{"--replay-source", forgeInvocation, "--deck", dir, "--replay-tool-oracle", "http://u:p@h/"}, "--replay-tool-oracle"},
		{[]string{"--replay-source", "0123456789abcde0", "--deck", dir}, "0123456789abcde0"},
	} {
		if got, _ := forgeReplayed(t, c.args...); got.code != exitFailed || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

// TestADeckServerAnswersForge: with every form of its URL, and asked for the run of the source where the URL
// names none.
func TestADeckServerAnswersForge(t *testing.T) {
	dir, _ := newDeck(t)
	s := startServer(t, "--oracle", dir)
	forms := []string{"", "/?run=" + forgeInvocation, "?run=" + forgeRun, "/v1/runs/" + forgeTrace, "/v1/runs/" + forgeRun + "/tool-calls", "/v1/tool-calls?run=" + forgeTrace[:8]}
	for i, form := range forms {
		got, doc := forgeReplayed(t, "--replay-source", forgeInvocation, "--deck", dir, "--replay-tool-oracle", s.Listening+form, "--replay-run-id", "r"+strconv.Itoa(i))
		e := doc.Report.Elsewhere
		if got.code != exitOK || e == nil || e.Calls != 1 || e.Outcomes[oracle.Hit] != 1 || e.Run == "" || doc.Report.Tools[0].Layer != rerun.LayerOracle || !strings.HasSuffix(e.URL, "/tool-calls") && i != 1 {
			t.Errorf("%s: %+v", form, got)
		}
	}
	code, reports := s.end(t)
	if code != exitOK || len(reports) != len(forms) || reports[0].RunID != forgeRun || reports[0].Calls.Outcomes[oracle.Hit] != 1 {
		t.Errorf("%d %+v", code, reports)
	}
}

func TestAnOracleElsewhereAnswersForge(t *testing.T) {
	dir := forgeDeck(t)
	asked := func(url string) (result, agentreplay.ForgeReplay) {
		t.Helper()
		return forgeReplayed(t, "--replay-source", forgeInvocation, "--deck", dir, "--replay-tool-oracle", url)
	}
	// A miss, a refusal and a live call are three things.
	for mode, c := range map[oracle.Mode]struct {
		outcome oracle.Outcome
		layer   rerun.Layer
		code    int
		failed  string
	}{
		oracle.Strict:    {oracle.NoEntry, rerun.LayerOracle, exitPartial, "tool calls were recorded (oracle)"},
		oracle.ModeError: {oracle.Refused, rerun.LayerOracle, exitOK, ""},
		oracle.ModeLive:  {oracle.Live, rerun.LayerLive, exitOK, ""},
	} {
		o, err := oracle.New(nil, oracle.Options{Rules: &oracle.Rules{Tools: map[string]oracle.ToolRule{"http_request": {Mode: mode}}}})
		if err != nil {
			t.Fatal(err)
		}
		handler := oraclehttp.NewHandler(oraclehttp.Config{Library: oraclehttp.Single("elsewhere", o)})
		s := httptest.NewServer(handler)
		got, doc := asked(s.URL)
		s.Close()
		handler.Close()
		r := doc.Report
		if got.code != c.code || failed(*r) != c.failed || r.Elsewhere.Outcomes[c.outcome] != 1 || r.Elsewhere.Calls != 1 || len(r.Elsewhere.NotServed) != 1 || r.Elsewhere.NotServed[0].Outcome != c.outcome ||
			r.Tools[0].Layer != c.layer || r.Tools[0].Free != (c.layer == rerun.LayerLive) || c.layer == rerun.LayerOracle && r.Tools[0].Outcome != c.outcome {
			t.Errorf("%s: %+v", mode, got)
		}
	}
	// An oracle that is broken says nothing of the agent.
	dead := httptest.NewServer(nil)
	dead.Close()
	said := func(status int, text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for url, why := range map[string]string{
		dead.URL: "cannot be reached", said(401, `{"code":"unauthorised","detail":"hunter2"}`): "status 401 (unauthorised)", said(403, "hunter2"): "status 403",
		said(500, ""): "status 500", said(307, ""): "status 307", said(200, "<html>hunter2"): "no answer of an oracle", said(200, `{"hit":true}`): "no answer of an oracle",
	} {
		got, doc := asked(url)
		r := doc.Report
		if got.code != exitFailed || r.Verdict != rerun.NotDone || failed(*r) != "the oracle answered" || r.Tools[0].Layer != rerun.LayerOracle || r.Tools[0].Outcome != rerun.Broken || r.Elsewhere.Broken != 1 || !strings.Contains(r.Elsewhere.Problem, why) || strings.Contains(got.stdout, "hunter2") {
			t.Errorf("%s: %+v", why, got)
		}
	}
	// The oracle of another server, which the command never sees.
	answers, err := oracle.New([]oracle.Entry{{
		ToolName: "http_request", ArgsHash: tape.ArgsHash(exactjson.ObjectValue(
			exactjson.Member{Name: "method", Value: exactjson.StringValue("GET")}, exactjson.Member{Name: "url", Value: exactjson.StringValue("http://127.0.0.1:14318/tool/counter")})),
		Response: `{"body":"{\"stock\":98}","status":200,"status_text":"200 OK"}`, ResponseFormat: tape.FormatText, Seq: 1, Occurrence: 1,
	}}, oracle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	handler := oraclehttp.NewHandler(oraclehttp.Config{Library: oraclehttp.Single("elsewhere", answers)})
	defer handler.Close()
	again := httptest.NewServer(handler)
	defer again.Close()
	got, doc := asked(again.URL)
	if got.code != exitOK || doc.Oracle != again.URL || len(doc.Report.Tools) != 1 || doc.Report.Tools[0].Layer != rerun.LayerOracle || len(handler.Reports()) != 1 {
		t.Errorf("an oracle elsewhere: %+v", got)
	}
}
