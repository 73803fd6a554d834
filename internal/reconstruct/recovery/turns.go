// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// ReadTurns notes for each model call what the next request shows as its answer. A turn closes where that is
// the answer on record. A request of the same agent comes first: another agent may have taken over.
func ReadTurns(c *ledger.Ledger) {
	for i, m := range c.Models {
		if len(m.Request) == 0 || m.Obs.RequestLabel == tape.Truncated {
			continue // where a cut request ends is not known
		}
		after := c.Models[i+1 : min(len(c.Models), i+1+ledger.MaxPredecessors)]
		m.Repeated = nextOf(m, after, func(next *ledger.Call) bool { return next.Agent == m.Agent })
		if m.Repeated == nil {
			m.Repeated = nextOf(m, after, func(*ledger.Call) bool { return true })
		}
	}
}

// nextOf is what the assistant said right behind the request of a model call, as the next request that
// repeats all its messages shows.
func nextOf(m *ledger.Call, after []*ledger.Call, may func(*ledger.Call) bool) *chat.Message {
	sent := chat.AfterSystem(m.Request)
	for _, next := range after {
		if !may(next) {
			continue
		}
		again := chat.AfterSystem(next.Request)
		switch {
		case len(sent) == 0 || len(again) < len(sent) || chat.CommonPrefix(sent, again) < len(sent):
		case len(again) == len(sent):
			return nil // the same request once more: what follows answers the last attempt
		default:
			return chat.TurnAt(again[len(sent):])
		}
	}
	return nil
}
