// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/surfaces/viewer"
	"github.com/tapedeck/tapedeck/oracle/oraclehttp"
)

// deckVariable names the deck where no argument does.

type viewFlags struct {
	listen            oraclehttp.Listen
	tokenFile, tenant string
	reports           []string
	limit             int
}

func newView() *cobra.Command {
	var f viewFlags
	cmd := &cobra.Command{
		Use:   "view [DECK]",
		Short: "Look at a deck in a browser",
		Long: `Serve a deck as pages for a browser. There is the list of runs with filters and a
search, each run with its events, conversation, findings, proof and oracle, its
evidence, and two runs side by side. --reports also shows what experiments and
comparisons came to, beside the runs that they are about. Without DECK it is the one
in` + deckVariable + `.

The server only reads. It listens on loopback; elsewhere a browser has to send a
token once: the one in --token-file, or one that is made up and printed with the
address. Pages load nothing from elsewhere and can be read without scripts.

The address goes to stdout. The server runs until it is interrupted.`,
		Example: `  tapedeck view ./deck
  tapedeck view s3://tapes/prod --tenant acme
  tapedeck view ./deck --listen 0.0.0.0:8322 --tls-cert cert.pem --tls-key key.pem`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			address := deckFrom(args)
			if address == "" {
				return errors.New("view needs a DECK, or its address in " + deckVariable)
			}
			return f.run(cmd.Context(), address, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen.Address, "listen", "127.0.0.1:8322", "where to listen; port 0 takes a free one")
	flags.StringVar(&f.tokenFile, "token-file", "", "a file with the token that a browser must send")
	flags.StringVar(&f.listen.CertFile, "tls-cert", "", "the certificate of the server")
	flags.StringVar(&f.listen.KeyFile, "tls-key", "", "its key")
	flags.StringVar(&f.tenant, "tenant", "", "show only the runs of this tenant")
	flags.StringArrayVar(&f.reports, "reports", nil, "a file or folder with reports of experiment and compare (JSON), shown beside their runs (repeatable)")
	flags.IntVar(&f.limit, "search-limit", runs.DefaultLimit, "look at so many traces of the deck at most for an id that is no trace id")
	return cmd
}

func (f *viewFlags) run(ctx context.Context, address string, stdout, stderr io.Writer) (err error) {
	if f.limit < 1 {
		return replay.ErrSearchLimit
	}
	for _, path := range f.reports {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("--reports: %w", err)
		}
	}
	local := oraclehttp.Loopback(f.listen.Address)
	switch {
	case f.tokenFile != "":
		token, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
		if f.listen.Token = string(bytes.TrimSpace(token)); f.listen.Token == "" {
			return fmt.Errorf("--token-file: %s is empty", f.tokenFile)
		}
	case !local:
		f.listen.Token = rand.Text()
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	listener, err := f.listen.Open(ctx)
	if err != nil {
		return err
	}
	u := url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/"}
	if f.listen.CertFile != "" {
		u.Scheme = "https"
	} else if !local {
		say(stderr, "without TLS the token and all runs can be read on the network")
	}
	if f.listen.Token != "" && f.tokenFile == "" {
		u.RawQuery = url.Values{"token": {f.listen.Token}}.Encode()
	}
	shown, _ := replay.SplitURL(address)
	what := shown
	if f.tenant != "" {
		what = "tenant " + f.tenant + " of " + shown
	}
	say(stderr, "%s is shown at the address below until this is interrupted", what)
	if _, err := fmt.Fprintln(stdout, u.String()); err != nil {
		return errors.Join(err, listener.Close())
	}
	return oraclehttp.Serve(ctx, listener, viewer.New(viewer.Config{Deck: d, Address: address, Tenant: f.tenant, Token: f.listen.Token, LocalOnly: local, SearchLimit: f.limit, Reports: f.reports}))
}
