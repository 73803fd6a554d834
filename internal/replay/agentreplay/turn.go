// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentreplay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/tapedeck/tapedeck/internal/interop/a2a"
	"github.com/tapedeck/tapedeck/internal/replay/capture"
	"github.com/tapedeck/tapedeck/internal/replay/lockdown"
	"github.com/tapedeck/tapedeck/internal/replay/preload"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
)

// requests are what the command is asked, one text for each turn.
type requests struct {
	texts   []string
	headers http.Header // of A2A
}

// requests renders the recorded messages. A server of A2A gets the recorded request.
func (r *Replay) requests() (*requests, error) {
	t := r.of.Tape
	turns := rerun.Turns(t, r.o.Turns)
	switch r.o.Input.Kind {
	case "none":
		return &requests{texts: []string{""}}, nil
	case "a2a":
		req, err := a2a.FromTape(t, a2a.Options{TaskID: r.id}) // under the recorded id an agent would continue its session
		if err == nil && req.Body == nil {
			err = errors.New("the message of the request is not on the tape")
		}
		if err != nil {
			return nil, fmt.Errorf("--input a2a: %w", err)
		}
		headers := http.Header{}
		for _, h := range req.Headers {
			headers.Set(h.Name, h.Value)
		}
		for _, trace := range []string{"Traceparent", "Tracestate", "Baggage"} { // the replay is a trace of its own
			headers.Del(trace)
		}
		if len(turns) > 1 {
			r.o.Say("--input a2a sends the recorded request; %d later turns are not sent", len(turns)-1)
		}
		return &requests{[]string{string(req.Body)}, headers}, nil
	}
	var texts []string
	for _, asked := range turns {
		text, err := rerun.Render(r.o.Template, t, asked)
		if err != nil {
			return nil, fmt.Errorf("--template: %w", err)
		}
		texts = append(texts, text)
	}
	return &requests{texts: texts}, nil
}

// turn is one run of the command.
type turn struct {
	exit    rerun.Exit
	answer  *string // nil: Options.Answer takes none
	network rerun.Shutting
	seen    *lockdown.Seen // nil: nobody watched
	request string
	reply   *string // of a server, as it came
	audit   *auditTap
	refused string // why a server refused the request
}

// runTurn runs the command once. A command that is no server gets the one text.
func (r *Replay) runTurn(ctx context.Context, c *capture.Capture, hooks preload.Config, dir string, texts []string, headers http.Header) (t *turn, err error) {
	r.processes.Add(1)
	t = &turn{request: texts[0], audit: &auditTap{w: r.o.Stderr}}
	var stdout bytes.Buffer
	command, err := r.command(t, &stdout, dir)
	if err != nil {
		return nil, err
	}
	network, err := rerun.OpenNetwork(ctx, r.o.Shut, r.o.RequireLockdown, r.proxy, command)
	if err != nil && r.copy != nil {
		err = fmt.Errorf("the copy of the workspace cannot be put in its place: %w; --lockdown off runs the command in it all the same, with files outside of it in reach", err)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, network.Close())
		t.network, t.seen = network.Shutting, network.Seen
	}()
	r.sayOpenings(network)
	address, stop, err := r.serve(ctx, network)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if r.o.Input.Server() {
		command.Ask = func(ctx context.Context) error { return r.ask(ctx, t, network.Client(), texts, headers) }
	}
	services := r.addresses(address, network.Address)
	var standIns []rerun.Variable
	hooks.OracleURL, c.Listen = address, network.Listen
	c.Environ, standIns, r.withheld = r.environment(services)
	t.exit, err = c.Run(ctx, *command, services, func(command *rerun.Command) error {
		command.Env = rerun.Environ(command.Env, slices.Concat(standIns, r.o.Input.Variables(t.request), r.o.Forge.variables(), r.o.Variables))
		if _, err := capture.Launch(command, c.Environ, r.places(dir), &network.Shut); err != nil {
			return err
		}
		if r.o.Hooks {
			command.Env = hooks.Environ(command.Env)
		}
		return nil
	})
	t.exit.Refused = t.refused
	if r.o.Answer == AnswerStdout {
		said := stdout.String()
		t.answer = &said
	}
	return t, err
}

// command is the command with its input and its outputs, before its network is there.
func (r *Replay) command(t *turn, stdout io.Writer, dir string) (*rerun.Command, error) {
	command := &rerun.Command{Argv: r.o.Argv, Dir: r.o.Dir, Stdout: r.o.Stderr, Stderr: r.o.Stderr, Timeout: r.o.Timeout, Grace: r.o.Grace, Remove: dir}
	if r.o.Answer == AnswerStdout {
		command.Stdout = io.MultiWriter(stdout, r.o.Stderr)
	}
	if r.o.Forge.Source != "" {
		command.Stderr = t.audit
	}
	if err := r.o.Input.Give(command, t.request, dir); err != nil {
		return nil, err
	}
	if r.copy != nil {
		return command, r.copy.Put(command, r.o.Shut)
	}
	return command, nil
}

// sayOpenings says what the network leaves open to the command.
func (r *Replay) sayOpenings(network *rerun.Network) {
	if network.Shut == rerun.ShutProxy {
		r.o.Say("the network is not shut: %s", network.Promise)
	}
	if text := secretenv.Exposed(); text != "" && network.Shut != rerun.ShutNamespace {
		r.o.Say("%s", text)
	}
}

// ask asks a server turn by turn, and keeps what it answers. A refusal ends it and is no error.
func (r *Replay) ask(ctx context.Context, t *turn, client *http.Client, texts []string, headers http.Header) error {
	for _, text := range texts {
		body, err := r.o.Input.Ask(ctx, client, text, r.o.Ready, headers)
		if errors.Is(err, rerun.ErrRefused) {
			t.refused = err.Error()
			return nil
		}
		reply := body
		t.reply = &reply
		if err == nil && r.o.Answer == AnswerA2A {
			body, err = a2a.Answer(body)
		}
		if err != nil {
			return err
		}
		if r.o.Answer == AnswerHTTP || r.o.Answer == AnswerA2A {
			t.answer = &body
		}
	}
	return nil
}

// serve answers on an address that the command reaches, until stop is called.
func (r *Replay) serve(ctx context.Context, n *rerun.Network) (address string, stop func() error, err error) {
	listener, err := n.Listen(ctx)
	if err != nil {
		return "", nil, err
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- oraclehttp.Serve(serving, listener, r.server) }()
	return "http://" + listener.Addr().String(), sync.OnceValue(func() error {
		cancel()
		return <-done
	}), nil
}
