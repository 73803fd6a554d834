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
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/capture"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
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

What no span can hold is kept when it is asked for. That is what the run is part of
(--task, --eval-id, …), variables of the environment, and whether a check of the
outcome passes. It is also digests of the files that the run is given and of those
that it makes.

An agent without telemetry is recorded with --tee. Its model calls pass through this
program, on loopback, to where they go without it. The tapes are made of what passed
and of nothing else.

The output of the command goes to stderr. One line per tape goes to stdout, of JSON unless that is a terminal.
The exit code is 0 if the command ended with 0 and tapes were written, 1 if it did
not, a check failed, or some telemetry was refused, 2 if nothing was written.`,
		Example: `  tapedeck record --to ./deck -- python agent.py "How many of SKU-7?"
  tapedeck replay $(tapedeck record --to ./deck -- python agent.py | jq -r .url) -- python agent.py`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash != 0 || len(args) == 0 {
				return errors.New("record needs a command behind --; see tapedeck record --help")
			}
			return record(cmd.Context(), cmd.InOrStdin(), tapeLines(cmd), cmd.ErrOrStderr(), f, args)
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

// check refuses what cannot work before the command runs.
func (f *recordFlags) check() error {
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
	return f.harnessFlags.check()
}

func record(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, f recordFlags, argv []string) (err error) {
	if err := f.check(); err != nil {
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
	r, err := f.run(ctx, argv, redactor, stdin, stderr)
	if err != nil {
		return err
	}
	sayRedacted(stderr, &r.In.Redactor)
	sayOrigins(stderr, r.Capture)
	if err := w.Write(ctx, d, r.In); err != nil {
		return err
	}
	return f.conclude(r, w, stderr)
}

// recorded is a command that has ended.
type recorded struct {
	*capture.Capture
	advisor *doctor.Receiver
	agent   capture.Launched
	exit    rerun.Exit
	passed  bool // all checks of the outcome
}

// run runs the command and captures what it does, with what is known of the run beside that.
func (f *recordFlags) run(ctx context.Context, argv []string, redactor *redact.Redactor, stdin io.Reader, stderr io.Writer) (r *recorded, err error) {
	known, err := f.begin(ctx, f.to, stderr)
	if err != nil {
		return nil, err
	}
	environ, withheld := f.env.program(f.to)
	if len(withheld) > 0 {
		say(stderr, "the command does not get %s, which open the deck; --env NAME passes one on", strings.Join(withheld, ", "))
	}
	if text := secretenv.Exposed(); text != "" {
		say(stderr, "%s", text)
	}
	dir, err := os.MkdirTemp("", "tapedeck-record-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	bodies, err := agentprofile.OpenBodies(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bodies.Close()) }()
	r = &recorded{advisor: doctor.NewReceiver()}
	r.Capture = &capture.Capture{
		In: ingest.NewBatch(nil, redactor), Environ: environ, Bodies: bodies, Also: r.advisor, Say: sayer(stderr),
		Ended: func(exit rerun.Exit) { sayExit(stderr, exit) },
	}
	command := rerun.Command{Argv: argv, Stdin: stdin, Stdout: stderr, Stderr: stderr, Timeout: f.timeout, Grace: f.grace, Detached: func(names []string) { sayDetached(stderr, names) }}
	if err := f.observe(ctx, r, command, dir); err != nil {
		return nil, err
	}
	r.passed = known.end(ctx, environ, f.timeout, f.grace)
	return r, r.Release(&known.facts, known.kept)
}

// observe runs the command and captures its telemetry, or with --tee its model calls. dir is a folder for its
// settings.
func (f *recordFlags) observe(ctx context.Context, r *recorded, command rerun.Command, dir string) error {
	if f.tee {
		t, err := capture.OpenTee(ctx, r.Environ, command.Argv)
		if err != nil {
			return err
		}
		r.exit, err = t.Run(ctx, r.Capture, command, dir)
		return err
	}
	began := time.Now()
	var err error
	r.exit, err = r.Run(ctx, command, rerun.Services{}, func(command *rerun.Command) (err error) {
		r.agent, err = capture.LaunchRecorded(command, r.Environ, dir, r.Say)
		r.advisor.Told(givenTo(&r.agent, command.Env))
		return err
	})
	if err == nil && r.agent.Profile != nil {
		r.AddTranscripts(r.agent.Profile, began)
	}
	return err
}

// conclude says what was recorded, what the telemetry lacks, and where to look at it.
func (f *recordFlags) conclude(r *recorded, w *ingest.Writer, stderr io.Writer) error {
	if r.Len() > 0 && !f.tee { // there is nothing to set
		if advice := r.advisor.Diagnose(); !advice.Healthy() {
			if _, err := stderr.Write(reportText(advice, false)); err != nil {
				return err
			}
		}
	}
	switch {
	case r.Len() == 0 && f.tee:
		return errors.New("nothing was written: no model call passed. The command has to ask its models where the variables say that --tee sets, by a protocol that is known: see docs/replay.md")
	case r.Len() == 0 && r.agent.Name != "":
		return fmt.Errorf("nothing was written: no telemetry came of %s%s", r.agent.Name, whySilent(&r.agent))
	case r.Len() == 0:
		return errors.New("nothing was written: no telemetry came. The command has to export spans by OTLP to $OTEL_EXPORTER_OTLP_ENDPOINT, which record sets, " +
			"and to flush them before it ends: an SDK with an OTLP exporter, and the instrumentation of its framework. See docs/first-tape.md")
	case w.Written == 0:
		return fmt.Errorf("nothing was written: the %d spans and log records that came hold no run of an agent: switch on the instrumentation of its framework or of its model's SDK", r.Len())
	case w.Written == 1:
		say(stderr, "to look at it: tapedeck show %s --deck %s", deck.ShortID(w.Last), f.to)
	default:
		say(stderr, "to look at the %d runs: tapedeck ls %s", w.Written, f.to)
	}
	if r.exit.Code != 0 || r.exit.TimedOut || w.Refused > 0 || !r.passed {
		return &exitError{code: exitPartial}
	}
	return nil
}

// sayOrigins says how many values of the tapes are of the telemetry, and how many of the transcript. Where
// that cannot be told, the run is recorded all the same.
func sayOrigins(stderr io.Writer, c *capture.Capture) {
	telemetry, transcript, some, err := originsOf(c)
	switch {
	case err != nil:
		say(stderr, "which values are of the transcript cannot be told: %v", err)
	case some:
		say(stderr, "values of the telemetry: %s; of the transcript: %s", telemetry, transcript)
	}
}

func originsOf(c *capture.Capture) (telemetry, transcript capture.Values, some bool, err error) {
	defer generation.Recovered(&err, generation.ErrUnderivable, "of the record")
	return c.Origins()
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
