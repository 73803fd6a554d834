// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package minimise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/evaluation/journal"
)

// Plan is what the outcomes of a journal belong to. Its JSON form is the first line of the journal.
type Plan struct {
	Kind    string   `json:"kind"`
	Version string   `json:"version"`
	Source  string   `json:"source"` // tape id
	Check   []string `json:"check"`
	Command []string `json:"command,omitempty"`
	// Programs are the files that check and command name, and their digests.
	Programs map[string]string `json:"programs,omitempty"`
	// Settings are the other things that an outcome depends on.
	Settings map[string]string `json:"settings,omitempty"`
}

// PlanKind and PlanVersion are the first members of a journal.
const (
	PlanKind    = "tapedeck.minimise"
	PlanVersion = "1.0"
)

// ErrOtherPlan is returned for a folder that belongs to another search.
var ErrOtherPlan = errors.New("the folder holds the outcomes of another search")

// JournalFile is the name of the journal in its folder.
const JournalFile = "checks.jsonl"

// known is a line of a journal.
type known struct {
	Tape    string  `json:"tape"` // digest of the content
	Outcome Outcome `json:"outcome"`
}

// Journal holds the outcomes of checks, in a folder each as soon as it is there, a line of JSON each.
type Journal struct {
	file  *journal.File // nil: nothing is kept
	known map[string]Outcome
	kept  int
}

// OpenJournal opens the journal of a search in a folder, or makes it. Without a folder it keeps nothing.
func OpenJournal(dir string, p Plan) (*Journal, error) {
	j := &Journal{known: map[string]Outcome{}}
	if dir == "" {
		return j, nil
	}
	p.Kind, p.Version = PlanKind, PlanVersion
	head, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	begun := false
	if j.file, err = journal.Open(filepath.Join(dir, JournalFile), func(line []byte) error {
		switch {
		case begun:
			return j.take(line)
		case !bytes.Equal(line, head):
			return fmt.Errorf("%w: %s", ErrOtherPlan, differ(line, head))
		}
		begun = true
		return nil
	}); err != nil {
		return nil, err
	}
	if !begun {
		if err := j.file.Append(head); err != nil {
			return nil, errors.Join(err, j.file.Close())
		}
	}
	j.kept = len(j.known)
	return j, nil
}

// differ says in which members two plans do.
func differ(a, b []byte) string {
	var old, now map[string]json.RawMessage
	if json.Unmarshal(a, &old) != nil || json.Unmarshal(b, &now) != nil || string(old["kind"]) != string(now["kind"]) {
		return fmt.Sprintf("it begins with %.100q", a)
	}
	both := maps.Clone(old)
	maps.Copy(both, now)
	maps.DeleteFunc(both, func(name string, _ json.RawMessage) bool { return bytes.Equal(old[name], now[name]) })
	return "other " + strings.Join(slices.Sorted(maps.Keys(both)), ", ")
}

// take takes in a line behind the first one.
func (j *Journal) take(line []byte) error {
	var k known
	err := json.Unmarshal(line, &k)
	if err == nil && (k.Outcome == "" || k.Tape == "") {
		err = errors.New("there is no outcome")
	}
	if err != nil {
		return fmt.Errorf("the journal is damaged: %w", err)
	}
	j.known[k.Tape] = k.Outcome
	return nil
}

// Known returns the outcome of a tape.
func (j *Journal) Known(digest string) (Outcome, bool) {
	o, ok := j.known[digest]
	return o, ok
}

// Len is how many outcomes were there when the journal was opened.
func (j *Journal) Len() int { return j.kept }

// Add keeps an outcome.
func (j *Journal) Add(digest string, o Outcome) error {
	j.known[digest] = o
	line, err := json.Marshal(known{digest, o})
	if err != nil {
		return err
	}
	return j.file.Append(line)
}

// Close closes the journal.
func (j *Journal) Close() error { return j.file.Close() }
