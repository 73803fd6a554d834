// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/capture"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/surfaces/doctor"
)

type recordFlags struct {
	redactionFlags
	harnessFlags
	env            envFlags
	sign           signFlag
	to, tenant     string
	tee            bool
	timeout, grace time.Duration
}

func newRecord() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record --to DECK -- COMMAND…",
		Short: "Run an agent and make tapes of what it emits",
		Long: `Run a command with a receiver of OTLP on loopback, and make tapes of the telemetry
that comes, as derive does it: redacted before anything is stored.

The command gets the variables that lead its telemetry here and that turn on the
capture of content, where a variable does it. An instrumentation that is switched on
in code has to be switched on there. What the tapes lack for a replay is said at the
end, with the setting that brings it.

What no span can hold is kept when it is asked for: what the run is part of (--task,
--eval-id, …), digests of the files that it is given and of those that it makes,
variables of the environment, and whether a check of the outcome passes.

An agent without telemetry is recorded with --tee: its model calls pass through this
program, on loopback, to where they go without it, and the tapes are made of what
passed and of nothing else.

The output of the command goes to stderr. One line of JSON per tape goes to stdout.
The exit code is 0 if the command ended with 0 and tapes were written, 1 if it did
not, a check failed, or some telemetry was refused, 2 if nothing was written.`,
		Example: `  tapedeck record --to ./deck -- python agent.py "How many of SKU-7?"
  tapedeck replay $(tapedeck record --to ./deck -- python agent.py | jq -r .url) -- python agent.py`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash != 0 || len(args) == 0 {
				return errors.New("record needs a command behind --; see tapedeck record --help")
			}
			return record(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), f, args)
		},
	}
	cmd.Flags().StringVar(&f.to, "to", "", "the deck: a folder, file://, s3://, gs:// or azblob:// (required)")
	cmd.Flags().StringVar(&f.tenant, "tenant", "default", "the tenant to which the runs belong")
	f.sign.add(cmd)
	cmd.Flags().BoolVar(&f.tee, "tee", false, "lead model calls through this program, on loopback, and make the tapes of what passes: for agents without telemetry")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "end the command after this long; 0 waits for ever")
	cmd.Flags().DurationVar(&f.grace, "grace", 5*time.Second, "kill the command when it has not ended so long after it was asked to")
	f.harnessFlags.add(cmd)
	f.env.add(cmd.Flags(), "a variable that is withheld otherwise, and that the command gets: keys of the store of --to, "+tokenVariable+" (repeatable)", "the same for all whose names fit a pattern, such as AWS_* (repeatable)")
	f.redactionFlags.add(cmd)
	return cmd
}

// observe runs the command and takes in its telemetry, or with --tee its model calls. dir is a folder that is
// removed when the command has ended.
func (f *recordFlags) observe(ctx context.Context, c *capture.Capture, command rerun.Command, dir string, seen *doctor.Receiver) (agent capture.Launched, exit rerun.Exit, err error) {
	if f.tee {
		t, err := capture.OpenTee(ctx, c.Environ, command.Argv)
		if err != nil {
			return agent, exit, err
		}
		exit, err = t.Run(ctx, c, command, dir)
		return agent, exit, err
	}
	exit, err = c.Run(ctx, command, rerun.Services{}, func(command *rerun.Command) (err error) {
		agent, err = capture.LaunchRecorded(command, c.Environ, dir, c.Say)
		seen.Told(givenTo(&agent, command.Env))
		return err
	})
	return agent, exit, err
}

func record(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, f recordFlags, argv []string) (err error) {
	switch {
	case f.to == "":
		return errors.New("record needs --to DECK")
	case strings.HasPrefix(f.to, "mem:"):
		return replay.ErrMem
	case f.tenant == "":
		return errors.New("--tenant is empty")
	case f.timeout < 0 || f.grace <= 0:
		return errors.New("--timeout and --grace must be positive")
	}
	if err := f.harnessFlags.check(); err != nil {
		return err
	}
	sign, err := f.sign.signer() // before the command runs
	if err != nil {
		return err
	}
	redactor, err := f.open(stderr)
	if err != nil {
		return err
	}
	gate, err := f.gate()
	if err != nil {
		return err
	}
	d, err := deck.Open(ctx, f.to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	guard := f.guard(d, redactor)
	if err := guard.wholeDeck(ctx, f.tenant, sampledTapes); err != nil {
		return err
	}
	stderr = concurrent(stderr)
	w := &ingest.Writer{
		Options: derive.Options{Options: generation.Options{Sign: sign}, Gate: gate}, Tenant: f.tenant, SameKey: guard.trace, Say: sayer(stderr),
		Wrote: func(t derive.Written) error { return reportTape(stdout, t) },
	}
	known, err := f.begin(ctx, f.to, stderr)
	if err != nil {
		return err
	}
	environ, withheld := f.env.program(f.to)
	if len(withheld) > 0 {
		say(stderr, "the command does not get %s, which open the deck; --env NAME passes one on", strings.Join(withheld, ", "))
	}
	sayIfSeen(stderr)
	dir, err := os.MkdirTemp("", "tapedeck-record-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	bodies, err := agentprofile.OpenBodies(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bodies.Close()) }()
	seen := doctor.NewReceiver()
	c := &capture.Capture{In: ingest.NewBatch(nil, redactor), Environ: environ, Bodies: bodies, Also: seen, Say: sayer(stderr), Ended: func(exit rerun.Exit) { sayExit(stderr, exit) }}
	command := rerun.Command{Argv: argv, Stdin: stdin, Stdout: stderr, Stderr: stderr, Timeout: f.timeout, Grace: f.grace, Detached: func(names []string) { sayDetached(stderr, names) }}
	agent, exit, err := f.observe(ctx, c, command, dir, seen)
	if err != nil {
		return err
	}
	passed := known.end(ctx, environ, f.timeout, f.grace)
	if err := c.Release(&known.facts, known.kept); err != nil {
		return err
	}
	sayRedacted(stderr, &c.In.Redactor)
	if err := w.Write(ctx, d, c.In); err != nil {
		return err
	}
	if c.Len() > 0 && !f.tee { // there is nothing to set
		if advice := seen.Diagnose(); !advice.Healthy() {
			if _, err := stderr.Write(reportText(advice, false)); err != nil {
				return err
			}
		}
	}
	switch {
	case c.Len() == 0 && f.tee:
		return errors.New("nothing was written: no model call passed. The command has to ask its models where the variables say that --tee sets, by a protocol that is known: see docs/replay.md")
	case c.Len() == 0 && agent.Name != "":
		return fmt.Errorf("nothing was written: no telemetry came of %s%s", agent.Name, whySilent(&agent))
	case c.Len() == 0:
		return errors.New("nothing was written: no telemetry came. The command has to export spans by OTLP to $OTEL_EXPORTER_OTLP_ENDPOINT, which record sets, " +
			"and to flush them before it ends: an SDK with an OTLP exporter, and the instrumentation of its framework. See docs/first-tape.md")
	case w.Written == 0:
		return fmt.Errorf("nothing was written: the %d spans and log records that came hold no run of an agent: switch on the instrumentation of its framework or of its model's SDK", c.Len())
	}
	if w.Written == 1 {
		say(stderr, "to look at it: tapedeck show %s --deck %s", deck.ShortID(w.Last), f.to)
	} else {
		say(stderr, "to look at the %d runs: tapedeck ls %s", w.Written, f.to)
	}
	if exit.Code != 0 || exit.TimedOut || w.Refused > 0 || !passed {
		return &exitError{code: exitPartial}
	}
	return nil
}

// sayExit says how a command ended, where it failed. It is the first line of what record says at the end.
func sayExit(stderr io.Writer, exit rerun.Exit) {
	switch {
	case exit.TimedOut:
		say(stderr, "the command did not end in time and was stopped")
	case exit.Code != 0:
		say(stderr, "the command ended with code %d", exit.Code)
	}
}

// sayDetached names the programs that a command left behind, and that were ended.
func sayDetached(stderr io.Writer, names []string) {
	say(stderr, "the command left %d processes behind, which were ended: %s", len(names), strings.Join(names, ", "))
}
