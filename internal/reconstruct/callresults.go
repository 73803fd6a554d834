// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

// byResult pairs a call with the request of the same name for which a later request shows what the tool returned, as
// it is.
//
// Needs: a recorded result; the arguments asked for, where the span holds any.
// Refuses: ids that say that the two are different calls.
// Seen in: tools whose spans have no ids (ADK, Genkit, CrewAI, LlamaIndex, decorated functions).
func (p *pairing) byResult(t *call, a *asked) bool {
	return p.byEnvelopedResult(t, a) && sameContent(t.obs.Result.Value, a.shown.Result)
}

// byEnvelopedResult does so where the result, or what was shown of it, stands within an envelope.
func (p *pairing) byEnvelopedResult(t *call, a *asked) bool {
	return p.isNamed(t, a) && returned(t, a) && (!t.obs.Args.Present() || sameArgs(t, a))
}

// isNamed reports a call of the name that a response asks for, where no ids say that it is another one.
func (p *pairing) isNamed(t *call, a *asked) bool {
	return nameOf(t) == a.part.Name && p.mayDiffer(t, a)
}
