// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// equalInOrder pairs equal calls with the requests for them by the order in which each of them began. A clock
// that is a little off would give one of the calls to the turn before.
//
// Needs: several spans of one reporter, and as many requests.
// Refuses: a span that hangs below one of a model call, which ties it to a turn already.
// Seen in: Forge.
func (p *pairing) equalInOrder(b *bundle, t *ledger.Call, a *ledger.Asked) bool {
	return len(b.tools) > 1 && (a.Model.Start <= t.Start || t.Shift > 0) && p.mayDiffer(t, a) &&
		t.Reporter() == b.tools[0].Reporter() && !slices.ContainsFunc(p.Models, func(m *ledger.Call) bool { return ledger.HangsBelow(m, t) })
}
