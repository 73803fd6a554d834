// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// services are what one server of a replay answers, told apart by path.
type services struct {
	localOnly bool
	oracle    *oraclehttp.Handler // nil: none
	model     *modelstub.Handler  // nil: none
	library   func() error        // closes what the oracle reads from
	missed    atomic.Bool

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
	s.library = closer
	config.Library = library
	config.Answered = func(_ context.Context, replayRunID string, q *oracle.Query, a *oracle.Answer) {
		if a.Outcome.Served() {
			return
		}
		if a.Outcome.Missed() {
			s.missed.Store(true)
		}
		s.say("replay %s call %d: %s: %s %s%s", replayRunID, a.Call, a.Outcome, q.ToolName, q.ArgsHash, f.match.hint(a.Outcome))
	}
	s.oracle = oraclehttp.NewHandler(config)
	return started, nil
}

func (s *services) addModel(ctx context.Context, f *serveFlags, config oraclehttp.Config, options oracle.Options) (*servingModel, error) {
	l, err := f.OneOracle(ctx, f.model)
	if err != nil {
		return nil, err
	}
	if l.Tape == nil {
		return nil, fmt.Errorf("%s: an oracle file holds no model calls; --model needs the tape", l.At)
	}
	o, err := stubOptions(options)
	if err != nil {
		return nil, err
	}
	s.model = modelstub.NewHandler(modelstub.Config{
		Stub: modelstub.New(l.Tape, o), Token: config.Token, MaxSessions: config.MaxSessions,
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
	return &servingModel{l.RunID, s.model.Turns()}, nil
}

// nearest says where a live conversation left the recorded one that is most like it.
func nearest(d *modelstub.Difference) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf(": differs from event %d at %s: recorded %q, live %q", d.Seq, d.Place, d.Recorded, d.Live)
}

// Close lets what waits answer at once.
func (s *services) Close() {
	if s.oracle != nil {
		s.oracle.Close()
	}
}

func (s *services) closeLibrary() error {
	if s.library == nil {
		return nil
	}
	return s.library()
}

// ServeHTTP implements http.Handler.
func (s *services) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.model == nil || s.oracle != nil && ofOracle(r.URL.Path):
		s.oracle.ServeHTTP(w, r)
	case oraclehttp.Foreign(w, r, s.localOnly):
	default:
		s.model.ServeHTTP(w, r)
	}
}

// ofOracle tells the paths of the oracle from those of providers.
func ofOracle(path string) bool {
	for _, own := range []string{"/v1/tool-calls", "/v1/runs/", "/v1/sessions/", "/openapi.json", "/healthz"} {
		if path == own || strings.HasSuffix(own, "/") && strings.HasPrefix(path, own) {
			return true
		}
	}
	return false
}

// report prints a line for each session.
func (s *services) report(stdout io.Writer) error {
	if s.oracle != nil {
		for _, r := range s.oracle.Reports() {
			if err := printLine(stdout, r); err != nil {
				return err
			}
		}
	}
	if s.model != nil {
		for _, r := range s.model.Reports() {
			if err := printLine(stdout, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// stubOptions compare model calls as the oracle compares tool calls. Secrets are masked in what is told of live conversations.
func stubOptions(o oracle.Options) (modelstub.Options, error) {
	mask := redact.Default()
	mask.Mode = redact.ModeMask
	redactor, err := redact.New(mask)
	if err != nil {
		return modelstub.Options{}, err
	}
	options := modelstub.Options{Verifier: o.Verifier, Mask: func(text string) string { return redactor.String("", text, nil) }}
	if o.Rules != nil {
		options.Rules, err = normalise.New(o.Rules.Values)
	}
	return options, err
}
