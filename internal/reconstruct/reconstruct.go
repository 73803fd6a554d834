// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// Options are what a tape depends on besides its evidence.
type Options struct {
	Producer  tape.Producer
	Tenant    string
	Redaction tape.Redaction
}

// Trace rebuilds the runs of one trace, in order of their start. The tapes are not sealed yet: what is written beside them is not
// known here. A trace without model calls, tool calls or user input holds no run; reason then says why.
func Trace(t evidence.Trace, opts Options) (tapes []*tape.Tape, reason string) {
	nodes, unassigned := load(t.Set)
	if len(nodes) == 0 {
		return nil, "no spans of an agent run"
	}
	frags := divide(link(nodes))
	for _, f := range frags {
		b := &builder{fragment: f, calls: collect(f)}
		if !b.isRun() {
			continue
		}
		tapes = append(tapes, b.build(opts, t.TraceID))
	}
	if len(tapes) == 0 {
		return nil, "neither model calls nor tool calls nor user input"
	}
	if unassigned > 0 {
		first := &builder{tape: tapes[0]}
		first.finding(tape.CodeUnassignedRecords, 0, "", fmt.Sprintf("%s name no span that came", plural(unassigned, "log record")))
		first.sortFindings()
	}
	return tapes, ""
}

func (b *builder) isRun() bool {
	if len(b.calls.models)+len(b.calls.tools) > 0 {
		return true
	}
	root := b.fragment.root
	return root != nil && lastUserText(root.obs.Input) != ""
}

func (b *builder) build(opts Options, traceID string) *tape.Tape {
	b.calls.converse()
	b.ordered = b.calls.order()
	b.tape = &tape.Tape{
		Kind:          tape.Kind,
		SchemaVersion: tape.SchemaVersion,
		Producer:      opts.Producer,
		Redaction:     opts.Redaction,
		Tools:         map[string]tape.Tool{},
		Messages:      map[string]tape.Message{},
	}
	nodes := b.nodes()
	b.identify(nodes, opts.Tenant, traceID)
	b.events()
	b.times()
	b.input()
	b.config()
	b.finish()
	b.usage()
	b.sources(nodes, []string{traceID})
	b.extensions(b.speakers(nodes))
	b.ambiguousKeys()
	b.gaps(nodes)
	b.sortFindings()
	b.grade()
	return b.tape
}

// nodes lists the spans of the run, entry spans above it included, in order.
func (b *builder) nodes() []*node {
	nodes := slices.Clone(b.fragment.entry)
	for _, h := range b.fragment.heads {
		walk(h, func(n *node) bool {
			nodes = append(nodes, n)
			return true
		})
	}
	slices.SortFunc(nodes, compareNodes)
	return nodes
}

// gaps says what the spans themselves say is missing.
func (b *builder) gaps(nodes []*node) {
	adopted := 0
	for _, n := range nodes {
		if n.adopted {
			adopted++
		}
		if !isCall(n) && n.obs.Class != genai.Agent {
			b.notes(0, n.obs.Notes)
		}
	}
	if n := b.fragment.root; n != nil {
		b.notes(0, n.obs.Notes)
	}
	if adopted > 0 {
		b.finding(tape.CodeSpanGap, 0, "", fmt.Sprintf("the parent of %s is no part of the evidence; placed by time", plural(adopted, "span")))
	}
}

// ambiguousKeys says which equal calls of one caller overlap in time without ids that tell them apart.
func (b *builder) ambiguousKeys() {
	type key struct{ caller, name, hash string }
	last := map[key]*call{}
	for i, k := range b.ordered {
		e := b.tape.Events[i]
		if k.kind != tape.EventToolCall || e.ArgsHash == "" {
			continue
		}
		id := key{e.Caller, e.Name, e.ArgsHash}
		if before := last[id]; before != nil && len(before.nodes) > 0 && len(k.nodes) > 0 && overlap(before, k) && e.ToolCallID == "" {
			b.finding(tape.CodeAmbiguousKey, k.seq, "args_hash", "an equal call of the same caller ran at the same time")
		}
		last[id] = k
	}
}
