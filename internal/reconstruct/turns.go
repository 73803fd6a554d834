// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "github.com/tapedeck/tapedeck/tape"

// readTurns notes for each model call what the next request shows as its answer. A turn closes where that is
// the answer on record. A request of the same agent comes first: another agent may have taken over.
func (c *collector) readTurns() {
	for i, m := range c.models {
		if len(m.request) == 0 || m.obs.RequestLabel == tape.Truncated {
			continue // where a cut request ends is not known
		}
		after := c.models[i+1 : min(len(c.models), i+1+maxPredecessors)]
		m.repeated = nextOf(m, after, func(next *call) bool { return next.agent == m.agent })
		if m.repeated == nil {
			m.repeated = nextOf(m, after, func(*call) bool { return true })
		}
	}
}

// nextOf is what the assistant said right behind the request of a model call, as the next request that
// repeats all its messages shows.
func nextOf(m *call, after []*call, may func(*call) bool) *message {
	sent := afterSystem(m.request)
	for _, next := range after {
		if !may(next) {
			continue
		}
		again := afterSystem(next.request)
		switch {
		case len(sent) == 0 || len(again) < len(sent) || commonPrefix(sent, again) < len(sent):
		case len(again) == len(sent):
			return nil // the same request once more: what follows answers the last attempt
		default:
			return turnAt(again[len(sent):])
		}
	}
	return nil
}
