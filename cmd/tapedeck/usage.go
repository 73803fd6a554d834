// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usage is what --help prints below the description of a command.
func usage(c *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	switch {
	case !c.HasParent():
		b.WriteString("  tapedeck COMMAND [flags]\n")
	case c.Runnable():
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasParent() && c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND [flags]\n", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	switch {
	case !c.HasParent():
		writeGroups(&b, c, false)
		writeChoices(&b)
		b.WriteString("\ntapedeck help all lists every command. tapedeck COMMAND --help explains one.\n\n" + wordsHelp)
	case c.HasAvailableSubCommands():
		b.WriteString("\nCommands:\n")
		for _, below := range c.Commands() {
			if below.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-11s %s\n", below.Name(), below.Short)
			}
		}
	}
	if c.HasParent() && c.HasAvailableLocalFlags() {
		writeFlags(&b, c)
	}
	return b.String() + exitHelp
}
