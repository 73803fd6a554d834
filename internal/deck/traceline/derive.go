// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package traceline

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// Deriver makes rows of requests. It is safe for concurrent use.
type Deriver struct {
	options generation.Options
	mu      sync.Mutex
	by      map[string]*generation.Deriver // by formats
}

// NewDeriver returns a Deriver. Formats of the options are those of requests that name none.
func NewDeriver(o generation.Options) *Deriver {
	o.Producer = generation.Producer()
	return &Deriver{options: o, by: map[string]*generation.Deriver{}}
}

func (d *Deriver) of(formats []string) *generation.Deriver {
	o := d.options
	if len(formats) > 0 {
		o.Formats = formats
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	name := strings.Join(o.Formats, ",")
	if d.by[name] == nil {
		d.by[name] = generation.New(o)
	}
	return d.by[name]
}

// Rows are the rows of one trace.
type Rows struct {
	Rows []reel.Row // of all runs, and of all evidence
	Date string     // of their reel
	// NoRun says why the evidence holds no run.
	NoRun string

	runs []deck.RunFiles // of the rows that have a run
}

// Derive makes the rows of a trace, byte for byte those that any program of this version makes of its
// evidence. With an error that is generation.ErrUnderivable they hold the evidence alone; with any other
// there are none.
func (d *Deriver) Derive(r *Request) (*Rows, error) {
	t, err := r.check()
	if err != nil {
		return nil, err
	}
	by := d.of(r.Formats)
	made, failure := by.Derive(t.location.Tenant, t.location.TraceID, t.digests, func(digest string) ([]byte, error) { return t.bodies[digest], nil })
	if made, err = generation.WithoutTapes(made, failure); err != nil {
		return nil, err
	}
	out := &Rows{Date: r.Date, runs: made.Runs}
	if errors.Is(failure, generation.ErrNoRun) {
		out.NoRun, failure = failure.Error(), nil
	}
	common := reel.Row{Evidence: t.bodies[t.digests[0]], Meta: t.meta(t.digests[0])}
	common.Parts = t.digests
	out.Rows = by.Rows(common, made)
	for i := range out.Rows {
		row := &out.Rows[i]
		if row.TapeBytes = int64(len(row.Tape)); r.EvidenceAlone {
			row.Tape, row.TapeBytes = nil, 0
		} else {
			row.Tape = bytes.Clone(row.Tape) // the other files of the run lie in the same memory
		}
	}
	for _, digest := range t.digests[1:] {
		row := reel.Row{Evidence: t.bodies[digest], Meta: t.meta(digest)}
		row.Formats = by.Formats
		out.Rows = append(out.Rows, row)
	}
	for i := range out.Rows {
		out.Rows[i].EvidenceBytes = int64(len(out.Rows[i].Evidence))
	}
	return out, failure
}

// meta is what the request says of a row with a part.
func (t *trace) meta(part string) reel.Meta {
	return reel.Meta{Tenant: t.location.Tenant, TraceID: t.location.TraceID, Area: string(t.location.Area), ReplayRunID: t.location.ReplayRunID, ReplayOf: t.ReplayOf,
		Part: part, Complete: !t.Incomplete, Keep: t.Keep}
}

// Run is one run in an answer.
type Run struct {
	Row Columns `json:"row"`
	// Tape is tape.json, byte for byte, and Files what lies beside it, by name.
	Tape      string            `json:"tape"`
	Files     map[string]string `json:"files,omitempty"`
	Signature string            `json:"signature,omitempty"`
}

// Columns are the narrow columns of a row that are known, as `ls --format json` prints them.
type Columns reel.Meta

// MarshalJSON implements json.Marshaler.
func (c *Columns) MarshalJSON() ([]byte, error) {
	return reel.ColumnsJSON(reel.Columns(), func(column string) any { v, _ := (*reel.Meta)(c).Value(column); return v })
}

var _ json.Marshaler = (*Columns)(nil)

// Len is how many runs there are.
func (r *Rows) Len() int { return len(r.runs) }

// Runs are the runs of the rows with all that a derivation writes of them.
func (r *Rows) Runs() []*Run {
	list := make([]*Run, 0, len(r.runs))
	for i := range r.Rows {
		row := &r.Rows[i]
		at := slices.IndexFunc(r.runs, func(f deck.RunFiles) bool { return row.RunID != "" && f.Root == row.RootSpanID })
		if at < 0 {
			continue
		}
		run := &Run{Row: Columns(row.Meta), Signature: row.Signature, Files: map[string]string{}}
		for _, f := range r.runs[at].Files {
			if f.Name == deck.TapeFile {
				run.Tape = string(f.Body)
			} else {
				run.Files[f.Name] = string(f.Body)
			}
		}
		list = append(list, run)
	}
	return list
}
