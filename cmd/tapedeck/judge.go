// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel/filter"
	"github.com/tapedeck/tapedeck/internal/deck/verdictrecord"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/tape"
)

type judgeFlags struct {
	redactionFlags
	refs
	sign      signFlag
	verdict   verdictrecord.Verdict
	value     float64
	at        string
	scorer    string
	scoreTime time.Duration
	formats   []string
}

func newJudgeCommand() *cobra.Command {
	var f judgeFlags
	cmd := &cobra.Command{
		Use:   "judge ID --deck DECK --name NAME",
		Short: "Give a verdict to a recorded run",
		Long: `Give a verdict to a recorded run, by hand or by a scorer of experiment. It becomes
evidence of the run: a log record in its trace, redacted as all evidence is. The tape
has it under verdicts, and ls --verdict finds the run by it.

` + refHelp + `
With --id a later verdict of the same name and id replaces an earlier one. Without
--at it is one of now; the same verdict at the same time is one.

--scorer check:COMMAND and exec:COMMAND score the recorded answer, which stands in
the case for the replayed one too. The number becomes the value of the verdict.

A line of JSON about the verdict goes to stdout. The exit code is 0 if the verdict is
in the deck, 2 if it is not.`,
		Example: `  tapedeck judge 4bf92f35 --deck ./deck --name correctness --value 0.2 --label fail
  tapedeck judge 4bf92f35 --deck ./deck --name thumbs --label down --judge HUMAN --id user-7
  tapedeck judge 4bf92f35 --deck ./deck --name tests --scorer "check:./check.sh"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("judge takes one ID, not %d", len(args))
			}
			return needArgs("an ID")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("value") {
				f.verdict.Value = &f.value
			}
			return f.run(cmd, args[0])
		},
	}
	f.refs.add(cmd, "ID")
	flags := cmd.Flags()
	flags.StringVar(&f.verdict.Name, "name", "", "what is judged: correctness, tone, … (required)")
	flags.Float64Var(&f.value, "value", 0, "the result as a number")
	flags.StringVar(&f.verdict.Label, "label", "", "the result as a word")
	flags.StringVar(&f.verdict.Explanation, "explanation", "", "why")
	flags.StringVar(&f.verdict.Judge, "judge", "", "the kind of judge: HUMAN, LLM, CODE or another (default HUMAN, with --scorer CODE)")
	flags.StringVar(&f.verdict.ID, "id", "", "what a later verdict that replaces this one names")
	flags.IntVar(&f.verdict.Event, "event", 0, "judge this event of the run, by its number")
	flags.BoolVar(&f.verdict.Session, "session", false, "judge the session that the run is part of")
	flags.StringVar(&f.at, "at", "", "when it was judged: 2026-11-20T12:00:00Z, or an age such as 36h (default now)")
	flags.StringVar(&f.scorer, "scorer", "", "check:COMMAND or exec:COMMAND, which scores the recorded answer")
	flags.DurationVar(&f.scoreTime, "score-timeout", time.Minute, "how long a scorer may take")
	f.redactionFlags.add(cmd)
	flags.StringSliceVar(&f.formats, "formats", generation.DefaultFormats, "files to write for the run")
	f.sign.add(cmd)
	return cmd
}

func (f *judgeFlags) run(cmd *cobra.Command, id string) (err error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	if f.verdict.At, err = verdictTime(f.at); err != nil {
		return err
	}
	switch {
	case f.Deck == "":
		return errors.New("judge needs --deck DECK")
	case f.scoreTime <= 0:
		return errors.New("--score-timeout must be positive")
	case f.scorer != "" && f.verdict.Value != nil:
		return errors.New("--scorer and --value exclude each other")
	}
	if err := checkFormats(f.formats); err != nil {
		return err
	}
	sign, err := f.sign.signer()
	if err != nil {
		return err
	}
	g, err := newVerdictGiver(ctx, f.Finder, &f.redactionFlags, derive.Options{Options: generation.Options{Formats: f.formats, Sign: sign}}, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.deck.Close()) }()
	t, err := g.find(ctx, id)
	if err != nil {
		return err
	}
	if err := f.score(ctx, t); err != nil {
		return err
	}
	if f.verdict.Judge == "" {
		f.verdict.Judge = "HUMAN"
	}
	if err := g.give(ctx, t, f.verdict); err != nil {
		return err
	}
	if len(t.Run.Joined) > 0 {
		say(stderr, "the run was joined: tapedeck join %s brings the verdict to it", g.deck)
	}
	return writeJSON(cmd.OutOrStdout(), given{t.Run.RunID, f.verdict})
}

// verdictTime reads --at.
func verdictTime(text string) (time.Time, error) {
	now := time.Now().UTC()
	if text == "" {
		return now, nil
	}
	at, err := filter.ParseTime(text, now)
	if err != nil {
		return at, fmt.Errorf("--at: %w", err)
	}
	return at.UTC(), nil
}

// score asks the scorer, if there is one.
func (f *judgeFlags) score(ctx context.Context, t *tape.Tape) error {
	if f.scorer == "" {
		return nil
	}
	s, err := experiment.ParseScorer(f.scorer, f.scoreTime, nil)
	if err != nil {
		return fmt.Errorf("--scorer: %w", err)
	}
	score, err := s.Recorded(ctx, t)
	if err != nil {
		return fmt.Errorf("--scorer: %w", err)
	}
	f.verdict.Value = &score.Replayed
	if f.verdict.Explanation == "" {
		f.verdict.Explanation = score.Said
	}
	if f.verdict.Judge == "" {
		f.verdict.Judge = "CODE"
	}
	return nil
}
