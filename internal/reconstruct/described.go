// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
	"sort"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
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
	agree bool // with all that were made of its name before it
}

// descriptions lists those among the spans of a trace.
func descriptions(nodes []*node, t evidence.Trace, seen redactions) (found []*description) {
	for _, n := range nodes {
		if describes(n) {
			found = append(found, &description{node: n, trace: t.TraceID, seen: seen, cut: t.Cut})
		}
	}
	return found
}

// described finds descriptions. The lists are in order of time.
type described struct {
	byID, byName map[describedAgent][]*description
}

// describedAgent is an agent of one instance of a service, by its name or by both its name and its id.
type describedAgent struct{ service, instance, name, id string }

func newDescribed(all []*description) described {
	index := described{map[describedAgent][]*description{}, map[describedAgent][]*description{}}
	all = slices.SortedFunc(slices.Values(all), func(a, b *description) int { return compareNodes(a.node, b.node) })
	for _, d := range all {
		named, identified := agentOf(d.node)
		if before := index.byName[named]; named.name != "" {
			d.agree = len(before) == 0 || before[len(before)-1].agree && before[len(before)-1].told() == d.told()
			index.byName[named] = append(before, d)
		}
		if identified.id != "" {
			index.byID[identified] = append(index.byID[identified], d)
		}
	}
	return index
}

func agentOf(n *node) (named, identified describedAgent) {
	resource := decode.Attributes(n.resource)
	named = describedAgent{service: resource.Text("service.name"), instance: resource.Text("service.instance.id"), name: n.obs.Agent.Name}
	identified = named
	identified.id = n.obs.Agent.ID
	return named, identified
}

// before returns the last of a list that does not begin after a span, nil if there is none.
func before(list []*description, n *node) *description {
	i := sort.Search(len(list), func(i int) bool { return list[i].start > n.start })
	if i == 0 {
		return nil
	}
	return list[i-1]
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
func (f *fragment) describedBy(all described) *description {
	if len(all.byID)+len(all.byName) == 0 || f.root == nil || !f.lacksDescription() {
		return nil
	}
	for agent := f.root; agent != nil; agent = firstAgent(agent) {
		named, identified := agentOf(agent)
		if d := before(all.byID[identified], agent); d != nil {
			return d
		}
		if d := before(all.byName[named], agent); d != nil {
			if !d.agree {
				return nil
			}
			return d
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

// describe lets a description say what the run lacks, and names its trace as one of the run's.
func (f *fragment) describe(all described) {
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
