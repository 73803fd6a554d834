// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/oracle/rulefile"
	"github.com/tapedeck/tapedeck/tape"
)

// loadedOracle is one run: its tape, or the oracle file that stands for it.
type loadedOracle struct {
	at      location
	runID   string
	tape    *tape.Tape // nil when an oracle file was named
	entries []oracle.Entry
}

// loadOracle reads the tape or oracle file at a location, told apart by content. An oracle file that the tape beside it lists must have the
// digest that stands there.
func (r *refs) loadOracle(ctx context.Context, at location) (loadedOracle, error) {
	l := loadedOracle{at: at, runID: at.ref.RunID()}
	data, err := at.read(ctx, at.ref.Key)
	if err != nil {
		return l, fmt.Errorf("read %s: %w", at, err)
	}
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("[")) {
		l.runID = cmp.Or(l.runID, path.Base(at.ref.Key))
		if l.entries, err = oracle.Read(data); err != nil {
			return l, notATape(at, data, err)
		}
		return l, r.checkOracle(ctx, at, data)
	}
	if l.tape, err = r.take(at, data); err != nil {
		return l, err
	}
	l.runID = l.tape.Run.RunID
	l.entries = oracle.FromTape(l.tape)
	return l, nil
}

// checkOracle compares an oracle file with what the tape beside it says. A file without a tape, or that no tape lists, is the affair of
// whoever names it.
func (r *refs) checkOracle(ctx context.Context, at location, data []byte) error {
	beside, err := at.read(ctx, at.sibling(tape.TapeFile))
	if err != nil {
		return nil
	}
	t, err := tape.ReadSealed(beside)
	if t == nil {
		return nil
	}
	listed := t.SiblingDigests().Get(path.Base(at.ref.Key)).Str()
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

// loadOracles loads what the REFs stand for. The first that cannot be loaded ends it.
func (r *refs) loadOracles(ctx context.Context, of []string, to reach) ([]loadedOracle, error) {
	var all []loadedOracle
	for _, ref := range of {
		for at, err := range r.resolve(ctx, ref, to) {
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

// oneOracle loads the only run that a REF stands for.
func (r *refs) oneOracle(ctx context.Context, ref string) (loadedOracle, error) {
	all, err := r.loadOracles(ctx, []string{ref}, oneRun)
	if err != nil {
		return loadedOracle{}, err
	}
	return all[0], nil
}

// matchFlags say how calls are matched with entries.
type matchFlags struct {
	from     rulefile.Sources
	keyFile  string
	keyScope string
}

func (f *matchFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.from.Rules, "rules", "", "a rules file: per tool what of the arguments does not count, the policy and the mode")
	flags.StringArrayVar(&f.from.Declared, "tools", nil, "declarations of tools (MCP tools/list or forge.yaml): read-only and idempotent ones go live (repeatable)")
	flags.StringArrayVar(&f.from.Live, "live", nil, "let calls of this tool go live (repeatable)")
	flags.StringArrayVar(&f.from.Refused, "refuse", nil, "refuse all calls of this tool (repeatable)")
	flags.StringVar(&f.keyFile, "redaction-key-file", "", "the key of the redaction, to find live values behind redacted arguments")
	flags.StringVar(&f.keyScope, "redaction-key-scope", "", "the scope of that key")
}

// hint says what would help against an outcome, where a flag does.
func (f *matchFlags) hint(o oracle.Outcome) string {
	if o == oracle.RedactedAmbiguous && f.keyFile == "" {
		return "; --redaction-key-file, with the key of the tokens on the tape, finds the answer of a live value"
	}
	return ""
}

func (f *matchFlags) options() (oracle.Options, error) {
	rules, err := f.from.Read()
	if err != nil {
		return oracle.Options{}, err
	}
	o := oracle.Options{Rules: rules}
	if f.keyScope != "" && f.keyFile == "" {
		return oracle.Options{}, errors.New("--redaction-key-scope needs --redaction-key-file")
	}
	if f.keyFile != "" {
		if o.Verifier, err = redactionVerifier(f.keyFile, f.keyScope); err != nil {
			return oracle.Options{}, fmt.Errorf("--redaction-key-file: %w", err)
		}
	}
	return o, nil
}
