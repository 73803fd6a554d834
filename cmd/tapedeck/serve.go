// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/assembly/heapgoal"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/oracles"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/replayserver"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
)

// tokenVariable holds the bearer token where no file does. A token on the command line could be read by every user of the machine.
const tokenVariable = rerun.OracleTokenVariable

type serveFlags struct {
	refs
	oracle    string
	model     string
	mcp       string
	verdicts  string
	stdio     bool
	listen    oraclehttp.Listen
	tokenFile string
	realtime  bool
	speed     speed
	body      byteSize
	sessions  int
	calls     int
	age       time.Duration
	match     matchFlags
	exact     bool
}

func newServe() *cobra.Command {
	f := serveFlags{body: oraclehttp.DefaultMaxBody}
	cmd := &cobra.Command{
		Use:   "serve --oracle REF | --model REF | --mcp REF | --verdicts DECK",
		Short: "Answer the tool calls and the model calls of a replay over HTTP",
		Long: `Answer tool calls from the oracle of a run (--oracle), also as an MCP server (--mcp),
and model calls from its tape (--model): the recorded answer, or a typed miss, never
a guess. One server can do all.

Every replay_run_id is a session of the oracle of its own. docs/oracle.md describes
its protocol, and the server itself does at /openapi.json.

The model stub speaks the protocols of OpenAI (chat completions, responses), Anthropic
(messages), Gemini (generateContent), Bedrock (Converse), Ollama, Cohere, Mistral and
OpenRouter, whole and streamed. Set the base URL of the SDK to the address of the
server, with /v1 behind it for OpenAI. It answers a request whose conversation is
recorded. docs/replay.md says what counts, and what of an answer is made up.

The MCP server lists the recorded tool definitions at /mcp, those of one recorded
server at /mcp/SERVER. With --stdio it speaks on stdin and stdout instead, for
clients that start their servers, and listens nowhere.

With --verdicts DECK it takes verdicts on runs of a deck, as for a feedback button: a
JSON object with run_id, name, and value, label or explanation, posted to /v1/verdicts.

REF is the path or URL of a tape.json, of an oracle.json or of the folder that holds
them, or a run id or trace id with --deck. For --oracle it may be a deck, of which
every run can be asked for. --model and --mcp need a tape.

The server listens on loopback. To listen elsewhere it demands a bearer token,
from --token-file or the environment variable ` + tokenVariable + `, or
certificates of clients.

A line of JSON with the address goes to stdout, and when the server is interrupted
the report of each open session. Misses are named on stderr. The exit code is 0 if
every call was served, 1 if some were missed, 2 if the server could not start.`,
		Example: `  tapedeck serve --oracle ./tape.json
  tapedeck serve --model ./tape.json --oracle ./tape.json
  tapedeck serve --mcp ./tape.json --stdio
  tapedeck serve --oracle 4bf92f35 --deck s3://tapes/prod --rules rules.yaml
  tapedeck serve --oracle ./deck --listen 0.0.0.0:8321 --token-file /run/secrets/oracle`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.stdio {
				return serveStdio(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), &f)
			}
			return serve(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.oracle, "oracle", "", "what to answer tool calls from")
	flags.StringVar(&f.model, "model", "", "the tape to answer model calls from")
	flags.StringVar(&f.mcp, "mcp", "", "the tape to make an MCP server of")
	flags.StringVar(&f.verdicts, "verdicts", "", "the deck whose runs verdicts are taken for")
	flags.BoolVar(&f.stdio, "stdio", false, "let the MCP server speak on stdin and stdout")
	f.add(cmd, "--oracle ID")
	f.addUnverified()
	flags.StringVar(&f.listen.Address, "listen", "127.0.0.1:8321", "where to listen; port 0 takes a free one")
	flags.StringVar(&f.tokenFile, "token-file", "", "a file with the bearer token that clients must send")
	flags.StringVar(&f.listen.CertFile, "tls-cert", "", "the certificate of the server")
	flags.StringVar(&f.listen.KeyFile, "tls-key", "", "its key")
	flags.StringVar(&f.listen.ClientCAFile, "tls-client-ca", "", "demand a certificate of this authority from clients")
	flags.BoolVar(&f.realtime, "realtime", false, "let answers take as long as they took")
	flags.Var(&f.speed, "speed", "the same, but faster: 10x is ten times as fast")
	flags.Var(&f.body, "max-body", "refuse larger requests")
	flags.IntVar(&f.sessions, "max-sessions", oraclehttp.DefaultMaxSessions, "refuse more sessions at once")
	flags.IntVar(&f.calls, "max-calls", oracle.DefaultMaxCalls, "refuse more calls of one session")
	flags.DurationVar(&f.age, "session-age", oraclehttp.DefaultSessionAge, "close sessions that have been without requests for this long")
	flags.BoolVar(&f.exact, "exact", false, "with --model: "+exactUsage)
	f.match.add(cmd)
	return cmd
}

func (f *serveFlags) config() (oraclehttp.Config, error) {
	c := oraclehttp.Config{MaxBody: int64(f.body), MaxSessions: f.sessions, MaxCalls: f.calls, SessionAge: f.age, Speed: float64(f.speed)}
	switch {
	case f.oracle == "" && f.model == "" && f.mcp == "" && f.verdicts == "":
		return c, errors.New("--oracle, --model and --mcp are missing, and --verdicts: what to answer from")
	case f.sessions < 1 || f.calls < 1 || f.age <= 0:
		return c, errors.New("--max-sessions, --max-calls and --session-age must be positive")
	case f.realtime && f.speed != 0:
		return c, errors.New("--realtime and --speed exclude each other")
	case f.realtime:
		c.Speed = 1
	}
	c.Token = strings.TrimSpace(secretenv.Get(tokenVariable))
	if f.tokenFile != "" {
		token, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return c, fmt.Errorf("--token-file: %w", err)
		}
		if c.Token = string(bytes.TrimSpace(token)); c.Token == "" {
			return c, fmt.Errorf("--token-file: %s is empty", f.tokenFile)
		}
	}
	f.listen.Token = c.Token
	c.LocalOnly = oraclehttp.Loopback(f.listen.Address)
	if err := f.listen.Check(); err != nil {
		return c, fmt.Errorf("--listen: %w", err)
	}
	return c, nil
}

const serveGCPercent = 800

// serving is the line about a server that has started.
type serving struct {
	Listening string        `json:"listening"`
	RunID     string        `json:"run_id,omitempty"` // of the oracle; absent when it serves a deck
	Entries   int           `json:"entries,omitempty"`
	Model     *servingModel `json:"model,omitempty"`
	MCP       *servingMCP   `json:"mcp,omitempty"`
	Verdicts  string        `json:"verdicts,omitempty"` // where they are posted
}

// servingMCP is the part of it about the MCP server.
type servingMCP struct {
	RunID string `json:"run_id"`
	URL   string `json:"url"`
	Tools int    `json:"tools"`
}

// servingModel is the part of it about the model stub.
type servingModel struct {
	RunID string `json:"run_id"`
	Turns int    `json:"turns"`
}

func serve(ctx context.Context, stdout, stderr io.Writer, f *serveFlags) (err error) {
	heapgoal.Start() // an answer does not wait for a collection
	config, err := f.config()
	if err != nil {
		return err
	}
	options, err := f.match.options()
	if err != nil {
		return err
	}
	all := services{Server: replayserver.Server{LocalOnly: config.LocalOnly}, stderr: stderr}
	defer func() { err = errors.Join(err, all.closeDecks()) }()
	var started serving
	if f.oracle != "" {
		if started, err = all.addOracle(ctx, f, config, options); err != nil {
			return err
		}
	}
	if f.model != "" {
		if started.Model, err = all.addModel(ctx, f, config, options); err != nil {
			return err
		}
	}
	if f.mcp != "" {
		if started.MCP, err = all.addMCP(ctx, f, config, options); err != nil {
			return err
		}
	}
	if f.verdicts != "" {
		if err := all.addVerdicts(ctx, f, config); err != nil {
			return err
		}
	}
	listener, err := f.listen.Open(ctx)
	if err != nil {
		return err
	}
	scheme := "http"
	if f.listen.CertFile != "" {
		scheme = "https"
	} else if !config.LocalOnly {
		say(stderr, "without TLS the token and all answers can be read on the network")
	}
	started.Listening = scheme + "://" + listener.Addr().String()
	if started.MCP != nil {
		started.MCP.URL = started.Listening + "/mcp"
	}
	if all.Verdicts != nil {
		started.Verdicts = started.Listening + replayserver.VerdictsPath
	}
	if err := printLine(stdout, started); err != nil {
		return errors.Join(err, listener.Close())
	}
	if os.Getenv("GOGC") == "" {
		// A call allocates garbage only, beside a heap of a few megabytes. The default setting would collect hundreds of times a
		// second.
		defer debug.SetGCPercent(debug.SetGCPercent(serveGCPercent))
	}
	if err := oraclehttp.Serve(ctx, listener, &all); err != nil {
		return err
	}
	if err := all.report(stdout); err != nil {
		return err
	}
	if all.missed.Load() {
		return &exitError{code: exitPartial}
	}
	return nil
}

// openLibrary opens what REF stands for: one run, or a deck.
func (f *serveFlags) openLibrary(ctx context.Context, options oracle.Options) (oraclehttp.Library, serving, func() error, error) {
	nothing := func() error { return nil }
	l, err := f.OneOracle(ctx, f.oracle)
	if errors.Is(err, replay.ErrIsDeck) {
		d, err := deck.Open(ctx, f.oracle)
		if err != nil {
			return nil, serving{}, nothing, err
		}
		library := oracles.New(d, options)
		library.Tenant, library.SearchLimit = f.Tenant, f.Limit
		if f.Unverified {
			library.Unverified = func(err error) { f.say("UNVERIFIED: used although its digest does not hold: %v", err) }
		}
		return library, serving{}, d.Close, nil
	}
	if err != nil {
		return nil, serving{}, nothing, err
	}
	var names []string
	if l.Tape != nil {
		names = runs.Names(&l.Tape.Run)
	}
	o, err := oracle.New(l.Entries, options)
	if err != nil {
		return nil, serving{}, nothing, err
	}
	return oraclehttp.Single(l.RunID, o, names...), serving{RunID: l.RunID, Entries: len(l.Entries)}, nothing, nil
}

// speed is a flag for a factor, with or without an x behind it.
type speed float64

func (s *speed) Set(text string) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || !(n >= 0.01 && n <= 1e6) {
		return errors.New("want a factor from 0.01x to 1000000x, such as 10x")
	}
	*s = speed(n)
	return nil
}

func (s *speed) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*s), 'g', -1, 64) + "x"
}

func (*speed) Type() string { return "FACTOR" }
