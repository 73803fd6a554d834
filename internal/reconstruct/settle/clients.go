// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// DropClients unites the span of a provider's client with the span of the call that lies around it in time.
//
// Needs: a client's span that tells a model and tokens but no messages; a call of another scope, the same
// model and the same tokens, below the same span or one further down. A call that began after its client, as
// around a stream that is read later, and the client each have to be the only one that fits the other.
// Refuses: calls of which both tell the id of an answer; failed clients.
// Seen in: instrumentations that do not make their span the current one.
func DropClients(c *ledger.Ledger) {
	clients := slices.DeleteFunc(slices.Clone(c.Models), func(m *ledger.Call) bool { return !IsClient(m) })
	joined := map[*ledger.Call]bool{}
	for _, inner := range clients {
		if outer := callOfClient(inner, c.Models, clients); outer != nil {
			outer.Join(inner.Nodes[0])
			joined[inner] = true
		}
	}
	c.Models = slices.DeleteFunc(c.Models, func(m *ledger.Call) bool { return joined[m] })
}

// IsClient reports a model call in one span that tells tokens and no messages.
func IsClient(m *ledger.Call) bool {
	return len(m.Nodes) == 1 && len(m.Obs.Request)+len(m.Obs.Response) == 0 && chat.UsageKnown(m.Obs.Usage) && !ledger.FailedCall(m)
}

// callOfClient is the first call around a client in time, else the only one that fits, if the client alone
// fits it.
func callOfClient(inner *ledger.Call, all, clients []*ledger.Call) *ledger.Call {
	var fit []*ledger.Call
	for _, outer := range all {
		if !usesClient(outer, inner) {
			continue
		}
		if outer.Start <= inner.Start && inner.End <= outer.End {
			return outer
		}
		fit = append(fit, outer)
	}
	if outer := chat.Only(fit); outer != nil && chat.Count(clients, func(m *ledger.Call) bool { return usesClient(outer, m) }) == 1 {
		return outer
	}
	return nil
}

// usesClient reports a call that may be the one that a client made.
func usesClient(outer, inner *ledger.Call) bool {
	if outer == inner || len(outer.Nodes) == 0 || len(outer.Obs.Request)+len(outer.Obs.Response) == 0 {
		return false
	}
	n, client := outer.Nodes[0], inner.Nodes[0]
	a, b := outer.Obs, inner.Obs
	return (spantree.SiblingsOf(n) == spantree.SiblingsOf(client) || spantree.CloseBelow(n, client.Up)) && n.Source.ScopeName != client.Source.ScopeName &&
		(a.ResponseID == "" || b.ResponseID == "") && spantree.SameModel(a, b) && (sameTokens(a.Usage, b.Usage) || lostTokens(outer)) && ledger.Overlap(outer, inner)
}

// lostTokens reports a call without tokens whose span lost attributes to the SDK's limit: the tokens may be
// among them.
func lostTokens(m *ledger.Call) bool {
	return !chat.UsageKnown(m.Obs.Usage) && m.Nodes[0].Source.Span.DroppedAttributesCount() > 0
}

// sameTokens reports that two records tell the same tokens of a call. No request is without tokens: a stream
// writes 0 where the number came too late.
func sameTokens(a, b tape.Usage) bool {
	equal := func(x, y *int64) bool { return x != nil && y != nil && *x == *y }
	late := a.InputTokens != nil && b.InputTokens != nil && (*a.InputTokens == 0) != (*b.InputTokens == 0)
	return (equal(a.InputTokens, b.InputTokens) || late) && equal(a.OutputTokens, b.OutputTokens)
}
