// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

// A ledgerRule is one pass over the calls of a run. It reads what the spans tell straight, or repairs or
// infers something. A run without what the rule needs skips the rule, which would change nothing.
type ledgerRule struct {
	id    string                // the stage, and what is read or repaired
	needs func(*collector) bool // nil: nothing that can be told at less cost than that of the rule
	apply func(*collector)
}

// apply runs rules in order. What one of them changes, those behind it see.
func (c *collector) apply(rules []ledgerRule) {
	for _, r := range rules {
		if r.needs == nil || r.needs(c) {
			r.apply(c)
		}
	}
}

// settleRules leave one call for each real one.
var settleRules = []ledgerRule{
	{"recover/states", noCalls, (*collector).recoverFromStates},
	{"recover/states-around-tools", noModels, (*collector).recoverAroundTools},
	{"recover/posted-messages", noModels, func(c *collector) { c.recoverPosted(c.run) }},
	{"recover/workflow-steps", noCalls, func(c *collector) { c.recoverStepped(c.run) }},
	{"recover/run-span", noCalls, (*collector).recoverUnreported},
	{"read/order-of-calls", nil, (*collector).sortCalls},
	{"settle/equal-responses", equalResponseIDs, (*collector).dropEqualResponses},
	{"settle/told-elsewhere", anyCall(tellsElsewhere), (*collector).dropToldElsewhere},
	{"settle/clients", anyModel(isClient), (*collector).dropClients},
	{"settle/repeated-requests", anyModel(tellsRequestAlone), (*collector).dropRepeats},
	{"settle/equal-calls", equalCallIDs, (*collector).dropEqualCalls},
	{"settle/log-records", anyModel(inRecords), (*collector).joinRecords},
	{"settle/preparations", anyModel(mayBeNoCall), (*collector).dropPreparations},
	{"settle/echoes", anyTool(namesClass), (*collector).dropEchoes},
	{"settle/waits", equalCallIDs, (*collector).dropWaits},
	{"recover/thrown", failedRun, (*collector).recoverThrown},
}

// recoverRules read the conversation, and find in it what no span holds.
var recoverRules = []ledgerRule{
	{"pair/clocks", hasTools, (*collector).setClocks},
	{"read/conversations", nil, (*collector).readConversations},
	{"recover/earlier-answers", asksTwice, (*collector).dropEarlierAnswers},
	{"recover/glued-results", showsGlued, (*collector).splitGlued},
	{"recover/followed-answers", anyModel(isFollowed), (*collector).readFollowed},
	{"recover/overwritten-calls", anyModel(isHeld), (*collector).recoverHeld},
	{"read/order-of-models", nil, (*collector).sortModels},
	{"recover/broken-calls", anyModel(isBroken), (*collector).recoverBroken},
	{"read/resent-messages", nil, (*collector).align},
	{"read/turns", nil, (*collector).readTurns},
	{"recover/responses", anyModel(isOpen), (*collector).recoverResponses},
	{"recover/between-requests", showsUnknownCalls, (*collector).recoverBetween},
	{"recover/before-first", firstShowsAnswer, (*collector).recoverBefore},
	{"read/order-of-recovered", nil, (*collector).sortModels},
	{"recover/behind-last", endsWithCalls, (*collector).recoverBehind},
	{"read/states", nil, (*collector).sortStates},
	{"recover/transcripts", hasStatesAnd(lacksCalls), (*collector).readTranscripts},
	{"recover/handed-answers", hasStatesAnd(lacksCalls), (*collector).readHanded},
	{"pair/echoed-answers", hasStates, (*collector).markEchoed},
	{"read/asked-calls", nil, (*collector).listAsked},
}

// outcomeRules tell which response asked for which tool call, and what became of it.
var outcomeRules = []ledgerRule{
	{"pair/shown-results", anyModel(asksForTools), (*collector).findResults},
	{"pair/results-behind", anyModel(isFollowed), (*collector).resultsBehind},
	{"recover/loop-states", hasStatesAnd(isOpenLoop), (*collector).readLoops},
	{"pair/calls", nil, (*collector).pair},
	{"recover/loop-answers", anyModel(func(m *call) bool { return endOfCalls(m) > 0 }), (*collector).answerLoops},
	{"settle/class-names", anyTool(isUnasked), (*collector).nameClasses},
	{"pair/functions", hasFunctions, (*collector).pairFunctions},
	{"pair/unnamed-calls", hasFunctions, (*collector).takeUnnamed},
	{"pair/unasked-results", anyTool(isUnasked), (*collector).showUnasked},
	{"pair/helper-functions", anyTool(isUnasked), (*collector).dropFunctions},
	{"settle/second-reports", anyTool(isUnasked), (*collector).dropSecondReports},
	{"pair/failures", anyTool(failedCall), (*collector).nameFailures},
	{"pair/payloads", hasTools, (*collector).settlePayloads},
	{"pair/reordered-results", anyModel(asksForTools), (*collector).tellShown},
	{"pair/hand-offs", hasTools, func(c *collector) { c.handedOver = c.handoffs() }},
	{"recover/unexecuted-calls", anyModel(isUnexecuted), (*collector).recoverCalls},
	{"recover/delegations", hasAgents, (*collector).delegateRecovered},
	{"pair/delegations", hasAgents, func(c *collector) { c.delegations(c.handedOver) }},
}

// settled gathers the calls of a run, one for each real one.
func settled(f *fragment) *collector {
	c := collect(f)
	c.apply(settleRules)
	return c
}

// converse reads the conversation of the run and says which response asked for which tool call.
func (c *collector) converse() {
	c.apply(recoverRules)
	c.apply(outcomeRules)
}
