// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/decode"
)

// An agent is made once and runs often, and some instrumentations tell its instructions and its model only where it is made: in a span of the operation
// create_agent, mostly in a trace of its own. What a run does not say of its agent, that span does.

// describes reports a span that tells of an agent, and runs nothing.
func describes(n *node) bool {
	o := n.obs
	return o.Class == genai.Structure && o.Operation == "create_agent" && o.Agent.ID+o.Agent.Name != "" && (len(o.System) > 0 || o.Model != "") && !holdsCall(n)
}

// description is such a span, and what is known of the trace that it is in.
type description struct {
	*node
	trace string
	seen  redactions
	cut   string
}

// descriptions lists those among the spans of a trace.
func descriptions(nodes []*node, t evidence.Trace, seen redactions) (found []*description) {
	for _, n := range nodes {
		if describes(n) {
			found = append(found, &description{n, t.TraceID, seen, t.Cut})
		}
	}
	return found
}

// told is what a description says.
func (d *description) told() [2]string { return [2]string{partsText(d.obs.System), d.obs.Model} }

// lacksDescription reports a run of which nothing tells the instructions, or nothing the model that was asked for.
func (f *fragment) lacksDescription() bool {
	instructed, modelled := false, false
	for _, h := range f.heads {
		walk(h, func(n *node) bool {
			o := n.obs
			instructed = instructed || len(o.System) > 0 || n.obs.Class == genai.Model && systemText(n.request()) != ""
			modelled = modelled || o.Model != ""
			return true
		})
	}
	return !instructed || !modelled
}

// describedBy finds the description of the agent that the run asks first: the last one before the run that names the agent by its id, else the one by its
// name. Agents of one name that were described differently cannot be told apart by it; then there is none.
func (f *fragment) describedBy(all []*description) *description {
	if len(all) == 0 || f.root == nil || !f.lacksDescription() {
		return nil
	}
	for agent := f.root; agent != nil; agent = firstAgent(agent) {
		var byID, byName *description
		differ := false
		for _, d := range all {
			switch {
			case d.start > agent.start || !sameProcess(d.node, agent):
			case d.obs.Agent.ID != "" && d.obs.Agent.ID == agent.obs.Agent.ID && d.obs.Agent.Name == agent.obs.Agent.Name:
				if byID == nil || compareNodes(byID.node, d.node) < 0 {
					byID = d
				}
			case d.obs.Agent.Name != "" && d.obs.Agent.Name == agent.obs.Agent.Name:
				differ = differ || byName != nil && byName.told() != d.told()
				byName = d
			}
		}
		switch {
		case byID != nil:
			return byID
		case byName != nil && !differ:
			return byName
		case byName != nil:
			return nil
		}
	}
	return nil
}

// firstAgent is the first of the outermost agents below n. It is nil when n itself calls models or tools.
func firstAgent(n *node) (first *node) {
	calls := false
	for _, k := range n.kids {
		walk(k, func(m *node) bool {
			agent := m.obs.Class == genai.Agent
			calls = calls || !agent && isCall(m)
			if agent && (first == nil || compareNodes(m, first) < 0) {
				first = m
			}
			return !agent && !isCall(m)
		})
	}
	if calls {
		return nil
	}
	return first
}

// sameProcess reports two spans of the same instance of a service.
func sameProcess(a, b *node) bool {
	x, y := decode.Attributes(a.resource), decode.Attributes(b.resource)
	return x.Text("service.name") == y.Text("service.name") && x.Text("service.instance.id") == y.Text("service.instance.id")
}

// describe lets a description say what the run lacks, and names its trace as one of the run's.
func (f *fragment) describe(all []*description) {
	d := f.describedBy(all)
	if d == nil {
		return
	}
	f.description = d.node
	if !slices.Contains(f.traces, d.trace) {
		f.traces = append(slices.Clone(f.traces), d.trace)
		f.why = append(slices.Clone(f.why), byDescription)
		f.seen, f.cut = f.seen.and(d.seen), cmp.Or(f.cut, d.cut)
	}
}
