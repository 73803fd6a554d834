// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Tapedeck-iceberg registers a deck of reels as an Apache Iceberg table. See docs/queries.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/replay"
)

// built is set by the linker (make build VERSION=…), as that of the command line is.
var built = "0.1.0-dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tapedeck-iceberg:", err)
		os.Exit(2)
	}
}

// flags are those of the command.
type flags struct {
	catalogFlags
	table, seenAs string
	without       bool
	keep          time.Duration
}

func newCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "tapedeck-iceberg DECK --catalog URI",
		Short: "Register a deck of reels as an Apache Iceberg table",
		Long: `Register a deck of reels as an Apache Iceberg table, or bring the table up to date:
one commit adds the reels that are new, takes out those that are gone, and hides the
rows that tombstones hide. Nothing is committed where nothing has changed. It may run
at any time, on a schedule and several times at once. Reels are neither copied nor
changed; the metadata of the table lies in the deck, under iceberg/.

The catalog is a REST catalog or a SQL catalog in a file of SQLite. A REST catalog
gets the token in TAPEDECK_ICEBERG_TOKEN, or the credential (ID:SECRET, OAuth2) in
TAPEDECK_ICEBERG_CREDENTIAL.

compact, gc and scrub of tapedeck take --before-removal. With this program as the
command, the table leaves a reel before the reel leaves the deck:

  tapedeck compact DECK --before-removal 'tapedeck-iceberg DECK --catalog URI --before-removal'

One line of JSON says what was committed. The exit code is 0, or 2 if the deck or the
catalog cannot be read or written.`,
		Example: `  tapedeck-iceberg ./deck --catalog sqlite:///var/lib/tapedeck/catalog.db
  tapedeck-iceberg s3://tapes/prod --catalog https://catalog.example.com --warehouse prod --table agents.reels`,
		Args:          cobra.ExactArgs(1),
		Version:       built,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&f.uri, "catalog", "", "the catalog: sqlite:///PATH, or the http(s) address of a REST catalog")
	cmd.Flags().StringVar(&f.name, "catalog-name", "deck", "name by which engines know a SQL catalog")
	cmd.Flags().StringVar(&f.warehouse, "warehouse", "", "warehouse of a REST catalog")
	cmd.Flags().StringVar(&f.table, "table", "tapedeck.reels", "namespace and name of the table")
	cmd.Flags().StringVar(&f.seenAs, "deck-uri", "", "URI by which engines read the deck, where it is not that of DECK")
	cmd.Flags().BoolVar(&f.without, "before-removal", false, "stdin has the keys of reels that are about to be removed: take them out of the table")
	cmd.Flags().DurationVar(&f.keep, "keep-snapshots", time.Hour, "how long replaced snapshots stay for queries on their way")
	return cmd
}

func (f *flags) run(ctx context.Context, address string, stdin io.Reader, stdout io.Writer) (err error) {
	if f.uri == "" {
		return errors.New("--catalog names no catalog")
	}
	namespace, name, ok := cutLast(f.table)
	if !ok {
		return fmt.Errorf("--table must be NAMESPACE.NAME, got %q", f.table)
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	s := &sync{reels: view.Catalog(d), store: view.Raw(d), table: append(strings.Split(namespace, "."), name), keep: f.keep}
	if s.reels == nil {
		return errors.New("a deck of files is no table; import it into a deck of reels")
	}
	if s.base, err = baseURI(address, f.seenAs); err != nil {
		return err
	}
	if f.without {
		if s.without, err = readKeys(stdin); err != nil {
			return err
		}
	}
	s.register()
	if s.catalog, err = f.open(ctx); err != nil {
		return err
	}
	done, err := s.run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(done)
}

// cutLast divides a name at its last dot.
func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 1 || i == len(name)-1 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}
