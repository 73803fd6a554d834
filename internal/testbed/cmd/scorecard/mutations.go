// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
	"github.com/tapedeck/tapedeck/tape"
)

const mutationsHeading = `
## Mutations: instrumentations that nobody wrote a rule for

Each run is recorded anew as another instrumentation might have recorded it, and compared with what is true of what it still holds. *Runs* are those in
which there was something to change. A tape beyond the runs that took place counts as *extra*, in no other column. What is not right, and is disputed
in the run as it was recorded, counts as *disputed*, in no other column either. As above all telemetry of a run is read
as one tapedeck derive reads it: what lies in two traces is joined there, and in a deck that the collector fills by tapedeck join; the
collector itself writes a tape per trace.

Decisions about what a mutated run still holds. With generic tool names, the recorded name is as right as the true one where no span, event or record
holds the true name together with the arguments of the call (its result, if it had none): a list of offered tools does not say which of them was called. An envelope that
nothing proves, and a result of which nothing says to which of several equal calls it belongs, are *missed*, not *wrong*: the tape labels them, and no oracle serves them as exact.
Where the run span is gone, holds nothing but words of its vendor, or ends with a tool as agents of that vendor do, nothing says how the run ended: that it is incomplete is as right. Nor does anything say
then that all texts of a run are its answer together: the last one, as a model call answered with it, is right.
Of a value that was cut, what stands on the tape is right only if it is whole; a label, or nothing and a finding, is *absent*.

`

// missedReasons says what the values are that the tapes of mutated runs lack, and why.
const missedReasons = `
What is missed, by class:

- *Envelopes that nothing proves* (unknown envelope: all of them, and what is wrapped there). Claude's Agent SDK and Spring AI record no conversation with the calls in it, so nothing
  shows what was inside. The tape labels the value lossy and names the envelope.
- *Frames of one vendor around results* (unknown vendor: Gemini CLI's ` + "`<untrusted_context>`" + `, Codex's header). Without the vendor's name the frame is no more than suspected, and labelled so.
- *Log records of one vendor's logger* (unknown vendor, no root: Spring AI). Its prompts and answers are texts in the body of records that the name of the logger alone tells from others; its
  tools are attributes under its own names. Who said what stands in a record of the run span; where that never came, the record names no span.
- *The answer in a memory of the framework* (no root: VoltAgent) or *in the arguments of the tool that ends the run* (no root: smolagents): no model call is recorded with
  it, and the lost span alone said outright that it is the answer. It is readable there, and not mended yet.
- *The answer in a log record of one vendor* (model calls wrapped, two traces: Claude Code), which belongs to a span of a model call or of a run in a way that the
  mutation takes apart. It is readable and might be told by its time: it is not mended yet.
- *The model on spans that are none of a model call* (unknown vendor: Codex). Spans of its program name the model; which of them asked it is said in words of the vendor.
- *What is cut* (values cut). Where the run span kept the conversation alone, no more than its beginning is left (Haystack). Calls of a class (DynamicStructuredTool) have no other name left (LangChain under Traceloop);
  model calls that no span holds together are runs of their own where their conversations are cut (Traceloop without a run span). Of instructions that are cut nothing is claimed.
- *Results that no later request shows* (no tool spans, and the mutations that drop tool spans too: Mastra's delegations, the last call of a run that stopped). A step beside the call
  or the answer of the last call holds them among other values.
`

// tally is what became of the runs under one mutation.
type tally struct {
	runs, extra int
	disputed    int // values whose truth is disputed in the run as it was recorded
	outcomes    map[groundtruth.Outcome]int
	claimed     []claim
}

// eachMutated calls f for each run that a mutation changes, with its tapes then.
func eachMutated(m groundtruth.Mutation, runs []groundtruth.Run, f func(name string, mutated groundtruth.Run, tapes []*tape.Tape)) error {
	for _, run := range runs {
		mutated, ok, err := m.Apply(run)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		set, err := mutated.Evidence()
		if err != nil {
			return err
		}
		f(run.Group+"/"+run.Scenario, mutated, tapesOf(set, rule.Choice{}))
	}
	return nil
}

// mutate scores the runs under a mutation.
func mutate(m groundtruth.Mutation, runs []groundtruth.Run) (tally, error) {
	t := tally{outcomes: map[groundtruth.Outcome]int{}}
	err := eachMutated(m, runs, func(name string, mutated groundtruth.Run, tapes []*tape.Tape) {
		t.runs++
		if c, ok := mutated.Claim(tapes); ok {
			t.claimed = append(t.claimed, claim{name, c})
		}
		for _, row := range mutated.Score(tapes) {
			switch {
			case row.Field == "run.count" && row.Outcome == groundtruth.Wrong:
				t.extra++
			case row.Outcome.Bad() && groundtruth.Disputed[name+" "+row.Field] != "":
				t.disputed++
			default:
				t.outcomes[row.Outcome]++
			}
		}
	})
	return t, err
}

// drawn is one run in n, drawn by the names of the mutation and the run.
func drawn(m groundtruth.Mutation, runs []groundtruth.Run, n int) []groundtruth.Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r groundtruth.Run) bool {
		h := fnv.New32a()
		_, _ = io.WriteString(h, m.Name+"\x00"+r.Group+"\x00"+r.Scenario) // a hash takes everything
		return h.Sum32()%uint32(max(1, n)) != 0
	})
}

// pairSample is of how many runs one is drawn for each pair of mutations.
const pairSample = 80

// inPairs scores runs under two mutations at once.
func inPairs(runs []groundtruth.Run) (sum tally, err error) {
	sum.outcomes = map[groundtruth.Outcome]int{}
	for _, m := range groundtruth.Pairs() {
		t, err := mutate(m, drawn(m, runs, pairSample))
		if err != nil {
			return sum, fmt.Errorf("%s: %w", m.Name, err)
		}
		sum.runs, sum.extra, sum.disputed = sum.runs+t.runs, sum.extra+t.extra, sum.disputed+t.disputed
		sum.claimed = append(sum.claimed, t.claimed...)
		for o, n := range t.outcomes {
			sum.outcomes[o] += n
		}
	}
	return sum, nil
}

// listMutated writes a line for each value of a mutated run that is not right, and for each tape whose claim is not what its oracle holds.
func listMutated(w io.Writer, all []groundtruth.Mutation, runs []groundtruth.Run) error {
	for _, m := range all {
		err := eachMutated(m, runs, func(name string, mutated groundtruth.Run, tapes []*tape.Tape) {
			for _, row := range mutated.Score(tapes) {
				if row.Outcome.Bad() {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.Name, name, row.Field, row.Outcome, row.Detail)
				}
			}
			if c, ok := mutated.Claim(tapes); ok && c.Tools != c.Served {
				fmt.Fprintf(w, "%s\t%s\tclaims tools: %t\tserved: %t\t%s\n", m.Name, name, c.Tools, c.Served, c.Why)
			}
		})
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// mutations renders the table of all mutations.
func mutations(runs []groundtruth.Run) (string, error) {
	var b strings.Builder
	b.WriteString(mutationsHeading)
	b.WriteString("| mutation | what it does |\n|---|---|\n")
	for _, m := range groundtruth.Mutations {
		fmt.Fprintf(&b, "| %s | %s |\n", m.Name, m.Meaning)
	}
	fmt.Fprintf(&b, "| *two at a time* | each pair of these, one after the other, on one run in %d, drawn by its name: what several defects do at once. "+
		"What one of the two leaves nobody to read counts as missed here |\n", pairSample)
	b.WriteString("\n| mutation | runs |")
	for _, o := range groundtruth.Outcomes {
		fmt.Fprintf(&b, " %s |", o)
	}
	b.WriteString(" disputed | extra tapes |\n|---|---:|" + strings.Repeat("---:|", len(groundtruth.Outcomes)+2) + "\n")
	grades := &strings.Builder{}
	grades.WriteString("\nWhat the tapes of these runs claim of their tools, as in [Grades, measured](#grades-measured):\n\n" +
		"| mutation | runs | claimed and served | claimed, not served | served, not claimed | neither | agree |\n|---|---:|---:|---:|---:|---:|---:|\n")
	row := func(name string, t tally) {
		fmt.Fprintf(&b, "| %s | %d |", name, t.runs)
		for _, o := range groundtruth.Outcomes {
			fmt.Fprintf(&b, " %d |", t.outcomes[o])
		}
		fmt.Fprintf(&b, " %d | %d |\n", t.disputed, t.extra)
		n := countClaims(t.claimed)
		fmt.Fprintf(grades, "| %s | %d | %d | %d | %d | %d | %.1f %% |\n", name, len(t.claimed), n.kept, n.broken, n.unclaimed, n.neither,
			100*float64(n.kept+n.neither)/float64(max(1, len(t.claimed))))
	}
	for _, m := range groundtruth.Mutations {
		t, err := mutate(m, runs)
		if err != nil {
			return "", fmt.Errorf("%s: %w", m.Name, err)
		}
		row(m.Name, t)
	}
	t, err := inPairs(runs)
	if err != nil {
		return "", err
	}
	row("*two at a time*", t)
	return b.String() + missedReasons + grades.String(), nil
}

// claimCounts are runs by what their tapes claim of their tools, and what their oracles hold.
type claimCounts struct{ kept, broken, unclaimed, neither int }

func countClaims(all []claim) (n claimCounts) {
	for _, c := range all {
		switch {
		case c.Tools && c.Served:
			n.kept++
		case c.Tools:
			n.broken++
		case c.Served:
			n.unclaimed++
		default:
			n.neither++
		}
	}
	return n
}
