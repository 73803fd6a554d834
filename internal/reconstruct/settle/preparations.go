// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// DropPreparations leaves out model spans that are no call: a step that builds the request of the next one, a
// step that counts tokens again, a piece of an answer.
//
// Needs: a span that tells nothing but one of these, beside the call that it belongs to.
// Refuses: anything that a provider's answer alone can tell; two spans of one name that offer tools.
// Seen in: frameworks that wrap the assembly of a prompt, and chunks of streams whose parent never came.
func DropPreparations(c *ledger.Ledger) {
	kept := c.Models[:0:0]
	for i, m := range c.Models {
		switch {
		case prepares(m, c.Models[i+1:]):
			c.Ignore(m, "model span that prepares a call")
		case restates(m, kept):
			c.Ignore(m, "model span that tells the tokens of a call again")
		case strayPiece(m, kept):
			c.Ignore(m, "model span that tells a piece of an answer")
		default:
			kept = append(kept, m)
		}
	}
	c.Models = kept
}

// prepares reports a span that tells nothing, where the next model span beside it is the call. Several spans
// one in the other may report either.
func prepares(m *ledger.Call, after []*ledger.Call) bool {
	if !spantree.Silent(m.Obs) || len(m.Nodes) == 0 {
		return false
	}
	n := m.Nodes[0]
	i := slices.IndexFunc(after, func(next *ledger.Call) bool { return spantree.SiblingsOf(next.Nodes[0]) == spantree.SiblingsOf(n) })
	return i >= 0 && !spantree.Silent(after[i].Obs) && after[i].Obs.Model == m.Obs.Model && !likeCalls(n, after[i].Nodes[0]) && (n.Up != nil || !n.Parent.IsEmpty())
}

// likeCalls reports two model spans of one instrumentation, one name and offered tools: two calls, of which
// the first tells nothing more.
func likeCalls(a, b *spantree.Node) bool {
	return a.Scope == b.Scope && a.Span.Name() == b.Span.Name() && a.Obs.Model != "" && len(a.Obs.Tools) > 0
}

// restates reports a span that tells nothing but tokens and the model that used them, as the model call right
// before it told: a step of the framework that counts.
func restates(m *ledger.Call, before []*ledger.Call) bool {
	o := m.Obs
	if len(m.Nodes) == 0 || m.Nodes[0].Up == nil || !chat.UsageKnown(o.Usage) || o.Model != "" || o.ResponseID != "" || ledger.FailedCall(m) ||
		len(o.Request)+len(o.Response)+len(o.FinishReasons)+len(o.Params) > 0 || o.RequestLabel != "" || o.ResponseLabel != "" {
		return false
	}
	p := chat.LastOf(before, func(p *ledger.Call) bool { return len(p.Nodes) > 0 && p.Nodes[0].Up == m.Nodes[0].Up })
	return p != nil && p.End <= m.Start && ledger.Answered(p) && o.ResponseModel == p.Obs.ResponseModel && sameTokens(o.Usage, p.Obs.Usage)
}

// maxStray is how many model calls before a stray piece are looked at.
const maxStray = 16

// strayPiece reports a span whose parent is no part of the evidence, and that is a piece of the answer of a
// call around it in time, of the same instrumentation.
func strayPiece(m *ledger.Call, before []*ledger.Call) bool {
	return len(m.Nodes) == 1 && m.Nodes[0].Missing && slices.ContainsFunc(before[max(0, len(before)-maxStray):], func(whole *ledger.Call) bool {
		return len(whole.Nodes) > 0 && m.Nodes[0].Within(whole.Nodes[0]) && m.Nodes[0].Scope == whole.Nodes[0].Scope && spantree.IsPiece(m.Obs, whole.Obs)
	})
}
