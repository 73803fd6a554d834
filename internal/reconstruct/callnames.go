// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

// byName pairs a call with the request of its name.
//
// Needs: nothing else in common.
// Refuses: arguments that were recorded whole on both sides and differ, unless the turn asks for the tool only once;
// ids that say that the two are different calls.
// Seen in: ADK, whose records of events tell no arguments.
func (p *pairing) byName(t *call, a *asked) bool {
	if !p.isNamed(t, a) {
		return false
	}
	if !t.obs.Args.Present() || t.obs.Args.Label != "" || a.part.Label != "" || a.part.Args.IsAbsent() {
		return true
	}
	return count(a.model.asked, func(other *asked) bool { return other.tool == nil && other.part.Name == a.part.Name }) == 1
}
