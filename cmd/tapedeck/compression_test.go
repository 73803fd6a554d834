// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compressed makes the deck of newDeck with and without compression.
func compressed(t *testing.T) (plain, packed, inPlain, inPacked string) {
	t.Helper()
	plain, inPlain = newDeck(t)
	packed = t.TempDir()
	got := tapedeck(t, "derive", forge, spans, logs, "--to", packed, "--redact", "off", "--compression", "zstd")
	if got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	return plain, packed, inPlain, filepath.Dir(strings.TrimPrefix(lines(t, got.stdout)[0].URL, "file://"))
}

func TestEveryCommandSaysTheSameOfADeckWithCompression(t *testing.T) {
	plain, packed, inPlain, inPacked := compressed(t)
	files := 0
	for name := range contents(t, packed) {
		if strings.HasSuffix(name, ".json") && name != "/tapedeck.json" {
			t.Errorf("%s is stored as it is", name)
		}
		if strings.HasSuffix(name, ".json.zst") {
			files++
		}
	}
	if files != 4 {
		t.Errorf("%d compressed files", files)
	}
	for _, args := range [][]string{
		{"verify", "DECK"}, {"verify", "FOLDER"}, {"verify", "--json", "FOLDER/tape.json"}, {"verify", "file://FOLDER/tape.json"}, {"verify", "--secrets", "DECK"},
		{"show", "FOLDER"}, {"show", "--json", "FOLDER/tape.json"}, {"show", forgeRun, "--deck", "DECK"}, {"show", openaiRun[:8], "--deck", "DECK"},
		{"bisect", forgeRun, openaiRun, "--deck", "DECK"}, {"diff", forgeRun, openaiRun, "--deck", "DECK"},
		{"match", forgeRun, "FOLDER/tape.json", "--deck", "DECK"}, {"replay", "DECK"}, {"request", forgeRun, "--deck", "DECK"},
		{"oracle", "derive", "FOLDER"}, {"oracle", "lint", "FOLDER/oracle.json"}, {"oracle", "diff", "FOLDER/oracle.json", "FOLDER/tape.json"},
		{"export", "FOLDER", "--format", "waza"}, {"export", forgeRun, "--deck", "DECK", "--format", "aiwg"},
		{"doctor", "DECK"}, {"join", "DECK", "--dry-run"}, {"gc", "DECK"}, {"gc", "DECK", "--yes"},
		{"scrub", "DECK", "--dry-run"}, {"resolve", "DECK", "--allow", "/nowhere", "--redact", "off"},
	} {
		var got [2]result
		for i, in := range [][2]string{{plain, inPlain}, {packed, inPacked}} {
			words := make([]string, len(args))
			for k, w := range args {
				words[k] = strings.NewReplacer("DECK", in[0], "FOLDER", in[1]).Replace(w)
			}
			got[i] = tapedeck(t, words...)
			hide := strings.NewReplacer(in[0], "DECK").Replace
			got[i].stdout, got[i].stderr = hide(got[i].stdout), hide(got[i].stderr)
		}
		if diff := cmp.Diff(got[0], got[1], cmp.AllowUnexported(result{})); diff != "" || got[0].code == exitFailed {
			t.Errorf("%v: %s", args, diff)
		}
	}
}

func TestFileIsFoundUnderBothOfItsNames(t *testing.T) {
	_, _, _, folder := compressed(t)
	for _, ref := range []string{folder + "/tape.json", folder + "/tape.json.zst", "file://" + folder + "/tape.json.zst", folder} {
		if got := tapedeck(t, "verify", ref); got.code != exitOK || got.stdout != okForge {
			t.Errorf("%s: %+v", ref, got)
		}
	}
	if got := tapedeck(t, "verify", folder+"/nothing.json"); got.code != exitFailed || !strings.Contains(got.stderr, "not found") {
		t.Errorf("%+v", got)
	}
}

func TestDamagedCompressedFileIsAnErrorThatNamesIt(t *testing.T) {
	_, _, _, folder := compressed(t)
	file := filepath.Join(folder, "tape.json.zst")
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{"cut": body[:len(body)/2], "not zstd": []byte("{}")} {
		if err := os.WriteFile(file, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := tapedeck(t, "show", folder); got.code != exitFailed || !strings.Contains(got.stderr, "tape.json.zst") || !strings.Contains(got.stderr, "does not decompress") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestScrubOfADeckWithCompressionLeavesNothingOfTheOldFiles(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(forge)
	if err != nil {
		t.Fatal(err)
	}
	const secret = "ghp_FAKE0123456789abcdefFAKE0123456789ab"
	file := write(t, "secret.jsonl", strings.ReplaceAll(string(text), "There are 99 units.", "Use "+secret+" for it."))
	if got := tapedeck(t, "derive", file, "--to", dir, "--redact", "off", "--no-gate", "--compression", "zstd"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	if got := tapedeck(t, "verify", "--secrets", dir); got.code != exitPartial {
		t.Fatalf("the secret is not found: %+v", got)
	}
	before := contents(t, dir)
	if got := tapedeck(t, "scrub", dir); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	if got := tapedeck(t, "verify", "--secrets", dir); got.code != exitOK {
		t.Errorf("%+v", got)
	}
	packed := 0
	for name := range contents(t, dir) {
		if _, old := before[name]; old && strings.HasSuffix(name, ".json.zst") {
			t.Errorf("%s of before is left", name)
		}
		switch {
		case strings.HasSuffix(name, "/tape.json.zst"), strings.HasSuffix(name, "/oracle.json.zst"):
			packed++
		case strings.HasSuffix(name, "/tape.json"), strings.HasSuffix(name, "/oracle.json"):
			t.Errorf("%s was compressed and is stored as it is now", name)
		}
	}
	if packed < 2 {
		t.Errorf("%d files are stored compressed", packed)
	}
}
