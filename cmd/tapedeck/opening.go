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
	"path"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/interop/aiwg"
	"github.com/tapedeck/tapedeck/internal/interop/waza"
	"github.com/tapedeck/tapedeck/internal/otlpfile"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// open reads the tape at a location. One whose digest does not hold is refused, or used aloud where that was asked for.
func (r *refs) open(ctx context.Context, at location) (*tape.Tape, []byte, error) {
	data, err := at.read(ctx, at.ref.Key)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", at, err)
	}
	t, err := r.take(at, data)
	return t, data, err
}

// take is open with the bytes of the file.
func (r *refs) take(at location, data []byte) (*tape.Tape, error) {
	t, err := tape.ReadSealed(data)
	if errors.Is(err, tape.ErrAltered) {
		err = r.altered(at, err)
	}
	switch {
	case err != nil:
		return nil, notATape(at, data, err)
	case !deck.Place{Tenant: t.Run.Tenant}.Of(r.tenant):
		return nil, fmt.Errorf("%s: the run belongs to tenant %s", at, t.Run.Tenant)
	}
	return t, nil
}

// altered is what becomes of content whose digest does not hold: an error, or a warning where it was asked for.
func (r *refs) altered(at location, err error) error {
	if r.unverified {
		r.say("UNVERIFIED: %s is used although its digest does not hold: %v", at, err)
		return nil
	}
	return fmt.Errorf("%w; somebody has changed it: tapedeck verify lists the damage, --allow-unverified uses it all the same", err)
}

// openOne opens the only tape that a REF stands for.
func (r *refs) openOne(ctx context.Context, ref string) (t *tape.Tape, at location, err error) {
	for l, err := range r.resolve(ctx, ref, oneRun) {
		if err != nil {
			return nil, l, err
		}
		at = l
		if t, _, err = r.open(ctx, l); err != nil {
			return nil, l, err
		}
	}
	return t, at, nil
}

func readSealed(ctx context.Context, at location) (*tape.Tape, error) {
	data, err := at.read(ctx, at.ref.Key)
	if err != nil {
		return nil, err
	}
	return tape.ReadSealed(data)
}

// notATape says what a file is that cannot be read as a tape, and which command takes it.
func notATape(at location, data []byte, err error) error {
	what := ""
	switch {
	case errors.Is(err, tape.ErrAltered), bytes.Contains(data[:min(len(data), sniffed)], []byte(tape.Kind)):
	case waza.Detect(data):
		what = "this is a task snapshot of waza: tapedeck replay checks it, replay --bisect compares it with another"
	case aiwg.Detect(data):
		what = "this is an execution snapshot of AIWG: tapedeck match compares its outcome, tapedeck import makes a tape of it"
	case isOracle(data):
		what = "this is an oracle: tapedeck serve --oracle and tapedeck oracle take it"
	case hasTelemetry(bytes.NewReader(data)):
		what = fmt.Sprintf("this is telemetry: tapedeck derive %s --to DECK makes tapes of it", path.Base(at.ref.Key))
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
	for doc, err := range otlpfile.Read(r, "", otlpfile.Options{}) {
		return err == nil && (doc.Signal == otlpfile.SignalAudit || doc.Traces.SpanCount()+doc.Logs.LogRecordCount() > 0)
	}
	return false
}

// isTelemetry tells a file of telemetry from one that is, or claims to be, a tape.
func isTelemetry(file string) bool {
	head, err := readBounded(file, sniffed)
	if err != nil || bytes.Contains(head, []byte(tape.Kind)) {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return hasTelemetry(f)
}

// inMemory numbers the decks of this process that lie in memory.
var inMemory atomic.Int64

// resolveTelemetry makes the tapes of a file of telemetry in memory: as derive does with --redact off, for nothing is stored.
func (r *refs) resolveTelemetry(ctx context.Context, file string, to reach, yield func(location) bool) (err error) {
	name := "refs-" + strconv.FormatInt(inMemory.Add(1), 10)
	d, err := deck.Open(ctx, "mem://"+name)
	if err != nil {
		return err
	}
	defer mem.Drop(name)
	defer func() { err = errors.Join(err, d.Close()) }()
	c := &derivation{flags: deriveFlags{formats: []string{"tape", "oracle"}, tenant: "default"}, stdout: io.Discard, stderr: r.cmd.ErrOrStderr()}
	in := newIntake(nil, nil)
	c.read(ctx, file, in)
	if err := ctx.Err(); err != nil {
		return err
	}
	c.audit(in)
	if err := c.write(ctx, d, in); err != nil {
		return err
	}
	var found []location
	err = r.resolveDeck(ctx, d.URL(), func(l location) bool {
		l.name = file
		found = append(found, l)
		return true
	})
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return fmt.Errorf("%s holds no run of an agent", file)
	case len(found) > 1 && to == oneRun:
		ids := make([]string, len(found))
		for i, l := range found {
			ids[i] = l.ref.RunID()
		}
		return fmt.Errorf("%s holds %d runs; make a deck of it with tapedeck derive, and name one of %s", file, len(found), strings.Join(ids, ", "))
	}
	for _, l := range found {
		l.store = d.Store()
		if !yield(l) {
			break
		}
	}
	return nil
}
