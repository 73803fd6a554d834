// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/pairing"
	"github.com/tapedeck/tapedeck/internal/reconstruct/recovery"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/reconstruct/settle"
)

// settleRules leave one call for each real one.
var settleRules = rule.Stage[*ledger.Ledger]{Items: ledger.Items, Claims: ledger.Claims, Rules: []rule.Rule[*ledger.Ledger]{
	{ID: "recover/states", Needs: ledger.NoCalls, Apply: recovery.RecoverFromStates},
	{ID: "recover/states-around-tools", Needs: ledger.NoModels, Apply: recovery.RecoverAroundTools},
	{ID: "recover/posted-messages", Needs: ledger.NoModels, Apply: func(c *ledger.Ledger) { recovery.RecoverPosted(c, c.Run) }},
	{ID: "recover/workflow-steps", Needs: ledger.NoCalls, Apply: func(c *ledger.Ledger) { recovery.RecoverStepped(c, c.Run) }},
	{ID: "recover/run-span", Needs: ledger.NoCalls, Apply: recovery.RecoverUnreported},
	{ID: "read/order-of-calls", Straight: true, Apply: (*ledger.Ledger).SortCalls},
	{ID: "settle/equal-responses", Needs: ledger.EqualResponseIDs, Apply: settle.DropEqualResponses},
	{ID: "settle/told-elsewhere", Needs: ledger.AnyCall(ledger.TellsElsewhere), Apply: settle.DropToldElsewhere},
	{ID: "settle/clients", Needs: ledger.AnyModel(settle.IsClient), Apply: settle.DropClients},
	{ID: "settle/repeated-requests", Needs: ledger.AnyModel(settle.TellsRequestAlone), Apply: settle.DropRepeats},
	{ID: "settle/equal-calls", Needs: ledger.EqualCallIDs, Apply: settle.DropEqualCalls},
	{ID: "settle/log-records", After: []rule.ID{"settle/equal-responses"}, Needs: ledger.AnyModel(settle.InRecords), Apply: settle.JoinRecords},
	{ID: "settle/preparations", Needs: ledger.AnyModel(ledger.MayBeNoCall), Apply: settle.DropPreparations},
	{ID: "settle/echoes", Needs: ledger.AnyTool(settle.NamesClass), Apply: settle.DropEchoes},
	{ID: "settle/waits", After: []rule.ID{"settle/equal-calls"}, Needs: ledger.EqualCallIDs, Apply: settle.DropWaits},
	{ID: "recover/thrown", Needs: ledger.FailedRun, Apply: recovery.RecoverThrown},
}}

// recoverRules read the conversation, and find in it what no span holds.
var recoverRules = rule.Stage[*ledger.Ledger]{Items: ledger.Items, Claims: ledger.Claims, Rules: []rule.Rule[*ledger.Ledger]{
	{ID: "pair/clocks", Needs: settle.HasLateTools, Apply: settle.SetClocks},
	{ID: "read/conversations", Straight: true, Apply: (*ledger.Ledger).ReadConversations},
	{ID: "recover/earlier-answers", Needs: ledger.AsksTwice, Apply: recovery.DropEarlierAnswers},
	{ID: "recover/glued-results", Needs: ledger.ShowsGlued, Apply: recovery.SplitGlued},
	{ID: "recover/followed-answers", Needs: ledger.AnyModel(ledger.IsFollowed), Apply: recovery.ReadFollowed},
	{ID: "recover/overwritten-calls", Needs: ledger.AnyModel(ledger.IsHeld), Apply: recovery.RecoverHeld},
	{ID: "read/order-of-models", Straight: true, Apply: (*ledger.Ledger).SortModels},
	{ID: "recover/chained-requests", Needs: ledger.AnyModel(recovery.GoesOnAfter), Apply: recovery.ChainRequests},
	{ID: "recover/broken-calls", Needs: ledger.AnyModel(recovery.IsBroken), Apply: recovery.RecoverBroken},
	{ID: "read/resent-messages", Straight: true, Apply: recovery.Align},
	{ID: "read/turns", Straight: true, Apply: recovery.ReadTurns},
	{ID: "recover/responses", Needs: ledger.AnyModel(recovery.IsOpen), Apply: recovery.RecoverResponses},
	{ID: "recover/between-requests", Needs: ledger.ShowsUnknownCalls, Apply: recovery.RecoverBetween},
	{ID: "recover/before-first", Needs: ledger.FirstShowsAnswer, Apply: recovery.RecoverBefore},
	{ID: "read/order-of-recovered", Straight: true, Apply: (*ledger.Ledger).SortModels},
	{ID: "recover/behind-last", Needs: ledger.EndsWithCalls, Apply: recovery.RecoverBehind},
	{ID: "read/states", Straight: true, Apply: recovery.SortStates},
	{ID: "recover/transcripts", Needs: ledger.HasStatesAnd(ledger.LacksCalls), Apply: recovery.ReadTranscripts},
	{ID: "recover/handed-answers", Needs: ledger.HasStatesAnd(ledger.LacksCalls), Apply: recovery.ReadHanded},
	{ID: "pair/echoed-answers", Needs: ledger.HasStates, Apply: pairing.MarkEchoed},
	{ID: "read/asked-calls", Straight: true, Apply: (*ledger.Ledger).ListAsked},
}}

// outcomeRules tell which response asked for which tool call, and what became of it.
var outcomeRules = rule.Stage[*ledger.Ledger]{Items: ledger.Items, Claims: ledger.Claims, Rules: []rule.Rule[*ledger.Ledger]{
	{ID: "pair/shown-results", Straight: true, Needs: ledger.AnyModel(ledger.AsksForTools), Apply: pairing.FindResults},
	{ID: "pair/results-behind", Needs: ledger.AnyModel(ledger.IsFollowed), Apply: recovery.ResultsBehind},
	{ID: "recover/loop-states", Needs: ledger.HasStatesAnd(recovery.IsOpenLoop), Apply: recovery.ReadLoops},
	{ID: "pair/calls", Straight: true, Apply: pairing.Pair},
	{ID: "recover/loop-answers", Needs: ledger.AnyModel(func(m *ledger.Call) bool { return recovery.EndOfCalls(m) > 0 }), Apply: recovery.AnswerLoops},
	{ID: "settle/class-names", Needs: ledger.AnyTool(ledger.IsUnasked), Apply: settle.NameClasses},
	{ID: "pair/functions", Needs: ledger.HasFunctions, Apply: pairing.PairFunctions},
	{ID: "pair/unnamed-calls", Needs: ledger.HasFunctions, Apply: pairing.TakeUnnamed},
	{ID: "pair/unasked-results", Needs: ledger.AnyTool(ledger.IsUnasked), Apply: pairing.ShowUnasked},
	{ID: "pair/helper-functions", Needs: ledger.AnyTool(ledger.IsUnasked), Apply: pairing.DropFunctions},
	{ID: "settle/second-reports", Needs: ledger.AnyTool(ledger.IsUnasked), Apply: settle.DropSecondReports},
	{ID: "pair/failures", Needs: ledger.AnyTool(ledger.FailedCall), Apply: settle.NameFailures},
	{ID: "pair/payloads", Needs: ledger.AnyTool(ledger.HasPayloads), Apply: pairing.SettlePayloads},
	{ID: "pair/told-results", After: []rule.ID{"pair/payloads"}, Needs: ledger.AnyTool(pairing.HasRecord), Apply: pairing.TakeTold},
	{ID: "pair/hand-offs", Needs: ledger.AnyTool(ledger.IsHandoff), Apply: func(c *ledger.Ledger) { c.HandedOver = pairing.Handoffs(c) }},
	{ID: "recover/unexecuted-calls", After: []rule.ID{"pair/functions", "pair/hand-offs", "settle/second-reports"}, Needs: ledger.AnyModel(ledger.IsUnexecuted), Apply: recovery.RecoverCalls},
	{ID: "recover/delegations", After: []rule.ID{"recover/unexecuted-calls"}, Needs: ledger.HasAgents, Apply: recovery.DelegateRecovered},
	{ID: "pair/delegations", After: []rule.ID{"recover/unexecuted-calls"}, Needs: ledger.HasAgents, Apply: func(c *ledger.Ledger) { pairing.Delegations(c, c.HandedOver) }},
	{ID: "read/server-calls", Straight: true, Needs: ledger.AnyModel(recovery.HoldsServerCalls), Apply: recovery.ReadServerCalls},
}}

// settled gathers the calls of a run, one for each real one.
func settled(f *fragment.Fragment, run *rule.Run) *ledger.Ledger {
	c := ledger.Collect(f)
	c.Rules = run
	settleRules.Apply(run, c)
	return c
}

// converse reads the conversation of the run and says which response asked for which tool call.
func converse(c *ledger.Ledger) {
	recoverRules.Apply(c.Rules, c)
	outcomeRules.Apply(c.Rules, c)
}
