// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/replay/modelonly"
	"github.com/tapedeck/tapedeck/internal/replay/replayserver"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// modelOnlyFlags are those of replay without an agent: models alone.
type modelOnlyFlags struct {
	on      bool
	ask     []string
	timeout time.Duration
}

func (f *modelOnlyFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.on, "model-only", false, "ask each recorded turn again, alone, of the models that --ask names; no agent and no tool runs")
	cmd.Flags().StringArrayVar(&f.ask, "ask", nil, "MODEL, or MODEL@URL for another endpoint than $OPENAI_BASE_URL; the key is $OPENAI_API_KEY, or that of a known provider (repeatable)")
	cmd.Flags().DurationVar(&f.timeout, "ask-timeout", 2*time.Minute, "how long one answer of a model may take")
}

// defaultModels is where models are asked that no variable and no flag leads elsewhere.
const defaultModels = "https://api.openai.com/v1"

// modelOnly asks the turns of a run again. Calls of tools count in every comparison, texts in that of all.
func (r *replaying) modelOnly(ctx context.Context, f *modelOnlyFlags, level compare.Level, refs []string) error {
	if len(refs) != 1 {
		return fmt.Errorf("--model-only takes one REF, not %d", len(refs))
	}
	if len(f.ask) == 0 {
		return errors.New("--model-only needs --ask MODEL")
	}
	o := modelonly.Options{Key: chatKey, Timeout: f.timeout}
	for _, text := range f.ask {
		e, err := modelonly.ParseEndpoint(text, cmp.Or(os.Getenv("OPENAI_BASE_URL"), defaultModels))
		if err != nil {
			return fmt.Errorf("--ask: %w", err)
		}
		o.Models = append(o.Models, e)
	}
	masking, err := replayserver.ModelOptions(oracle.Options{})
	if err != nil {
		return err
	}
	o.Mask = masking.Mask
	source, _, err := r.flags.OpenOne(ctx, refs[0])
	if err != nil {
		return err
	}
	report, err := modelonly.Run(ctx, source, o)
	if err != nil {
		return err
	}
	if r.asJSON {
		err = r.print(report)
	} else {
		err = r.write([]byte(report.Text()))
	}
	counts := report.Counts
	switch {
	case err != nil:
		return err
	case counts[modelonly.CallsDiffer] > 0 || level == compare.All && counts[modelonly.TextDiffers] > 0:
		return &exitError{code: exitPartial}
	case counts[modelonly.Failed] > 0 || counts[modelonly.Same]+counts[modelonly.TextDiffers] == 0:
		return &exitError{code: exitFailed}
	}
	return nil
}
