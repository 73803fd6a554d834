// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package interoptest tests what every format promises, over all recorded runs of the repository.
package interoptest

import (
	"bytes"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/schema"
)

// Recorded is a tape of the corpus, sealed.
type Recorded struct {
	Name string
	Tape *tape.Tape
}

// Corpus rebuilds the tapes of all recorded runs below testdata/corpus, of which root is the folder.
func Corpus(tb testing.TB, root string) []Recorded {
	tb.Helper()
	runs, err := groundtruth.Corpus(root)
	if err != nil {
		tb.Fatal(err)
	}
	options := reconstruct.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}, Tenant: "default", Redaction: tape.Redaction{Policy: "none"}}
	var all []Recorded
	for _, run := range runs {
		set, err := run.Evidence()
		if err != nil {
			tb.Fatal(err)
		}
		for _, t := range reconstruct.All(set.Split(), options) {
			if err := t.Seal(); err != nil {
				tb.Fatal(err)
			}
			all = append(all, Recorded{run.Group + "/" + run.Scenario, t})
		}
	}
	if len(all) < 200 {
		tb.Fatalf("only %d tapes", len(all))
	}
	return all
}

// RoundTrip writes a tape, reads it back and writes it again. It fails when the bytes are not the same each time, the name of the file
// fits no deck, the tape that was read is inconsistent, or reading reports a loss. It returns the file, what writing it lost, and what
// was read.
func RoundTrip(tb testing.TB, f *interop.Format, t *tape.Tape) ([]byte, []interop.Loss, interop.Run) {
	tb.Helper()
	body, losses, err := f.Encode(t, oracle.FromTape(t), interop.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	if again, _, err := f.Encode(t, oracle.FromTape(t), interop.Options{NoLosses: true}); err != nil || !bytes.Equal(body, again) {
		tb.Fatalf("written twice, not the same: %v", err)
	}
	if err := deck.CheckKey(f.FileName(t)); err != nil {
		tb.Error(err)
	}
	runs, err := f.Decode(body, interop.Options{})
	if err != nil || len(runs) != 1 {
		tb.Fatalf("%d runs, %v:\n%.2000s", len(runs), err, body)
	}
	run := runs[0]
	for _, l := range run.Losses {
		tb.Errorf("what was written is read with a loss: %+v", l)
	}
	CheckTape(tb, run.Tape)
	if again, _, err := f.Encode(run.Tape, run.Oracle, interop.Options{NoLosses: true}); err != nil || !bytes.Equal(body, again) {
		tb.Errorf("read and written again, not the same: %v", err)
	}
	return body, losses, run
}

// CheckTape seals a tape that was read from a file of another format and fails when it is not consistent in itself.
func CheckTape(tb testing.TB, t *tape.Tape) {
	tb.Helper()
	if err := t.Seal(); err != nil {
		tb.Fatal(err)
	}
	for _, p := range tape.Verify(t, nil, schema.Check, oracle.Check) {
		tb.Errorf("the tape that was read: %+v", p)
	}
	again, err := tape.Read(t.AppendJSON(nil))
	if err != nil {
		tb.Fatal(err)
	}
	if again.TapeID != t.TapeID {
		tb.Error("the tape that was read changes when it is written")
	}
}
