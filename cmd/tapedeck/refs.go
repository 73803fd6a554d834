// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/replay"
)

const refHelp = `REF is the path or URL of a tape.json or of the folder that holds it. With --deck it
is also a run id, a trace id or a short id of one: its first eight or more digits, as
other commands print it. It may also be the invocation, task, correlation or
conversation id of a run. A deck is the folder or bucket in which tapes lie.
`

// refs are the flags of a command that takes REFs.
type refs struct {
	replay.Finder
	cmd *cobra.Command
}

// add adds the flags. ids is how the command takes an id, as "ID" or "--oracle ID".
func (r *refs) add(cmd *cobra.Command, ids string) {
	r.cmd = cmd
	r.Warn = r.say
	r.Usage = func() string { return cmd.CommandPath() + " " + ids }
	flags := cmd.Flags()
	flags.StringVar(&r.Deck, "deck", "", "the deck in which a REF is an id; without it $"+deckVariable)
	flags.StringVar(&r.Tenant, "tenant", "", "only the runs of this tenant")
	flags.IntVar(&r.Limit, "search-limit", runs.DefaultLimit, "look at so many traces of the deck at most for an id that is no trace id")
}

// addUnverified is for commands that use what they read. Those that check it say what is wrong with it.
func (r *refs) addUnverified() {
	r.cmd.Flags().BoolVar(&r.Unverified, "allow-unverified", false, "use a tape or an oracle whose digest does not hold")
}

// takeTelemetry is for commands for which a file of telemetry stands for the runs in it: they are derived as with --redact off, for nothing
// is stored.
func (r *refs) takeTelemetry() {
	r.Derive = func(ctx context.Context, file string, use func(*deck.Deck) error) (err error) {
		name := "refs-" + strconv.FormatInt(inMemory.Add(1), 10)
		d, err := deck.Open(ctx, "mem://"+name)
		if err != nil {
			return err
		}
		defer mem.Drop(name)
		defer func() { err = errors.Join(err, d.Close()) }()
		w, in := &ingest.Writer{Tenant: "default", Say: r.say}, ingest.NewBatch(nil, nil)
		w.Read(ctx, in, foreign.ReadFile(file, nil, otlpfile.Options{}))
		if err := ctx.Err(); err != nil {
			return err
		}
		w.CloseAudit(in)
		if err := w.Write(ctx, d, in); err != nil {
			return err
		}
		return use(d)
	}
}

// inMemory numbers the decks of this process that lie in memory.
var inMemory atomic.Int64

func (r *refs) say(format string, args ...any) { say(r.cmd.ErrOrStderr(), format, args...) }

// withoutPath takes the path off an error of package os where the message names it already.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
