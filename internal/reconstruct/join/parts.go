// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// part is a fragment as the joining stage sees it: what the rules ask of it, read in one walk over its spans.
type part struct {
	*fragment.Fragment
	service  string           // the name of the service of its first span
	earliest *spantree.Node   // its first span
	end      uint64           // when the last of its spans ended, by the clock of its trace
	turns    []*turn          // its model calls, in order of time
	models   []*spantree.Node // all spans of model calls, also those that stand for a loop of calls, in order of time
	tools    []*spantree.Node // its tool calls that no other one encloses, in order of time

	place int       // among all parts, in order of time
	above *part     // an earlier part of the same run; nil: this is the first
	whys  []string  // what united the run, kept by its first part
	asked *string   // see userText
	facts joinFacts // those that its spans tell
}

func newPart(f *fragment.Fragment) *part {
	p := &part{Fragment: f, earliest: f.First()}
	p.service = serviceName(p.earliest)
	for _, h := range f.Heads {
		p.read(h, false, false)
	}
	slices.SortFunc(p.turns, compareTurns)
	slices.SortFunc(p.models, spantree.CompareNodes)
	slices.SortFunc(p.tools, spantree.CompareNodes)
	return p
}

// read takes a span and all below it. inCall and inTool say that a model call, or a tool call, encloses them.
func (p *part) read(n *spantree.Node, inCall, inTool bool) {
	p.end = max(p.end, n.End)
	p.facts |= spanFacts(n)
	switch n.Obs.Class {
	case genai.Model:
		p.models = append(p.models, n)
		if !inCall && !spantree.IsWrapper(n) && spantree.SummedUp(n) == nil && !spantree.IsHollow(n) {
			p.turns = append(p.turns, &turn{f: p, n: n, service: serviceName(n), sent: chat.AfterSystem(n.Request())})
			inCall = true
		}
	case genai.Tool:
		if !inTool {
			p.tools = append(p.tools, n)
		}
		inTool = true
	}
	for _, k := range n.Kids {
		p.read(k, inCall, inTool)
	}
}

func serviceName(n *spantree.Node) string { return textAt(n.Resource, "service.name") }

// textAt is an attribute as text, "" where there is none.
func textAt(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok {
		return v.AsString()
	}
	return ""
}

// interval is a time, ns since the epoch.
type interval struct{ start, end uint64 }

// time is when the part took place, by the clock that is assumed for its trace.
func (p *part) time() interval { return interval{p.earliest.Start + p.Behind, p.end + p.Behind} }

// spans reports whether the part was going on while another one took place.
func (p *part) spans(g *part) bool {
	return p.time().start <= g.time().start && g.time().end <= p.time().end
}

// userText is the text that the user said last, as the part's own span or its first model call holds it.
func (p *part) userText() string {
	if p.asked == nil {
		text := p.Fragment.UserText()
		p.asked = &text
	}
	return *p.asked
}

// question is what the part was asked: the text of the user, else what its own span was started with, which
// may be no message.
func (p *part) question() string {
	if text := p.userText(); text != "" || p.Root == nil {
		return text
	}
	return chat.Given(p.Root.Obs.InputData)
}

// says returns the first value that the part's own span, what stands above it, or a call gives.
func (p *part) says(get func(*genai.Report) string) (value string) {
	look := func(n *spantree.Node) bool {
		if value == "" {
			value = get(n.Obs)
		}
		return value == ""
	}
	if p.Root != nil {
		look(p.Root)
	}
	for _, n := range slices.Concat(p.Entry, p.Heads) {
		spantree.Walk(n, look)
	}
	return value
}

// longest is the longest request of the part.
func (p *part) longest() (sent []*chat.Message) {
	for _, t := range p.turns {
		if len(t.sent) > len(sent) {
			sent = t.sent
		}
	}
	return sent
}

// alone is the only span of a part where that names no parent: it is a trace of its own.
func (p *part) alone() *spantree.Node {
	if n := p.Heads[0]; p.Root == nil && len(p.Heads) == 1 && n.Parent.IsEmpty() {
		return n
	}
	return nil
}

// noCalls reports a part with neither a model call nor a tool call.
func (p *part) noCalls() bool { return len(p.turns)+len(p.tools) == 0 }

// onlyModelCalls reports model calls without the span of an agent around them or a tool call beside them.
func (p *part) onlyModelCalls() bool { return !p.OwnRun() && len(p.tools) == 0 && len(p.turns) > 0 }

// beside reports parts that name the same parent, which never came.
func (p *part) beside(g *part) bool {
	a, b := p.Heads[0], g.Heads[0]
	return a.Missing && b.Missing && !a.Adopted && !b.Adopted && a.Parent == b.Parent
}

// onlyModelCall reports one model call without a tool call beside it.
func (p *part) onlyModelCall() bool { return len(p.turns) == 1 && len(p.tools) == 0 }

// overlaps reports spans that have a moment in common.
func overlaps(n, m *spantree.Node) bool { return n.Start <= m.End && m.Start <= n.End }

// endsBefore reports a span that had ended when another one began, as far as clocks tell.
func endsBefore(n, m *spantree.Node) bool { return n.End <= m.Start+spantree.ClockSlack }

// liesIn reports that a span lies in the time of another one, as far as clocks tell.
func liesIn(n, m *spantree.Node) bool {
	return m.Start <= n.Start+spantree.ClockSlack && n.End <= m.End+spantree.ClockSlack
}

// reporterKey is one instrumentation of one service.
type reporterKey struct{ service, scope string }
