// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package interop holds what the formats of other tools have in common. Each format is a [Format] in a package of its own, and
// package formats lists them all. Writing and reading a format always reports what is lost on the way.
package interop

import (
	"errors"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Format is one format of another tool. A zero function means that the direction does not exist.
type Format struct {
	// Name is what --format and formats: call it: lower case, no blanks.
	Name string
	// Title is what its own project calls it, with the version that is written.
	Title string
	// Reads says which versions and variants Decode accepts, in a few words; empty without Decode.
	Reads string
	// Beside says that derive and the tape exporter may write it beside tape.json. Its FileName must then be a name of its own in
	// any folder of a run, whatever the tape says.
	Beside bool
	// Replays says that Encode takes Options.ReplayStatus.
	Replays bool
	// FromEvidence says that Encode writes Options.Evidence, not the tape.
	FromEvidence bool
	// Lines says that a file is a sequence of lines, so that the exports of several tapes may stand one after the other.
	Lines bool
	// ContentType of the file; application/json if empty.
	ContentType string

	// FileName returns the base name of the file for a tape, by the rule of the format.
	FileName func(t *tape.Tape) string
	// Numbered returns the name of the file for the n-th run of its kind. RunOf returns the run that such a file is of. Both are nil
	// if the format does not number runs.
	Numbered func(t *tape.Tape, n int) string
	RunOf    func(file []byte) string
	// Home is the folder of a project where the other tool looks for its files, each under HomeName. It is
	// empty where the tool has none.
	Home     string
	HomeName func(t *tape.Tape) string
	// BesideName is the name beside a tape.json, where it is not FileName.
	BesideName string
	// Encode renders a tape. entries are the oracle of the tape. The bytes depend on the arguments only. An error that wraps
	// ErrNotHeld says that the format cannot hold this tape at all.
	Encode func(t *tape.Tape, entries []oracle.Entry, o Options) ([]byte, []Loss, error)
	// Decode reads a file, which may hold several runs. The tapes are complete (graded, proven) but for the seal. The error wraps
	// ErrNotFormat when the file is of another format.
	Decode func(data []byte, o Options) ([]Run, error)
	// Detect reports whether data claims to be of this format; it may still be malformed.
	Detect func(data []byte) bool

	// Fields lists the members of its documents, for a table of the documentation; nil has none.
	Fields func() []Field
	// Notes say what the table of the documentation cannot measure: aspect → a few words. See Aspects.
	Notes map[string]string
}

// NameBeside returns the name of the file beside the tape.json of a tape.
func (f *Format) NameBeside(t *tape.Tape) string {
	if f.BesideName != "" {
		return f.BesideName
	}
	return f.FileName(t)
}

// Options are what the user decides.
type Options struct {
	// Tenant and Producer stand on the tapes that Decode returns; defaults: "default", "tapedeck".
	Tenant   string
	Producer tape.Producer
	// Strict makes Decode refuse values that are not of the form which the schema of the format names (UUIDs, times); by default such forms
	// are annotations.
	Strict bool
	// EnvAllow lists the environment variables of the run that Encode may write: names, or beginnings of names with a "*" behind
	// them. A tape may hold more; without a list none is written.
	EnvAllow []string
	// RunNumber is the number of the run among those of its kind; that of the tape, else 1, if 0.
	RunNumber int
	// ReplayStatus is what is known of replays of the run, as an execution snapshot of AIWG tells it; absent if nothing is.
	ReplayStatus exactjson.Value
	// Evidence are the parts of the evidence of the run: OTLP export requests, as protobuf.
	Evidence [][]byte
	// Sibling reads a file that a document names, such as the snapshots of a results.json; nil: none can be read.
	Sibling func(path string) ([]byte, error)
	// NoLosses spares Encode the comparison that finds them.
	NoLosses bool
}

// Run is one run that was read from a file of another format.
type Run struct {
	Tape   *tape.Tape
	Oracle []oracle.Entry
	Losses []Loss
}

// Loss is one thing that does not survive a conversion, or not as it was.
type Loss struct {
	// Path is dotted and names the place in the document that was read: events.3.request in a tape, toolEvents.0.args in a snapshot.
	// A "*" stands for every element, empty for the document itself.
	Path string `json:"path"`
	// What happened there, in one word.
	What What `json:"what"`
	// Reason is a sentence without recorded content.
	Reason string `json:"reason"`
}

// What says what happened to a value in a conversion.
type What string

// The fates of values that are not kept.
const (
	Dropped What = "dropped" // it is not in what was written
	Changed What = "changed" // it is there with another value
	Added   What = "added"   // what was written holds it, what was read does not
	Layout  What = "layout"  // the same values, written in another way
)

// Errors that Encode and Decode wrap.
var (
	ErrNotFormat = errors.New("not a file of this format")
	ErrNotHeld   = errors.New("the format cannot hold the run")
)
