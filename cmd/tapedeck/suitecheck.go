// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/catalog"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/traceline"
	"github.com/tapedeck/tapedeck/internal/evaluation/expect"
	"github.com/tapedeck/tapedeck/internal/evaluation/suite"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
)

type suiteCheckFlags struct {
	refs
	filter    runFilter
	only      []string
	follow    bool
	every     time.Duration
	checkTime time.Duration
	asJSON    bool
	junit     string
	lines     lineFlags
}

func newSuiteCheck() *cobra.Command {
	var f suiteCheckFlags
	cmd := &cobra.Command{
		Use:   "check FILE [REF…]",
		Short: "Hold recorded runs against what cases expect, without running anything",
		Long: `Hold recorded runs against what cases expect, without running an agent. FILE is a
case.yaml, or the folder of a suite: then all of its cases are taken. Of a case,
expect, calls and answer count. What a replay has to hold beside them does not.

The runs are those that the REFs stand for, else those of --deck that all filters take,
as for ls. A case says under runs which of them it is for; without that it is for all.
A REF may be a file of telemetry too: its runs are derived in memory.

` + refHelp + `
--follow checks the runs of the deck, and then each one that comes, until it is
interrupted. A run of which more comes later is checked again.

With --stdin the tapes come as lines of JSON, as an engine that works over a deck sends
them (docs/scale-out.md), and each is answered by a line.

The exit code is 0 if all runs hold, 1 if one does not, 2 if a case or a run could not
be read, 3 if a case had no run to check.`,
		Example: `  tapedeck suite check case.yaml 4bf92f35 --deck ./deck
  tapedeck suite check ./tapes --deck s3://tapes/prod --since 1h --junit check.xml
  tapedeck suite check case.yaml traces.jsonl
  tapedeck suite check case.yaml --deck ./deck --agent clerk --follow`,
		Args: needArgs("a FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.lines.check(cmd, args[1:], "only", "check-timeout"); err != nil {
				return err
			}
			if f.lines.stdin {
				return f.runLines(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout())
			}
			return f.run(cmd.Context(), args[0], args[1:], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	f.refs.add(cmd, "ID")
	f.takeTelemetry()
	f.filter.Listed = true
	f.filter.add(cmd)
	addOnly(flags, &f.only)
	flags.BoolVar(&f.follow, "follow", false, "check the runs that come, too, until interrupted")
	flags.DurationVar(&f.every, "every", 2*time.Second, "with --follow, look at the deck again after this long")
	flags.DurationVar(&f.checkTime, "check-timeout", time.Minute, "how long a command of a case may take")
	flags.BoolVar(&f.asJSON, "json", false, "print the report as JSON; with --follow a line for each run that does not hold")
	flags.StringVar(&f.junit, "junit", "", "write the report as JUnit XML to this file")
	f.lines.add(flags, "answer each with what the cases say of its tape")
	return cmd
}

func (f *suiteCheckFlags) check(named []string) error {
	if err := f.filter.check(); err != nil {
		return err
	}
	f.filter.Tenant = f.Tenant
	switch {
	case f.checkTime <= 0 || f.every <= 0:
		return errors.New("--every and --check-timeout must be positive")
	case f.follow && (len(named) > 0 || f.junit != ""):
		return errors.New("--follow is for the runs of --deck, without REF and --junit")
	case len(named) == 0 && f.Deck == "":
		return errors.New("there is no run to check: name a REF, or a deck with --deck")
	}
	return nil
}

func (f *suiteCheckFlags) run(ctx context.Context, file string, named []string, stdout, stderr io.Writer) error {
	if err := f.check(named); err != nil {
		return err
	}
	cases, broken, err := f.open(file)
	if err != nil {
		return err
	}
	k := newRunCheck(cases, expect.Options{Env: programEnviron(f.Deck), Timeout: f.checkTime})
	for _, err := range broken {
		k.report.Broken = append(k.report.Broken, err.Error())
	}
	switch {
	case f.follow:
		return f.watch(ctx, k, stdout, stderr)
	case len(named) > 0:
		err = f.checkNamed(ctx, k, named)
	default:
		err = f.checkDeck(ctx, k, stderr)
	}
	if err != nil {
		return err
	}
	k.report.Conclude()
	if err := writeReports(reportFile{f.junit, k.report.JUnit}); err != nil {
		return err
	}
	if f.asJSON {
		err = writeJSON(stdout, &k.report)
	} else {
		_, err = io.WriteString(stdout, timeline.Clean(k.report.Text()))
	}
	if code := k.report.ExitCode(); err == nil && code != exitOK {
		err = &exitError{code: code}
	}
	return err
}

// heldLine is the answer about a run.
type heldLine struct {
	answered
	RunID string     `json:"run_id,omitempty"`
	Cases []heldCase `json:"cases"` // that are for it
}

// heldCase is what one case says of a run.
type heldCase struct {
	Case     string           `json:"case"`
	Held     bool             `json:"held"`
	Failures []expect.Failure `json:"failures,omitempty"`
}

// runLines checks tapes that come as lines.
func (f *suiteCheckFlags) runLines(ctx context.Context, file string, stdin io.Reader, stdout io.Writer) error {
	cases, broken, err := f.open(file)
	if err = errors.Join(append(broken, err)...); err != nil {
		return err
	}
	k := newRunCheck(cases, expect.Options{Env: programEnviron(""), Timeout: f.checkTime})
	if f.lines.jobs > k.atATime() {
		return errors.New("--jobs: commands of a case run one at a time")
	}
	return f.lines.answer(ctx, stdin, stdout, func(a answered, r *traceline.Request) (any, bool) {
		line := heldLine{answered: a, Cases: []heldCase{}}
		t, err := tape.ReadSealed([]byte(r.Tape))
		var of []judgement
		if err == nil {
			run := expect.Of(t, t.Output.Text)
			run.Columns.Area = r.Area
			line.RunID = t.Run.RunID
			of, err = k.judge(ctx, run, nil)
		}
		found := err != nil
		if err != nil {
			line.Error = err.Error()
		}
		for _, j := range of {
			line.Cases = append(line.Cases, heldCase{k.cases[j.of].Name, len(j.failures) == 0, j.failures})
			found = found || len(j.failures) > 0
		}
		return line, found
	})
}

// open reads the cases: one, or those of a suite.
func (f *suiteCheckFlags) open(file string) (cases []*suite.Case, broken []error, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		cases, broken, err = suite.Open(file)
	} else {
		var c *suite.Case
		if c, err = suite.OpenFile(file); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		cases = []*suite.Case{c}
	}
	if err != nil {
		return nil, nil, err
	}
	cases, err = wanted(cases, f.only)
	cases = slices.DeleteFunc(cases, func(c *suite.Case) bool {
		if !c.Expects() {
			broken = append(broken, fmt.Errorf("%s expects nothing of a recorded run: want expect, calls or answer", c.Name))
		}
		return !c.Expects()
	})
	return cases, broken, err
}

// checkNamed checks the runs that REFs stand for.
func (f *suiteCheckFlags) checkNamed(ctx context.Context, k *runCheck, named []string) error {
	wants := f.filter.Wants()
	for _, ref := range named {
		for at, err := range f.Resolve(ctx, ref, replay.WholeDeck) {
			if err != nil {
				return err
			}
			t, _, err := f.Open(ctx, &at)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				k.report.Broken = append(k.report.Broken, err.Error())
				continue
			}
			run := expect.Of(t, t.Output.Text)
			run.Columns.Area = string(at.Ref.Location.Area)
			if wants != nil && !wants(run.Columns) {
				continue
			}
			of, err := k.judge(ctx, run, nil)
			if err != nil {
				return err
			}
			k.ids.Add(t.Run.RunID)
			k.add(t.Run.RunID, at.Ref.URL, of)
		}
	}
	return nil
}

// checkers is how many runs are read at a time.
const checkers = 8

// checkDeck checks the runs of the deck that the filters take, in the order in which they started.
func (f *suiteCheckFlags) checkDeck(ctx context.Context, k *runCheck, stderr io.Writer) (err error) {
	d, err := replay.OpenDeck(ctx, f.Deck)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	var list []view.Run
	failed := 0
	for r, err := range f.filter.runs(ctx, d, view.Query{Columns: k.columns(), Dropped: true}, stderr, &failed) {
		if err != nil {
			return err
		}
		list = append(list, r)
		k.ids.Add(r.RunID)
	}
	if failed > 0 {
		k.report.Broken = append(k.report.Broken, timeline.Plural(failed, "part", "parts")+" of the deck could not be read")
	}
	slices.SortFunc(list, func(a, b view.Run) int {
		return cmp.Or(cmp.Compare(a.StartedAt, b.StartedAt), strings.Compare(a.RunID, b.RunID), strings.Compare(a.Ref.Key, b.Ref.Key))
	})
	from := catalog.Catalog{Deck: d, Tenant: f.Tenant}
	judged := make([][]judgement, len(list))
	unread := make([]error, len(list))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(k.atATime())
	for i := range list {
		g.Go(func() (err error) {
			judged[i], err = k.judge(ctx, expect.Run{Columns: &list[i].Meta}, func() (*tape.Tape, error) {
				r, err := from.Read(ctx, list[i].Ref)
				if err != nil {
					unread[i] = err
					return nil, err
				}
				return r.Tape, nil
			})
			switch {
			case unread[i] == nil || ctx.Err() != nil:
				return err
			case isStoreError(unread[i]) && !errors.Is(unread[i], deck.ErrCorrupt) && !errors.Is(unread[i], deck.ErrNotFound):
				return unread[i]
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range list {
		switch {
		case errors.Is(unread[i], deck.ErrNotFound): // erased meanwhile
		case unread[i] != nil:
			k.report.Broken = append(k.report.Broken, list[i].RunID+": "+unread[i].Error())
		default:
			url := list[i].Ref.URL
			if list[i].Dropped() {
				url = ""
			}
			k.add(list[i].RunID, url, judged[i])
		}
	}
	return nil
}

// failedLine is the line about a run that does not hold a case, as JSON.
type failedLine struct {
	Case string `json:"case"`
	suite.CheckedRun
}

// watch checks the runs that are there, and those that come.
func (f *suiteCheckFlags) watch(ctx context.Context, k *runCheck, stdout, stderr io.Writer) (err error) {
	for _, broken := range k.report.Broken {
		say(stderr, "%s", broken)
	}
	d, err := replay.OpenDeck(ctx, f.Deck)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	show := func(r *catalog.Run) error {
		run := expect.Of(r.Tape, r.Tape.Output.Text)
		run.Columns.Area = string(r.Ref.Location.Area)
		of, err := k.judge(ctx, run, nil)
		if err != nil {
			return err
		}
		failures := k.add(r.Tape.Run.RunID, r.Ref.URL, of)
		for _, c := range k.report.Cases {
			c.Forget()
		}
		for _, failed := range failures {
			if f.asJSON {
				err = writeJSON(stdout, failed)
			} else {
				_, err = io.WriteString(stdout, timeline.Clean(failed.Lines(failed.Case)))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	w := &deckTail{
		deck: d, catalog: catalog.Catalog{Deck: d, Tenant: f.Tenant}, filter: &f.filter, show: show, end: func() {},
		stderr: stderr, every: f.every, lines: math.MaxInt, wait: waiting,
	}
	if err := w.run(ctx); err != nil {
		return err
	}
	k.report.Conclude()
	say(stderr, "%s made, %d failed", timeline.Plural(k.report.Runs, "check", "checks"), k.report.Failed)
	if code := k.report.ExitCode(); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// runCheck holds runs against cases. judge is safe for concurrent use, add is not.
type runCheck struct {
	cases   []*suite.Case
	options expect.Options
	report  suite.Checked
	ids     deck.ShortIDs
}

func newRunCheck(cases []*suite.Case, o expect.Options) *runCheck {
	k := &runCheck{cases: cases, options: o, report: suite.Checked{Cases: []*suite.CheckedCase{}, Broken: []string{}}}
	for _, c := range cases {
		k.report.Cases = append(k.report.Cases, &suite.CheckedCase{Name: c.Name, Failed: []suite.CheckedRun{}})
	}
	return k
}

// columns are those that the cases look at.
func (k *runCheck) columns() []string {
	names := []string{"run_id", "started_at", "keep"}
	for _, c := range k.cases {
		names = append(names, c.Columns()...)
	}
	return names
}

// atATime is how many runs are judged at a time. Commands of a case may not bear company.
func (k *runCheck) atATime() int {
	if slices.ContainsFunc(k.cases, (*suite.Case).Commands) {
		return 1
	}
	return checkers
}

// judgement is what a case says of a run that it is for.
type judgement struct {
	of       int  // the case
	unkept   bool // nobody kept what the case asks for
	failures []expect.Failure
}

// judge holds a run against each case that is for it. The tape is opened once, and only if a case needs it.
func (k *runCheck) judge(ctx context.Context, r expect.Run, open func() (*tape.Tape, error)) (list []judgement, err error) {
	for i, c := range k.cases {
		if !c.Takes(r) {
			continue
		}
		if r.Tape == nil && c.NeedsTape() {
			if r.Columns.Dropped() {
				list = append(list, judgement{of: i, unkept: true})
				continue
			}
			if r.Tape, err = open(); err != nil {
				return nil, err
			}
			if r.Answer = r.Tape.Output.Text; !c.Takes(r) {
				continue
			}
		}
		o := k.options
		o.Command = func(ctx context.Context, command string) (string, error) { return k.command(ctx, command, r.Tape) }
		failures, err := c.Judge(ctx, r, o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		list = append(list, judgement{of: i, failures: failures})
	}
	return list, nil
}

// command asks a command of a case what it says of a run.
func (k *runCheck) command(ctx context.Context, command string, t *tape.Tape) (why string, err error) {
	judge, err := newJudge(command, k.options.Timeout, k.options.Env)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, judge.Close()) }()
	result, err := judge.Recorded(ctx, t)
	return whyNot(result), err
}

// add counts a run, and returns what it does not hold.
func (k *runCheck) add(runID, url string, of []judgement) (failed []failedLine) {
	for _, j := range of {
		if j.unkept {
			k.report.Cases[j.of].Unkept++
			continue
		}
		r := suite.CheckedRun{ID: k.ids.Of(runID), RunID: runID, URL: url, Failures: j.failures}
		k.report.Cases[j.of].Add(r)
		if len(j.failures) > 0 {
			failed = append(failed, failedLine{k.cases[j.of].Name, r})
		}
	}
	return failed
}
