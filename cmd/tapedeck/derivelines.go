// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/traceline"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/surfaces/jsonlines"
)

// derivedLine is the answer about a trace.
type derivedLine struct {
	answered
	Runs  []*traceline.Run `json:"runs"`
	NoRun string           `json:"no_run,omitempty"`
}

// storedLine is the answer about a trace whose reel is durable.
type storedLine struct {
	answered
	Runs  int    `json:"runs"`
	NoRun string `json:"no_run,omitempty"`
}

// reelLine is the line about a reel. The answers about its traces follow.
type reelLine struct {
	Reel traceline.Put `json:"reel"`
}

// runLines derives what comes as lines.
func (f *deriveFlags) runLines(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	sign, err := f.sign.signer()
	if err != nil {
		return err
	}
	deriver := traceline.NewDeriver(generation.Options{Formats: f.formats, Bounds: f.bounds, Sign: sign})
	if !f.stdout {
		return f.storeLines(cmd.Context(), deriver, cmd.InOrStdin(), cmd.OutOrStdout())
	}
	return f.lines.answer(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), func(a answered, r *traceline.Request) (any, bool) {
		rows, err := deriver.Derive(r)
		if err != nil {
			a.Error = err.Error()
			return derivedLine{answered: a, Runs: []*traceline.Run{}}, true
		}
		return derivedLine{a, rows.Runs(), rows.NoRun}, false
	})
}

// storeLines puts reels of what comes as lines into a deck. An answer comes when its reel is durable.
func (f *deriveFlags) storeLines(ctx context.Context, deriver *traceline.Deriver, stdin io.Reader, stdout io.Writer) (err error) {
	if strings.HasPrefix(f.to, "mem:") {
		return replay.ErrMem
	}
	d, err := deck.OpenLayout(ctx, f.to, deck.LayoutReels)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.Begin(ctx); err != nil {
		return err
	}
	type result struct {
		answer storedLine
		rows   *traceline.Rows
	}
	reels := traceline.Reels{Deck: d, Today: time.Now().UTC().Format(time.DateOnly)}
	var waiting []storedLine
	code := exitOK
	flush := func() error {
		put, err := reels.Flush(ctx)
		if err != nil {
			return err
		}
		for _, p := range put {
			if err := writeJSON(stdout, reelLine{p}); err != nil {
				return err
			}
		}
		for _, a := range waiting {
			if err := writeJSON(stdout, a); err != nil {
				return err
			}
		}
		waiting = waiting[:0]
		return nil
	}
	err = eachLine(ctx, &f.lines, stdin, func(line jsonlines.Line) (out result) {
		a, r := begun(line)
		if r != nil {
			var err error
			if out.rows, err = deriver.Derive(r); err != nil {
				a.Error = err.Error()
			}
		}
		out.answer.answered = a
		if out.rows != nil {
			out.answer.Runs, out.answer.NoRun = out.rows.Len(), out.rows.NoRun
		}
		return out
	}, func(out result) error {
		if out.answer.Error != "" {
			code = exitPartial
		}
		waiting = append(waiting, out.answer)
		if out.rows != nil && !reels.Add(out.rows) {
			return nil
		}
		if out.rows == nil && len(waiting) > 1 {
			return nil // others wait before it
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil && code != exitOK {
		err = &exitError{code: code}
	}
	return err
}
