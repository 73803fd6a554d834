// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// placeRule gives the spans of a trace their places.
type placeRule struct {
	id    string
	place func(nodes []*spantree.Node)
}

// placeRules say whose child each span is, in their order: what spans name as their parents, then what contradicts it,
// then what times and content tell of the others.
var placeRules = []placeRule{
	{"place/parents", nameParents},
	{"place/cycles", cutCycles},
	{"place/signed-requests", signRequests},
	{"place/turned-over", turnOver},
	{"place/below-parents", hangBelowParents},
	{"place/orphans", placeOrphans},
	{"place/attempts", releaseAttempts},
	{"place/held-calls", giveHeld},
}

// spanRule corrects what a span says by what lies below it.
type spanRule struct {
	id      string
	correct func(*spantree.Node)
}

// spanRules correct one span after the other, the earliest first.
var spanRules = []spanRule{
	{"place/summary-model", handModel},
	{"place/earlier-reason", dropEarlierReason},
	{"place/whole-request", takeWhole},
	{"place/called-loop", readCalledLoop},
	{"place/step-around", readStepAround},
}

// Link hangs every node below its parent and returns the local roots.
func Link(nodes []*spantree.Node) []*spantree.Node {
	for _, rule := range placeRules {
		rule.place(nodes)
	}
	for _, n := range nodes {
		for _, rule := range spanRules {
			rule.correct(n)
		}
	}
	return spantree.Filter(nodes, func(n *spantree.Node) bool { return n.Up == nil })
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
	o := *n.Obs
	o.Class = genai.Structure
	n.Obs = &o
}
