// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/evaluation/junit"
	"github.com/tapedeck/tapedeck/internal/replay/modelstub"
	"github.com/tapedeck/tapedeck/internal/replay/preload"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// Verdict is how a replay ended.
type Verdict string

// The verdicts, with the exit codes 0, 1 and 2.
const (
	AsRecorded Verdict = "as_recorded"
	Diverged   Verdict = "diverged" // or missed: something was asked for that is not recorded
	NotDone    Verdict = "not_done" // no comparison could be made
)

// The checks that somebody who holds a replay to something else leaves out.
const (
	CheckEvents = "the events are those of the recording"
	CheckAnswer = "the answer is that of the recording"
)

// Check is one thing that has to hold for a replay to be as recorded.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

// Report is what is known of a replay. Its JSON form is part of the contract.
type Report struct {
	Verdict     Verdict          `json:"verdict"`
	ReplayRunID string           `json:"replay_run_id"`
	Headline    string           `json:"headline,omitempty"` // where it left the recording: the first model call that was not served, else the first difference
	Source      string           `json:"source"`             // run id
	Replayed    string           `json:"replayed,omitempty"` // run id
	URL         string           `json:"url,omitempty"`      // of its tape, where it is kept
	Command     []string         `json:"command"`
	Exit        Exit             `json:"exit"`
	Lockdown    bool             `json:"lockdown"` // there was no network but a loopback, and the way to declared hosts
	Network     Shutting         `json:"network"`
	Policies    Policies         `json:"policies"`
	Comparable  Comparable       `json:"comparable"` // what the checks of events and answer hold it to
	Checks      []Check          `json:"checks"`
	Tools       []ToolCall       `json:"tools"`
	Evidence    *Evidence        `json:"evidence,omitempty"` // of a lockdown
	Copy        *Copied          `json:"copy,omitempty"`     // of the recorded workspace, in which the command ran
	NoCopy      string           `json:"no_copy,omitempty"`  // why there was none, where the recording kept a workspace
	Model       modelstub.Report `json:"model"`
	Oracle      *oracle.Report   `json:"oracle,omitempty"`
	MCP         *oracle.Report   `json:"mcp,omitempty"`
	Elsewhere   *Elsewhere       `json:"oracle_elsewhere,omitempty"` // an oracle of another server, in place of Oracle
	Preload     preload.Report   `json:"preload"`                    // frameworks whose tools were answered within the process
	Freeze      bool             `json:"freeze,omitempty"`           // the recorded clock was to be given; Preload says which processes took it
	Tagged      int              `json:"tagged"`                     // resources that came without the tag and were given it
	Seen        bool             `json:"seen,omitempty"`             // the replayed run is what the model stub was asked: no telemetry came, or the recording is made so
	Aside       int              `json:"aside,omitempty"`            // items of telemetry that are not compared
	OtherRuns   []string         `json:"other_runs,omitempty"`       // run ids of what else ran
	Runs        []OfRun          `json:"runs,omitempty"`             // of a family, which is judged as a whole: one after the other
	Served      []string         `json:"served,omitempty"`           // run ids: those that one command made, of which Source alone is judged
	Beside      int              `json:"-"`                          // of these but Source, how many came again
	Withheld    []string         `json:"withheld,omitempty"`         // of a replay that is not as recorded: variables that the command did not get
	Comparison  *compare.Result  `json:"comparison,omitempty"`
	Tolerated   []Tolerated      `json:"tolerated,omitempty"` // fields of events that the comparison has as equal
}

func (r *Report) check(name string, ok bool, format string, args ...any) {
	c := Check{Name: name, OK: ok}
	if !ok || format != "" {
		c.Detail = fmt.Sprintf(format, args...)
	}
	r.Checks = append(r.Checks, c)
}

// Judge fills in the checks and the verdict. replayed is nil where the run left no tape. answer is what the command answered where it
// was asked for.
func (r *Report) Judge(source, replayed *tape.Tape, answer *string) {
	r.Checks = nil
	if len(r.Runs) == 0 {
		of := ""
		if len(r.Served) > 0 {
			of = source.Run.RunID
		}
		r.Headline = headline(r.Model.Calls, of, r.Comparison)
	}
	came := replayed != nil || r.Beside > 0
	done := came && !r.Exit.TimedOut
	lost := r.Model.Missed // what was asked for and is not recorded
	broken := r.Elsewhere != nil && r.Elsewhere.Broken > 0
	switch {
	case r.Exit.TimedOut:
		r.check("the command ended", false, "it did not end in time, and was stopped")
	case r.Exit.Refused != "":
		r.check("the command answered", source.Run.Status == tape.StatusError, "%s", r.Exit.Refused)
	case r.Exit.Stopped:
		r.check("the command ended", true, "it was stopped when it had answered")
	default:
		r.check("the command ended", r.Exit.Code == 0 || source.Run.Status == tape.StatusError, "exit code %d", r.Exit.Code)
	}
	switch {
	case !came:
		r.check("telemetry came", false, "no run came; tapedeck doctor says what an agent has to switch on")
	case r.Seen && r.Aside > 0:
		r.check("telemetry came", true, "%d spans and log records, left aside because a transcript told the recording; the record is what the stub saw", r.Aside)
	case r.Seen:
		r.check("telemetry came", true, "none; the record is what the stub saw")
	default:
		r.check("telemetry came", true, "")
	}
	if came && replayed == nil {
		r.check("a replay of the run came", false, "it did not; %d of the others that its command made did", r.Beside)
	}
	missed, failed := r.missed(), ""
	for _, c := range r.Model.Calls {
		if c.Outcome == modelstub.Live && c.Reason != "" {
			failed += fmt.Sprintf("; call %d: %s", c.Call, c.Reason)
		}
	}
	asked := len(r.Model.Calls) - r.Model.Live
	r.check("model calls were recorded", r.Model.Missed == 0, "%d of %d%s", asked-r.Model.Missed, asked, missed)
	if r.Policies.Model != nil {
		r.check("the model that was named answered", failed == "", "%d calls%s", r.Model.Live, failed)
	}
	unused := ""
	for _, u := range r.Model.Unused {
		unused += "; " + eventIn(u.Run, u.Seq)
	}
	r.check("recorded model calls were asked for", len(r.Model.Unused) == 0, "%d of %d%s", r.Model.Turns-len(r.Model.Unused), r.Model.Turns, unused)
	for _, of := range r.sessions() {
		asked, missed, others := tally(of.report.Calls.Outcomes)
		lost += missed
		r.check("tool calls were recorded ("+string(of.layer)+")", missed == 0, "%d of %d%s", asked-missed, asked, others)
	}
	if e := r.Elsewhere; e != nil {
		r.check("the oracle answered", e.Broken == 0, "%d of %d calls%s", e.Calls-e.Broken, e.Calls, strings.TrimSuffix("; "+e.Problem, "; "))
		asked, missed, others := tally(e.Outcomes)
		lost += missed
		r.check("tool calls were recorded ("+string(LayerOracle)+")", missed == 0, "%d of %d%s", asked-missed, asked, others)
	}
	if replayed != nil { // else nobody knows
		ran := undeclared(r.Tools)
		said := ran
		if r.Copy != nil && r.Copy.Ran > 0 {
			said = strings.TrimPrefix(fmt.Sprintf("%s; %d calls ran in the copy of the workspace", ran, r.Copy.Ran), "; ")
		}
		r.check("no tool ran live", ran == "", "%s", said)
	}
	if r.Copy != nil && replayed != nil {
		r.check("tools that ran in the copy did as recorded", len(r.Copy.Different) == 0, "%s", r.Copy.Said())
	}
	if e := r.Evidence; e != nil && replayed != nil && (e.Watched || e.Looked != "") { // else nobody looked
		e.contradict(source, replayed, r.Tools, r.Command)
		said := strings.Join(e.Contradictions, "; ")
		if said == "" && !e.Watched {
			said = "files alone were looked at"
		}
		r.check("what was seen agrees with what the report says", len(e.Contradictions) == 0, "%s", said)
	}
	r.Comparable = r.Policies.comparable(len(source.Events))
	r.checkEvents()
	if answer != nil && r.Comparable.Answer {
		want := source.Output.Text
		ok := want != nil && strings.TrimSpace(*want) == strings.TrimSpace(*answer)
		detail := ""
		if want == nil {
			detail = "the recording holds no answer"
		}
		r.check(CheckAnswer, ok, "%s", detail)
	}
	r.Verdict = AsRecorded
	if slices.ContainsFunc(r.Checks, func(c Check) bool { return !c.OK }) {
		r.Verdict = Diverged
	}
	switch {
	case broken: // what the agent did without an answer, misses too, says nothing of it
		r.Verdict = NotDone
	case !done && lost == 0: // else it had left the recording before it ended
		r.Verdict = NotDone
	}
}

// checkEvents adds the check of the comparison, where there is one.
func (r *Report) checkEvents() {
	if r.Comparison == nil {
		return
	}
	detail := ""
	equal, first := r.Comparable.judge(r.Comparison)
	switch {
	case first != nil && first.A != nil:
		detail = fmt.Sprintf("the first divergence is %s, event %d of the recording", first.Kind, first.A.Seq)
	case first != nil:
		detail = fmt.Sprintf("the first divergence is %s, event %d of the replay", first.Kind, first.B.Seq)
	case !equal:
		detail = "the question or the end of the run is another"
	}
	if r.Comparable.Note != "" {
		detail = strings.TrimPrefix(detail+"; ", "; ") + r.Comparable.Note
	}
	r.check(CheckEvents, equal, "%s", detail)
}

var verdictText = map[Verdict]string{AsRecorded: "as recorded", Diverged: "diverged", NotDone: "not done"}

// Text is the report for a terminal, without the comparison.
func (r *Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "replay %s of %s: %s\n", r.ReplayRunID, deck.ShortID(r.Source), verdictText[r.Verdict])
	if r.Headline != "" && r.Comparison == nil { // else it stands above both runs
		fmt.Fprintf(&b, "  %s\n", r.Headline)
	}
	writeChecks(&b, r.Checks)
	for _, line := range r.Notes() {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	for i := range r.Runs {
		r.Runs[i].text(&b, i+1, len(r.Runs))
	}
	return b.String()
}

func writeChecks(b *strings.Builder, checks []Check) {
	for _, c := range checks {
		mark := "ok  "
		if !c.OK {
			mark = "FAIL"
		}
		fmt.Fprintf(b, "  %s  %s", mark, c.Name)
		if c.Detail != "" {
			fmt.Fprintf(b, ": %s", c.Detail)
		}
		b.WriteString("\n")
	}
}

// line is a tool call in the notes.
func (c *ToolCall) line() string {
	line := fmt.Sprintf("tool  %d %s: %s", c.Seq, c.Name, c.Layer)
	switch {
	case c.Allowed:
		line += " (allowed)"
	case c.Free:
		line += " (free)"
	case c.Outcome != "":
		line += ", " + string(c.Outcome)
	}
	return line
}

// Said is the verdict in words.
func (r *Report) Said() string { return verdictText[r.Verdict] }

// Notes are what is to be known beside the checks, a line each: who answered, what was not exact, made up or left over.
func (r *Report) Notes() (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	list = append(list, r.Policies.lines()...)
	list = append(list, r.Network.lines()...)
	list = append(list, r.Copy.lines()...)
	if r.NoCopy != "" {
		add("copy: none: %s", r.NoCopy)
	}
	list = append(list, r.Evidence.lines()...)
	for _, f := range r.Preload.Frameworks {
		if f.Hooked {
			add("hook  %s %s", f.Name, f.Version)
		} else {
			add("hook  %s %s: none, %s", f.Name, f.Version, f.Problem)
		}
	}
	for _, of := range slices.Sorted(maps.Keys(r.Preload.Frozen)) {
		add("freeze: %d processes of %s took the recorded clock", r.Preload.Frozen[of], of)
	}
	if r.Freeze && len(r.Preload.Frozen) == 0 {
		add("freeze: no process took the recorded clock; only CPython and Node load the hooks")
	}
	for i := 0; len(r.Runs) == 0 && i < len(r.Tools); i++ { // else each run has its own
		add("%s", r.Tools[i].line())
	}
	if r.Model.Missed > 0 && r.Policies.Model == nil {
		add("model calls that are not recorded need a model, as after a change of the prompt: --model-url URL asks one; rules say what does not count")
	}
	for _, c := range r.Model.Calls {
		var parts []string
		for _, of := range []struct {
			what  string
			names []string
		}{{"not exact", labelNames(c.Labels)}, {"made up", c.MadeUp}, {"left out", c.LeftOut}} {
			if len(of.names) > 0 {
				parts = append(parts, of.what+": "+strings.Join(of.names, ", "))
			}
		}
		switch c.Outcome {
		case modelstub.Live:
			parts = append(parts, "asked of the real model")
		case modelstub.StoodIn:
			parts = append(parts, "a text stood in for the answer, which is not recorded")
		}
		if len(parts) > 0 {
			add("model call %d, %s%s", c.Call, leading(c.Run, c.Seq), strings.Join(parts, ", "))
		}
		if c.Nearest != nil {
			for _, rule := range c.Nearest.Rules {
				add("model call %d is recorded but for this rule of a file for --rules: %s", c.Call, rule)
			}
		}
	}
	for _, v := range r.Model.Volatile {
		add("volatile: %d of the form %s taken for equal, such as %q for %q", v.Values, v.Form, v.Live, v.Recorded)
	}
	for _, t := range r.Tolerated {
		add("event %d, %s: taken for equal: %s", t.Seq, t.Field, strings.Join(labelNames(t.Labels), ", "))
	}
	for _, b := range r.Model.Beside {
		line := fmt.Sprintf("beside model calls, %s: %s", b.Request, b.Outcome)
		if len(b.MadeUp) > 0 {
			line += " (" + strings.Join(b.MadeUp, ", ") + ")"
		}
		if b.Count > 1 {
			line += fmt.Sprintf(", %d times", b.Count)
		}
		add("%s", line)
	}
	for _, of := range r.sessions() {
		for _, c := range of.report.NotExact {
			what := string(c.Outcome)
			if c.Outcome.Served() {
				what = "not exact"
			}
			for _, l := range c.Labels {
				what += ", " + string(l)
			}
			add("%s call %d, %s %s: %s", of.layer, c.Call, c.ToolName, c.ArgsHash, what)
		}
		for _, u := range of.report.Unused {
			add("%s: the recorded answer of event %d, %s, was not asked for", of.layer, u.Seq, u.ToolName)
		}
		if of.report.Cut {
			add("%s: the lists are cut", of.layer)
		}
	}
	if e := r.Elsewhere; e != nil {
		add("oracle: %s%s", e.URL, strings.TrimSuffix(", run "+e.Run, ", run "))
		for _, c := range e.NotServed {
			add("oracle call %d, %s %s: %s%s", c.Call, c.ToolName, c.ArgsHash, c.Outcome, strings.TrimSuffix(", "+c.Reason, ", "))
		}
		if e.Cut {
			add("oracle: the list is cut")
		}
	}
	if len(r.Served) > 0 {
		add("the recorded command made %d runs: all are served, %s alone is judged", len(r.Served), deck.ShortID(r.Source))
	}
	if r.Seen {
		add("the replayed run is made of what the model stub was asked: of a tool it holds what the model was told")
	}
	for _, run := range r.OtherRuns {
		add("another run came: %s", run)
	}
	if len(r.Withheld) > 0 {
		names := r.Withheld[:min(len(r.Withheld), maxWithheld)]
		more := ""
		if left := len(r.Withheld) - len(names); left > 0 {
			more = fmt.Sprintf(" and %d more (--print-env)", left)
		}
		add("the command did not get %s%s of the environment; --env NAME passes one on", strings.Join(names, ", "), more)
	}
	if r.Tagged > 0 {
		add("%d resources came without replay_run_id and were given it", r.Tagged)
	}
	return list
}

// missed says what became of the model calls that did not get what was recorded. Those that follow each other
// and are the same, as a program that tries again makes them, are one.
func (r *Report) missed() (text string) {
	type miss struct {
		first, last int
		what        string
	}
	var list []miss
	for _, c := range r.Model.Calls {
		what := ""
		switch {
		case c.Outcome == modelstub.Live:
			continue
		case c.Outcome == modelstub.StoodIn:
			what = fmt.Sprintf("the answer of %s is not recorded, a text stood in", eventIn(c.Run, c.Seq))
		case c.Outcome.Served():
			continue
		default:
			what = string(c.Outcome)
			if d := c.Nearest; d != nil {
				what += fmt.Sprintf(", differs from %s at %s", eventIn(d.Run, d.Seq), d.Place)
			}
			if c.Reason != "" {
				what += ", " + c.Reason
			}
		}
		if n := len(list); n > 0 && list[n-1].what == what && list[n-1].last == c.Call-1 {
			list[n-1].last = c.Call
		} else {
			list = append(list, miss{c.Call, c.Call, what})
		}
	}
	for _, m := range list {
		if m.first == m.last {
			text += fmt.Sprintf("; call %d: %s", m.first, m.what)
		} else {
			text += fmt.Sprintf("; calls %d to %d: %s", m.first, m.last, m.what)
		}
	}
	return text
}

// eventIn names a recorded event, with its run where several are served.
func eventIn(run string, seq int) string {
	if run == "" {
		return fmt.Sprintf("event %d", seq)
	}
	return fmt.Sprintf("event %d of %s", seq, deck.ShortID(run))
}

func leading(run string, seq int) string {
	if run == "" {
		return ""
	}
	return eventIn(run, seq) + ", "
}

// maxWithheld bounds how many variables are named in a line.
const maxWithheld = 40

// session is one that was asked.
type session struct {
	layer  Layer
	report *oracle.Report
}

func (r *Report) sessions() (list []session) {
	for _, s := range []session{{LayerOracle, r.Oracle}, {LayerMCP, r.MCP}} {
		if s.report != nil && s.report.Calls.Total > 0 {
			list = append(list, s)
		}
	}
	return list
}

func labelNames(labels []modelstub.Label) (list []string) {
	for _, l := range labels {
		list = append(list, string(l))
	}
	return list
}

// Markdown writes the report for a pull request.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Replay: %s\n\n`%s` of `%s`\n\n", verdictText[r.Verdict], r.ReplayRunID, r.Source)
	if r.Headline != "" {
		fmt.Fprintf(&b, "%s\n\n", cell.Replace(r.Headline))
	}
	b.WriteString("| | check | |\n|---|---|---|\n")
	rows(&b, r.Checks)
	for i, line := range r.Notes() {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", cell.Replace(line))
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		fmt.Fprintf(&b, "\n### Run %d of %d: %s\n\n`%s` of `%s`\n\n| | check | |\n|---|---|---|\n", i+1, len(r.Runs), verdictText[run.Verdict], run.Replayed, run.Source)
		rows(&b, run.Checks)
		for j := range run.Tools {
			if j == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "- %s\n", cell.Replace(run.Tools[j].line()))
		}
	}
	return b.String()
}

// cell makes a text fit for a cell of a table.
var cell = strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;", "`", "'")

func rows(b *strings.Builder, checks []Check) {
	for _, c := range checks {
		mark := "ok"
		if !c.OK {
			mark = "**fail**"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", mark, cell.Replace(c.Name), cell.Replace(c.Detail))
	}
}

// JUnit writes the report as JUnit XML: a test case for each check.
func (r *Report) JUnit(w io.Writer) error {
	suite := junit.Suite{Name: "tapedeck replay " + r.Source, Notes: strings.Join(r.Notes(), "\n")}
	add := func(prefix string, verdict Verdict, checks []Check) {
		for _, c := range checks {
			t := junit.Case{Class: "tapedeck.replay", Name: prefix + c.Name}
			switch {
			case c.OK:
			case verdict == NotDone:
				t.Error = &junit.Message{Text: c.Detail}
			default:
				t.Failure = &junit.Message{Text: c.Detail}
			}
			suite.Cases = append(suite.Cases, t)
		}
	}
	add("", r.Verdict, r.Checks)
	for i := range r.Runs {
		add("run "+r.Runs[i].Source+": ", r.Runs[i].Verdict, r.Runs[i].Checks)
	}
	return suite.Write(w)
}
