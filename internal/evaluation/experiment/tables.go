// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/evaluation/experiment/statistics"
)

// table is what Markdown and HTML show in the same way. Its texts are plain: who writes them escapes them.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

func (t *table) markdown(b *strings.Builder) {
	for i, row := range slices.Concat([][]string{t.head}, t.rows) {
		for _, c := range row {
			b.WriteString("| " + cell(c) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(t.head)) + "|\n")
		}
	}
	b.WriteString("\n")
}

// counted lists what was counted, by name.
func counted(counts map[string]int) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, fmt.Sprintf("%s: %d", name, counts[name]))
	}
	return strings.Join(list, ", ")
}

// validityTables say how much was replayed, and how the calls of the replays were answered.
func (r *Report) validityTables() []*table {
	runs := &table{head: []string{"cohort", "selected", "not tried", "replayed", "scored", "approximate answers", "live calls", "unused answers", "failed commands", "not replayed because of", "not scored because of"}}
	calls := &table{head: []string{"cohort", "calls", "served", "not exact", "recorded errors", "missed", "of these exhausted", "live", "overridden", "unused answers", "why not exact (runs)"}}
	for _, v := range r.Validity {
		runs.add(v.Cohort, v.Selected, v.NotTried, fmt.Sprintf("%d (%s %%)", v.Replayed, v.sharePercent), v.Scored, v.Approximate, v.Live, v.UnusedTapes, v.Crashed, counted(v.Failures), counted(v.Unscored))
		of := []struct {
			name string
			*Answers
		}{{"of tools", &v.Tools}, {"of models", v.Models}}
		for _, a := range of {
			if a.Answers != nil {
				calls.add(v.Cohort, a.name, a.Served, a.NotExact, a.Errors, a.Missed, a.Exhausted, a.Live, a.Overridden, a.Unused, counted(a.Why))
			}
		}
	}
	return []*table{runs, calls}
}

func (r *Report) changeTable() *table {
	t := &table{head: []string{"cohort", "better", "worse", "unchanged", "median delta", "interval", "sign test"}}
	for _, c := range r.Verdict.Cohorts {
		median, interval := c.Median, "["+c.Lower+", "+c.Upper+"]"
		if c.NoInterval != "" {
			median, interval = "–", c.NoInterval
		}
		t.add(c.Name, c.Improved, c.Regressed, c.Unchanged, median, interval, "p = "+cmp.Or(c.SignTest, "–"))
	}
	return t
}

// effortTable compares what runs took, where both the tape and the candidate say it.
func (r *Report) effortTable() *table {
	t := &table{head: []string{"cohort", "", "runs", "recorded", "now", "change", "median recorded", "median now"}}
	for _, e := range r.Efforts {
		for _, of := range []struct {
			name string
			*Compared
		}{{"tokens in", &e.Input}, {"tokens out", &e.Output}, {"ms", &e.Duration}} {
			c := of.Compared
			if c.Runs == 0 {
				continue
			}
			change := "–"
			if c.Recorded > 0 {
				change = fmt.Sprintf("%+.1f %%", 100*float64(c.Replayed-c.Recorded)/float64(c.Recorded))
			}
			t.add(e.Cohort, of.name, c.Runs, c.Recorded, c.Replayed, change, c.MedianRecorded, c.MedianReplayed)
		}
	}
	return t
}

// evidenceTable holds the runs that changed most.
func (r *Report) evidenceTable() *table {
	t := &table{head: []string{"run", "cohort", "", "delta", "the candidate said"}}
	for i := range r.Cases {
		if c := &r.Cases[i]; r.Evidence.holds(c) {
			t.add(c.RunID, c.Cohort, c.State, c.Delta, cut(c.Of.Text, 200))
		}
	}
	return t
}

func (e *Evidence) holds(c *CaseResult) bool {
	return slices.Contains(e.Improved, c.RunID) || slices.Contains(e.Regressed, c.RunID)
}

// fact is a line of the method.
type fact struct{ what, text string }

// howReplayed says who the candidate was, and what it was told.
func (r *Report) howReplayed() (list []fact) {
	add := func(what, format string, args ...any) { list = append(list, fact{what, fmt.Sprintf(format, args...)}) }
	add("Runner", "%s", r.Runner)
	id := []string{}
	if len(r.Runners) > 0 {
		id = append(id, "it calls itself "+strings.Join(r.Runners, ", then "))
	}
	if r.Identity.SHA256 != "" {
		id = append(id, "program sha256 "+r.Identity.SHA256)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Identity.Files)) {
		id = append(id, name+" sha256 "+r.Identity.Files[name])
	}
	if len(id) > 0 {
		add("Identity of the runner", "%s", strings.Join(id, "; "))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		add("Setting", "%s %s", name, r.Settings[name])
	}
	if c := r.Change; c.SystemPrompt != nil {
		add("Change", "the system prompt: %s", cut(*c.SystemPrompt, 200))
	}
	if c := r.Change; c.Model != nil {
		add("Change", "the model: %s", *c.Model)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Change.Overrides)) {
		value, _ := json.Marshal(r.Change.Overrides[name]) // it came from JSON
		add("Change", "overrides.%s: %s", name, value)
	}
	if r.Override != "" {
		add("Change", "answers of tools, from the oracle file %s", r.Override)
	}
	if c := r.JudgeCost; c != nil {
		add("Judges", "asked %d times: %d tokens in, %d out", c.Requests, c.InputTokens, c.OutputTokens)
	}
	return list
}

// method says how the experiment was made.
func (r *Report) method() []fact {
	list := r.howReplayed()
	add := func(what, format string, args ...any) { list = append(list, fact{what, fmt.Sprintf(format, args...)}) }
	add("Answers of tools", "%s", r.Policy)
	add("Scorers", "%s, of which the first decides", strings.Join(r.Scorers, ", "))
	for _, s := range r.Cohorts {
		drawn := ""
		if s.Limit > 0 && s.Limit < s.Matched {
			drawn = "; " + strconv.Itoa(s.Limit) + " of them, drawn by the digest of their names"
		}
		add("Cohort "+s.Cohort, "%s, which takes %d runs%s", s.Rule, s.Matched, drawn)
	}
	add("Delta", "the score of the replayed answer less that of the recorded one; within ±%s it is no change", statistics.Decimal(r.Decision.Epsilon))
	add("Median and interval", "percentile bootstrap over whole pairs, level %s, %d resamples, seed %d. Sign test: exact, two-sided", statistics.Decimal(r.Bootstrap.Level), r.Bootstrap.Resamples, r.Bootstrap.Seed)
	add("What it shows", "what these scorers say, with recorded answers of tools, and no more")
	add("Plan", "%s", r.Plan)
	return list
}
