// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
)

// beforeRemoval is a command that is told of reels before they are removed: that of a catalog in which the
// deck is a table.
type beforeRemoval struct{ command string }

func (b *beforeRemoval) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.command, "before-removal", "", "CMD to run by the shell before reels are removed, with their keys on its stdin")
}

// of has the command run for a deck of reels. What it prints goes to stderr.
func (b *beforeRemoval) of(d *deck.Deck, stderr io.Writer) {
	catalog := view.Catalog(d)
	if b.command == "" || catalog == nil {
		return
	}
	catalog.BeforeRemoval(func(ctx context.Context, keys []string) error {
		line := shell(b.command)
		cmd := exec.CommandContext(ctx, line[0], line[1:]...)
		cmd.Stdin = strings.NewReader(strings.Join(keys, "\n") + "\n")
		cmd.Stdout, cmd.Stderr = stderr, stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("--before-removal: %w", err)
		}
		return nil
	})
}
