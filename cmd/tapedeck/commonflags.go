// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
)

// deckVariable holds the deck of a command that is not told another one.
const deckVariable = "TAPEDECK_DECK"

// onlyJSON are the commands that print nothing but JSON. They take --json as all others do.
var onlyJSON = []string{
	"tapedeck audit", "tapedeck compact", "tapedeck gc", "tapedeck judge", "tapedeck match", "tapedeck oracle derive", "tapedeck oracle lookup",
	"tapedeck redact", "tapedeck request", "tapedeck scrub", "tapedeck serve", "tapedeck spool inspect", "tapedeck spool verify",
}

// tapesOrJSON are commands that print JSON to a pipe, and lines for a person at a terminal.
var tapesOrJSON = []string{"tapedeck derive", "tapedeck join", "tapedeck record", "tapedeck resolve"}

// addCommonFlags adds what commands have alike to c and those below it.
func addCommonFlags(c *cobra.Command) {
	if slices.Contains(onlyJSON, c.CommandPath()) {
		c.Flags().Bool("json", true, "print JSON: this command prints nothing else")
	}
	if slices.Contains(tapesOrJSON, c.CommandPath()) {
		c.Flags().Bool("json", false, "print JSON also to a terminal")
	}
	if hasManyFlags(c) {
		takeFlagFile(c)
	}
	for _, below := range c.Commands() {
		addCommonFlags(below)
	}
}

// deckFromEnvironment sets the --deck of a command that is not told one.
func deckFromEnvironment(cmd *cobra.Command, _ []string) error {
	if flag := cmd.Flags().Lookup("deck"); flag != nil && !flag.Changed {
		return flag.Value.Set(os.Getenv(deckVariable))
	}
	return nil
}

// deckFrom is the DECK that a command is given, else that of the environment.
func deckFrom(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return os.Getenv(deckVariable)
}

// needOneDeck is for commands that read a deck.
func needOneDeck(cmd *cobra.Command, args []string) error {
	if len(args) > 1 || deckFrom(args) == "" {
		return fmt.Errorf("%s needs one DECK, or its address in %s; see %s --help", cmd.Name(), deckVariable, cmd.CommandPath())
	}
	return nil
}
