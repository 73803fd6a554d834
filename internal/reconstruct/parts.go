// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// part is a fragment as the joining stage sees it: what the rules ask of it, read in one walk over its spans.
type part struct {
	*fragment
	service  string  // the name of the service of its first span
	earliest *node   // its first span
	end      uint64  // when the last of its spans ended, by the clock of its trace
	turns    []*turn // its model calls, in order of time
	models   []*node // all spans of model calls, also those that stand for a loop of calls, in order of time
	tools    []*node // its tool calls that no other one encloses, in order of time

	place int       // among all parts, in order of time
	above *part     // an earlier part of the same run; nil: this is the first
	whys  []string  // what united the run, kept by its first part
	asked *string   // see userText
	facts joinFacts // those that its spans tell
}

// turn is a model call in its conversation.
type turn struct {
	f       *part
	n       *node
	service string
	sent    []*message // without instructions
	done    bool       // another call goes on with it
}

func newPart(f *fragment) *part {
	p := &part{fragment: f, earliest: f.first()}
	p.service = serviceName(p.earliest)
	for _, h := range f.heads {
		p.read(h, false, false)
	}
	slices.SortFunc(p.turns, compareTurns)
	slices.SortFunc(p.models, compareNodes)
	slices.SortFunc(p.tools, compareNodes)
	return p
}

// read takes a span and all below it. inCall and inTool say that a model call, or a tool call, encloses them.
func (p *part) read(n *node, inCall, inTool bool) {
	p.end = max(p.end, n.end)
	if n.obs.Relay || n.up != nil && n.up.obs.Relay {
		p.facts |= relaysPosts
	}
	if n.obs.InvocationID != "" {
		p.facts |= namesRun
	}
	switch n.obs.Class {
	case genai.Model:
		p.models = append(p.models, n)
		if len(n.kids) > 0 && len(n.obs.Offered) > 0 {
			p.facts |= offersTools
		}
		if !inCall && !isWrapper(n) && summedUp(n) == nil && !isHollow(n) {
			p.turns = append(p.turns, &turn{f: p, n: n, service: serviceName(n), sent: afterSystem(n.request())})
			inCall = true
		}
	case genai.Tool:
		if !inTool {
			p.tools = append(p.tools, n)
		}
		inTool = true
	}
	for _, k := range n.kids {
		p.read(k, inCall, inTool)
	}
}

func compareTurns(a, b *turn) int { return compareNodes(a.n, b.n) }

func serviceName(n *node) string { return textAt(n.resource, "service.name") }

// textAt is an attribute as text, "" where there is none.
func textAt(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok {
		return v.AsString()
	}
	return ""
}

// interval is when the part took place, by the clock that is assumed for its trace.
func (p *part) interval() (start, end uint64) { return p.earliest.start + p.behind, p.end + p.behind }

// spans reports whether the part was going on while another one took place.
func (p *part) spans(g *part) bool {
	start, end := p.interval()
	from, to := g.interval()
	return start <= from && to <= end
}

// userText is the text that the user said last, as the part's own span or its first model call holds it.
func (p *part) userText() string {
	if p.asked == nil {
		text := p.fragment.userText()
		p.asked = &text
	}
	return *p.asked
}

// question is what the part was asked: the text of the user, else what its own span was started with, which may be no
// message.
func (p *part) question() string {
	if text := p.userText(); text != "" || p.root == nil {
		return text
	}
	return given(p.root.obs.InputData)
}

// says returns the first value that the part's own span, what stands above it, or a call gives.
func (p *part) says(get func(*genai.Observation) string) (value string) {
	look := func(n *node) bool {
		if value == "" {
			value = get(n.obs)
		}
		return value == ""
	}
	if p.root != nil {
		look(p.root)
	}
	for _, list := range [][]*node{p.entry, p.heads} {
		for _, n := range list {
			walk(n, look)
		}
	}
	return value
}

// longest is the longest request of the part.
func (p *part) longest() (sent []*message) {
	for _, t := range p.turns {
		if len(t.sent) > len(sent) {
			sent = t.sent
		}
	}
	return sent
}

// noCalls reports a part with neither a model call nor a tool call.
func (p *part) noCalls() bool { return len(p.turns)+len(p.tools) == 0 }

// onlyModelCalls reports model calls without the span of an agent around them or a tool call beside them.
func (p *part) onlyModelCalls() bool { return !p.ownRun() && len(p.tools) == 0 && len(p.turns) > 0 }

// beside reports parts that name the same parent, which never came.
func (p *part) beside(g *part) bool {
	a, b := p.heads[0], g.heads[0]
	return a.missing && b.missing && !a.adopted && !b.adopted && a.parent == b.parent
}

// onlyModelCall reports one model call without a tool call beside it.
func (p *part) onlyModelCall() bool { return len(p.turns) == 1 && len(p.tools) == 0 }

// overlaps reports spans that have a moment in common.
func (n *node) overlaps(m *node) bool { return n.start <= m.end && m.start <= n.end }

// liesIn reports that a span lies in the time of another one, give or take the slack of clocks.
func (n *node) liesIn(m *node, slack uint64) bool {
	return m.start <= n.start+slack && n.end <= m.end+slack
}
