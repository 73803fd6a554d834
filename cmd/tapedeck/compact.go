// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/lateverdict"
	"github.com/tapedeck/tapedeck/internal/replay"
)

func newCompact() *cobra.Command {
	var o compaction.Options
	var shard string
	var size int64
	var sign signFlag
	var before beforeRemoval
	cmd := &cobra.Command{
		Use:   "compact DECK",
		Short: "Merge the reels that writers have left into fewer and larger ones",
		Long: `Merge the reels that writers have left in a deck into fewer and larger ones, sorted by
trace id. Rows that are there twice become one, and the tapes of traces that came in
pieces are derived. What was taken away leaves the deck, and traces that turned out to
be replays are brought to the replays.

Readers, writers and other compactions may be at work meanwhile, and it may be
killed at any time: readers see the same, and calling it again goes on. It needs
about three times --max-bytes of memory, whatever the size of the deck.

Before it merges, verdicts that came in a trace of their own are given to the runs
whose answer or conversation they name, as join does it. Of several shards the
first one does so.

One line of JSON per merge is printed, and one with the sums at the end. The exit
code is 0 if everything is done, 1 if tapes could not be made of some evidence,
which is kept, 2 if the deck cannot be read or written.`,
		Example: `  tapedeck compact ./deck
  tapedeck compact s3://tapes/prod --older-than 1h
  tapedeck compact s3://tapes/prod --shard 3/8`,
		Args: exactlyOne("a DECK"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Shard, o.Shards, err = parseShard(shard); err != nil {
				return err
			}
			if o.Sign, err = sign.signer(); err != nil {
				return err
			}
			if o.MaxBytes = size; o.MaxBytes == 0 {
				return errors.New("--max-bytes must not be 0")
			}
			return runCompact(cmd.Context(), args[0], o, &before, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().DurationVar(&o.OlderThan, "older-than", 0, "leave the reels of days alone that have not ended that long ago")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "say what would be merged, and change nothing")
	cmd.Flags().StringVar(&shard, "shard", "", "one of several shares of the tenants and days, such as 3/8")
	cmd.Flags().BoolVar(&o.Rederive, "rederive", false, "derive the tapes again that an older version has made")
	sign.add(cmd)
	before.add(cmd)
	cmd.Flags().Int64Var(&size, "max-bytes", compaction.DefaultMaxBytes, "size of the reels that are made, 1 MiB to 512 MiB")
	cmd.Flags().DurationVar(&o.Grace, "grace", compaction.DefaultGrace, "how long merged reels stay for readers that have just listed them")
	return cmd
}

// parseShard reads i/n.
func parseShard(text string) (shard, shards int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	i, n, ok := strings.Cut(text, "/")
	shard, err = strconv.Atoi(i)
	shards, err2 := strconv.Atoi(n)
	if !ok || err != nil || err2 != nil || shards < 1 || shard < 1 || shard > shards {
		return 0, 0, fmt.Errorf("--shard must be i/n, with i from 1 to n, got %q", text)
	}
	return shard, shards, nil
}

// compacted is the last line.
type compacted struct {
	Summary compaction.Sums `json:"summary"`
	Given   int             `json:"given,omitempty"` // runs that were given verdicts of other traces
}

func runCompact(ctx context.Context, address string, o compaction.Options, before *beforeRemoval, stdout, stderr io.Writer) (err error) {
	if strings.HasPrefix(address, "mem:") {
		return replay.ErrMem
	}
	if err := o.Validate(); err != nil {
		return err
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	before.of(d, stderr)
	var given lateverdict.Sums
	if !o.DryRun && o.Shard <= 1 {
		given, err = lateverdict.Give(ctx, d, lateverdict.Options{
			Derive: derive.Options{Options: generation.Options{Producer: generation.Producer(), Formats: generation.DefaultFormats, Sign: o.Sign}},
			Say:    func(err error) { complain(stderr, err) },
			Unread: func(err error) { complain(stderr, fmt.Errorf("not searched for verdicts: %w", err)) },
		})
		if err != nil {
			return err
		}
	}
	var lost error
	o.Report = func(m compaction.Merge) {
		for _, failure := range m.Failures {
			complain(stderr, failure)
		}
		lost = errors.Join(lost, writeJSON(stdout, m))
	}
	sums, err := compaction.Run(ctx, d, o)
	if err = errors.Join(lost, err); err != nil {
		return err
	}
	if err := writeJSON(stdout, compacted{sums, given.Runs}); err != nil {
		return err
	}
	if sums.Failed > 0 || given.Failed > 0 {
		return &exitError{code: exitPartial}
	}
	return nil
}
