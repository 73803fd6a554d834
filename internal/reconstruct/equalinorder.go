// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// equalInOrder pairs equal calls with the requests for them by the order in which each of them began. A clock that is
// a little off would give one of the calls to the turn before.
//
// Needs: several spans of one reporter, and as many requests.
// Refuses: a span that hangs below one of a model call, which ties it to a turn already.
// Seen in: Forge.
func (p *pairing) equalInOrder(b *bundle, t *call, a *asked) bool {
	return len(b.tools) > 1 && (a.model.start <= t.start || t.shift > 0) && p.mayDiffer(t, a) &&
		t.reporter() == b.tools[0].reporter() && !slices.ContainsFunc(p.models, func(m *call) bool { return hangsBelow(m, t) })
}
