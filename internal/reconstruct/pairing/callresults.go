// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// byResult pairs a call with the request of the same name for which a later request shows what the tool
// returned, as it is.
//
// Needs: a recorded result; the arguments asked for, where the span holds any.
// Refuses: ids that say that the two are different calls.
// Seen in: tools whose spans have no ids (ADK, Genkit, CrewAI, LlamaIndex, decorated functions).
func (p *pairing) byResult(t *ledger.Call, a *ledger.Asked) bool {
	return p.isNamed(t, a) && ledger.Returned(t, a) && (!t.Obs.Args.Present() || ledger.SameArgs(t, a)) && chat.SameContent(t.Obs.Result.Value, a.Shown.Result)
}

// isNamed reports a call of the name that a response asks for, where no ids say that it is another one.
func (p *pairing) isNamed(t *ledger.Call, a *ledger.Asked) bool {
	return ledger.NameOf(t) == a.Part.Name && p.mayDiffer(t, a)
}
