// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/tape"
)

// Explanation says how a tape came about.
type Explanation struct {
	Tape      *tape.Tape
	Decisions []Decision // in the order in which they were made
}

// Decision is what a rule decided about a run or one of its events.
type Decision struct {
	Rule string
	// Seq is the event, 0 for the run itself and for what became no event.
	Seq int
	// SpanIDs are the spans that the decision is about.
	SpanIDs []string
	// Field is what changed, "run" for a part that joined the run, or "refused".
	Field    string
	Was, Now string
}

// Values reports a decision of a resolver of values: one decides every value, and tapes name none.
func (d Decision) Values() bool { return strings.HasPrefix(d.Rule, value.Stage) }

// rulesOf lists the rules that changed something of a run: those of the stages before it was one, as far as
// they changed spans or parts of it, and its own.
func rulesOf(run, own *rule.Run, f *fragment.Fragment, nodes []*spantree.Node) []string {
	ids := append(run.Changed(partOf(f, nodes)), own.Changed(func(any) bool { return true })...)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// partOf returns a function that reports spans and parts of a run. The spans around it count: what became of
// one decides what is a run. What was merged when a trace was read is of all its runs.
func partOf(f *fragment.Fragment, nodes []*spantree.Node) func(any) bool {
	leaves := f.Leaves()
	return func(of any) bool {
		switch of := of.(type) {
		case *spantree.Node:
			return slices.Contains(nodes, of) || slices.ContainsFunc(f.Heads, func(head *spantree.Node) bool { return spantree.Below(head, of) })
		case *fragment.Fragment:
			return slices.Contains(leaves, of)
		}
		_, merged := of.(*evidence.Set)
		return merged
	}
}

// explain gathers the decisions about a run.
func explain(b *value.Builder, run, own *rule.Run, nodes []*spantree.Node) Explanation {
	e := Explanation{Tape: b.Tape}
	isOf := partOf(b.Fragment, nodes)
	for _, d := range run.Decisions {
		if isOf(d.Of) {
			e.add(b, d)
		}
	}
	for _, d := range own.Decisions {
		e.add(b, d)
	}
	return e
}

func (e *Explanation) add(b *value.Builder, d rule.Decision) {
	made := Decision{Rule: string(d.Rule), Field: d.Field, Was: d.Was, Now: d.Now}
	switch of := d.Of.(type) {
	case *spantree.Node:
		made.SpanIDs = []string{of.SpanID()}
	case *ledger.Call:
		for _, n := range of.Nodes {
			made.SpanIDs = append(made.SpanIDs, n.SpanID())
		}
		if i := slices.Index(b.Ordered, of); i >= 0 {
			made.Seq = of.Seq
		}
	}
	if made.Seq == 0 { // a span that became a report of another call
		for i := range b.Tape.Events {
			if slices.ContainsFunc(made.SpanIDs, func(id string) bool { return slices.Contains(b.Tape.Events[i].SpanIDs, id) }) {
				made.Seq = b.Tape.Events[i].Seq
				break
			}
		}
	}
	e.Decisions = append(e.Decisions, made)
}
