// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
)

// redactionNames are the flags that say how files are redacted.
func redactionNames() (names []string) {
	cmd := &cobra.Command{}
	new(redactionFlags).add(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// takesFiles tells files that become evidence from a deck that is carried, and refuses flags of the other
// one.
func (f *importFlags) takesFiles(cmd *cobra.Command, args []string) (bool, error) {
	decks := 0
	for _, arg := range args {
		is, err := namesDeck(cmd.Context(), arg)
		if err != nil {
			return false, err
		}
		if is {
			decks++
		}
	}
	switch {
	case decks > 0 && len(args) > 1:
		return false, errors.New("import --to carries one DECK, or takes files and folders")
	case decks > 0:
		if flag := changedOf(cmd, redactionNames()); flag != "" {
			return false, fmt.Errorf("--%s is about files; what a deck holds is carried as it is", flag)
		}
		return false, nil
	}
	if flag := changedOf(cmd, filterNames()); flag != "" {
		return false, fmt.Errorf("--%s is about decks; of files everything is read", flag)
	}
	return true, nil
}

// namesDeck tells a deck from a file and from a folder of files. What is not there is taken for a deck, which
// says so.
func namesDeck(ctx context.Context, arg string) (bool, error) {
	if arg == "-" {
		return false, nil
	}
	info, err := os.Stat(arg)
	if err != nil || !info.IsDir() {
		return err != nil, nil
	}
	for _, area := range deck.Areas() {
		if info, err := os.Stat(filepath.Join(arg, string(area))); err == nil && info.IsDir() {
			return true, nil
		}
	}
	d, err := deck.Open(ctx, arg)
	if err != nil {
		return true, nil // its error is that of the carrying
	}
	return d.Marked(), d.Close()
}

// evidence derives tapes from files, and from what is known of the files of folders.
func (f *importFlags) evidence(cmd *cobra.Command, args []string) error {
	var files []string
	others := 0
	for _, arg := range args {
		if info, err := os.Stat(arg); arg == "-" || err != nil || !info.IsDir() {
			files = append(files, arg)
			continue
		}
		below, left, err := foreign.Files(arg)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, withoutPath(err))
		}
		files, others = append(files, below...), others+left
	}
	if others > 0 {
		say(cmd.ErrOrStderr(), "%d files are of no known format and were left out", others)
	}
	if len(files) == 0 {
		return fmt.Errorf("no file of a known format in %s", strings.Join(args, ", "))
	}
	d := deriveFlags{
		redactionFlags: f.redactionFlags, sign: f.sign, to: f.to, formats: generation.DefaultFormats, compression: "none",
		tenant: f.options.Tenant, bounds: generation.DefaultBounds, layout: f.layout,
	}
	return d.run(cmd.Context(), files, cmd.InOrStdin(), tapeLines(cmd), cmd.ErrOrStderr())
}
