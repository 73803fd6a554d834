// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/scrub"
	"github.com/tapedeck/tapedeck/internal/replay"
)

type scrubFlags struct {
	redactionFlags
	sign    signFlag
	before  beforeRemoval
	formats []string
	dryRun  bool
}

func newScrub() *cobra.Command {
	var f scrubFlags
	cmd := &cobra.Command{
		Use:   "scrub DECK",
		Short: "Rewrite the tapes of a deck under new redaction rules",
		Long: `Search a deck for secrets and personal data, and rewrite what holds them. Parts of
evidence are redacted again and tapes derived again. What they were is taken away and
buried, so that no writer brings it back. Calling it again changes nothing.

One line of JSON per trace location goes to stdout: what was rewritten and buried, and how
many values each rule found, never a value. The last line is about the deck as a
whole, which is searched once more at the end.

The exit code is 0 if the whole deck could be read and nothing is left in it. It is 1
if something is left or could not be read or rewritten, 2 if the deck cannot be
opened. With --dry-run nothing is written, and 1 means that something was found.`,
		Example: `  tapedeck scrub ./deck --redact rules.yaml --redaction-key-file key --dry-run
  tapedeck scrub 's3://tapes/prod?region=eu-central-1' --redaction-key-file key`,
		Args: exactlyOne("a DECK"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runScrub(cmd.Context(), args[0], f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.redactionFlags.add(cmd)
	cmd.Flags().StringSliceVar(&f.formats, "formats", generation.DefaultFormats, "files to write for each run")
	f.sign.add(cmd)
	f.before.add(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be rewritten, and change nothing")
	return cmd
}

// exactlyOne asks for one argument and says what it is.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s needs exactly %s; see %s --help", cmd.Name(), what, cmd.CommandPath())
		}
		return nil
	}
}

// scrubSummary is the last line of scrub. The order of its fields is part of the contract.
type scrubSummary struct {
	Objects  int  `json:"objects"`  // searched at the end
	Places   int  `json:"places"`   // rewritten
	Failures int  `json:"failures"` // what could not be read or rewritten
	Left     int  `json:"left"`     // values that are still there
	Clear    bool `json:"clear"`
}

func runScrub(ctx context.Context, address string, f scrubFlags, stdout, stderr io.Writer) (err error) {
	if f.redact == redactOff || f.noGate {
		return errors.New("scrub is about redaction: --redact off and --no-gate make no sense with it")
	}
	if err := checkFormats(f.formats); err != nil {
		return err
	}
	sign, err := f.sign.signer()
	if err != nil {
		return err
	}
	redactor, err := f.open(stderr)
	if err != nil {
		return err
	}
	gate, err := f.gate()
	if err != nil {
		return err
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	f.before.of(d, stderr)
	if !f.dryRun {
		if err := f.guard(d, redactor).wholeDeck(ctx, "", 0); err != nil {
			return err
		}
	}
	w := derive.NewWriter(d, derive.Options{Options: generation.Options{Producer: generation.Producer(), Formats: f.formats, Sign: sign}, Gate: gate})
	s := &scrub.Scrubber{Deck: d, Writer: w, Redactor: redactor, Gate: gate, DryRun: f.dryRun, Now: time.Now()}
	var sum scrubSummary
	for o, err := range s.All(ctx) {
		if err != nil {
			return err
		}
		sum.Places++
		sum.Failures += len(o.Failures)
		if err := writeJSON(stdout, o); err != nil {
			return err
		}
		for _, failure := range o.Failures {
			say(stderr, "%s: %s", o.Location, failure)
		}
	}
	for o, err := range scrub.Store(ctx, d.Store(), "", gate) {
		if err != nil {
			return err
		}
		sum.Objects++
		sum.Left += len(o.Hits)
		switch {
		case o.Err != nil:
			sum.Failures++
			say(stderr, "%s: %v", o.Key, o.Err)
		case len(o.Hits) > 0 && !f.dryRun:
			say(stderr, "%s: %d values are left, the first at %s by %s", o.Key, len(o.Hits), o.Hits[0].Path, o.Hits[0].Rule)
		}
	}
	sum.Clear = sum.Failures == 0 && sum.Left == 0 && (sum.Places == 0 || !f.dryRun)
	if err := writeJSON(stdout, sum); err != nil {
		return err
	}
	if !sum.Clear {
		return &exitError{code: exitPartial}
	}
	return nil
}
