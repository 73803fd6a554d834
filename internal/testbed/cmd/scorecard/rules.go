// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/tape"
)

// rulesHeading begins the section that rulesSection renders.
const rulesHeading = `
## Rules, on runs that nobody fitted them to

What each rule of [Reconstruction](reconstruction.md) is worth is counted on %d runs of %d groups in ` + "`testdata/drawn`" + `. Their scenarios were drawn anew, and so were the
instrumentations of ` + "`hand-*` and `team-*`" + `; the other groups are frameworks that rules know. No rule was written after a look at one of these runs. *Mutated* are %d more:
each mutation above, on one run in %d.

*Fired* counts the runs whose tapes name the rule in ` + "`fidelity.rules`" + `. *Right* counts the values that are exact with the rule and not without it, or at least absent
or wrapped and neither without it. *Wrong* counts those of which the reverse is true. A value that another rule finds as well counts as neither. Rules without a row did not fire.

`

const untouchedHeading = `
### Turns and runs that no rule touched

A turn is a model call with the tool calls up to the next one. A rule touches it by changing a value of one of them, and a tape by changing anything of the run.
First the runs drawn anew, then those of ` + "`testdata/corpus`" + `, as recorded.

`

// rulesSection renders what rules did on the runs drawn anew, and the share of these and of the corpus
// that they left alone.
func rulesSection(anew, corpus []groundtruth.Run) (string, error) {
	all, err := judgeAll(anew, rulesSample)
	if err != nil {
		return "", err
	}
	groups := map[string]bool{}
	for _, run := range anew {
		groups[run.Group] = true
	}
	text := fmt.Sprintf(rulesHeading, all.runs, len(groups), all.mutants, rulesSample) + all.markdown() + untouchedHeading
	for i, runs := range [][]groundtruth.Run{anew, corpus} {
		table, err := untouchedTable(runs)
		if err != nil {
			return "", err
		}
		text += strings.Repeat("\n", i) + table
	}
	return text, nil
}

// rulesSample is of how many runs drawn anew one is drawn for each mutation.
const rulesSample = 4

// verdict is what the truth says of a rule.
type verdict struct {
	fired int // runs whose tapes name the rule
	right int // values that are better with the rule than without it
	wrong int // values that are worse with the rule than without it
}

// verdicts are those of the rules that tapes name.
type verdicts map[rule.ID]verdict

func (all verdicts) add(more verdicts) {
	for id, v := range more {
		sum := all[id]
		all[id] = verdict{sum.fired + v.fired, sum.right + v.right, sum.wrong + v.wrong}
	}
}

// judge compares the tapes of a run with those that come about without each rule that they name.
func judge(run groundtruth.Run) (verdicts, error) {
	set, err := run.Evidence()
	if err != nil {
		return nil, err
	}
	tapes := tapesOf(set, rule.Choice{})
	with, all := run.Score(tapes), verdicts{}
	for _, id := range rulesOf(tapes) {
		without := run.Score(tapesOf(set, rule.Choice{Without: map[rule.ID]bool{id: true}}))
		right, wrong := groundtruth.Compare(with, without)
		all[id] = verdict{1, right, wrong}
	}
	return all, nil
}

// rulesOf lists the rules that tapes name.
func rulesOf(tapes []*tape.Tape) []rule.ID {
	named := map[rule.ID]bool{}
	for _, t := range tapes {
		for _, id := range t.Fidelity.Rules {
			named[rule.ID(id)] = true
		}
	}
	return slices.Sorted(maps.Keys(named))
}

// judged sums up what the truth says of rules on some runs, and on those of them that mutations change: each
// mutation is tried on one run in sample.
type judged struct {
	runs, mutants     int
	recorded, mutated verdicts
}

func judgeAll(runs []groundtruth.Run, sample int) (judged, error) {
	all := judged{runs: len(runs), recorded: verdicts{}, mutated: verdicts{}}
	for _, run := range runs {
		v, err := judge(run)
		if err != nil {
			return all, err
		}
		all.recorded.add(v)
	}
	for _, m := range groundtruth.Mutations {
		for _, run := range drawn(m, runs, sample) {
			mutant, ok, err := m.Apply(run)
			if err != nil {
				return all, err
			}
			if !ok {
				continue
			}
			v, err := judge(mutant)
			if err != nil {
				return all, err
			}
			all.mutants++
			all.mutated.add(v)
		}
	}
	return all, nil
}

// markdown renders a row for each rule that fired.
func (all judged) markdown() string {
	var b strings.Builder
	b.WriteString("| rule | fired | right | wrong | fired, mutated | right, mutated | wrong, mutated |\n|---|" + strings.Repeat("---:|", 6) + "\n")
	fired := maps.Clone(all.recorded)
	fired.add(all.mutated)
	for _, id := range slices.Sorted(maps.Keys(fired)) {
		r, m := all.recorded[id], all.mutated[id]
		fmt.Fprintf(&b, "| `%s` | %d | %d | %d | %d | %d | %d |\n", id, r.fired, r.right, r.wrong, m.fired, m.right, m.wrong)
	}
	return b.String()
}

// judgeRecordings writes the table of rules on the recordings below a folder.
func judgeRecordings(w io.Writer, dir string, sample int) error {
	runs, err := groundtruth.Corpus(dir)
	if err != nil {
		return err
	}
	all, err := judgeAll(runs, sample)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%d runs, %d mutated\n\n%s", all.runs, all.mutants, all.markdown())
	return err
}
