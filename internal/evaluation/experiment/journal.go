// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/tapedeck/tapedeck/internal/evaluation/journal"
)

// Files of a journal.
const (
	planFile    = "plan.json"
	journalFile = "outcomes.jsonl"
)

// ErrOtherPlan is returned for a folder that belongs to another experiment.
var ErrOtherPlan = errors.New("the folder holds another experiment")

// Journal keeps the outcomes of an experiment in a folder, each durable before it counts, a line of JSON each. The last line of a case counts.
type Journal struct {
	mu   sync.Mutex
	file *journal.File // nil: nothing is kept
	done map[string]*Outcome
}

// OpenJournal opens the journal of a plan in a folder, or makes it. Without a folder it keeps nothing.
func OpenJournal(dir string, plan *Plan) (*Journal, error) {
	j := &Journal{done: map[string]*Outcome{}}
	if dir == "" {
		return j, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	kept, err := readPlan(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := writePlan(dir, plan); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case kept.Digest() != plan.Digest():
		return nil, fmt.Errorf("%s: %w: its plan is %s, this one %s (%s)", dir, ErrOtherPlan, kept.Digest(), plan.Digest(), kept.differs(plan))
	}
	if j.file, err = journal.Open(filepath.Join(dir, journalFile), j.take); err != nil {
		return nil, err
	}
	return j, nil
}

// readPlan reads the plan of a folder.
func readPlan(dir string) (*Plan, error) {
	body, err := os.ReadFile(filepath.Join(dir, planFile))
	if err != nil {
		return nil, err
	}
	var p Plan
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, planFile), err)
	}
	if p.Kind != Kind || p.Version != Version {
		return nil, fmt.Errorf("%s is not the plan of an experiment of version %s", filepath.Join(dir, planFile), Version)
	}
	return &p, nil
}

// writePlan writes the plan of a folder, whole or not at all.
func writePlan(dir string, p *Plan) (err error) {
	body, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, planFile+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(append(body, '\n')); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, planFile))
}

// differs says in what.
func (p *Plan) differs(q *Plan) string {
	part := func(v any) string { body, _ := json.Marshal(v); return string(body) } // texts and numbers
	for _, of := range []struct {
		name string
		a, b any
	}{
		{"the runner", p.Runner, q.Runner}, {"the files of the runner", p.Identity, q.Identity}, {"the settings", p.Settings, q.Settings}, {"the change", p.Change, q.Change}, {"the scorers", p.Scorers, q.Scorers}, {"the cohorts", p.Cohorts, q.Cohorts}, {"the runs", p.Cases, q.Cases},
		{"the tool policy", p.Policy, q.Policy}, {"the override", p.Override, q.Override},
	} {
		if part(of.a) != part(of.b) {
			return of.name + " differ"
		}
	}
	return "how it is judged differs"
}

// take takes in a line of a journal.
func (j *Journal) take(line []byte) error {
	var o Outcome
	if err := json.Unmarshal(line, &o); err != nil {
		return fmt.Errorf("the journal is damaged: %w", err)
	}
	j.done[o.Tenant+"/"+o.RunID] = &o
	return nil
}

// Done returns the outcome of a case, nil if it has none.
func (j *Journal) Done(c *Case) *Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.done[c.key()]
}

// Add keeps an outcome.
func (j *Journal) Add(o *Outcome) error {
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.file.Append(body); err != nil {
		return fmt.Errorf("the outcome of run %s: %w", o.RunID, err)
	}
	return j.take(body) // as it is when the journal is read again
}

// Close closes the journal.
func (j *Journal) Close() error { return j.file.Close() }

// Merge reads what several folders hold of one experiment, such as its shards.
func Merge(dirs []string) (*Plan, *Journal, error) {
	var plan *Plan
	j := &Journal{done: map[string]*Outcome{}}
	for _, dir := range dirs {
		p, err := readPlan(dir)
		if err != nil {
			return nil, nil, err
		}
		if plan == nil {
			plan = p
		} else if p.Digest() != plan.Digest() {
			return nil, nil, fmt.Errorf("%s: %w than %s (%s)", dir, ErrOtherPlan, dirs[0], plan.differs(p))
		}
		f, err := os.Open(filepath.Join(dir, journalFile))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		_, err = journal.Read(f, j.take)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	if plan == nil {
		return nil, nil, ErrNoCases
	}
	return plan, j, nil
}
