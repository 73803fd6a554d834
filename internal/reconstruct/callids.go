// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

// byID pairs a call with the request of its id.
//
// Needs: an id that no other call of the answer has.
// Refuses: an id that several calls of one answer have, see markShared.
// Seen in: AutoGen, Gemini CLI, Mastra, Strands, VoltAgent, LangChain, the AI SDK.
func (p *pairing) byID(t *call, a *asked) bool { return hasID(t, a) }

// hasID reports that the id of a tool call is that of a request, and of no other of the same answer.
func hasID(t *call, a *asked) bool {
	return t.obs.CallID != "" && t.obs.CallID == a.part.ID && !a.shared
}

// asksWith reports an id with which a response of the run asks for a call.
func (c *collector) asksWith(id string) bool {
	for a := range c.asks {
		if a.part.ID == id {
			return true
		}
	}
	return false
}

// idsMayDiffer returns a function that says whether a tool call may be a requested call although their ids differ.
// This is so if one of them has no id, or if the reporter of the tool call numbers calls in its own way. Such a
// reporter writes no id in the run that a response asks with.
func (c *collector) idsMayDiffer() func(t *call, a *asked) bool {
	ids := map[string]bool{}
	for a := range c.asks {
		ids[a.part.ID] = true
	}
	meet := map[reporter]bool{}
	for _, t := range c.tools {
		if t.obs.CallID != "" && ids[t.obs.CallID] {
			meet[t.reporter()] = true
		}
	}
	return func(t *call, a *asked) bool {
		differ := t.obs.CallID != "" && a.part.ID != "" && !(a.shared && t.obs.CallID == a.part.ID)
		return !(differ && meet[t.reporter()]) && !toldBefore(t, a)
	}
}

// toldBefore reports a request whose answer, another than the tool's, a model had been told before the tool began.
// The tool call is that of a later turn then, of which nothing but this span is left.
func toldBefore(t *call, a *asked) bool {
	return a.shown != nil && a.by != nil && a.by != a.model && a.by.end < t.start && t.shift == 0 &&
		t.obs.Result.Present() && undamaged(t.obs.Result.Label) && a.shown.Label == "" && !returned(t, a)
}
