// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// lastModel is the model call that ended the run: the last one of the run's own agent, else of any. Where
// that one hands over or asks for tools, it is that of an agent that went on after it and answered. An agent
// that is itself a tool answers with a result, and a guardrail answers to the program.
func (b *Builder) lastModel() *ledger.Call {
	last := func(is func(*ledger.Call) bool) *ledger.Call {
		for _, k := range slices.Backward(b.Ordered) {
			if k.Kind == tape.EventModelCall && is(k) && !b.guarding(k) {
				return k
			}
		}
		return nil
	}
	any := last(func(*ledger.Call) bool { return true })
	own := last(func(k *ledger.Call) bool { return k.Agent == nil && !ledger.BelowTool(k) })
	if own == nil { // the loop's own calls may be those of steps
		if own = last(func(k *ledger.Call) bool { return k.Agent == nil }); own != nil {
			own = cmp.Or(last(func(k *ledger.Call) bool { return !ledger.BelowTool(k) && !ledger.IsTool(k.Agent) }), own)
		}
	}
	if own == nil || !ledger.FinalAnswer(own) && own.Response != nil && ledger.FinalAnswer(any) && !ledger.IsTool(any.Agent) {
		return any
	}
	return own
}
