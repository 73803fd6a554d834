// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package minimise

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Plan is what the outcomes of a journal belong to. Its JSON form is the first line of the journal.
type Plan struct {
	Kind    string   `json:"kind"`
	Version string   `json:"version"`
	Source  string   `json:"source"` // tape id
	Check   []string `json:"check"`
	Command []string `json:"command,omitempty"`
	// Settings are the other things that an outcome depends on.
	Settings []string `json:"settings,omitempty"`
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

// maxJournal bounds a journal, in bytes.
const maxJournal = 256 << 20

// known is a line of a journal.
type known struct {
	Tape    string  `json:"tape"` // digest of the content
	Outcome Outcome `json:"outcome"`
}

// Journal holds the outcomes of checks, in a folder each as soon as it is there: a line of JSON, synced. A line that was being written when
// the program ended is cut off.
type Journal struct {
	file  *os.File // nil: nothing is kept
	known map[string]Outcome
	kept  int
}

// OpenJournal opens the journal of a search in a folder, or makes it. Without a folder it keeps nothing.
func OpenJournal(dir string, p Plan) (j *Journal, err error) {
	j = &Journal{known: map[string]Outcome{}}
	if dir == "" {
		return j, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, JournalFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s: %w", dir, err), file.Close())
		}
	}()
	j.file = file
	p.Kind, p.Version = PlanKind, PlanVersion
	head, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(j.file, maxJournal+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxJournal {
		return nil, fmt.Errorf("the journal has more than %d bytes", maxJournal)
	}
	end, err := j.read(body, head)
	if err != nil {
		return nil, err
	}
	if err := j.file.Truncate(int64(end)); err != nil {
		return nil, err
	}
	if _, err := j.file.Seek(int64(end), io.SeekStart); err != nil {
		return nil, err
	}
	if end == 0 {
		if err := j.write(head); err != nil {
			return nil, err
		}
	}
	j.kept = len(j.known)
	return j, nil
}

// read takes in what is there, and returns where the last whole line ends.
func (j *Journal) read(body, head []byte) (end int, err error) {
	for at := 0; ; at = end {
		line, _, whole := bytes.Cut(body[at:], []byte{'\n'})
		if !whole {
			return end, nil
		}
		end += len(line) + 1
		if at == 0 {
			if !bytes.Equal(line, head) {
				return 0, fmt.Errorf("%w: it begins with %.300q, this one with %.300q", ErrOtherPlan, line, head)
			}
			continue
		}
		var k known
		if err := json.Unmarshal(line, &k); err != nil {
			return 0, fmt.Errorf("the journal is damaged at byte %d: %w", at, err)
		}
		if k.Outcome == "" || k.Tape == "" {
			return 0, fmt.Errorf("the journal is damaged at byte %d: there is no outcome", at)
		}
		j.known[k.Tape] = k.Outcome
	}
}

func (j *Journal) write(line []byte) error {
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return err
	}
	return j.file.Sync()
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
	if j.file == nil {
		return nil
	}
	line, err := json.Marshal(known{digest, o})
	if err != nil {
		return err
	}
	return j.write(line)
}

// Close closes the journal.
func (j *Journal) Close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
