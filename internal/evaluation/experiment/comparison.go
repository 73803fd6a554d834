// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
	"github.com/tapedeck/tapedeck/internal/evaluation/junit"
	"github.com/tapedeck/tapedeck/internal/replay/look"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
)

// Comparison is what several candidates made of one recorded run.
type Comparison struct {
	Kind    string `json:"kind"`
	Version string `json:"version"`
	Run     Case   `json:"run"`
	Runner  string `json:"runner"`
	// Verify is the command that says whether a replay is good, "" without one.
	Verify     string            `json:"verify,omitempty"`
	Identity   Identity          `json:"runner_identity"`
	Settings   map[string]string `json:"settings,omitempty"`
	Override   string            `json:"override,omitempty"`
	Scorers    []string          `json:"scorers"`
	JudgeCost  *Cost             `json:"judge_cost,omitempty"`
	Candidates []Compare         `json:"candidates"` // in the order in which they were named
}

// Compare is one candidate.
type Compare struct {
	Model    string    `json:"model"`
	URL      string    `json:"url,omitempty"` // where it was asked; "" is the tape
	Replays  []Attempt `json:"replays"`
	Replayed int       `json:"replayed"` // of the replays, those that were made
	Passed   int       `json:"passed"`   // those that were made, did not fail and were found good by the check
	// Of the replays that were made: sums, and how much of the sequences of tools is common to the recorded one, in the mean.
	Effort Effort `json:"effort"`
	Tools  string `json:"tool_sequence"`
}

// Attempt is one replay of a candidate.
type Attempt struct {
	Passed bool     `json:"passed"`
	Why    string   `json:"why,omitempty"` // it did not pass
	Of     *Outcome `json:"outcome"`
}

// NewComparison returns one without candidates.
func NewComparison(p *Plan, c Case, verify string) *Comparison {
	return &Comparison{
		Kind: Kind + "-comparison", Version: Version, Run: c, Runner: p.Runner, Verify: verify, Identity: p.Identity, Settings: p.Settings, Override: p.Override, Scorers: p.Scorers, Candidates: []Compare{},
	}
}

// Add takes in what a candidate did.
func (r *Comparison) Add(model, url string, recorded *tape.Tape, outcomes []*Outcome) {
	c := Compare{Model: model, URL: url, Replays: []Attempt{}}
	alikeness := 0.0
	for _, o := range outcomes {
		a := Attempt{Of: o, Why: o.fails()}
		if a.Passed = a.Why == ""; a.Passed {
			c.Passed++
		}
		if o.Failure == nil {
			c.Replayed++
			c.Effort.add(&o.Replayed)
			var steps []string
			for i := range o.Steps {
				steps = append(steps, o.Steps[i].Tool)
			}
			alikeness += alike(names(ToolSpans(recorded)), steps)
		}
		r.JudgeCost = o.spent(r.JudgeCost)
		c.Replays = append(c.Replays, a)
	}
	if c.Tools = "–"; c.Replayed > 0 {
		c.Tools = statistics.Decimal(alikeness / float64(c.Replayed))
	}
	r.Candidates = append(r.Candidates, c)
}

func (e *Effort) add(f *Effort) {
	for _, of := range []struct {
		into **int64
		n    *int64
	}{{&e.InputTokens, f.InputTokens}, {&e.OutputTokens, f.OutputTokens}, {&e.DurationMS, f.DurationMS}} {
		if of.n == nil {
			continue
		}
		sum := *of.n
		if *of.into != nil {
			sum += **of.into
		}
		*of.into = &sum
	}
}

// fails is why a replay is not a good one.
func (o *Outcome) fails() string {
	switch {
	case o.Failure != nil:
		return "not replayed: " + o.Failure.Error()
	case o.Ended != "":
		return "the command failed: " + o.Ended
	}
	for i := range o.Scores {
		switch s := &o.Scores[i]; {
		case s.Scorer != CheckName:
		case s.Failed != "":
			return "the check could not be run: " + s.Failed
		case s.Replayed < 1:
			return "the check failed: " + s.Said
		}
	}
	return ""
}

// ExitCode is 0 when every replay passed, 1 when not, 2 when a candidate could not be replayed at all.
func (r *Comparison) ExitCode() int {
	code := 0
	for i := range r.Candidates {
		switch c := &r.Candidates[i]; {
		case c.Replayed == 0:
			return 2
		case c.Passed < len(c.Replays):
			code = 1
		}
	}
	return code
}

// Title says how many passed.
func (r *Comparison) Title() string {
	passed := 0
	for i := range r.Candidates {
		if c := &r.Candidates[i]; c.Passed == len(c.Replays) {
			passed++
		}
	}
	return fmt.Sprintf("%d of %d candidates pass", passed, len(r.Candidates))
}

func number(n *int64) string {
	if n == nil {
		return "–"
	}
	return strconv.FormatInt(*n, 10)
}

func (r *Comparison) tables() (all, answers *table) {
	all = &table{head: []string{"candidate", "passed", "replayed", "tokens in", "tokens out", "ms", "tools as recorded", "model calls live", "missed", "tool calls live", "missed", "approximate"}}
	answers = &table{head: []string{"candidate", "", "why not", "scores", "answer"}}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		var of Validity
		for j := range c.Replays {
			a := &c.Replays[j]
			of.count(a.Of)
			state := "passed"
			if !a.Passed {
				state = "failed"
			}
			var scores []string
			for _, s := range a.Of.Scores {
				switch {
				case s.Scorer == CheckName:
				case s.Failed != "":
					scores = append(scores, s.Scorer+": "+s.Failed)
				default:
					scores = append(scores, fmt.Sprintf("%s: %s → %s", s.Scorer, statistics.Decimal(s.Original), statistics.Decimal(s.Replayed)))
				}
			}
			answers.add(c.Model, state, cut(a.Why, 300), strings.Join(scores, "; "), cut(a.Of.Text, 300))
		}
		models := Answers{}
		if of.Models != nil {
			models = *of.Models
		}
		all.add(c.Model, fmt.Sprintf("%d of %d", c.Passed, len(c.Replays)), c.Replayed, number(c.Effort.InputTokens), number(c.Effort.OutputTokens), number(c.Effort.DurationMS), c.Tools,
			models.Live, models.Missed, of.Tools.Live, of.Tools.Missed, models.NotExact+of.Tools.NotExact)
	}
	return all, answers
}

// Markdown writes the comparison for people.
func (r *Comparison) Markdown(w io.Writer) error {
	var b strings.Builder
	all, answers := r.tables()
	fmt.Fprintf(&b, "# %s\n\nRun %s. Sums are over the replays that were made.\n\n", r.Title(), cell(deck.ShortID(r.Run.RunID)))
	all.markdown(&b)
	answers.markdown(&b)
	b.WriteString("## Method\n\n")
	for _, line := range r.method() {
		fmt.Fprintf(&b, "- %s: %s.\n", line.what, cell(line.text))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Comparison) method() []fact {
	report := Report{Runner: r.Runner, Identity: r.Identity, Settings: r.Settings, Override: r.Override, JudgeCost: r.JudgeCost}
	list := report.howReplayed()
	if r.Verify != "" {
		list = append(list, fact{"Check", r.Verify})
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		where := "the tape"
		if c.URL != "" {
			where = c.URL
		}
		list = append(list, fact{"Candidate " + c.Model, "asked at " + where})
	}
	return append(list, fact{"What it shows", "one recorded run: an anecdote. An experiment asks many"})
}

// JUnit writes each replay as a test.
func (r *Comparison) JUnit(w io.Writer) error {
	suite := junit.Suite{Name: "tapedeck compare " + r.Run.RunID}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		for j := range c.Replays {
			a := &c.Replays[j]
			t := junit.Case{Class: c.Model, Name: strconv.Itoa(j + 1)}
			switch {
			case a.Passed:
			case a.Of.Failure != nil:
				t.Error = &junit.Message{Text: a.Why}
			default:
				t.Failure = &junit.Message{Text: a.Why}
			}
			suite.Cases = append(suite.Cases, t)
		}
	}
	return suite.Write(w)
}

// HTML writes the comparison as one page that needs nothing else, the first replay of each candidate beside the recorded run.
func (r *Comparison) HTML(ctx context.Context, w io.Writer, recorded *tape.Tape) error {
	return r.html(ctx, w, site{}, func(context.Context, *Case) (*tape.Tape, error) { return recorded, nil })
}

func (r *Comparison) html(ctx context.Context, w io.Writer, in site, open func(context.Context, *Case) (*tape.Tape, error)) error {
	all, answers := r.tables()
	v := pageView{Home: in.home, Head: look.Head{Title: r.Title()}, Reason: timeline.OneLine("Run " + deck.ShortID(r.Run.RunID)), Class: []string{"good", "bad", "odd"}[r.ExitCode()]}
	v.Method = shownMethod(r.method())
	v.Sections = []pageSection{{Title: "Candidates", Tables: shownTables(all, answers)}}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		if len(c.Replays) == 0 {
			continue
		}
		of := CaseResult{Case: r.Run, Of: c.Replays[0].Of}
		p, err := of.sideBySide(ctx, open)
		if err != nil {
			return err
		}
		p.ID, p.Run, p.Cohort = fmt.Sprintf("candidate-%d", i+1), timeline.OneLine(c.Model), ""
		p.State, p.Class, p.URL = "passed", "good", in.run(&r.Run)
		if why := c.Replays[0].Why; why != "" {
			p.State, p.Class = timeline.OneLine(why), "bad"
		}
		v.Pages = append(v.Pages, p)
	}
	return page.Execute(w, v)
}
