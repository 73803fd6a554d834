// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
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
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/derive"
	"github.com/tapedeck/tapedeck/internal/heapgoal"
	"github.com/tapedeck/tapedeck/internal/interop/a2a"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/internal/replay/mcpserver"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/preload"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/sidebyside"
	"github.com/tapedeck/tapedeck/internal/runs"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// rerunFlags are those of replay with a command.
type rerunFlags struct {
	redactionFlags
	match                 matchFlags
	to, id                string
	input, template, wait string
	answer, turns         string
	timeout, grace        time.Duration
	allowLive, frameworks []string
	preload               bool
	compare               string
	markdown, html, junit string
	printEnv, note, named bool
	shut                  string
	requireLockdown       bool
	allowHosts            []string
	override              string
	forkAt                int
	model, modelURL       string
	modelKey, prompt      string
	promptText            *string // in place of the file that prompt names
	forge                 forgeFlags
}

func (f *rerunFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.addCommand(cmd)
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "end the command after this long")
	flags.StringVar(&f.compare, "compare", string(compare.Results), "what counts in the comparison: actions, results or all")
	flags.StringVar(&f.id, "replay-run-id", "", "the id of the replay; made up without")
	flags.StringVar(&f.markdown, "markdown", "", "write the report as Markdown to this file")
	flags.StringVar(&f.html, "html", "", "write both runs side by side, as a page, to this file")
	flags.StringVar(&f.junit, "junit", "", "write the report as JUnit XML to this file")
	flags.BoolVar(&f.printEnv, "print-env", false, "print the variables that the command would get, and end")
	flags.BoolVar(&f.note, "note", false, "note the outcome in the deck of the recorded run, as match --record does")
	flags.StringVar(&f.override, "override", "", "an oracle file whose answers are laid over the recorded ones")
	flags.IntVar(&f.forkAt, "fork-at", 0, "the first event of the recording that is free: from it on tools run, and models are asked as --model-url says")
	flags.StringVar(&f.model, "candidate-model", "", "the model to ask there, in place of the one that the agent asks for")
	flags.StringVar(&f.prompt, "system-prompt", "", "a file with the system prompt to send there, in place of the agent's")
	f.forge.add(cmd)
	f.match.add(cmd)
	f.redactionFlags.add(cmd)
}

// addCommand adds the flags that say how a command is run and answered, for every command that replays.
func (f *rerunFlags) addCommand(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.input, "input", "none", "how the command gets what the run was asked: stdin, arg, env:NAME, file, http:METHOD URL, a2a:URL or none")
	flags.StringVar(&f.template, "template", rerun.DefaultTemplate, "what it gets; {{json .}} is all of it")
	flags.StringVar(&f.wait, "wait-for", "", "the port or URL at which a command that is a server is ready; without it that of --input")
	flags.StringVar(&f.answer, "answer", "telemetry", "where the answer of the command is: telemetry, stdout, http or a2a")
	flags.StringVar(&f.turns, "turns", "recorded", "what the command is asked, one after the other: recorded (also the later turns of a joined run or a snapshot), first, or all that the user said")
	flags.DurationVar(&f.grace, "grace", 5*time.Second, "kill the command when it has not ended so long after it was asked to")
	flags.StringArrayVar(&f.allowLive, "allow-live", nil, "a tool that may run itself (repeatable); * is every tool")
	flags.BoolVar(&f.preload, "preload", true, "answer the tools of known agent frameworks within the process, by hooks that Python and Node load")
	flags.StringArrayVar(&f.frameworks, "allow-framework", nil, "a framework whose tools may run if its version is not known (repeatable)")
	flags.StringVar(&f.to, "to", "", "keep the tape of the replay in this deck")
	flags.StringVar(&f.shut, "lockdown", string(rerun.ShutNamespace), "shut the network of the command: namespace (Linux; elsewhere a proxy does what it can), proxy or off")
	flags.BoolVar(&f.requireLockdown, "require-lockdown", false, "end with code 2 where no namespace can be had")
	flags.StringArrayVar(&f.allowHosts, "allow-host", nil, "HOST[:PORT] that the command may reach over the proxy; without a port 80 and 443 (repeatable)")
	flags.StringVar(&f.modelURL, "model-url", "", "ask this endpoint instead of the tape, behind the fork or all along: what stands before /v1/chat/completions and the like")
	flags.StringVar(&f.modelKey, "model-key-env", "", "the variable with the key of that endpoint; else the one of its SDK, such as OPENAI_API_KEY")
}

// rerunning is one replay of a command.
type rerunning struct {
	*replaying
	f        *rerunFlags
	argv     []string
	input    rerun.Input
	level    compare.Level
	source   *tape.Tape
	at       replay.Location
	rules    *normalise.Rules
	proxy    *lockdown.Proxy
	policies rerun.Policies
	upstream *modelstub.Upstream // nil: no model is asked
	services *services
	// processes counts those that were started: each numbers its calls for itself.
	processes atomic.Int64
	mu        sync.Mutex
	asked     map[rerun.Layer][]rerun.Asked // calls that were served
	said      *string                       // what the command answered, where --answer takes it
	variables []rerun.Variable              // that the command gets beside all others
	workDir   string                        // where the command runs; "" is here
}

func (r *rerunning) check(refs []string) (err error) {
	f := r.f
	if r.input, err = rerun.ParseInput(f.input); err != nil {
		return fmt.Errorf("--input: %w", err)
	}
	r.level = compare.Level(f.compare)
	switch {
	case len(refs) != 1:
		return fmt.Errorf("replay with a command takes one REF, not %d", len(refs))
	case len(r.argv) == 0 && !f.printEnv:
		return errors.New("there is no command behind the --")
	case !slices.Contains(compare.Levels, r.level):
		return fmt.Errorf("--compare %q is unknown", f.compare)
	case !slices.Contains([]string{"telemetry", "stdout", "http", "a2a"}, f.answer):
		return fmt.Errorf("--answer %q is unknown: want telemetry, stdout, http or a2a", f.answer)
	case (f.answer == "http" || f.answer == "a2a") && !r.input.Server():
		return fmt.Errorf("--answer %s needs --input http:… or a2a:…", f.answer)
	case !slices.Contains([]string{"recorded", "first", "all"}, f.turns):
		return fmt.Errorf("--turns %q is unknown: want recorded, first or all", f.turns)
	case !slices.Contains([]string{"", waza.ModelReplay, live}, strings.ToLower(r.flags.mode)):
		return fmt.Errorf("--mode %q is unknown: want %s or %s", r.flags.mode, waza.ModelReplay, live)
	case !slices.Contains([]rerun.Shut{rerun.ShutNamespace, rerun.ShutProxy, rerun.ShutNot}, rerun.Shut(f.shut)):
		return fmt.Errorf("--lockdown %q is unknown: want namespace, proxy or off", f.shut)
	case f.requireLockdown && rerun.Shut(f.shut) != rerun.ShutNamespace:
		return errors.New("--require-lockdown needs --lockdown namespace")
	case len(f.allowHosts) > 0 && rerun.Shut(f.shut) == rerun.ShutNot:
		return errors.New("--allow-host needs --lockdown namespace or proxy")
	case f.timeout <= 0 || f.grace <= 0:
		return errors.New("--timeout and --grace must be positive")
	case r.flags.bisect != "" || len(r.flags.failOn) > 0:
		return errors.New("--bisect and --fail-on-status check recorded runs; they go without a command")
	}
	if f.named = f.id != ""; !f.named {
		f.id = madeUpID()
	}
	if err := r.checkPolicies(); err != nil {
		return err
	}
	if r.proxy, err = lockdown.NewProxy(f.allowHosts); err != nil {
		return fmt.Errorf("--allow-host: %w", err)
	}
	return nil
}

func madeUpID() string { return "replay-" + rand.Text()[:12] }

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

func (r *rerunning) run(ctx context.Context, refs []string) error {
	r.stderr = concurrent(r.stderr)
	heapgoal.Start() // an answer does not wait for a collection
	if err := r.check(refs); err != nil {
		return err
	}
	sources, err := r.sources(ctx, refs[0])
	if err != nil {
		return err
	}
	if len(sources) == 1 {
		return r.one(ctx, sources[0])
	}
	if f := r.f; cmp.Or(f.markdown, f.html, f.junit) != "" || f.printEnv || f.named {
		return fmt.Errorf("%s stands for %d runs: --markdown, --html, --junit, --print-env and --replay-run-id want one", refs[0], len(sources))
	}
	r.flags.ndjson = r.flags.ndjson || r.flags.asJSON
	code := exitOK
	for _, source := range sources {
		r.f.id = madeUpID()
		err := r.one(ctx, source)
		exit := (*exitError)(nil)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &exit):
			code = max(code, exit.code)
		case err != nil:
			code = exitFailed
			complain(r.stderr, fmt.Errorf("%s: %w", source.at, err))
		}
	}
	if code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// live is the mode of waza that runs a command; a command behind -- says it too.
const live = "live"

// recording is a run to be replayed.
type recording struct {
	tape *tape.Tape
	at   replay.Location
}

// sources are the runs that a REF stands for: one tape; with --mode live also a snapshot of waza, and all of a folder or a deck.
func (r *rerunning) sources(ctx context.Context, ref string) (list []recording, err error) {
	if strings.ToLower(r.flags.mode) != live {
		t, at, err := r.flags.OpenOne(ctx, ref)
		return []recording{{t, at}}, err
	}
	for one, err := range r.flags.LoadRuns(ctx, ref) {
		t := one.Tape
		switch {
		case err != nil:
		case one.Snapshot != nil:
			t, err = one.Snapshot.Tape()
		default:
			t, err = r.flags.Take(one.At, one.Files[tape.TapeFile])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.Source, err)
		}
		list = append(list, recording{t, one.At})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no tape", ref)
	}
	return list, nil
}

// one replays one run and reports it.
func (r *rerunning) one(ctx context.Context, source recording) error {
	r.source, r.at = source.tape, source.at
	if err := r.checkPolicies(); err != nil {
		return err
	}
	if !rerun.HasModelCalls(r.source) && len(r.source.Events) > 0 && r.upstream == nil && !r.f.printEnv {
		return errors.New("the recording holds tool calls and no model calls; --model-url says which model is asked")
	}
	if r.f.note && !r.at.Ref.InDeck() {
		return fmt.Errorf("--note: %s lies in no deck", r.at)
	}
	report, replayed, err := r.replay(ctx)
	if err != nil {
		return err
	}
	if r.f.printEnv {
		return nil
	}
	if r.f.note && replayed != nil {
		if err := r.noteOutcome(ctx, replayed); err != nil {
			return err
		}
	}
	return r.report(report, replayed)
}

// noteOutcome notes beside the recorded run how its replay ended.
func (r *rerunning) noteOutcome(ctx context.Context, replayed *tape.Tape) error {
	recorded, outcome := aiwg.OutcomeOf(r.source), aiwg.OutcomeOf(replayed)
	result, err := aiwg.Matching{Strategy: aiwg.Exact, Threshold: aiwg.DefaultThreshold, Measure: aiwg.Measures[0]}.Match(recorded, outcome)
	switch {
	case errors.Is(err, aiwg.ErrNoResponse) && outcome.Failed:
		err = errors.New("the replay failed")
	case err != nil:
		return fmt.Errorf("--note: %w", err)
	}
	return replay.Note(ctx, r.at, outcome, result, err, "")
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
	model, err := stubOptions(options)
	if err != nil {
		return err
	}
	r.rules = model.Rules
	entries, err := r.entries(ctx, &options, &model)
	if err != nil {
		return err
	}
	o, err := oracle.New(entries, options)
	if err != nil {
		return err
	}
	note := func(layer rerun.Layer, q *oracle.Query, a *oracle.Answer) {
		if a.Outcome == oracle.Live {
			layer = rerun.LayerLive
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked[layer] = append(r.asked[layer], rerun.Asked{Tool: q.ToolName, ArgsHash: q.ArgsHash})
		r.policies.Override.Served(a)
	}
	r.services = &services{
		localOnly: true, stderr: r.stderr,
		model: modelstub.NewHandler(modelstub.Config{Stub: modelstub.New(r.source, model), Upstream: r.upstream}),
		oracle: oraclehttp.NewHandler(oraclehttp.Config{
			Library: oraclehttp.Single(r.source.Run.RunID, o, runs.Names(&r.source.Run)...), LocalOnly: true,
			Answered: func(_ context.Context, _ string, q *oracle.Query, a *oracle.Answer) { note(rerun.LayerOracle, q, a) },
			Scope:    func() string { return strconv.FormatInt(r.processes.Load(), 10) },
		}),
		mcp: mcpserver.NewHandler(mcpserver.Config{
			Tape: mcpserver.New(r.source, o), Answered: func(_ string, q *oracle.Query, a *oracle.Answer) { note(rerun.LayerMCP, q, a) },
		}),
	}
	return r.elsewhere(r.services)
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
	c := &capture{in: newReceiver(nil, redactor), tag: r.f.id, of: r.source.Run.RunID}
	report = &rerun.Report{ReplayRunID: r.f.id, Source: r.source.Run.RunID, Command: r.argv, Tools: []rerun.ToolCall{}}
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
		if turn.exit.Code != 0 && !turn.exit.Stopped || turn.exit.TimedOut {
			break
		}
	}
	turn.audit.into(c)
	r.said = turn.answer
	report.Exit, report.Network, report.Lockdown, report.Tagged = turn.exit, turn.network, turn.network.Shut == rerun.ShutNamespace, c.tagged
	if r.f.preload {
		if report.Preload, err = preload.Read(hooks.Report); err != nil {
			return nil, nil, err
		}
	}
	tapes, err := r.derive(ctx, d, c)
	if err != nil {
		return nil, nil, err
	}
	if replayed, err = r.judge(report, tapes, turn.answer); err != nil {
		return nil, nil, err
	}
	if err := r.output(report, &turn, redactor); err != nil {
		return nil, nil, fmt.Errorf("--replay-output: %w", err)
	}
	return report, replayed, nil
}

func (r *rerunning) hooks(oracleURL string) preload.Config {
	return preload.Config{Dir: "DIR", OracleURL: oracleURL, ReplayRunID: r.f.id, AllowLive: r.f.allowLive, Allow: r.f.frameworks}
}

// turned is what came of the command.
type turned struct {
	exit    rerun.Exit
	answer  *string // nil: it was not asked for
	network rerun.Shutting
	request string
	reply   *string // of a server
	audit   *auditTap
}

// turn runs the command once.
func (r *rerunning) turn(ctx context.Context, c *capture, hooks preload.Config, dir string, texts []string, headers http.Header) (out turned, err error) {
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
	network, err := rerun.OpenNetwork(ctx, rerun.Shut(r.f.shut), r.f.requireLockdown, r.proxy, &command)
	if err != nil {
		return out, err
	}
	defer func() {
		err = errors.Join(err, network.Close())
		out.network = network.Shutting
	}()
	if network.Shut == rerun.ShutProxy {
		say(r.stderr, "the network is not shut: %s", network.Promise)
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
	hooks.OracleURL, c.listen = address, network.Listen
	out.exit, err = c.run(ctx, c, command, r.addresses(address, network.Address), func(command *rerun.Command) error {
		command.Env = rerun.Environ(command.Env, slices.Concat(r.input.Variables(text), r.f.forge.variables(), r.variables))
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

// addresses are the services of a command.
func (r *rerunning) addresses(all, proxy string) rerun.Services {
	return rerun.Services{Model: all, Oracle: all, MCP: all + "/mcp", Proxy: proxy, ReplayRunID: r.f.id, ReplayOf: r.source.Run.RunID}
}

func (r *rerunning) printEnv() error {
	const address = "http://127.0.0.1:PORT"
	proxy := address
	if rerun.Shut(r.f.shut) == rerun.ShutNot {
		proxy = ""
	}
	s, hooks := r.addresses(address, proxy), r.hooks(address)
	s.OTLP = address
	lines := []string{}
	for _, v := range s.Variables() {
		line := v.Name + "=" + v.Value
		if v.Unset {
			line = "unset " + v.Name
		}
		lines = append(lines, line)
	}
	if r.f.preload {
		for _, line := range hooks.Environ(nil) {
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return r.write([]byte(strings.Join(lines, "\n") + "\n"))
}

// deck is where the tape of the replay is kept, or one in memory.
func (r *rerunning) deck(ctx context.Context) (*deck.Deck, func() error, error) {
	address, drop := r.f.to, func() {}
	if address == "" {
		name := "replay-" + r.f.id
		address, drop = "mem://"+name, func() { mem.Drop(name) }
	}
	d, err := deck.Open(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	return d, func() error {
		defer drop()
		return d.Close()
	}, nil
}

// derive makes tapes of what came, as the collector does it, and returns those of the replay.
func (r *rerunning) derive(ctx context.Context, d *deck.Deck, c *capture) (tapes []*tape.Tape, err error) {
	w := derivationTo(r.f.redactionFlags, r.source.Run.Tenant, io.Discard, r.stderr)
	if w.gate, err = r.f.gate(); err != nil {
		return nil, err
	}
	w.audit(c.in)
	traces := c.in.set.Split()
	if err := w.write(ctx, d, c.in); err != nil {
		return nil, err
	}
	for _, t := range traces {
		at := deck.Location{Area: deck.AreaReplays, Tenant: r.source.Run.Tenant, ReplayRunID: r.f.id, TraceID: t.TraceID}
		g, found, err := d.Current(ctx, at)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		of, err := runs.Tapes(ctx, d, at, g)
		if err != nil {
			return nil, err
		}
		tapes = append(tapes, of...)
	}
	slices.SortStableFunc(tapes, func(a, b *tape.Tape) int { return a.Run.StartedAt.Compare(b.Run.StartedAt) })
	if len(r.source.Run.Joined) > 0 { // what was joined is compared with what is joined
		for _, j := range reconstruct.Join(traces, reconstruct.Options{Tenant: r.source.Run.Tenant, Producer: derive.Producer()}) {
			tapes = append(tapes, j.Tape)
		}
	}
	return tapes, nil
}

// judge compares the replayed run with the source. Of several runs it takes the one with the most equal events, the earliest of them.
func (r *rerunning) judge(report *rerun.Report, tapes []*tape.Tape, answer *string) (replayed *tape.Tape, err error) {
	if !rerun.HasModelCalls(r.source) && len(r.source.Events) > 0 && len(tapes) > 0 {
		tapes = []*tape.Tape{rerun.ToolCalls(tapes)}
	}
	for _, t := range tapes {
		result, err := compare.Tapes(r.source, t, compare.Options{Level: r.level, Rules: r.rules})
		if err != nil {
			return nil, err
		}
		if replayed == nil || result.Counts.Equal > report.Comparison.Counts.Equal {
			replayed, report.Comparison = t, result
		}
	}
	for _, t := range tapes {
		if t != replayed {
			report.OtherRuns = append(report.OtherRuns, t.Run.RunID)
		}
	}
	report.Model = r.services.model.Report("")
	for _, o := range r.services.oracle.Reports() {
		if o.ReplayRunID == r.f.id {
			report.Oracle = &o.Report
		}
	}
	for _, m := range r.services.mcp.Reports() {
		report.MCP = &m.MCP
	}
	if replayed != nil {
		report.Replayed = replayed.Run.RunID
		report.Tools = rerun.Layers(replayed, r.asked, func(tool string) bool {
			return slices.Contains(r.f.allowLive, "*") || slices.Contains(r.f.allowLive, tool)
		}, r.f.forkAt)
	}
	report.Policies = r.policies
	report.Judge(r.source, replayed, answer)
	return replayed, nil
}

// exitCodes are the codes of the verdicts.
var exitCodes = map[rerun.Verdict]int{rerun.AsRecorded: exitOK, rerun.Diverged: exitPartial, rerun.NotDone: exitFailed}

// replayPage writes a recorded run and its replay side by side.
func replayPage(w io.Writer, source, replayed sidebyside.Tape, report *rerun.Report) error {
	v := sidebyside.Verdict{Text: report.Said(), Good: report.Verdict == rerun.AsRecorded, Notes: report.Notes()}
	for _, c := range report.Checks {
		v.Checks = append(v.Checks, sidebyside.Check(c))
	}
	return sidebyside.ReplayHTML(w, source, replayed, report.Comparison, v)
}

func (r *rerunning) report(report *rerun.Report, replayed *tape.Tape) error {
	source := sidebyside.Of(r.at.String(), r.source)
	var page sidebyside.Tape
	if replayed != nil {
		page = sidebyside.Of(r.f.id, replayed)
	}
	files := []struct {
		name  string
		write func(io.Writer) error
	}{
		{r.f.markdown, func(w io.Writer) error {
			_, err := io.WriteString(w, report.Markdown())
			return err
		}},
		{r.f.junit, report.JUnit},
		{r.f.html, func(w io.Writer) error {
			return replayPage(w, source, page, report)
		}},
	}
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
	if r.flags.asJSON || r.flags.ndjson {
		r.lines = r.flags.ndjson
		if err := r.print(report); err != nil {
			return err
		}
	} else {
		if err := r.write([]byte(report.Text())); err != nil {
			return err
		}
		if replayed != nil && !report.Comparison.Equal {
			if err := sidebyside.Text(r.stdout, source, page, report.Comparison, sidebyside.TextOptions{}); err != nil {
				return err
			}
		}
	}
	if code := exitCodes[report.Verdict]; code != exitOK {
		return &exitError{code: code}
	}
	return nil
}
