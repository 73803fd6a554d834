// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/agentlane"
	"github.com/tapedeck/tapedeck/oracle"
)

// commandDeck holds a run of the test agent for each task.
func commandDeck(t *testing.T, tasks ...string) string {
	t.Helper()
	t.Setenv(agentVariable, "live")
	t.Setenv("OPENAI_BASE_URL", scripted(t)+"/v1")
	address := filepath.Join(t.TempDir(), "deck")
	for _, task := range tasks {
		if got := commanded(t, "record", "--to", address, "--task", task, "--", os.Args[0]); got.code != exitOK {
			t.Fatalf("%+v", got)
		}
	}
	t.Setenv(agentVariable, "oracle")
	return address
}

// fewer is a scorer of the answer of the agent: that of the model of candidate is good, the recorded one is not.
const fewer = `exec:sh -c 'read -r case; case "$case" in *"\"replayed_output\":{\"text\":\"I make it"*) echo 1;; *) echo 0;; esac'`

// replaysOf runs an experiment over a command, and returns its outcomes by what became of them.
func replaysOf(t *testing.T, address string, args ...string) (experiment.Report, string) {
	t.Helper()
	args = append([]string{"experiment", address, "--failures", "status=ok", "--baseline", "status=error", "--lockdown", "off", "--quiet", "--json", "--scorer", fewer, "--input", "stdin"}, args...)
	got := commanded(t, append(args, "--", os.Args[0])...)
	if got.stdout == "" {
		t.Fatalf("%+v", got)
	}
	return reportOf(t, got.stdout), got.stderr
}

// Each run of an experiment over a command is a replay of it, and what the tape could not answer is in the report.
func TestACommandIsTheCandidateOfAnExperiment(t *testing.T) {
	address := commandDeck(t, "one")
	only := func(r experiment.Report) *experiment.CaseResult {
		t.Helper()
		if len(r.Cases) != 1 || r.State != "inconclusive" || r.Identity.SHA256 == "" {
			t.Fatalf("%+v", r)
		}
		return &r.Cases[0]
	}
	r, _ := replaysOf(t, address)
	c := only(r)
	if c.State != experiment.Unchanged || c.Of.Text != "There are seven apples in the cellar." || c.Of.Models.Served != 2 || c.Of.Tools.Served != 1 || len(c.Of.Steps) != 1 || r.Validity[0].Models.Served != 2 {
		t.Errorf("as recorded: %+v %+v", c, c.Of)
	}
	t.Setenv(agentVariable, "live") // the tool of the agent knows of no oracle
	if c := only(first(replaysOf(t, address))); c.State != experiment.NotReplayed || c.Of.Failure.Code != agentlane.ToolRanLive || c.Of.Tools.Live != 1 || c.Of.Tools.Unused != 1 {
		t.Errorf("live: %+v %+v", c, c.Of)
	}
	if r, _ := replaysOf(t, address, "--allow-live", "count"); only(r).State != experiment.Unchanged || r.Validity[0].Live != 1 {
		t.Errorf("live, and declared: %+v", r.Cases)
	}
	t.Setenv(agentVariable, "oracle")
	r, _ = replaysOf(t, address, "--template", "Why? {{user_message}}")
	if c := only(r); c.Of.Failure == nil || c.Of.Failure.Code != agentlane.ModelMissed || !strings.Contains(c.Of.Failure.Message, "1: no_turn, differs from event 1 at") || r.Validity[0].Models.Missed != 1 || r.Validity[0].Models.Unused != 2 {
		t.Errorf("another question: %+v %+v", c.Of.Failure, r.Validity)
	}
	t.Setenv(agentVariable, "silent") // its model calls tell what it did
	if c := only(first(replaysOf(t, address, "--allow-live", "count"))); c.State != experiment.Unchanged || c.Of.Text != "There are seven apples in the cellar." {
		t.Errorf("silent: %+v %+v", c, c.Of)
	}
	t.Setenv(agentVariable, "idle")
	if c := only(first(replaysOf(t, address, "--allow-live", "count"))); c.Of.Failure == nil || c.Of.Failure.Code != agentlane.NoTelemetry {
		t.Errorf("idle: %+v", c.Of)
	}
}

func first(r experiment.Report, _ string) experiment.Report { return r }

// The change reaches the model that --model-url names, and the command; the answers of tools are those of the tape, or those that are laid over them.
func TestTheChangeOfACommand(t *testing.T) {
	address := commandDeck(t, "one")
	c := &candidate{fruit: "apples"}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	override := filepath.Join(t.TempDir(), "oracle.json")
	laid := `[{"tool_name":"count","args_hash":"` + oracle.HashText(`{"of":"apples"}`) + `","args":{"of":"apples"},"response":"two apples"}]`
	if err := os.WriteFile(override, []byte(laid), 0o600); err != nil {
		t.Fatal(err)
	}
	html := filepath.Join(t.TempDir(), "report.html")
	r, _ := replaysOf(t, address, "--model-url", s.URL+"/base", "--change", "model=newer", "--change", "system_prompt=Count twice.", "--change", "overrides="+override, "--html", html)
	of := r.Cases[0].Of
	if r.Cases[0].State != experiment.Improved || of.Text != "I make it two apples." || of.Models.Live != 2 || of.Tools.Overridden != 1 || r.Override == "" {
		t.Errorf("%+v %+v", r.Cases[0], of)
	}
	if strings.Join(c.models, " ") != "newer newer" || strings.Join(c.system, "|") != "Count twice.|Count twice." {
		t.Errorf("the model was sent %v %v", c.models, c.system)
	}
	page, err := os.ReadFile(html)
	if err != nil || !bytes.Contains(page, []byte("<mark>")) || !bytes.Contains(page, []byte("two apples")) || !bytes.Contains(page, []byte("seven apples")) || bytes.Contains(page, []byte("src=")) {
		t.Errorf("%v: %.2000s", err, page)
	}
	// What the other model asks for is not recorded: no run was replayed, and none is better.
	other := &candidate{fruit: "pears"}
	s2 := httptest.NewServer(other)
	t.Cleanup(s2.Close)
	r, _ = replaysOf(t, address, "--model-url", s2.URL+"/base")
	if of := r.Cases[0].Of; of.Failure == nil || of.Failure.Code != "tool_cache_miss" || of.Failure.Details["tool_name"] != "count" || r.Validity[0].Tools.Missed != 1 {
		t.Errorf("%+v %+v", of, r.Validity)
	}
	for want, flags := range map[string][]string{
		"both --runner and a command":   {"--runner", "exec:true"},
		"--tool-policy live is for":     {"--tool-policy", "live"},
		"is no input":                   {"--input", "telepathy"},
		"listens at one port":           {"--input", "http:POST http://127.0.0.1:1/"},
		"neither an oracle file nor":    {"--change", "overrides=" + html},
		"both name an oracle file":      {"--change", "overrides=" + override, "--override", override},
		"the command could not be run:": {"--", "/no/such/agent"},
	} {
		got := commanded(t, append(append([]string{"experiment", address, "--failures", "status=ok", "--baseline", "status=error", "--lockdown", "off", "--scorer", fewer}, flags...), "--", os.Args[0])...)
		if got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%v: %+v", flags, got)
		}
	}
}

// An experiment over a command that is killed goes on, and comes to the same bytes.
func TestAKilledExperimentOverACommandGoesOn(t *testing.T) {
	address := commandDeck(t, "one", "two", "three", "four")
	args := []string{"experiment", address, "--failures", "status=ok", "--baseline", "status=error", "--lockdown", "off", "--quiet", "--json", "--scorer", fewer, "--input", "stdin", "--workers", "1"}
	want := commanded(t, append(args, "--", os.Args[0])...)
	state := filepath.Join(t.TempDir(), "state")
	args = append(args, "--state", state, "--", os.Args[0])
	journal := filepath.Join(state, "outcomes.jsonl")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), agentVariable+"=tapedeck", afterVariable+"=oracle", "TAPEDECK_TEST_ARGS="+strings.Join(withSettings(args), "\n"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if body, err := os.ReadFile(journal); err == nil && bytes.Count(body, []byte{'\n'}) >= 2 {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended before it was killed: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	_ = cmd.Process.Kill()
	<-ended
	if got := commanded(t, args...); got.stdout != want.stdout || got.code != want.code {
		t.Errorf("exit %d, want %d:\n%.1500s\n%.1500s", got.code, want.code, got.stdout, want.stdout)
	}
}
