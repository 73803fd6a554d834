// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
	"github.com/tapedeck/tapedeck/internal/evaluation/junit"
	"github.com/tapedeck/tapedeck/internal/replay/timeline"
)

// Report is what an experiment came to. The same plan and outcomes give the same bytes.
type Report struct {
	Kind    string           `json:"kind"`
	Version string           `json:"version"`
	Plan    string           `json:"plan"` // its digest
	Shape   statistics.Shape `json:"shape"`
	statistics.Verdict
	Reason   string            `json:"reason"`
	Validity []Validity        `json:"replay_validity"` // by cohort
	Cohorts  []Selection       `json:"selection"`
	Change   Change            `json:"change"`
	Runner   string            `json:"runner"`
	Identity Identity          `json:"runner_identity"`
	Runners  []string          `json:"runner_names"` // what the candidate called itself: one, unless it changed on the way
	Settings map[string]string `json:"settings,omitempty"`
	Override string            `json:"override,omitempty"`
	// Policy is where answers of tools came from.
	Policy    contract.Policy      `json:"tool_policy"`
	Scorers   []string             `json:"scorers"`
	JudgeCost *Cost                `json:"judge_cost,omitempty"` // of all judges
	Efforts   []CohortEffort       `json:"effort"`               // what the replayed runs took, by cohort
	Decision  statistics.Policy    `json:"decision"`
	Bootstrap statistics.Bootstrap `json:"bootstrap"`
	// Evidence names the runs to look at: those that changed most, at most three each.
	Evidence Evidence     `json:"evidence"`
	Cases    []CaseResult `json:"cases"`
}

// Validity says how much was replayed at all, and why the rest was not.
type Validity struct {
	Cohort      string         `json:"cohort"`
	Selected    int            `json:"selected"`
	NotTried    int            `json:"not_tried"`
	Replayed    int            `json:"replayed"`
	Scored      int            `json:"scored"`
	Failures    map[string]int `json:"failures"`    // code → runs
	Approximate int            `json:"approximate"` // replayed runs with an answer that is less than exact
	Live        int            `json:"live"`        // replayed runs with calls that had no recorded answer, as the policy allows
	Overridden  int            `json:"overridden"`
	Crashed     int            `json:"ended_in_failure"`    // replayed runs whose command failed
	UnusedTapes int            `json:"with_unused_answers"` // replayed runs that did not ask for all that is recorded
	Unscored    map[string]int `json:"unscored,omitempty"`
	// Tools and Models count calls of all runs that were tried, also of those that were not replayed for it.
	Tools        Answers  `json:"tool_calls"`
	Models       *Answers `json:"model_calls,omitempty"` // of commands
	sharePercent string
}

// share computes sharePercent, which the JSON does not hold.
func (v *Validity) share() {
	v.sharePercent = fmt.Sprintf("%.1f", 100*float64(v.Replayed)/float64(max(1, v.Selected)))
}

// Answers counts how calls were answered.
type Answers struct {
	Served     int            `json:"served"`
	NotExact   int            `json:"not_exact"`               // of the served
	Why        map[string]int `json:"why_not_exact,omitempty"` // reservation → runs
	Errors     int            `json:"recorded_errors"`         // of the served
	Missed     int            `json:"missed"`
	Exhausted  int            `json:"exhausted"` // of the missed
	Live       int            `json:"live"`
	Overridden int            `json:"overridden"`
	Unused     int            `json:"unused"` // recorded answers that nobody asked for
}

// add adds the calls of a run.
func (a *Answers) add(of *Answered) {
	a.Served += of.Served
	a.NotExact += of.NotExact
	a.Missed += len(of.Missed)
	a.Exhausted += of.Exhausted
	a.Live += of.Live
	a.Unused += of.Unused
	for _, l := range of.Approx {
		if a.Why == nil {
			a.Why = map[string]int{}
		}
		a.Why[l]++
	}
}

// count adds the calls of a run.
func (v *Validity) count(o *Outcome) {
	v.Tools.add(&o.Tools.Answered)
	v.Tools.Errors += o.Tools.Failed
	v.Tools.Overridden += o.Tools.Overridden
	if o.Models == nil {
		return
	}
	if v.Models == nil {
		v.Models = &Answers{}
	}
	v.Models.add(&o.Models.Answered)
}

// CohortEffort is what the replayed runs of a cohort took, as recorded and now. Sums are over the runs of which both are known.
type CohortEffort struct {
	Cohort   string   `json:"cohort"`
	Tokens   Compared `json:"tokens"`
	Input    Compared `json:"input_tokens"`
	Output   Compared `json:"output_tokens"`
	Duration Compared `json:"duration_ms"`
}

// Compared is a sum over runs, with the medians.
type Compared struct {
	Runs           int   `json:"runs"` // of which both are known
	Recorded       int64 `json:"recorded"`
	Replayed       int64 `json:"replayed"`
	MedianRecorded int64 `json:"median_recorded"`
	MedianReplayed int64 `json:"median_replayed"`

	recorded, replayed []int64
}

func (c *Compared) add(recorded, replayed *int64) {
	if recorded != nil && replayed != nil {
		c.recorded, c.replayed = append(c.recorded, *recorded), append(c.replayed, *replayed)
	}
}

// end sums up. The median of an even number is the lower of the two in the middle.
func (c *Compared) end() {
	c.Runs = len(c.recorded)
	of := func(list []int64) (sum, median int64) {
		slices.Sort(list)
		for _, n := range list {
			sum += n
		}
		if len(list) > 0 {
			median = list[(len(list)-1)/2]
		}
		return sum, median
	}
	c.Recorded, c.MedianRecorded = of(c.recorded)
	c.Replayed, c.MedianReplayed = of(c.replayed)
	c.recorded, c.replayed = nil, nil
}

func (e *CohortEffort) add(o *Outcome) {
	a, b := &o.Recorded, &o.Replayed
	e.Input.add(a.InputTokens, b.InputTokens)
	e.Output.add(a.OutputTokens, b.OutputTokens)
	e.Duration.add(a.DurationMS, b.DurationMS)
	if a.InputTokens != nil && a.OutputTokens != nil && b.InputTokens != nil && b.OutputTokens != nil {
		before, now := a.Tokens(), b.Tokens()
		e.Tokens.add(&before, &now)
	}
}

// CaseResult is a case with its outcome.
type CaseResult struct {
	Case
	State string   `json:"state"` // improved, regressed, unchanged, not_scored, not_replayed, not_tried
	Delta string   `json:"delta,omitempty"`
	Of    *Outcome `json:"outcome,omitempty"`

	delta float64
}

// Evidence are cases by what became of them.
type Evidence struct {
	Improved  []string `json:"most_improved"`
	Regressed []string `json:"most_regressed"`
}

// The states of cases.
const (
	Improved    = "improved"
	Regressed   = "regressed"
	Unchanged   = "unchanged"
	NotScored   = "not_scored"
	NotReplayed = "not_replayed"
	NotTried    = "not_tried"
)

const shown = 3 // cases of evidence

// NewReport judges what a journal holds of a plan.
func NewReport(p *Plan, j *Journal) (*Report, error) {
	r := &Report{
		Kind: Kind + "-report", Version: Version, Plan: p.Digest(), Shape: p.Shape, Cohorts: p.Cohorts, Change: p.Change, Runner: p.Runner, Identity: p.Identity, Runners: []string{},
		Settings: p.Settings, Override: p.Override, Policy: p.Policy, Scorers: p.Scorers, Decision: p.Decision, Bootstrap: p.Bootstrap, Cases: make([]CaseResult, 0, len(p.Cases)), Evidence: Evidence{[]string{}, []string{}},
	}
	measured := map[string]*statistics.Cohort{}
	validity := map[string]*Validity{}
	efforts := map[string]*CohortEffort{}
	for i := range p.Cases {
		c := CaseResult{Case: p.Cases[i], Of: j.Done(&p.Cases[i])}
		m, v := measured[c.Cohort], validity[c.Cohort]
		if m == nil {
			m, v = &statistics.Cohort{Name: c.Cohort}, &Validity{Cohort: c.Cohort, Failures: map[string]int{}}
			measured[c.Cohort], validity[c.Cohort], efforts[c.Cohort] = m, v, &CohortEffort{Cohort: c.Cohort}
		}
		m.Selected++
		v.Selected++
		c.judge(p.Decision.Epsilon, m, v)
		if o := c.Of; o != nil {
			r.JudgeCost = o.spent(r.JudgeCost)
			v.count(o)
			if o.Runner != "" {
				r.Runners = addOnce(r.Runners, o.Runner)
			}
			if o.Failure == nil {
				efforts[c.Cohort].add(o)
			}
		}
		r.Cases = append(r.Cases, c)
	}
	var cohorts []statistics.Cohort
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		cohorts = append(cohorts, *measured[name])
		v := validity[name]
		v.share()
		r.Validity = append(r.Validity, *v)
		e := efforts[name]
		for _, of := range []*Compared{&e.Tokens, &e.Input, &e.Output, &e.Duration} {
			of.end()
		}
		r.Efforts = append(r.Efforts, *e)
	}
	slices.Sort(r.Runners)
	var err error
	if r.Verdict, err = statistics.Judge(p.Shape, cohorts, p.Decision, p.Bootstrap); err != nil {
		return nil, err
	}
	r.Evidence.Improved = r.most(Improved, func(a, b float64) int { return cmp.Compare(b, a) })
	r.Evidence.Regressed = r.most(Regressed, cmp.Compare[float64])
	r.Reason = r.reason()
	return r, nil
}

// spent adds what judges used to a sum; nil is that of none.
func (o *Outcome) spent(sum *Cost) *Cost {
	for _, s := range o.Scores {
		if s.Cost == nil {
			continue
		}
		if sum == nil {
			sum = &Cost{}
		}
		sum.add(*s.Cost)
	}
	return sum
}

// judge counts a case.
func (c *CaseResult) judge(epsilon float64, m *statistics.Cohort, v *Validity) {
	o := c.Of
	switch {
	case o == nil:
		c.State = NotTried
		v.NotTried++
		return
	case o.Failure != nil:
		c.State = NotReplayed
		v.Failures[o.Failure.Code]++
		return
	}
	m.Replayed++
	v.Replayed++
	count := func(n int, of *int) {
		if n > 0 {
			*of++
		}
	}
	models := cmp.Or(o.Models, &Models{})
	count(len(o.Tools.Approx)+len(models.Approx), &v.Approximate)
	count(o.Tools.Live+models.Live, &v.Live)
	count(o.Tools.Overridden, &v.Overridden)
	count(len(o.Ended), &v.Crashed)
	count(o.Tools.Unused+models.Unused, &v.UnusedTapes)
	if len(o.Scores) == 0 || o.Scores[0].Failed != "" {
		c.State = NotScored
		if v.Unscored == nil {
			v.Unscored = map[string]int{}
		}
		v.Unscored[cut(o.unscored(), 120)]++
		return
	}
	v.Scored++
	c.delta = o.Scores[0].Delta()
	c.Delta = statistics.Decimal(c.delta)
	m.Deltas = append(m.Deltas, c.delta)
	switch {
	case c.delta > epsilon:
		c.State = Improved
	case c.delta < -epsilon:
		c.State = Regressed
	default:
		c.State = Unchanged
	}
}

func (r *Report) most(state string, order func(a, b float64) int) []string {
	var found []*CaseResult
	for i := range r.Cases {
		if r.Cases[i].State == state {
			found = append(found, &r.Cases[i])
		}
	}
	slices.SortStableFunc(found, func(a, b *CaseResult) int { return order(a.delta, b.delta) })
	list := []string{}
	for _, c := range found[:min(shown, len(found))] {
		list = append(list, c.RunID)
	}
	return list
}

// reason is the sentence that a report begins with.
func (r *Report) reason() string {
	for _, severity := range []statistics.Severity{statistics.BlocksAll, statistics.BlocksShip} {
		if severity == statistics.BlocksAll { // what was not measured comes before what was
			for _, c := range r.Verdict.Cohorts {
				for _, f := range c.FloorFailures {
					return fmt.Sprintf("too little of the %s cohort was measured: %s is %s, at least %s is asked", c.Name, strings.TrimSuffix(f.Rule, "_per_required_cohort"), f.Observed, f.Threshold)
				}
			}
		}
		for _, f := range r.Findings {
			if f.Severity == severity {
				return f.Message
			}
		}
	}
	var parts []string
	for _, c := range r.Verdict.Cohorts {
		parts = append(parts, fmt.Sprintf("%s: %d better, %d worse of %d", c.Name, c.Improved, c.Regressed, c.Scored))
	}
	return strings.Join(parts, "; ")
}

var verdicts = map[statistics.State]string{statistics.Ship: "Ship", statistics.DontShip: "Don't ship", statistics.Inconclusive: "Inconclusive"}

// ExitCode is that of the verdict.
func (r *Report) ExitCode() int { return r.State.ExitCode() }

// Title is the verdict for people.
func (r *Report) Title() string { return verdicts[r.State] }

// Markdown writes the report for people.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n**%s.**\n\n## Replay validity\n\n", r.Title(), cell(r.Reason))
	for _, t := range r.validityTables() {
		t.markdown(&b)
	}
	b.WriteString("## What changed\n\n")
	r.changeTable().markdown(&b)
	if len(r.Findings) > 0 {
		b.WriteString("## Findings\n\n")
		for _, f := range r.Findings {
			fmt.Fprintf(&b, "- `%s` (%s): %s\n", f.Code, f.Severity, cell(f.Message))
		}
	}
	if len(r.Findings) > 0 {
		b.WriteString("\n")
	}
	if t := r.effortTable(); len(t.rows) > 0 {
		b.WriteString("## Cost and latency\n\n")
		t.markdown(&b)
	}
	b.WriteString("## Runs to look at\n\n")
	if t := r.evidenceTable(); len(t.rows) > 0 {
		t.markdown(&b)
	} else {
		b.WriteString("No run changed.\n\n")
	}
	b.WriteString("## Method\n\n")
	for _, line := range r.method() {
		fmt.Fprintf(&b, "- %s: %s.\n", line.what, cell(line.text))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cell keeps a text within one cell of a table, and from being markup.
func cell(s string) string {
	s = strings.Join(strings.Fields(timeline.OneLine(s)), " ")
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "[", `\[`, "]", `\]`, "*", `\*`, "_", `\_`, "`", "\\`").Replace(s)
}

func cut(s string, runes int) string {
	for i := range s {
		if runes--; runes < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// JUnit writes the cases as tests: those that became worse, or could not be replayed or scored, fail.
func (r *Report) JUnit(w io.Writer) error {
	suite := junit.Suite{Name: "tapedeck experiment: " + r.Title()}
	for _, c := range r.Cases {
		t := junit.Case{Class: c.Cohort, Name: c.RunID}
		switch c.State {
		case Regressed:
			t.Failure = &junit.Message{Text: "delta " + c.Delta}
		case NotReplayed:
			t.Error = &junit.Message{Text: c.Of.Failure.Code + ": " + c.Of.Failure.Message}
		case NotScored:
			t.Error = &junit.Message{Text: c.Of.unscored()}
		case NotTried:
			t.Skipped = &junit.Message{Text: "not tried"}
		}
		suite.Cases = append(suite.Cases, t)
	}
	return suite.Write(w)
}
