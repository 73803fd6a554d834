// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestEveryCommandStandsInOneGroup(t *testing.T) {
	var grouped, built []string
	first := 0
	for _, g := range commandGroups {
		grouped = append(grouped, slices.Concat(g.first, g.rest)...)
		first += len(g.first)
	}
	for _, c := range newRoot().Commands() {
		if c.Name() != "help" {
			built = append(built, c.Name())
		}
	}
	slices.Sort(grouped)
	slices.Sort(built)
	if !slices.Equal(grouped, built) {
		t.Errorf("groups hold\n%v\ncommands are\n%v", grouped, built)
	}
	if first != 12 {
		t.Errorf("%d commands on the first page", first)
	}
}

func TestHelpAllNamesWhatTheFirstPageLeavesOut(t *testing.T) {
	page, all := tapedeck(t, "--help").stdout, tapedeck(t, "help", "all").stdout
	for _, g := range commandGroups {
		for _, name := range slices.Concat(g.first, g.rest) {
			line := fmt.Sprintf("\n  %-11s ", name)
			if !strings.Contains(all, line) {
				t.Errorf("help all does not name %s", name)
			}
			if strings.Contains(page, line) != slices.Contains(g.first, name) {
				t.Errorf("the first page names %s: %t", name, !slices.Contains(g.first, name))
			}
		}
	}
	if got := tapedeck(t, "help", "nosuch"); got.code != exitFailed || !strings.Contains(got.stderr, `no command "nosuch"`) {
		t.Errorf("%+v", got)
	}
}

// TestTheTableOfCommandsIsOne: the help, the README and the pages of the documents lead to the same command.
func TestTheTableOfCommandsIsOne(t *testing.T) {
	for file, page := range map[string]string{"README.md": "docs/cli.md", "docs/ci.md": "cli.md"} {
		var want strings.Builder
		want.WriteString("| there are | the question | command |\n|---|---|---|\n")
		for _, c := range commandChoices {
			anchor := c.command
			if anchor == "replay" {
				anchor = "replay-with-a-command"
			}
			fmt.Fprintf(&want, "| %s | %s | [`%s`](%s#%s) |\n", c.given, c.asked, c.command, page, anchor)
		}
		if !strings.Contains(readAll(t, "../../"+file), want.String()) {
			t.Errorf("%s does not have the table\n%s", file, want.String())
		}
	}
	reference := readAll(t, "../../docs/cli.md")
	at := 0
	for _, g := range commandGroups {
		for i, name := range slices.Concat(g.first, g.rest) {
			title := ""
			if i == 0 {
				title = g.title
			}
			row := strings.Index(reference, fmt.Sprintf("\n| %s | [`%s`](#", title, name))
			if row < at {
				t.Fatalf("docs/cli.md: the row of %s is missing, or not where the help has it", name)
			}
			at = row
		}
	}
}

func TestCommandsThatAreAlikeNameEachOther(t *testing.T) {
	for name, others := range map[string][]string{"bisect": {"diff", "replay --bisect"}, "diff": {"bisect"}, "replay": {"bisect"}} {
		line, _, _ := strings.Cut(tapedeck(t, name, "--help").stdout, "\n")
		for _, other := range others {
			if !strings.Contains(line, other) {
				t.Errorf("%s --help begins with %q, which does not name %s", name, line, other)
			}
		}
	}
}
