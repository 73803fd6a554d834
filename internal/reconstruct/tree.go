// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// placeRule gives the spans of a trace their places.
type placeRule struct {
	id    string
	place func(nodes []*node)
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
	correct func(*node)
}

// spanRules correct one span after the other, the earliest first.
var spanRules = []spanRule{
	{"place/summary-model", handModel},
	{"place/earlier-reason", dropEarlierReason},
	{"place/whole-request", takeWhole},
	{"place/called-loop", readCalledLoop},
	{"place/step-around", readStepAround},
}

// link hangs every node below its parent and returns the local roots.
func link(nodes []*node) []*node {
	for _, rule := range placeRules {
		rule.place(nodes)
	}
	for _, n := range nodes {
		for _, rule := range spanRules {
			rule.correct(n)
		}
	}
	return filter(nodes, func(n *node) bool { return n.up == nil })
}

// byID finds the nodes of a trace by their ids.
func byID(nodes []*node) map[pcommon.SpanID]*node {
	found := make(map[pcommon.SpanID]*node, len(nodes))
	for _, n := range nodes {
		found[n.id] = n
	}
	return found
}

// nameParents finds the parents that spans name, and the only span that names none.
//
// Needs: a parent that came.
// Refuses: a span that names itself.
// Seen in: every trace.
func nameParents(nodes []*node) {
	known := byID(nodes)
	var tops []*node
	for _, n := range nodes {
		switch p := known[n.parent]; {
		case n.parent.IsEmpty() && n.spans > 0:
			tops = append(tops, n)
		case n.parent.IsEmpty():
		case p == nil || p == n:
			n.missing = true
		default:
			n.up = p
		}
	}
	if len(tops) == 1 {
		tops[0].sole = true
	}
}

// hangBelowParents lists the spans below each span, in order of time.
func hangBelowParents(nodes []*node) {
	for _, n := range nodes {
		if n.up != nil {
			n.up.kids = append(n.up.kids, n)
		}
	}
}

// becomeStep makes the span of a call that of a step of the program.
func (n *node) becomeStep() {
	o := *n.obs
	o.Class = genai.Structure
	n.obs = &o
}
