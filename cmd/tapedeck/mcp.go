// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/catalog"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/procgroup"
	"github.com/tapedeck/tapedeck/internal/replay/secretenv"
	"github.com/tapedeck/tapedeck/internal/surfaces/deckmcp"
)

type mcpFlags struct {
	tenant string
	limit  int
	replay []string
}

func newMCP() *cobra.Command {
	var f mcpFlags
	cmd := &cobra.Command{
		Use:   "mcp [DECK] [-- COMMAND…]",
		Short: "Let a coding agent look into a deck, as an MCP server on stdin and stdout",
		Long: `Serve a deck as an MCP server on stdin and stdout, for a client that starts its
servers. Its tools list and search runs, read one in pages, compare two, list findings
and ask for a recorded answer of a tool. Without DECK it is the one in
` + deckVariable + `.

The server only reads. With a COMMAND behind the dash there is one more tool: it
replays a run with it, as tapedeck replay RUN -- COMMAND does, with the flags that
--replay-flag names.

What tapes hold was written by users, models and tools. Every answer that holds some
of it encloses it between marks that are made up for that answer, and says that it
is data.`,
		Example: `  tapedeck mcp ./deck
  claude mcp add runs -- tapedeck mcp ./deck
  tapedeck mcp ./deck --replay-flag --input=arg -- go run ./examples/agent`,
		RunE: func(cmd *cobra.Command, args []string) error {
			command := []string(nil)
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, command = args[:at], args[at:]
				if len(command) == 0 {
					return errors.New("mcp: there is no command behind --")
				}
			}
			if len(args) > 1 {
				return fmt.Errorf("mcp takes one DECK, not %d; a command stands behind --", len(args))
			}
			address := deckFrom(args)
			if address == "" {
				return errors.New("mcp needs a DECK, or its address in " + deckVariable)
			}
			return f.run(cmd.Context(), address, command, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "show only the runs of this tenant")
	cmd.Flags().IntVar(&f.limit, "search-limit", runs.DefaultLimit, "look at so many traces of the deck at most for an id that is no trace id")
	cmd.Flags().StringArrayVar(&f.replay, "replay-flag", nil, "a flag of tapedeck replay for the command, as --input=arg (may be repeated)")
	return cmd
}

func (f *mcpFlags) run(ctx context.Context, address string, command []string, stdin io.Reader, stdout io.Writer) (err error) {
	if f.limit < 1 {
		return replay.ErrSearchLimit
	}
	if len(f.replay) > 0 && len(command) == 0 {
		return errors.New("--replay-flag needs a command behind --")
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	config := deckmcp.Config{Catalog: catalog.Catalog{Deck: d, Tenant: f.tenant, SearchLimit: f.limit}, Version: version()}
	if len(command) > 0 {
		config.Replay = func(ctx context.Context, run deck.Ref) (string, error) {
			return f.replayed(ctx, address, run, command)
		}
	}
	err = deckmcp.New(config).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(stdin), Writer: unclosed{stdout}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// maxReport bounds the report of a replay, in bytes.
const maxReport = 4 << 20

// replayed replays a run with this program, in a process of its own: a replay may shut the network of its process.
func (f *mcpFlags) replayed(ctx context.Context, address string, run deck.Ref, command []string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	args := []string{"replay", run.RunID(), "--deck", address, "--tenant", run.Location.TenantKey()}
	args = append(slices.Concat(args, f.replay), "--")
	c := exec.CommandContext(ctx, self, append(args, command...)...)
	out := &procgroup.Output{Most: maxReport}
	c.Stdout, c.Stderr, c.Env = out, out, secretenv.Environ()
	err = c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	return fmt.Sprintf("exit code %d (0 as recorded, 1 diverged or missed, 2 could not be done)\n%s", c.ProcessState.ExitCode(), out), nil
}
