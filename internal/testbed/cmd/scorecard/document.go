// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/tape"
)

const introduction = `# Scorecard

What the tapes hold of ` + "%d recorded runs of %d groups (framework × instrumentation), compared field by field with what the tools and the\n" +
	"model server saw. The runs lie in `testdata/corpus`, and this page is what `make scorecard` prints. All telemetry of a run is read as one\n" +
	"`tapedeck derive` reads it, so runs that lie in several traces are joined. The same comparison of exports and transcripts stands in [imports](import.md#how-well)." + `

## Fields

One row of the comparison is one true value: the user's input, system prompt, final output, model, status, and per tool call its name,
arguments, result, failure, turn, order and oracle entry; one more row says whether the run came out as one tape.

| outcome | meaning |
|---|---|
| exact | the tape holds it |
| absent | the telemetry lacks it, and the tape says so |
| wrapped | the tape holds it inside an envelope |
| missed | the telemetry holds it, the tape does not |
| wrong | the tape claims something else |
| silent | the tape lacks it and nothing says so |
| no tape | of the whole run; nothing else of it is counted then |

What counts as right although it is not the very same:

- Values are compared decoded: a JSON text and what it stands for, 26.0 and 26, texts that differ in white space. Integers of 2^53 and more are compared digit by digit.
- A result may be what the tool returned or what the framework told the model of it. A tool that returned null leaves no result, or a text such as ` + "`None`" + `.
- The name of a tool may be that of the function or the one that was offered to the model.
- Text of a framework around the system prompt is no defect; text before the final answer counts as *wrapped*.
- A run that ended without an answer and is ` + "`incomplete`" + ` on the tape is *absent*: telemetry often does not tell a failure from a limit, and that status claims neither.
- A failed call whose failure the telemetry shows only as the text that the model was told, or would have been told had the run gone on, is *absent* if the tape holds that text.
- A model call beyond those that the model server saw is *absent* if its span holds neither an answer nor tokens: it may never have been sent. Attempts that failed are allowed for.
- A call that the model asked for and that the framework answered itself, because the tool does not exist for example, may stand on the tape.
- An integer that the JavaScript runtime of a framework rounded before the tool received it may stand in either spelling.

`

const claims = `
## Grades, measured

Of each run that is one tape and called tools, the oracle is asked for the calls that really happened, in their order, by name and by the hash of
the arguments that the model wrote, each entry once. The run is *served* when every call gets what its tool returned, or its failure, and no
entry is left over; equal calls of one turn ran at the same time, and the entry of any of them may answer any other. An entry whose arguments or
response are missing or cut is listed and serves nobody. A tape claims that in ` + "`fidelity.replayable.tools`" + ` and says in its proof whether its own requests bear it out.

`

const replayability = `
## Replay

Tapes per [grade](tape-format.md), and the proof of every tape, added up: the tape replayed against itself when it was written.
*Verified* are answers that a later request of the run shows too, *mismatched* those of which it shows other content; *unverifiable* ones no request shows.

`

// row is what became of one group.
type row struct {
	runs, none int
	grades     map[tape.Grade]int
	proof      tape.Proof
}

var grades = []tape.Grade{tape.GradeOffline, tape.GradeTools, tape.GradeModel, tape.GradePartial, tape.GradeInspect}

// marks enclose the total in a document.
const (
	opening = "<!-- scorecard -->\n"
	closing = "<!-- /scorecard -->"
)

// embed puts the head and the last row, the total, of the table of fields of a scorecard between the marks of another document.
func embed(scorecard, into string) (string, error) {
	_, rest, there := strings.Cut(scorecard, "| group |")
	table, _, ended := strings.Cut(rest, "\n\n")
	before, rest, found := strings.Cut(into, opening)
	_, after, closed := strings.Cut(rest, closing)
	if !there || !ended || !found || !closed {
		return "", errors.New("no table, or no marks to put it between")
	}
	rows := strings.Split("| group |"+table, "\n")
	if len(rows) < 3 {
		return "", errors.New("the table has no total")
	}
	return before + opening + strings.Join([]string{rows[0], rows[1], rows[len(rows)-1]}, "\n") + "\n" + closing + after, nil
}

// document renders the scorecard of recorded runs.
func document(runs []groundtruth.Run) (string, error) {
	fields := groundtruth.Table{}
	groups := map[string]*row{}
	defects := map[defect]int{}
	var claimed []claim
	for _, run := range runs {
		set, err := run.Evidence()
		if err != nil {
			return "", err
		}
		tapes := tapesOf(set, rule.Choice{})
		rows := run.Score(tapes)
		fields.Add(run.Group, rows)
		for _, r := range rows {
			if r.Outcome.Bad() {
				defects[defect{run.Group, r.Field, r.Outcome}]++
			}
		}
		if groups[run.Group] == nil {
			groups[run.Group] = &row{grades: map[tape.Grade]int{}}
		}
		groups[run.Group].add(tapes)
		if c, ok := run.Claim(tapes); ok {
			claimed = append(claimed, claim{run.Group + "/" + run.Scenario, c})
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, introduction, len(runs), len(groups))
	b.WriteString(fields.Markdown())
	b.WriteString(defectTable(defects))
	b.WriteString(disputedTable())
	b.WriteString(replayability)
	b.WriteString(replayTable(groups))
	b.WriteString(claims)
	b.WriteString(claimTable(claimed))
	return b.String(), nil
}

// claim is what the tape of a run claims.
type claim struct {
	run string
	groundtruth.Claim
}

// claimTable counts claims by what became of them, and names those that do not hold.
func claimTable(all []claim) string {
	type outcome struct{ tools, proved, served bool }
	counts := map[outcome]int{}
	var broken []claim
	for _, c := range all {
		counts[outcome{c.Tools, c.Proved, c.Served}]++
		if c.Tools != c.Served {
			broken = append(broken, c)
		}
	}
	yes := func(b bool) string {
		if b {
			return "yes"
		}
		return "no"
	}
	var b strings.Builder
	b.WriteString("| claims tools | proof ok | served | runs |\n|---|---|---|---:|\n")
	for i := range 8 {
		o := outcome{i&4 == 0, i&2 == 0, i&1 == 0}
		if counts[o] > 0 {
			fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", yes(o.tools), yes(o.proved), yes(o.served), counts[o])
		}
	}
	fmt.Fprintf(&b, "\nClaim and outcome agree in %d of %d runs (%.1f %%).\n", len(all)-len(broken), len(all), 100*float64(len(all)-len(broken))/float64(len(all)))
	if len(broken) > 0 {
		b.WriteString("\n| run | claims tools | proof ok | outcome |\n|---|---|---|---|\n")
	}
	for _, c := range broken {
		why := c.Why
		if c.Served {
			why = "every call is served"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.run, yes(c.Tools), yes(c.Proved), strings.ReplaceAll(why, "|", "\\|"))
	}
	return b.String()
}

// disputedTable names the values that count as defects above and are none.
func disputedTable() string {
	if len(groundtruth.Disputed) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nOf these, and of those that are wrapped, are disputed, or held by the telemetry in no readable form:\n\n| run and field | why |\n|---|---|\n")
	for _, of := range slices.Sorted(maps.Keys(groundtruth.Disputed)) {
		fmt.Fprintf(&b, "| %s | %s |\n", of, groundtruth.Disputed[of])
	}
	return b.String()
}

// options are those of the command line.
var options = reconstruct.Options{Producer: tape.Producer{Name: "tapedeck"}, Tenant: "default", Redaction: tape.Redaction{Policy: "none"}}

// tapesOf derives as the command line does, but for the choice of rules.
func tapesOf(set *evidence.Set, rules rule.Choice) []*tape.Tape {
	opts := options
	opts.Choice = rules
	return reconstruct.All(set.Split(), opts)
}

func (r *row) add(tapes []*tape.Tape) {
	r.runs++
	if len(tapes) == 0 {
		r.none++
	}
	for _, t := range tapes {
		r.grades[t.Fidelity.Grade]++
		p := t.Fidelity.Proof
		r.proof.Expected += p.Expected
		r.proof.Served += p.Served
		r.proof.Verified += p.Verified
		r.proof.Mismatched += p.Mismatched
		r.proof.Unverifiable += p.Unverifiable
	}
}

func replayTable(groups map[string]*row) string {
	var b strings.Builder
	b.WriteString("| group | runs |")
	for _, g := range grades {
		fmt.Fprintf(&b, " %s |", g)
	}
	b.WriteString(" no tape | expected | served | verified | mismatched | unverifiable |\n|---|" + strings.Repeat("---:|", len(grades)+7) + "\n")
	all := &row{grades: map[tape.Grade]int{}}
	line := func(name string, r *row, format string) {
		fmt.Fprintf(&b, "| "+format+" |", name)
		numbers := []int{r.runs}
		for _, g := range grades {
			numbers = append(numbers, r.grades[g])
		}
		for _, n := range append(numbers, r.none, r.proof.Expected, r.proof.Served, r.proof.Verified, r.proof.Mismatched, r.proof.Unverifiable) {
			fmt.Fprintf(&b, " "+format+" |", fmt.Sprint(n))
		}
		b.WriteString("\n")
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		r := groups[name]
		line(name, r, "%s")
		all.runs += r.runs
		all.none += r.none
		for g, n := range r.grades {
			all.grades[g] += n
		}
		all.proof.Expected += r.proof.Expected
		all.proof.Served += r.proof.Served
		all.proof.Verified += r.proof.Verified
		all.proof.Mismatched += r.proof.Mismatched
		all.proof.Unverifiable += r.proof.Unverifiable
	}
	line("all", all, "**%s**")
	return b.String()
}

// defect is a field of a group that came out missed, wrong or silent.
type defect struct {
	group, field string
	outcome      groundtruth.Outcome
}

func defectTable(defects map[defect]int) string {
	if len(defects) == 0 {
		return ""
	}
	keys := slices.SortedFunc(maps.Keys(defects), func(a, b defect) int {
		return strings.Compare(a.group+" "+a.field+" "+string(a.outcome), b.group+" "+b.field+" "+string(b.outcome))
	})
	var b strings.Builder
	b.WriteString("\nWhat is missed, wrong or silent:\n\n| group | field | outcome | runs or calls |\n|---|---|---|---:|\n")
	for _, k := range keys {
		fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", k.group, k.field, k.outcome, defects[k])
	}
	return b.String()
}
