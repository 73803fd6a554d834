// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command manyruns fills a deck with a number of runs in reels, for tests of what large decks cost.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	_ "github.com/tapedeck/tapedeck/internal/deck/reel/view"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/s3"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

func main() {
	to := flag.String("to", "", "the deck: a new folder, or a URL")
	var o manyruns.Options
	flag.IntVar(&o.Runs, "runs", 1_000_000, "how many runs")
	flag.IntVar(&o.PerReel, "per-reel", 5000, "runs of a reel")
	flag.IntVar(&o.Days, "days", 1, "days over which they are spread")
	flag.Uint64Var(&o.Seed, "seed", 1, "another one makes other runs")
	flag.IntVar(&o.Revision, "revision", 0, "that the rows claim, such as 1; 0 is the one of this program")
	short := flag.Bool("short", false, "runs of 20 spans and 50 KB, as the capacity sheet has them, in place of 4 spans and 3 KB")
	flag.Parse()
	if *short {
		o.Shape = agentload.Short
	}
	if err := fill(context.Background(), *to, o); err != nil {
		fmt.Fprintln(os.Stderr, "manyruns:", err)
		os.Exit(1)
	}
}

func fill(ctx context.Context, to string, o manyruns.Options) (err error) {
	d, err := deck.OpenLayout(ctx, to, deck.LayoutReels)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	began := time.Now()
	reels, err := manyruns.Write(ctx, d, o)
	fmt.Printf("%d runs in %d reels, %s\n", o.Runs, reels, time.Since(began).Round(time.Millisecond))
	return err
}
