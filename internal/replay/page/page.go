// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package page shows one run as a page for a browser: a file that needs nothing else, or a page of a site. What a tape holds reaches it
// as text only, control characters and bidirectional overrides spelled out.
package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/replay/look"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Options says where a page stands.
type Options struct {
	// Ref is the address of the run as a command takes it; "" leaves the commands out.
	Ref string
	// Deck is the deck in which Ref is an id, if it is one.
	Deck string
	// Site is the site that the page is of. Without one the page is a file that holds all of the run.
	Site *Site
	// From is the first event of a page of a site; 0 is the first of all.
	From int
	// Find, on a page of a site, leaves out the events that do not hold it.
	Find string
	// Warning stands on top, if there is one.
	Warning string
	// Replays are what the deck knows of replays of the run.
	Replays []Link
	// Oracle are the recorded answers as they are served; nil makes them of the tape.
	Oracle []oracle.Entry
}

// Site is where the other pages are.
type Site struct {
	Home string // the address of the list of runs
	Self string // the address of the run, without a query
	// Query is what addresses of the run need beside their path, encoded.
	Query string
	// Links are what else there is about the run.
	Links []Link
}

// address is that of a page of the run, with more parameters.
func (s *Site) address(below string, more ...string) string {
	q, _ := url.ParseQuery(s.Query)
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	if len(q) == 0 {
		return s.Self + below
	}
	return s.Self + below + "?" + q.Encode()
}

// Here is the address of the run.
func (s *Site) Here() string { return s.address("") }

// Fields are what a form that leads to the run sends beside its own fields.
func (s *Site) Fields() (out [][2]string) {
	q, _ := url.ParseQuery(s.Query)
	for _, name := range slices.Sorted(maps.Keys(q)) {
		out = append(out, [2]string{name, q.Get(name)})
	}
	return out
}

// Link is a link of a page. An empty URL is text.
type Link struct{ Text, URL, Note string }

// Bounds of what a page shows at once.
const (
	siteEvents  = 250       // events on a page of a site
	siteText    = 16_000    // bytes of a text on a page of a site; the rest has pages of its own
	sitePage    = 1_000_000 // bytes of all texts on a page of a site; of what comes then
	crowdedText = 300       // so many bytes of a text are shown
	fileText    = 1_000_000 // bytes of a text in a file
	openText    = 2_000     // bytes of a text that is not folded
	textPage    = 256_000   // bytes of a text on a page of its own
)

//go:embed page.html
var pageText string

var pages = look.Template("page", pageText)

// view is what the template of a run shows.
type view struct {
	look.Head
	RunID    string
	Site     *Site
	Name     string
	Status   string
	Class    string // of the status: good, bad or odd
	Sentence string
	Warning  string
	Facts    [][2]string
	Grade    graded
	Verdicts []judged
	Findings []severity
	System   []field
	Asked    []field
	Answer   []field
	Find     string
	Found    string   // how many events hold what is looked for
	Ticks    []string // of the time line
	Events   []event
	Total    int
	Earlier  string // address of the page before
	Later    string
	Talks    []talk
	Untold   int // callers whose conversations are not shown
	Oracle   []entry
	Unlisted int // entries of the oracle that are not shown
	Replays  []Link
	Commands []string
	About    [][2]string
}

type graded struct {
	Name, Meaning, Class string
	Verdict, Proof       string
}

type severity struct {
	severity tape.Severity
	Title    string
	Class    string
	Findings []finding
}

type finding struct {
	Code, Meaning, Field, Detail string
	Seq                          int
	Here                         bool // the event is on this page
}

// field is a named value.
type field struct {
	Name  string
	Note  string // its provenance
	Value value
}

// Templates are the parts that pages of a site share: "head", which takes a look.Head.
func Templates() *template.Template { return template.Must(pages.Clone()) }

// Run writes the page of a run.
func Run(w io.Writer, t *tape.Tape, o Options) error {
	return pages.ExecuteTemplate(w, "run", newView(t, o, &renderer{site: o.Site, word: strings.ToLower(o.Find)}))
}

// Text writes a page with a part of one text of a run: what a page of a site left out. The path is the one in the link there. It returns
// false if the run has no such text.
func Text(w io.Writer, t *tape.Tape, o Options, path string, from int) (bool, error) {
	r := &renderer{site: o.Site}
	text, found := Find(t, path)
	if !found || from < 0 || from > len(text) {
		return false, nil
	}
	from = boundary(text, from)
	to := boundary(text, from+textPage)
	v := struct {
		look.Head
		Path, Text           string
		Site                 *Site
		From, To, Size       int
		Earlier, Later, Back string
	}{Head: look.Head{Title: timeline.OneLine(path + " of run " + t.Run.RunID), Linked: true}, Path: timeline.OneLine(path), Text: timeline.Clean(text[from:to]), Site: o.Site, From: from, To: to, Size: len(text), Back: o.Site.address("")}
	if from > 0 {
		v.Earlier = r.link(path, max(0, from-textPage))
	}
	if v.To < v.Size {
		v.Later = r.link(path, v.To)
	}
	return true, pages.ExecuteTemplate(w, "text page", v)
}

// Find returns a text or value of a run by the path that a page names it with, such as input.user_message, output.text or events.3.result.
func Find(t *tape.Tape, path string) (text string, found bool) {
	r := &renderer{site: &Site{}, find: path}
	newView(t, Options{Site: r.site}, r)
	return r.text, r.found
}

func newView(t *tape.Tape, o Options, r *renderer) *view {
	run := &t.Run
	name := cmp.Or(run.Agent.Name, run.Agent.ID, run.Service.Name, "A run without a name")
	v := &view{RunID: timeline.OneLine(run.RunID), Site: o.Site, Name: timeline.Short(name, 120), Status: cmp.Or(timeline.OneLine(string(run.Status)), "no status"), Find: timeline.Short(o.Find, 200),
		Warning: timeline.OneLine(o.Warning), Total: len(t.Events), Facts: facts(t), Grade: grade(t), Ticks: ticks(run)}
	v.Sentence, v.Class = sentence(name, t)
	v.Head = look.Head{Title: v.Name + " · run " + timeline.Short(run.RunID, 12), Linked: o.Site != nil}
	v.System, v.Asked, v.Answer = r.system(t), r.asked(t), r.answer(t)
	shown := r.events(t, o.From)
	v.Events, v.Found = shown, timeline.Plural(len(shown), "event", "events")
	if o.Site != nil && len(shown) > 0 {
		at := func(seq int) string {
			more := []string{"from", strconv.Itoa(max(1, seq))}
			if o.Find != "" {
				more = append(more, "find", o.Find)
			}
			return o.Site.address("", more...) + "#events"
		}
		first, last := shown[0].Seq, shown[len(shown)-1].Seq
		if o.Find == "" && first > t.Events[0].Seq {
			v.Earlier = at(first - siteEvents)
		}
		if last < t.Events[len(t.Events)-1].Seq && (o.Find == "" || len(shown) == siteEvents) {
			v.Later = at(last + 1)
		}
	}
	v.Verdicts = verdicts(t, shown)
	v.Findings = findings(t, shown)
	v.Talks, v.Untold = r.talks(t)
	recorded := o.Oracle
	if recorded == nil {
		recorded = oracle.FromTape(t)
	}
	v.Oracle, v.Unlisted = entries(recorded), max(0, len(recorded)-oracleEntries)
	for _, l := range o.Replays {
		v.Replays = append(v.Replays, Link{timeline.OneLine(l.Text), l.URL, timeline.OneLine(l.Note)})
	}
	v.About = about(t)
	if o.Ref != "" {
		v.Commands = commands(o.Ref, o.Deck, run)
	}
	return v
}

// Class is the class of an element that has a colour in a terminal.
func Class(s timeline.Style) string {
	switch s {
	case timeline.Green:
		return "good"
	case timeline.Red:
		return "bad"
	}
	return "odd"
}

// sentence says how the run went.
func sentence(name string, t *tape.Tape) (text, class string) {
	run := &t.Run
	var calls []string
	if n := t.Usage.ModelCalls; n > 0 {
		calls = append(calls, timeline.Plural(n, "model call", "model calls"))
	}
	if n := t.Usage.ToolCalls; n > 0 {
		calls = append(calls, timeline.Plural(n, "tool call", "tool calls"))
	}
	after := ""
	if len(calls) > 0 {
		after = " after " + strings.Join(calls, " and ")
	}
	took := ""
	if run.DurationMS > 0 {
		took = " in " + timeline.Duration(run.DurationMS)
	}
	failure := func() string {
		if run.Error == nil {
			return ""
		}
		return ": " + errorText(run.Error)
	}
	switch run.Status {
	case tape.StatusOK:
		if t.Output.Text == nil {
			text, class = name+" ended without an answer"+after+took, "odd"
			break
		}
		text, class = name+" answered"+after+took, "good"
	case tape.StatusError:
		text, class = name+" failed"+after+took+failure(), "bad"
	case tape.StatusInterrupted:
		text, class = name+" was interrupted"+after+took+failure(), "odd"
	default:
		text, class = name+" has no end in the telemetry"+after+took, "odd"
	}
	return timeline.Short(text, 300), class
}

// facts are names and values of what is most asked of a run.
func facts(t *tape.Tape) [][2]string {
	run := &t.Run
	var out [][2]string
	add := func(name, s string) {
		if s = timeline.Short(strings.TrimSpace(s), 80); s != "" {
			out = append(out, [2]string{name, s})
		}
	}
	if run.DurationMS > 0 {
		add("took", timeline.Duration(run.DurationMS))
	}
	add("model calls", Grouped(int64(t.Usage.ModelCalls)))
	add("tool calls", Grouped(int64(t.Usage.ToolCalls)))
	if n := t.Usage.InputTokens; n != nil {
		add("tokens in", Grouped(*n))
	}
	if n := t.Usage.OutputTokens; n != nil {
		add("tokens out", Grouped(*n))
	}
	add("model", t.Config.Model+" "+t.Config.Provider)
	add("service", strings.Trim(run.Service.Namespace+"/"+run.Service.Name, "/")+" "+run.Service.Version)
	add("environment", run.Service.Environment)
	if !run.StartedAt.IsZero() {
		add("started", run.StartedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	add("replay", run.ReplayRunID)
	return out
}

// Grouped is a number with its thousands apart.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

func grade(t *tape.Tape) graded {
	f := &t.Fidelity
	g := graded{Name: timeline.OneLine(string(f.Grade)), Meaning: timeline.GradeMeaning(f.Grade), Class: Class(timeline.GradeStyle(f.Grade))}
	p := &f.Proof
	switch {
	case p.Expected == 0:
		g.Verdict = "nothing to prove"
		g.Proof = "No tool call of this run can be asked of its oracle."
		return g
	case p.OK != nil && *p.OK:
		g.Verdict = "ok"
	case p.OK != nil:
		g.Verdict = "failed"
	default:
		g.Verdict = "not all verified"
	}
	g.Proof = fmt.Sprintf("When the tape was written, its own %s asked of its oracle, and %d answered.", timeline.Plural(p.Expected, "tool call was", "tool calls were"), p.Served)
	if p.Verified > 0 {
		g.Proof += fmt.Sprintf(" %s what a recorded request shows.", timeline.Plural(p.Verified, "answer is", "answers are"))
	}
	if p.Mismatched > 0 {
		g.Proof += fmt.Sprintf(" %s not what a recorded request shows.", timeline.Plural(p.Mismatched, "answer is", "answers are"))
	}
	if p.Unverifiable > 0 {
		g.Proof += fmt.Sprintf(" %s shown in no request", timeline.Plural(p.Unverifiable, "answer is", "answers are"))
		if p.Recorded > 0 {
			g.Proof += fmt.Sprintf("; the record of the tool itself holds %d of them whole", p.Recorded)
		}
		g.Proof += "."
	}
	return g
}

func findings(t *tape.Tape, shown []event) []severity {
	meaning := map[tape.Code]string{}
	for _, k := range tape.FindingKinds {
		meaning[k.Code] = k.Meaning
	}
	here := map[int]bool{}
	for i := range shown {
		here[shown[i].Seq] = true
	}
	out := []severity{{severity: tape.SeverityError, Class: "bad"}, {severity: tape.SeverityWarning, Class: "odd"}, {severity: tape.SeverityInfo, Class: "dim"}}
	for i := range t.Fidelity.Findings {
		f := &t.Fidelity.Findings[i]
		at := slices.IndexFunc(out, func(s severity) bool { return s.severity == f.Severity })
		if at < 0 {
			at = len(out) - 1
		}
		out[at].Findings = append(out[at].Findings, finding{Code: timeline.OneLine(string(f.Code)), Meaning: meaning[f.Code], Field: timeline.OneLine(f.Field), Detail: timeline.Clean(f.Detail), Seq: f.Seq, Here: here[f.Seq]})
	}
	for i, names := range [][2]string{{"error", "errors"}, {"warning", "warnings"}, {"remark", "remarks"}} {
		out[i].Title = timeline.Plural(len(out[i].Findings), names[0], names[1])
	}
	return slices.DeleteFunc(out, func(s severity) bool { return len(s.Findings) == 0 })
}

// about are the ids of the run and where its tape comes from.
func about(t *tape.Tape) [][2]string {
	run := &t.Run
	var out [][2]string
	add := func(name, value string) {
		if value = timeline.OneLine(value); value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	add("run", run.RunID)
	add("tenant", run.Tenant)
	add("conversation", run.ConversationID)
	add("invocation", run.InvocationID)
	add("correlation", run.CorrelationID)
	add("workflow", run.WorkflowID)
	add("task", run.TaskID)
	add("replay", run.ReplayRunID)
	add("joined of", strings.Join(run.Joined, ", "))
	add("tape", t.TapeID)
	add("made by", strings.TrimSpace(t.Producer.Name+" "+t.Producer.Version))
	add("dialects", strings.Join(t.Sources.Dialects, ", "))
	for _, s := range t.Sources.Scopes {
		add("scope", strings.TrimSpace(s.Name+" "+s.Version)+fmt.Sprintf(", %d items", s.Count))
	}
	add("traces", strings.Join(t.Sources.TraceIDs, ", "))
	add("evidence", timeline.Plural(t.Sources.Spans, "span", "spans")+", "+timeline.Plural(t.Sources.Logs, "log record", "log records"))
	for _, reason := range slices.Sorted(maps.Keys(t.Sources.Noise)) {
		add("left out", fmt.Sprintf("%d items: %s", t.Sources.Noise[reason], reason))
	}
	policy := cmp.Or(t.Redaction.Policy, "none")
	if t.Redaction.Count > 0 {
		policy += fmt.Sprintf(", %d values replaced", t.Redaction.Count)
	}
	add("redaction", policy)
	return out
}

// commands are what can be typed about a run.
func commands(ref, deck string, run *tape.Run) []string {
	ref = quoted(timeline.OneLine(ref))
	if deck != "" {
		ref += " --deck " + quoted(timeline.OneLine(deck))
	}
	out := []string{
		"tapedeck show " + ref,
		"tapedeck verify " + ref,
		"tapedeck replay " + ref + " -- YOUR COMMAND",
		"tapedeck serve --oracle " + ref,
		"tapedeck bisect OTHER " + ref,
		"tapedeck export --format waza " + ref,
	}
	if run.ReplayRunID != "" {
		out = slices.DeleteFunc(out, func(s string) bool { return strings.HasPrefix(s, "tapedeck replay") })
	}
	return out
}

// quoted is a text as one word of a shell.
func quoted(s string) string {
	if s != "" && !strings.HasPrefix(s, "-") && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
