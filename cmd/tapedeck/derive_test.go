// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/tape"
)

// programVariable makes the test binary the program.
const programVariable = "TAPEDECK_TEST_PROGRAM"

func TestMain(m *testing.M) {
	lockdown.Main() // as the program itself, called by itself
	if os.Getenv(programVariable) != "" {
		main()
	}
	if mode := os.Getenv(candidateVariable); mode != "" {
		os.Exit(runCandidate(mode))
	}
	if mode := os.Getenv(agentVariable); mode != "" {
		if err := runAgent(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv("TAPEDECK_REPLAY_RUN_ID") != "" {
		fmt.Fprintln(os.Stderr, "a replayed agent did not get its settings") // and must not run the tests in its place
		os.Exit(1)
	}
	state, err := os.MkdirTemp("", "tapedeck-state-") // no test makes a key for whoever runs it
	if err == nil {
		err = errors.Join(os.Setenv("XDG_STATE_HOME", state), os.Setenv(view.CacheVariable, filepath.Join(state, "cache")), os.Unsetenv(keyVariable))
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(state)
		os.Exit(code)
	}))
}

const (
	forge     = "testdata/forge_happy.otlp.json"
	spans     = "testdata/openai_plain_answer.otlp.json"
	logs      = "testdata/openai_plain_answer.logs.json"
	forgeRun  = "4bf92f3577b34da6a3ce929d0e0e4736-29977845b30d6d78"
	openaiRun = "9583ed5b1a65ff26b7c6e8703f891524-24aa47871cf30816"
	noRun     = "tapedeck: no run in trace fd730fc6c06821b73e7a4318874e4f04: no spans of an agent run\n"
)

// line is a line on stdout of derive.
type line struct {
	RunID     string `json:"run_id"`
	TraceID   string `json:"trace_id"`
	URL       string `json:"url"`
	Status    string `json:"status"`
	Grade     string `json:"grade"`
	Events    int    `json:"events"`
	ToolCalls int    `json:"tool_calls"`
	Findings  int    `json:"findings"`
}

func lines(t testing.TB, stdout string) []line {
	t.Helper()
	var out []line
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	for d.More() {
		var l line
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		out = append(out, l)
	}
	return out
}

// contents is every file of a deck: path → content.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDeriveWritesOneTapePerRunAndReportsIt(t *testing.T) {
	dir := t.TempDir()
	got := tapedeck(t, "derive", forge, spans, logs, "--to", dir, "--redact", "off")
	if got.code != exitOK || got.stderr != noRun {
		t.Fatalf("%+v", got)
	}
	want := []line{
		{RunID: forgeRun, TraceID: forgeRun[:32], Status: "ok", Grade: "offline", Events: 3, ToolCalls: 1},
		{RunID: openaiRun, TraceID: openaiRun[:32], Status: "ok", Grade: "offline", Events: 1},
	}
	written := lines(t, got.stdout)
	for i := range written {
		data, err := os.ReadFile(strings.TrimPrefix(written[i].URL, "file://"))
		if err != nil {
			t.Fatal(err)
		}
		tp, err := tape.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		if tp.Redaction.Policy != "none" || tp.Run.Tenant != "default" || tp.Run.RunID != written[i].RunID {
			t.Errorf("%+v", tp.Run)
		}
		written[i].URL, written[i].Findings = "", 0
	}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(got.stdout, `{"run_id":"`+forgeRun+`","trace_id":"`+forgeRun[:32]+`","url":"file://`) {
		t.Error(got.stdout)
	}
}

func TestDeriveGivesTheSameBytesHoweverTheFilesCome(t *testing.T) {
	var all []byte
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for _, f := range []string{logs, spans, forge} {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	if _, err := z.Write(all); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	first := t.TempDir()
	tapedeck(t, "derive", forge, spans, logs, "--to", first, "--redact", "off")
	want := contents(t, first)
	for name, derive := range map[string]func(dir string){
		"one file": func(dir string) { tapedeck(t, "derive", write(t, "all", string(all)), "--to", dir, "--redact", "off") },
		"stdin":    func(dir string) { tapedeckWith(t, string(all), "derive", "-", "--to", dir, "--redact", "off") },
		"gzip from stdin": func(dir string) {
			tapedeckWith(t, packed.String(), "derive", "-", "--to", "file://"+dir, "--redact", "off")
		},
		"twice": func(dir string) {
			tapedeck(t, "derive", forge, forge, logs, spans, "--to", dir, "--redact", "off", "--no-join")
		},
		"in another order": func(dir string) { tapedeck(t, "derive", spans, forge, logs, "--to", dir, "--redact", "off") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			derive(dir)
			if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
	again := tapedeck(t, "derive", forge, spans, logs, "--to", first, "--redact", "off")
	if again.code != exitOK || len(lines(t, again.stdout)) != 2 {
		t.Errorf("%+v", again)
	}
	if diff := cmp.Diff(want, contents(t, first)); diff != "" {
		t.Errorf("a repeated call changes the deck: %s", diff)
	}
}

func TestDeriveReportsWhatItRefusesAndWritesTheRest(t *testing.T) {
	good, err := os.ReadFile(forge)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(good); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ file, want string }{
		"empty file":     {write(t, "empty", ""), "empty: empty input"},
		"binary":         {write(t, "binary", "\x80\x90\xa0\xb0\xff"), "binary: not OTLP telemetry: neither JSON nor protobuf"},
		"truncated gzip": {write(t, "cut.gz", packed.String()[:packed.Len()/2]), "cut.gz:1: truncated: the compressed data ends early"},
		"missing file":   {filepath.Join(t.TempDir(), "missing"), "missing: no such file or directory"},
		"directory":      {t.TempDir(), "is a directory; name the files in it"},
		"foreign JSON":   {write(t, "foreign", `{"a":"SECRET"}`), "foreign:1: not OTLP telemetry: neither resourceSpans nor resourceLogs"},
		"bad last line":  {write(t, "lines", `{"resourceSpans":[]}`+"\n"+`{"resourceSpans":[`), "lines:2: truncated: the document is not closed at the end of the input"},
	} {
		t.Run(name, func(t *testing.T) {
			with := tapedeck(t, "derive", forge, c.file, "--to", t.TempDir(), "--redact", "off")
			if with.code != exitPartial || len(lines(t, with.stdout)) != 1 || !strings.Contains(with.stderr, c.want) {
				t.Errorf("beside a good file: %+v", with)
			}
			dir := t.TempDir()
			alone := tapedeck(t, "derive", c.file, "--to", dir, "--redact", "off")
			if alone.code != exitFailed || alone.stdout != "" || !strings.HasSuffix(alone.stderr, "\ntapedeck: nothing was written\n") {
				t.Errorf("alone: %+v", alone)
			}
			if files := contents(t, dir); len(files) != 0 {
				t.Errorf("alone it leaves %v", files)
			}
			if strings.Contains(alone.stderr, "SECRET") {
				t.Error("content in a diagnostic")
			}
		})
	}
}

// A record without a trace id that names its run is in the tape of that run. What is said to be left out is
// the rest.
func TestDeriveSaysOfRecordsWithoutATraceOnlyWhatItLeavesOut(t *testing.T) {
	const record = `{"attributes":[%s{"key":"event.name","value":{"stringValue":%q}},{"key":"prompt","value":{"stringValue":"How many?"}}],"timeUnixNano":"1790000000001000000"}`
	const run = `{"key":"session.id","value":{"stringValue":"s"}},{"key":"prompt.id","value":{"stringValue":"p"}},`
	file := func(scope string, records ...string) string {
		return write(t, "logs.json", fmt.Sprintf(`{"resourceLogs":[{"scopeLogs":[{"scope":{"name":%q},"logRecords":[%s]}]}]}`, scope, strings.Join(records, ",")))
	}
	const claude = "com.anthropic.claude_code.events"
	kept := []string{fmt.Sprintf(record, run, "user_prompt"), fmt.Sprintf(record, run, "api_request")}
	for name, c := range map[string]struct{ file, want string }{
		"all name their run": {file(claude, kept...), ""},
		"two do not":         {file(claude, append(kept, fmt.Sprintf(record, "", "user_prompt"), fmt.Sprintf(record, "", "plugin_loaded"))...), "tapedeck: 2 spans or log records have no trace id and were left out\n"},
	} {
		got := tapedeck(t, "derive", c.file, "--to", t.TempDir(), "--redact", "off")
		if got.code != exitOK || len(lines(t, got.stdout)) != 1 || got.stderr != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := tapedeck(t, "derive", file("app", fmt.Sprintf(record, "", "user_prompt")), "--to", t.TempDir(), "--redact", "off"); got.code != exitFailed || !strings.Contains(got.stderr, "1 spans or log records have no trace id") {
		t.Errorf("a record of another application: %+v", got)
	}
}

func TestDeriveRefusesWhatCannotWorkBeforeItReads(t *testing.T) {
	rules := write(t, "rules.yaml", "rule: []\n")
	short := write(t, "key", "too short")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{}, "derive needs at least one FILE; see tapedeck derive --help"},
		{[]string{forge}, "derive needs --to DECK"},
		{[]string{forge, "--to", "mem://x"}, "a mem:// deck lives only as long as the process that wrote it"},
		{[]string{forge, "--to", "ftp://x"}, "ftp"},
		{[]string{forge, "--to", "DIR", "--redact", rules}, "--redact: rules: " + rules},
		{[]string{forge, "--to", "DIR", "--redact", "nosuch"}, "--redact: rules: open nosuch"},
		{[]string{forge, "--to", "DIR", "--redact", ""}, "--redact is empty"},
		{[]string{forge, "--to", "DIR", "--redact", "off", "--redaction-key-file", short}, "--redact off has no use for a key"},
		{[]string{forge, "--to", "DIR", "--redaction-key-file", short}, "redaction key: 9 bytes, at least 32 are needed"},
		{[]string{forge, "--to", "DIR", "--formats", "tape,nosuch"}, `--formats: unknown format "nosuch", want [tape oracle`},
		{[]string{forge, "--to", "DIR", "--formats", "oracle"}, `--formats must contain "tape"`},
		{[]string{forge, "--to", "DIR", "--tenant", ""}, "--tenant is empty"},
	} {
		dir := t.TempDir()
		args := append([]string{"derive"}, c.args...)
		for i := range args {
			if args[i] == "DIR" {
				args[i] = dir
			}
		}
		got := tapedeck(t, args...)
		if got.code != exitFailed || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
		if files := contents(t, dir); len(files) != 0 {
			t.Errorf("%v leaves %v", c.args, files)
		}
	}
}

func TestDeriveWritesOnlyTheFormatsAskedFor(t *testing.T) {
	dir := t.TempDir()
	tapedeck(t, "derive", forge, "--to", dir, "--redact", "off", "--formats", "tape", "--tenant", "Acme Inc")
	var names []string
	for path := range contents(t, dir) {
		names = append(names, filepath.Base(path))
		if strings.Contains(path, "runs") && !strings.Contains(path, "/acme_inc.") {
			t.Errorf("%s is not the tenant's", path)
		}
	}
	for _, name := range names {
		if name == "oracle.json" {
			t.Error("an oracle was written")
		}
	}
	if got := tapedeck(t, "verify", dir); got.code != exitOK {
		t.Errorf("%+v", got)
	}
}

func TestDeriveStopsWhenTheDeckCannotBeWritten(t *testing.T) {
	file := write(t, "file", "in the way")
	got := tapedeck(t, "derive", forge, spans, logs, "--to", file, "--redact", "off")
	if got.code != exitFailed || got.stdout != "" || got.stderr == "" {
		t.Errorf("%+v", got)
	}
}
