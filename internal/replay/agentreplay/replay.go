// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/capture"
	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/internal/replay/preload"
	"github.com/tapedeck/tapedeck/internal/replay/replayserver"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// Replay is one replay of one recording. It runs once.
type Replay struct {
	o  Options
	of Recording
	id string

	policies rerun.Policies
	proxy    *lockdown.Proxy
	server   *replayserver.Server
	rules    *normalise.Rules
	normal   oracle.Normal       // in which recorded and live values are compared
	renaming *normalise.Renaming // from volatile values of the recording to those of the replay
	mask     func(string) string // masks secrets in what is reported of the command

	copy      *rerun.Workspace // nil: the command runs in no copy
	withheld  []string         // names of variables that the command did not get
	processes atomic.Int64     // that were started; each numbers its calls on its own

	mu    sync.Mutex
	asked map[rerun.Layer][]rerun.Asked // tool calls that were answered
}

// Outcome is what came of a replay.
type Outcome struct {
	Report *rerun.Report
	// Tape is the replayed run, of a family the first; nil where none came.
	Tape *tape.Tape
	// Said is the answer of the command where Options.Answer takes it, as it came; nil for none.
	Said *string
	// Oracle are the sessions of the oracle and of the MCP server.
	Oracle []*oracle.Report

	of        Recording
	replayed  []*tape.Tape // by run of the family
	redaction Redaction
}

// New prepares a replay under an id.
func New(o Options, of Recording, id string) (*Replay, error) {
	switch {
	case of.All && o.ForkAt > 0:
		return nil, fmt.Errorf("--fork-at wants one run, and the command made %d: name one by its id", len(of.Family))
	case of.All && o.Answer != AnswerTelemetry:
		return nil, fmt.Errorf("--answer %s wants one run, and the command made %d: name one by its id", o.Answer, len(of.Family))
	case o.ForkAt > 0:
		of.Family = nil // the fork is at an event of one run
	}
	if o.Freeze && of.Tape.Run.StartedAt.IsZero() {
		return nil, errors.New("--freeze: the tape does not say when the run began")
	}
	r := &Replay{o: o, of: of, id: id, asked: map[rerun.Layer][]rerun.Asked{}, renaming: &normalise.Renaming{}}
	r.policies = rerun.Policies{Ignore: o.Ignore, ReadThrough: o.Rules.ReadThrough, ForkAt: o.ForkAt}
	if o.Candidate != nil {
		r.policies.Model = o.Candidate.report()
	}
	var err error
	if r.proxy, err = lockdown.NewProxy(o.AllowHosts); err != nil {
		return nil, fmt.Errorf("--allow-host: %w", err)
	}
	return r, nil
}

// NeedsModel reports whether the recording holds calls and no model calls, and no candidate is there to be
// asked.
func (r *Replay) NeedsModel() bool {
	return !slices.ContainsFunc(r.of.tapes(), rerun.HasModelCalls) && len(r.of.Tape.Events) > 0 && r.o.Candidate == nil
}

// Run replays a recording under an id. Where the context ends it, the error is the cause.
func Run(ctx context.Context, o Options, of Recording, id string) (*Outcome, error) {
	r, err := New(o, of, id)
	if err != nil {
		return nil, err
	}
	out, err := r.Run(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// Answer is the answer of the replay, redacted: what the command said, else that of its tape; nil for none.
func (o *Outcome) Answer() *string {
	switch {
	case o.Said != nil:
		text := o.redaction.text(*o.Said)
		return &text
	case o.Tape != nil:
		return o.Tape.Output.Text
	}
	return nil
}

// Run runs the command and judges what it did.
func (r *Replay) Run(ctx context.Context) (out *Outcome, err error) {
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	asked, err := r.requests()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tapedeck-replay-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	hooks, err := r.writeHooks(dir)
	if err != nil {
		return nil, err
	}
	d, done, err := r.o.OpenDeck(ctx, r.id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	bodies, err := agentprofile.OpenBodies(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bodies.Close()) }()
	c := &capture.Capture{In: ingest.NewBatch(nil, r.o.Redaction.Redactor), Tag: r.id, Of: r.of.Tape.Run.RunID, Bodies: bodies, Say: r.o.Say}
	report := &rerun.Report{ReplayRunID: r.id, Source: r.of.Tape.Run.RunID, Command: r.o.Argv, Tools: []rerun.ToolCall{}}
	if r.copy, report.NoCopy, err = r.openWorkspace(ctx, dir); err != nil {
		return nil, err
	}
	if r.copy != nil {
		defer func() { err = errors.Join(err, r.copy.Close()) }()
		if r.o.Shut == rerun.ShutNamespace {
			hooks.Allow = []string{preload.Every} // an unknown version of a framework is safe in the copy, as any program is
		}
	}
	last, err := r.runTurns(ctx, c, hooks, dir, asked, report)
	if err != nil {
		return nil, err
	}
	if err := c.Release(&harness.Facts{}, nil); err != nil {
		return nil, err
	}
	last.audit.into(c.In)
	report.Exit, report.Network, report.Lockdown, report.Tagged = last.exit, last.network, last.network.Shut == rerun.ShutNamespace, c.Tagged()
	if r.o.Hooks {
		if report.Preload, err = preload.Read(hooks.Report); err != nil {
			return nil, err
		}
		report.Freeze = r.o.Freeze
	}
	if toldByTranscript(r.of.Tape) {
		report.Aside = c.Len()
	}
	tapes, err := r.tapesOf(ctx, d, c.In, report)
	if err != nil {
		return nil, err
	}
	out = &Outcome{Report: report, Said: last.answer, Oracle: r.sessions(), of: r.of, redaction: r.o.Redaction}
	if err := r.judge(out, tapes); err != nil {
		return nil, err
	}
	if err := r.o.Forge.write(r, report, last); err != nil {
		return nil, fmt.Errorf("--replay-output: %w", err)
	}
	return out, nil
}

// runTurns runs the command once for each message, or once with all messages where it is a server. It returns
// the last run.
func (r *Replay) runTurns(ctx context.Context, c *capture.Capture, hooks preload.Config, dir string, asked *requests, report *rerun.Report) (last *turn, err error) {
	var folder *watchedFolder
	if r.copy == nil {
		folder = watchFolder(r.o.Dir)
	}
	turns := [][]string{asked.texts}
	if !r.o.Input.Server() {
		turns = nil
		for _, text := range asked.texts {
			turns = append(turns, []string{text})
		}
	}
	for _, texts := range turns {
		if last, err = r.runTurn(ctx, c, hooks, dir, texts, asked.headers); err != nil {
			return nil, err
		}
		if last.seen != nil {
			if report.Evidence == nil {
				report.Evidence = &rerun.Evidence{}
			}
			report.Evidence.Add(*last.seen, r.mask)
		}
		if last.exit.Code != 0 && !last.exit.Stopped || last.exit.TimedOut {
			break
		}
	}
	switch {
	case r.copy != nil:
		if report.Evidence == nil {
			report.Evidence = &rerun.Evidence{Programs: []rerun.Started{}, NotWatched: "the command ran in no namespace"}
		}
		r.copy.Changed(ctx, report.Evidence)
	case report.Evidence != nil:
		folder.changed(report.Evidence)
	}
	return last, nil
}

// writeHooks writes the hooks that the agent loads into a folder below dir.
func (r *Replay) writeHooks(dir string) (preload.Config, error) {
	hooks := r.hooks("")
	if !r.o.Hooks {
		return hooks, nil
	}
	hooks.Dir, hooks.Report = filepath.Join(dir, "hooks"), filepath.Join(dir, "hooks.report")
	return hooks, errors.Join(os.Mkdir(hooks.Dir, 0o700), preload.Write(hooks.Dir))
}

// sessions are the reports of the oracle and of the MCP server.
func (r *Replay) sessions() (list []*oracle.Report) {
	for _, s := range r.server.Oracle.Reports() {
		list = append(list, &s.Report)
	}
	for _, s := range r.server.MCP.Reports() {
		list = append(list, &s.MCP)
	}
	return list
}
