// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const planted = "ghp_FAKEfake0000FAKEfake0000FAKEfake0000"

func TestRedactDryRunSaysWhereAndWhichRuleButNotWhat(t *testing.T) {
	got := tapedeck(t, "redact", "--dry-run", agents+"anthropic-sdk-native/secrets.otlp.json")
	if got.code != exitPartial || !strings.Contains(got.stderr, "values would be replaced by") {
		t.Fatalf("%+v", got)
	}
	rules := map[string]bool{}
	for line := range strings.Lines(got.stdout) {
		var hit struct{ File, Path, Rule string }
		if err := json.Unmarshal([]byte(line), &hit); err != nil || hit.File == "" || !strings.HasPrefix(hit.Path, "resourceSpans[0].") {
			t.Fatalf("%v: %s", err, line)
		}
		rules[hit.Rule] = true
	}
	if !rules["github-token"] || !rules["payment-card"] || !rules["email"] || !rules["url-credentials"] {
		t.Errorf("rules: %v", rules)
	}
	for _, secret := range []string{planted, "jane.fake", "4111", "hunter2"} {
		if strings.Contains(got.stdout+got.stderr, secret) {
			t.Errorf("%s is printed", secret)
		}
	}
}

func TestRedactPrintsTelemetryWithTokens(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("a key for tests, 0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := tapedeck(t, "redact", "--redaction-key-file", key, agents+"anthropic-sdk-native/secrets.otlp.json")
	if got.code != exitOK || got.stderr != "" || strings.Contains(got.stdout, planted) || !strings.Contains(got.stdout, "[REDACTED:github-token:") {
		t.Fatalf("%+v", got)
	}
	file := filepath.Join(t.TempDir(), "redacted.jsonl")
	if err := os.WriteFile(file, []byte(got.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, "redact", "--dry-run", file); got.code != exitOK || got.stdout != "" {
		t.Errorf("a redacted file still holds something: %+v", got)
	}
}

func TestRedactReadsOtherFilesAndRules(t *testing.T) {
	dir := t.TempDir()
	rules, text := filepath.Join(dir, "waza.yaml"), filepath.Join(dir, "tape.json")
	write := func(name, body string) {
		if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(rules, "extend: false\nrules:\n  - name: employee_number\n    pattern: 'EMP-\\d{6}'\nenvKeyDenyList: [BADGE]\n")
	write(text, `{"a":["EMP-123456","`+planted+`"],"badge":"xyz"}`)
	got := tapedeck(t, "redact", "--dry-run", "--redaction-rules", rules, text)
	want := `"path":"a[0]","rule":"employee-number"`
	if got.code != exitPartial || !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, `"path":"badge","rule":"secret-by-key"`) || strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("%+v", got)
	}
	got = tapedeck(t, "redact", "--dry-run", "--summary", text)
	if got.stdout != `{"rule":"github-token","count":1}`+"\n" {
		t.Errorf("%+v", got)
	}
}

func TestRedactRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "redact needs a FILE"},
		{[]string{"x.json"}, "needs --redaction-key-file or $TAPEDECK_REDACTION_KEY, or --dry-run"},
		{[]string{"x.json", "--dry-run", "--profile", "lax"}, `policy must be "default" or "strict"`},
		{[]string{"x.json", "--dry-run", "--redaction-rules", "none.yaml"}, "rules: open none.yaml"},
		{[]string{"no-such-file.json", "--dry-run"}, "no-such-file.json"},
	} {
		got := tapedeck(t, append([]string{"redact"}, c.args...)...)
		if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}
