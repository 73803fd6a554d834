// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// byArguments pairs a call with the request of its name and arguments.
//
// Needs: recorded arguments.
// Refuses: ids that say that the two are different calls.
// Seen in: tools whose spans have no ids (ADK, smolagents, LlamaIndex), and no result that was shown.
func (p *pairing) byArguments(t *ledger.Call, a *ledger.Asked) bool {
	return p.isNamed(t, a) && t.Obs.Args.Present() && ledger.SameArgs(t, a)
}

// byArgumentsAlone pairs a call with the request of its arguments, where the span holds a display name or the
// name of a class in place of that of the tool.
//
// Needs: arguments that are not empty.
// Refuses: a name that the conversation knows; ids that say that the two are different calls.
// Seen in: CrewAI under OpenInference, LangChain under Traceloop.
func (p *pairing) byArgumentsAlone(t *ledger.Call, a *ledger.Asked) bool {
	return !p.known[ledger.NameOf(t)] && p.mayDiffer(t, a) && a.Part.Args.Len() > 0 && ledger.SameArgs(t, a)
}
