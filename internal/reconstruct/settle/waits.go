// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// DropWaits unites a tool call that only waited, for a person or a resume, with the same call when it ran.
//
// Needs: the same id and name; a span that says that the call waited, or an earlier part of a joined run.
// Refuses: a call with a result, or one that holds an agent.
// Seen in: LangGraph, whose tools may interrupt a run.
func DropWaits(c *ledger.Ledger) {
	type key struct{ id, name string }
	later := map[key]*ledger.Call{}
	kept := c.Tools[:0:0]
	for _, waited := range slices.Backward(c.Tools) {
		k := key{waited.Obs.CallID, waited.Obs.Name}
		t := later[k]
		if k.id == "" || t == nil || t.Part <= waited.Part && waited.Obs.Waiting == "" || waited.Obs.Result.Present() || waited.Holds != nil {
			later[k] = waited
			kept = append(kept, waited)
			continue
		}
		t.Nodes = slices.Concat(waited.Nodes, t.Nodes)
		if !t.Obs.Args.Present() {
			o := t.Obs.Draft()
			o.Args = waited.Obs.Args
			t.Obs = o.Seal()
		}
		t.Note(tape.CodeDuplicateReport, "", "it waited, and ran when the run was resumed")
	}
	slices.Reverse(kept)
	c.Tools = kept
}
