// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Oracle is one run: its tape, or the oracle file that stands for it.
type Oracle struct {
	At      Location
	RunID   string
	Tape    *tape.Tape // nil when an oracle file was named
	Entries []oracle.Entry
}

// loadOracle reads the tape or oracle file at a Location, told apart by content. An oracle file that the tape beside it lists must have the
// digest that stands there.
func (r *Finder) loadOracle(ctx context.Context, at Location) (Oracle, error) {
	l := Oracle{At: at, RunID: at.Ref.RunID()}
	data, err := at.content(ctx)
	if err != nil {
		return l, fmt.Errorf("read %s: %w", at, err)
	}
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("[")) {
		l.RunID = cmp.Or(l.RunID, path.Base(at.Ref.Key))
		if l.Entries, err = oracle.Read(data); err != nil {
			return l, notATape(at, data, err)
		}
		return l, r.checkOracle(ctx, at, data)
	}
	if l.Tape, err = r.Take(at, data); err != nil {
		return l, err
	}
	l.RunID = l.Tape.Run.RunID
	l.Entries = oracle.FromTape(l.Tape)
	return l, nil
}

// checkOracle compares an oracle file with what the tape beside it says. A file without a tape, or that no tape lists, is the affair of
// whoever names it.
func (r *Finder) checkOracle(ctx context.Context, at Location, data []byte) error {
	beside, err := at.Read(ctx, at.Sibling(tape.TapeFile))
	if err != nil {
		return nil
	}
	t, err := tape.ReadSealed(beside)
	if t == nil {
		return nil
	}
	listed := t.SiblingDigests().Get(path.Base(at.Ref.Key)).Str()
	switch {
	case listed == "":
		return nil
	case err == nil && listed != tape.FileDigest(data):
		err = fmt.Errorf("%s: %w: the tape beside it says %.80q, the file has %s", at, tape.ErrAltered, listed, tape.FileDigest(data))
	case err != nil:
		err = fmt.Errorf("%s: the tape beside it: %w", at, err)
	default:
		return nil
	}
	return r.altered(at, err)
}

// LoadOracles loads what the REFs stand for. The first that cannot be loaded ends it.
func (r *Finder) LoadOracles(ctx context.Context, of []string, to Reach) ([]Oracle, error) {
	var all []Oracle
	for _, ref := range of {
		for at, err := range r.Resolve(ctx, ref, to) {
			if err != nil {
				return nil, err
			}
			l, err := r.loadOracle(ctx, at)
			if err != nil {
				return nil, err
			}
			all = append(all, l)
		}
	}
	return all, nil
}

// OneOracle loads the only run that a REF stands for.
func (r *Finder) OneOracle(ctx context.Context, ref string) (Oracle, error) {
	all, err := r.LoadOracles(ctx, []string{ref}, OneRun)
	if err != nil {
		return Oracle{}, err
	}
	return all[0], nil
}
