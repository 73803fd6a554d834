// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/mcpserver"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/replayserver"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
)

// services are what serve answers, and what it says of it.
type services struct {
	replayserver.Server
	decks  []func() error // close what the oracle reads from, and the deck of the verdicts
	missed atomic.Bool

	mu     sync.Mutex
	stderr io.Writer
}

func (s *services) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	say(s.stderr, format, args...)
}

func (s *services) addOracle(ctx context.Context, f *serveFlags, config oraclehttp.Config, options oracle.Options) (serving, error) {
	library, started, closer, err := f.openLibrary(ctx, options)
	if err != nil {
		return started, err
	}
	s.decks = append(s.decks, closer)
	config.Library = library
	config.Answered = func(_ context.Context, replayRunID string, q *oracle.Query, a *oracle.Answer) {
		s.answered(f, replayRunID, q, a)
	}
	s.Oracle = oraclehttp.NewHandler(config)
	return started, nil
}

// answered names a tool call that was not served.
func (s *services) answered(f *serveFlags, session string, q *oracle.Query, a *oracle.Answer) {
	if a.Outcome.Served() {
		return
	}
	if a.Outcome.Missed() {
		s.missed.Store(true)
	}
	if session != "" {
		session += " "
	}
	s.say("replay %scall %d: %s: %s %s%s", session, a.Call, a.Outcome, q.ToolName, q.ArgsHash, f.match.hint(a.Outcome))
}

// loadTape loads the tape that a flag names.
func loadTape(ctx context.Context, f *serveFlags, flag, ref string) (replay.Oracle, error) {
	l, err := f.OneOracle(ctx, ref)
	if err == nil && l.Tape == nil {
		err = fmt.Errorf("%s is an oracle file; --%s needs the tape", l.At, flag)
	}
	return l, err
}

// recordedTools are the tools of the tape that --mcp names.
func recordedTools(ctx context.Context, f *serveFlags, options oracle.Options) (*mcpserver.Tape, *oracle.Oracle, string, error) {
	l, err := loadTape(ctx, f, "mcp", f.mcp)
	if err != nil {
		return nil, nil, "", err
	}
	o, err := oracle.New(l.Entries, options)
	if err != nil {
		return nil, nil, "", err
	}
	return mcpserver.New(l.Tape, o), o, l.RunID, nil
}

func (s *services) addMCP(ctx context.Context, f *serveFlags, config oraclehttp.Config, options oracle.Options) (*servingMCP, error) {
	tools, _, run, err := recordedTools(ctx, f, options)
	if err != nil {
		return nil, err
	}
	s.Token = config.Token
	s.MCP = mcpserver.NewHandler(mcpserver.Config{
		Tape: tools, MaxSessions: config.MaxSessions, MaxCalls: config.MaxCalls, MaxBody: config.MaxBody,
		Answered: func(session string, q *oracle.Query, a *oracle.Answer) { s.answered(f, session, q, a) },
	})
	return &servingMCP{RunID: run, Tools: tools.Tools()}, nil
}

// addVerdicts takes verdicts on the runs of a deck. What comes is redacted by the default profile.
func (s *services) addVerdicts(ctx context.Context, f *serveFlags, config oraclehttp.Config) error {
	finder := f.Finder
	finder.Deck = f.verdicts
	redaction := redactionFlags{keyFlags: f.match.keyFlags, redact: redact.PolicyDefault, concern: tellingConcerns(f.cmd)}
	g, err := newVerdictGiver(ctx, finder, &redaction, derive.Options{}, s.stderr)
	if err != nil {
		return fmt.Errorf("--verdicts: %w", err)
	}
	s.Token, s.Verdicts, s.decks = config.Token, g, append(s.decks, g.deck.Close)
	return nil
}

// serveStdio serves one MCP client on stdin and stdout, until it hangs up. The report goes to stderr: stdout belongs to the protocol.
func serveStdio(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, f *serveFlags) error {
	if f.mcp == "" || f.oracle != "" || f.model != "" {
		return errors.New("--stdio needs --mcp, and neither --oracle nor --model")
	}
	options, err := f.match.options()
	if err != nil {
		return err
	}
	tools, o, _, err := recordedTools(ctx, f, options)
	if err != nil {
		return err
	}
	all := services{stderr: stderr}
	session := o.NewSession(f.calls)
	server, err := tools.Server("", session, func(q *oracle.Query, a *oracle.Answer) { all.answered(f, "", q, a) })
	if err != nil {
		return err
	}
	if err := server.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(stdin), Writer: unclosed{stdout}}); err != nil && ctx.Err() == nil {
		return err
	}
	if err := printLine(stderr, mcpserver.Report{MCP: session.Report()}); err != nil {
		return err
	}
	if all.missed.Load() {
		return &exitError{code: exitPartial}
	}
	return nil
}

// unclosed is a writer that stays open when the protocol ends.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

func (s *services) addModel(ctx context.Context, f *serveFlags, config oraclehttp.Config, options oracle.Options) (*servingModel, error) {
	l, err := loadTape(ctx, f, "model", f.model)
	if err != nil {
		return nil, err
	}
	o, err := replayserver.ModelOptions(options)
	if err != nil {
		return nil, err
	}
	o.Volatile = replayserver.VolatileOf(l.Tape, f.exact)
	s.Model = modelstub.NewHandler(modelstub.Config{
		Stub: modelstub.New(l.Tape, o), Token: config.Token, MaxSessions: config.MaxSessions, Speed: config.Speed,
		Answered: func(session string, a *modelstub.Answer) {
			if a.Outcome.Served() {
				return
			}
			s.missed.Store(true)
			if session != "" {
				session = " of " + session
			}
			s.say("model call %d%s: %s%s", a.Call, session, a.Outcome, nearest(a.Nearest))
		},
	})
	return &servingModel{l.RunID, s.Model.Turns()}, nil
}

// nearest says where a live conversation left the recorded one that is most like it.
func nearest(d *modelstub.Difference) string {
	if d == nil {
		return ""
	}
	text := fmt.Sprintf(": differs from event %d at %s: recorded %q, live %q", d.Seq, d.Place, d.Recorded, d.Live)
	if len(d.Rules) > 0 {
		text += "; rules that make them equal:\n  " + strings.Join(d.Rules, "\n  ")
	}
	return text
}

func (s *services) closeDecks() (err error) {
	for _, closer := range s.decks {
		err = errors.Join(err, closer())
	}
	return err
}

// report prints a line for each session.
func (s *services) report(stdout io.Writer) error {
	for _, r := range s.Reports() {
		if err := printLine(stdout, r); err != nil {
			return err
		}
	}
	return nil
}
