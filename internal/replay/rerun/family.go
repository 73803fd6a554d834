// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/compare"
)

// OfRun is what is known of the replay of one run of a family.
type OfRun struct {
	Verdict    Verdict         `json:"verdict"`
	Headline   string          `json:"headline,omitempty"`
	Source     string          `json:"source"`             // run id
	Replayed   string          `json:"replayed,omitempty"` // run id
	Checks     []Check         `json:"checks"`
	Tools      []ToolCall      `json:"tools"`
	Tolerated  []Tolerated     `json:"tolerated,omitempty"`
	Comparison *compare.Result `json:"comparison,omitempty"`
}

// Pairs are recorded runs with their replays, by the place of the recorded run.
type Pairs struct {
	Replayed    []*tape.Tape // nil: none came
	Comparisons []*compare.Result
	Tolerated   [][]Tolerated
	Others      []string // run ids of what else ran
}

// maxPairs bounds how many comparisons are made to find which replay is that of which run. Beyond it, runs
// stand for each other in their order.
const maxPairs = 4096

// Pair gives each recorded run the replayed one that it has the most equal events with, one to one, the
// closest first. Of those that are equally close, the earlier ones. The parts of a joined run are no other
// runs. c takes for equal what agrees in the normal form.
func Pair(recorded, replayed []*tape.Tape, o compare.Options, c *Reconciler) (p Pairs, err error) {
	p = Pairs{Replayed: make([]*tape.Tape, len(recorded)), Comparisons: make([]*compare.Result, len(recorded)), Tolerated: make([][]Tolerated, len(recorded))}
	type pair struct {
		a, b   int
		result *compare.Result
	}
	var all []pair
	crosswise := len(recorded)*len(replayed) <= maxPairs
	for a := range recorded {
		for b := range replayed {
			if !crosswise && a != b {
				continue
			}
			result, err := compare.Tapes(recorded[a], replayed[b], o)
			if err != nil {
				return p, err
			}
			all = append(all, pair{a, b, result})
		}
	}
	alike := func(x pair) int { // what was joined is compared with what is joined
		if (len(recorded[x.a].Run.Joined) > 0) == (len(replayed[x.b].Run.Joined) > 0) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(x, y pair) int {
		return cmp.Or(cmp.Compare(y.result.Counts.Equal, x.result.Counts.Equal), cmp.Compare(alike(x), alike(y)))
	})
	taken := make([]bool, len(replayed))
	parts := map[string]bool{}
	for _, x := range all {
		if p.Replayed[x.a] != nil || taken[x.b] || parts[replayed[x.b].Run.RunID] && len(replayed[x.b].Run.Joined) == 0 {
			continue
		}
		p.Replayed[x.a], p.Comparisons[x.a], taken[x.b] = replayed[x.b], x.result, true
		for _, id := range replayed[x.b].Run.Joined {
			parts[id] = true
		}
	}
	for a, t := range p.Replayed {
		if t == nil {
			continue
		}
		if p.Comparisons[a], p.Tolerated[a], err = c.Compare(recorded[a], t, o); err != nil {
			return p, err
		}
	}
	for b, t := range replayed {
		if !taken[b] && !(parts[t.Run.RunID] && len(t.Run.Joined) == 0) {
			p.Others = append(p.Others, t.Run.RunID)
		}
	}
	return p, nil
}

// JudgeRuns is Judge of all runs that one command made, and says of each how its replay ended. layers says
// what answered the tool calls of a replayed run. It returns the first replay, nil where none came.
func (r *Report) JudgeRuns(recorded []*tape.Tape, p Pairs, layers func(recorded, replayed *tape.Tape) []ToolCall) (first *tape.Tape) {
	r.Runs, r.Tools = nil, []ToolCall{}
	came, equal, details := 0, 0, ""
	for i, source := range recorded {
		one := Report{Policies: r.Policies, Source: source.Run.RunID}
		run := OfRun{Source: source.Run.RunID, Tools: []ToolCall{}, Tolerated: p.Tolerated[i], Comparison: p.Comparisons[i]}
		run.Headline = headline(r.Model.Calls, run.Source, run.Comparison)
		t := p.Replayed[i]
		one.check("a replay of the run came", t != nil, "")
		if t != nil {
			came++
			if first == nil {
				first = t
			}
			run.Replayed, run.Tools = t.Run.RunID, layers(source, t)
			r.Tools = append(r.Tools, run.Tools...)
			one.Comparison, one.Comparable = run.Comparison, r.Policies.comparable(len(source.Events))
			one.checkEvents()
		}
		run.Checks, run.Verdict = one.Checks, AsRecorded
		for _, c := range one.Checks {
			if !c.OK {
				run.Verdict = Diverged
			}
		}
		if t == nil {
			run.Verdict = NotDone
		}
		if run.Verdict == AsRecorded {
			equal++
		} else {
			detail := "no replay of it came"
			if t != nil {
				detail = run.failed()
			}
			details += fmt.Sprintf("; %s: %s", deck.ShortID(run.Source), detail)
		}
		r.Runs = append(r.Runs, run)
	}
	r.Replayed = ""
	if first != nil {
		r.Replayed = first.Run.RunID
	}
	r.Judge(recorded[0], first, nil)
	if first != nil { // else nobody knows
		r.check(CheckEvents, equal == len(recorded), "%d of %d runs%s", equal, len(recorded), details)
		r.check("the runs are those of the recording", came == len(recorded) && len(r.OtherRuns) == 0, "%d of %d%s", came, len(recorded), others(r.OtherRuns))
		if r.Verdict == AsRecorded && slices.ContainsFunc(r.Checks, func(c Check) bool { return !c.OK }) {
			r.Verdict = Diverged
		}
	}
	return first
}

func others(runs []string) string {
	switch len(runs) {
	case 0:
		return ""
	case 1:
		return "; another run came"
	}
	return fmt.Sprintf("; %d other runs came", len(runs))
}

// failed is what of a run does not hold.
func (r *OfRun) failed() string {
	var list []string
	for _, c := range r.Checks {
		if !c.OK {
			list = append(list, strings.TrimSuffix(c.Name+": "+c.Detail, ": "))
		}
	}
	return strings.Join(list, ", ")
}

// text is the section of one run.
func (r *OfRun) text(b *strings.Builder, number, of int) {
	fmt.Fprintf(b, "run %d of %d, %s: %s\n", number, of, deck.ShortID(r.Source), verdictText[r.Verdict])
	writeChecks(b, r.Checks)
	for _, c := range r.Tools {
		fmt.Fprintf(b, "  %s\n", c.line())
	}
}
