// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// What a snapshot says it is.
const (
	documentKind = "task-snapshot"
	// version is written unless the tape was made from another one: every reader accepts it.
	version = "1.0"
)

// maxDepth is the number of levels, counted from the root, beyond which some readers refuse a snapshot.
const maxDepth = 64

// Snapshot is a snapshot that was read and found to be well-formed.
type Snapshot struct {
	// doc is the document without known members that are null, which stands for empty.
	doc exactjson.Value
	// Unknown are the paths of members that no known version has. They are kept.
	Unknown []string
	// Evidence says why the evidence manifest, if there is one, does not hold.
	Evidence error
}

// Read reads a snapshot: strict JSON (no duplicate names, valid UTF-8), the right types, names in their exact case and MAJOR version 1. No member is
// mandatory: {} is a snapshot. A document that does not say what it is and holds members that no snapshot has must also hold one that only a snapshot has.
// This rule keeps out a results file, a package.json or an answer of JSON-RPC. Errors that are about another kind of document wrap interop.ErrNotFormat.
// No error holds recorded content.
func Read(data []byte) (*Snapshot, error) {
	v, err := exactjson.ParseWithin(string(data), exactjson.MaxDepth, maxValues)
	if err != nil {
		return nil, fmt.Errorf("read waza snapshot: %w", err)
	}
	if v.Kind() != exactjson.Object {
		return nil, fmt.Errorf("read waza snapshot: %w: not an object", interop.ErrNotFormat)
	}
	if k := v.Get("kind"); k.Kind() != exactjson.Absent && k.Kind() != exactjson.Null && k.Str() != documentKind && (k.Kind() != exactjson.String || k.Str() != "") {
		return nil, fmt.Errorf("read waza snapshot: %w: kind is not %q", interop.ErrNotFormat, documentKind)
	}
	var c checker
	doc := c.object("", snapshotShape, v)
	if c.err != nil {
		return nil, fmt.Errorf("read waza snapshot: %w", c.err)
	}
	if doc.Get("kind").Str() == "" && foreign(v) {
		return nil, fmt.Errorf("read waza snapshot: %w: no kind, and no member that only a snapshot has", interop.ErrNotFormat)
	}
	if err := checkVersion(doc.Get("schemaVersion").Str()); err != nil {
		return nil, fmt.Errorf("read waza snapshot: %w", err)
	}
	if evidence := v.Get("evidence"); evidence.Kind() > exactjson.Null {
		if _, _, err := readManifest(evidence); err != nil {
			return nil, fmt.Errorf("read waza snapshot: evidence.%w", err)
		}
	}
	// The manifest vouches for the document as it came, nulls included.
	return &Snapshot{doc: doc, Unknown: c.unknown, Evidence: checkEvidence(v)}, nil
}

// own are the members that no other document is known to have.
var own = []string{"wazaVersion", "evalId", "evalName", "toolEvents", "commandInvocations", "workspaceFiles"}

// foreign tells whether a document has members that no snapshot has, and none that only a snapshot has.
func foreign(doc exactjson.Value) bool {
	others := false
	for _, m := range doc.Members() {
		if slices.Contains(own, m.Name) {
			return false
		}
		others = others || !slices.ContainsFunc(snapshotShape, func(known member) bool { return known.name == m.Name })
	}
	return others
}

const maxValues = 1 << 24

// checkVersion accepts two numbers of which the first is 1. Absent and blank stand for the current version.
func checkVersion(v string) error {
	v = strings.TrimSpace(v)
	if v == "" {
		return nil
	}
	major, minor, ok := strings.Cut(v, ".")
	if !ok || !digits(major) || !digits(minor) {
		return fmt.Errorf("schemaVersion %.20q is not MAJOR.MINOR", v)
	}
	if n, err := strconv.Atoi(major); err != nil || n != 1 {
		return fmt.Errorf("schemaVersion %.20q cannot be read, this version reads 1.x", v)
	}
	return nil
}

// versionOf is the version that a document states; blank is the first one.
func versionOf(doc exactjson.Value) exactjson.Value {
	if v := doc.Get("schemaVersion"); strings.TrimSpace(v.Str()) != "" {
		return v
	}
	return exactjson.StringValue(version)
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// Event is one tool call of a snapshot.
type Event struct {
	Turn     int64
	Sequence int64
	Name     string
	Args     exactjson.Value // absent when not recorded
	Success  bool
}

// Events returns the tool calls in the order of the file.
func (s *Snapshot) Events() []Event {
	list := s.doc.Get("toolEvents")
	events := make([]Event, list.Len())
	for i := range events {
		e := list.At(i)
		turn, _ := e.Get("turn").Int()
		sequence, _ := e.Get("sequence").Int()
		events[i] = Event{turn, sequence, e.Get("tool_name").Str(), e.Get("args"), e.Get("success").True()}
	}
	return events
}

// Status is the outcome that waza gave the run: passed, failed, error, skipped.
func (s *Snapshot) Status() string { return s.doc.Get("result").Get("status").Str() }

// Grader is the verdict of one grader.
type Grader struct {
	Key           string
	Passed        bool
	Score, Weight float64
}

// Graders returns the verdicts, sorted by key.
func (s *Snapshot) Graders() []Grader { return graders(s.doc.Get("result").Get("validations")) }

func graders(validations exactjson.Value) []Grader {
	all := sorted(validations, false).Members()
	list := make([]Grader, len(all))
	for i, m := range all {
		score, _ := m.Value.Get("score").Float()
		weight, _ := m.Value.Get("weight").Float()
		list[i] = Grader{m.Name, m.Value.Get("passed").True(), score, weight}
	}
	return list
}
