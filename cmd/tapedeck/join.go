// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/lateverdict"
	"github.com/tapedeck/tapedeck/internal/replay"
)

type joinFlags struct {
	sign    signFlag
	dryRun  bool
	tenant  string
	formats []string
	most    int
}

func newJoin() *cobra.Command {
	var f joinFlags
	cmd := &cobra.Command{
		Use:   "join DECK",
		Short: "Join the runs of a deck that lie in several traces",
		Long: `Join the runs of a deck that lie in several traces, as derive does within one call.
These are runs that carry the same run-level id, and those in which each model request
continues the conversation of the one before it. The joined tapes lie under joined/.

Verdicts that came in a trace of their own, and name the id of an answer or of a
conversation, become evidence of the runs that have it. Nothing else in the deck
changes, and calling it again changes nothing.

One line per joined tape goes to stdout, of JSON unless that is a terminal, everything else to stderr. The exit
code is 0 if the whole deck was joined, also when there was nothing to join. It is 1
if a part of it could not be, 2 if the deck cannot be read or written.`,
		Example: `  tapedeck join ./deck
  tapedeck join s3://tapes/prod --tenant checkout --dry-run | jq -r .run_id`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("join needs one DECK; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runJoin(cmd.Context(), args[0], f, tapeLines(cmd), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "write nothing; the lines say what would be written")
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "only the runs of this tenant")
	cmd.Flags().StringSliceVar(&f.formats, "formats", generation.DefaultFormats, "files to write for each run")
	f.sign.add(cmd)
	cmd.Flags().IntVar(&f.most, "max-traces", 2000, "leave traces alone of which more than this may belong together")
	return cmd
}

func runJoin(ctx context.Context, address string, f joinFlags, stdout, stderr io.Writer) (err error) {
	if strings.HasPrefix(address, "mem:") {
		return replay.ErrMem
	}
	if err := checkFormats(f.formats); err != nil {
		return err
	}
	if f.most < 2 {
		return errors.New("--max-traces must be 2 or more")
	}
	sign, err := f.sign.signer()
	if err != nil {
		return err
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	options := derive.Options{Options: generation.Options{Producer: generation.Producer(), Formats: f.formats, Sign: sign}}
	failed, lost := 0, 0
	given, err := lateverdict.Give(ctx, d, lateverdict.Options{Tenant: f.tenant, Derive: options, Rehearse: f.dryRun, Say: func(err error) {
		failed++
		complain(stderr, err)
	}}) // what it cannot read, JoinDeck says
	if err != nil {
		return err
	}
	if given.Runs > 0 {
		say(stderr, "%d runs have verdicts that came in other traces", given.Runs)
	}
	w := derive.NewWriter(d, options)
	for written, err := range w.JoinDeck(ctx, derive.DeckJoin{Tenant: f.tenant, Rehearse: f.dryRun, MaxTraces: f.most}) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			lost = 0
			if err := reportTape(stdout, written); err != nil {
				return err
			}
			continue
		}
		failed++
		complain(stderr, err)
		if isStoreError(err) {
			lost++
		}
		if lost == ingest.MaxFailures {
			return errors.New("the deck cannot be read or written; the rest was left out")
		}
	}
	if failed > 0 {
		return &exitError{code: exitPartial}
	}
	return nil
}
