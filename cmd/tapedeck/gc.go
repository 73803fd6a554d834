// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/retention"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/replay"
)

type gcFlags struct {
	days, failureDays, undecidedDays int
	tenant                           string
	dryRun, yes, holds               bool
	hold, release, erase             []string
	reason                           string
	now                              func() time.Time
	before                           beforeRemoval
}

func newGC() *cobra.Command {
	f := gcFlags{now: time.Now}
	cmd := &cobra.Command{
		Use:   "gc DECK",
		Short: "Take away what a deck need not keep any more",
		Long: `Take away what a deck need not keep any more: traces whose runs ended long ago, and
generations of tapes (what one derivation made of a run) that newer ones have
replaced. Without --yes nothing is taken
away, and the lines say what would be.

A trace is kept for --days from the end of its last run, and for --failure-days
from the last replay that failed (see match --record), whichever is later. What
cannot be read is kept. What goes leaves a tombstone: writers do not bring it back.

A held run stays until it is released, whatever asks for it to go. --erase takes a
run away at once, with its evidence, joined runs that it is a part of, and what the
gate has kept of it; verify --erased proves that nothing is left.

One line of JSON per thing that goes is printed, and one with the sums at the end. The
exit code is 0 if the whole deck was looked at. It is 1 if a part of it was kept
because it could not be read or taken away, 2 if the deck cannot be read.`,
		Example: `  tapedeck gc ./deck
  tapedeck gc s3://tapes/prod --tenant checkout --yes
  tapedeck gc s3://tapes/prod --hold 4bf92f35 --reason "case 1234"
  tapedeck gc s3://tapes/prod --erase 4bf92f3577b34da6a3ce929d0e0e4736 --yes`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("gc needs one DECK; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	const days = int(24 * time.Hour)
	cmd.Flags().IntVar(&f.days, "days", int(retention.DefaultKeep)/days, "how long a trace is kept from the end of its last run")
	cmd.Flags().IntVar(&f.failureDays, "failure-days", int(retention.DefaultKeepFailed)/days, "how long it is kept from the last replay that failed")
	cmd.Flags().IntVar(&f.undecidedDays, "undecided-days", int(retention.DefaultKeep)/days, "--days of traces whose root never came")
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "only the traces of this tenant")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "take nothing away; the default without --yes")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "take away what the lines name")
	cmd.Flags().StringArrayVar(&f.hold, "hold", nil, "REF of a run that must not go, with --reason (may be repeated)")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why a run is held; with --release, only the holds of this reason")
	cmd.Flags().BoolVar(&f.holds, "holds", false, "list what is held")
	cmd.Flags().StringArrayVar(&f.release, "release", nil, "REF of a run that is held no longer (may be repeated)")
	cmd.Flags().StringArrayVar(&f.erase, "erase", nil, "REF of a run that goes at once, with --yes (may be repeated)")
	f.before.add(cmd)
	return cmd
}

// removal is the line about one thing.
type removal struct {
	retention.Removal
	Removed bool `json:"removed"`
}

// collected is the last line.
type collected struct {
	Summary collectedSums `json:"summary"`
}

type collectedSums struct {
	DryRun      bool `json:"dry_run"`
	Places      int  `json:"places"`
	Traces      int  `json:"traces"`
	Generations int  `json:"generations"`
	Leftovers   int  `json:"leftovers"`
	Temporary   int  `json:"temporary"`
	Objects     int  `json:"objects"`
	Changed     int  `json:"changed"` // since they were looked at; they are kept
	Failed      int  `json:"failed"`
	Held        int  `json:"held,omitempty"` // places that holds keep
}

func (f *gcFlags) run(ctx context.Context, address string, stdout, stderr io.Writer) (err error) {
	if strings.HasPrefix(address, "mem:") {
		return replay.ErrMem
	}
	if f.dryRun && f.yes {
		return errors.New("--dry-run and --yes contradict each other")
	}
	if done, err := f.keep(ctx, address, stdout, stderr); done {
		return err
	}
	const most = 36500 // a hundred years, which a duration holds
	for _, n := range []int{f.days, f.failureDays, f.undecidedDays} {
		if n < 1 || n > most {
			return fmt.Errorf("a number of days must be from 1 to %d", most)
		}
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	f.before.of(d, stderr)
	period := func(days int) time.Duration { return time.Duration(days) * 24 * time.Hour }
	c, err := retention.New(d, retention.Policy{Keep: period(f.days), KeepFailed: period(f.failureDays), KeepUndecided: period(f.undecidedDays),
		Now: f.now(), Tenant: f.tenant, ReplayResult: func(record []byte) (time.Time, bool, error) {
			r, err := aiwg.ReadRecord(record)
			return r.ReplayedAt, r.Failed(), err
		}})
	if err != nil {
		return err
	}
	sums, err := f.sweep(ctx, c, stdout, stderr)
	if err != nil {
		return err
	}
	sums.Places, sums.Held = c.Locations(), c.Held()
	if err := writeJSON(stdout, collected{sums}); err != nil {
		return err
	}
	if sums.Failed > 0 {
		return &exitError{code: exitPartial}
	}
	return nil
}

// sweep takes away what the plan names, and reports it.
func (f *gcFlags) sweep(ctx context.Context, c *retention.Collector, stdout, stderr io.Writer) (sums collectedSums, err error) {
	sums.DryRun = !f.yes
	lost := 0
	failed := func(err error) error {
		complain(stderr, err)
		sums.Failed++
		if lost++; isStoreError(err) && !errors.Is(err, deck.ErrCorrupt) && lost >= ingest.MaxFailures {
			return errors.New("the deck cannot be read or written; the rest was left out")
		}
		return ctx.Err()
	}
	for r, err := range c.Plan(ctx) {
		if err != nil {
			if err := failed(err); err != nil {
				return sums, err
			}
			continue
		}
		line := removal{Removal: r}
		if f.yes {
			if line.Removed, err = c.Remove(ctx, &line.Removal); err != nil {
				if err := failed(err); err != nil {
					return sums, err
				}
				continue
			}
			if !line.Removed {
				sums.Changed++
				continue
			}
		}
		lost = 0
		sums.Objects += line.Objects
		switch r.What {
		case retention.Trace:
			sums.Traces++
		case retention.Reel, retention.Rows:
			sums.Traces += line.Traces
		case retention.Generation:
			sums.Generations++
		case retention.Temporary:
			sums.Temporary++
		default:
			sums.Leftovers++
		}
		if err := writeJSON(stdout, line); err != nil {
			return sums, err
		}
	}
	return sums, nil
}
