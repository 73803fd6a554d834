// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/tape"
)

// Input says how a command gets what the recorded run was asked.
type Input struct {
	Kind string // stdin, arg, env, file, http, a2a or none
	Name string // of the variable
	// Method and URL are those of the request to a command that is a server.
	Method, URL string
}

// ParseInput reads stdin, arg, env:NAME, file, none, http:METHOD URL and a2a:URL.
func ParseInput(text string) (Input, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case rest == "" && (kind == "stdin" || kind == "arg" || kind == "file" || kind == "none"):
		return Input{Kind: kind}, nil
	case kind == "env" && rest != "" && !strings.ContainsAny(rest, "=\x00"):
		return Input{Kind: kind, Name: rest}, nil
	case kind == "http" || kind == "a2a":
		method, address, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if kind == "a2a" {
			method, address = http.MethodPost, rest
		}
		if u, err := url.Parse(address); err == nil && method == strings.ToUpper(method) && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
			return Input{Kind: kind, Method: method, URL: address}, nil
		}
	}
	return Input{}, fmt.Errorf("%q is no input: want stdin, arg, env:NAME, file, none, http:METHOD URL or a2a:URL", text)
}

// DefaultTemplate gives the command the recorded message of the user as it is.
const DefaultTemplate = "{{user_message}}"

// Render makes the input of a command: {{user_message}}, {{system_prompt}} and {{run_id}} are texts of the recorded run, {{json X}} is
// X as JSON, and {{json .}} all of them. asked is the message of the turn.
func Render(text string, t *tape.Tape, asked *string) (string, error) {
	all := map[string]any{"run_id": t.Run.RunID}
	if asked != nil {
		all["user_message"] = *asked
	}
	if t.Input.SystemPrompt != nil {
		all["system_prompt"] = *t.Input.SystemPrompt
	}
	functions := template.FuncMap{"json": func(v any) (string, error) {
		body, err := json.Marshal(v)
		return string(body), err
	}}
	for _, name := range []string{"user_message", "system_prompt", "run_id"} {
		functions[name] = func() (any, error) {
			if value, known := all[name]; known {
				return value, nil
			}
			return nil, fmt.Errorf("the tape does not hold the %s", strings.ReplaceAll(name, "_", " "))
		}
	}
	parsed, err := template.New("input").Funcs(functions).Parse(text)
	if err != nil {
		return "", fmt.Errorf("template: %w", err)
	}
	var b bytes.Buffer
	if err := parsed.Execute(&b, all); err != nil {
		return "", fmt.Errorf("template: %w", errors.Unwrap(err))
	}
	return b.String(), nil
}

// Variables are those that bring the input to the command.
func (in Input) Variables(text string) []Variable {
	if in.Kind != "env" {
		return nil
	}
	return []Variable{{Name: in.Name, Value: text}}
}

// Turns are what the user said, one message after the other. which is recorded, first or all: a joined run and a snapshot were asked again
// and again; within another run a later message may be the agent's own doing.
func Turns(t *tape.Tape, which string) []*string {
	turns := []*string{t.Input.UserMessage}
	snapshot := !t.Extensions.Get("waza").Get("snapshot").IsAbsent()
	if which == "all" || which == "recorded" && (snapshot || len(t.Run.Joined) > 0) {
		for _, text := range waza.FollowUps(t) {
			turns = append(turns, &text)
		}
	}
	return turns
}

// Give puts the input where the command finds it, if that is no variable. A file lies in dir, which the caller removes.
func (in Input) Give(c *Command, text, dir string) error {
	switch in.Kind {
	case "stdin":
		c.Stdin = strings.NewReader(text)
	case "arg":
		c.Argv = append(c.Argv[:len(c.Argv):len(c.Argv)], text)
	case "file":
		file := filepath.Join(dir, "input")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the input: %w", err)
		}
		c.Argv = append(c.Argv[:len(c.Argv):len(c.Argv)], file)
	}
	return nil
}

// maxAnswer bounds the answer of a server, in bytes.
const maxAnswer = 16 << 20

// Server reports that the command is a server, which is asked.
func (in Input) Server() bool { return in.Kind == "http" || in.Kind == "a2a" }

// Ask sends the input to a command that is a server, when ready says that it listens, and returns what it answers. Headers of a recorded
// request go with it. client reaches the command.
func (in Input) Ask(ctx context.Context, client *http.Client, text, ready string, headers http.Header) (string, error) {
	if ready == "" {
		u, err := url.Parse(in.URL)
		if err != nil {
			return "", err
		}
		ready = u.Host
		if u.Port() == "" {
			ready = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
		}
	}
	if err := Wait(ctx, client, ready); err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, in.Method, in.URL, strings.NewReader(text))
	if err != nil {
		return "", err
	}
	if json.Valid([]byte(text)) {
		req.Header.Set("Content-Type", "application/json")
	} else {
		req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	for name, values := range headers {
		req.Header[name] = values
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%w: %s", ErrRefused, resp.Status)
	}
	return string(body), err
}

// ErrRefused is returned, wrapped, where a command that is a server answers with a failure.
var ErrRefused = errors.New("the command answered with a failure")

// direct uses no proxy: the command is on this machine.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext}}

// Wait returns when something listens: at a port of loopback, at HOST:PORT, or when a URL answers without a failure of the server.
func Wait(ctx context.Context, client *http.Client, ready string) error {
	const look = 20 * time.Millisecond
	if port, err := strconv.Atoi(ready); err == nil {
		ready = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	for {
		err := listens(ctx, client, ready)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen: %w", ready, err)
		case <-time.After(look):
		}
	}
}

func listens(ctx context.Context, client *http.Client, ready string) error {
	if !strings.Contains(ready, "://") {
		conn, err := client.Transport.(*http.Transport).DialContext(ctx, "tcp", ready)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ready, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError {
		return errors.New(resp.Status)
	}
	return nil
}
