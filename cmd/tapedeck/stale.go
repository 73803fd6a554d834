// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/stale"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// staleFlags say what is compared with what.
type staleFlags struct {
	filter      runFilter
	schemas     []string
	servers     []string
	tools       []string
	timeout     time.Duration
	asJSON, all bool
}

// staleRun is a run with what does not hold any more. The order of its fields is part of the contract.
type staleRun struct {
	RunID   string         `json:"run_id"`
	Ref     string         `json:"ref"`
	State   stale.State    `json:"state"`
	Reasons []stale.Reason `json:"reasons"`
}

func newStale() *cobra.Command {
	var f staleFlags
	cmd := &cobra.Command{
		Use:   "stale [DECK]",
		Short: "Find the runs whose tool calls do not fit today's tools",
		Long: `Compare the recorded tool calls of a deck with the tools as they are defined today:
which tapes mean nothing any more, and why, before a nightly replay finds out.

Definitions come from MCP servers (--mcp URL) and from files (--schema): what an MCP
server answers to tools/list, or a list of tools as OpenAI, Anthropic or Gemini take
them. Together they are all tools of today: a called tool that is in none of them
is gone. --called leaves out all others.

  stale       one of its calls could not be made any more (tool_gone, args_invalid)
  unknown     its arguments are not known as they were (args_unknown)
  changed     every call could be made, and definitions that the model was shown are
              others today (parameters_changed, description_changed, tool_gone)
  current     any other

Shown are the stale and the unknown ones, with --all all. The exit code is 0 if no run is
stale, 1 if one is or a part of the deck could not be read, 2 if nothing was compared.`,
		Example: `  tapedeck stale ./deck --mcp http://127.0.0.1:8080/mcp
  tapedeck stale s3://tapes/prod --schema tools.json --since 7d --json`,
		Args: needOneDeck,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), deckFrom(args), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringArrayVar(&f.schemas, "schema", nil, "a file with definitions (repeatable)")
	cmd.Flags().StringArrayVar(&f.servers, "mcp", nil, "an MCP server, over streamable HTTP (repeatable)")
	cmd.Flags().StringArrayVar(&f.tools, "called", nil, "only this tool counts (repeatable)")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 30*time.Second, "how long a server may take")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object per line")
	cmd.Flags().BoolVar(&f.all, "all", false, "show all runs")
	f.filter.Listed = true
	f.filter.add(cmd)
	return cmd
}

func (f *staleFlags) run(ctx context.Context, address string, stdout, stderr io.Writer) (err error) {
	if err := f.filter.check(); err != nil {
		return err
	}
	today, err := f.definitions(ctx)
	if err != nil {
		return err
	}
	var keep func(string) bool
	if len(f.tools) > 0 {
		keep = func(tool string) bool { return slices.Contains(f.tools, tool) }
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	failed, compared := 0, map[stale.State]int{}
	for r, err := range f.filter.runs(ctx, d, view.Query{Ordered: true}, stderr, &failed) {
		if err != nil {
			return err
		}
		t, err := readRun(ctx, d, r.Ref)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			failed++
			complain(stderr, fmt.Errorf("%s: %w", r.Ref.URL, err))
			continue
		}
		state, reasons := stale.Check(t, today, keep)
		compared[state]++
		if !f.all && state != stale.Stale && state != stale.Unknown {
			continue
		}
		if err := f.show(stdout, staleRun{r.RunID, r.Ref.URL, state, append([]stale.Reason{}, reasons...)}); err != nil {
			return err
		}
	}
	say(stderr, "%d stale, %d unknown, %d changed, %d current", compared[stale.Stale], compared[stale.Unknown], compared[stale.Changed], compared[stale.Current])
	if compared[stale.Stale] > 0 || failed > 0 {
		return &exitError{code: exitPartial}
	}
	return nil
}

// readRun reads the tape of a run, whose digest has to hold.
func readRun(ctx context.Context, d *deck.Deck, ref deck.Ref) (t *tape.Tape, err error) {
	err = runs.Read(ctx, d, ref, func(at deck.Ref) error {
		body, err := d.Store().Get(ctx, at.Key)
		if err == nil {
			t, err = tape.ReadSealed(body)
		}
		return err
	})
	return t, err
}

func (f *staleFlags) show(stdout io.Writer, r staleRun) error {
	if f.asJSON {
		return writeJSON(stdout, r)
	}
	var why []string
	for _, reason := range r.Reasons {
		at := ""
		if reason.Seq > 0 {
			at = fmt.Sprintf("event %d, ", reason.Seq)
		}
		detail := ""
		if reason.Detail != "" {
			detail = ": " + reason.Detail
		}
		why = append(why, fmt.Sprintf("%s%s: %s%s", at, reason.Tool, reason.Code, detail))
	}
	_, err := fmt.Fprintf(stdout, "%-8s %s  %s\n", r.State, deck.ShortID(r.RunID), printable(strings.Join(why, "; ")))
	return err
}

// definitions are those of all files and servers.
func (f *staleFlags) definitions(ctx context.Context) (stale.Definitions, error) {
	if len(f.schemas)+len(f.servers) == 0 {
		return nil, errors.New("--mcp or --schema has to say which tools there are today")
	}
	all := stale.Definitions{}
	for _, file := range f.schemas {
		data, err := readBounded(file, stale.MaxBytes)
		if err != nil {
			return nil, fmt.Errorf("--schema: %w", err)
		}
		some, err := stale.Read(data)
		if err != nil {
			return nil, fmt.Errorf("--schema %s: %w", file, err)
		}
		for name, d := range some {
			if err := all.Add(name, d.Description, d.Parameters); err != nil {
				return nil, fmt.Errorf("--schema %s: %w", file, err)
			}
		}
	}
	for _, server := range f.servers {
		if err := f.ask(ctx, server, all); err != nil {
			return nil, fmt.Errorf("--mcp %s: %w", server, err)
		}
	}
	return all, nil
}

// maxListed bounds the tools of a server.
const maxListed = 10_000

// ask adds the tools of a server.
func (f *staleFlags) ask(ctx context.Context, server string, all stale.Definitions) (err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "tapedeck", Version: version()}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: server, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	listed := 0
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if listed++; listed > maxListed {
			return fmt.Errorf("it lists more than %d tools", maxListed)
		}
		parameters, err := schemaOf(tool)
		if err == nil {
			err = all.Add(tool.Name, tool.Description, parameters)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// schemaOf is the input schema of a tool, as it came.
func schemaOf(tool *mcp.Tool) (v exactjson.Value, err error) {
	if tool.InputSchema == nil {
		return v, nil
	}
	body, err := json.Marshal(tool.InputSchema)
	if err != nil {
		return v, err
	}
	return exactjson.Parse(string(body))
}
