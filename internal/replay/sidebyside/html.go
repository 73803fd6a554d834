// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/look"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// How many bytes of a value a page shows, of events that are alike and of those that differ.
const (
	equalBytes     = 4_000
	divergentBytes = 16_000
)

// stack is how many events in a row that are alike are folded into one line.
const stack = 4

//go:embed page.html
var pageText string

var page = look.Template("page", pageText)

// Verdict is what a replay is said of, above the two runs.
type Verdict struct {
	Text     string
	Good     bool
	Checks   []Check
	Notes    []string // whatever else is to be known
	Headline string   // in the place of the sentence that says where the runs part
}

// Check is one thing that had to hold.
type Check struct {
	Name   string
	OK     bool
	Detail string
}

type view struct {
	look.Head
	Home         string
	Verdict      *Verdict
	Sentence     Phrase
	Runs         [2]viewRun
	SameQuestion bool
	Counts       string
	Notes        []string
	Differences  []viewDifference // of the questions and the ends, but for what stands in the heads
	Stacks       []viewStack
}

type viewRun struct {
	Side, ID, RunID, URL, Facts, Ref, Status, Class string
	Question, Answer                                []segment
}

// viewStack is one row, or several that are alike and folded.
type viewStack struct {
	Folded string
	Rows   []row
}

type row struct {
	Kind        string
	Sign        string
	A, B        string
	Type        string
	Title       Phrase
	Remark      string
	First       bool
	Open        bool
	Differences []viewDifference
	Alike       []viewField
	Only        string // the side that has the event
}

type viewField struct {
	Name string
	Text []segment
}

type viewDifference struct {
	Name   string
	Noted  bool
	A, B   []segment
	LA, LB string // where the values come from
}

// HTML writes a page with the two runs side by side. It is one file that needs nothing else.
func HTML(w io.Writer, a, b Tape, r *compare.Result) error { return writePage(w, a, b, r, nil) }

// Links are the addresses of what a page of a site leads to: the list of runs, and each run.
type Links struct{ Home, A, B string }

// SiteHTML is HTML with links to the other pages of its site.
func SiteHTML(w io.Writer, to Links, a, b Tape, r *compare.Result) error {
	v := viewOf(a, b, r, nil)
	v.Home, v.Runs[0].URL, v.Runs[1].URL = to.Home, to.A, to.B
	return page.Execute(w, v)
}

// ReplayHTML is HTML with the verdict on a replay above. Without a comparison no run came, and the verdict is all there is.
func ReplayHTML(w io.Writer, a, b Tape, r *compare.Result, v Verdict) error {
	v.Checks, v.Notes = slices.Clone(v.Checks), slices.Clone(v.Notes)
	for i := range v.Checks {
		v.Checks[i].Name, v.Checks[i].Detail = timeline.OneLine(v.Checks[i].Name), timeline.OneLine(v.Checks[i].Detail)
	}
	for i := range v.Notes {
		v.Notes[i] = timeline.OneLine(v.Notes[i])
	}
	if r == nil {
		return page.Execute(w, view{Head: look.Head{Title: v.Text}, Verdict: &v})
	}
	return writePage(w, a, b, r, &v)
}

func writePage(w io.Writer, a, b Tape, r *compare.Result, verdict *Verdict) error {
	return page.Execute(w, viewOf(a, b, r, verdict))
}

// Fragment is what HTML shows of the two runs, to stand within another page.
func Fragment(a, b Tape, r *compare.Result) (template.HTML, error) {
	var text strings.Builder
	err := page.ExecuteTemplate(&text, "runs", viewOf(a, b, r, nil))
	return template.HTML(text.String()), err //nolint:gosec // the template has escaped it
}

func viewOf(a, b Tape, r *compare.Result, verdict *Verdict) view {
	c := comparedRuns{a, b}
	sentence := clean(Sentence(a, b, r))
	if verdict != nil && verdict.Headline != "" {
		sentence = clean(say(verdict.Headline))
	}
	v := view{
		Head: look.Head{Title: sentence.String()}, Verdict: verdict, Sentence: sentence, Counts: counts(r),
		Runs: [2]viewRun{newViewRun("A", a, b), newViewRun("B", b, a)}, SameQuestion: a.question() == b.question(),
	}
	v.Runs[0].Question, v.Runs[1].Question = mark(a.question(), b.question())
	v.Runs[0].Answer, v.Runs[1].Answer = mark(a.answer(), b.answer())
	for _, note := range notes(r) {
		v.Notes = append(v.Notes, timeline.Clean(note))
	}
	for _, d := range slices.Concat(r.Input, r.Output) {
		if d.Field != compare.FieldUserMessage && d.Field != compare.FieldText && d.Field != compare.FieldStatus {
			v.Differences = append(v.Differences, newViewDifference(&d, false))
		}
	}
	var alike []row
	unstack := func() {
		if len(alike) >= stack {
			v.Stacks = append(v.Stacks, viewStack{Folded: fmt.Sprintf("%d events alike", len(alike)), Rows: alike})
		} else if len(alike) > 0 {
			v.Stacks = append(v.Stacks, viewStack{Rows: alike})
		}
		alike = nil
	}
	for i := range r.Script {
		s := &r.Script[i]
		x := c.row(s)
		if s.Kind == compare.Equal && len(s.Noted) == 0 {
			alike = append(alike, x)
			continue
		}
		unstack()
		x.First = r.First != nil && s.Kind == r.First.Kind && x.A == seq(r.First.A) && x.B == seq(r.First.B)
		v.Stacks = append(v.Stacks, viewStack{Rows: []row{x}})
	}
	unstack()
	return v
}

func newViewRun(side string, t, other Tape) viewRun {
	return viewRun{Side: side, ID: timeline.OneLine(shortID(t.RunID, other.RunID)), RunID: timeline.OneLine(t.RunID), Facts: timeline.OneLine(t.facts()), Ref: timeline.Clean(place(t.Ref)),
		Status: timeline.OneLine(t.Status), Class: map[string]string{string(tape.StatusOK): "good", string(tape.StatusError): "bad"}[t.Status]}
}

func clean(p Phrase) Phrase {
	out := make(Phrase, len(p))
	for i, s := range p {
		out[i] = Span{timeline.OneLine(s.Text), s.Name}
	}
	return out
}

func (c comparedRuns) row(s *compare.Step) row {
	e := either(s)
	x := row{Kind: string(s.Kind), Sign: signs[s.Kind], A: seq(s.A), B: seq(s.B), Type: timeline.OneLine(typeName(e.Type)), Title: say(named(title(s))), Remark: remark(s), Open: s.Kind != compare.Equal || differs(s)}
	if s.Kind == compare.Inserted || s.Kind == compare.Dropped || s.Kind == compare.Moved {
		x.Title = c.what(s)
	}
	x.Title = clean(x.Title)
	differing := map[compare.Field]bool{}
	for i := range s.Differences {
		x.Differences = append(x.Differences, newViewDifference(&s.Differences[i], false))
		differing[s.Differences[i].Field] = true
	}
	for i := range s.Noted {
		if d := &s.Noted[i]; d.JSONText == "" {
			x.Differences = append(x.Differences, newViewDifference(d, true))
			differing[d.Field] = true
		}
	}
	t := c.a
	if s.A == nil {
		t = c.b
	}
	switch {
	case s.A == nil:
		x.Only = "B"
	case s.B == nil:
		x.Only = "A"
	}
	for _, f := range t.fields(e.Seq) {
		if !differing[f.field] {
			x.Alike = append(x.Alike, viewField{words[f.field], fold(shortened(f.text, equalBytes))})
		}
	}
	return x
}

// eventField is what an event holds, as text.
type eventField struct {
	field compare.Field
	text  string
}

func (t Tape) fields(seq int) []eventField {
	var out []eventField
	e := t.event(seq)
	if e == nil {
		return nil
	}
	add := func(field compare.Field, s string) {
		if s != "" {
			out = append(out, eventField{field, s})
		}
	}
	value := func(field compare.Field, v exactjson.Value) { add(field, text(&v)) }
	if e.Response != nil {
		for _, p := range t.tape.Messages[e.Response.Message].Parts {
			switch p.Type {
			case tape.PartText:
				add(compare.FieldText, p.Text)
			case tape.PartReasoning:
				add(compare.FieldReasoning, p.Text)
			case tape.PartToolCall:
				add(compare.FieldAsks, p.Name+" "+text(&p.Args))
			default:
				add(compare.FieldMedia, strings.TrimSpace(string(p.Type)+" "+p.MIMEType+" "+p.URI))
			}
		}
	}
	value(compare.FieldArgs, e.Args)
	value(compare.FieldExecutedArgs, e.ExecutedArgs)
	value(compare.FieldQuery, e.Query)
	value(compare.FieldInput, e.Input)
	value(compare.FieldResult, e.Result)
	value(compare.FieldDocuments, e.Documents)
	value(compare.FieldOutput, e.Output)
	if e.Error != nil {
		add(compare.FieldError, strings.Trim(e.Error.Type+": "+e.Error.Message, ": "))
	}
	return out
}

// shortened is clean text of at most limit bytes that says how long it was.
func shortened(s string, limit int) string {
	if len(s) <= limit {
		return timeline.Clean(s)
	}
	return timeline.Clean(strings.ToValidUTF8(s[:limit], "")) + fmt.Sprintf(" … (%d bytes)", len(s))
}

func newViewDifference(d *compare.Difference, noted bool) viewDifference {
	a, b := text(d.A), text(d.B)
	if a == b || d.A != nil && a == "" || d.B != nil && b == "" { // they differ in type
		a, b = value(d.A), value(d.B)
	}
	x := viewDifference{Name: timeline.OneLine(heading(d)), Noted: noted, LA: timeline.OneLine(string(d.ALabel)), LB: timeline.OneLine(string(d.BLabel))}
	x.A, x.B = mark(cmp.Or(a, "(nothing)"), cmp.Or(b, "(nothing)"))
	return x
}
