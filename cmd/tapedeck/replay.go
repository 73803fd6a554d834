// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/tape/compare"
)

type replayFlags struct {
	refs
	mode, bisect           string
	failOn                 []string
	strict, asJSON, ndjson bool
	rerun                  rerunFlags
	models                 modelOnlyFlags
}

func newReplay() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay REF… | REF -- COMMAND…",
		Short: "Check recorded runs against themselves, or run an agent again on what was recorded",
		Long: `Does a changed agent still do what a run did? For two runs that are there take bisect.

With a command behind --, run it again. Model calls, calls of the oracle and of MCP
servers are answered from the tape. Its telemetry becomes a tape of its own, and the
two are compared event by event. The command gets what the run was asked as --input
says, and the variables that --print-env lists; nothing else of it is changed. Tools
of known frameworks are answered from the tape too, within the process of the agent.
Other tools run live, and are counted. With --model-only no agent runs: each recorded
turn is asked again of other models. docs/replay.md says more. The exit code is 0 if
the run is as recorded. It is 1 if it diverged or asked for something that is not
recorded, 2 if it could not be done and nothing was missed before.

Without a command, check recorded runs against themselves, without running a model, a
tool or a grader. REF is a tape or a task snapshot of waza, which gets the checks, exit
codes and documents of waza replay. A tape gets all checks of tapedeck verify, its
proof, and the consistency of the verdicts it holds; all problems are listed.

` + refHelp + `A deck stands for all its current tapes, any other folder for the snapshots and
tapes in it, which are told by their content; what is passed over is counted.

Consistent is not successful: the record of a run that failed can be consistent.
--fail-on-status error,failed makes it an issue too.

For two runs take the command bisect: it explains. --bisect is that of waza replay, for
snapshots: it compares the names and arguments of tool calls, up to the first difference.

--markdown, --junit and --html write files: with a command the report on the replay,
else one with a row or a test case for each run that was checked. A flag that does
nothing where it stands is an error.

The exit code is 0 if everything is consistent or equal, 1 if not, 2 if a file
could not be loaded.`,
		Example: `  tapedeck replay snapshot.json --json
  tapedeck replay snapshots/*.json s3://tapes/prod --ndjson | jq 'select(.pass|not)'
  tapedeck replay baseline.json --bisect failing.json
  tapedeck replay ./tape.json --input stdin -- python agent.py
  tapedeck replay 4bf92f35 --deck ./deck --input 'http:POST http://127.0.0.1:8000/ask' --answer http -- node server.js`,
		Args: needArgs("a REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &replaying{flags: &f, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), asJSON: f.asJSON || f.ndjson, lines: f.ndjson}
			dash := cmd.ArgsLenAtDash()
			mode := f.replayMode(dash >= 0)
			if err := mode.checkFlags(cmd.Flags()); err != nil {
				return err
			}
			switch {
			case mode == modeModels && dash >= 0:
				return errors.New("--model-only runs no command; leave out what is behind --")
			case mode == modeModels:
				return r.modelOnly(cmd.Context(), &f.models, compare.Level(f.rerun.compare), args)
			case mode&modesRun != 0:
				if dash < 0 {
					dash = len(args)
				}
				return r.rerun(cmd.Context(), args[:dash], args[dash:])
			}
			return r.run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&f.mode, "mode", waza.ModelReplay, "model-replay checks a record; live runs a command behind --, also for a snapshot, and for each run of a folder or a deck")
	cmd.Flags().StringVar(&f.bisect, "bisect", "", "as waza replay: compare the tool calls with those of this run; the command bisect says more")
	cmd.Flags().BoolVar(&f.strict, "strict", true, "also check what graders claim and, of tapes, that every tool call can be served")
	cmd.Flags().StringSliceVar(&f.failOn, "fail-on-status", nil, "statuses of runs that are an issue too: "+strings.Join(replay.Statuses, ", "))
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON: indented for one run, one line per run for several")
	cmd.Flags().BoolVar(&f.ndjson, "ndjson", false, "print one line of JSON per run, also for one run")
	f.add(cmd, "ID")
	f.addUnverified()
	f.rerun.add(cmd)
	f.models.add(cmd)
	return cmd
}

// replayMode is what a call does; dash says that there is a command behind --.
func (f *replayFlags) replayMode(dash bool) replayModes {
	switch {
	case f.models.on:
		return modeModels
	case f.rerun.printEnv:
		return modeEnv
	case dash:
		return modeCommand
	case f.bisect != "":
		return modeBisect
	}
	return modeCheck
}

// replaying is one call of replay.
type replaying struct {
	flags          *replayFlags
	stdout, stderr io.Writer
	code           int
	asJSON, lines  bool               // lines: on one line for each run
	checked        replay.CheckReport // what a file is written of
}

func (r *replaying) run(ctx context.Context, args []string) error {
	if i := slices.IndexFunc(r.flags.failOn, func(s string) bool { return !slices.Contains(replay.Statuses, s) }); i >= 0 {
		return fmt.Errorf("--fail-on-status %q is unknown; statuses are %s", r.flags.failOn[i], strings.Join(replay.Statuses, ", "))
	}
	switch mode := strings.ToLower(r.flags.mode); mode {
	case "", waza.ModelReplay:
	case live:
		return errors.New("--mode live needs a command: REF -- COMMAND…")
	default:
		return fmt.Errorf("--mode %q is unknown; the mode is %s", r.flags.mode, waza.ModelReplay)
	}
	if r.flags.bisect != "" {
		return r.bisect(ctx, args)
	}
	for _, arg := range args {
		if err := r.checkAll(ctx, arg, len(args) > 1); err != nil {
			if ctx.Err() == nil {
				err = errors.Join(err, r.writeChecks())
			}
			return err
		}
	}
	if err := r.writeChecks(); err != nil {
		return err
	}
	if r.code != exitOK {
		return &exitError{code: r.code}
	}
	return nil
}

// note keeps what is said of a run, if a file is written of it.
func (r *replaying) note(add func(*replay.CheckReport)) {
	if f := &r.flags.rerun; cmp.Or(f.markdown, f.junit, f.html) != "" {
		add(&r.checked)
	}
}

// reportFile is a file with a report in one form; no name is no file.
type reportFile struct {
	name  string
	write func(io.Writer) error
}

func writeReports(files ...reportFile) error {
	for _, file := range files {
		if file.name == "" {
			continue
		}
		var b bytes.Buffer
		if err := file.write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(file.name, b.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// writeChecks writes the files that were asked for.
func (r *replaying) writeChecks() error {
	f := &r.flags.rerun
	return writeReports(reportFile{f.markdown, r.checked.Markdown}, reportFile{f.junit, r.checked.JUnit}, reportFile{f.html, r.checked.HTML})
}

// checkAll checks what one argument stands for. A run that is the only one and cannot be loaded ends the call; among several, each run
// has its line.
func (r *replaying) checkAll(ctx context.Context, arg string, several bool) error {
	next, stop := iter.Pull2(r.flags.LoadRuns(ctx, arg))
	defer stop()
	one, err, more := next()
	if !more {
		err := fmt.Errorf("%s holds no tape", arg)
		r.note(func(c *replay.CheckReport) { c.Failed(arg, err) })
		return err
	}
	for more {
		following, followingErr, another := next()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		several = several || another
		r.lines = r.lines || several
		switch {
		case err == nil:
			err = r.check(one)
		case several:
			err = r.cannot(cmp.Or(one.Source, arg), err)
		default:
			r.note(func(c *replay.CheckReport) { c.Failed(cmp.Or(one.Source, arg), err) })
		}
		if err != nil {
			return err
		}
		one, err, more = following, followingErr, another
	}
	return nil
}

// cannot reports a run that could not be loaded, among others.
func (r *replaying) cannot(source string, err error) error {
	r.code = exitFailed
	complain(r.stderr, err)
	r.note(func(c *replay.CheckReport) { c.Failed(source, err) })
	if !r.asJSON {
		return nil
	}
	return r.print(replay.Failed{Source: source, Mode: waza.ModelReplay, Error: err.Error()})
}

func (r *replaying) worst(pass bool) {
	if !pass {
		r.code = max(r.code, exitPartial)
	}
}

// bisect is --bisect.
func (r *replaying) bisect(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("--bisect compares one run with another, not %d", len(args))
	}
	baseline, err := r.flags.LoadRun(ctx, args[0])
	if err != nil {
		return err
	}
	other, err := r.flags.LoadRun(ctx, r.flags.bisect)
	if err != nil {
		return err
	}
	plain := baseline.Snapshot != nil || other.Snapshot != nil
	c := waza.Bisect(args[0], r.flags.bisect, baseline.Events(plain), other.Events(plain))
	if !c.Match {
		r.code = exitPartial
	}
	if r.asJSON {
		err = r.print(c)
	} else {
		err = r.write(replay.BisectText(c))
	}
	if err == nil && r.code != exitOK {
		err = &exitError{code: r.code}
	}
	return err
}

// check checks one run and reports it.
func (r *replaying) check(one replay.Recorded) error {
	c := replay.Check{Strict: r.flags.strict, FailOn: r.flags.failOn, Warn: r.flags.say}
	if one.Snapshot != nil {
		report := c.Snapshot(one)
		r.worst(report.Pass)
		r.note(func(c *replay.CheckReport) { c.Snapshot(report) })
		if r.asJSON {
			return r.print(report)
		}
		return r.write(replay.SnapshotText(report))
	}
	report := c.Tape(one)
	r.worst(report.Pass)
	r.note(func(c *replay.CheckReport) { c.Tape(&report) })
	if r.asJSON {
		return r.print(report)
	}
	return r.write(report.Text())
}

func (r *replaying) write(text []byte) error {
	_, err := r.stdout.Write(text)
	return err
}

// print writes JSON as waza does: indented, with HTML escaped, and a line feed; or on one line.
func (r *replaying) print(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if !r.lines {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(v); err != nil {
		return err
	}
	return r.write(b.Bytes())
}
