// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// placeRules say whose child each span is, in their order: what spans name as their parents, then what
// contradicts it, then what times and content tell of the others.
var placeRules = rule.Stage[[]*spantree.Node]{Items: spantree.Items, Claims: spantree.Claims, Rules: []rule.Rule[[]*spantree.Node]{
	{ID: "place/parents", Straight: true, Apply: nameParents},
	{ID: "place/cycles", Straight: true, Needs: anyNode(isBeforeParent), Apply: cutCycles},
	{ID: "place/signed-requests", Needs: anyNode(isUnsigned), Apply: signRequests},
	{ID: "place/turned-over", Needs: anyNode(isAgentInModel), Apply: turnOver},
	{ID: "place/below-parents", Straight: true, Apply: hangBelowParents},
	{ID: "place/orphans", Needs: hasOrphans, Apply: placeOrphans},
	{ID: "place/attempts", After: []rule.ID{"place/orphans"}, Needs: anyNode(isPlacedByTime), Apply: releaseAttempts},
	{ID: "place/held-calls", Needs: anyNode(holdsModelCalls), Apply: giveHeld},
}}

// spanRules correct one span after the other, the earliest first.
var spanRules = rule.Stage[*spantree.Node]{Items: spantree.ItemsBelow, Claims: spantree.Claims, Rules: []rule.Rule[*spantree.Node]{
	{ID: "place/summary-model", Needs: isSummary, Apply: handModel},
	{ID: "place/earlier-reason", Needs: isModelAround, Apply: dropEarlierReason},
	{ID: "place/whole-request", Needs: isModelAround, Apply: takeWhole},
	{ID: "place/called-loop", Needs: isModelAround, Apply: readCalledLoop},
	{ID: "place/step-around", Needs: isModelAround, Apply: readStepAround},
}}

// Link hangs every node below its parent and returns the local roots.
func Link(run *rule.Run, nodes []*spantree.Node) []*spantree.Node {
	placeRules.Apply(run, nodes)
	for _, n := range nodes {
		if len(n.Kids) > 0 {
			spanRules.Apply(run, n)
		}
	}
	return spantree.Filter(nodes, func(n *spantree.Node) bool { return n.Up == nil })
}

func anyNode(is func(*spantree.Node) bool) func([]*spantree.Node) bool {
	return func(nodes []*spantree.Node) bool { return slices.ContainsFunc(nodes, is) }
}

// isModelAround reports the span of a model call with others below it.
func isModelAround(n *spantree.Node) bool { return n.Obs.Class == genai.Model }

// isSummary reports a step that sums up the calls below it, and names their model.
func isSummary(n *spantree.Node) bool {
	return n.Obs.Class == genai.Structure && n.Obs.Summary && n.Obs.Model != ""
}

// nameParents finds the parents that spans name, and the only span that names none.
//
// Needs: a parent that came.
// Refuses: a span that names itself.
// Seen in: every trace.
func nameParents(nodes []*spantree.Node) {
	known := spantree.ByID(nodes)
	var tops []*spantree.Node
	for _, n := range nodes {
		switch p := known[n.Parent]; {
		case n.Parent.IsEmpty() && n.Spans > 0:
			tops = append(tops, n)
		case n.Parent.IsEmpty():
		case p == nil || p == n:
			n.Missing = true
		default:
			n.Up = p
		}
	}
	if len(tops) == 1 {
		tops[0].Sole = true
	}
}

// hangBelowParents lists the spans below each span, in order of time.
func hangBelowParents(nodes []*spantree.Node) {
	for _, n := range nodes {
		if n.Up != nil {
			n.Up.Kids = append(n.Up.Kids, n)
		}
	}
}

// becomeStep makes the span of a call that of a step of the program.
func becomeStep(n *spantree.Node) {
	o := n.Obs.Draft()
	o.Class = genai.Structure
	n.Obs = o.Seal()
}
