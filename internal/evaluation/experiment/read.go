// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// ErrNoReport is returned for JSON that is no report of this package.
var ErrNoReport = errors.New("no report of an experiment or a comparison")

// Written is a report that was written as JSON: of an experiment, or of a comparison of candidates. Whoever has written it may have written anything.
type Written struct {
	report     *Report
	comparison *Comparison
}

// ReadReport reads one. What it returns can be shown.
func ReadReport(data []byte) (*Written, error) {
	var head struct{ Kind, Version string }
	if err := json.Unmarshal(data, &head); err != nil || head.Kind != Kind+"-report" && head.Kind != Kind+"-comparison" {
		return nil, ErrNoReport
	}
	if head.Version != Version {
		return nil, fmt.Errorf("a report of version %.20q; this program reads version %s", head.Version, Version)
	}
	if head.Kind == Kind+"-comparison" {
		c := &Comparison{}
		if err := json.Unmarshal(data, c); err != nil {
			return nil, fmt.Errorf("the report cannot be read: %w", err)
		}
		for i := range c.Candidates {
			for _, a := range c.Candidates[i].Replays {
				if a.Of == nil {
					return nil, errors.New("the report has a replay without an outcome")
				}
			}
		}
		return &Written{comparison: c}, nil
	}
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("the report cannot be read: %w", err)
	}
	if r.Title() == "" {
		return nil, fmt.Errorf("the report has the verdict %.40q", string(r.State))
	}
	for i := range r.Validity {
		r.Validity[i].share()
	}
	for i := range r.Cases {
		switch c := &r.Cases[i]; {
		case !slices.Contains([]string{Improved, Regressed, Unchanged, NotScored, NotReplayed, NotTried}, c.State):
			return nil, fmt.Errorf("the report has a case in the state %.40q", c.State)
		case c.Of == nil && (c.State != NotTried || r.Evidence.holds(c)), c.State == NotReplayed && c.Of.Failure == nil:
			return nil, errors.New("the report has a case without its outcome")
		}
	}
	return &Written{report: r}, nil
}

// Title is what it came to.
func (w *Written) Title() string {
	if w.comparison != nil {
		return "Comparison: " + w.comparison.Title()
	}
	return "Experiment: " + w.report.Title()
}

// Reason is why.
func (w *Written) Reason() string {
	if w.comparison != nil {
		return ""
	}
	return w.report.Reason
}

// Noted is a run that a report is about, and what became of it.
type Noted struct {
	Case
	State string
}

// Runs are the runs that it is about.
func (w *Written) Runs() (list []Noted) {
	if w.comparison != nil {
		return []Noted{{w.comparison.Run, w.comparison.Title()}}
	}
	for i := range w.report.Cases {
		c := &w.report.Cases[i]
		state := c.State
		if c.Delta != "" {
			state += ", delta " + c.Delta
		}
		list = append(list, Noted{c.Case, state})
	}
	return list
}

// HTML writes it as a page of a site. open reads the tape of a run, and link is the address of its page, "" where it has none.
func (w *Written) HTML(ctx context.Context, out io.Writer, home string, open func(context.Context, *Case) (*tape.Tape, error), link func(*Case) string) error {
	in := site{home, link}
	if c := w.comparison; c != nil {
		recorded, err := open(ctx, &c.Run)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return c.html(ctx, out, in, func(context.Context, *Case) (*tape.Tape, error) { return recorded, err })
	}
	return w.report.html(ctx, out, in, open)
}

// site is where the page of a report is; the zero value is a file.
type site struct {
	home string
	link func(*Case) string
}

func (s site) run(c *Case) string {
	if s.link == nil {
		return ""
	}
	return s.link(c)
}
