// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"math"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// tokens are what a model call sent and got.
type tokens struct{ in, out int64 }

// tokensOf are the tokens that a span or a record tells of a call.
func tokensOf(m *ledger.Call) (t tokens, told bool) {
	u := m.Obs.Usage
	if len(m.Nodes) == 0 || u.InputTokens == nil || u.OutputTokens == nil {
		return t, false
	}
	return tokens{*u.InputTokens, *u.OutputTokens}, true
}

// InRecords reports a call that log records alone report.
func InRecords(k *ledger.Call) bool { return len(k.Nodes) > 0 && k.Nodes[0].Spans == 0 }

// JoinRecords unites a model call that log records alone report with the one that a span in another trace
// reports.
//
// Needs: the same tokens at the same time, and no other call of either kind that has them; of several, where
// one side tells no content, the one that began closest. Clocks of two traces may differ: a call of other
// times is taken too if it is the only one with these tokens, and a finding says so.
// Refuses: two answers of different models or ids; two calls of one part.
// Seen in: the event log of Claude Code, whose records lie in another trace than its spans; the transcript of
// Codex beside its spans, which tell no content.
func JoinRecords(c *ledger.Ledger) {
	all := map[tokens][]*ledger.Call{}
	for _, m := range c.Models {
		if k, told := tokensOf(m); told {
			all[k] = append(all[k], m)
		}
	}
	c.Models = slices.DeleteFunc(c.Models, func(m *ledger.Call) bool {
		k, told := tokensOf(m)
		if !told || !InRecords(m) {
			return false
		}
		of, near := sameCall(all[k], m)
		if of == nil || !near && len(all[k]) > 2 {
			return false
		}
		if back, _ := sameCall(all[k], of); back != m {
			return false
		}
		of.Obs = genai.Merge(of.Obs, m.Obs)
		of.Nodes = append(of.Nodes, m.Nodes...)
		of.Notes = slices.Concat(of.Notes, m.Notes)
		if !near {
			of.Note(tape.CodeDuplicateReport, "", "a record in another trace tells the same tokens, at another time")
		}
		return true
	})
}

// sameCall is the only one of several calls in other parts that may be the one that m reports, a span where m
// is a record and a record where it is a span. Calls beside it in time come before all others.
func sameCall(list []*ledger.Call, m *ledger.Call) (of *ledger.Call, near bool) {
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	var fit []*ledger.Call
	for _, k := range list {
		if m.Part == k.Part || InRecords(m) == InRecords(k) || differ(m.Obs.ResponseModel, k.Obs.ResponseModel) || differ(m.Obs.ResponseID, k.Obs.ResponseID) {
			continue
		}
		switch b := ledger.Beside(m, k); {
		case b && !near:
			fit, near = []*ledger.Call{k}, true
		case b == near:
			fit = append(fit, k)
		}
	}
	if near && len(fit) > 1 && (isHollow(m) || !slices.ContainsFunc(fit, func(k *ledger.Call) bool { return !isHollow(k) })) {
		return beganClosest(fit, m), near
	}
	return chat.Only(fit), near
}

// isHollow reports a call that tells neither a request nor an answer.
func isHollow(m *ledger.Call) bool { return len(m.Obs.Request)+len(m.Obs.Response) == 0 }

// beganClosest is the call that began closest to m, nil where two did.
func beganClosest(list []*ledger.Call, m *ledger.Call) (of *ledger.Call) {
	least, twice := uint64(math.MaxUint64), false
	for _, k := range list {
		switch d := ledger.Apart(k.Start, m.Start); {
		case d < least:
			of, least, twice = k, d, false
		case d == least:
			twice = true
		}
	}
	if twice {
		return nil
	}
	return of
}
