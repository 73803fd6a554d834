// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Write a manual page for each command into a folder, which is made if there is
none: what --help prints, for man. The pages are those of this very program.`,
		Example: `  tapedeck man ~/.local/share/man/man1
  man tapedeck-show`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writeMan(cmd.Root(), args[0])
		},
	}
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// writeMan writes the pages of a command and of those below it.
func writeMan(c *cobra.Command, dir string) error {
	if c.Hidden || c.Name() == "help" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, manName(c)+".1"), manPage(c), 0o644); err != nil {
		return err
	}
	for _, below := range c.Commands() {
		if err := writeMan(below, dir); err != nil {
			return err
		}
	}
	return nil
}

// manPage is the page of a command in the macros of man(7), made of the same data as its help. It has no date, so that the same program writes the same page.
func manPage(c *cobra.Command) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"tapedeck %s\" \"tapedeck\"\n", strings.ToUpper(manName(c)), version())
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(c)), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fR\n", roff(c.UseLine()))
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(&b, cmp.Or(c.Long, c.Short+"."))
	if c.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() && below.Name() != "help" {
				fmt.Fprintf(&b, ".TP\n\\fB%s\\fR(1)\n%s\n", roff(manName(below)), roff(below.Short))
			}
		}
	}
	options(&b, "OPTIONS", c.NonInheritedFlags())
	options(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		verbatim(&b, c.Example)
	}
	b.WriteString(".SH EXIT STATUS\n")
	_, codes, _ := strings.Cut(exitHelp, ":\n")
	verbatim(&b, codes)
	b.WriteString(".SH SEE ALSO\n")
	if c.HasParent() {
		fmt.Fprintf(&b, "\\fB%s\\fR(1)\n", roff(manName(c.Parent())))
	} else {
		b.WriteString("docs/cli.md and docs/README.md of the repository\n")
	}
	return []byte(b.String())
}

func options(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB\\-%s\\fR, ", roff(f.Shorthand))
		}
		fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", roff(f.Name))
		if kind != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(kind))
		}
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "0s" && d != "[]" && !strings.Contains(usage, "(default") {
			usage += " (default " + d + ")"
		}
		fmt.Fprintf(b, "\n%s\n", roff(usage))
	})
}

// paragraphs writes help text: paragraphs are filled, except for those with an indented line, which is a list or an example.
func paragraphs(b *strings.Builder, text string) {
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(p, " ") || strings.Contains(p, "\n ") {
			verbatim(b, p)
		} else {
			b.WriteString(roff(p) + "\n")
		}
	}
}

func verbatim(b *strings.Builder, text string) {
	b.WriteString(".nf\n" + roff(strings.Trim(text, "\n")) + "\n.fi\n")
}

// roff escapes text: a backslash begins an escape, a bare hyphen may become a typographic one, which nobody can copy, and a line that begins with a dot or a quote
// is a request.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
