// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package oraclehttp serves oracles over HTTP. A client sends tool calls and gets recorded answers or typed misses, in one session for each
// replay. The OpenAPI document that the package serves describes the protocol, and so does docs/oracle.md.
package oraclehttp

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/tapedeck/tapedeck/oracle"
)

// Config configures a Handler. Zero values are the defaults.
type Config struct {
	// Library holds the runs that can be asked for. Required.
	Library Library
	// Token is the bearer token that clients must send; empty asks for none.
	Token string
	// LocalOnly refuses requests for a host that is not this machine's loopback. It keeps web pages away that have a name of their
	// own point here (DNS rebinding); set it when the listener is on loopback.
	LocalOnly bool

	MaxBody     int64         // bytes of one request, DefaultMaxBody
	MaxSessions int           // open at once, DefaultMaxSessions
	MaxCalls    int           // of one session, oracle.DefaultMaxCalls
	SessionAge  time.Duration // a session without requests for this long is closed, DefaultSessionAge

	// Speed replays the recorded latencies: 1 as recorded, 10 ten times as fast. 0 answers at once.
	Speed float64

	// Answered is told each call with its answer, once. It must be safe for concurrent use and must not keep the arguments.
	Answered func(ctx context.Context, replayRunID string, q *oracle.Query, a *oracle.Answer)
	Clock    clockwork.Clock
	// Scope, if it is set, sets the calls of different processes of one replay apart: each may number its own, oracle.Query.
	Scope func() string
}

// The defaults.
const (
	DefaultMaxBody     = 8 << 20
	DefaultMaxSessions = 1024
	DefaultSessionAge  = 24 * time.Hour
)

// Library finds the oracle of a run.
type Library interface {
	// Open returns the oracle of a run and the whole run id. The run is named in the form in which a client gives it: a run id, a trace id or
	// the beginning of one; "" asks for the only run there is. The error is ErrNoRun or ErrSeveralRuns, wrapped, when the client is to blame.
	Open(ctx context.Context, run string) (runID string, o *oracle.Oracle, err error)
}

// Errors of a Library.
var (
	ErrNoRun       = errors.New("no such run")
	ErrSeveralRuns = errors.New("several runs")
)

// Single is a Library of one run, which can be called by other names too.
func Single(runID string, o *oracle.Oracle, names ...string) Library { return single{runID, o, names} }

type single struct {
	id     string
	oracle *oracle.Oracle
	names  []string
}

func (s single) Open(_ context.Context, run string) (string, *oracle.Oracle, error) {
	// The trace id is the first part of the run id.
	if run != "" && run != s.id && !(len(run) >= 8 && strings.HasPrefix(s.id, run)) && !slices.Contains(s.names, run) {
		return "", nil, ErrNoRun
	}
	return s.id, s.oracle, nil
}

// Handler answers tool calls. It is safe for concurrent use.
type Handler struct {
	config   Config
	sessions *sessions
	mux      *http.ServeMux
	closing  chan struct{}
	close    sync.Once
}

//go:embed openapi.json
var document []byte

// OpenAPI returns the OpenAPI 3.1 document of the protocol.
func OpenAPI() []byte { return document }

// NewHandler returns a handler.
func NewHandler(c Config) *Handler {
	if c.MaxBody <= 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.MaxSessions <= 0 {
		c.MaxSessions = DefaultMaxSessions
	}
	if c.SessionAge <= 0 {
		c.SessionAge = DefaultSessionAge
	}
	if c.Clock == nil {
		c.Clock = clockwork.NewRealClock()
	}
	h := &Handler{config: c, sessions: newSessions(c), mux: http.NewServeMux(), closing: make(chan struct{})}
	h.mux.HandleFunc("POST /v1/tool-calls", h.toolCall)
	h.mux.HandleFunc("POST /{$}", h.toolCall) // the wire protocol of Forge has one URL, and posts to it
	h.mux.HandleFunc("POST /v1/runs/{run}/tool-calls", h.toolCall)
	h.mux.HandleFunc("GET /v1/sessions/{id}/report", h.report)
	h.mux.HandleFunc("DELETE /v1/sessions/{id}", h.end)
	h.mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, document) })
	h.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { write(w, http.StatusOK, []byte(`{"status":"ok"}`)) })
	return h
}

// Close lets calls that wait for a recorded latency answer at once.
func (h *Handler) Close() { h.close.Do(func() { close(h.closing) }) }

// Reports returns the reports of the open sessions, by replay_run_id and run.
func (h *Handler) Reports() []Report { return h.sessions.reports() }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case Foreign(w, r, h.config.LocalOnly):
	case r.URL.Path != "/healthz" && !Authorised(w, r, h.config.Token):
	default:
		h.mux.ServeHTTP(&jsonErrors{ResponseWriter: w}, r)
	}
}

// Foreign refuses requests that no client on this machine sends: those for a host that is not loopback, where localOnly is set, and those
// of web pages. It reports that it has.
func Foreign(w http.ResponseWriter, r *http.Request, localOnly bool) bool {
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case localOnly && !LocalHost(r.Host):
		fail(w, problem{http.StatusForbidden, "foreign_host", "this server answers requests for localhost only"})
	case r.Header.Get("Origin") != "" || site == "cross-site" || site == "same-site":
		// No agent sends these; browsers do for every page that asks.
		fail(w, problem{http.StatusForbidden, "browser", "web pages are not served"})
	default:
		return false
	}
	return true
}

// Authorised refuses requests without the bearer token, where there is one, and reports whether it did not. It compares digests, so that
// the time tells nothing of the token, its length included.
func Authorised(w http.ResponseWriter, r *http.Request, token string) bool {
	if token == "" {
		return true
	}
	scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	is, want := sha256.Sum256([]byte(strings.TrimSpace(sent))), sha256.Sum256([]byte(token))
	if strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(is[:], want[:]) == 1 {
		return true
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	fail(w, problem{http.StatusUnauthorized, "unauthorised", "a bearer token is needed"})
	return false
}

// jsonErrors gives what the mux refuses by itself, an unknown path or method, the form of all errors.
type jsonErrors struct {
	http.ResponseWriter
	replaced bool
}

func (w *jsonErrors) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *jsonErrors) WriteHeader(status int) {
	if w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	w.replaced = true
	code := "unknown_path"
	if status == http.StatusMethodNotAllowed {
		code = "unknown_method"
	}
	fail(w.ResponseWriter, problem{status, code, "see /openapi.json"})
}

func (w *jsonErrors) Write(b []byte) (int, error) {
	if w.replaced {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}
