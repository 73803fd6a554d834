// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/evaluation/suite"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/agentreplay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

const suiteHelp = `A suite is a folder of recorded runs, each with what a replay of it has to hold: a
folder per case with tape.json and case.yaml, which is written for people to edit. It
belongs into the repository of the agent.`

func newSuite() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "suite",
		Short: "Keep recorded runs as regression tests, and replay them in CI",
		Long:  suiteHelp,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSuiteAdd(), newSuiteList(), newSuiteRun())
	return cmd
}

func addSuite(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "suite", "tapes", "the folder of the suite")
}

func newSuiteAdd() *cobra.Command {
	var f refs
	var dir, name string
	var replace bool
	cmd := &cobra.Command{
		Use:   "add REF --name NAME",
		Short: "Put a recorded run into a suite",
		Long: `Put a recorded run into a suite, with what is expected of a replay: the tool calls and
the answer of the recording, and equal events. Edit NAME/case.yaml to expect less, or
something else; docs/evaluate.md says what can stand there.

` + refHelp,
		Example: `  tapedeck suite add 4bf92f35 --deck ./deck --name refund-of-two-orders`,
		Args:    needArgs("a REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("suite add takes one REF, not %d", len(args))
			}
			if name == "" {
				return errors.New("--name is missing")
			}
			t, _, err := f.OpenOne(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			folder, err := suite.Add(dir, name, t, t.AppendJSON(nil), replace)
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), folder)
			}
			return err
		},
	}
	addSuite(cmd, &dir)
	cmd.Flags().StringVar(&name, "name", "", "the name of the case: letters, digits, dots, hyphens and underscores")
	cmd.Flags().BoolVar(&replace, "replace", false, "write over a case of this name, and what was edited in it")
	f.add(cmd, "ID")
	return cmd
}

// suiteCase is a line of suite list.
type suiteCase struct {
	Name    string `json:"name"`
	RunID   string `json:"run_id"`
	Events  int    `json:"events"`
	Compare string `json:"compare"`
	Calls   int    `json:"calls"` // that are expected; -1: they do not matter
	Answer  bool   `json:"answer"`
}

func newSuiteList() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the cases of a suite",
		Long:  suiteHelp + "\n\nThe exit code is 0 if all cases can be read, else 2.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cases, broken, err := suite.Open(dir)
			if err != nil {
				return err
			}
			for _, c := range cases {
				line := suiteCase{c.Name, c.Tape.Run.RunID, len(c.Tape.Events), c.Compare, -1, c.Answer != nil}
				calls := "any calls"
				if c.Calls != nil {
					line.Calls = len(c.Calls.Expect)
					calls = fmt.Sprintf("%d calls (%s)", line.Calls, c.Calls.Order)
				}
				if asJSON {
					err = writeJSON(cmd.OutOrStdout(), line)
				} else {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%-30s %s  %d events (%s), %s, %s\n", c.Name, deck.ShortID(c.Tape.Run.RunID), line.Events, c.Compare, calls,
						map[bool]string{true: "answer", false: "any answer"}[line.Answer])
				}
				if err != nil {
					return err
				}
			}
			for _, err := range broken {
				complain(cmd.ErrOrStderr(), err)
			}
			if len(broken) > 0 {
				return &exitError{code: exitFailed}
			}
			return nil
		},
	}
	addSuite(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per line")
	return cmd
}

type suiteRunFlags struct {
	replayerFlags
	dir, pages      string
	only            []string
	repeat          int
	checkTime       time.Duration
	check           string
	asJSON          bool
	markdown, junit string
}

func newSuiteRun() *cobra.Command {
	var f suiteRunFlags
	cmd := &cobra.Command{
		Use:   "run -- COMMAND…",
		Short: "Replay the cases of a suite, and check what is expected of them",
		Long: `Replay the cases of a suite one after the other, as "replay REF -- COMMAND" does it,
and check what case.yaml expects. A replay also has to be one: the command ends with 0,
every model call and tool call is a recorded one, and no tool runs that was not declared.

With --repeat N each case is replayed N times. One that passes some of the times and
not others is flaky, and a failure: the report says how often it passed.

The exit code is 0 if every case passed, 1 if one failed or is flaky, 2 if one could not
be read or replayed.`,
		Example: `  tapedeck suite run --input stdin --junit suite.xml -- python agent.py
  tapedeck suite run --only 'refund-*' --repeat 5 --input arg -- node agent.js`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			switch {
			case dash < 0 || dash == len(args):
				return errors.New("there is no command behind a --")
			case dash > 0:
				return fmt.Errorf("suite run takes no %s; --only names cases, --suite the folder", args[0])
			}
			return f.run(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	addSuite(cmd, &f.dir)
	flags.StringArrayVar(&f.only, "only", nil, "only the cases with this name; * stands for anything (repeatable)")
	flags.IntVar(&f.repeat, "repeat", 1, "replay each case so often")
	addCheck(flags, &f.check, &f.checkTime)
	flags.BoolVar(&f.asJSON, "json", false, "print the report as JSON")
	flags.StringVar(&f.markdown, "markdown", "", "write the report as Markdown to this file")
	flags.StringVar(&f.junit, "junit", "", "write the report as JUnit XML to this file")
	flags.StringVar(&f.pages, "pages", "", "write a page with both runs side by side into this folder for each case that did not pass")
	f.replayerFlags.add(cmd)
	return cmd
}

// wanted are the cases that --only names.
func (f *suiteRunFlags) wanted(cases []*suite.Case) ([]*suite.Case, error) {
	if len(f.only) == 0 {
		return cases, nil
	}
	var list []*suite.Case
	used := map[string]bool{}
	for _, c := range cases {
		for _, pattern := range f.only {
			fits, err := path.Match(pattern, c.Name)
			if err != nil {
				return nil, fmt.Errorf("--only %q: %w", pattern, err)
			}
			if fits {
				used[pattern] = true
				if !slices.Contains(list, c) {
					list = append(list, c)
				}
			}
		}
	}
	for _, pattern := range f.only {
		if !used[pattern] {
			return nil, fmt.Errorf("--only %q fits no case", pattern)
		}
	}
	return list, nil
}

func (f *suiteRunFlags) run(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
	if f.repeat < 1 || f.checkTime <= 0 {
		return errors.New("--repeat and --check-timeout must be positive")
	}
	options, err := f.replayerFlags.open(argv, stderr)
	if err != nil {
		return err
	}
	cases, broken, err := suite.Open(f.dir)
	if err != nil {
		return err
	}
	if cases, err = f.wanted(cases); err != nil {
		return err
	}
	report := suite.Report{Suite: f.dir, Command: argv, Repeat: f.repeat, Cases: []suite.Result{}, Broken: []string{}}
	for _, err := range broken {
		report.Broken = append(report.Broken, err.Error())
	}
	for _, c := range cases {
		result := suite.Result{Name: c.Name, Source: c.Tape.Run.RunID}
		for n := range f.repeat {
			replay, err := f.one(ctx, options, c, n+1)
			if err != nil {
				return err
			}
			result.Replays = append(result.Replays, replay)
		}
		result.Conclude()
		report.Cases = append(report.Cases, result)
	}
	report.Conclude()
	return f.report(&report, stdout)
}

func (f *suiteRunFlags) report(report *suite.Report, stdout io.Writer) error {
	err := writeReports(reportFile{f.markdown, func(w io.Writer) error {
		_, err := io.WriteString(w, report.Markdown())
		return err
	}}, reportFile{f.junit, report.JUnit})
	if err != nil {
		return err
	}
	if f.asJSON {
		err = writeJSON(stdout, report)
	} else {
		_, err = io.WriteString(stdout, timeline.Clean(report.Text()))
	}
	if code := report.ExitCode(); err == nil && code != exitOK {
		err = &exitError{code: code}
	}
	return err
}

// one replays a case, for the n-th time, and judges it. An error ends the suite.
func (f *suiteRunFlags) one(ctx context.Context, o agentreplay.Options, c *suite.Case, n int) (out suite.Replay, err error) {
	out = suite.Replay{ID: fmt.Sprintf("suite-%s-%d", c.Name, n), Status: suite.NotDone, Reasons: []string{}}
	if o.Level = compare.Level(cmp.Or(c.Compare, f.compare)); c.Compare == suite.NoEvents {
		o.Level = compare.Actions
	}
	dir, err := os.MkdirTemp("", "tapedeck-suite-")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if len(c.Rules.File) > 0 {
		if o.Rules.Rules != "" {
			return out, fmt.Errorf("%s has rules of its own: --rules is for suites whose cases have none", c.Name)
		}
		o.Rules.Rules = filepath.Join(dir, "rules.yaml")
		if err := os.WriteFile(o.Rules.Rules, c.Rules.File, 0o600); err != nil {
			return out, err
		}
	}
	of, err := agentreplay.Run(ctx, o, agentreplay.Recording{Tape: c.Tape, At: replay.Location{Name: filepath.Join(c.Dir, tape.TapeFile)}}, out.ID)
	switch {
	case ctx.Err() != nil, errors.Is(err, rerun.ErrNotRun):
		return out, err
	case err != nil:
		out.Reasons = append(out.Reasons, err.Error())
		return out, nil
	}
	out.Notes = of.Report.Notes()
	for _, check := range of.Report.Checks {
		if check.OK || check.Name == rerun.CheckAnswer || check.Name == rerun.CheckEvents && c.Compare == suite.NoEvents {
			continue // what is expected of the answer stands in the case
		}
		reason := check.Name
		if check.Detail != "" {
			reason += ": " + check.Detail
		}
		out.Reasons = append(out.Reasons, reason)
	}
	switch {
	case of.Report.Verdict == rerun.NotDone:
		return out, nil
	case of.Tape == nil: // it left the recording, and no run came that could be judged
		out.Status = suite.Failed
		return out, f.page(c, of)
	}
	out.Reasons = append(out.Reasons, c.Judge(of.Tape, of.Answer())...)
	checks := []string{f.check}
	if c.Answer != nil {
		checks = append(checks, c.Answer.Check)
	}
	for _, check := range checks {
		if check == "" {
			continue
		}
		if err := f.judged(ctx, check, c, of, &out); err != nil {
			return out, err
		}
	}
	if out.Status = suite.Passed; len(out.Reasons) > 0 {
		out.Status = suite.Failed
		return out, f.page(c, of)
	}
	return out, nil
}

// judged asks a command what it says of the replay of a case.
func (f *suiteRunFlags) judged(ctx context.Context, check string, c *suite.Case, of *agentreplay.Outcome, out *suite.Replay) (err error) {
	judge, err := newJudge(check, f.checkTime, f.checkEnviron())
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	defer func() { err = errors.Join(err, judge.Close()) }()
	result, err := judgeReplay(ctx, judge, c.Tape, of)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.Name, err)
	case !result.Told():
		out.Reasons = append(out.Reasons, "answer: the check could not tell")
	case result.Code != 0:
		reason := fmt.Sprintf("answer: the check ended with exit code %d", result.Code)
		if result.Output != "" {
			reason += ": " + firstOf(result.Output)
		}
		out.Reasons = append(out.Reasons, reason)
	}
	return nil
}

// page shows a case that did not pass.
func (f *suiteRunFlags) page(c *suite.Case, of *agentreplay.Outcome) error {
	if f.pages == "" {
		return nil
	}
	if err := os.MkdirAll(f.pages, 0o700); err != nil {
		return err
	}
	return writeReports(reportFile{filepath.Join(f.pages, c.Name+".html"), of.Page})
}
