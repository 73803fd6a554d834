// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/evaluation/checkcmd"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment"
	"github.com/tapedeck/tapedeck/internal/evaluation/minimise"
	"github.com/tapedeck/tapedeck/internal/replay/agentreplay"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/tape"
)

type minimiseFlags struct {
	refs
	replayerFlags
	check         string
	checkTime     time.Duration
	out, state    string
	downTo        string
	maxChecks     int
	maxTime       time.Duration
	anyCode       bool
	asJSON, quiet bool
}

// ofTheSearch are the flags on which an outcome depends, beside ofThePlan.
var ofTheSearch = []string{"any-exit-code", "check-timeout", "timeout", "candidate-model", "system-prompt"}

func newMinimise() *cobra.Command {
	var f minimiseFlags
	cmd := &cobra.Command{
		Use:   "minimise REF --check CHECK [-- COMMAND…]",
		Short: "Find the smallest part of a run that still fails a check",
		Long: `Find the fewest events, messages and characters of a tape for which a check still
fails, by delta debugging.

The check is a command, split into words without a shell. It gets the path of a
tape for {tape}, and in $TAPEDECK_TAPE, and says with its exit code what it thinks
of it: 0 passes, 125 (or a signal, or a timeout) cannot tell, any other fails. Only
what fails with the code that the run fails with is kept, unless --any-exit-code.

With a command behind --, each candidate is what the command is replayed on, as
"replay REF -- COMMAND" does it. The check gets the tape of that replay, the recording
as {recording}, the report as {report} and the answer as {answer}.

What is kept is a valid tape with ids of its own. It says of which tape it is a
part (extensions.tapedeck.minimised), and carries the tag of a replay, so that
nothing takes it for production.

Each outcome is kept by the content of the candidate. With --state they are kept in
a folder: the same command goes on after an interrupt or a kill, checks nothing
twice, and comes to the same bytes. Another run, check or command, also one whose
files have changed, is refused there.

` + refHelp + `The exit code is 0 if nothing more can be taken away. It is 1 if the search was
stopped before (what was found is written), or the check is not reliable. It is 2 if
the check does not fail on the run, or something could not be run.`,
		Example: `  tapedeck minimise 4bf92f35 --deck ./deck --check 'python3 check.py {tape}' -o small.json --state ./search
  tapedeck minimise ./tape.json --check './fails.sh {answer}' --input stdin -- python agent.py`,
		Args: needArgs("a REF"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var argv []string
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args, argv = args[:dash], args[dash:]
				if len(argv) == 0 {
					return errors.New("there is no command behind the --")
				}
			}
			if len(args) != 1 {
				return fmt.Errorf("minimise takes one REF, not %d", len(args))
			}
			settings, err := settingsOf(cmd, append(ofTheSearch, ofThePlan...)...)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), args[0], argv, settings, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	addCheck(flags, &f.check, &f.checkTime)
	flags.StringVarP(&f.out, "out", "o", "minimised.json", "where the tape is written")
	flags.StringVar(&f.state, "state", "", "keep the outcomes in this folder, and go on from there")
	flags.StringVar(&f.downTo, "down-to", string(minimise.Characters), "what is taken apart: events, messages (also tools and extensions) or characters (also JSON values)")
	flags.IntVar(&f.maxChecks, "max-checks", 5000, "run the check so often by this call at most; 0 is no bound")
	flags.DurationVar(&f.maxTime, "max-time", 0, "stop after this long; 0 is no bound")
	flags.BoolVar(&f.anyCode, "any-exit-code", false, "any exit code but 0 and 125 is the failure that is looked for")
	flags.BoolVar(&f.asJSON, "json", false, "print the report as JSON")
	flags.BoolVar(&f.quiet, "quiet", false, "no line per step on stderr")
	f.refs.add(cmd, "ID")
	f.addUnverified()
	f.replayerFlags.add(cmd)
	return cmd
}

func (f *minimiseFlags) run(ctx context.Context, ref string, argv []string, settings map[string]string, stdout, stderr io.Writer) (err error) {
	if f.maxChecks < 0 || f.maxTime < 0 {
		return errors.New("--max-checks and --max-time must not be negative")
	}
	if !slices.Contains(minimise.Levels, minimise.Level(f.downTo)) {
		return fmt.Errorf("--down-to %q is unknown: want events, messages or characters", f.downTo)
	}
	judge, err := newJudge(f.check, f.checkTime, f.checkEnviron(ref, f.Deck))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, judge.Close()) }()
	var options agentreplay.Options
	if len(argv) > 0 {
		if options, err = f.replayerFlags.open(argv, io.Discard); err != nil { // the command writes the same a hundred times
			return err
		}
	}
	source, _, err := f.OpenOne(ctx, ref)
	if err != nil {
		return err
	}
	if err := f.free(source); err != nil {
		return err
	}
	journal, err := minimise.OpenJournal(f.state, minimise.Plan{
		Source: source.TapeID, Check: judge.Argv, Command: argv, Programs: programsOf(judge.Argv, argv), Settings: settings,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	if f.maxTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.maxTime, errors.New("max-time"))
		defer cancel()
	}
	m := &minimise.Minimiser{
		Source: source, Journal: journal, DownTo: minimise.Level(f.downTo), MaxChecks: f.maxChecks,
		Check: func(ctx context.Context, t *tape.Tape) (minimise.Outcome, error) {
			return f.outcome(ctx, judge, options, t)
		},
		Smaller: func(_ *tape.Tape, s minimise.Size, checks int) error {
			if !f.quiet {
				say(stderr, "after %d checks: %s", checks, sizeText(s))
			}
			return nil
		},
	}
	result, err := m.Run(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.out, result.Tape.AppendJSON(nil), 0o600); err != nil {
		return err
	}
	if f.asJSON {
		err = writeJSON(stdout, result)
	} else {
		_, err = fmt.Fprintf(stdout, "%s\n  of    %s: %s\n  kept  %s: %s\n  %s fails with %s; %d checks now, %d outcomes known before\n",
			resultText(result), deck.ShortID(source.Run.RunID), sizeText(result.From), printable(f.out), sizeText(result.To), printable(strings.Join(judge.Argv, " ")), result.Failure, result.Checks, result.Known)
	}
	if err == nil && !result.Minimal {
		err = &exitError{code: exitPartial}
	}
	return err
}

func resultText(r *minimise.Result) string {
	switch {
	case r.Flaky:
		return "the check is not reliable: it failed on what is kept, and then did not"
	case r.Stopped != "":
		return "stopped (" + r.Stopped + "): less may do"
	default:
		return "minimal: whatever more is taken away, the check does not fail any more"
	}
}

func sizeText(s minimise.Size) string {
	return fmt.Sprintf("%d events, %d messages, %d characters", s.Events, s.Messages, s.Characters)
}

// programsOf are the programs of commands, and those of their arguments that are files: name → digest.
func programsOf(commands ...[]string) map[string]string {
	list := map[string]string{}
	for _, argv := range commands {
		if len(argv) == 0 {
			continue
		}
		id := experiment.Identify(argv)
		list[argv[0]] = id.SHA256
		maps.Copy(list, id.Files)
	}
	return list
}

// outcome is what the check says of a candidate, or of a replay of the command on it.
func (f *minimiseFlags) outcome(ctx context.Context, judge *checkcmd.Judge, options agentreplay.Options, t *tape.Tape) (minimise.Outcome, error) {
	var result checkcmd.Result
	var err error
	if len(options.Argv) == 0 {
		result, err = judge.Recorded(ctx, t)
	} else {
		out, replayErr := agentreplay.Run(ctx, options, agentreplay.Recording{Tape: t}, "minimise-"+strings.TrimPrefix(t.TapeID, "sha256:")[:16])
		switch {
		case ctx.Err() != nil, errors.Is(replayErr, rerun.ErrNotRun):
			return "", replayErr
		case replayErr != nil, out.Tape == nil, out.Report.Exit.TimedOut:
			return minimise.Undecided, nil // a candidate that the command cannot be replayed on
		}
		result, err = judgeReplay(ctx, judge, t, out)
	}
	switch {
	case err != nil:
		return "", err
	case !result.Told():
		return minimise.Undecided, nil
	case result.Code == 0:
		return minimise.Passes, nil
	case f.anyCode:
		return minimise.Fails, nil
	}
	return minimise.Outcome(fmt.Sprintf("exit code %d", result.Code)), nil
}

// free refuses to write over a file that is not an earlier outcome of the same search.
func (f *minimiseFlags) free(source *tape.Tape) error {
	data, err := readBounded(f.out, tape.MaxBytes)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if t, err := tape.Read(data); err == nil && t.Extensions.Get("tapedeck").Get(minimise.Namespace).Get("of").Str() == source.TapeID {
		return nil
	}
	return fmt.Errorf("%s is there already, and is no part of %s: -o names another file", f.out, source.TapeID)
}
