// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/reconstruct/divide"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/join"
	"github.com/tapedeck/tapedeck/internal/reconstruct/place"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/internal/reconstruct/write"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// Options are what a tape depends on besides its evidence.
type Options struct {
	Producer tape.Producer
	Tenant   string
	// Redaction is what tapes say of evidence that no marker speaks of.
	Redaction tape.Redaction
	// Replay says what tells replays from production; nil is segregation.Default.
	Replay *segregation.Rules
	// Choice says which rules are applied, for tests, and whether decisions are remembered.
	Choice rule.Choice
	// Explained is told how each tape came about, if Choice.Explain is set.
	Explained func(Explanation)
}

func (o Options) replay() *segregation.Rules {
	if o.Replay == nil {
		return segregation.Default
	}
	return o.Replay
}

// Trace rebuilds the runs of one trace, in order of their start. The tapes are not sealed yet: what is
// written beside them is not known here. A trace without model calls, tool calls or user input holds no run.
// Nor does one of which nothing but the step that handed on the user's message came. The reason then says
// why.
func Trace(t evidence.Trace, opts Options) (tapes []*tape.Tape, reason string) {
	run := &rule.Run{Choice: opts.Choice}
	frags, _, described, unassigned, reason := fragments(run, t)
	index := fragment.NewDescribed(described)
	var judged []judgedRun
	for _, f := range frags {
		f.Describe(index)
		if f.IsBody() {
			reason = "the body of a node of a graph, whose run lies in other traces"
			continue
		}
		tapes = append(tapes, build(run, f, opts))
		judged = append(judged, judgedRun{f, tapes[len(tapes)-1]})
	}
	giveVerdicts(verdictsOf(t), judged)
	if unassigned > 0 && len(tapes) > 0 {
		b := &value.Builder{Tape: tapes[0]}
		b.Finding(tape.CodeUnassignedRecords, 0, "", write.Plural(unassigned, "log record")+" of the trace name no span that came")
		b.Tape.Fidelity.SortFindings()
	}
	if len(tapes) > 0 {
		sayReplay(tapes, t.Set.Verdict(opts.replay()))
	}
	return tapes, reason
}

// fragments finds the runs of one trace, and what it tells of agents apart from them. The fragments in apart
// are messages on their way, and agents that did nothing but send them.
func fragments(run *rule.Run, t evidence.Trace) (frags, apart []*fragment.Fragment, described []*fragment.Description, unassigned int, reason string) {
	nodes, unassigned := spantree.Load(run, t.Set)
	if len(nodes) == 0 {
		return nil, nil, nil, unassigned, "no spans of an agent run"
	}
	spantree.ForgiveBorrowed(nodes)
	names := map[string]bool{}
	seen, lost, handed := fragment.RedactionsOf(t.Set), t.Set.Dropped(), false
	for _, f := range join.Stitch(run, divide.Divide(place.Link(run, nodes), t.TraceID)) {
		isRun := f.IsRun()
		handed = handed || f.HandsOn()
		if !isRun && !f.Relays() {
			continue
		}
		f.Seen, f.Cut, f.Lost = seen, t.Cut, lost
		if !isRun {
			apart = append(apart, f)
			continue
		}
		f.Own = f.Own || names[f.RootID()]
		names[f.RootID()] = true
		frags = append(frags, f)
	}
	switch {
	case len(frags) == 0 && len(apart) > 0:
		reason = "messages between agents, whose run lies in other traces"
	case len(frags) == 0 && handed:
		reason = "a step that handed on what the user said, and nothing that an agent did with it"
	case len(frags) == 0:
		reason = "neither model calls nor tool calls nor user input"
	}
	return frags, apart, fragment.Descriptions(nodes, t, seen), unassigned, reason
}

// build decides the calls and values of a run and writes its tape. Rules of the stages before have been
// remembered by run.
func build(run *rule.Run, f *fragment.Fragment, opts Options) *tape.Tape {
	own := &rule.Run{Choice: opts.Choice}
	b := &value.Builder{Fragment: f, Calls: settled(f, own)}
	converse(b.Calls)
	b.Ordered = write.Order(b.Calls)
	b.OpenEnvelopes()
	b.Tape = &tape.Tape{
		Kind:          tape.Kind,
		SchemaVersion: tape.SchemaVersion,
		Producer:      opts.Producer,
		Redaction:     opts.Redaction,
		Tools:         map[string]tape.Tool{},
		Messages:      map[string]tape.Message{},
	}
	nodes := nodes(b.Fragment)
	speakers := write.Speakers(b, nodes)
	b.Harness = write.HarnessOf(speakers)
	write.Identify(b, nodes, speakers, opts.Tenant, f.Traces[0])
	write.Events(b)
	write.Times(b)
	b.Input()
	b.Config()
	b.Finish()
	write.Usage(b)
	write.Sources(b, nodes, f.Traces)
	write.Extensions(b, speakers)
	write.Conventions(b, nodes)
	write.AmbiguousKeys(b)
	write.Gaps(b, nodes)
	write.Redaction(b, nodes)
	if f.Cut != "" {
		b.Finding(tape.CodeEvidenceCut, 0, "", f.Cut)
	}
	if f.Lost {
		b.Finding(tape.CodeEvidenceDropped, 0, "", "a keep policy had dropped evidence of the trace before this evidence came")
	}
	b.Tape.Fidelity.Rules = rulesOf(run, own, f, nodes)
	oracle.Assess(b.Tape)
	b.Tape.Fidelity.SortFindings()
	if opts.Explained != nil {
		opts.Explained(explain(b, run, own, nodes))
	}
	return b.Tape
}

// nodes lists the spans of the run, entry spans above it included, in order.
func nodes(f *fragment.Fragment) []*spantree.Node {
	nodes := slices.Concat(f.Entry, spantree.SpansOf(f.Heads, func(*spantree.Node) bool { return true }))
	slices.SortFunc(nodes, spantree.CompareNodes)
	return nodes
}
