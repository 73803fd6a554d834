// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// dropWaits unites a tool call that only waited, for a person or a resume, with the same call when it ran.
//
// Needs: the same id and name; a span that says that the call waited, or an earlier part of a joined run.
// Refuses: a call with a result, or one that holds an agent.
// Seen in: LangGraph, whose tools may interrupt a run.
func (c *collector) dropWaits() {
	type key struct{ id, name string }
	later := map[key]*call{}
	kept := c.tools[:0:0]
	for _, waited := range slices.Backward(c.tools) {
		k := key{waited.obs.CallID, waited.obs.Name}
		t := later[k]
		if k.id == "" || t == nil || t.part <= waited.part && !waited.obs.Interrupted || waited.obs.Result.Present() || waited.holds != nil {
			later[k] = waited
			kept = append(kept, waited)
			continue
		}
		t.nodes = slices.Concat(waited.nodes, t.nodes)
		if !t.obs.Args.Present() {
			o := *t.obs
			o.Args = waited.obs.Args
			t.obs = &o
		}
		t.note(tape.CodeDuplicateReport, "", "it waited, and ran when the run was resumed")
	}
	slices.Reverse(kept)
	c.tools = kept
}
