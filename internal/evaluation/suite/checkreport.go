// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"io"
	"strings"

	"github.com/tapedeck/tapedeck/internal/evaluation/expect"
	"github.com/tapedeck/tapedeck/internal/evaluation/junit"
)

// CheckedRun is a recorded run that a case was held against.
type CheckedRun struct {
	ID       string           `json:"id"` // as people type it
	RunID    string           `json:"run_id"`
	URL      string           `json:"url,omitempty"`
	Failures []expect.Failure `json:"failures"`
}

// CheckedCase is what became of a case.
type CheckedCase struct {
	Name   string       `json:"name"`
	Runs   int          `json:"runs"` // that it was held against
	Held   int          `json:"held"`
	Failed []CheckedRun `json:"failed"`
	Unkept int          `json:"unkept,omitempty"` // runs of which nobody kept what the case asks for

	held []string // short ids, for JUnit
}

// Add counts a run.
func (c *CheckedCase) Add(r CheckedRun) {
	if c.Runs++; len(r.Failures) > 0 {
		c.Failed = append(c.Failed, r)
		return
	}
	c.Held++
	c.held = append(c.held, r.ID)
}

// Forget drops the runs, and keeps their counts: a check that follows a deck has no end.
func (c *CheckedCase) Forget() { c.Failed, c.held = nil, nil }

// Checked is what came of holding cases against recorded runs. Its JSON form is part of the contract.
type Checked struct {
	Cases  []*CheckedCase `json:"cases"`
	Runs   int            `json:"runs"` // a run counts once for each case
	Held   int            `json:"held"`
	Failed int            `json:"failed"`
	Broken []string       `json:"broken"` // cases and runs that could not be read
}

// Conclude counts the runs.
func (c *Checked) Conclude() {
	for _, of := range c.Cases {
		c.Runs, c.Held, c.Failed = c.Runs+of.Runs, c.Held+of.Held, c.Failed+of.Runs-of.Held
	}
}

// exitNoRun is the code of a check in which a case was held against no run: nothing was found wrong, and
// nothing was looked at.
const exitNoRun = 3

// ExitCode is the code of the worst case.
func (c *Checked) ExitCode() int {
	switch {
	case len(c.Broken) > 0:
		return exitNotDone
	case c.Failed > 0:
		return exitFailed
	}
	for _, of := range c.Cases {
		if of.Runs == 0 {
			return exitNoRun
		}
	}
	return exitPassed
}

// mostShown bounds the runs of a case that the text names.
const mostShown = 50

// Lines are those about a run that does not hold a case, each with one expectation.
func (r *CheckedRun) Lines(name string) string {
	var b strings.Builder
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "failed  %s  %s  %s\n", name, r.ID, strings.ReplaceAll(f.String(), "\n", " "))
	}
	return b.String()
}

// Text is the report for a terminal.
func (c *Checked) Text() string {
	var b strings.Builder
	for _, of := range c.Cases {
		for i := range of.Failed {
			if i == mostShown {
				fmt.Fprintf(&b, "failed  %s  and %d more; --json lists all\n", of.Name, len(of.Failed)-i)
				break
			}
			b.WriteString(of.Failed[i].Lines(of.Name))
		}
	}
	for _, broken := range c.Broken {
		fmt.Fprintf(&b, "not done  %s\n", broken)
	}
	for _, of := range c.Cases {
		b.WriteString(of.summary() + "\n")
	}
	return b.String()
}

// summary is a case in one line.
func (c *CheckedCase) summary() string {
	text := c.result()
	if c.Unkept > 0 {
		text += fmt.Sprintf("; not looked at: %d, whose content was not kept", c.Unkept)
	}
	return text
}

func (c *CheckedCase) result() string {
	switch {
	case c.Runs == 0:
		return c.Name + ": no run to check"
	case c.Held == c.Runs && c.Runs == 1:
		return c.Name + ": the run holds"
	case c.Held == c.Runs:
		return fmt.Sprintf("%s: all %d runs hold", c.Name, c.Runs)
	}
	return fmt.Sprintf("%s: %d of %d runs hold", c.Name, c.Held, c.Runs)
}

// JUnit writes the report as JUnit XML: a test for each case and run. A case without a run is skipped.
func (c *Checked) JUnit(w io.Writer) error {
	s := junit.Suite{Name: "tapedeck suite check"}
	for _, of := range c.Cases {
		class := "tapedeck.check." + of.Name
		for _, id := range of.held {
			s.Cases = append(s.Cases, junit.Case{Class: class, Name: id})
		}
		for _, r := range of.Failed {
			var reasons []string
			for _, f := range r.Failures {
				reasons = append(reasons, f.String())
			}
			s.Cases = append(s.Cases, junit.Case{Class: class, Name: r.ID, Failure: &junit.Message{Text: strings.Join(reasons, "; ")}})
		}
		if of.Runs == 0 {
			s.Cases = append(s.Cases, junit.Case{Class: class, Name: of.Name, Skipped: &junit.Message{Text: "no run to check"}})
		}
	}
	for _, broken := range c.Broken {
		s.Cases = append(s.Cases, junit.Case{Class: "tapedeck.check", Name: broken, Error: &junit.Message{Text: broken}})
	}
	return s.Write(w)
}
