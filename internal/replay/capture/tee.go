// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package capture

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

	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
	"github.com/tapedeck/tapedeck/internal/replay/modeltap"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
	"github.com/tapedeck/tapedeck/tape"
)

// modelAddress is a variable with the address of a model API. Endpoint is the default of the provider; "" for
// a variable that counts only where it is set. The variables of one provider stand in for each other.
type modelAddress struct{ variable, provider, endpoint string }

// modelAddresses are the variables that a Tee redirects to itself.
func modelAddresses() []modelAddress {
	const openai, anthropic, gemini = "https://api.openai.com/v1", "https://api.anthropic.com", "https://generativelanguage.googleapis.com"
	return []modelAddress{
		{"OPENAI_BASE_URL", "openai", openai}, {"OPENAI_API_BASE", "openai", openai},
		{"ANTHROPIC_BASE_URL", "anthropic", anthropic},
		{"GOOGLE_GEMINI_BASE_URL", "gemini", gemini},
		{"AZURE_OPENAI_ENDPOINT", "azure", ""}, {"OLLAMA_HOST", "ollama", ""},
	}
}

// Tee forwards the model calls of a command to their endpoints, and records them.
type Tee struct {
	tap       *modeltap.Tap
	service   string
	variables []rerun.Variable
	endpoints []string // for a person: the variable and its endpoint
	stops     []func() error
	listening map[string]string // addresses of listeners, by scheme and host of the endpoint
	transport *http.Transport
}

// teeGrace is how long an answer may take that is in progress when the command has ended.
const teeGrace = 2 * time.Second

// OpenTee starts a listener for each endpoint that the environment names, and for the default endpoints of
// providers.
func OpenTee(ctx context.Context, environ, argv []string) (t *Tee, err error) {
	t = &Tee{tap: modeltap.New(), service: filepath.Base(argv[0])}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	own := map[string]string{} // by provider, the first of its variables that is set
	for _, a := range modelAddresses() {
		own[a.provider] = cmp.Or(own[a.provider], rerun.ValueIn(environ, a.variable))
	}
	t.listening, t.transport = map[string]string{}, http.DefaultTransport.(*http.Transport).Clone()
	t.transport.DisableCompression, t.transport.MaxIdleConnsPerHost = true, 16
	byProvider := modeltap.Endpoints{}
	for _, a := range modelAddresses() {
		address := cmp.Or(rerun.ValueIn(environ, a.variable), own[a.provider], a.endpoint)
		if address == "" {
			continue
		}
		endpoint, err := t.redirect(ctx, a.variable, address)
		if err != nil {
			return t, err
		}
		if byProvider[a.provider] == nil {
			byProvider[a.provider] = endpoint
		}
	}
	all, err := t.listen(ctx, byProvider.Handler(t.tap, t.transport))
	if err != nil {
		return t, err
	}
	t.variables = append(t.variables, rerun.Variable{Name: "TAPEDECK_MODEL_URL", Value: "http://" + all})
	return t, nil
}

// redirect gives a variable the address of the listener for an endpoint. An address without a scheme stays
// without one.
func (t *Tee) redirect(ctx context.Context, variable, address string) (*url.URL, error) {
	bare := !strings.Contains(address, "://")
	if bare {
		address = "http://" + address
	}
	endpoint, err := url.Parse(address)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, fmt.Errorf("--tee: %s is no address of an HTTP endpoint", variable)
	}
	listener, err := t.through(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	own := *endpoint
	own.Scheme, own.Host, own.User = "http", listener, nil
	text := own.String()
	if bare {
		text = strings.TrimPrefix(text, "http://")
	}
	t.variables = append(t.variables, rerun.Variable{Name: variable, Value: text})
	t.endpoints = append(t.endpoints, variable+" for "+endpoint.Scheme+"://"+endpoint.Host)
	return endpoint, nil
}

// through returns the address of the listener that forwards to an endpoint.
func (t *Tee) through(ctx context.Context, endpoint *url.URL) (address string, err error) {
	at := endpoint.Scheme + "://" + endpoint.Host
	if t.listening[at] == "" {
		t.listening[at], err = t.listen(ctx, t.tap.Handler(modeltap.Pass(endpoint, t.transport), endpoint.Host))
	}
	return t.listening[at], err
}

// settings redirects the base URLs in the settings of a known program. dir is a folder for copies of its
// settings.
func (t *Tee) settings(ctx context.Context, command *rerun.Command, given []string, dir string, say func(format string, args ...any)) (*agentprofile.Passage, error) {
	agent, known := agentprofile.Find(command.Argv)
	if !known {
		return &agentprofile.Passage{}, nil
	}
	places := agentprofile.Places{Dir: dir, Model: rerun.ValueIn(command.Env, "TAPEDECK_MODEL_URL")}
	p, err := agent.Through(agentprofile.Command{Argv: command.Argv, Env: command.Env, Given: given, Places: places}, func(origin string) (string, error) {
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
		say("the command is %s; led through: %s", agent.Name, strings.Join(p.Set, ", "))
	}
	return p, nil
}

// listen serves on loopback and returns the address.
func (t *Tee) listen(ctx context.Context, pass http.Handler) (string, error) {
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
		if errors.Is(err, context.DeadlineExceeded) { // also of hijacked connections
			err = server.Close()
		}
		if served := <-done; err == nil && !errors.Is(served, http.ErrServerClosed) {
			err = served
		}
		return err
	})
	return listener.Addr().String(), nil
}

func (t *Tee) close() (err error) {
	for _, stop := range t.stops {
		err = errors.Join(err, stop())
	}
	t.stops = nil
	return err
}

// Run runs the command and adds the spans of its model calls to the capture. Telemetry of the command is not
// captured.
func (t *Tee) Run(ctx context.Context, c *Capture, command rerun.Command, dir string) (exit rerun.Exit, err error) {
	c.Say("--tee: model calls pass through this program, on loopback, and are recorded: %s; $TAPEDECK_MODEL_URL for all of them", strings.Join(t.endpoints, ", "))
	command.Env = rerun.Environ(c.Environ, append(rerun.Services{}.Variables(), t.variables...))
	passage, err := t.settings(ctx, &command, c.Environ, dir, c.Say)
	if err != nil {
		return exit, errors.Join(err, t.close())
	}
	before := log.Writer()
	log.SetOutput(io.Discard) // net/http logs unexpected responses of servers there
	exit, err = rerun.Run(ctx, command)
	err = errors.Join(err, t.close(), passage.Close())
	log.SetOutput(before)
	if err != nil {
		return exit, err
	}
	if c.Ended != nil {
		c.Ended(exit)
	}
	spans, sum := t.tap.Traces(modeltap.Options{Seed: rand.Text(), Service: t.service})
	if spans.SpanCount() > 0 {
		c.AddTraces(spans)
	}
	c.Say("--tee: %s", describe(sum))
	return exit, nil
}

// describe says what passed a tee.
func describe(sum modeltap.Summary) string {
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

// MadeByTee reports whether a tape was made of the model calls that passed a Tee.
func MadeByTee(t *tape.Tape) bool {
	return slices.ContainsFunc(t.Sources.Scopes, func(s tape.Scope) bool { return s.Name == modeltap.Scope })
}
