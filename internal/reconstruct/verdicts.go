// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"encoding/hex"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/internal/reconstruct/write"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// verdictsOf reads the verdicts on a trace. A carrier in it may judge a span of another trace: the evidence
// of that one has a record of it.
func verdictsOf(t evidence.Trace) (list []genai.Verdict) {
	for _, item := range t.Set.View() {
		for _, v := range genai.Verdicts(item.Scope.Scope().Name(), item.Span) {
			if v.Trace == item.Span.TraceID() {
				list = append(list, v)
			}
		}
	}
	return list
}

// judgedRun is a run that verdicts may be about. Its tape is nil where another derivation writes it.
type judgedRun struct {
	*fragment.Fragment
	tape *tape.Tape
}

// judgedSpan is a span of one of several runs.
type judgedSpan struct {
	run  int
	node *spantree.Node
}

// giveVerdicts writes each verdict on the tape of the run that it judges: that of the span that it names,
// else that of the response. A verdict that names neither, or a span of no run, is one on all runs of its
// trace. So is one on an answer of another trace, whose id it keeps.
func giveVerdicts(verdicts []genai.Verdict, runs []judgedRun) {
	if len(verdicts) == 0 {
		return
	}
	type place struct {
		trace pcommon.TraceID
		span  pcommon.SpanID
	}
	spans, responses := map[place]judgedSpan{}, map[string]judgedSpan{}
	for i, r := range runs {
		for _, n := range nodes(r.Fragment) {
			spans[place{n.Source.Span.TraceID(), n.ID}] = judgedSpan{i, n}
			if n.Obs.Class == genai.Model && n.Obs.ResponseID != "" {
				responses[n.Obs.ResponseID] = judgedSpan{i, n}
			}
		}
	}
	about := make([][]judgement, len(runs))
	for _, v := range verdicts {
		of, known := spans[place{v.Trace, v.Span}]
		if !known && v.Response != "" {
			of, known = responses[v.Response]
		}
		for i, r := range runs {
			if known && of.run == i || !known && slices.Contains(r.Traces, hex.EncodeToString(v.Trace[:])) {
				_, here := responses[v.Response]
				about[i] = append(about[i], judgement{v, of.node, v.Response != "" && !here})
			}
		}
	}
	for i, r := range runs {
		if r.tape != nil && len(about[i]) > 0 {
			r.tape.Verdicts = r.verdicts(about[i])
		}
	}
}

// judgement is a verdict with the span that it judges, nil for none of the run.
type judgement struct {
	genai.Verdict
	node      *spantree.Node
	elsewhere bool // it names an answer that no run of its trace has
}

// verdicts are what the tape of the run says. They are in order of time. Of several that are equal, or of
// which the id says that they are one, the last one stays.
func (r judgedRun) verdicts(about []judgement) (list []tape.Verdict) {
	seqs := write.SeqsOf(r.tape)
	for _, j := range about {
		list = append(list, r.verdict(j, seqs))
	}
	slices.SortFunc(list, compareVerdicts)
	list = slices.CompactFunc(list, func(a, b tape.Verdict) bool { return compareVerdicts(a, b) == 0 })
	type name struct {
		id, name, span string
		of             tape.VerdictTarget
	}
	nameOf := func(v tape.Verdict) name { return name{v.ID, v.Name, v.SpanID, v.Of} }
	last := map[name]int{}
	for i, v := range list {
		last[nameOf(v)] = i
	}
	var kept []tape.Verdict
	for i, v := range list {
		if v.ID == "" || last[nameOf(v)] == i {
			kept = append(kept, v)
		}
	}
	return kept
}

// verdict is a judgement as the tape of the run says it.
func (r judgedRun) verdict(j judgement, seqs map[string]int) tape.Verdict {
	said := j.Verdict.Verdict
	if j.elsewhere {
		response := exactjson.Member{Name: "gen_ai.response.id", Value: exactjson.StringValue(j.Response)}
		said.Metadata = exactjson.ObjectValue(append(slices.Clone(said.Metadata.Members()), response)...)
	}
	switch {
	case said.Of != tape.OfSpan:
	case j.node == nil && j.Span.IsEmpty() || j.node != nil && j.node.SpanID() == r.RootID():
		said.Of = tape.OfRun
	case j.node == nil:
		said.SpanID = hex.EncodeToString(j.Span[:])
	default:
		said.SpanID = j.node.SpanID()
		if said.Seq = seqs[said.SpanID]; said.Seq > 0 {
			said.Of = tape.OfEvent
		}
	}
	return said
}

// compareVerdicts orders verdicts by time, those without one first.
func compareVerdicts(a, b tape.Verdict) int {
	failed := func(v tape.Verdict) string {
		if v.Error == nil {
			return ""
		}
		return v.Error.Type
	}
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Of, b.Of), cmp.Compare(a.SpanID, b.SpanID), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.ID, b.ID), cmp.Compare(a.Judge, b.Judge), cmp.Compare(a.Value.JSON(), b.Value.JSON()), cmp.Compare(a.Label, b.Label),
		cmp.Compare(a.Explanation, b.Explanation), cmp.Compare(failed(a), failed(b)), cmp.Compare(a.Metadata.JSON(), b.Metadata.JSON()))
}
