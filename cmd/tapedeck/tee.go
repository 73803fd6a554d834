// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/modeltap"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape"
)

// modelAddress is a variable that says where a program asks models. Endpoint is where it asks without it, ""
// for a variable that is only followed where it is set. Variables of one provider stand for each other.
type modelAddress struct{ Variable, Provider, Endpoint string }

// modelAddresses are those that record --tee leads through itself.
func modelAddresses() []modelAddress {
	const openai, anthropic, gemini = "https://api.openai.com/v1", "https://api.anthropic.com", "https://generativelanguage.googleapis.com"
	return []modelAddress{
		{"OPENAI_BASE_URL", "openai", openai}, {"OPENAI_API_BASE", "openai", openai},
		{"ANTHROPIC_BASE_URL", "anthropic", anthropic},
		{"GOOGLE_GEMINI_BASE_URL", "gemini", gemini},
		{"AZURE_OPENAI_ENDPOINT", "azure", ""}, {"OLLAMA_HOST", "ollama", ""},
	}
}

// tee passes the model calls of a command on, and keeps what passes.
type tee struct {
	tap       *modeltap.Tap
	service   string
	variables []rerun.Variable
	endpoints []string // as they are said: the variable and where it leads
	stops     []func() error
	listening map[string]string // by scheme and host of an endpoint
	transport *http.Transport
}

// teeGrace is how long an answer that is under way when the command has ended may take to end.
const teeGrace = 2 * time.Second

// openTee starts a listener for each endpoint that the environment names, or that a provider has.
func openTee(ctx context.Context, environ, argv []string) (t *tee, err error) {
	t = &tee{tap: modeltap.New(), service: filepath.Base(argv[0])}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	value := func(name string) string {
		for _, v := range slices.Backward(environ) {
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				return text
			}
		}
		return ""
	}
	own := map[string]string{} // by provider, the first of its variables that is set
	for _, a := range modelAddresses() {
		own[a.Provider] = cmp.Or(own[a.Provider], value(a.Variable))
	}
	t.listening, t.transport = map[string]string{}, http.DefaultTransport.(*http.Transport).Clone()
	t.transport.DisableCompression, t.transport.MaxIdleConnsPerHost = true, 16
	whole := modeltap.Endpoints{}
	for _, a := range modelAddresses() {
		address := cmp.Or(value(a.Variable), own[a.Provider], a.Endpoint)
		if address == "" {
			continue
		}
		bare := !strings.Contains(address, "://")
		if bare {
			address = "http://" + address
		}
		endpoint, err := url.Parse(address)
		if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
			return t, fmt.Errorf("--tee: %s is no address of an HTTP endpoint", a.Variable)
		}
		if whole[a.Provider] == nil {
			whole[a.Provider] = endpoint
		}
		at := endpoint.Scheme + "://" + endpoint.Host
		listener, err := t.through(ctx, endpoint)
		if err != nil {
			return t, err
		}
		own := *endpoint
		own.Scheme, own.Host, own.User = "http", listener, nil
		text := own.String()
		if bare {
			text = strings.TrimPrefix(text, "http://")
		}
		t.variables = append(t.variables, rerun.Variable{Name: a.Variable, Value: text})
		t.endpoints = append(t.endpoints, a.Variable+" for "+at)
	}
	all, err := t.listen(ctx, whole.Handler(t.tap, t.transport))
	if err != nil {
		return t, err
	}
	t.variables = append(t.variables, rerun.Variable{Name: "TAPEDECK_MODEL_URL", Value: "http://" + all})
	return t, nil
}

// through returns the address of the listener that passes on to an endpoint.
func (t *tee) through(ctx context.Context, endpoint *url.URL) (address string, err error) {
	at := endpoint.Scheme + "://" + endpoint.Host
	if t.listening[at] == "" {
		t.listening[at], err = t.listen(ctx, t.tap.Handler(modeltap.Pass(endpoint, t.transport), endpoint.Host))
	}
	return t.listening[at], err
}

// settings leads the base URLs in the settings of a program that is known through the listeners. dir is a
// folder for them.
func (t *tee) settings(ctx context.Context, command *rerun.Command, given []string, dir string, stderr io.Writer) (*agentprofile.Passage, error) {
	agent, known := agentprofile.Find(command.Argv)
	if !known {
		return &agentprofile.Passage{}, nil
	}
	p, err := agent.Through(agentprofile.Command{
		Argv: command.Argv, Env: command.Env, Given: given, Places: agentprofile.Places{Dir: dir, Model: variable(command.Env, "TAPEDECK_MODEL_URL")},
	}, func(origin string) (string, error) {
		endpoint, err := url.Parse(origin)
		if err != nil {
			return "", errors.New("a base URL is none")
		}
		address, err := t.through(ctx, endpoint)
		return "http://" + address, err
	})
	if err != nil {
		return nil, fmt.Errorf("--tee: settings of %s: %w", agent.Name, err)
	}
	command.Argv, command.Env = p.Argv, p.Env
	if len(p.Set) > 0 {
		say(stderr, "the command is %s; led through: %s", agent.Name, strings.Join(p.Set, ", "))
	}
	return p, nil
}

// listen serves on loopback, and returns the address.
func (t *tee) listen(ctx context.Context, pass http.Handler) (string, error) {
	listener, err := loopback(ctx)
	if err != nil {
		return "", err
	}
	server := &http.Server{
		ReadHeaderTimeout: 30 * time.Second, BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !oraclehttp.Foreign(w, r, true) {
				pass.ServeHTTP(w, r)
			}
		}),
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.stops = append(t.stops, func() error {
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), teeGrace)
		defer cancel()
		err := server.Shutdown(drain)
		if errors.Is(err, context.DeadlineExceeded) { // also of connections that it handed over
			err = server.Close()
		}
		if served := <-done; err == nil && !errors.Is(served, http.ErrServerClosed) {
			err = served
		}
		return err
	})
	return listener.Addr().String(), nil
}

func (t *tee) close() (err error) {
	for _, stop := range t.stops {
		err = errors.Join(err, stop())
	}
	t.stops = nil
	return err
}

// run runs the command, and hands the spans of what passed to the capture. Telemetry of the command stays
// where it goes.
func (t *tee) run(ctx context.Context, c *capture, command rerun.Command, dir string, stderr io.Writer) (exit rerun.Exit, err error) {
	say(stderr, "--tee: model calls pass through this program, on loopback, and are recorded: %s; $TAPEDECK_MODEL_URL for all of them", strings.Join(t.endpoints, ", "))
	command.Env = rerun.Environ(c.environ, append(rerun.Services{}.Variables(), t.variables...))
	passage, err := t.settings(ctx, &command, c.environ, dir, stderr)
	if err != nil {
		return exit, errors.Join(err, t.close())
	}
	before := log.Writer()
	log.SetOutput(io.Discard) // net/http writes there what servers sent that it did not expect
	exit, err = rerun.Run(ctx, command)
	err = errors.Join(err, t.close(), passage.Close())
	log.SetOutput(before)
	if err != nil {
		return exit, err
	}
	if c.ended != nil {
		c.ended(exit)
	}
	spans, sum := t.tap.Traces(modeltap.Options{Seed: rand.Text(), Service: t.service})
	if spans.SpanCount() > 0 {
		c.AddTraces(spans)
	}
	say(stderr, "--tee: %s", toldOf(sum))
	return exit, c.err
}

// toldOf says what passed.
func toldOf(sum modeltap.Summary) string {
	line := fmt.Sprintf("%d model calls passed, in %d conversations", sum.Calls, sum.Conversations)
	if sum.Lost > 0 {
		line += fmt.Sprintf("; %d more were too long, or not to be read, and are recorded nowhere", sum.Lost)
	}
	if len(sum.Other) > 0 {
		var names []string
		for _, p := range sum.Other[:min(len(sum.Other), 5)] {
			names = append(names, fmt.Sprintf("%s (%d)", p.Name, p.Count))
		}
		if more := len(sum.Other) - len(names); more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		line += "; passed and not recorded: " + strings.Join(names, ", ")
	}
	return line
}

// seen makes the tapes of what the model stub was asked, as record --tee makes them of what passed.
func (r *rerunning) seen(ctx context.Context, d *deck.Deck, redactor *redact.Redactor) ([]*tape.Tape, error) {
	spans, _ := r.services.tap.Traces(modeltap.Options{Seed: r.f.id, Service: r.source.Run.Service.Name, OneRun: !madeByTee(r.source) && rerun.Callers(r.source) > 1})
	if spans.SpanCount() == 0 {
		return nil, nil
	}
	c := &capture{in: ingest.NewBatch(nil, redactor), tag: r.f.id, of: r.source.Run.RunID}
	if c.AddTraces(spans); c.err != nil {
		return nil, c.err
	}
	return r.derive(ctx, d, c)
}

// madeByTee reports a tape that was made of what passed.
func madeByTee(t *tape.Tape) bool {
	return slices.ContainsFunc(t.Sources.Scopes, func(s tape.Scope) bool { return s.Name == modeltap.Scope })
}
