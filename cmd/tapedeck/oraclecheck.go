// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

func newOracleLint() *cobra.Command {
	var r refs
	var failOn string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "lint REF…",
		Short: "Name what keeps the entries of an oracle from being served",
		Long: `Name what is wrong or odd with the entries of an oracle: hashes that are not those
of the arguments, duplicates and conflicts, what is cut or missing, masked
arguments, keys that are ambiguous without a caller. docs/oracle.md lists the
codes. A deck stands for all its current tapes.

The exit code is 0 if there is nothing of the severity of --fail-on or worse, 1 if
there is, 2 if an oracle could not be loaded.`,
		Example: `  tapedeck oracle lint ./oracle.json
  tapedeck oracle lint --fail-on warning ./deck`,
		Args: needArgs("at least one REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			limit := slices.Index(severities, tape.Severity(failOn))
			if limit < 0 {
				return fmt.Errorf("--fail-on is %q, want error, warning or info", failOn)
			}
			return lint(cmd.Context(), cmd.OutOrStdout(), args, &r, asJSON, limit)
		},
	}
	r.add(cmd, "ID")
	r.addUnverified()
	cmd.Flags().StringVar(&failOn, "fail-on", string(tape.SeverityError), "the severity from which on the exit code is 1: error, warning or info")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON per flaw")
	return cmd
}

// severities is worst first.
var severities = []tape.Severity{tape.SeverityError, tape.SeverityWarning, tape.SeverityInfo}

func lint(ctx context.Context, stdout io.Writer, of []string, r *refs, asJSON bool, limit int) error {
	secrets, err := secretScanner()
	if err != nil {
		return err
	}
	all, err := r.LoadOracles(ctx, of, replay.WholeDeck)
	if err != nil {
		return err
	}
	failed := false
	for _, l := range all {
		for _, flaw := range oracle.Lint(l.Entries, secrets) {
			failed = failed || slices.Index(severities, flaw.Severity) <= limit
			if asJSON {
				err = printLine(stdout, struct {
					RunID string `json:"run_id"`
					oracle.Flaw
				}{l.RunID, flaw})
			} else {
				_, err = fmt.Fprintf(stdout, "%s entry %d %s %s: %s\n", oneLine(deck.ShortID(l.RunID)), flaw.Entry, flaw.Severity, flaw.Code, oneLine(flaw.Detail))
			}
			if err != nil {
				return err
			}
		}
	}
	if failed {
		return &exitError{code: exitPartial}
	}
	return nil
}

func newOracleDiff() *cobra.Command {
	var r refs
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare two oracles",
		Long: `Compare two oracles: which calls one of them has not, and which have other
answers. Calls are the same when caller, tool, arguments and occurrence are.
Values are not printed.

The exit code is 0 if they are equal, 1 if they differ, 2 if one could not be
loaded.`,
		Example: `  tapedeck oracle diff ./before/oracle.json ./after/tape.json`,
		Args:    exactArgs("two REFs, OLD and NEW", 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, b, err := r.loadTwo(cmd.Context(), args)
			if err != nil {
				return err
			}
			changes := oracle.Changes(a.Entries, b.Entries)
			for _, c := range changes {
				if asJSON {
					err = printLine(cmd.OutOrStdout(), c)
				} else {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s %s occurrence %d of %s\n", c.Kind, oneLine(c.ToolName), c.ArgsHash, c.Occurrence, cmp.Or(oneLine(c.Caller), "-"))
				}
				if err != nil {
					return err
				}
			}
			if len(changes) > 0 {
				return &exitError{code: exitPartial}
			}
			return nil
		},
	}
	r.add(cmd, "ID")
	r.addUnverified()
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON per difference")
	return cmd
}
