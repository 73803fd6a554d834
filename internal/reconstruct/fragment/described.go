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

// Description is a span that tells of an agent and runs nothing, and what is known of the trace that it is
// in.
type Description struct {
	*spantree.Node
	trace string
	seen  Redactions
	cut   string
	agree bool // with all that were made of its name before it
}

// Descriptions lists those among the spans of a trace.
func Descriptions(nodes []*spantree.Node, t evidence.Trace, seen Redactions) (all []*Description) {
	for _, n := range nodes {
		if describes(n) {
			all = append(all, &Description{Node: n, trace: t.TraceID, seen: seen, cut: t.Cut})
		}
	}
	return all
}

func describes(n *spantree.Node) bool {
	o := n.Obs
	return o.Class == genai.Structure && o.Operation == "create_agent" && o.Agent.ID+o.Agent.Name != "" && (len(o.System) > 0 || o.Model != "") && !spantree.HoldsCall(n)
}

// told is what a description says.
func (d *Description) told() [2]string { return [2]string{chat.PartsText(d.Obs.System), d.Obs.Model} }

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

// Describe lets the description of the agent that the run asks first say what the run lacks, and names its
// trace as one of the run's.
//
// Needs: an operation create_agent before the run that names the agent by its id, or by its name.
// Refuses: a run that tells instructions and model; agents of one name that were described differently.
// Seen in: instrumentations that tell instructions and model where an agent is made, mostly in a trace of its
// own.
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

// lacksDescription reports a run of which nothing tells the instructions, or nothing the model that was asked
// for.
func (f *Fragment) lacksDescription() bool {
	instructed := func(n *spantree.Node) bool {
		return len(n.Obs.System) > 0 || n.Obs.Class == genai.Model && chat.SystemText(n.Request()) != ""
	}
	return !spantree.AnySpan(f.Heads, instructed) || !spantree.AnySpan(f.Heads, func(n *spantree.Node) bool { return n.Obs.Model != "" })
}

// firstAgent is the first of the outermost agents below n. It is nil where n itself calls models or tools.
func firstAgent(n *spantree.Node) (first *spantree.Node) {
	calls := false
	for _, k := range n.Kids {
		spantree.Walk(k, func(m *spantree.Node) bool {
			calls = calls || spantree.IsCall(m)
			if spantree.IsAgent(m) && (first == nil || spantree.CompareNodes(m, first) < 0) {
				first = m
			}
			return !spantree.IsAgent(m) && !spantree.IsCall(m)
		})
	}
	if calls {
		return nil
	}
	return first
}
