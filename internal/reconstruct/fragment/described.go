// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package fragment

import (
	"cmp"
	"slices"
	"sort"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// An agent is made once and runs often, and some instrumentations tell its instructions and its model only where it is made: in a span of the operation
// create_agent, mostly in a trace of its own. What a run does not say of its agent, that span does.

// describes reports a span that tells of an agent, and runs nothing.
func describes(n *spantree.Node) bool {
	o := n.Obs
	return o.Class == genai.Structure && o.Operation == "create_agent" && o.Agent.ID+o.Agent.Name != "" && (len(o.System) > 0 || o.Model != "") && !spantree.HoldsCall(n)
}

// Description is such a span, and what is known of the trace that it is in.
type Description struct {
	*spantree.Node
	trace string
	seen  Redactions
	cut   string
	agree bool // with all that were made of its name before it
}

// Descriptions lists those among the spans of a trace.
func Descriptions(nodes []*spantree.Node, t evidence.Trace, seen Redactions) (found []*Description) {
	for _, n := range nodes {
		if describes(n) {
			found = append(found, &Description{Node: n, trace: t.TraceID, seen: seen, cut: t.Cut})
		}
	}
	return found
}

// described finds descriptions. The lists are in order of time.
type described struct {
	byID, byName map[describedAgent][]*Description
}

// describedAgent is an agent of one instance of a service, by its name or by both its name and its id.
type describedAgent struct{ service, instance, name, id string }

func NewDescribed(all []*Description) described {
	index := described{map[describedAgent][]*Description{}, map[describedAgent][]*Description{}}
	all = slices.SortedFunc(slices.Values(all), func(a, b *Description) int { return spantree.CompareNodes(a.Node, b.Node) })
	for _, d := range all {
		named, identified := agentOf(d.Node)
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

func agentOf(n *spantree.Node) (named, identified describedAgent) {
	resource := decode.Attributes(n.Resource)
	named = describedAgent{service: resource.Text("service.name"), instance: resource.Text("service.instance.id"), name: n.Obs.Agent.Name}
	identified = named
	identified.id = n.Obs.Agent.ID
	return named, identified
}

// before returns the last of a list that does not begin after a span, nil if there is none.
func before(list []*Description, n *spantree.Node) *Description {
	i := sort.Search(len(list), func(i int) bool { return list[i].Start > n.Start })
	if i == 0 {
		return nil
	}
	return list[i-1]
}

// told is what a description says.
func (d *Description) told() [2]string { return [2]string{chat.PartsText(d.Obs.System), d.Obs.Model} }

// lacksDescription reports a run of which nothing tells the instructions, or nothing the model that was asked for.
func (f *Fragment) lacksDescription() bool {
	instructed, modelled := false, false
	for _, h := range f.Heads {
		spantree.Walk(h, func(n *spantree.Node) bool {
			o := n.Obs
			instructed = instructed || len(o.System) > 0 || n.Obs.Class == genai.Model && chat.SystemText(n.Request()) != ""
			modelled = modelled || o.Model != ""
			return true
		})
	}
	return !instructed || !modelled
}

// describedBy finds the description of the agent that the run asks first: the last one before the run that names the agent by its id, else the one by its
// name. Agents of one name that were described differently cannot be told apart by it; then there is none.
func (f *Fragment) describedBy(all described) *Description {
	if len(all.byID)+len(all.byName) == 0 || f.Root == nil || !f.lacksDescription() {
		return nil
	}
	for agent := f.Root; agent != nil; agent = firstAgent(agent) {
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
func firstAgent(n *spantree.Node) (first *spantree.Node) {
	calls := false
	for _, k := range n.Kids {
		spantree.Walk(k, func(m *spantree.Node) bool {
			agent := m.Obs.Class == genai.Agent
			calls = calls || !agent && spantree.IsCall(m)
			if agent && (first == nil || spantree.CompareNodes(m, first) < 0) {
				first = m
			}
			return !agent && !spantree.IsCall(m)
		})
	}
	if calls {
		return nil
	}
	return first
}

// Describe lets a description say what the run lacks, and names its trace as one of the run's.
func (f *Fragment) Describe(all described) {
	d := f.describedBy(all)
	if d == nil {
		return
	}
	f.Description = d.Node
	if !slices.Contains(f.Traces, d.trace) {
		f.Traces = append(slices.Clone(f.Traces), d.trace)
		f.Why = append(slices.Clone(f.Why), byDescription)
		f.Seen, f.Cut = f.Seen.And(d.seen), cmp.Or(f.Cut, d.cut)
	}
}
