// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
)

// Each model replays the run in a copy of the workspace, and the check decides; a model that asks for what is not recorded was not replayed.
func TestModelsAreComparedByACheck(t *testing.T) {
	url := recordedAgent(t)
	t.Setenv(agentVariable, "oracle")
	c := &candidate{named: true}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	t.Setenv("OPENAI_BASE_URL", s.URL+"/base/v1")
	workspace := t.TempDir()
	if err := os.WriteFile(filepath.Join(workspace, "wanted"), []byte("I make it"), 0o600); err != nil {
		t.Fatal(err)
	}
	html := filepath.Join(t.TempDir(), "page.html")
	compared := func(models string, more ...string) (result, experiment.Comparison) {
		t.Helper()
		args := append([]string{"compare", url, "--models", models, "--input", "stdin", "--latency=false", "--json", "--html", html, "--workspace", workspace,
			"--scorer", "tools", "--check", `sh -c 'touch made-by-check; if grep -q "$(cat noted-by-agent)"; then echo found; else echo not found; exit 3; fi'`}, more...)
		// The agent runs in the copy too, and the check in the one that the agent wrote to.
		got := commanded(t, append(args, "--", "sh", "-c", `cp wanted noted-by-agent && exec "$0"`, os.Args[0])...)
		var r experiment.Comparison
		if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
			t.Fatalf("%v: %+v", err, got)
		}
		return got, r
	}
	got, r := compared("apples,recorded")
	apples, recorded := r.Candidates[0], r.Candidates[1]
	if got.code != exitPartial || apples.Passed != 1 || apples.Replays[0].Of.Text != "I make it seven apples in the cellar." || apples.URL != s.URL+"/base/v1" || apples.Tools != "1.000" {
		t.Errorf("exit %d: %+v %+v", got.code, apples, apples.Replays[0].Of)
	}
	if recorded.Passed != 0 || recorded.Replayed != 1 || recorded.URL != "" || !strings.Contains(recorded.Replays[0].Why, "not found") || !strings.Contains(recorded.Replays[0].Why, "exit status 3") {
		t.Errorf("%+v", recorded)
	}
	if entries, err := os.ReadDir(workspace); err != nil || len(entries) != 1 {
		t.Errorf("the check wrote into the workspace itself: %v %v", entries, err)
	}
	page, err := os.ReadFile(html)
	if err != nil || !strings.Contains(string(page), "1 of 2 candidates pass") || !strings.Contains(string(page), "<mark>") {
		t.Errorf("%v: %.1500s", err, page)
	}
	if again, _ := compared("apples,recorded"); again.stdout != got.stdout {
		t.Errorf("the same replays, and other bytes:\n%s\n%s", got.stdout, again.stdout)
	}
	// People are shown the short id.
	run := "Run " + fullID.FindString(r.Run.RunID)[:8] + "."
	if got := commanded(t, "compare", url, "--models", "recorded", "--input", "stdin", "--", os.Args[0]); !strings.Contains(got.stdout, run) || strings.Contains(got.stdout, r.Run.RunID) || !strings.Contains(string(page), run) {
		t.Errorf("%q in %+v\n%.300s", run, got, page[bytes.Index(page, []byte("<h1")):])
	}
	got, r = compared("pears,apples", "--repeat", "2")
	if pears := r.Candidates[0]; got.code != exitFailed || pears.Replayed != 0 || len(pears.Replays) != 2 || !strings.Contains(pears.Replays[0].Why, "no recorded answer for tool count") || r.Candidates[1].Passed != 2 {
		t.Errorf("exit %d: %+v", got.code, r.Candidates)
	}
	for want, args := range map[string][]string{
		"--models is missing":    {"compare", url, "--", "true"},
		"no command behind":      {"compare", url, "--models", "m", "--"},
		"needs one REF":          {"compare", url, "--models", "m"},
		"is no model":            {"compare", url, "--models", "m@http://", "--", "true"},
		"--models names them":    {"compare", url, "--models", "m", "--change", "model=x", "--", "true"},
		"--check: a \" is not":   {"compare", url, "--models", "recorded", "--check", `"`, "--", "true"},
		"--workspace:":           {"compare", url, "--models", "recorded", "--workspace", "/no/such/folder", "--", "true"},
		"must be positive":       {"compare", url, "--models", "recorded", "--repeat", "0", "--", "true"},
		"could not be run: fork": {"compare", url, "--models", "recorded", "--lockdown", "off", "--", "/no/such/agent"},
	} {
		if got := commanded(t, args...); got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: %+v; want %q", args, got, want)
		}
	}
}
