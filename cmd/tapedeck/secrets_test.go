// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/tape"
)

const plantedRuns = "../../testdata/corpus/agents/"

// plantedSecrets are the recorded runs of some dialects in which secrets were planted, one of them in log records, one in several traces.
func plantedSecrets(t *testing.T) (files, secrets []string) {
	t.Helper()
	for _, group := range []string{"genkit", "google-adk", "openai-otel-contrib", "gemini-cli", "mastra-otel-exporter"} {
		for _, kind := range []string{"otlp", "logs"} {
			if file := plantedRuns + group + "/secrets." + kind + ".json"; exists(file) {
				files = append(files, file)
			}
		}
		text, err := os.ReadFile(plantedRuns + group + "/secrets.truth.json")
		if err != nil {
			t.Fatal(err)
		}
		var truth struct{ Secrets []string }
		if err := json.Unmarshal(text, &truth); err != nil || len(truth.Secrets) == 0 {
			t.Fatalf("%s names no secrets: %v", group, err)
		}
		secrets = append(secrets, truth.Secrets...)
	}
	slices.Sort(secrets)
	return files, slices.Compact(secrets)
}

// leaks returns the objects of a folder that hold one of the secrets, parts unpacked.
func leaks(t *testing.T, dir string, secrets []string) (found []string) {
	t.Helper()
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	for path, body := range contents(t, dir) {
		text := body
		if strings.HasSuffix(path, ".zst") {
			plain, err := dec.DecodeAll([]byte(body), nil)
			if err != nil {
				t.Fatal(err)
			}
			text = string(plain)
		}
		if slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(text, s) || strings.Contains(text, jsonForm(s)) }) {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}

func jsonForm(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return strings.Trim(string(text), `"`)
}

func keyFile(t *testing.T) string {
	t.Helper()
	file := write(t, "redaction.key", "0123456789abcdefghijklmnopqrstuvwxyz")
	if err := os.Chmod(file, 0o600); err != nil { // one that others can read is said
		t.Fatal(err)
	}
	return file
}

func tapesIn(t *testing.T, dir string) (tapes []*tape.Tape) {
	t.Helper()
	for path, body := range contents(t, dir) {
		if filepath.Base(path) == "tape.json" {
			tp, err := tape.Read([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			tapes = append(tapes, tp)
		}
	}
	return tapes
}

func TestDeriveRedactsUnlessItIsTold(t *testing.T) {
	files, secrets := plantedSecrets(t)
	key := keyFile(t)
	dir := t.TempDir()
	got := tapedeck(t, append([]string{"derive", "--to", dir, "--redaction-key-file", key}, files...)...)
	if got.code != exitOK || !strings.Contains(got.stderr, "redacted values: ") {
		t.Fatalf("%+v", got)
	}
	if found := leaks(t, dir, secrets); len(found) > 0 {
		t.Errorf("secrets in %v", found)
	}
	for _, s := range secrets {
		if strings.Contains(got.stderr+got.stdout, s) {
			t.Error("a secret in a diagnostic")
		}
	}
	k, err := redact.KeyFromFile(key, "")
	if err != nil {
		t.Fatal(err)
	}
	labelled := 0
	for _, tp := range tapesIn(t, dir) {
		if tp.Redaction.Policy != "default" || tp.Redaction.KeyID != k.ID() || tp.Redaction.ProfileDigest != redact.Default().Digest() || tp.Redaction.Count == 0 {
			t.Errorf("%s says %+v", tp.Run.RunID, tp.Redaction)
		}
		for _, e := range tp.Events {
			if e.Provenance["args"] == tape.Redacted || e.Provenance["result"] == tape.Redacted {
				labelled++
			}
		}
	}
	if labelled == 0 {
		t.Error("no call is labelled as redacted")
	}
	if got := tapedeck(t, "verify", dir); got.code != exitOK {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "verify", dir, "--secrets"); got.code != exitOK || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	// The same again from its own key, in any order.
	again := t.TempDir()
	slices.Reverse(files)
	tapedeck(t, append([]string{"derive", "--to", again, "--redaction-key-file", key}, files...)...)
	if diff := cmp.Diff(contents(t, dir), contents(t, again)); diff != "" {
		t.Error("the same files under the same key give other bytes")
	}
	t.Setenv(keyVariable, "0123456789abcdefghijklmnopqrstuvwxyz")
	fromEnv := t.TempDir()
	tapedeck(t, append([]string{"derive", "--to", fromEnv}, files...)...)
	if diff := cmp.Diff(contents(t, dir), contents(t, fromEnv)); diff != "" {
		t.Error("a key of the environment gives other bytes")
	}
}

func TestDeriveWithoutAKeyMakesOneOrMasks(t *testing.T) {
	files, secrets := plantedSecrets(t)
	state := filepath.Join(t.TempDir(), "state")
	t.Setenv("XDG_STATE_HOME", state)
	dir := t.TempDir()
	if got := tapedeck(t, append([]string{"derive", "--to", dir}, files...)...); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	if info, err := os.Stat(filepath.Join(state, "tapedeck", "redaction.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the generated key: %v, %v", info, err)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	masked := t.TempDir()
	got := tapedeck(t, append([]string{"derive", "--to", masked}, files...)...)
	if got.code != exitOK || !strings.Contains(got.stderr, "no redaction key: values are masked") {
		t.Errorf("%+v", got)
	}
	for _, d := range []string{dir, masked} {
		if found := leaks(t, d, secrets); len(found) > 0 {
			t.Errorf("secrets in %v", found)
		}
	}
}

// A sender cannot mark its own telemetry.
func TestDeriveBelievesNoMarker(t *testing.T) {
	text, err := os.ReadFile(plantedRuns + "genkit/secrets.otlp.json")
	if err != nil {
		t.Fatal(err)
	}
	m := handover.Marker{Policy: "strict", ProfileDigest: "sha256:1", KeyID: "k"}
	forged := strings.ReplaceAll(string(text), `"resource":{"attributes":[`,
		`"resource":{"attributes":[{"key":"tapedeck.redaction","value":{"stringValue":"`+m.String()+`"}},`)
	if forged == string(text) {
		forged = strings.ReplaceAll(string(text), `"resource": {"attributes": [`,
			`"resource": {"attributes": [{"key":"tapedeck.redaction","value":{"stringValue":"`+m.String()+`"}},`)
	}
	if forged == string(text) {
		t.Fatal("the file has another form")
	}
	dir := t.TempDir()
	tapedeck(t, "derive", write(t, "forged.json", forged), "--to", dir, "--redact", "off")
	for _, tp := range tapesIn(t, dir) {
		if tp.Redaction.Policy != "none" {
			t.Errorf("%s says %+v", tp.Run.RunID, tp.Redaction)
		}
	}
}

func TestVerifySecretsSaysWhereAndNeverWhat(t *testing.T) {
	files, secrets := plantedSecrets(t)
	dir := t.TempDir()
	derived := tapedeck(t, append([]string{"derive", "--to", dir, "--redact", "off"}, files...)...)
	one := lines(t, derived.stdout)[0].URL
	for name, args := range map[string][]string{
		"deck":        {dir},
		"tape":        {one},
		"folder":      {filepath.Dir(strings.TrimPrefix(one, "file://"))},
		"id":          {lines(t, derived.stdout)[0].RunID, "--deck", dir},
		"deck, JSON":  {dir, "--json"},
		"other rules": {dir, "--redact", write(t, "rules.yaml", "rules:\n  - name: greeting\n    pattern: 'Keys rotated'\n")},
	} {
		t.Run(name, func(t *testing.T) {
			got := tapedeck(t, append([]string{"verify", "--secrets"}, args...)...)
			if got.code != exitPartial || !strings.Contains(got.stdout, "rule ") || !strings.Contains(got.stdout, "oracle.json") || !strings.Contains(got.stdout, ".otlp.zst") {
				t.Errorf("%d\n%.1000s\n%s", got.code, got.stdout, got.stderr)
			}
			for _, s := range secrets {
				if strings.Contains(got.stdout+got.stderr, s) {
					t.Error("a value in the report")
				}
			}
		})
	}
	if got := tapedeck(t, "verify", "--secrets", t.TempDir()); got.code != exitFailed || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "verify", "--secrets", dir, "--redact", "off"); got.code != exitFailed {
		t.Errorf("%+v", got)
	}
	// What cannot be read is no all-clear.
	clean := t.TempDir()
	tapedeck(t, append([]string{"derive", "--to", clean, "--redaction-key-file", keyFile(t)}, files...)...)
	for path := range contents(t, clean) {
		if strings.HasSuffix(path, ".zst") {
			if err := os.WriteFile(filepath.Join(clean, path), []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if got := tapedeck(t, "verify", "--secrets", clean); got.code != exitFailed {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "scrub", clean, "--redaction-key-file", keyFile(t)); got.code != exitPartial || !strings.Contains(got.stdout, `"clear":false`) {
		t.Errorf("%+v", got)
	}
}

// What the rules of redaction do not know is found by a scanner that is not theirs, and by nothing else.
func TestVerifySecretsAsksAnIndependentScanner(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell script")
	}
	files, _ := plantedSecrets(t)
	dir := t.TempDir()
	tapedeck(t, append([]string{"derive", "--to", dir, "--redaction-key-file", keyFile(t)}, files...)...)
	if err := os.WriteFile(filepath.Join(dir, ".tapedeck-tmp-7"), []byte(`{"note":"the z\u0065bra sleeps"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	find := func(word, exit string) string {
		path := filepath.Join(t.TempDir(), "scan.sh")
		text := "#!/bin/sh\ngrep -rn " + word + ` "$1" | while IFS=: read -r file line rest; do printf '{"file":"%s","line":%s,"rule":"word"}\n' "$file" "$line"; done` + "\nexit " + exit + "\n"
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"nobody is asked":         {nil, exitOK, "", "no independent scanner was used"},
		"nobody is asked, JSON":   {[]string{"--json"}, exitOK, `"independent_scanner":"none"`, "no independent scanner was used"},
		"nothing is found":        {[]string{"--with", find("aardvark", "0"), "--json"}, exitOK, `"independent_scanner":"scan.sh"`, "and by scan.sh"},
		"a file that was left":    {[]string{"--with", find("zebra", "0")}, exitPartial, `$["note"]: scan.sh word`, "and by scan.sh"},
		"a part, a tape, JSON":    {[]string{"--with", find("rotated", "0"), "--json"}, exitPartial, `"detail":"scan.sh word"`, ""},
		"it fails":                {[]string{"--with", find("zebra", "3")}, exitFailed, "", "scan.sh failed"},
		"it is not there":         {[]string{"--with", "./no-such-scanner"}, exitFailed, "", "no program"},
		"without a search at all": {[]string{"--secrets=false", "--with", "gitleaks"}, exitFailed, "", "--with goes with --secrets"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tapedeck(t, append([]string{"verify", "--secrets", dir}, c.args...)...)
			if got.code != c.code || !strings.Contains(got.stdout, c.stdout) || !strings.Contains(got.stderr, c.stderr) || c.stdout == "" && got.stdout != "" {
				t.Errorf("%+v", got)
			}
			if strings.Contains(got.stdout+got.stderr, "zebra") {
				t.Error("what was found is shown")
			}
			if name == "a part, a tape, JSON" && (!strings.Contains(got.stdout, ".otlp.zst") || !strings.Contains(got.stdout, "tape.json")) {
				t.Errorf("%s", got.stdout)
			}
		})
	}
}

// What redaction has left behind in recorded runs is nothing that gitleaks knows, but for digests under the name of a key.
func TestGitleaksFindsNothingInARedactedDeck(t *testing.T) {
	program := decktest.Program(t, "TAPEDECK_TEST_GITLEAKS", "gitleaks", "go install github.com/zricethezav/gitleaks/v8@v8.30.1")
	t.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	files, secrets := plantedSecrets(t)
	for want, flags := range map[int][]string{exitOK: {"--redaction-key-file", keyFile(t)}, exitPartial: {"--redact", "off"}} {
		dir := t.TempDir()
		tapedeck(t, append(append([]string{"derive", "--to", dir}, flags...), files...)...)
		got := tapedeck(t, "verify", "--secrets", dir, "--with", "gitleaks")
		if got.code != want || strings.Contains(got.stdout, "gitleaks jwt") != (want == exitPartial) {
			t.Errorf("%v: %+v", flags, got)
		}
		for _, s := range secrets {
			if strings.Contains(got.stdout+got.stderr, s) {
				t.Error("a value in the report")
			}
		}
	}
}

func TestScrubRewritesADeck(t *testing.T) {
	files, secrets := plantedSecrets(t)
	key := keyFile(t)
	dir := t.TempDir()
	tapedeck(t, append([]string{"derive", "--to", dir, "--redact", "off"}, files...)...)
	before := contents(t, dir)
	dry := tapedeck(t, "scrub", dir, "--redaction-key-file", key, "--dry-run")
	if dry.code != exitPartial || !strings.Contains(dry.stdout, `"parts":1`) {
		t.Errorf("%+v", dry)
	}
	if diff := cmp.Diff(before, contents(t, dir)); diff != "" {
		t.Error("a dry run writes")
	}
	got := tapedeck(t, "scrub", dir, "--redaction-key-file", key)
	if got.code != exitOK || got.stderr != "" || !strings.HasSuffix(got.stdout, `"failures":0,"left":0,"clear":true}`+"\n") {
		t.Fatalf("%+v", got)
	}
	if found := leaks(t, dir, secrets); len(found) > 0 {
		t.Errorf("secrets in %v", found)
	}
	after := contents(t, dir)
	again := tapedeck(t, "scrub", dir, "--redaction-key-file", key)
	if again.code != exitOK || strings.Count(again.stdout, "\n") != 1 {
		t.Errorf("%+v", again)
	}
	if diff := cmp.Diff(after, contents(t, dir)); diff != "" {
		t.Error("a second call changes something")
	}
	if got := tapedeck(t, "verify", dir); got.code != exitOK {
		t.Errorf("%+v", got)
	}
	// The tapes are those that redaction would have given in the first place.
	direct := t.TempDir()
	tapedeck(t, append([]string{"derive", "--to", direct, "--redaction-key-file", key}, files...)...)
	ids := func(dir string) (ids []string) {
		for _, tp := range tapesIn(t, dir) {
			ids = append(ids, tp.TapeID)
		}
		slices.Sort(ids)
		return ids
	}
	if diff := cmp.Diff(ids(direct), ids(dir)); diff != "" {
		t.Error(diff)
	}
	// Nobody brings back what was buried.
	if got := tapedeck(t, append([]string{"derive", "--to", dir, "--redact", "off"}, files...)...); got.code == exitOK {
		t.Errorf("%+v", got)
	}
	if found := leaks(t, dir, secrets); len(found) > 0 {
		t.Errorf("secrets in %v", found)
	}
}

func TestScrubTakesNewRules(t *testing.T) {
	files, _ := plantedSecrets(t)
	key := keyFile(t)
	dir := t.TempDir()
	tapedeck(t, append([]string{"derive", "--to", dir, "--redaction-key-file", key}, files...)...)
	rules := write(t, "rules.yaml", "rules:\n  - name: greeting\n    pattern: 'Keys rotated'\n")
	got := tapedeck(t, "scrub", dir, "--redact", rules, "--redaction-key-file", key)
	if got.code != exitOK || !strings.Contains(got.stdout, `"greeting":`) {
		t.Fatalf("%+v", got)
	}
	if found := leaks(t, dir, []string{"Keys rotated"}); len(found) > 0 {
		t.Errorf("left in %v", found)
	}
	for _, tp := range tapesIn(t, dir) {
		if tp.Redaction.Rules["greeting"] > 0 && tp.Redaction.Policy != "default+custom" {
			t.Errorf("%+v", tp.Redaction)
		}
	}
}

// A replay finds the recorded answer whether the agent sends the token or the value that it stands for.
func TestReplayMatchesTokensAndWhatTheyStandFor(t *testing.T) {
	key := keyFile(t)
	plain, redacted := t.TempDir(), t.TempDir()
	file := plantedRuns + "genkit/secrets.otlp.json"
	tapedeck(t, "derive", file, "--to", plain, "--redact", "off")
	made := lines(t, tapedeck(t, "derive", file, "--to", redacted, "--redaction-key-file", key).stdout)
	original, hidden := tapesIn(t, plain)[0], tapesIn(t, redacted)[0]
	if len(original.Events) != len(hidden.Events) {
		t.Fatal("redaction changes what the run is")
	}
	tokens := 0
	for i, e := range hidden.Events {
		if e.Provenance["args"] != tape.Redacted {
			continue
		}
		tokens++
		for name, args := range map[string]string{"token": e.Args.JSON(), "value": original.Events[i].Args.JSON()} {
			got := tapedeck(t, "oracle", "lookup", made[0].URL, "--tool", e.Name, "--args", args, "--redaction-key-file", key)
			if got.code != exitOK {
				t.Errorf("%s with the %s: %+v", e.Name, name, got)
			}
		}
		if got := tapedeck(t, "oracle", "lookup", made[0].URL, "--tool", e.Name, "--args", original.Events[i].Args.JSON()); got.code == exitOK {
			t.Errorf("%s: a value is believed to be that of a token without the key", e.Name)
		}
	}
	if tokens == 0 {
		t.Error("no arguments are redacted")
	}
}

// TestAForeignKeyIsRefused: evidence under another key would make a second version of every span that holds a token.
func TestAForeignKeyIsRefused(t *testing.T) {
	secrets := agents + "anthropic-sdk-native/secrets.otlp.json"
	key, other := keyFile(t), write(t, "other", "another key for tests, fedcba9876543210")
	dir := t.TempDir()
	made := tapedeck(t, "derive", secrets, "--to", dir, "--redaction-key-file", key)
	if made.code != exitOK {
		t.Fatalf("%+v", made)
	}
	before := contents(t, dir)
	for _, args := range [][]string{
		{"derive", secrets, "--to", dir, "--redaction-key-file", other}, {"derive", secrets, "--to", dir, "--redact", "off"},
		{"derive", forge, "--to", dir, "--redaction-key-file", other}, // another trace of the same deck
		{"resolve", dir, "--allow", "/x", "--redaction-key-file", other}, {"scrub", dir, "--redaction-key-file", other},
	} {
		got := tapedeck(t, args...)
		if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "was redacted under key") || !strings.Contains(got.stderr, "--allow-key-change") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Error("something was written")
	}
	t.Setenv(keyVariable, "")
	for _, args := range [][]string{
		{"derive", secrets, "--to", dir, "--redaction-key-file", key}, {"derive", forge, "--to", dir, "--redaction-key-file", key},
		{"resolve", dir, "--allow", "/x", "--redaction-key-file", key}, {"scrub", dir, "--redaction-key-file", key}, {"derive", forge, "--to", dir, "--redaction-key-file", key, "--tenant", "other"},
	} {
		if got := tapedeck(t, args...); got.code != exitOK {
			t.Errorf("%v: %+v", args, got)
		}
	}
	// The deck may know the new key already, and the trace not: then the trace alone is refused.
	if got := tapedeck(t, "derive", agents+"google-adk/secrets.otlp.json", "--to", dir, "--redaction-key-file", other, "--allow-key-change"); got.code != exitOK {
		t.Errorf("%+v", got)
	}
	got := tapedeck(t, "derive", secrets, "--to", dir, "--redaction-key-file", other)
	if got.code != exitFailed || !strings.Contains(got.stderr, "another redaction key: trace ") {
		t.Errorf("%+v", got)
	}
	if got := tapedeck(t, "scrub", dir, "--redaction-key-file", key); got.code != exitFailed {
		t.Errorf("scrub of a deck with two keys: %+v", got)
	}
	if got := tapedeck(t, "scrub", dir, "--redaction-key-file", key, "--allow-key-change"); got.code == exitFailed {
		t.Errorf("%+v", got)
	}
}

func TestSecretsInFilesOfDeadWritersAreFoundAndTakenAway(t *testing.T) {
	files, secrets := plantedSecrets(t)
	key := keyFile(t)
	clean, plain := t.TempDir(), t.TempDir()
	for dir, flags := range map[string][]string{clean: {"--redaction-key-file", key}, plain: {"--redact", "off"}} {
		if got := tapedeck(t, append(append([]string{"derive", "--to", dir}, flags...), files...)...); got.code != exitOK {
			t.Fatalf("%+v", got)
		}
	}
	// A whole part, the beginning of one, and a tape, each as a writer leaves it that dies before it has taken the temporary name away.
	leave := func() (names []string) {
		kinds := map[string]bool{}
		for path, body := range contents(t, plain) {
			ext := filepath.Ext(path)
			held := slices.ContainsFunc(secrets, func(s string) bool { return ext == ".zst" || strings.Contains(body, jsonForm(s)) })
			if kinds[ext] || !held || len(leaks(t, filepath.Join(plain, filepath.Dir(path)), secrets)) == 0 {
				continue
			}
			kinds[ext] = true
			for i, text := range []string{body, body[:len(body)/2]} {
				name := filepath.Join(clean, "runs", "default", fmt.Sprintf(".tapedeck-tmp-%d%s", i, ext[1:]))
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				names = append(names, name)
			}
		}
		if len(names) != 4 {
			t.Fatalf("%v", names)
		}
		return names
	}
	left := func(names []string) int {
		return len(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !exists(name) }))
	}
	for _, command := range [][]string{{"gc", clean, "--yes"}, {"scrub", clean, "--redaction-key-file", key}} {
		names := leave()
		got := tapedeck(t, "verify", "--secrets", clean)
		if got.code == exitOK || strings.Count(got.stdout+got.stderr, ".tapedeck-tmp-") < 3 {
			t.Errorf("before %s: %+v", command[0], got)
		}
		if got := tapedeck(t, command...); got.code != exitOK || left(names) != 0 {
			t.Errorf("%s left %d: %+v", command[0], left(names), got)
		}
		if got := tapedeck(t, "verify", "--secrets", clean); got.code != exitOK {
			t.Errorf("after %s: %+v", command[0], got)
		}
	}
}
