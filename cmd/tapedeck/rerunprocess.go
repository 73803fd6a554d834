// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/interop/a2a"
	"github.com/tapedeck/tapedeck/internal/reading/harness"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/capture"
	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/internal/replay/mcpserver"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/modeltap"
	"github.com/tapedeck/tapedeck/internal/replay/preload"
	"github.com/tapedeck/tapedeck/internal/replay/replayserver"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// lockedWriter lets a command write from both its outputs beside this program.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// concurrent makes a writer safe for concurrent use. A file is that already, and stays what a command gets as its own.
func concurrent(w io.Writer) io.Writer {
	if _, file := w.(*os.File); file {
		return w
	}
	return &lockedWriter{w: w}
}

// requests make what the command gets, turn by turn: the recorded A2A request for a server of A2A, else what the template says.
func (r *rerunning) requests() (texts []string, headers http.Header, err error) {
	turns := rerun.Turns(r.source, r.f.turns)
	switch r.input.Kind {
	case "none":
		return []string{""}, nil, nil
	case "a2a":
		req, err := a2a.FromTape(r.source, a2a.Options{TaskID: r.f.id}) // with the recorded one an agent would go on with its session
		if err == nil && req.Body == nil {
			err = errors.New("the message of the request is not on the tape")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("--input a2a: %w", err)
		}
		headers = http.Header{}
		for _, h := range req.Headers {
			headers.Set(h.Name, h.Value)
		}
		for _, trace := range []string{"Traceparent", "Tracestate", "Baggage"} { // the replay is a trace of its own
			headers.Del(trace)
		}
		if len(turns) > 1 {
			say(r.stderr, "--input a2a sends the recorded request; %d later turns are not sent", len(turns)-1)
		}
		return []string{string(req.Body)}, headers, nil
	}
	for _, asked := range turns {
		text, err := rerun.Render(r.f.template, r.source, asked)
		if err != nil {
			return nil, nil, fmt.Errorf("--template: %w", err)
		}
		texts = append(texts, text)
	}
	return texts, nil, nil
}

// prepare makes what answers the command.
func (r *rerunning) prepare(ctx context.Context) error {
	options, err := r.f.match.options()
	if err != nil {
		return err
	}
	model, err := replayserver.ModelOptions(options)
	if err != nil {
		return err
	}
	if options.Verifier == nil {
		key, err := r.f.redactionFlags.key() // of the tokens of the replay
		if err != nil {
			return err
		}
		if key != nil && key.ID() == r.source.Redaction.KeyID {
			options.Verifier, model.Verifier = key, key
		}
	}
	r.rules, r.renaming, r.mask = model.Rules, &normalise.Renaming{}, model.Mask
	if r.upstream == nil { // else a real model says what it says
		options.Volatile, options.Names = replayserver.VolatileOf(r.source, r.f.exact), r.renaming
	}
	model.Volatile, model.Names, model.Served = replayserver.VolatileOf(r.source, r.f.exact), r.renaming, r.served
	r.normal = oracle.Normal{Rules: model.Rules, Verifier: model.Verifier, Volatile: model.Volatile}
	entries, err := r.entries(ctx, &options, &model)
	if err != nil {
		return err
	}
	stub := modelstub.NewHandler(modelstub.Config{Stub: modelstub.Family(r.tapes(), model), Upstream: r.upstream, Speed: r.f.speed()})
	if len(r.tapes()) > 1 {
		options.Prefers = ofItsRun(r.tapes(), stub)
	}
	o, err := oracle.New(entries, options)
	if err != nil {
		return err
	}
	asked := func(layer rerun.Layer, a rerun.Asked) {
		if a.Outcome == oracle.Live {
			layer = rerun.LayerLive
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked[layer] = append(r.asked[layer], a)
	}
	note := func(layer rerun.Layer, q *oracle.Query, a *oracle.Answer) {
		asked(layer, rerun.Asked{Tool: q.ToolName, ArgsHash: q.ArgsHash, Outcome: a.Outcome})
		r.mu.Lock()
		defer r.mu.Unlock()
		r.policies.Override.Served(a)
	}
	r.services = &replayserver.Server{
		LocalOnly: true, Tap: modeltap.New(), Model: stub,
		Oracle: oraclehttp.NewHandler(oraclehttp.Config{
			Library: oraclehttp.Single(r.source.Run.RunID, o, r.names()...), LocalOnly: true, Speed: r.f.speed(),
			Answered: func(_ context.Context, _ string, q *oracle.Query, a *oracle.Answer) { note(rerun.LayerOracle, q, a) },
			Scope:    func() string { return strconv.FormatInt(r.processes.Load(), 10) },
		}),
		MCP: mcpserver.NewHandler(mcpserver.Config{
			Tape: mcpserver.New(r.source, o, r.siblings()...), Answered: func(_ string, q *oracle.Query, a *oracle.Answer) { note(rerun.LayerMCP, q, a) },
		}),
	}
	return r.elsewhere(r.services, asked)
}

// served reports that a call was answered from the recording, under the name that the model knows or that of
// its server.
func (r *rerunning) served(tool, argsHash string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, layer := range []rerun.Layer{rerun.LayerOracle, rerun.LayerMCP} {
		if slices.ContainsFunc(r.asked[layer], func(a rerun.Asked) bool {
			return a.ArgsHash == argsHash && (strings.HasSuffix(tool, a.Tool) || strings.HasSuffix(a.Tool, tool))
		}) {
			return true
		}
	}
	return false
}

// serve answers on an address that the command reaches, until stop is called.
func (r *rerunning) serve(ctx context.Context, n *rerun.Network) (address string, stop func() error, err error) {
	listener, err := n.Listen(ctx)
	if err != nil {
		return "", nil, err
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- oraclehttp.Serve(serving, listener, r.services) }()
	return "http://" + listener.Addr().String(), sync.OnceValue(func() error {
		cancel()
		return <-done
	}), nil
}

// replay runs the command and makes the tape of what it did; nil where no run came.
func (r *rerunning) replay(ctx context.Context) (report *rerun.Report, replayed *tape.Tape, err error) {
	r.asked = map[rerun.Layer][]rerun.Asked{}
	if r.f.printEnv {
		return nil, nil, r.printEnv()
	}
	if err := r.prepare(ctx); err != nil {
		return nil, nil, err
	}
	texts, headers, err := r.requests()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "tapedeck-replay-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	hooks := r.hooks("")
	if r.f.preload {
		hooks.Dir, hooks.Report = filepath.Join(dir, "hooks"), filepath.Join(dir, "hooks.report")
		if err := errors.Join(os.Mkdir(hooks.Dir, 0o700), preload.Write(hooks.Dir)); err != nil {
			return nil, nil, err
		}
	}
	d, drop, err := r.deck(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	redactor, err := r.f.redactionFlags.open(r.stderr)
	if err != nil {
		return nil, nil, err
	}
	bodies, err := agentprofile.OpenBodies(dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, bodies.Close()) }()
	c := &capture.Capture{In: ingest.NewBatch(nil, redactor), Tag: r.f.id, Of: r.source.Run.RunID, Bodies: bodies, Say: sayer(r.stderr)}
	report = &rerun.Report{ReplayRunID: r.f.id, Source: r.source.Run.RunID, Command: r.argv, Tools: []rerun.ToolCall{}}
	if r.copy, report.NoCopy, err = r.workspace(ctx, dir); err != nil {
		return nil, nil, err
	}
	var folder *watchedFolder
	if r.copy == nil {
		folder = watchFolder(r.workDir)
	} else {
		defer func() { err = errors.Join(err, r.copy.Close()) }()
		if rerun.Shut(r.f.shut) == rerun.ShutNamespace {
			hooks.Allow = []string{preload.Every} // tools of versions that the hooks do not know run in the copy, as those of any other program
		}
	}
	turns := [][]string{texts} // a server is asked one after the other
	if !r.input.Server() {
		turns = nil
		for _, text := range texts {
			turns = append(turns, []string{text})
		}
	}
	var turn turned
	for _, texts := range turns {
		if turn, err = r.turn(ctx, c, hooks, dir, texts, headers); err != nil {
			return nil, nil, err
		}
		if turn.seen != nil {
			if report.Evidence == nil {
				report.Evidence = &rerun.Evidence{}
			}
			report.Evidence.Add(*turn.seen, r.mask)
		}
		if turn.exit.Code != 0 && !turn.exit.Stopped || turn.exit.TimedOut {
			break
		}
	}
	if err := c.Release(&harness.Facts{}, nil); err != nil {
		return nil, nil, err
	}
	if report.Evidence != nil && folder != nil {
		folder.changed(report.Evidence)
	}
	if r.copy != nil {
		if report.Evidence == nil {
			report.Evidence = &rerun.Evidence{Programs: []rerun.Started{}, NotWatched: "the command ran in no namespace"}
		}
		r.copy.Changed(ctx, report.Evidence)
	}
	turn.audit.into(c.In)
	r.said = turn.answer
	report.Exit, report.Network, report.Lockdown, report.Tagged = turn.exit, turn.network, turn.network.Shut == rerun.ShutNamespace, c.Tagged()
	if r.f.preload {
		if report.Preload, err = preload.Read(hooks.Report); err != nil {
			return nil, nil, err
		}
		report.Freeze = r.f.freeze
	}
	var tapes []*tape.Tape
	if !capture.MadeByTee(r.source) { // else like is compared with like
		if tapes, err = r.derive(ctx, d, c.In); err != nil {
			return nil, nil, err
		}
	}
	if len(tapes) == 0 {
		if tapes, err = r.seen(ctx, d, redactor); err != nil {
			return nil, nil, err
		}
		report.Seen = len(tapes) > 0
	}
	var redact func(string) string
	if redactor != nil {
		redact = func(text string) string { return redactor.String("", text, nil) }
	}
	shown := r.services.Model.Shown("")
	for i := range tapes {
		tapes[i] = rerun.Told(tapes[i], r.tapes(), shown, redact)
	}
	if replayed, err = r.judge(report, tapes, turn.answer); err != nil {
		return nil, nil, err
	}
	if err := r.output(report, &turn, redactor); err != nil {
		return nil, nil, fmt.Errorf("--replay-output: %w", err)
	}
	return report, replayed, nil
}

// seen makes the tapes of what the model stub was asked, as record --tee makes them of what passed.
func (r *rerunning) seen(ctx context.Context, d *deck.Deck, redactor *redact.Redactor) ([]*tape.Tape, error) {
	spans, _ := r.services.Tap.Traces(modeltap.Options{Seed: r.f.id, Service: r.source.Run.Service.Name, OneRun: !capture.MadeByTee(r.source) && rerun.Callers(r.source) > 1})
	if spans.SpanCount() == 0 {
		return nil, nil
	}
	capture.TagTraces(spans, r.f.id, r.source.Run.RunID)
	in := ingest.NewBatch(nil, redactor)
	if err := in.Add(otlpfile.Document{Signal: otlpfile.SignalTraces, Traces: spans}); err != nil {
		return nil, err
	}
	return r.derive(ctx, d, in)
}

func (r *rerunning) hooks(oracleURL string) preload.Config {
	c := preload.Config{Dir: "DIR", OracleURL: oracleURL, ReplayRunID: r.f.id, AllowLive: r.f.allowLive, Allow: r.f.frameworks}
	if r.f.freeze {
		c.Freeze = &preload.Freeze{Offset: time.Until(r.source.Run.StartedAt), Seed: r.source.Run.RunID}
	}
	return c
}

// turned is what came of the command.
type turned struct {
	exit    rerun.Exit
	answer  *string // nil: it was not asked for
	network rerun.Shutting
	seen    *lockdown.Seen // nil: nobody looked
	request string
	reply   *string // of a server
	audit   *auditTap
}

// turn runs the command once.
func (r *rerunning) turn(ctx context.Context, c *capture.Capture, hooks preload.Config, dir string, texts []string, headers http.Header) (out turned, err error) {
	r.processes.Add(1)
	var stdout bytes.Buffer
	text := texts[0]
	out.request, out.audit = text, &auditTap{w: r.stderr}
	command := rerun.Command{Argv: r.argv, Dir: r.workDir, Stdout: r.stderr, Stderr: r.stderr, Timeout: r.f.timeout, Grace: r.f.grace, Remove: dir}
	if r.f.answer == "stdout" {
		command.Stdout = io.MultiWriter(&stdout, r.stderr)
	}
	if r.f.forge.source != "" {
		command.Stderr = out.audit
	}
	if err := r.input.Give(&command, text, dir); err != nil {
		return out, err
	}
	if r.copy != nil {
		if err := r.copy.Put(&command, rerun.Shut(r.f.shut)); err != nil {
			return out, err
		}
	}
	network, err := rerun.OpenNetwork(ctx, rerun.Shut(r.f.shut), r.f.requireLockdown, r.proxy, &command)
	if err != nil && r.copy != nil {
		err = fmt.Errorf("the copy of the workspace cannot be put in its place: %w; --lockdown off runs the command in it all the same, with files outside of it in reach", err)
	}
	if err != nil {
		return out, err
	}
	defer func() {
		err = errors.Join(err, network.Close())
		out.network, out.seen = network.Shutting, network.Seen
	}()
	if network.Shut == rerun.ShutProxy {
		say(r.stderr, "the network is not shut: %s", network.Promise)
	}
	if network.Shut != rerun.ShutNamespace {
		sayIfSeen(r.stderr)
	}
	address, stop, err := r.serve(ctx, network)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	refused := ""
	if r.input.Server() {
		command.Ask = func(ctx context.Context) error {
			for _, text := range texts {
				body, err := r.input.Ask(ctx, network.Client(), text, r.f.wait, headers)
				if errors.Is(err, rerun.ErrRefused) {
					refused = err.Error()
					return nil
				}
				reply := body
				out.reply = &reply
				if err == nil && r.f.answer == "a2a" {
					body, err = a2a.Answer(body)
				}
				if err != nil {
					return err
				}
				if r.f.answer == "http" || r.f.answer == "a2a" {
					out.answer = &body
				}
			}
			return nil
		}
	}
	hooks.OracleURL, c.Listen = address, network.Listen
	all, standIns := r.addresses(address, network.Address), []rerun.Variable(nil)
	c.Environ, standIns, r.withheld = r.environment(all)
	out.exit, err = c.Run(ctx, command, all, func(command *rerun.Command) error {
		command.Env = rerun.Environ(command.Env, slices.Concat(standIns, r.input.Variables(text), r.f.forge.variables(), r.variables))
		if _, err := capture.Launch(command, c.Environ, r.places(dir), &network.Shut); err != nil {
			return err
		}
		if r.f.preload {
			command.Env = hooks.Environ(command.Env)
		}
		return nil
	})
	out.exit.Refused = refused
	if r.f.answer == "stdout" {
		said := stdout.String()
		out.answer = &said
	}
	return out, err
}

// addresses are the services of a command. That of the receiver is known when it listens.
func (r *rerunning) addresses(all, proxy string) rerun.Services {
	return rerun.Services{OTLP: all, Model: all, Oracle: all, MCP: all + "/mcp", Proxy: proxy, ReplayRunID: r.f.id, ReplayOf: r.source.Run.RunID}
}

// environment is what a command gets of the environment of this program, what stands in for what it does not
// get, and the names of that. What is set for it all the same is not named.
func (r *rerunning) environment(s rerun.Services) (passed []string, standIns []rerun.Variable, withheld []string) {
	environ := secretenv.Environ()
	choice := r.f.env.pass
	agent, known := agentprofile.Find(r.argv)
	if known {
		choice.OfProgram = agent.Passed
	}
	passed, withheld = choice.Replay(environ)
	if known {
		withheld = slices.DeleteFunc(withheld, agent.Sets)
	}
	for _, v := range slices.Concat(s.Variables(), r.input.Variables(""), r.f.forge.variables(), r.variables) {
		begin, some := strings.CutSuffix(v.Name, "*")
		withheld = slices.DeleteFunc(withheld, func(name string) bool { return name == v.Name || some && strings.HasPrefix(name, begin) })
	}
	return passed, s.StandIns(environ, withheld), withheld
}

// places are what the settings of a known program refer to.
func (r *rerunning) places(dir string) agentprofile.Places {
	return agentprofile.Places{Dir: dir, ModelName: r.source.Config.Model}
}

func (r *rerunning) printEnv() error {
	const address = "http://127.0.0.1:PORT"
	proxy := address
	if rerun.Shut(r.f.shut) == rerun.ShutNot {
		proxy = ""
	}
	s, hooks := r.addresses(address, proxy), r.hooks(address)
	_, standIns, withheld := r.environment(s)
	lines := []string{}
	for _, v := range append(s.Variables(), standIns...) {
		line := v.Name + "=" + v.Value
		if v.Unset {
			line = "unset " + v.Name
		}
		lines = append(lines, line)
	}
	command, shut := rerun.Command{Argv: r.argv, Env: lines}, rerun.Shut(r.f.shut)
	if len(r.argv) > 0 {
		given, _, _ := r.environment(s)
		agent, err := capture.Launch(&command, given, r.places(""), &shut)
		if err != nil {
			return err
		}
		lines = command.Env
		for _, label := range agent.Set {
			if rerun.ValueIn(lines, label) == "" {
				lines = append(lines, "and "+label)
			}
		}
	}
	if r.f.preload {
		for _, line := range hooks.Environ(nil) {
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	for _, name := range withheld {
		lines = append(lines, "withheld "+name)
	}
	return r.write([]byte(strings.Join(lines, "\n") + "\n"))
}
