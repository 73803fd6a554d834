// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/reconstruct/divide"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/join"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
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

// Trace rebuilds the runs of one trace, in order of their start. The tapes are not sealed yet: what is written beside them is not
// known here. A trace without model calls, tool calls or user input holds no run, nor one of which nothing but the step that handed on the user's message came;
// reason then says why.
func Trace(t evidence.Trace, opts Options) (tapes []*tape.Tape, reason string) {
	run := &rule.Run{Choice: opts.Choice}
	frags, _, described, unassigned, reason := fragments(run, t)
	index := fragment.NewDescribed(described)
	for _, f := range frags {
		f.Describe(index)
		if f.IsBody() {
			reason = "the body of a node of a graph, whose run lies in other traces"
			continue
		}
		tapes = append(tapes, build(run, f, opts))
	}
	if unassigned > 0 && len(tapes) > 0 {
		sayUnassigned(tapes[0], unassigned)
	}
	if len(tapes) > 0 {
		sayReplay(tapes, t.Set.Verdict(opts.replay()))
	}
	return tapes, reason
}

// fragments finds the runs of one trace, and what it tells of agents apart from them. apart are messages on their way, and agents that did nothing but send them.
func fragments(run *rule.Run, t evidence.Trace) (frags, apart []*fragment.Fragment, described []*fragment.Description, unassigned int, reason string) {
	nodes, unassigned := spantree.Load(run, t.Set)
	if len(nodes) == 0 {
		return nil, nil, nil, unassigned, "no spans of an agent run"
	}
	spantree.ForgiveBorrowed(nodes)
	names := map[string]bool{}
	seen, handed := fragment.RedactionsOf(t.Set), false
	for _, f := range join.Stitch(run, divide.Divide(place.Link(run, nodes), t.TraceID)) {
		isRun := f.IsRun()
		handed = handed || f.HandsOn()
		if !isRun && !f.Relays() {
			continue
		}
		f.Seen = seen
		f.Cut = t.Cut
		if !isRun {
			apart = append(apart, f)
		} else {
			f.Own = f.Own || names[f.RootID()]
			names[f.RootID()] = true
			frags = append(frags, f)
		}
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

func sayUnassigned(t *tape.Tape, n int) {
	b := &value.Builder{Tape: t}
	b.Finding(tape.CodeUnassignedRecords, 0, "", write.Plural(n, "log record")+" of the trace name no span that came")
	t.Fidelity.SortFindings()
}

// build decides the calls and values of a run and writes its tape. Rules of the stages before have been remembered by run.
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
	nodes := nodes(b)
	b.Harness = write.HarnessOf(write.Speakers(b, nodes))
	write.Identify(b, nodes, opts.Tenant, b.Fragment.Traces[0])
	write.Events(b)
	write.Times(b)
	b.Input()
	b.Config()
	b.Finish()
	write.Usage(b)
	write.Sources(b, nodes, b.Fragment.Traces)
	write.Extensions(b, write.Speakers(b, nodes))
	ambiguousKeys(b)
	gaps(b, nodes)
	write.Redaction(b, nodes)
	if b.Fragment.Cut != "" {
		b.Finding(tape.CodeEvidenceCut, 0, "", b.Fragment.Cut)
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
func nodes(b *value.Builder) []*spantree.Node {
	nodes := slices.Clone(b.Fragment.Entry)
	for _, h := range b.Fragment.Heads {
		spantree.Walk(h, func(n *spantree.Node) bool {
			nodes = append(nodes, n)
			return true
		})
	}
	slices.SortFunc(nodes, spantree.CompareNodes)
	return nodes
}

// gaps says what the spans themselves say is missing.
func gaps(b *value.Builder, nodes []*spantree.Node) {
	lost, unnamed, cuts := 0, 0, 0
	for _, n := range nodes {
		cuts += n.Obs.Cuts
		switch {
		case n.Adopted && n.Parent.IsEmpty():
			unnamed++
		case n.Adopted:
			lost++
		}
		if !spantree.IsCall(n) && n.Obs.Class != genai.Agent {
			b.Notes(0, n.Obs.Notes)
		}
	}
	if n := b.Fragment.Root; n != nil {
		b.Notes(0, n.Obs.Notes)
	}
	if cuts > 0 {
		b.Finding(tape.CodeTruncated, 0, "", write.Plural(cuts, "value")+" may have been cut where a limit on the length of values ends them; none of these is claimed to be whole")
	}
	if cuts > 0 && keepsCut(b, nodes) {
		b.Finding(tape.CodeTruncated, 0, "events", "the conversation that the run kept was cut, and no span of a model call tells how it goes on: calls may be missing")
	}
	if lost > 0 {
		b.Finding(tape.CodeSpanGap, 0, "", fmt.Sprintf("the parent of %s is no part of the evidence; placed by time", write.Plural(lost, "span")))
	}
	if unnamed > 0 {
		b.Finding(tape.CodeSpanGap, 0, "", write.Plural(unnamed, "span")+" of a trace without parents, placed by time and content")
	}
}

// keepsCut reports a run without a span of a model call that kept its conversation, and not all of it came.
func keepsCut(b *value.Builder, nodes []*spantree.Node) bool {
	return !slices.ContainsFunc(b.Calls.Models, func(m *ledger.Call) bool { return len(m.Nodes) > 0 }) && slices.ContainsFunc(nodes, func(n *spantree.Node) bool {
		return n.Obs.OutputData.Label == tape.Truncated && len(decode.Transcript(n.Obs.OutputData.Value)) > 0
	})
}

// ambiguousKeys says which equal calls of one caller overlap in time without ids that tell them apart.
func ambiguousKeys(b *value.Builder) {
	type key struct{ caller, name, hash string }
	last := map[key]*ledger.Call{}
	for i, k := range b.Ordered {
		e := b.Tape.Events[i]
		if k.Kind != tape.EventToolCall || e.ArgsHash == "" {
			continue
		}
		id := key{e.Caller, e.Name, e.ArgsHash}
		if before := last[id]; before != nil && len(before.Nodes) > 0 && len(k.Nodes) > 0 && ledger.Overlap(before, k) && (e.ToolCallID == "" || k.By != nil && k.By.Shared) {
			b.Finding(tape.CodeAmbiguousKey, k.Seq, "args_hash", "an equal call of the same caller ran at the same time")
		}
		last[id] = k
	}
}
