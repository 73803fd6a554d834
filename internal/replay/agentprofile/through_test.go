// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentprofile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// led by a listener of its own for each endpoint.
func byPort(seen *[]string) Through {
	return func(origin string) (string, error) {
		if !slices.Contains(*seen, origin) {
			*seen = append(*seen, origin)
		}
		return "http://127.0.0.1:" + string(rune('1'+slices.Index(*seen, origin))), nil
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func profile(t *testing.T, id string) Found {
	t.Helper()
	for i := range Table {
		if Table[i].ID == id {
			return Found{Profile: &Table[i]}
		}
	}
	t.Fatal(id)
	return Found{}
}

// What a recorded program writes and reads stays the user's, but for base URLs.
func TestAProgramKeepsItsFolderWhenItsModelIsLedThrough(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	own := filepath.Join(home, ".cline", "data")
	write(t, filepath.Join(own, "settings", "providers.json"), `{"a":{"apiKey":"sk-1","baseUrl":"https://one.test/v1"},"b":{"baseUrl":"http://two.test:81/x"},"c":{"baseUrl":"https://one.test/v2"}}`)
	write(t, filepath.Join(own, "settings", "other.json"), "other")
	write(t, filepath.Join(own, "sessions", "s1"), "session")
	write(t, filepath.Join(own, "token"), "old")
	var seen []string
	p, err := profile(t, "cline").Through(Command{Argv: []string{"cline", "x"}, Env: []string{"HOME=" + home}, Places: Places{Dir: dir, Model: "http://127.0.0.1:9"}}, byPort(&seen))
	if err != nil {
		t.Fatal(err)
	}
	at, _ := lookup(p.Env, "CLINE_DATA_DIR")
	if got, want := read(t, filepath.Join(at, "settings", "providers.json")), `{"a":{"apiKey":"sk-1","baseUrl":"http://127.0.0.1:1/v1"},"b":{"baseUrl":"http://127.0.0.1:2/x"},"c":{"baseUrl":"http://127.0.0.1:1/v2"}}`; got != want {
		t.Errorf("%s", got)
	}
	if read(t, filepath.Join(at, "settings", "other.json")) != "other" || read(t, filepath.Join(at, "sessions", "s1")) != "session" || len(p.Set) != 1 {
		t.Errorf("%v", p.Set)
	}
	// It writes a file in a folder, replaces one, makes another one, and changes its settings.
	write(t, filepath.Join(at, "sessions", "s2"), "new session")
	if err := os.Remove(filepath.Join(at, "token")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, "token"), "new")
	write(t, filepath.Join(at, "logs", "today"), "log")
	write(t, filepath.Join(at, "settings", "providers.json"), "changed")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"sessions/s1": "session", "sessions/s2": "new session", "token": "new", "logs/today": "log", "settings/other.json": "other"} {
		if got := read(t, filepath.Join(own, filepath.FromSlash(name))); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := read(t, filepath.Join(own, "settings", "providers.json")); !strings.Contains(got, "https://one.test/v1") {
		t.Errorf("the settings of the user: %s", got)
	}
}

func TestAProgramWithoutSettingsGetsThoseOfTheProfileAndNoKey(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	var seen []string
	through := func(id string, given []string, argv ...string) *Passage {
		p, err := profile(t, id).Through(Command{Argv: argv, Env: append([]string{"HOME=" + home}, given...), Given: given, Places: Places{Dir: dir, Model: "http://127.0.0.1:9"}}, byPort(&seen))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := through("pi", nil, "pi", "-p", "x")
	at, _ := lookup(p.Env, "PI_CODING_AGENT_DIR")
	var got struct{ Providers map[string]map[string]string }
	if err := json.Unmarshal([]byte(read(t, filepath.Join(at, "models.json"))), &got); err != nil {
		t.Fatal(err)
	}
	if of := got.Providers["openai"]; of["baseUrl"] != "http://127.0.0.1:9/v1" || len(of) != 1 || len(got.Providers) != 3 {
		t.Errorf("%v", got)
	}
	if p := through("cline", nil, "cline", "x"); len(p.Set) != 0 || len(p.Env) != 1 { // it has no model yet
		t.Errorf("%v %v", p.Set, p.Env)
	}
	// Codex is led elsewhere by its arguments, where it has a key of its own for the API.
	if p := through("codex", nil, "codex", "exec", "x"); !slices.Equal(p.Argv, []string{"codex", "exec", "x"}) {
		t.Errorf("%v", p.Argv)
	}
	if p := through("codex", []string{"OPENAI_API_KEY=sk-1"}, "codex", "exec", "x"); len(p.Argv) != 7 || p.Argv[1] != "-c" || p.Argv[2] != `model_provider="tapedeck"` || !strings.Contains(p.Argv[4], `base_url="http://127.0.0.1:9/v1"`) || p.Argv[5] != "exec" {
		t.Errorf("%v", p.Argv)
	}
	if p := through("codex", []string{"OPENAI_API_KEY=sk-1"}, "codex", "-c", `model_provider="mine"`, "exec", "x"); !slices.Contains(p.Argv, `model_provider="mine"`) || slices.Contains(p.Argv, `model_provider="tapedeck"`) {
		t.Errorf("%v", p.Argv)
	}
	// An address among the arguments, and a file that one names.
	if p := through("smolagent", nil, "smolagent", "x", "--api-base", "https://one.test/v1", "--api-key", "sk-1"); !slices.Equal(p.Argv, []string{"smolagent", "x", "--api-base", "http://127.0.0.1:1/v1", "--api-key", "sk-1"}) || seen[0] != "https://one.test" {
		t.Errorf("%v %v", p.Argv, seen)
	}
	config := filepath.Join(home, "config.yaml")
	write(t, config, "models:\n  - apiBase: https://one.test/v1\n    apiKey: sk-1\n")
	if p := through("cn", nil, "cn", "--config", config, "-p", "x"); read(t, p.Argv[2]) != "models:\n  - apiBase: http://127.0.0.1:1/v1\n    apiKey: sk-1\n" || read(t, config) == read(t, p.Argv[2]) {
		t.Errorf("%v", p.Argv)
	}
}
