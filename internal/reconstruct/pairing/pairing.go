// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/reconstruct/settle"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// pairing finds out which response asked for which executed tool call.
type pairing struct {
	*ledger.Ledger
	known     map[string]bool                            // names of tools that the conversation tells
	mayDiffer func(t *ledger.Call, a *ledger.Asked) bool // see IdsMayDiffer
}

// pairRules are the passes of pairing in their order. Ids decide first, then results, arguments, names and
// numbers. A row says what happens where several fit: the latest turn before the call has it (latest),
// nothing is paired but what fits nothing else (alone), or every call of a bundle gets the request at its
// place or none does (inOrder).
var pairRules = rule.Stage[*pairing]{Items: func(p *pairing) []rule.Item { return ledger.Items(p.Ledger) }, Claims: ledger.Claims, Rules: []rule.Rule[*pairing]{
	{ID: "pair/qualified-names", Needs: (*pairing).hasQualified, Apply: (*pairing).shortenNames},
	{ID: "pair/handoff-spans", Needs: (*pairing).hasUnknown, Apply: (*pairing).markHandoffs},
	{ID: "pair/dispatchers", Needs: (*pairing).hasUnknown, Apply: (*pairing).dropDispatchers},
	{ID: "pair/unknown-dispatched", Needs: func(p *pairing) bool { return len(p.known) == 0 }, Apply: (*pairing).openDispatchers},
	{ID: "pair/by-id", Straight: true, Apply: latest((*pairing).byID)},
	{ID: "pair/by-own-outcome", Needs: (*pairing).hasOpen, Apply: alone((*pairing).fewEqualCalls, (*pairing).byOwnOutcome, (*pairing).provesOutcome)},
	{ID: "pair/by-result", Needs: (*pairing).hasOpen, Apply: latest((*pairing).byResult)},
	{ID: "pair/equal-in-order", After: []rule.ID{"pair/by-own-outcome", "pair/by-result"}, Needs: (*pairing).hasOpen, Apply: inOrder((*pairing).equalCalls, (*pairing).equalInOrder, nil)},
	{ID: "pair/dispatched", Needs: (*pairing).hasOpen, Apply: latest((*pairing).dispatched)},
	{ID: "pair/by-arguments", After: []rule.ID{"pair/equal-in-order"}, Needs: (*pairing).hasOpen, Apply: latest((*pairing).byArguments)},
	{ID: "pair/by-arguments-alone", After: []rule.ID{"pair/by-arguments"}, Needs: (*pairing).hasOpen, Apply: latest((*pairing).byArgumentsAlone)},
	{ID: "pair/by-name", After: []rule.ID{"pair/by-arguments"}, Needs: (*pairing).hasOpen, Apply: latest((*pairing).byName)},
	{ID: "pair/failed-under-own-id", After: []rule.ID{"pair/by-own-outcome", "pair/by-result"}, Needs: (*pairing).hasOpen, Apply: latest((*pairing).failedUnderOwnID)},
	{ID: "pair/across-clocks", After: []rule.ID{"pair/by-result"}, Needs: (*pairing).hasOpen, Apply: alone((*pairing).openCalls, (*pairing).acrossClocks, nil)},
	{ID: "pair/by-number", After: []rule.ID{"pair/by-arguments-alone"}, Needs: (*pairing).hasOpen, Apply: inOrder((*pairing).namelessCalls, (*pairing).byNumber, (*bundle).disputeResults)},
	{ID: "pair/stand-ins", Needs: (*pairing).hasOpen, Apply: (*pairing).pairStandIns},
	{ID: "pair/dispatched-content", After: []rule.ID{"pair/dispatched"}, Needs: (*pairing).hasUnknown, Apply: (*pairing).readDispatched},
	{ID: "pair/unasked-dispatched", Needs: (*pairing).hasOpen, Apply: (*pairing).openUnasked},
}}

// hasOpen reports a tool call that is not paired yet.
func (p *pairing) hasOpen() bool {
	return slices.ContainsFunc(p.Tools, func(t *ledger.Call) bool { return t.By == nil && !t.Obs.Handoff })
}

// hasUnknown reports a tool call under a name that the conversation does not tell.
func (p *pairing) hasUnknown() bool {
	return slices.ContainsFunc(p.Tools, func(t *ledger.Call) bool { return !p.known[ledger.NameOf(t)] })
}

// Pair pairs the calls of the run, once the tools by which its models answer are known.
func Pair(c *ledger.Ledger) {
	dropAnswers(c)
	markAnswers(c)
	markRequired(c)
	p := &pairing{c, settle.KnownNames(c), c.IdsMayDiffer()}
	pairRules.Apply(c.Rules, p)
}

// pairWith makes a tool call the one that a response asks for.
func pairWith(t *ledger.Call, a *ledger.Asked) { t.By, a.Tool = a, t }

// latest pairs each call with the first open request that fits it, in the latest turn before it that has one.
// All calls look at the surest turns first, see TurnsBefore.
func latest(fits func(*pairing, *ledger.Call, *ledger.Asked) bool) func(*pairing) {
	return func(p *pairing) {
		for _, before := range ledger.TurnsBefore {
			for _, t := range p.Tools {
				if t.By != nil || t.Obs.Handoff {
					continue
				}
				if a := p.LatestTurn(t, before, func(a *ledger.Asked) bool { return fits(p, t, a) }); a != nil {
					pairWith(t, a)
				}
			}
		}
	}
}

// bundle is a set of open calls, and of the open requests that may be theirs.
type bundle struct {
	tools []*ledger.Call
	asks  []*ledger.Asked
}

// fit says whether a call of a bundle may be the one that a request of it asks for.
type fit = func(*pairing, *bundle, *ledger.Call, *ledger.Asked) bool

// alone pairs a call with the only request that it fits, where that fits no other call. proves, unless nil,
// says whether the two have enough in common.
func alone(among func(*pairing) []*bundle, fits, proves fit) func(*pairing) {
	return func(p *pairing) {
		for _, b := range among(p) {
			of, claims := map[*ledger.Call][]*ledger.Asked{}, map[*ledger.Asked]int{}
			for _, t := range b.tools {
				for _, a := range b.asks {
					if fits(p, b, t, a) {
						of[t] = append(of[t], a)
						claims[a]++
					}
				}
			}
			for t, all := range of {
				if len(all) == 1 && claims[all[0]] == 1 && (proves == nil || proves(p, b, t, all[0])) {
					pairWith(t, all[0])
				}
			}
		}
	}
}

// inOrder pairs the calls of a bundle with the requests at their places, if there are as many and all of them
// fit. paired, unless nil, is called with such a bundle.
func inOrder(among func(*pairing) []*bundle, fits fit, paired func(*bundle)) func(*pairing) {
	return func(p *pairing) {
		for _, b := range among(p) {
			all := len(b.tools) == len(b.asks)
			for i := 0; all && i < len(b.tools); i++ {
				all = fits(p, b, b.tools[i], b.asks[i])
			}
			if !all {
				continue
			}
			for i, t := range b.tools {
				pairWith(t, b.asks[i])
			}
			if paired != nil {
				paired(b)
			}
		}
	}
}

// openCalls are all calls with a span that are not paired, and all requests of recorded model calls that are
// not.
func (p *pairing) openCalls() []*bundle {
	b := &bundle{}
	for _, t := range p.Tools {
		if t.By == nil && !t.Obs.Handoff && len(t.Nodes) > 0 {
			b.tools = append(b.tools, t)
		}
	}
	for a := range p.Asks {
		if a.Tool == nil {
			b.asks = append(b.asks, a)
		}
	}
	return []*bundle{b}
}

// callKey is what calls have in common that no id tells apart.
type callKey struct {
	name, args string
	agent      *ledger.Call
}

func keyOf(name string, args exactjson.Value, agent *ledger.Call) callKey {
	if inner, ok := chat.Decoded(args); ok {
		args = inner
	}
	text, err := args.Canonical()
	if err != nil {
		text = args.JSON()
	}
	return callKey{name, text, agent}
}

// equalCalls are the open calls with arguments and the open requests, those of one agent with one name and
// the same arguments together, in order of time.
func (p *pairing) equalCalls() (bundles []*bundle) {
	equal := map[callKey]*bundle{}
	of := func(name string, args exactjson.Value, agent *ledger.Call) *bundle {
		k := keyOf(name, args, agent)
		if equal[k] == nil {
			equal[k] = &bundle{}
			bundles = append(bundles, equal[k])
		}
		return equal[k]
	}
	open := p.openCalls()[0]
	for _, t := range open.tools {
		if t.Obs.Args.Present() {
			b := of(ledger.NameOf(t), t.Obs.Args.Value, t.Agent)
			b.tools = append(b.tools, t)
		}
	}
	for _, a := range open.asks {
		b := of(a.Part.Name, a.Part.Args, a.Model.Agent)
		b.asks = append(b.asks, a)
	}
	for _, b := range bundles {
		slices.SortStableFunc(b.tools, func(x, y *ledger.Call) int { return cmp.Compare(x.Start, y.Start) })
		slices.SortStableFunc(b.asks, func(x, y *ledger.Asked) int { return cmp.Compare(x.Model.Start, y.Model.Start) })
	}
	return bundles
}
