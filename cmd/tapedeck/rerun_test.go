// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/tapedeck/tapedeck/internal/replay/rerun"
)

func init() {
	leaveSession = func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
}

// ofTheAgent passes on the settings of the agent of these tests, which are variables, to a command that is
// replayed.
var ofTheAgent = []string{"--env-from", "TAPEDECK_TEST_*"}

// withSettings adds ofTheAgent to the flags of what replays a command.
func withSettings(args []string) []string {
	dash := slices.Index(args, "--")
	if dash < 0 || !slices.Contains([]string{"replay", "suite", "compare", "cause", "minimise", "experiment"}, args[0]) {
		return args
	}
	return slices.Insert(slices.Clone(args), dash, ofTheAgent...)
}

// commanded is tapedeck with a command whose own output is on stderr too.
func commanded(t testing.TB, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), withSettings(args), strings.NewReader(""), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// recordedAgent records the agent, and returns the address of its tape.
func recordedAgent(t testing.TB) string {
	t.Helper()
	t.Setenv(agentVariable, "live")
	t.Setenv("OPENAI_BASE_URL", scripted(t)+"/v1")
	got := commanded(t, "record", "--to", filepath.Join(t.TempDir(), "deck"), "--", os.Args[0])
	if got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	all := lines(t, got.stdout)
	if len(all) != 1 || all[0].Grade != "offline" || all[0].ToolCalls != counts() {
		t.Fatalf("%+v", got)
	}
	return all[0].URL
}

// A newcomer need not copy an id of 49 digits: what record says at its end can be typed.
func TestRecordSaysHowToLookAtTheTape(t *testing.T) {
	t.Setenv(agentVariable, "live")
	t.Setenv("OPENAI_BASE_URL", scripted(t)+"/v1")
	t.Chdir(t.TempDir())
	got := commanded(t, "record", "--to", "./deck", "--", os.Args[0])
	_, advice, said := strings.Cut(got.stderr, "tapedeck: to look at it: tapedeck ")
	if !said || got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	if args := strings.Fields(advice); len(args[1]) > 13 {
		t.Errorf("%q has a long id", advice)
	} else if shown := commanded(t, args...); shown.code != exitOK || !strings.Contains(shown.stdout, lines(t, got.stdout)[0].RunID) {
		t.Errorf("%q: %+v", advice, shown)
	}
}

func replayed(t *testing.T, mode string, args ...string) (int, rerun.Report) {
	t.Helper()
	t.Setenv(agentVariable, mode)
	got := commanded(t, append([]string{"replay", "--json"}, append(args, "--", os.Args[0])...)...)
	var r rerun.Report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return got.code, r
}

// freeAddress is one of loopback at which an agent that is a server is told to listen.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv(placeVariable, port)
	return address
}

// failed are the names of the checks that failed.
func failed(r rerun.Report) string {
	var names []string
	for _, c := range r.Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return strings.Join(names, "; ")
}

func TestARecordedAgentIsReplayedOffline(t *testing.T) {
	url := recordedAgent(t)
	t.Setenv("OPENAI_BASE_URL", "http://192.0.2.1:1/v1") // whoever asks it is not in a replay
	dir := t.TempDir()
	md, html, junit := filepath.Join(dir, "r.md"), filepath.Join(dir, "r.html"), filepath.Join(dir, "r.xml")
	code, r := replayed(t, "oracle", url, "--input", "stdin", "--answer", "stdout", "--markdown", md, "--html", html, "--junit", junit)
	if code != exitOK || r.Verdict != rerun.AsRecorded || failed(r) != "" {
		t.Fatalf("code %d: %+v", code, r)
	}
	if len(r.Tools) != 1 || r.Tools[0].Layer != rerun.LayerOracle || len(r.Model.Calls) != 2 || len(r.Model.Unused) != 0 {
		t.Errorf("%+v", r)
	}
	said := func(wants map[string][]string) {
		t.Helper()
		for file, all := range wants {
			body, err := os.ReadFile(file)
			for _, want := range all {
				if err != nil || !strings.Contains(string(body), want) {
					t.Errorf("%s: no %s, %v\n%.500s", file, want, err, body)
				}
			}
		}
	}
	madeUp := "made up: " // of the answers of the model
	said(map[string][]string{
		md:    {"## Replay: as recorded", madeUp, "- tool  2 count: oracle", "network: namespace"},
		html:  {"<!DOCTYPE html>", `<span class="good">as recorded</span>`, "recorded model calls were asked for", madeUp, "network: namespace"},
		junit: {`failures="0" errors="0"`, madeUp, "network: namespace"},
	})
	files := []string{"--markdown", md, "--html", html, "--junit", junit}
	t.Setenv(stockVariable, "eight apples in the cellar")
	if code, _ := replayed(t, "live", append([]string{url, "--input", "stdin"}, files...)...); code != exitPartial {
		t.Errorf("code %d", code)
	}
	said(map[string][]string{md: {"## Replay: diverged", "**fail** | no tool ran live"}, html: {`<span class="bad">diverged</span>`, "the runs part here"}, junit: {`failures="5" errors="0"`}})
	// What could not be done is said in all forms too, and there is no run to show.
	t.Setenv(stockVariable, "")
	if code, r := replayed(t, "idle", append([]string{url, "--input", "stdin"}, files...)...); code != exitFailed || r.Verdict != rerun.NotDone {
		t.Errorf("code %d: %+v", code, r)
	}
	said(map[string][]string{md: {"## Replay: not done"}, html: {`<span class="bad">not done</span>`, "no run came"}, junit: {`failures="0"`}})
}

func TestToolsThatRanThemselvesAreSaidUnlessDeclared(t *testing.T) {
	url := recordedAgent(t)
	if code, r := replayed(t, "live", url, "--input", "stdin"); code != exitPartial || failed(r) != "no tool ran live" || r.Tools[0].Layer != rerun.LayerLive {
		t.Errorf("code %d: %s", code, failed(r))
	}
	if code, r := replayed(t, "live", url, "--input", "stdin", "--allow-live", "count"); code != exitOK || !r.Tools[0].Allowed {
		t.Errorf("code %d: %s", code, failed(r))
	}
}

func TestAnotherResultIsFoundAtItsEvent(t *testing.T) {
	url := recordedAgent(t)
	t.Setenv(stockVariable, "eight apples in the cellar")
	code, r := replayed(t, "live", url, "--input", "stdin", "--allow-live", "count")
	if code != exitPartial || r.Verdict != rerun.Diverged || r.Comparison.First == nil || r.Comparison.First.A.Seq != 2 {
		t.Fatalf("code %d: %+v", code, r)
	}
	last := r.Model.Calls[len(r.Model.Calls)-1]
	if last.Outcome != "no_turn" || last.Nearest.Place != "2.assistant.calls.1.result" {
		t.Errorf("%+v", last)
	}
}

func TestAnotherQuestionIsAMiss(t *testing.T) {
	url := recordedAgent(t)
	code, r := replayed(t, "oracle", url, "--input", "stdin", "--template", "{{user_message}} And why?")
	if code != exitPartial || !strings.Contains(failed(r), "model calls were recorded") || r.Model.Calls[0].Nearest.Place != "1.user" {
		t.Errorf("code %d: %+v", code, r)
	}
	const headline = "The replay parts at event 1 of A: what the user asked differs: “How many?” → “How many? And why?”."
	if r.Headline != headline {
		t.Error(r.Headline)
	}
	got := commanded(t, "replay", url, "--input", "stdin", "--template", "{{user_message}} And why?", "--", os.Args[0])
	if !strings.Contains(got.stdout, headline) || strings.Contains(got.stdout, "only A asks") {
		t.Errorf("%+v", got)
	}
}

// TestTheFirstMissDecides: an agent that leaves the recording and ends, or hangs, before its telemetry comes
// has diverged.
func TestTheFirstMissDecides(t *testing.T) {
	url := recordedAgent(t)
	junit := filepath.Join(t.TempDir(), "r.xml")
	code, r := replayed(t, "silent", url, "--input", "stdin", "--template", "{{user_message}} And why?", "--junit", junit)
	if code != exitPartial || r.Verdict != rerun.Diverged || failed(r) != "the command ended; model calls were recorded; recorded model calls were asked for; the events are those of the recording" {
		t.Errorf("it ended: code %d: %s", code, failed(r))
	}
	if report := readAll(t, junit); !strings.Contains(report, `failures="4" errors="0"`) {
		t.Error(report)
	}
	// So has one that asks for what no tool was asked.
	c := &candidate{fruit: "pears"}
	if code, r := replayed(t, "quiet-oracle", append(c.asked(t), url)...); code != exitPartial || r.Verdict != rerun.Diverged || !strings.Contains(failed(r), "tool calls were recorded (oracle)") {
		t.Errorf("a tool: code %d: %s", code, failed(r))
	}
	if code, r := replayed(t, "stuck", url, "--input", "stdin", "--template", "{{user_message}} And why?", "--timeout", "5s", "--grace", "100ms"); code != exitPartial || !r.Exit.TimedOut || r.Verdict != rerun.Diverged {
		t.Errorf("it hung: code %d: %s", code, failed(r))
	}
}

func TestAServerIsAskedAndStopped(t *testing.T) {
	url := recordedAgent(t)
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	for _, more := range [][]string{{}, {"--lockdown", "off"}, {"--wait-for", port}} {
		code, r := replayed(t, "server", append([]string{url, "--input", "http:POST http://" + address + "/ask", "--answer", "http"}, more...)...)
		if code != exitOK || !r.Exit.Stopped || failed(r) != "" {
			t.Errorf("%v: code %d: %s %+v", more, code, failed(r), r)
		}
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		_ = conn.Close()
		t.Error("the server still listens")
	}
}

func TestWhatCouldNotBeReplayedIsNotCalledADivergence(t *testing.T) {
	url := recordedAgent(t)
	if code, r := replayed(t, "idle", url, "--input", "stdin"); code != exitFailed || !strings.Contains(failed(r), "telemetry came") {
		t.Errorf("idle: code %d: %+v", code, r)
	}
	if code, r := replayed(t, "hang", url, "--timeout", "200ms", "--grace", "100ms"); code != exitFailed || !r.Exit.TimedOut {
		t.Errorf("hang: code %d: %+v", code, r)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"replay", url, "--", "/nonexistent/agent"}, "could not be run"},
		{[]string{"replay", url, "--"}, "there is no command"},
		{[]string{"replay", url, url, "--", "true"}, "takes one REF"},
		{[]string{"replay", url, "--input", "telepathy", "--", "true"}, "is no input"},
		{[]string{"replay", url, "--answer", "http", "--", "true"}, "needs --input http"},
		{[]string{"replay", url, "--input", "a2a:http://127.0.0.1:1/", "--", "true"}, "the tape holds no A2A request"},
		{[]string{"record", "--to", t.TempDir(), "true"}, "needs a command behind --"},
		{[]string{"record", "--to", t.TempDir(), "--", "true"}, "nothing was written: no telemetry came. The command has to export spans"},
	} {
		if got := commanded(t, c.args...); got.code != exitFailed || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

func TestNothingOfACommandIsLeft(t *testing.T) {
	url := recordedAgent(t)
	file := filepath.Join(t.TempDir(), "pid")
	t.Setenv(placeVariable, file)
	replayed(t, "orphan", url, "--grace", "100ms", "--lockdown", "off") // a lockdown has numbers of its own
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if lives(pid) {
		t.Errorf("process %d lives", pid)
	}
}

// lives tells a process from one that is gone, or that waits to be reaped.
func lives(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, after, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

func TestTheVariablesOfACommandAreListed(t *testing.T) {
	url := recordedAgent(t)
	t.Setenv("CLERK_MODE", "fast")
	t.Setenv("CLERK_STYLE", "terse")
	t.Setenv("TAVILY_API_KEY", "k")
	got := tapedeck(t, "replay", url, "--print-env", "--env", "CLERK_STYLE")
	if strings.Contains(got.stdout, "CLERK_STYLE") || strings.Contains(got.stdout, "fast") {
		t.Errorf("%s", got.stdout)
	}
	for _, want := range []string{"OPENAI_BASE_URL=http://127.0.0.1:", "ANTHROPIC_API_KEY=", "OTEL_RESOURCE_ATTRIBUTES=replay_run_id=replay-", "TAPEDECK_ORACLE_URL=", "unset TRACEPARENT\n", "withheld CLERK_MODE\n", "TAVILY_API_KEY=tapedeck\n", "withheld TAVILY_API_KEY\n"} {
		if got.code != exitOK || !strings.Contains(got.stdout, want) {
			t.Errorf("%s is not in %+v", want, got)
		}
	}
}

func TestTheOutcomeIsNotedBesideTheRecordedRun(t *testing.T) {
	url := recordedAgent(t)
	kept := filepath.Join(t.TempDir(), "kept")
	code, r := replayed(t, "oracle", url, "--input", "stdin", "--note", "--to", kept)
	if code != exitOK {
		t.Fatalf("code %d: %+v", code, r)
	}
	status := commanded(t, "export", "--format", "aiwg", url)
	if status.code != exitOK || !strings.Contains(status.stdout, "exact_match") {
		t.Errorf("%+v", status)
	}
	listed := commanded(t, "show", kept, "--json")
	if !strings.Contains(listed.stdout, `"area":"replays"`) {
		t.Errorf("%+v", listed)
	}
	tape := commanded(t, "show", r.Replayed, "--deck", kept, "--json")
	if !strings.Contains(tape.stdout, `"of":"`+r.Source+`"`) {
		t.Errorf("the tape does not name the run that it replays: %.2000s", tape.stdout)
	}
}

func TestARecordedA2ARequestIsSentAgain(t *testing.T) {
	derived := commanded(t, "derive", "--redact", "off", "--to", t.TempDir(), forge)
	all := lines(t, derived.stdout)
	if len(all) != 1 {
		t.Fatalf("%+v", derived)
	}
	address := freeAddress(t)
	t.Setenv(agentVariable, "echo")
	got := commanded(t, "replay", all[0].URL, "--input", "a2a:http://"+address+"/", "--replay-run-id", "r17", "--json", "--", os.Args[0])
	if got.code != exitFailed || !strings.Contains(got.stderr, `"method":"tasks/send"`) || !strings.Contains(got.stderr, `"id":"r17"`) { // no telemetry came: nothing to compare
		t.Errorf("%+v", got)
	}
}

func TestEachWayOfInputReachesTheCommand(t *testing.T) {
	url := recordedAgent(t)
	for _, input := range []string{"stdin", "arg", "file", "env:TAPEDECK_TEST_QUESTION"} {
		if code, r := replayed(t, "oracle", url, "--input", input, "--answer", "stdout"); code != exitOK {
			t.Errorf("%s: code %d: %s", input, code, failed(r))
		}
		code, r := replayed(t, "oracle", url, "--input", input, "--template", "Why? {{user_message}}")
		if code != exitPartial || r.Model.Calls[0].Nearest == nil || r.Model.Calls[0].Nearest.Live != "Why? How many?" {
			t.Errorf("%s: code %d: %+v", input, code, r.Model)
		}
	}
}

func TestTheAnswerIsTakenOutOfA2A(t *testing.T) {
	derived := commanded(t, "derive", "--redact", "off", "--to", t.TempDir(), forge)
	url := lines(t, derived.stdout)[0].URL
	address := freeAddress(t)
	var recorded struct{ Output struct{ Text string } }
	shown := commanded(t, "show", url, "--json")
	if err := json.Unmarshal([]byte(shown.stdout), &recorded); err != nil || recorded.Output.Text == "" {
		t.Fatal(err, shown.stdout)
	}
	for _, said := range []string{recorded.Output.Text, "something else"} {
		t.Setenv(stockVariable, said)
		code, r := replayed(t, "a2a", url, "--input", "a2a:http://"+address+"/", "--answer", "a2a")
		const name = "the answer is that of the recording"
		if code != exitFailed || strings.Contains(failed(r), name) != (said == "something else") || r.Checks[len(r.Checks)-1].Name != name { // no telemetry came
			t.Errorf("%s: code %d: %s %+v", said, code, failed(r), r.Checks)
		}
	}
}
