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
	"github.com/spf13/pflag"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/evaluation/checkcmd"
	"github.com/tapedeck/tapedeck/internal/evaluation/expect"
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
	cmd.AddCommand(newSuiteAdd(), newSuiteImport(), newSuiteList(), newSuiteRun(), newSuiteCheck())
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
	Expect  bool   `json:"expect"`
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
				line := listedCase(c)
				if asJSON {
					err = writeJSON(cmd.OutOrStdout(), line)
				} else {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), line.text(c))
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

func listedCase(c *suite.Case) suiteCase {
	line := suiteCase{Name: c.Name, Compare: c.Compare, Calls: -1, Answer: c.Answer != nil, Expect: c.Expect != nil}
	if c.Tape != nil {
		line.RunID, line.Events = c.Tape.Run.RunID, len(c.Tape.Events)
	}
	if c.Calls != nil {
		line.Calls = len(c.Calls.Expect)
	}
	return line
}

// text is the line for a person.
func (l *suiteCase) text(c *suite.Case) string {
	if c.Tape == nil {
		return fmt.Sprintf("%-30s no tape: for suite check", l.Name)
	}
	calls, answer, more := "any calls", "any answer", ""
	if c.Calls != nil {
		calls = fmt.Sprintf("%d calls (%s)", l.Calls, c.Calls.Order)
	}
	if l.Answer {
		answer = "answer"
	}
	if l.Expect {
		more = ", expect"
	}
	return fmt.Sprintf("%-30s %s  %d events (%s), %s, %s%s", l.Name, deck.ShortID(l.RunID), l.Events, l.Compare, calls, answer, more)
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
	addOnly(flags, &f.only)
	flags.IntVar(&f.repeat, "repeat", 1, "replay each case so often")
	addCheck(flags, &f.check, &f.checkTime)
	flags.BoolVar(&f.asJSON, "json", false, "print the report as JSON")
	flags.StringVar(&f.markdown, "markdown", "", "write the report as Markdown to this file")
	flags.StringVar(&f.junit, "junit", "", "write the report as JUnit XML to this file")
	flags.StringVar(&f.pages, "pages", "", "write a page with both runs side by side into this folder for each case that did not pass")
	f.replayerFlags.add(cmd)
	return cmd
}

// addOnly adds the flag that names cases.
func addOnly(flags *pflag.FlagSet, only *[]string) {
	flags.StringArrayVar(only, "only", nil, "only the cases with this name; * stands for anything (repeatable)")
}

// wanted are the cases that --only names.
func wanted(cases []*suite.Case, only []string) ([]*suite.Case, error) {
	if len(only) == 0 {
		return cases, nil
	}
	var list []*suite.Case
	used := map[string]bool{}
	for _, c := range cases {
		for _, pattern := range only {
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
	for _, pattern := range only {
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
	if cases, err = wanted(cases, f.only); err != nil {
		return err
	}
	if cases = withTape(cases, stderr); len(cases)+len(broken) == 0 {
		return fmt.Errorf("%s: no case has a tape to replay; suite check takes those", f.dir)
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

// withTape leaves out the cases that are for suite check alone, and says so.
func withTape(cases []*suite.Case, stderr io.Writer) []*suite.Case {
	return slices.DeleteFunc(cases, func(c *suite.Case) bool {
		if c.Tape == nil {
			say(stderr, "%s has no tape, and is not replayed; suite check takes it", c.Name)
		}
		return c.Tape == nil
	})
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
	judged := func(ctx context.Context, check string) (string, error) { return f.judged(ctx, check, c, of) }
	failures, err := c.Judge(ctx, expect.Of(of.Tape, of.Answer()), expect.Options{Env: f.checkEnviron(), Timeout: f.checkTime, Command: judged})
	if err == nil && f.check != "" {
		var why string
		if why, err = judged(ctx, f.check); why != "" {
			failures = append(failures, expect.Failure{Expectation: "answer", Found: why})
		}
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", c.Name, err)
	}
	for _, failure := range failures {
		out.Reasons = append(out.Reasons, failure.String())
	}
	if out.Status = suite.Passed; len(out.Reasons) > 0 {
		out.Status = suite.Failed
		return out, f.page(c, of)
	}
	return out, nil
}

// judged asks a command what it says of the replay of a case: why it does not pass, "" if it does.
func (f *suiteRunFlags) judged(ctx context.Context, check string, c *suite.Case, of *agentreplay.Outcome) (why string, err error) {
	judge, err := newJudge(check, f.checkTime, f.checkEnviron())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, judge.Close()) }()
	result, err := judgeReplay(ctx, judge, c.Tape, of)
	return whyNot(result), err
}

// whyNot is what a check says of a run, "" if it passes.
func whyNot(r checkcmd.Result) string {
	switch {
	case !r.Told():
		return "the check could not tell"
	case r.Code == 0:
		return ""
	case r.Output == "":
		return fmt.Sprintf("the check ended with exit code %d", r.Code)
	}
	return fmt.Sprintf("the check ended with exit code %d: %s", r.Code, firstOf(r.Output))
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
