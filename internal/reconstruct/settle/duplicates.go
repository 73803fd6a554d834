// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// DropEqualResponses unites model spans beside each other that tell one answer.
//
// Needs: the same id of an answer, at overlapping times.
// Refuses: the span of a loop and that of its last call.
// Seen in: two instrumentations in one process.
func DropEqualResponses(c *ledger.Ledger) {
	c.Models = joinEqual(c.Models, genai.MergeModel, func(a, b *ledger.Call) bool {
		if a.Obs.ResponseID == "" || a.Obs.ResponseID != b.Obs.ResponseID || !ledger.Overlap(a, b) {
			return false
		}
		loops := spantree.LoopsOver(a.Nodes[0], b.Nodes[0])
		if loops {
			a.Hide(b.Nodes[0])
		}
		return !loops
	})
}

// DropEqualCalls unites tool spans beside each other that tell one call.
//
// Needs: the same id of a call, the same name where both have one, equal arguments, overlapping times.
// Refuses: another agent, as ids such as call_0 come back in each; two spans of one reporter whose answer
// gave the id to several calls.
// Seen in: two instrumentations in one process.
func DropEqualCalls(c *ledger.Ledger) {
	shared := c.SharedIDs()
	c.Tools = joinEqual(c.Tools, genai.Merge, func(a, b *ledger.Call) bool {
		one, two := a.Obs, b.Obs
		return one.CallID != "" && one.CallID == two.CallID && !(shared[one.CallID] && a.Reporter() == b.Reporter()) &&
			(one.Name == two.Name || one.Name == "" || two.Name == "") && ledger.Overlap(a, b) && a.Agent == b.Agent && ledger.SameTool(one, two)
	})
}

// joinEqual unites each call with the first earlier one that is the same. Calls without any id are not
// compared.
func joinEqual(calls []*ledger.Call, merge func(a, b *genai.Report) *genai.Report, same func(a, b *ledger.Call) bool) []*ledger.Call {
	type ids struct{ response, call string }
	byIDs := map[ids][]*ledger.Call{}
	gone := map[*ledger.Call]bool{}
	for _, b := range calls {
		key := ids{b.Obs.ResponseID, b.Obs.CallID}
		if key == (ids{}) {
			continue
		}
		i := slices.IndexFunc(byIDs[key], func(a *ledger.Call) bool { return same(a, b) })
		if i < 0 {
			byIDs[key] = append(byIDs[key], b)
			continue
		}
		a, of := byIDs[key][i], merge
		if isRecordOf(a, b) {
			a, b, byIDs[key][i] = b, a, b
		}
		if isRecordOf(b, a) {
			of = genai.Merge
		}
		a.Obs = of(a.Obs, b.Obs)
		a.AddReport(b.Nodes, b.Notes)
		takeHeld(a, b)
		gone[b] = true
	}
	return slices.DeleteFunc(slices.Clone(calls), func(k *ledger.Call) bool { return gone[k] })
}

// isRecordOf reports a log record beside a span by the same clock. It completes the span.
func isRecordOf(record, span *ledger.Call) bool {
	return InRecords(record) && !InRecords(span) && record.Nodes[0].Span.TraceID() == span.Nodes[0].Span.TraceID()
}

// takeHeld gives a call the agent that another report of it holds.
func takeHeld(t *ledger.Call, from *ledger.Call) {
	if t.Holds == nil {
		t.Holds = from.Holds
	}
}
