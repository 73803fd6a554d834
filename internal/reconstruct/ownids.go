// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

// failedUnderOwnID pairs a call that failed under an id of its reporter's own, beside an equal call without a span.
//
// Needs: the arguments asked for; the name too, or a name that the conversation does not know, beside arguments that
// are not empty or the words of the error in what the model was told.
// Refuses: a result; an id that a response asks with.
// Seen in: failed tools that are named after a class of LangChain (DynamicTool).
func (p *pairing) failedUnderOwnID(t *call, a *asked) bool {
	if t.obs.Result.Present() || !t.obs.Args.Present() || !sameArgs(t, a) || p.asksWith(t.obs.CallID) {
		return false
	}
	return nameOf(t) == a.part.Name || !p.known[nameOf(t)] &&
		(a.part.Args.Len() > 0 || a.shown != nil && wordsOf(t.obs.Error, a.shown.Result))
}
