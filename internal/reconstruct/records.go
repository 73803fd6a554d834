// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// tokens are what a model call sent and got.
type tokens struct{ in, out int64 }

// tokensOf are the tokens that a span or a record tells of a call.
func tokensOf(m *call) (t tokens, told bool) {
	u := m.obs.Usage
	if len(m.nodes) == 0 || u.InputTokens == nil || u.OutputTokens == nil {
		return t, false
	}
	return tokens{*u.InputTokens, *u.OutputTokens}, true
}

// inRecords reports a call that log records alone report.
func inRecords(k *call) bool { return len(k.nodes) > 0 && k.nodes[0].spans == 0 }

// joinRecords unites a model call that log records alone report with the one that a span in another trace
// reports.
//
// Needs: the same tokens at the same time, and no other call of either kind that has them. Clocks of two
// traces may differ: a call of other times is taken too if it is the only one with these tokens, and a
// finding says so.
// Refuses: two answers of different models or ids; two calls of one part.
// Seen in: the event log of Claude Code, whose records lie in another trace than its spans.
func (c *collector) joinRecords() {
	all := map[tokens][]*call{}
	for _, m := range c.models {
		if k, told := tokensOf(m); told {
			all[k] = append(all[k], m)
		}
	}
	c.models = slices.DeleteFunc(c.models, func(m *call) bool {
		k, told := tokensOf(m)
		if !told || !inRecords(m) {
			return false
		}
		of, near := sameCall(all[k], m)
		if of == nil || !near && len(all[k]) > 2 {
			return false
		}
		if back, _ := sameCall(all[k], of); back != m {
			return false
		}
		of.obs = genai.Merge(of.obs, m.obs)
		of.nodes = append(of.nodes, m.nodes...)
		of.notes = slices.Concat(of.notes, m.notes)
		if !near {
			of.note(tape.CodeDuplicateReport, "", "a record in another trace tells the same tokens, at another time")
		}
		return true
	})
}

// sameCall is the only one of several calls in other parts that may be the one that m reports, a span where m
// is a record and a record where it is a span. Calls beside it in time come before all others.
func sameCall(list []*call, m *call) (of *call, near bool) {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	var fit []*call
	for _, k := range list {
		if m.part == k.part || inRecords(m) == inRecords(k) || differ(m.obs.ResponseModel, k.obs.ResponseModel) || differ(m.obs.ResponseID, k.obs.ResponseID) {
			continue
		}
		switch b := beside(m, k); {
		case b && !near:
			fit, near = []*call{k}, true
		case b == near:
			fit = append(fit, k)
		}
	}
	return onlyOne(fit), near
}
