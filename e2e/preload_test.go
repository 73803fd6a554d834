// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/preload"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// replayed runs an agent again with its tools answered from an oracle: as recorded, with one answer changed, with one of the answers and tools that run for the
// rest, and with an oracle that cannot be asked.
func replayed(t *testing.T, agent *exec.Cmd, entries []oracle.Entry) {
	t.Helper()
	hooks := t.TempDir()
	if err := preload.Write(hooks); err != nil {
		t.Fatal(err)
	}
	start := func(name, url string) (*exec.Cmd, string) {
		model := httptest.NewServer(&clerkModel{})
		t.Cleanup(model.Close)
		again := exec.CommandContext(t.Context(), agent.Path, agent.Args[1:]...)
		config := preload.Config{Dir: hooks, OracleURL: url, ReplayRunID: name, Report: filepath.Join(t.TempDir(), "report")}
		again.Dir, again.Env = agent.Dir, append(config.Environ(agent.Env), "MODEL_URL="+model.URL, "OTEL_SDK_DISABLED=true")
		return again, config.Report
	}
	run := func(name string, entries []oracle.Entry, options oracle.Options) (seen clerkRun, report preload.Report, session oraclehttp.Report) {
		o, err := oracle.New(entries, options)
		if err != nil {
			t.Fatal(err)
		}
		handler := oraclehttp.NewHandler(oraclehttp.Config{Library: oraclehttp.Single("clerk", o)})
		defer handler.Close()
		server := httptest.NewServer(handler)
		defer server.Close()
		again, noted := start(name, server.URL)
		if err := json.Unmarshal([]byte(output(t, again)), &seen); err != nil {
			t.Fatal(err)
		}
		if report, err = preload.Read(noted); err != nil {
			t.Fatal(err)
		}
		for _, r := range handler.Reports() {
			session = r
		}
		return seen, report, session
	}

	seen, report, session := run("as recorded", entries, oracle.Options{})
	if !slices.Equal(seen.Answers, []string{clerkTurns[0].answer, clerkTurns[1].answer}) || len(seen.Calls) != 0 || len(report.Live) != 0 {
		t.Errorf("replayed: %+v, %+v", seen, report)
	}
	if !slices.ContainsFunc(report.Frameworks, func(f preload.Framework) bool { return f.Hooked }) {
		t.Errorf("replayed: %+v", report)
	}
	if session.Calls.Total != 3 || session.Entries.Unused != 0 || session.Diverged != nil {
		t.Errorf("replayed: the session %+v", session)
	}

	changed := slices.Clone(entries)
	for i, e := range changed {
		changed[i].Response = strings.Replace(e.Response, "42", "41", 1)
	}
	if seen, _, _ := run("changed", changed, oracle.Options{}); seen.Answers[0] != "SKU-7: 41, SKU-8: 0." || len(seen.Calls) != 0 {
		t.Errorf("with a changed answer: %+v", seen)
	}

	// What is not recorded runs, where the oracle says so; the rest is answered.
	through := oracle.Options{Rules: &oracle.Rules{Default: oracle.ToolRule{Mode: oracle.ReadThrough}}}
	seen, report, session = run("read through", entries[:1], through)
	if len(seen.Calls) != 2 || report.Live["get_stock"] != 2 || session.Calls.Total != 3 || seen.Answers[0] != clerkTurns[0].answer {
		t.Errorf("read through: %+v, %+v, session %+v", seen, report, session)
	}

	again, _ := start("without an oracle", "http://127.0.0.1:1")
	out, err := again.CombinedOutput()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 70 || !strings.Contains(string(out), "tapedeck: the oracle cannot be asked for get_stock") {
		t.Errorf("without an oracle: %v\n%s", err, out)
	}
}

// TestNodeAgentsReplay lets agents run, and then again with answers made of what their tools saw, as ES modules and as CommonJS.
func TestNodeAgentsReplay(t *testing.T) {
	for _, c := range []struct{ dir, framework string }{
		{"node", "vercel"}, {"node-ai6", "vercel"}, {"node-ai5", "vercel"}, {"node", "langchain"}, {"node", "openai-agents"}, {"node", "mastra"},
	} {
		for _, modules := range []string{"esm", "cjs"} {
			t.Run(c.dir+"/"+c.framework+"/"+modules, func(t *testing.T) {
				dir := nodeAgents(t, c.dir)
				script := nodeScript(t, dir)
				model := httptest.NewServer(&clerkModel{})
				defer model.Close()
				agent := exec.CommandContext(t.Context(), "node", script, c.framework, modules)
				agent.Env = append(os.Environ(), "NODE_AGENTS="+dir, "MODEL_URL="+model.URL, "MASTRA_TELEMETRY_DISABLED=1")
				var seen clerkRun
				if err := json.Unmarshal([]byte(output(t, agent)), &seen); err != nil {
					t.Fatal(err)
				}
				if len(seen.Calls) != 3 || !slices.Equal(seen.Answers, []string{clerkTurns[0].answer, clerkTurns[1].answer}) {
					t.Fatalf("the agent itself: %+v", seen)
				}
				replayed(t, agent, entriesOf(t, seen.Calls))
			})
		}
	}
}

// nodeAgents is the folder in which the packages of agents in JavaScript are installed.
func nodeAgents(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(os.Getenv("TAPEDECK_TEST_NODE_AGENTS"), name)
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); os.Getenv("TAPEDECK_TEST_NODE_AGENTS") == "" || err != nil {
		if os.Getenv("TAPEDECK_TEST_NODE_AGENTS") != "" && os.Getenv("TAPEDECK_REQUIRE_SERVICES") == "1" {
			t.Fatalf("no packages in %s: %v", dir, err)
		}
		t.Skip("TAPEDECK_TEST_NODE_AGENTS does not name the folder of the packages; .ci/run installs them where npm is")
	}
	return dir
}

// nodeScript puts the agent beside the packages: an ES module finds packages beside itself only.
func nodeScript(t *testing.T, dir string) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", "agents", "node", "clerk.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	within, err := os.MkdirTemp(dir, "run")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(within) })
	path := filepath.Join(within, "clerk.mjs")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// entriesOf makes an oracle of what tools saw.
func entriesOf(t *testing.T, calls []clerkCall) (entries []oracle.Entry) {
	t.Helper()
	for i, call := range calls {
		args, err := exactjson.Parse(string(call.Args))
		if err != nil {
			t.Fatal(err)
		}
		e := oracle.Entry{ToolName: call.Name, Args: args, ArgsHash: tape.ArgsHash(args), Seq: i + 1, Occurrence: 1, ResponseFormat: tape.FormatText}
		if call.Error != nil {
			e.Response, e.ErrorMessage, e.IsError = *call.Error, *call.Error, true
		} else {
			e.Response = *call.Result
		}
		entries = append(entries, e)
	}
	return entries
}
