// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
	"github.com/tapedeck/tapedeck/internal/replay/look"
	"github.com/tapedeck/tapedeck/internal/replay/rerun"
	"github.com/tapedeck/tapedeck/internal/replay/sidebyside"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

//go:embed page.html
var pageText string

var page = look.Template("experiment", pageText)

// maxRows bounds the list of all runs on a page; the JSON report holds every one.
const maxRows = 5000

type pageView struct {
	look.Head
	Class    string
	Reason   string
	Sections []pageSection
	Pages    []pageRun
	Method   [][2]string
	Listed   string
	Cases    []pageCase
	Home     string
}

// pageCase is a line about a run; URL is its page, if it has one.
type pageCase struct {
	URL, Run, Cohort, State, Class, Delta, Why string
}

type pageSection struct {
	Title  string
	Tables []pageTable
	Lines  []string
}

type pageTable struct {
	Head []string
	Num  []bool // the columns of numbers
	Rows [][]string
}

// pageRun is a run of the evidence, side by side.
type pageRun struct {
	ID, Run, Cohort, State, Class, Delta string
	Problem, URL                         string
	Runs                                 template.HTML
}

// HTML writes the report as one page that needs nothing else. open reads the tape of a run of the evidence, to show both runs side by side;
// a tape that cannot be read is said to be.
func (r *Report) HTML(ctx context.Context, w io.Writer, open func(context.Context, *Case) (*tape.Tape, error)) error {
	return r.html(ctx, w, site{}, open)
}

func (r *Report) html(ctx context.Context, w io.Writer, in site, open func(context.Context, *Case) (*tape.Tape, error)) error {
	v := pageView{
		Home: in.home,
		Head: look.Head{Title: r.Title()}, Reason: timeline.OneLine(r.Reason),
		Class: map[statistics.State]string{statistics.Ship: "good", statistics.DontShip: "bad"}[r.State],
	}
	v.Class = cmp.Or(v.Class, "odd")
	findings := pageSection{Title: "Findings"}
	for _, f := range r.Findings {
		findings.Lines = append(findings.Lines, timeline.OneLine(fmt.Sprintf("%s (%s): %s", f.Code, f.Severity, f.Message)))
	}
	v.Method = shownMethod(r.method())
	for _, s := range []pageSection{
		{Title: "What changed", Tables: shownTables(r.changeTable())}, findings,
		{Title: "Cost and latency", Tables: shownTables(r.effortTable())}, {Title: "Replay validity", Tables: shownTables(r.validityTables()...)},
	} {
		if len(s.Tables)+len(s.Lines) > 0 {
			v.Sections = append(v.Sections, s)
		}
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		if r.Evidence.holds(c) {
			p, err := c.sideBySide(ctx, open)
			if err != nil {
				return err
			}
			p.ID, p.URL = fmt.Sprintf("run-%d", i+1), in.run(&c.Case)
			v.Pages = append(v.Pages, p)
		}
		if i < maxRows {
			v.Cases = append(v.Cases, pageCase{in.run(&c.Case), timeline.OneLine(c.RunID), timeline.OneLine(c.Cohort), c.State, stateClass(c.State), c.Delta, timeline.OneLine(c.why())})
		}
	}
	v.Listed = fmt.Sprintf("All %d runs", len(r.Cases))
	if len(r.Cases) > maxRows {
		v.Listed = fmt.Sprintf("The first %d of %d runs; the JSON report holds all", maxRows, len(r.Cases))
	}
	return page.Execute(w, v)
}

// shownTables are the tables that have rows, without the columns that are empty.
func shownTables(tables ...*table) (list []pageTable) {
	for _, t := range tables {
		if len(t.rows) == 0 {
			continue
		}
		p := pageTable{Rows: make([][]string, len(t.rows))}
		for column, head := range t.head {
			empty, num := true, true
			for _, row := range t.rows {
				empty = empty && row[column] == ""
				num = num && strings.Trim(row[column], "0123456789.,+-–−%[]()p= ") == ""
			}
			if empty {
				continue
			}
			p.Head, p.Num = append(p.Head, head), append(p.Num, num)
			for i, row := range t.rows {
				p.Rows[i] = append(p.Rows[i], timeline.OneLine(row[column]))
			}
		}
		list = append(list, p)
	}
	return list
}

func shownMethod(list []fact) (out [][2]string) {
	for _, f := range list {
		out = append(out, [2]string{timeline.OneLine(f.what), timeline.OneLine(f.text)})
	}
	return out
}

// stateClass is the colour of what became of a run.
func stateClass(state string) string {
	switch state {
	case Improved:
		return "good"
	case Regressed:
		return "bad"
	case NotReplayed, NotScored:
		return "odd"
	}
	return ""
}

// why is why a run has no delta.
func (c *CaseResult) why() string {
	switch c.State {
	case NotReplayed:
		return c.Of.Failure.Error()
	case NotScored:
		return c.Of.unscored()
	}
	return ""
}

// sideBySide shows the recorded run beside what the candidate did: the tool calls and the answer, which is what a candidate tells.
func (c *CaseResult) sideBySide(ctx context.Context, open func(context.Context, *Case) (*tape.Tape, error)) (p pageRun, err error) {
	p = pageRun{Run: timeline.OneLine(c.RunID), Cohort: timeline.OneLine(c.Cohort), State: c.State, Delta: c.Delta, Class: stateClass(c.State)}
	recorded, err := open(ctx, &c.Case)
	if err != nil {
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
		p.Problem = timeline.OneLine("The recorded run cannot be shown: " + err.Error())
		return p, nil
	}
	recorded = rerun.ToolCalls([]*tape.Tape{recorded})
	now := c.Of.tape(recorded)
	result, err := compare.Tapes(recorded, now, compare.Options{Level: compare.All})
	if err != nil {
		return p, err
	}
	if n := c.Of.StepsLeftOut; n > 0 {
		p.Problem = fmt.Sprintf("%d tool calls of the candidate had no room in its outcome.", n)
	}
	p.Runs, err = sidebyside.Fragment(sidebyside.Of(c.Ref, recorded), sidebyside.Of("candidate", now), result)
	return p, err
}

// tape is what a candidate did, as a tape that can be compared with the tool calls of the recorded one.
func (o *Outcome) tape(recorded *tape.Tape) *tape.Tape {
	t := &tape.Tape{Input: recorded.Input}
	t.Run.RunID, t.Run.Status = "candidate", tape.StatusOK
	text := o.Text
	t.Output.Text = &text
	for i := range o.Steps {
		s := &o.Steps[i]
		e := tape.Event{Seq: i + 1, Type: tape.EventToolCall, Name: s.Tool, Status: tape.EventOK}
		if s.Args != nil {
			e.Args = valueOf(*s.Args)
			e.ArgsHash = tape.ArgsHash(e.Args)
		}
		if s.Result != nil {
			e.Result = exactjson.StringValue(*s.Result)
		}
		t.Events = append(t.Events, e)
	}
	return t
}

// valueOf is the JSON that a text holds, or the text.
func valueOf(text string) exactjson.Value {
	v, err := exactjson.Parse(text)
	if err != nil {
		return exactjson.StringValue(text)
	}
	return v
}
