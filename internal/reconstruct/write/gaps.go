// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package write

import (
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/tape"
)

// Gaps says what the spans themselves say is missing.
func Gaps(b *value.Builder, nodes []*spantree.Node) {
	unnamed := chat.Count(nodes, func(n *spantree.Node) bool { return n.Adopted && n.Parent.IsEmpty() })
	lost := chat.Count(nodes, func(n *spantree.Node) bool { return n.Adopted }) - unnamed
	cuts := 0
	for _, n := range nodes {
		cuts += n.Obs.Cuts
		if n == b.Fragment.Root || !spantree.IsCall(n) && !spantree.IsAgent(n) {
			b.Notes(0, n.Obs.Notes)
		}
	}
	if cuts > 0 {
		b.Finding(tape.CodeTruncated, 0, "", Plural(cuts, "value")+" may have been cut where a limit on the length of values ends them; none of these is claimed to be whole")
	}
	if cuts > 0 && keepsCut(b, nodes) {
		b.Finding(tape.CodeTruncated, 0, "events", "the conversation that the run kept was cut, and no span of a model call tells how it goes on: calls may be missing")
	}
	if lost > 0 {
		b.Finding(tape.CodeSpanGap, 0, "", fmt.Sprintf("the parent of %s is no part of the evidence; placed by time", Plural(lost, "span")))
	}
	if unnamed > 0 {
		b.Finding(tape.CodeSpanGap, 0, "", Plural(unnamed, "span")+" of a trace without parents, placed by time and content")
	}
}

// keepsCut reports a run without a span of a model call that kept its conversation, and not all of it came.
func keepsCut(b *value.Builder, nodes []*spantree.Node) bool {
	return !slices.ContainsFunc(b.Calls.Models, func(m *ledger.Call) bool { return len(m.Nodes) > 0 }) && slices.ContainsFunc(nodes, func(n *spantree.Node) bool {
		return n.Obs.OutputData.Label == tape.Truncated && len(decode.Transcript(n.Obs.OutputData.Value)) > 0
	})
}

// AmbiguousKeys says which equal calls of one caller overlap in time without ids that tell them apart.
func AmbiguousKeys(b *value.Builder) {
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
