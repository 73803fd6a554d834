// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/replay/sidebyside"
	"github.com/tapedeck/tapedeck/tape/compare"
)

func newDiff() *cobra.Command {
	c := &comparing{}
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show everything in which two runs differ",
		Long: `What differs in two runs, settings too? For where they part take bisect.

Show everything in which two runs differ: models, system prompts, tool definitions
and settings, and the events as bisect compares them. Tokens, cost, time and
versions are shown beside each other and never count.

` + refHelp + `
The exit code is 0 if nothing differs, 1 if something does, 2 if a tape could not be
loaded.`,
		Example: `  tapedeck diff before.json after.json
  tapedeck diff 4bf92f35 0af76519 --deck ./deck --json | jq '.changes[] | select(.area=="tools")'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("diff takes two tapes, not %d; see tapedeck diff --help", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return diff(cmd.Context(), cmd.OutOrStdout(), c, args[0], args[1])
		},
	}
	c.flags(cmd)
	return cmd
}

// drift is the JSON document of diff. The order of its fields is part of the contract.
type drift struct {
	A sidebyside.Tape `json:"a"`
	B sidebyside.Tape `json:"b"`
	// Sentence says where the runs part, for people.
	Sentence string `json:"sentence"`
	*compare.Drift
}

func diff(ctx context.Context, stdout io.Writer, c *comparing, refA, refB string) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	a, err := c.one(ctx, refA)
	if err != nil {
		return err
	}
	b, err := c.one(ctx, refB)
	if err != nil {
		return err
	}
	d, err := compare.Drifts(a.tape, b.tape, o)
	if err != nil {
		return err
	}
	options, err := c.text(stdout)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if c.asJSON {
		err = writeJSON(&out, drift{a.Tape, b.Tape, sidebyside.Sentence(a.Tape, b.Tape, d.Events).String(), d})
	} else {
		err = sidebyside.DriftText(&out, a.Tape, b.Tape, d, options)
	}
	if err != nil {
		return err
	}
	return verdictOf(stdout, &out, d.Equal)
}
