// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// commandGroup is a heading of the help, with the commands below it in the order of the page.
type commandGroup struct {
	title string
	first []string // on the first page too
	rest  []string // in "help all" only
}

var commandGroups = []commandGroup{
	{"Look", []string{"tail", "ls", "show", "view", "doctor", "bisect"}, []string{"diff", "stats"}},
	{"Record", []string{"record", "derive"}, []string{"import", "join", "audit"}},
	{"Replay", []string{"replay"}, []string{"oracle", "request", "match"}},
	{"Judge", []string{"verify", "suite", "experiment"}, []string{"compare", "cause", "judge", "minimise", "stale"}},
	{"Deck", nil, []string{"compact", "gc", "resolve", "scrub", "spool"}},
	{"Serve", nil, []string{"serve", "mcp"}},
	{"Tools", nil, []string{"export", "redact", "exec-check", "completion", "man", "version"}},
}

// commandChoice is a row of the table that leads from a question to a command.
type commandChoice struct{ given, asked, command string }

var commandChoices = []commandChoice{
	{"two runs", "where do they part?", "bisect"},
	{"one run, and a changed agent", "does it still do the same?", "replay"},
	{"many runs", "yes or no?", "suite"},
	{"many runs", "better or worse, by a score?", "experiment"},
	{"a good run and a bad one", "which recorded answer is at fault?", "cause"},
	{"one run that fails", "what is its smallest part that fails?", "minimise"},
}

// writeChoices writes the table as text.
func writeChoices(b *strings.Builder) {
	b.WriteString("\nWhich command when\n")
	for _, c := range commandChoices {
		fmt.Fprintf(b, "  %-29s %-38s %s\n", c.given, c.asked, c.command)
	}
}

// writeGroups writes the commands of root by groups: all of them, or those of the first page.
func writeGroups(b *strings.Builder, root *cobra.Command, all bool) {
	short := map[string]string{}
	for _, c := range root.Commands() {
		short[c.Name()] = c.Short
	}
	for _, g := range commandGroups {
		names := g.first
		if all {
			names = append(names[:len(names):len(names)], g.rest...)
		}
		if len(names) > 0 {
			fmt.Fprintf(b, "\n%s\n", g.title)
		}
		for _, name := range names {
			fmt.Fprintf(b, "  %-11s %s\n", name, short[name])
		}
	}
}

const wordsHelp = `The words of the output: a run is one task of an agent, and has a short id such as
4bf92f35. Its evidence is the spans and log records that came, in one part or
several. The grade of a tape says how much of the run can be replayed from it, from
offline (all) to inspect (nothing); its proof, that it was when it was written. A
finding says what is missing or odd, and an oracle holds the recorded answers of
tools. The gate searches for secrets again before anything is written. More of them:
docs/glossary.md.
`

// newHelp is the command help: of one command, or of all.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [all | COMMAND]",
		Short: "Show all commands, or the help of one",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 1 && args[0] == "all" {
				var b strings.Builder
				writeGroups(&b, root, true)
				writeChoices(&b)
				b.WriteString("\n" + wordsHelp)
				b.WriteString(exitHelp)
				_, err := fmt.Fprint(cmd.OutOrStdout(), b.String())
				return err
			}
			found, left, err := root.Find(args)
			if err != nil || len(left) > 0 {
				return fmt.Errorf("help knows no command %q; see tapedeck help all", strings.Join(args, " "))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
