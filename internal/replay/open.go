// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/internal/reading/imports/foreign"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Open reads the tape at a Location. One whose digest does not hold is refused, or used aloud where that was asked for.
func (r *Finder) Open(ctx context.Context, at *Location) (*tape.Tape, []byte, error) {
	data, err := at.content(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", at, err)
	}
	t, err := r.Take(*at, data)
	return t, data, err
}

// Take is Open with the bytes of the file.
func (r *Finder) Take(at Location, data []byte) (*tape.Tape, error) {
	t, err := tape.ReadSealed(data)
	if errors.Is(err, tape.ErrAltered) {
		err = r.altered(at, err)
	}
	switch {
	case err != nil:
		return nil, notATape(at, data, err)
	case !deck.Location{Tenant: t.Run.Tenant}.Of(r.Tenant):
		return nil, fmt.Errorf("%s: the run belongs to tenant %s", at, t.Run.Tenant)
	}
	return t, nil
}

// altered is what becomes of content whose digest does not hold: an error, or a warning where it was asked for.
func (r *Finder) altered(at Location, err error) error {
	if r.Unverified {
		r.Warn("UNVERIFIED: %s is used although its digest does not hold: %v", at, err)
		return nil
	}
	return fmt.Errorf("%w; somebody has changed it: tapedeck verify lists the damage, --allow-unverified uses it all the same", err)
}

// OpenOne opens the only tape that a REF stands for.
func (r *Finder) OpenOne(ctx context.Context, ref string) (t *tape.Tape, at Location, err error) {
	for l, err := range r.Resolve(ctx, ref, OneRun) {
		if err != nil {
			return nil, l, err
		}
		if t, _, err = r.Open(ctx, &l); err != nil {
			return nil, l, err
		}
		at = l
	}
	return t, at, nil
}

// ReadSealed reads a tape whose digest holds.
func ReadSealed(ctx context.Context, at Location) (*tape.Tape, error) {
	data, err := at.content(ctx)
	if err != nil {
		return nil, err
	}
	return tape.ReadSealed(data)
}

// notATape says what a file is that cannot be read as a tape, and which command takes it.
func notATape(at Location, data []byte, err error) error {
	what := ""
	switch {
	case errors.Is(err, tape.ErrAltered), bytes.Contains(data[:min(len(data), sniffed)], []byte(tape.Kind)):
	case waza.Detect(data):
		what = "this is a task snapshot of waza: tapedeck replay checks it, replay --bisect compares it with another, replay --mode live runs a command on it"
	case aiwg.Detect(data):
		what = "this is an execution snapshot of AIWG: tapedeck match compares its outcome, tapedeck import makes a tape of it"
	case isOracle(data):
		what = "this is an oracle: tapedeck serve --oracle and tapedeck oracle take it"
	case hasTelemetry(bytes.NewReader(data)):
		what = fmt.Sprintf("this is telemetry: tapedeck derive %s --to DECK makes tapes of it", path.Base(at.Ref.Key))
	}
	if what != "" {
		return fmt.Errorf("%s: %w; %s", at, err, what)
	}
	return fmt.Errorf("%s: %w", at, err)
}

// sniffed is how much of a file tells what it is, in bytes.
const sniffed = 4096

func isOracle(data []byte) bool {
	entries, err := oracle.Read(data)
	return err == nil && len(entries) > 0
}

// hasTelemetry tells whether what is read begins with spans or log records, or a record of an audit stream.
func hasTelemetry(r io.Reader) bool {
	for doc, err := range foreign.Read(r, "", otlpfile.Options{}) {
		return err == nil && (doc.Signal == otlpfile.SignalAudit || doc.Traces.SpanCount()+doc.Logs.LogRecordCount() > 0)
	}
	return false
}

// isTelemetry tells a file of telemetry from one that is, or claims to be, a tape.
func isTelemetry(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, sniffed))
	if err != nil || bytes.Contains(head, []byte(tape.Kind)) {
		return false
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false
	}
	return hasTelemetry(f)
}

// resolveTelemetry yields the runs in a file of telemetry.
func (r *Finder) resolveTelemetry(ctx context.Context, file string, to Reach, yield func(Location) bool) error {
	return r.Derive(ctx, file, func(d *deck.Deck) error {
		return r.resolveDerived(ctx, d, file, to, yield)
	})
}

func (r *Finder) resolveDerived(ctx context.Context, d *deck.Deck, file string, to Reach, yield func(Location) bool) error {
	var found []Location
	err := r.resolveDeck(ctx, d.URL(), func(l Location) bool {
		l.Name, l.Derived, l.Deck = file, d, nil // nobody else writes to it
		found = append(found, l)
		return true
	})
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return fmt.Errorf("%s holds no run of an agent", file)
	case len(found) > 1 && to == OneRun:
		ids := make([]string, len(found))
		for i, l := range found {
			ids[i] = l.Ref.RunID()
		}
		return fmt.Errorf("%s holds %d runs; make a deck of it with tapedeck derive, and name one of %s", file, len(found), strings.Join(ids, ", "))
	}
	for _, l := range found {
		l.Store = d.Store()
		if !yield(l) {
			break
		}
	}
	return nil
}
