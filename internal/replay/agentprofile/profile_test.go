// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentprofile

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestFind(t *testing.T) {
	for command, want := range map[string]string{ // the id, and the word behind which arguments stand
		"codex exec x": "codex 0", "/opt/bin/claude.exe -p x": "claude 0", "env -u A -- B=c codex exec": "codex 5", "env A=b codex": "codex 2", "timeout -k 5 60 gemini -p x": "gemini 4",
		"npx -y @openai/codex@0.171.0 exec": "codex 2", "npx @google/gemini-cli -p x": "gemini 1", "npx -p @openai/codex codex exec": "codex 3", "uvx --from aider-chat aider x": "aider 3",
		"npm exec -- @github/copilot -p x": "copilot 3", "python3.12 -m aider x": "aider 2", "python -m minisweagent.run.mini -t x": "mini 2", "nice -n 5 nohup opencode run x": "opencode 4",
		"sh -c codex": "codex -1", "opentelemetry-instrument aider x": "aider 1", "uvx mini-swe-agent -t x": "mini 1",
		"pi -p x": "", "mini -t x": "", "./mini": "", "python agent.py codex": "", "echo codex": "", "sh ./codex.sh": "", "sh -c": "", "env": "", "timeout": "", "npx": "", "npx --": "", "python -m": "", "python -W ignore -m aider": "aider 4", "": "", "npx pi": "",
	} {
		got := ""
		if f, ok := Find(strings.Fields(command)); ok {
			got = f.ID + " " + map[bool]string{true: "-1", false: string(rune('0' + max(f.At, 0)))}[f.At < 0]
		}
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
	for text, want := range map[string]string{"cd x && A=b exec codex exec \"$Q\"": "codex", "set -e; claude -p x | tee out": "claude", "echo claude": "", "sh -c codex": "", "for i in 1; do codex; done": ""} {
		f, ok := Find([]string{"bash", "-lc", text})
		if ok != (want != "") || ok && (f.ID != want || f.At != -1) {
			t.Errorf("%s: %+v", text, f)
		}
	}
}

// A name that others have too is believed where the file of the program says whose it is.
func TestACommonNameNeedsAProof(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mini")
	for text, want := range map[string]bool{"#!/usr/bin/python\nfrom minisweagent.run.mini import app\n": true, "#!/bin/sh\nmake mini\n": false} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, ok := Find([]string{file, "-t", "x"}); ok != want {
			t.Errorf("%q: %v", text, ok)
		}
	}
	pkg := filepath.Join(dir, "node_modules", "@earendil-works", "pi-coding-agent", "dist")
	if err := os.MkdirAll(pkg, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pkg, "cli.js"), []byte("#!/usr/bin/env node\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(pkg, "cli.js"), filepath.Join(dir, "pi")); err != nil {
		t.Skip(err)
	}
	if f, ok := Find([]string{filepath.Join(dir, "pi")}); !ok || f.ID != "pi" {
		t.Errorf("%+v", f)
	}
	if f, ok := Find([]string{"node", "--no-warnings", filepath.Join(pkg, "cli.js"), "-p"}); !ok || f.ID != "pi" || f.At != 2 {
		t.Errorf("%+v", f)
	}
}

func TestRowsOfTheTable(t *testing.T) {
	ids := map[string]bool{}
	for _, p := range Table {
		if f, ok := Find(strings.Fields(p.Example)); !p.Common && (!ok || f.ID != p.ID) {
			t.Errorf("%s: example %q", p.ID, p.Example)
		}
		if ids[p.ID] || p.Example == "" || p.ID == "" || p.Name == "" || !slices.Contains(p.Programs, p.ID) {
			t.Errorf("%+v", p)
		}
		ids[p.ID] = true
		if p.Common && len(p.Packages)+len(p.Modules) == 0 {
			t.Errorf("%s: nothing tells it from others of its name", p.ID)
		}
		for _, pattern := range p.Passes {
			if _, err := path.Match(pattern, ""); err != nil || strings.Trim(pattern, "*") == "" {
				t.Errorf("%s: pattern %q", p.ID, pattern)
			}
		}
		for _, s := range slices.Concat(p.Record, p.Replay) {
			if s.Name == "" && len(s.Flags) == 0 || s.Merged && len(s.Flags) > 0 || s.Given && len(s.Flags) == 0 {
				t.Errorf("%s: %+v", p.ID, s)
			}
			if _, err := regexp.Compile(s.Unless); err != nil {
				t.Errorf("%s: %v", p.ID, err)
			}
			if s.Merged || s.File != "" && s.Value != "" {
				if _, err := merged("{}", s.Value); err != nil {
					t.Errorf("%s: %s: %v", p.ID, s.label(), err)
				}
			}
		}
	}
}

func launchOf(t *testing.T, c Command) Launch {
	t.Helper()
	f, ok := Find(c.Argv)
	if !ok {
		t.Fatalf("%q is not known", c.Argv)
	}
	l, err := f.Launch(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const otlp, model = "http://127.0.0.1:1", "http://127.0.0.1:2"

func TestARecordingLeavesWhatTheUserSet(t *testing.T) {
	argv := []string{"codex", "exec", "-c", "otel.log_user_prompt=false", "--config=otel.exporter=none", "q", "--", "-c", "otel.trace_exporter=x"}
	l := launchOf(t, Command{Argv: argv, Places: Places{OTLP: otlp}})
	want := []string{"codex", "-c", `otel.trace_exporter={otlp-http={endpoint="http://127.0.0.1:1/v1/traces",protocol="binary"}}`}
	if want = append(want, argv[1:]...); !slices.Equal(l.Argv, want) {
		t.Errorf("%q", l.Argv)
	}
	if !slices.Equal(l.Kept, []string{"-c otel.exporter", "-c otel.log_user_prompt"}) {
		t.Errorf("%q", l.Kept)
	}
	const capture = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
	for given, kept := range map[string]int{"A=b": 0, capture + "=true": 0, capture + "=false": 1} {
		l := launchOf(t, Command{Argv: []string{"copilot"}, Env: []string{capture + "=SPAN_ONLY"}, Given: []string{given}, Places: Places{OTLP: otlp}})
		value, _ := lookup(l.Env, capture)
		if len(l.Kept) != kept || value != map[bool]string{true: "false", false: "true"}[kept == 1] {
			t.Errorf("%s: %+v", given, l)
		}
	}
	given := []string{"GEMINI_TELEMETRY_OTLP_ENDPOINT=https://otel.example", "GEMINI_TELEMETRY_LOG_PROMPTS=false"}
	l = launchOf(t, Command{Argv: []string{"gemini"}, Env: given, Given: given, Places: Places{OTLP: otlp}})
	if to, _ := lookup(l.Env, "GEMINI_TELEMETRY_OTLP_ENDPOINT"); to != otlp || !slices.Equal(l.Kept, []string{"GEMINI_TELEMETRY_LOG_PROMPTS=false"}) {
		t.Errorf("%+v", l)
	}
}

func TestAReplayLeadsTheModelToTheStub(t *testing.T) {
	places := Places{OTLP: otlp, Model: model, ModelName: "gpt-4o", Dir: t.TempDir()}
	l := launchOf(t, Command{Argv: []string{"codex", "-c", `model_provider="mine"`, "exec", `-cmodel_providers.tapedeck.base_url="https://x"`, "q"}, Places: places, Replay: true})
	text := strings.Join(l.Argv, " ")
	if strings.Contains(text, "mine") || strings.Contains(text, "https://x") || !strings.Contains(text, `base_url="http://127.0.0.1:2/v1"`) || l.Argv[len(l.Argv)-1] != "q" || l.Argv[len(l.Argv)-2] != "exec" {
		t.Errorf("%q", l.Argv)
	}
	l = launchOf(t, Command{Argv: []string{"copilot"}, Places: places, Replay: true})
	for name, want := range map[string]string{"COPILOT_PROVIDER_BASE_URL": model + "/v1", "COPILOT_MODEL": "gpt-4o"} {
		if got, _ := lookup(l.Env, name); got != want {
			t.Errorf("%s=%s", name, got)
		}
	}
	given := []string{"COPILOT_MODEL=o3", "COPILOT_PROVIDER_BASE_URL=https://x"}
	l = launchOf(t, Command{Argv: []string{"copilot"}, Env: given, Given: given, Places: places, Replay: true})
	for name, want := range map[string]string{"COPILOT_PROVIDER_BASE_URL": model + "/v1", "COPILOT_MODEL": "o3"} {
		if got, _ := lookup(l.Env, name); got != want {
			t.Errorf("%s=%s", name, got)
		}
	}
	l = launchOf(t, Command{Argv: []string{"aider", "--openai-api-base", "https://x", "--model=m"}, Places: places, Replay: true})
	if !slices.Equal(l.Argv, []string{"aider", "--openai-api-base", model + "/v1", "--model=m"}) {
		t.Errorf("%q", l.Argv)
	}
	if l := launchOf(t, Command{Argv: []string{"sh", "-c", "codex exec q"}, Places: places, Replay: true}); len(l.Missed) == 0 || l.Argv[2] != "codex exec q" {
		t.Errorf("%+v", l)
	}
}

func TestVariablesOfAProgram(t *testing.T) {
	f, _ := Find([]string{"copilot"})
	for name, want := range map[string][2]bool{"COPILOT_MODEL": {true, false}, "COPILOT_PROVIDER_API_KEY": {true, true}, "OTHER": {false, false}} {
		if f.Passed(name) != want[0] || f.Sets(name) != want[1] {
			t.Errorf("%s: %v, %v", name, f.Passed(name), f.Sets(name))
		}
	}
}

func TestConfigurationInAVariableIsLaidOver(t *testing.T) {
	places := Places{OTLP: otlp, Model: model}
	given := []string{`OPENCODE_CONFIG_CONTENT={"model":"openai/m","experimental":{"openTelemetry":false},"provider":{"openai":{"options":{"baseURL":"https://x","timeout":3}}}}`}
	for _, c := range []struct {
		replay bool
		want   string
	}{
		{false, `{"experimental":{"openTelemetry":false},"model":"openai/m","provider":{"openai":{"options":{"baseURL":"https://x","timeout":3}}}}`},
		{true, `"openai":{"options":{"apiKey":"tapedeck","baseURL":"http://127.0.0.1:2/v1","timeout":3}}`},
	} {
		l := launchOf(t, Command{Argv: []string{"opencode", "run"}, Env: given, Given: given, Places: places, Replay: c.replay})
		if got, _ := lookup(l.Env, "OPENCODE_CONFIG_CONTENT"); !strings.Contains(got, c.want) {
			t.Errorf("%s", got)
		}
	}
	l := launchOf(t, Command{Argv: []string{"opencode", "run"}, Places: places, Replay: true})
	if got, _ := lookup(l.Env, "OPENCODE_CONFIG_CONTENT"); !strings.Contains(got, `"openTelemetry":true`) || !strings.Contains(got, model) {
		t.Error(got)
	}
	f, _ := Find([]string{"opencode"})
	if _, err := f.Launch(Command{Argv: []string{"opencode"}, Given: []string{"OPENCODE_CONFIG_CONTENT=["}, Env: []string{"OPENCODE_CONFIG_CONTENT=["}, Places: places}); !errors.Is(err, errNoObject) {
		t.Errorf("%v", err)
	}
}

// The user's own settings stay as they are: a program gets a copy, in which base URLs lead to the stub.
func TestSettingsAreACopy(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	own := filepath.Join(home, ".pi", "agent")
	if err := os.MkdirAll(filepath.Join(own, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	const text = `{"providers":{"mine":{"baseUrl":"https://models.example/openai/v1","api":"openai-completions"}}}`
	for name, body := range map[string]string{"models.json": text, "settings.json": "{}", "auth.json": "secret", "sessions/a.jsonl": "{}"} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := Found{Profile: &Table[slices.IndexFunc(Table, func(p Profile) bool { return p.ID == "pi" })]}
	c := Command{Argv: []string{"pi"}, Env: []string{"HOME=" + home}, Given: []string{"HOME=" + home}, Places: Places{Model: model, Dir: dir}, Replay: true}
	l, err := f.Launch(c)
	if err != nil {
		t.Fatal(err)
	}
	to, _ := lookup(l.Env, "PI_CODING_AGENT_DIR")
	got, err := os.ReadFile(filepath.Join(to, "models.json"))
	if err != nil || !strings.Contains(string(got), `"mine":{"api":"openai-completions","baseUrl":"http://127.0.0.1:2/openai/v1"}`) || !strings.Contains(string(got), `"baseUrl":"http://127.0.0.1:2/v1"`) {
		t.Errorf("%s, %v", got, err)
	}
	names, _ := os.ReadDir(to)
	if len(names) != 2 {
		t.Errorf("%v", names)
	}
	if was, _ := os.ReadFile(filepath.Join(own, "models.json")); string(was) != text {
		t.Errorf("%s", was)
	}
	if again, err := f.Launch(c); err != nil || !slices.Equal(again.Env, l.Env) { // a later turn
		t.Errorf("%+v, %v", again, err)
	}
}

// Gemini CLI gets a home of its own where its settings choose another way to its model, and there alone.
func TestSettingsThatAreNotNeededAreNotCopied(t *testing.T) {
	for text, want := range map[string]bool{"": true, `{"security":{"auth":{"selectedType":"oauth-personal"}},"ui":{"theme":"x"}}`: true, `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`: false} {
		home, dir := t.TempDir(), t.TempDir()
		if text != "" {
			if err := errors.Join(os.Mkdir(filepath.Join(home, ".gemini"), 0o700), os.WriteFile(filepath.Join(home, ".gemini", "settings.json"), []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		env := []string{"HOME=" + home}
		l := launchOf(t, Command{Argv: []string{"gemini"}, Env: env, Given: env, Places: Places{OTLP: otlp, Model: model, Dir: dir}, Replay: true})
		own, set := lookup(l.Env, "GEMINI_CLI_HOME")
		if set != want {
			t.Errorf("%s: %q", text, own)
		}
		if !want {
			continue
		}
		got, err := os.ReadFile(filepath.Join(own, ".gemini", "settings.json"))
		if err != nil || !strings.Contains(string(got), `"selectedType":"gemini-api-key"`) || strings.Contains(text, "theme") != strings.Contains(string(got), "theme") {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

func TestAFileThatAnArgumentNamesIsCopied(t *testing.T) {
	dir, own := t.TempDir(), filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(own, []byte("models:\n- apiBase: https://x.example/v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Found{Profile: &Table[slices.IndexFunc(Table, func(p Profile) bool { return p.ID == "cn" })]}
	for _, argv := range [][]string{{"cn", "--config", own, "-p"}, {"cn", "--config=" + own, "-p"}, {"cn", "--config", "owner/hub", "-p"}} {
		l, err := f.Launch(Command{Argv: argv, Given: []string{"CONTINUE_GLOBAL_DIR=" + t.TempDir()}, Places: Places{Model: model, Dir: dir}, Replay: true})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(filepath.Join(dir, "settings", "c.yaml"))
		if got := strings.ReplaceAll(strings.Join(l.Argv, " "), dir, "DIR"); strings.Contains(argv[1]+argv[2], "hub") != (got == "cn --config owner/hub -p") || !strings.Contains(got, "hub") && !strings.Contains(got, "DIR/settings/c.yaml -p") ||
			string(text) != "models:\n- apiBase: http://127.0.0.1:2/v1\n" {
			t.Errorf("%s\n%s", got, text)
		}
	}
}

func TestAFolderOfSettingsHasABound(t *testing.T) {
	from := t.TempDir()
	for i := range maxFiles + 1 {
		if err := os.WriteFile(filepath.Join(from, "f"+strings.Repeat("x", i%200)+string(rune('a'+i/200))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyFolder(from, t.TempDir(), nil); !errors.Is(err, errTooLarge) {
		t.Errorf("%v", err)
	}
}

func TestBaseURLsInAnyFormat(t *testing.T) {
	for text, want := range map[string]string{
		`base_url = "https://x.example/v1"`: `base_url = "http://127.0.0.1:2/v1"`, "apiBase: https://x.example:8443/a/v1\n": "apiBase: http://127.0.0.1:2/a/v1\n",
		`{"baseURL":"http://x"}`: `{"baseURL":"http://127.0.0.1:2"}`, `{"url":"https://x","database":"https://x"}`: `{"url":"https://x","database":"https://x"}`,
	} {
		if got := string(elsewhere([]byte(text), model)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzElsewhere(f *testing.F) {
	f.Add([]byte(`{"baseUrl":"https://x/v1"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if once := elsewhere(text, model); string(elsewhere(once, model)) != string(once) {
			t.Errorf("%q", text)
		}
	})
}

func FuzzFind(f *testing.F) {
	f.Add("env A=b npx -y @openai/codex exec")
	f.Add("sh -c a;b&&codex")
	f.Fuzz(func(t *testing.T, text string) {
		argv := strings.Split(text, " ")
		found, ok := Find(argv)
		if ok && (found.Profile == nil || found.At >= len(argv) || found.Start < 0 || found.Start >= len(argv)) {
			t.Errorf("%q: %+v", argv, found)
		}
	})
}

// Files that records of Claude Code refer to become their bodies. Others are not read.
func TestBodiesOfRecords(t *testing.T) {
	dir := t.TempDir()
	b, err := OpenBodies(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	folder := filepath.Join(dir, bodiesDir)
	outside := filepath.Join(dir, "outside.json")
	large, err := os.Create(filepath.Join(folder, "large.json"))
	if err == nil {
		err = errors.Join(large.Truncate(maxBody+1), large.Close(), os.WriteFile(outside, []byte("secret"), 0o600), os.WriteFile(filepath.Join(folder, "a.request.json"), []byte(`{"model":"m"}`), 0o600),
			os.Symlink(outside, filepath.Join(folder, "link.json")))
	}
	if err != nil {
		t.Fatal(err)
	}
	logs := plog.NewLogs()
	records := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for _, ref := range []string{folder + "/a.request.json", outside, folder + "/../outside.json", folder + "/link.json", folder + "/large.json", folder + "/gone.json", ""} {
		records.AppendEmpty().Attributes().PutStr("body_ref", ref)
	}
	b.Resolve(logs)
	for i, r := range records.All() {
		body, ok := r.Attributes().Get("body")
		_, ref := r.Attributes().Get("body_ref")
		if ok != (i == 0) || ref == ok || ok && body.Str() != `{"model":"m"}` {
			t.Errorf("%d: %v", i, r.Attributes().AsRaw())
		}
	}
	if b.Read != 1 || b.Left != 3 {
		t.Errorf("%+v", b)
	}
}

// A record that names no trace gets the span of its request, where one alone can be it.
func TestRecordsBesideTheConversationAreFound(t *testing.T) {
	const begin = 1_700_000_000_000_000_000
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i, model := range []string{"haiku", "opus", "opus"} {
		s := spans.AppendEmpty()
		s.SetName(claudeRequest)
		s.SetTraceID([16]byte{1})
		s.SetSpanID([8]byte{byte(i + 1)})
		s.SetStartTimestamp(begin)
		s.SetEndTimestamp(begin + 1e9)
		s.Attributes().PutStr("session.id", "s")
		s.Attributes().PutStr("model", model)
	}
	var a Asides
	a.Add(td)
	for name, c := range map[string]struct {
		session, model, scope string
		at                    int64
		want                  byte
	}{
		"the one": {"s", "haiku", claudeLogs, begin + 5e8, 1}, "another session": {"t", "haiku", claudeLogs, begin + 5e8, 0}, "no session": {"", "haiku", claudeLogs, begin + 5e8, 0},
		"too late": {"s", "haiku", claudeLogs, begin + 2e9, 0}, "two of them": {"s", "opus", claudeLogs, begin + 5e8, 0}, "another scope": {"s", "haiku", "x", begin + 5e8, 0},
	} {
		ld := plog.NewLogs()
		sl := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty()
		sl.Scope().SetName(c.scope)
		record := sl.LogRecords().AppendEmpty()
		record.SetTimestamp(pcommon.Timestamp(c.at))
		record.Attributes().PutStr("session.id", c.session)
		record.Attributes().PutStr("model", c.model)
		record.Attributes().PutStr(querySource, "generate_session_title")
		a.Place(ld)
		_, left := record.Attributes().Get(querySource)
		if span := record.SpanID(); span[0] != c.want || record.TraceID().IsEmpty() != (c.want == 0) || left != (c.want == 0) {
			t.Errorf("%s: %v", name, span)
		}
	}
}

func TestTranscriptsLieBelowTheHomeOrWhereAVariableSays(t *testing.T) {
	codex := &Profile{Transcripts: "~/.codex/sessions", HomeVariable: "CODEX_HOME"}
	for environ, want := range map[string]string{
		"HOME=/h": "/h/.codex/sessions", "HOME=/h CODEX_HOME=/c": "/c/sessions", "CODEX_HOME=/c": "/c/sessions", "PATH=/bin": "",
	} {
		if got := codex.TranscriptFolder(strings.Fields(environ)); filepath.ToSlash(got) != want {
			t.Errorf("%s: %q, want %q", environ, got, want)
		}
	}
	for _, p := range Table {
		if p.HomeVariable != "" && !strings.HasPrefix(p.Transcripts, "~/") {
			t.Errorf("%s: transcripts at %q", p.ID, p.Transcripts)
		}
		if p.HomeVariable == "" && p.TranscriptFolder([]string{"HOME=/h"}) != "" {
			t.Errorf("%s: a recording reads its transcripts", p.ID)
		}
	}
}
