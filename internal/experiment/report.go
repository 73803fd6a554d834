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

	"github.com/tapedeck/tapedeck/internal/experiment/contract"
	"github.com/tapedeck/tapedeck/internal/experiment/statistics"
	"github.com/tapedeck/tapedeck/internal/junit"
)

// Report is what an experiment came to. The same plan and outcomes give the same bytes.
type Report struct {
	Kind    string           `json:"kind"`
	Version string           `json:"version"`
	Plan    string           `json:"plan"` // its digest
	Shape   statistics.Shape `json:"shape"`
	statistics.Verdict
	Reason   string      `json:"reason"`
	Validity []Validity  `json:"replay_validity"` // by cohort
	Cohorts  []Selection `json:"selection"`
	Change   Change      `json:"change"`
	Runner   string      `json:"runner"`
	// Policy is where answers of tools came from.
	Policy    contract.Policy      `json:"tool_policy"`
	Scorers   []string             `json:"scorers"`
	JudgeCost *Cost                `json:"judge_cost,omitempty"` // of all judges
	Decision  statistics.Policy    `json:"decision"`
	Bootstrap statistics.Bootstrap `json:"bootstrap"`
	// Evidence names the runs to look at: those that changed most, at most three each.
	Evidence Evidence     `json:"evidence"`
	Cases    []CaseResult `json:"cases"`
}

// Validity says how much was replayed at all, and why the rest was not.
type Validity struct {
	Cohort       string         `json:"cohort"`
	Selected     int            `json:"selected"`
	NotTried     int            `json:"not_tried"`
	Replayed     int            `json:"replayed"`
	Scored       int            `json:"scored"`
	Failures     map[string]int `json:"failures"`    // code → runs
	Approximate  int            `json:"approximate"` // replayed runs with an answer that is less than exact
	Live         int            `json:"live"`        // replayed runs with calls that had no recorded answer, as the policy allows
	Overridden   int            `json:"overridden"`
	UnusedTapes  int            `json:"with_unused_answers"` // replayed runs that did not ask for all that is recorded
	Unscored     map[string]int `json:"unscored,omitempty"`
	sharePercent string
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
		Kind: Kind + "-report", Version: Version, Plan: p.Digest(), Shape: p.Shape, Cohorts: p.Cohorts, Change: p.Change, Runner: p.Runner, Policy: p.Policy,
		Scorers: p.Scorers, Decision: p.Decision, Bootstrap: p.Bootstrap, Cases: make([]CaseResult, 0, len(p.Cases)), Evidence: Evidence{[]string{}, []string{}},
	}
	measured := map[string]*statistics.Cohort{}
	validity := map[string]*Validity{}
	for i := range p.Cases {
		c := CaseResult{Case: p.Cases[i], Of: j.Done(&p.Cases[i])}
		m, v := measured[c.Cohort], validity[c.Cohort]
		if m == nil {
			m, v = &statistics.Cohort{Name: c.Cohort}, &Validity{Cohort: c.Cohort, Failures: map[string]int{}}
			measured[c.Cohort], validity[c.Cohort] = m, v
		}
		m.Selected++
		v.Selected++
		c.judge(p.Decision.Epsilon, m, v)
		r.spend(c.Of)
		r.Cases = append(r.Cases, c)
	}
	var cohorts []statistics.Cohort
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		cohorts = append(cohorts, *measured[name])
		v := validity[name]
		v.sharePercent = fmt.Sprintf("%.1f", 100*float64(v.Replayed)/float64(v.Selected))
		r.Validity = append(r.Validity, *v)
	}
	var err error
	if r.Verdict, err = statistics.Judge(p.Shape, cohorts, p.Decision, p.Bootstrap); err != nil {
		return nil, err
	}
	r.Evidence.Improved = r.most(Improved, func(a, b float64) int { return cmp.Compare(b, a) })
	r.Evidence.Regressed = r.most(Regressed, cmp.Compare[float64])
	r.Reason = r.reason()
	return r, nil
}

// spend counts what judges used.
func (r *Report) spend(o *Outcome) {
	if o == nil {
		return
	}
	for _, s := range o.Scores {
		if s.Cost == nil {
			continue
		}
		if r.JudgeCost == nil {
			r.JudgeCost = &Cost{}
		}
		r.JudgeCost.add(*s.Cost)
	}
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
	count(len(o.Tools.Approx), &v.Approximate)
	count(o.Tools.Live, &v.Live)
	count(o.Tools.Overridden, &v.Overridden)
	count(o.Tools.Unused, &v.UnusedTapes)
	if len(o.Scores) == 0 || o.Scores[0].Failed != "" {
		c.State = NotScored
		if v.Unscored == nil {
			v.Unscored = map[string]int{}
		}
		v.Unscored[o.unscored()]++
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

// Title is the verdict for people.
func (r *Report) Title() string { return verdicts[r.State] }

// Markdown writes the report for people.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n**%s.**\n\n## Replay validity\n\n", r.Title(), cell(r.Reason))
	b.WriteString("| cohort | selected | not tried | replayed | scored | approximate answers | live calls | unused answers | not replayed because of |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, v := range r.Validity {
		var why []string
		for _, code := range slices.Sorted(maps.Keys(v.Failures)) {
			why = append(why, fmt.Sprintf("%s: %d", code, v.Failures[code]))
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d (%s %%) | %d | %d | %d | %d | %s |\n", cell(v.Cohort), v.Selected, v.NotTried, v.Replayed, v.sharePercent, v.Scored, v.Approximate, v.Live, v.UnusedTapes, cell(strings.Join(why, ", ")))
	}
	b.WriteString("\n## What changed\n\n| cohort | better | worse | unchanged | median delta | interval | sign test |\n|---|---|---|---|---|---|---|\n")
	for _, c := range r.Verdict.Cohorts {
		median, interval := c.Median, "["+c.Lower+", "+c.Upper+"]"
		if c.NoInterval != "" {
			median, interval = "–", c.NoInterval
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %s | p = %s |\n", cell(c.Name), c.Improved, c.Regressed, c.Unchanged, median, interval, cmp.Or(c.SignTest, "–"))
	}
	if len(r.Findings) > 0 {
		b.WriteString("\n## Findings\n\n")
		for _, f := range r.Findings {
			fmt.Fprintf(&b, "- `%s` (%s): %s\n", f.Code, f.Severity, cell(f.Message))
		}
	}
	b.WriteString("\n## Runs to look at\n\n")
	r.cases(&b)
	fmt.Fprintf(&b, "\n## Method\n\n- Runner: `%s`; answers of tools: `%s`; scorers: %s, of which the first decides.\n", code(r.Runner), r.Policy, cell(strings.Join(r.Scorers, ", ")))
	if c := r.JudgeCost; c != nil {
		fmt.Fprintf(&b, "- Judges were asked %d times: %d tokens in, %d out.\n", c.Requests, c.InputTokens, c.OutputTokens)
	}
	for _, s := range r.Cohorts {
		fmt.Fprintf(&b, "- Cohort %s: `%s`, which takes %d runs", cell(s.Cohort), code(s.Rule), s.Matched)
		if s.Limit > 0 && s.Limit < s.Matched {
			fmt.Fprintf(&b, "; %d of them, drawn by the digest of their names", s.Limit)
		}
		b.WriteString(".\n")
	}
	fmt.Fprintf(&b, "- A delta is the score of the replayed answer less that of the recorded one; within ±%s it is no change.\n", statistics.Decimal(r.Decision.Epsilon))
	fmt.Fprintf(&b, "- Median and interval: percentile bootstrap over whole pairs, level %s, %d resamples, seed %d. Sign test: exact, two-sided.\n", statistics.Decimal(r.Bootstrap.Level), r.Bootstrap.Resamples, r.Bootstrap.Seed)
	b.WriteString("- Judges and checks are as good as they are: an experiment shows what they say, with recorded tool answers, and no more.\n")
	fmt.Fprintf(&b, "- Plan: `%s`\n", r.Plan)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) cases(b *strings.Builder) {
	any := false
	for i := range r.Cases {
		c := &r.Cases[i]
		listed := slices.Contains(r.Evidence.Improved, c.RunID) || slices.Contains(r.Evidence.Regressed, c.RunID)
		if !listed {
			continue
		}
		if !any {
			b.WriteString("| run | cohort | | delta | the candidate said |\n|---|---|---|---|---|\n")
		}
		any = true
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", code(c.RunID), cell(c.Cohort), c.State, c.Delta, cell(cut(c.Of.Text, 200)))
	}
	if !any {
		b.WriteString("No run changed.\n")
	}
}

// cell keeps a text within one cell of a table, and from being markup.
func cell(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "[", `\[`, "]", `\]`, "*", `\*`, "_", `\_`, "`", "\\`").Replace(s)
}

// code keeps a text within backticks.
func code(s string) string {
	return strings.NewReplacer("`", "'", "|", `\|`, "\n", " ", "\r", " ").Replace(s)
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
