// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/assembly"
	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

func newSpool() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "spool",
		Short: "Look into the spool of a collector",
		Long: `Look into the directory in which a collector keeps what it has accepted and not
yet handed on. Nothing is changed, and no lock is taken: the collector may run.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q; see tapedeck spool --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "inspect DIR",
		Short:   "What the spool holds, as JSON",
		Long:    "Print the segments, the live and dead bytes and the runs that the spool holds.",
		Example: `  tapedeck spool inspect /var/lib/otelcol/spool | jq '.runs | length'`,
		Args:    oneDir,
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := spool.Inspect(args[0])
			if err != nil {
				return err
			}
			nameRuns(report)
			return printJSON(cmd.OutOrStdout(), report)
		},
	}, &cobra.Command{
		Use:   "verify DIR",
		Short: "Read every record of the spool and compare every checksum",
		Long: `Read every record of every segment, compare every checksum and the indexes with
the segments. What is wrong is named under "damage". The end of a write that
a crash has cut off is no damage: the next start of the collector removes it.

Exit code 0: no damage; 1: damage; 2: the directory cannot be read.`,
		Example: "  tapedeck spool verify /var/lib/otelcol/spool",
		Args:    oneDir,
		RunE: func(cmd *cobra.Command, args []string) error {
			return verifySpool(cmd.Context(), cmd.OutOrStdout(), args[0])
		},
	})
	return cmd
}

func oneDir(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s takes one DIR, not %d", cmd.CommandPath(), len(args))
	}
	return needArgs("a DIR")(cmd, args)
}

func verifySpool(ctx context.Context, stdout io.Writer, dir string) error {
	report, err := spool.Verify(ctx, dir)
	if err != nil {
		return err
	}
	nameRuns(report)
	if err := printJSON(stdout, report); err != nil {
		return err
	}
	if n := len(report.Damage); n > 0 {
		return &exitError{code: exitPartial, err: fmt.Errorf("%s: damage in %d places", dir, n)}
	}
	return nil
}

// nameRuns says which runs the keys of agentrun stand for. Other keys stay as they are.
func nameRuns(report *spool.Report) {
	for i := range report.Runs {
		r := &report.Runs[i]
		if key, err := assembly.ParseKey(r.Raw()); err == nil && utf8.ValidString(key.Tenant) {
			r.Tenant, r.TraceID, r.Key, r.KeyHex = key.Tenant, key.TraceID.String(), "", ""
		}
	}
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
