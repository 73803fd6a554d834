// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagKinds are the flags that mean one thing wherever they stand: the type of their values, and what every
// help says of them.
var flagKinds = map[string]struct{ kind, says string }{
	"check":               {"string", "the command that judges"},
	"deck":                {"string", "the deck in which a REF is an id; without it $TAPEDECK_DECK"},
	"json":                {"bool", "JSON"},
	"quiet":               {"bool", "no line per"},
	"redaction-key-file":  {"string", "the key of the redaction"},
	"redaction-key-scope": {"string", "the scope of that key"},
	"rules":               {"string", "rules file"},
	"sign-key":            {"string", "sign the tapes"},
	"tenant":              {"string", "tenant"},
}

// judging are the commands that a check of the user's decides for.
var judging = []string{"cause", "compare", "experiment", "minimise", "record", "suite run"}

// withoutJSON are the commands that print a text, a script or a file of another tool, or serve.
var withoutJSON = []string{"completion", "help", "man", "mcp", "oracle hash", "oracle learn", "suite add", "suite import", "version", "view"}

// refOperand is the usage of a command that takes a REF.
var refOperand = regexp.MustCompile(`(\bREF\b|\bA B\b|\bGOOD BAD\b|RECORDED REPLAYED)`)

func TestFlagsOfOneNameMeanOneThing(t *testing.T) {
	everyCommand(newRoot(), func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "tapedeck ")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			if want, known := flagKinds[f.Name]; known && (f.Value.Type() != want.kind && path != "record" || !strings.Contains(f.Usage, want.says)) {
				t.Errorf("%s --%s is a %s and says %q; want %s, %q", path, f.Name, f.Value.Type(), f.Usage, want.kind, want.says)
			}
			if strings.HasPrefix(f.Name, "redact-key") || strings.HasPrefix(f.Name, "key-") {
				t.Errorf("%s --%s: the key of the redaction is --redaction-key-file", path, f.Name)
			}
		})
		if c.HasSubCommands() && path != "experiment" || path == "tapedeck" {
			return
		}
		has := func(flag string) bool { return c.LocalFlags().Lookup(flag) != nil }
		if has("check") != slices.Contains(judging, path) {
			t.Errorf("%s has --check: %t", path, has("check"))
		}
		if has("json") == slices.Contains(withoutJSON, path) {
			t.Errorf("%s has --json: %t", path, has("json"))
		}
		if !has("deck") && refOperand.MatchString(c.Use) {
			t.Errorf("%s takes a REF, and no --deck", c.Use)
		}
	})
}

// TestHelpsOfManyFlagsHaveGroups: ten flags first, and every other one below a heading.
func TestHelpsOfManyFlagsHaveGroups(t *testing.T) {
	grouped := map[string]bool{}
	everyCommand(newRoot(), func(c *cobra.Command) {
		if !hasManyFlags(c) {
			return
		}
		first := firstFlags[c.Name()]
		grouped[c.Name()] = true
		if len(first) != 10 {
			t.Errorf("%s: %d flags first", c.CommandPath(), len(first))
		}
		for _, name := range first {
			if c.LocalFlags().Lookup(name) == nil {
				t.Errorf("%s has no --%s", c.CommandPath(), name)
			}
		}
		if help := tapedeck(t, append(strings.Fields(c.CommandPath())[1:], "--help")...).stdout; strings.Contains(help, "\nOther:\n") || !strings.Contains(help, "\nFirst flags:\n") || !strings.Contains(help, "--config") {
			t.Errorf("%s: flags without a group, or no first ones, or no file:\n%s", c.CommandPath(), help)
		}
	})
	for name := range firstFlags {
		if !grouped[name] {
			t.Errorf("%s has no groups", name)
		}
	}
}

func TestFlagsComeFromAFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "flags.yaml")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := newReplay()
	takeFlagFile(c)
	put("input: stdin\nallow-live: [a, b]\nignore: [model, server]\nexact: true\ntimeout: 3s\ncompare: all\n")
	if err := c.ParseFlags([]string{"--config", file, "--compare", "actions"}); err != nil {
		t.Fatal(err)
	}
	if err := c.PreRunE(c, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"input": "stdin", "allow-live": "[a,b]", "ignore": "[model,server]", "exact": "true", "timeout": "3s", "compare": "actions"} {
		if got := c.Flags().Lookup(name).Value.String(); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for text, want := range map[string]string{
		"nosuch: 1\n": "line 1: tapedeck replay takes no nosuch", "config: x\n": "takes no config", "timeout: soon\n": "line 1: ", "input: {a: b}\n": "is no value or list of values", ": [": "--config: ",
		"strict: true\n": "--strict does nothing with a command behind --",
	} {
		put(text)
		if got := tapedeck(t, "replay", "nowhere.json", "--config", file, "--", "agent"); got.code != exitFailed || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestTheDeckComesFromTheEnvironment(t *testing.T) {
	made := madeDeck(t)
	if got := tapedeck(t, "ls"); got.code != exitFailed || !strings.Contains(got.stderr, "ls needs one DECK, or its address in TAPEDECK_DECK") {
		t.Errorf("%+v", got)
	}
	t.Setenv(deckVariable, made)
	for _, args := range [][]string{{"ls"}, {"stats"}, {"show", "4bf92f35"}, {"verify", "4bf92f35"}, {"ls", "--json"}, {"stats", "--json"}} {
		got := tapedeck(t, args...)
		if got.code != exitOK || got.stdout == "" {
			t.Errorf("%v: %+v", args, got)
		}
		if asked := slices.Contains(args, "--json"); asked != strings.HasPrefix(got.stdout, "{") {
			t.Errorf("%v: %s", args, got.stdout)
		}
	}
}

func madeDeck(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if got := tapedeck(t, "derive", forge, "--to", dir, "--redact", "off"); got.code != exitOK {
		t.Fatalf("%+v", got)
	}
	return dir
}
