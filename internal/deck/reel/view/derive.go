// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// ofThisProgram reports whether this program derives exactly the tapes that the rows describe.
func (t *shown) ofThisProgram() bool {
	o := generation.Options{Producer: generation.Producer(), Formats: t.Formats()}
	return generation.New(o).Makes(t.Current.Generation, t.Parts)
}

// derivedTape makes the tape of a run of which none is stored.
func (t *shown) derivedTape(ctx context.Context, root string) ([]byte, error) {
	derived, err := t.pending(ctx)
	if err != nil {
		return nil, err
	}
	for _, run := range derived.Runs {
		for _, f := range run.Files {
			if run.Root == root && f.Name == deck.TapeFile {
				return slices.Clone(f.Body), nil
			}
		}
	}
	return nil, fmt.Errorf("%w: the evidence of trace %s gives no run %s", deck.ErrCorrupt, t.Location.TraceID, root)
}

// pending derives the tapes of a trace of which no row has those of all its evidence.
func (t *shown) pending(ctx context.Context) (*generation.Derived, error) {
	t.derive.Do(func() {
		t.derived, t.err = Derive(ctx, t.Trace, generation.Options{})
		if errors.Is(t.err, generation.ErrNoRun) || errors.Is(t.err, generation.ErrUnderivable) {
			t.derived, t.err = &generation.Derived{}, nil
		}
	})
	return t.derived, t.err
}

// Derive makes the tapes of all evidence of a trace, in the formats that its newest row was made with.
func Derive(ctx context.Context, t *reel.Trace, o generation.Options) (*generation.Derived, error) {
	d, _, err := deriveBy(ctx, t, o)
	return d, err
}

func deriveBy(ctx context.Context, t *reel.Trace, o generation.Options) (*generation.Derived, *generation.Deriver, error) {
	o.Producer = generation.Producer()
	o.Formats = t.Formats()
	w := generation.New(o)
	d, err := w.Derive(t.Location.Tenant, t.Location.TraceID, t.Parts, func(digest string) ([]byte, error) {
		_, read := t.Evidence(digest)
		body, err := read(ctx)
		if err == nil && deck.PartDigest(body) != digest {
			err = fmt.Errorf("%w: the evidence does not have the digest of its row", deck.ErrCorrupt)
		}
		return body, err
	})
	return d, w, err
}

// Rows makes the rows of what Derive returns, without evidence: one for each tape, or one that says that
// there is none.
func Rows(ctx context.Context, t *reel.Trace, o generation.Options) ([]reel.Row, error) {
	d, w, err := deriveBy(ctx, t, o)
	if d, err = generation.WithoutTapes(d, err); err != nil {
		return nil, err
	}
	common := reel.Row{Meta: reel.Meta{Tenant: t.Location.Tenant, TraceID: t.Location.TraceID, Area: string(t.Location.Area), ReplayRunID: t.Location.ReplayRunID, Parts: t.Parts}}
	for _, e := range t.Entries {
		if common.ReplayOf == "" || e.ReplayOf != "" && e.ReplayOf < common.ReplayOf {
			common.ReplayOf = e.ReplayOf
		}
	}
	rows := w.Rows(common, d)
	for i := range rows {
		rows[i].Tape = bytes.Clone(rows[i].Tape) // rows are kept, and the other files beside their tapes are not
	}
	return rows, nil
}
