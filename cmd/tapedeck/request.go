// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/interop/a2a"
	"github.com/tapedeck/tapedeck/tape"
)

type requestFlags struct {
	refs
	format string
	url    string
	a2a.Options
}

func newRequest() *cobra.Command {
	var f requestFlags
	cmd := &cobra.Command{
		Use:   "request REF",
		Short: "Print the A2A request that started a run",
		Long: `Print the A2A request that started a run, ready to be sent: the JSON-RPC body and
the HTTP headers, as far as the telemetry holds them.

` + refHelp + `
What no record carries, and what was inferred, is named on stderr and in the
JSON. Credentials are never recorded; traceparent is never sent again, because
the replay would write into the recorded trace.

The exit code is 0 if the request can be sent, 1 if its message is not in the
telemetry, 2 if the tape cannot be loaded or holds no such request.`,
		Example: `  tapedeck request ./tape.json | jq .body
  tapedeck request 4bf92f35 --deck ./deck --task-id replay-1 --format curl --url http://127.0.0.1:8080/ | sh`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("request takes one REF, not %d", len(args))
			}
			return needArgs("a REF")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRequest(cmd.Context(), args[0], f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.add(cmd, "ID")
	f.addUnverified()
	cmd.Flags().StringVar(&f.format, "format", "json", "json, curl (a shell command) or http (an HTTP/1.1 message)")
	cmd.Flags().StringVar(&f.url, "url", "", "the agent to send to (required for curl and http)")
	cmd.Flags().StringVar(&f.TaskID, "task-id", "", "send this task id instead of the recorded one, whose session the agent would continue")
	cmd.Flags().StringVar(&f.Method, "method", "", "send this method instead of the recorded one: "+strings.Join(a2a.Methods(), ", "))
	return cmd
}

func (f requestFlags) check() (*url.URL, error) {
	if !slices.Contains([]string{"json", "curl", "http"}, f.format) {
		return nil, fmt.Errorf("--format %s: want json, curl or http", f.format)
	}
	if f.Method != "" && !slices.Contains(a2a.Methods(), f.Method) {
		return nil, fmt.Errorf("--method %s: want one of %s", f.Method, strings.Join(a2a.Methods(), ", "))
	}
	if f.url == "" {
		if f.format != "json" {
			return nil, fmt.Errorf("--format %s needs --url", f.format)
		}
		return nil, nil
	}
	to, err := url.Parse(f.url)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return nil, errors.New("--url: want http://HOST/ or https://HOST/")
	}
	return to, nil
}

func runRequest(ctx context.Context, ref string, f requestFlags, stdout, stderr io.Writer) error {
	to, err := f.check()
	if err != nil {
		return err
	}
	t, at, err := f.OpenOne(ctx, ref)
	if err != nil {
		return err
	}
	r, err := a2a.FromTape(t, f.Options)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	explainRequest(stderr, r, f)
	switch {
	case f.format == "json":
		err = printRequest(stdout, r, to)
	case r.Body == nil:
	case f.format == "curl":
		_, err = io.WriteString(stdout, r.Curl(to))
	default:
		var text string
		if text, err = r.HTTP(to); err == nil {
			_, err = io.WriteString(stdout, text)
		}
	}
	if err == nil && r.Body == nil {
		return &exitError{code: exitPartial, err: fmt.Errorf("%s: the message is not in the telemetry, so the request cannot be sent", at)}
	}
	return err
}

// explainRequest says what the request lacks.
func explainRequest(stderr io.Writer, r *a2a.Request, f requestFlags) {
	byLabel := map[tape.Label][]string{}
	var labels []tape.Label
	for field, label := range r.Provenance {
		if byLabel[label] == nil {
			labels = append(labels, label)
		}
		byLabel[label] = append(byLabel[label], field)
	}
	if len(r.Missing) > 0 {
		say(stderr, "no record carries: %s", strings.Join(r.Missing, ", "))
	}
	slices.Sort(labels)
	for _, label := range labels {
		slices.Sort(byLabel[label])
		say(stderr, "%s: %s", label, strings.Join(byLabel[label], ", "))
	}
	if r.History > 0 {
		say(stderr, "the run continued a session: %d messages before this one lie with the agent and are no part of the request", r.History)
	}
	if f.TaskID == "" && r.Body != nil {
		say(stderr, "an agent that still has the session of this task goes on with it; --task-id names another")
	}
}

// printRequest writes the request as one JSON document. The order of its fields is part of the contract.
func printRequest(stdout io.Writer, r *a2a.Request, to *url.URL) error {
	headers := map[string]string{}
	for _, h := range r.Headers {
		headers[h.Name] = h.Value
	}
	address := ""
	if to != nil {
		address = to.String()
	}
	return writeJSON(stdout, struct {
		RunID      string                `json:"run_id"`
		URL        string                `json:"url,omitempty"`
		HTTPMethod string                `json:"http_method"`
		Headers    map[string]string     `json:"headers"`
		Body       json.RawMessage       `json:"body"`
		Missing    []string              `json:"missing"`
		Provenance map[string]tape.Label `json:"provenance"`
		History    int                   `json:"history"`
	}{r.RunID, address, "POST", headers, r.Body, append([]string{}, r.Missing...), r.Provenance, r.History})
}
