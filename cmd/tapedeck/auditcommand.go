// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/interop/auditrelay"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
)

type auditFlags struct {
	to, listen, replay string
	drain              time.Duration
}

func newAudit() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit --to URL",
		Short: "Pass the audit stream of an agent on to a collector",
		Long: `Pass the audit stream of a Forge agent on to a collector: each line becomes a log
record of OTLP, byte for byte and in order, so that hash chain and signatures hold.
The collector publishes it, as examples/replaysplit/audit.yaml does.

The stream comes on stdin, with --listen unix:PATH from a Unix socket
(forge --audit-socket), or with --listen http://127.0.0.1:PORT over local HTTP
(forge --audit-http-endpoint). Lines of stdin that are no audit records go to
stderr. --replay-run-id tags all records as those of a replay: run one tapedeck
audit for each process.

A request is repeated until the collector has it, or refuses it for good. Up to 64 MiB
wait; then stdin and the socket are read no further, and a POST gets status 503. The
command ends with its input or when it is interrupted, and prints how many records
were forwarded and lost.

The exit code is 0 if all were forwarded, 1 if some were lost, 2 if the command
could not start.`,
		Example: `  forge run 2>&1 >forge.out | tapedeck audit --to http://127.0.0.1:6318
  tapedeck audit --to http://127.0.0.1:6318 --listen unix:/run/forge/audit.sock
  tapedeck audit --to http://127.0.0.1:6318 --listen http://127.0.0.1:6320 --replay-run-id r17`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), concurrent(cmd.ErrOrStderr()))
		},
	}
	cmd.Flags().StringVar(&f.to, "to", "", "the address of the collector, which receives OTLP over HTTP (required)")
	cmd.Flags().StringVar(&f.listen, "listen", "", "unix:PATH or http://127.0.0.1:PORT, in place of stdin")
	cmd.Flags().StringVar(&f.replay, "replay-run-id", "", "the replay that the process of the stream is")
	cmd.Flags().DurationVar(&f.drain, "drain", 30*time.Second, "how long to go on with what waits when the input has ended")
	return cmd
}

func (f *auditFlags) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	to, err := url.Parse(f.to)
	switch {
	case f.to == "":
		return errors.New("--to is missing: the address of the collector")
	case err != nil, to.Scheme != "http" && to.Scheme != "https", to.Host == "", to.User != nil, to.RawQuery != "":
		return errors.New("--to: want http://HOST:PORT or https://HOST:PORT, without credentials")
	case f.drain <= 0:
		return errors.New("--drain must be positive")
	}
	said := 0
	var mu sync.Mutex
	relay := auditrelay.New(auditrelay.Config{To: strings.TrimRight(f.to, "/"), ReplayRunID: f.replay, Drain: f.drain, Problem: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if said++; said <= ingest.MaxExplained {
			complain(stderr, err)
		}
	}})
	source := relay.Pipe(stdin, stderr)
	if f.listen != "" {
		listener, address, err := f.open(ctx)
		if err != nil {
			return fmt.Errorf("--listen: %w", err)
		}
		if source = relay.Socket(listener); strings.HasPrefix(address, "http:") {
			source = relay.HTTP(listener)
		}
		if err := printLine(stdout, serving{Listening: address}); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	counts, err := relay.Run(ctx, source)
	if err = errors.Join(err, printLine(stdout, counts)); err == nil && counts.Lost > 0 {
		return &exitError{code: exitPartial}
	}
	return err
}

// open listens for one agent of this machine.
func (f *auditFlags) open(ctx context.Context) (net.Listener, string, error) {
	var lc net.ListenConfig
	if path, ok := strings.CutPrefix(f.listen, "unix:"); ok && path != "" {
		if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
			// One that was left behind. Somebody who listens keeps it.
			if conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path); err == nil {
				return nil, "", errors.Join(fmt.Errorf("somebody listens at %s already", path), conn.Close())
			}
			if err := os.Remove(path); err != nil {
				return nil, "", err
			}
		}
		listener, err := lc.Listen(ctx, "unix", path)
		return listener, f.listen, err
	}
	at, err := url.Parse(f.listen)
	if err != nil || at.Scheme != "http" || at.Port() == "" || at.User != nil || at.RawQuery != "" || !oraclehttp.Loopback(at.Host) {
		return nil, "", errors.New("want unix:PATH or http://127.0.0.1:PORT; nothing but loopback is safe, for the stream has no password")
	}
	listener, err := lc.Listen(ctx, "tcp", at.Host)
	if err != nil {
		return nil, "", err
	}
	return listener, "http://" + listener.Addr().String() + at.EscapedPath(), nil
}
