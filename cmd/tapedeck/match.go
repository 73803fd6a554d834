// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/replay"
)

type outcomeFlags struct {
	refs
	strategy, measure string
	threshold         float64
	record, force     bool
}

func newMatch() *cobra.Command {
	var f outcomeFlags
	measures := make([]string, len(aiwg.Measures))
	for i, m := range aiwg.Measures {
		measures[i] = m.Name
	}
	cmd := &cobra.Command{
		Use:   "match RECORDED REPLAYED",
		Short: "Compare the outcome of a run with that of its replay",
		Long: `Compare the outcome of a run with that of its replay, by the strategies of AIWG's
execution snapshots. Compared are the final answer, and where both runs have them the
files that were written and the tool calls.

  exact       byte for byte
  semantic    answers that are alike by a measure, from --threshold on. The measures
              work offline and compare words, not meaning
  structural  JSON answers of one shape, which are a partial match

` + refHelp + `A REF may also be an execution snapshot.

--record notes the outcome in the deck of the recorded run, below replays/; export
--format aiwg writes the notes of a run as its replay_status. It demands that the
second run is a replay of the first: it names it (replay_of), or it has a replay
tag and was asked the same. --force notes it all the same, and says so in the note.

One line of JSON goes to stdout. The exit code is 0 for exact_match and
semantic_match, 1 for partial_match, no_match and a replay that failed, 2 if the
runs cannot be loaded or compared.`,
		Example: `  tapedeck match ./deck/runs/…/tape.json ./replayed/tape.json
  tapedeck match 4bf92f35 7a085853 --deck s3://tapes/prod --strategy semantic --record`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("match needs two REFs, the recorded run and its replay; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], args[1], cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&f.strategy, "strategy", string(aiwg.Exact), "exact, semantic or structural")
	cmd.Flags().Float64Var(&f.threshold, "threshold", aiwg.DefaultThreshold, "how alike answers must be for the semantic strategy, above 0, up to 1")
	cmd.Flags().StringVar(&f.measure, "measure", measures[0], "how alike answers are is measured by: "+strings.Join(measures, ", "))
	f.add(cmd, "ID")
	f.addUnverified()
	cmd.Flags().BoolVar(&f.record, "record", false, "note the outcome in the deck of the recorded run")
	cmd.Flags().BoolVar(&f.force, "force", false, "with --record: also where the second run is not known to be a replay of the first")
	return cmd
}

// matched is the line about a comparison.
type matched struct {
	aiwg.Result
	// Error says why the replay could not be compared.
	Error string `json:"error,omitempty"`
	// Noted says that the outcome is in the deck.
	Noted bool `json:"noted,omitempty"`
}

func (f *outcomeFlags) run(ctx context.Context, recorded, replayed string, stdout io.Writer) error {
	matching, err := f.matching()
	if err != nil {
		return err
	}
	if f.force && !f.record {
		return errors.New("--force goes with --record")
	}
	a, at, err := f.Outcome(ctx, recorded)
	if err != nil {
		return err
	}
	b, _, err := f.Outcome(ctx, replayed)
	if err != nil {
		return err
	}
	remark := ""
	if f.record {
		if !at.Ref.InDeck() {
			return fmt.Errorf("--record: %s lies in no deck", recorded)
		}
		if remark, err = f.remark(a, b); err != nil {
			return err
		}
	}
	result, err := matching.Match(a, b)
	line := matched{Result: result}
	switch {
	case errors.Is(err, aiwg.ErrNoResponse) && b.Failed:
		// The replay ran and failed: that is an outcome, and no status of the schema.
		err = errors.New("the replay failed")
		line.Status, line.Error = "", err.Error()
	case err != nil:
		return err
	}
	if f.record {
		if line.Noted, err = true, replay.Note(ctx, at, b, result, err, remark); err != nil {
			return err
		}
	}
	if err := writeJSON(stdout, line); err != nil {
		return err
	}
	if line.Status != aiwg.ExactMatch && line.Status != aiwg.SemanticMatch {
		return &exitError{code: exitPartial}
	}
	return nil
}

// remark is what a note says beside its outcome. It is empty for a replay of the recorded run. With --force it says why the replay is not
// known to be one.
func (f *outcomeFlags) remark(recorded, replayed aiwg.Outcome) (string, error) {
	err := aiwg.IsReplay(recorded, replayed)
	switch {
	case err == nil:
		return "", nil
	case f.force && recorded.ID != replayed.ID:
		f.say("noted by force: %v", err)
		return "forced: " + err.Error(), nil
	case recorded.ID == replayed.ID:
		return "", fmt.Errorf("--record: %w", err)
	}
	return "", fmt.Errorf("--record: %w; --force notes it all the same", err)
}

func (f *outcomeFlags) matching() (aiwg.Matching, error) {
	m := aiwg.Matching{Strategy: aiwg.Strategy(f.strategy), Threshold: f.threshold}
	if !slices.Contains(aiwg.Strategies, m.Strategy) {
		return m, fmt.Errorf("--strategy %q is unknown; it is exact, semantic or structural", f.strategy)
	}
	if !(f.threshold > 0 && f.threshold <= 1) {
		return m, errors.New("--threshold must be above 0 and at most 1")
	}
	i := slices.IndexFunc(aiwg.Measures, func(m aiwg.Measure) bool { return m.Name == f.measure })
	if i < 0 {
		return m, fmt.Errorf("--measure %q is unknown", f.measure)
	}
	m.Measure = aiwg.Measures[i]
	return m, nil
}
