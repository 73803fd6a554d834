// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// dropClients unites the span of a provider's client with the span of the call that lies around it in time.
//
// Needs: a client's span that tells a model and tokens but no messages; a call of another scope, the same
// model and the same tokens, below the same span or one further down. A call that began after its client, as
// around a stream that is read later, and the client each have to be the only one that fits the other.
// Refuses: calls of which both tell the id of an answer; failed clients.
// Seen in: instrumentations that do not make their span the current one.
func (c *collector) dropClients() {
	clients := slices.DeleteFunc(slices.Clone(c.models), func(m *call) bool { return !isClient(m) })
	joined := map[*call]bool{}
	for _, inner := range clients {
		if outer := callOfClient(inner, c.models, clients); outer != nil {
			outer.join(inner.nodes[0])
			joined[inner] = true
		}
	}
	c.models = slices.DeleteFunc(c.models, func(m *call) bool { return joined[m] })
}

// isClient reports a model call in one span that tells tokens and no messages.
func isClient(m *call) bool {
	return len(m.nodes) == 1 && len(m.obs.Request)+len(m.obs.Response) == 0 && usageKnown(m.obs.Usage) && !failedCall(m)
}

// callOfClient is the first call around a client in time, else the only one that fits, if the client alone
// fits it.
func callOfClient(inner *call, all, clients []*call) *call {
	var fit []*call
	for _, outer := range all {
		if !usesClient(outer, inner) {
			continue
		}
		if outer.start <= inner.start && inner.end <= outer.end {
			return outer
		}
		fit = append(fit, outer)
	}
	if outer := onlyOne(fit); outer != nil && count(clients, func(m *call) bool { return usesClient(outer, m) }) == 1 {
		return outer
	}
	return nil
}

// usesClient reports a call that may be the one that a client made.
func usesClient(outer, inner *call) bool {
	if outer == inner || len(outer.nodes) == 0 || len(outer.obs.Request)+len(outer.obs.Response) == 0 {
		return false
	}
	n, client := outer.nodes[0], inner.nodes[0]
	a, b := outer.obs, inner.obs
	return (siblingsOf(n) == siblingsOf(client) || isAbove(client.up, n)) && n.source.ScopeName != client.source.ScopeName &&
		(a.ResponseID == "" || b.ResponseID == "") && sameModel(a, b) && (sameTokens(a.Usage, b.Usage) || lostTokens(outer)) && overlap(outer, inner)
}

// lostTokens reports a call without tokens whose span lost attributes to the SDK's limit: the tokens may be
// among them.
func lostTokens(m *call) bool {
	return !usageKnown(m.obs.Usage) && m.nodes[0].source.Span.DroppedAttributesCount() > 0
}

// maxAbove bounds how many spans of a framework that are not made current are looked through.
const maxAbove = 16

// isAbove reports that a span stands above another one, not too far up.
func isAbove(up, n *node) bool {
	for steps := 0; up != nil && n != nil && steps < maxAbove; steps++ {
		if n = n.up; n == up {
			return true
		}
	}
	return false
}

// sameModel reports that two records name the same model: the requested one, or the one that answered where
// one of them names no other.
func sameModel(a, b *genai.Observation) bool {
	if a.Model == b.Model {
		return true
	}
	return (a.Model == "" || b.Model == "") && cmp.Or(a.ResponseModel, a.Model) == cmp.Or(b.ResponseModel, b.Model)
}

// sameTokens reports that two records tell the same tokens of a call. No request is without tokens: a stream
// writes 0 where the number came too late.
func sameTokens(a, b tape.Usage) bool {
	equal := func(x, y *int64) bool { return x != nil && y != nil && *x == *y }
	late := a.InputTokens != nil && b.InputTokens != nil && (*a.InputTokens == 0) != (*b.InputTokens == 0)
	return (equal(a.InputTokens, b.InputTokens) || late) && equal(a.OutputTokens, b.OutputTokens)
}
