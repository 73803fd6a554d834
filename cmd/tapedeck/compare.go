// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/agentlane"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/replay/modelonly"
	"github.com/tapedeck/tapedeck/tape"
)

// compareFlags say which candidates replay a run, and what a good replay is.
type compareFlags struct {
	experimentFlags
	refs      refs
	models    []string
	workspace string
	repeat    int
}

// recordedModel names the candidate that is the tape itself.
const recordedModel = "recorded"

func newCompare() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare REF --models A,B,C -- COMMAND…",
		Short: "Replay one run with several models, and check what each of them makes of it",
		Long: `Replays the run once for each model of --models, as "replay REF -- COMMAND" does with
--model-url: tools are answered from the tape, the model is asked for real. A model is
a NAME, asked at --model-url, or NAME@URL. "` + recordedModel + `" is the tape itself: the agent as it is
now, with the recorded answers of the model.

A replay passes when nothing was asked for that is not recorded, the command did not
fail, and --check COMMAND, which is run after it, ends with 0. The check gets the
question and both answers as JSON on its standard input.

` + refHelp + `With --workspace FOLDER each replay, and its check, run in a copy of that folder.

The exit code is 0 if every replay passes, 1 if one does not, 2 if a candidate could
not be replayed at all.`,
		Example: `  tapedeck compare 4bf92f35 --deck ./deck --models gpt-5,claude@https://gateway/v1,recorded \
    --check "npm test" --workspace . --input arg -- node agent.js`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case dash != 1:
				return fmt.Errorf("compare needs one REF, and a command behind --; see %s --help", cmd.CommandPath())
			case len(args) == dash:
				return errors.New("there is no command behind the --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.models, "models", nil, "the models, MODEL or MODEL@URL, or recorded, with commas between (repeatable)")
	flags.StringVar(&f.judgedBy, "check", "", "the command that judges a replay: exit code 0 is good; it reads the case as JSON")
	flags.StringVar(&f.workspace, "workspace", "", "run each replay and its check in a copy of this folder")
	flags.IntVar(&f.repeat, "repeat", 1, "replay so often with each model")
	flags.StringVar(&f.override, "override", "", "an oracle file laid over the recorded answers")
	flags.StringArrayVar(&f.changes, "change", nil, "system_prompt=TEXT or @FILE, overrides.KEY=JSON, overrides=FILE, for all of them (repeatable)")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "end the command after this long")
	flags.BoolVar(&f.timed, "latency", true, "show how long replays took; without it the same answers give the same bytes")
	f.addScorers(cmd)
	f.reports.add(cmd)
	f.command.addCommand(cmd)
	f.refs.add(cmd, "ID")
	f.match.add(cmd)
	f.redactionFlags.add(cmd)
	return cmd
}

func (f *compareFlags) run(cmd *cobra.Command, ref string, argv []string) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	switch {
	case len(f.models) == 0:
		return errors.New("--models is missing")
	case f.repeat < 1 || f.timeout <= 0 || f.scoreTime <= 0:
		return errors.New("--repeat, --timeout and --score-timeout must be positive")
	}
	f.decks = []string{ref, f.refs.Deck}
	plan := &experiment.Plan{Policy: contract.UseOriginal, Timed: f.timed, Scorers: []string{}}
	redact, err := f.redactText(stderr)
	if err != nil {
		return err
	}
	var override string
	if plan.Change, override, err = parseChanges(f.changes); err != nil {
		return err
	}
	if plan.Change.Model != nil {
		return errors.New("--change model: --models names them")
	}
	f.override = cmp.Or(f.override, override)
	scorers, err := f.readScorers(redact)
	if err != nil {
		return err
	}
	for _, s := range scorers {
		plan.Scorers = append(plan.Scorers, s.Name)
	}
	if plan.Settings, err = settingsOf(cmd, ofThePlan...); err != nil {
		return err
	}
	t, at, err := f.refs.OpenOne(ctx, ref)
	if err != nil {
		return err
	}
	c := experiment.Case{RunID: t.Run.RunID, Tenant: t.Run.Tenant, TapeID: t.TapeID, Ref: at.String()}
	var result *experiment.Comparison
	for _, named := range f.models {
		one := *plan
		at := f.experimentFlags
		where := ""
		if at.command.modelURL = ""; named != recordedModel {
			base := cmp.Or(withVersion(f.command.modelURL), os.Getenv("OPENAI_BASE_URL"), defaultModels)
			e, err := modelonly.ParseEndpoint(named, base)
			if err != nil {
				return fmt.Errorf("--models: %w", err)
			}
			at.command.modelURL, one.Change.Model, where, named = strings.TrimSuffix(e.URL, "/v1"), &e.Model, e.URL, e.Model
		}
		open, _, err := at.candidate(&one, argv)
		if err != nil {
			return err
		}
		if result == nil {
			result = experiment.NewComparison(&one, c, f.judgedBy)
		}
		var outcomes []*experiment.Outcome
		for i := range f.repeat {
			candidate, err := open(ctx)
			if err != nil {
				return err
			}
			command := candidate.(*agentlane.Candidate)
			command.Digest = one.Digest() + strconv.Itoa(i) // replays of one model have names of their own
			o, err := f.once(ctx, &one, command, &c, t, scorers, redact)
			if err != nil {
				return fmt.Errorf("%s: %w", named, err)
			}
			outcomes = append(outcomes, o)
			say(stderr, "%s: %s", named, o.Line())
		}
		result.Add(named, where, t, outcomes)
	}
	return f.reports.write(cmd.OutOrStdout(), result, func(w *bytes.Buffer) error { return result.HTML(ctx, w, t) })
}

// withVersion is the endpoint of --model-url as --models names endpoints, with the version that such addresses end in.
func withVersion(url string) string {
	if url == "" {
		return ""
	}
	return strings.TrimRight(url, "/") + "/v1"
}

// once replays the run once, in a copy of the workspace if there is one.
func (f *compareFlags) once(ctx context.Context, plan *experiment.Plan, candidate *agentlane.Candidate, c *experiment.Case, t *tape.Tape, scorers []experiment.Scorer, redact func(string) string) (o *experiment.Outcome, err error) {
	dir := ""
	if f.workspace != "" {
		parent, err := os.MkdirTemp("", "tapedeck-workspace-")
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(parent)) }()
		dir = filepath.Join(parent, "workspace")
		if err := os.CopyFS(dir, os.DirFS(f.workspace)); err != nil {
			return nil, fmt.Errorf("--workspace: %w", err)
		}
	}
	if f.judgedBy != "" {
		check, err := experiment.Check(f.judgedBy, f.scoreTime, f.environ(), dir)
		if err != nil {
			return nil, fmt.Errorf("--check: %w", err)
		}
		scorers = append([]experiment.Scorer{check}, scorers...)
	}
	candidate.Options.Dir = dir
	x := &experiment.Experiment{Plan: plan, Scorers: scorers, Redact: redact, Open: func(context.Context, *experiment.Case) (*tape.Tape, error) { return t, nil }}
	return x.One(ctx, candidate, c)
}
