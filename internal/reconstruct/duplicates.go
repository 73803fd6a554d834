// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// dropEqualResponses unites model spans beside each other that tell one answer.
//
// Needs: the same id of an answer, at overlapping times.
// Refuses: the span of a loop and that of its last call.
// Seen in: two instrumentations in one process.
func (c *collector) dropEqualResponses() {
	c.models = joinEqual(c.models, genai.MergeModel, func(a, b *call) bool {
		if a.obs.ResponseID == "" || a.obs.ResponseID != b.obs.ResponseID || !overlap(a, b) {
			return false
		}
		loops := loopsOver(a.nodes[0], b.nodes[0])
		if loops {
			a.hide(b.nodes[0])
		}
		return !loops
	})
}

// dropEqualCalls unites tool spans beside each other that tell one call.
//
// Needs: the same id of a call, the same name where both have one, equal arguments, overlapping times.
// Refuses: another agent, as ids such as call_0 come back in each; two spans of one reporter whose answer
// gave the id to several calls.
// Seen in: two instrumentations in one process.
func (c *collector) dropEqualCalls() {
	shared := c.sharedIDs()
	c.tools = joinEqual(c.tools, genai.Merge, func(a, b *call) bool {
		one, two := a.obs, b.obs
		return one.CallID != "" && one.CallID == two.CallID && !(shared[one.CallID] && a.reporter() == b.reporter()) &&
			(one.Name == two.Name || one.Name == "" || two.Name == "") && overlap(a, b) && a.agent == b.agent && sameTool(one, two)
	})
}

// joinEqual unites each call with the first earlier one that is the same. Calls without any id are not
// compared.
func joinEqual(calls []*call, merge func(a, b *genai.Observation) *genai.Observation, same func(a, b *call) bool) []*call {
	type ids struct{ response, call string }
	byIDs := map[ids][]*call{}
	return slices.DeleteFunc(slices.Clone(calls), func(b *call) bool {
		key := ids{b.obs.ResponseID, b.obs.CallID}
		if key == (ids{}) {
			return false
		}
		i := slices.IndexFunc(byIDs[key], func(a *call) bool { return same(a, b) })
		if i < 0 {
			byIDs[key] = append(byIDs[key], b)
			return false
		}
		a := byIDs[key][i]
		a.obs = merge(a.obs, b.obs)
		a.addReport(b.nodes, b.notes)
		a.takeHeld(b)
		return true
	})
}

// takeHeld gives a call the agent that another report of it holds.
func (t *call) takeHeld(from *call) {
	if t.holds == nil {
		t.holds = from.holds
	}
}
