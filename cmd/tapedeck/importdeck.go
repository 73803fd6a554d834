// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/transfer"
	"github.com/tapedeck/tapedeck/internal/replay"
)

// changedOf is the first of some flags that was given.
func changedOf(cmd *cobra.Command, names []string) string {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// filterNames are the flags of runFilter, but for --tenant.
func filterNames() []string {
	names := []string{"is", "verdict", "where", "since", "until", "area"}
	for _, n := range filterFlags {
		if n.flag != "tenant" {
			names = append(names, n.flag)
		}
	}
	return names
}

// onlyOfDecks refuses flags that say how files of another tool are read.
func onlyOfDecks(cmd *cobra.Command) error {
	if flag := changedOf(cmd, []string{"format", "out", "losses", "strict"}); flag != "" {
		return fmt.Errorf("--%s is about files that become tapes without a deck, and --to names one", flag)
	}
	return nil
}

// carried is the last line.
type carried struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Layout string `json:"layout"`
	transfer.Sums
}

// maxSaid is how many refusals are said one by one; all are counted.
const maxSaid = 100

// carry carries a deck into another one.
func (f *importFlags) carry(ctx context.Context, args []string, tenant string, stdout, stderr io.Writer) (err error) {
	if len(args) != 1 {
		return errors.New("import --to carries one DECK")
	}
	if err := f.filter.check(); err != nil {
		return err
	}
	layout, err := layoutOf(f.layout)
	if err != nil {
		return err
	}
	sign, err := f.sign.signer()
	if err != nil {
		return err
	}
	from, err := replay.OpenDeck(ctx, args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if layout == "" {
		if layout, err = f.otherLayout(ctx, from); err != nil {
			return err
		}
	}
	to, err := deck.OpenLayout(ctx, f.to, layout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if from.String() == to.String() {
		return fmt.Errorf("%s is the deck that is to be read", to)
	}
	said := 0
	sums, err := transfer.Run(ctx, from, to, transfer.Options{
		Tenant: tenant, Areas: f.filter.Areas(), Wants: f.filter.Wants(), Sign: sign,
		Refused: func(what string, err error) {
			if said++; said <= maxSaid {
				say(stderr, "%s: not carried: %v", what, err)
			}
		},
	})
	if err != nil {
		return err
	}
	if err := writeJSON(stdout, carried{from.String(), to.String(), layoutName(to), sums}); err != nil {
		return err
	}
	if sums.Refused() > 0 {
		return &exitError{code: exitPartial}
	}
	return nil
}

// otherLayout is the layout of the deck that is written: its own, or the one that the deck which is read has not.
func (f *importFlags) otherLayout(ctx context.Context, from *deck.Deck) (layout deck.Layout, err error) {
	to, err := deck.Open(ctx, f.to)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if to.Marked() {
		return to.Layout(), nil
	}
	if from.Layout() == deck.LayoutReels {
		return deck.LayoutFiles, nil
	}
	return deck.LayoutReels, nil
}

// layoutName is the layout of a deck as users name it.
func layoutName(d *deck.Deck) string {
	if d.Layout() == deck.LayoutReels {
		return "reels"
	}
	return "files"
}
