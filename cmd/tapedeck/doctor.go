// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reading/otlpserver"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/internal/surfaces/doctor"
	"github.com/tapedeck/tapedeck/tape"
)

type doctorFlags struct {
	listen string
	remote bool
	span   time.Duration
	most   int
	asJSON bool
	color  colors
}

func newDoctor() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor FILE…|DECK | --listen ADDR",
		Short: "Say what telemetry lacks for a replay, and which setting brings it",
		Long: `Read some telemetry and say what a replay of it would lack, and the setting of the
producer that brings it. The report also says, for each service and instrumentation,
which dialect it is and how many runs, model calls and tool calls it holds.

FILE is what derive takes. DECK is a folder or URL: the evidence in it is read.
With --listen, OTLP over gRPC and HTTP is taken in on one address until --for is
over or --spans came: point OTEL_EXPORTER_OTLP_ENDPOINT of an agent at it.
Nothing is written or sent anywhere.

The exit code is 0 if nothing is missing, 1 if something is, 2 if nothing could be
read.`,
		Example: `  tapedeck doctor traces.jsonl logs.jsonl
  tapedeck doctor s3://tapes/prod --json | jq '.sources[].missing[].fix'
  tapedeck doctor --listen 127.0.0.1:4317 --for 5m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			d := &diagnosis{flags: f, in: doctor.NewReceiver(), stdin: cmd.InOrStdin(), stderr: cmd.ErrOrStderr()}
			if err := d.read(cmd.Context(), args); err != nil {
				return err
			}
			return d.report(cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&f.listen, "listen", "", "take OTLP in on this loopback address, such as 127.0.0.1:4317")
	cmd.Flags().BoolVar(&f.remote, "allow-remote", false, "let --listen take an address that other machines can reach")
	cmd.Flags().DurationVar(&f.span, "for", time.Minute, "how long to listen")
	cmd.Flags().IntVar(&f.most, "spans", 10000, "stop after this many spans and log records")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON document")
	f.color.add(cmd)
	return cmd
}

// diagnosis is one call of doctor.
type diagnosis struct {
	flags  doctorFlags
	in     *doctor.Receiver
	stdin  io.Reader
	stderr io.Writer
}

func (d *diagnosis) read(ctx context.Context, args []string) error {
	switch {
	case d.flags.most < 1 || d.flags.span <= 0:
		return errors.New("--spans and --for must be more than nothing")
	case d.flags.listen != "" && len(args) > 0:
		return errors.New("doctor takes either files or --listen")
	case d.flags.listen != "":
		if err := d.listen(ctx); err != nil {
			return err
		}
	case len(args) == 0:
		return errors.New("doctor needs a FILE, a DECK or --listen; see tapedeck doctor --help")
	}
	for _, arg := range args {
		if err := d.readOne(ctx, arg); err != nil {
			return err
		}
		if d.full() {
			say(d.stderr, "stopped after %d spans and log records (--spans reads more)", d.in.Len())
			break
		}
	}
	if d.in.Len() == 0 {
		return errors.New("no telemetry came")
	}
	return nil
}

func (d *diagnosis) full() bool { return d.in.Len() >= d.flags.most }

func (d *diagnosis) readOne(ctx context.Context, arg string) error {
	info, err := os.Stat(arg)
	if strings.Contains(arg, "://") || strings.HasPrefix(arg, "mem:") || err == nil && info.IsDir() {
		return d.readDeck(ctx, arg)
	}
	for document, err := range foreign.ReadFile(arg, d.stdin, otlpfile.Options{}) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			complain(d.stderr, err)
			continue
		}
		d.in.AddTraces(document.Traces)
		d.in.AddLogs(document.Logs)
		if d.full() {
			return nil
		}
	}
	return nil
}

// readDeck reads the evidence of runs, trace by trace, until enough came.
func (d *diagnosis) readDeck(ctx context.Context, address string) (err error) {
	if strings.HasPrefix(address, "mem:") {
		return replay.ErrMem
	}
	at, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, at.Close()) }()
	for location, err := range at.Locations(ctx, deck.AreaRuns, deck.AreaUndecided) {
		if err != nil {
			return err
		}
		parts, err := at.Parts(ctx, location)
		if err != nil {
			return err
		}
		for _, digest := range parts {
			body, err := at.ReadPart(ctx, location, digest)
			if err != nil {
				return err
			}
			td, err := nesting.UnmarshalTraces(body)
			if err != nil {
				return fmt.Errorf("trace %s: %w", location.TraceID, err)
			}
			d.in.AddTraces(td)
		}
		if d.full() {
			return nil
		}
	}
	return nil
}

func (d *diagnosis) listen(ctx context.Context) error {
	if err := checkListen(d.flags.listen, d.flags.remote); err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", d.flags.listen)
	if err != nil {
		return err
	}
	say(d.stderr, "listening on %s for %s or %d spans; set OTEL_EXPORTER_OTLP_ENDPOINT=http://%s", listener.Addr(), d.flags.span, d.flags.most, listener.Addr())
	bounded, cancel := context.WithTimeout(ctx, d.flags.span)
	defer cancel()
	refused, err := otlpserver.Listen(bounded, listener, d.in, d.flags.most) // an interrupt ends it like the time does: what came is reported
	sayRefused(d.stderr, refused)
	return err
}

func sayRefused(stderr io.Writer, refused otlpserver.Refused) {
	if text := refused.String(); text != "" {
		say(stderr, "%s", text)
	}
}

// checkListen refuses addresses that other machines reach: what comes is full of content, and nothing asks who sends it.
func checkListen(address string, remote bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	ip, err := netip.ParseAddr(host)
	if remote || host == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen %s is not a loopback address; --allow-remote lets other machines send", address)
}

func (d *diagnosis) report(stdout io.Writer) error {
	o, err := d.flags.color.terminal(stdout)
	if err != nil {
		return err
	}
	r := d.in.Diagnose()
	if d.flags.asJSON {
		err = writeJSON(stdout, r)
	} else {
		_, err = stdout.Write(reportText(r, o.Color))
	}
	if err == nil && !r.Healthy() {
		err = &exitError{code: exitPartial}
	}
	return err
}

var gradeOrder = []tape.Grade{tape.GradeOffline, tape.GradeTools, tape.GradeModel, tape.GradePartial, tape.GradeInspect}

func reportText(r doctor.Report, color bool) []byte {
	var b bytes.Buffer
	for _, s := range r.Sources {
		fmt.Fprintf(&b, "%s\n", timeline.Paint(color, timeline.Bold, sourceLine(s.Source)))
		fmt.Fprintf(&b, "  dialect   %s\n", oneLine(s.Name+" ("+s.Dialect+")"))
		fmt.Fprintf(&b, "  came      %d spans, %d log records of the service\n", s.Spans, s.LogRecords)
		var grades []string
		for _, g := range gradeOrder {
			if n := s.Grades[g]; n > 0 {
				grades = append(grades, fmt.Sprintf("%d %s", n, g))
			}
		}
		runs := fmt.Sprintf("%d runs", s.Runs)
		if len(grades) > 0 {
			runs += " (" + strings.Join(grades, ", ") + ")"
		}
		fmt.Fprintf(&b, "  holds     %s, %d model calls, %d tool calls\n", runs, s.ModelCalls, s.ToolCalls)
		if s.Runs > 0 && !slices.ContainsFunc(s.Missing, func(m doctor.Missing) bool { return m.Severity != tape.SeverityInfo }) {
			fmt.Fprintf(&b, "  %s\n", timeline.Paint(color, timeline.Green, "nothing is missing"))
		}
		for len(s.Missing) > 0 {
			fix := s.Missing[0].Fix
			var others []doctor.Missing
			for _, m := range s.Missing { // what one setting brings is listed together
				if m.Fix == fix {
					style := timeline.Yellow
					if m.Severity == tape.SeverityInfo {
						style = timeline.Dim
					}
					fmt.Fprintf(&b, "  %s\n", timeline.Paint(color, style, missingLine(m)))
				} else {
					others = append(others, m)
				}
			}
			fmt.Fprintf(&b, "            %s\n", timeline.Paint(color, timeline.Bold, "→ "+oneLine(fix)))
			s.Missing = others
		}
		b.WriteString("\n")
	}
	for _, f := range r.NonAgent {
		fmt.Fprintf(&b, "%s: %d spans, no part of an agent run\n", sourceLine(f.Source), f.Spans)
	}
	return b.Bytes()
}

func missingLine(m doctor.Missing) string {
	label := "missing "
	if m.Severity == tape.SeverityInfo {
		label = "note    "
	}
	what := m.Meaning
	if m.Field != "" {
		what += ": " + m.Field
	}
	return oneLine(fmt.Sprintf("%s  %s (%s, %d×)", label, what, m.Code, m.Count))
}

func sourceLine(s doctor.Source) string {
	name := s.Service
	if name == "" {
		name = "(no service.name)"
	}
	scope := s.Scope
	if scope == "" {
		scope = "(no scope)"
	}
	return oneLine(strings.TrimRight(name+" · "+scope+" "+s.Version, " "))
}
