// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// dropPreparations leaves out model spans that are no call: a step that builds the request of the next one, a
// step that counts tokens again, a piece of an answer.
//
// Needs: a span that tells nothing but one of these, beside the call that it belongs to.
// Refuses: anything that a provider's answer alone can tell; two spans of one name that offer tools.
// Seen in: frameworks that wrap the assembly of a prompt, and chunks of streams whose parent never came.
func (c *collector) dropPreparations() {
	kept := c.models[:0:0]
	for i, m := range c.models {
		switch {
		case prepares(m, c.models[i+1:]):
			c.ignore(m, "model span that prepares a call")
		case restates(m, kept):
			c.ignore(m, "model span that tells the tokens of a call again")
		case strayPiece(m, kept):
			c.ignore(m, "model span that tells a piece of an answer")
		default:
			kept = append(kept, m)
		}
	}
	c.models = kept
}

// prepares reports a span that tells nothing, where the next model span beside it is the call. Several spans
// one in the other may report either.
func prepares(m *call, after []*call) bool {
	if !silent(m.obs) || len(m.nodes) == 0 {
		return false
	}
	n := m.nodes[0]
	i := slices.IndexFunc(after, func(next *call) bool { return siblingsOf(next.nodes[0]) == siblingsOf(n) })
	return i >= 0 && !silent(after[i].obs) && after[i].obs.Model == m.obs.Model && !likeCalls(n, after[i].nodes[0]) && (n.up != nil || !n.parent.IsEmpty())
}

// likeCalls reports two model spans of one instrumentation, one name and offered tools: two calls, of which
// the first tells nothing more.
func likeCalls(a, b *node) bool {
	return a.scope == b.scope && a.span.Name() == b.span.Name() && a.obs.Model != "" && len(a.obs.Tools) > 0
}

// restates reports a span that tells nothing but tokens and the model that used them, as the model call right
// before it told: a step of the framework that counts.
func restates(m *call, before []*call) bool {
	o := m.obs
	if len(m.nodes) == 0 || m.nodes[0].up == nil || !usageKnown(o.Usage) || o.Model != "" || o.ResponseID != "" || failedCall(m) ||
		len(o.Request)+len(o.Response)+len(o.FinishReasons)+len(o.Params) > 0 || o.RequestLabel != "" || o.ResponseLabel != "" {
		return false
	}
	p := lastOf(before, func(p *call) bool { return len(p.nodes) > 0 && p.nodes[0].up == m.nodes[0].up })
	return p != nil && p.end <= m.start && answered(p) && o.ResponseModel == p.obs.ResponseModel && sameTokens(o.Usage, p.obs.Usage)
}

// maxStray is how many model calls before a stray piece are looked at.
const maxStray = 16

// strayPiece reports a span whose parent is no part of the evidence, and that is a piece of the answer of a
// call around it in time, of the same instrumentation.
func strayPiece(m *call, before []*call) bool {
	return len(m.nodes) == 1 && m.nodes[0].missing && slices.ContainsFunc(before[max(0, len(before)-maxStray):], func(whole *call) bool {
		return len(whole.nodes) > 0 && m.nodes[0].within(whole.nodes[0]) && m.nodes[0].scope == whole.nodes[0].scope && isPiece(m.obs, whole.obs)
	})
}
