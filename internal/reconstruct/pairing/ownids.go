// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// failedUnderOwnID pairs a call that failed under an id of its reporter's own, beside an equal call without a
// span.
//
// Needs: the arguments asked for; the name too, or a name that the conversation does not know, beside
// arguments that are not empty or the words of the error in what the model was told.
// Refuses: a result; an id that a response asks with.
// Seen in: failed tools that are named after a class of LangChain (DynamicTool).
func (p *pairing) failedUnderOwnID(t *ledger.Call, a *ledger.Asked) bool {
	if t.Obs.Result.Present() || !t.Obs.Args.Present() || !ledger.SameArgs(t, a) || asksWith(p.Ledger, t.Obs.CallID) {
		return false
	}
	return ledger.NameOf(t) == a.Part.Name || !p.known[ledger.NameOf(t)] &&
		(a.Part.Args.Len() > 0 || a.Shown != nil && chat.WordsOf(t.Obs.Error, a.Shown.Result))
}
