// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package divide

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// Divide finds the runs of a trace. Nested agents stay inside the run around them.
func Divide(roots []*spantree.Node, traceID string) []*fragment.Fragment {
	var frags []*fragment.Fragment
	loose := map[*spantree.Node]bool{}
	for _, r := range roots {
		var entries []*spantree.Node
		findRuns(r, entries, &frags, loose)
	}
	apart := relays(roots, loose)
	frags = append(gather(append(frags, groupLoose(roots, loose)...)), apart...)
	for _, f := range frags {
		f.Traces = []string{traceID}
	}
	return frags
}

// findRuns descends to the outermost agent of each path. Calls that it passes are loose.
func findRuns(n *spantree.Node, entries []*spantree.Node, frags *[]*fragment.Fragment, loose map[*spantree.Node]bool) {
	if n.Obs.Class == genai.Agent {
		root := descendWrappers(n)
		*frags = append(*frags, &fragment.Fragment{Root: root, Heads: []*spantree.Node{n}, Entry: reversed(entries)})
		return
	}
	if n.Obs.Class == genai.Entry {
		entries = append(slices.Clone(entries), n)
	}
	if spantree.IsCall(n) && !spantree.IsWrapper(n) {
		loose[n] = true
		return // an agent below a loose call is part of what the call did
	}
	for _, k := range n.Kids {
		findRuns(k, entries, frags, loose)
	}
}

func reversed(nodes []*spantree.Node) []*spantree.Node {
	out := slices.Clone(nodes)
	slices.Reverse(out)
	return out
}

// descendWrappers steps from a wrapper without content of its own to the only agent inside it.
func descendWrappers(n *spantree.Node) *spantree.Node {
	for isBare(n) {
		var agents []*spantree.Node
		calls := false
		for _, k := range n.Kids {
			spantree.Walk(k, func(m *spantree.Node) bool {
				switch {
				case m.Obs.Class == genai.Agent:
					agents = append(agents, m)
					return false
				case spantree.IsCall(m):
					calls = true
				}
				return true
			})
		}
		if len(agents) != 1 || calls {
			return n
		}
		n = agents[0]
	}
	return n
}

// isBare reports an agent span that says nothing about the run but that it took place.
func isBare(n *spantree.Node) bool {
	o := n.Obs
	return len(o.Input) == 0 && len(o.Output) == 0 && !o.InputData.Present() && !o.OutputData.Present() && (o.WeakAgent || o.Agent.Name == "")
}

// groupLoose gathers calls without an agent span. The calls below one local root are one run. So are calls that miss the same
// parent, calls of one conversation, and calls whose requests continue each other.
func groupLoose(roots []*spantree.Node, loose map[*spantree.Node]bool) []*fragment.Fragment {
	frags := byTurn(loose)
	byParent := map[pcommon.SpanID]*fragment.Fragment{}
	byConversation := map[string]*fragment.Fragment{}
	for _, r := range roots {
		var heads, functions []*spantree.Node
		var entries []*spantree.Node
		spantree.Walk(r, func(n *spantree.Node) bool {
			if n.Obs.Called != nil && n.Obs.Class == genai.Structure && !spantree.HoldsCall(n) {
				functions = append(functions, n) // one of the calls may have asked for it
			}
			if loose[n] {
				heads = append(heads, n)
				return false
			}
			if n.Obs.Class == genai.Entry {
				entries = append(entries, n)
			}
			return n.Obs.Class != genai.Agent
		})
		if len(heads) == 0 {
			if f := byParent[r.Parent]; r.Missing && f != nil {
				f.Heads = append(f.Heads, functions...)
			}
			continue
		}
		conversation := heads[0].Obs.ConversationID
		var f *fragment.Fragment
		switch {
		case r.Missing && byParent[r.Parent] != nil:
			f = byParent[r.Parent]
		case conversation != "" && byConversation[conversation] != nil && loose[r]:
			f = byConversation[conversation]
		default:
			if f = continued(frags, heads[0]); f == nil || !loose[r] {
				f = &fragment.Fragment{}
				frags = append(frags, f)
			}
		}
		f.Heads = append(append(f.Heads, heads...), functions...)
		f.Entry = append(f.Entry, reversed(entries)...)
		if r.Missing && byParent[r.Parent] == nil {
			byParent[r.Parent] = f
		}
		if conversation != "" && byConversation[conversation] == nil {
			byConversation[conversation] = f
		}
	}
	return frags
}

// byTurn makes runs of the loose calls that number their turns, and takes these from the loose ones. A first turn begins a run. A later
// turn belongs to the run beside it whose first turn encloses it. If the first turn never came, the conversation decides.
func byTurn(loose map[*spantree.Node]bool) (frags []*fragment.Fragment) {
	var turns []*spantree.Node
	for n := range loose {
		if n.Obs.Turn > 0 {
			turns = append(turns, n)
			delete(loose, n)
		}
	}
	slices.SortFunc(turns, spantree.CompareNodes)
	beside := map[spantree.Siblings][]*fragment.Fragment{}
	for _, n := range turns {
		runs := beside[spantree.SiblingsOf(n)]
		i := len(runs) - 1
		for ; i >= 0; i-- {
			first := runs[i].Heads[0]
			if n.Obs.Turn > 1 && (n.Within(first) || first.Obs.Turn > 1 && first.Obs.ConversationID == n.Obs.ConversationID) {
				break
			}
		}
		if i >= 0 {
			runs[i].Heads = append(runs[i].Heads, n)
			continue
		}
		f := &fragment.Fragment{Heads: []*spantree.Node{n}, Own: true}
		for up := n.Up; up != nil; up = up.Up {
			if up.Obs.Class == genai.Entry {
				f.Entry = append(f.Entry, up)
			}
		}
		beside[spantree.SiblingsOf(n)] = append(runs, f)
		frags = append(frags, f)
	}
	return frags
}

// continued finds the run of loose calls that a further call without any ids continues. The request of the call extends the
// request of the run's last model call by its answer, and by assistant and tool messages only.
func continued(frags []*fragment.Fragment, n *spantree.Node) *fragment.Fragment {
	if n.Obs.Class != genai.Model || len(n.Obs.Request) == 0 {
		return nil
	}
	for i := len(frags) - 1; i >= 0; i-- {
		heads := frags[i].Heads
		for j := len(heads) - 1; j >= 0; j-- {
			if heads[j].Obs.Class != genai.Model {
				continue
			}
			if chat.Extends(heads[j].Request(), n.Request()) && spantree.RepeatsAnswer(heads[j], n, chat.AfterSystem(n.Request())) {
				return frags[i]
			}
			break
		}
	}
	return nil
}

// gather puts runs that were torn apart together. An agent span without a call below it is the run of the calls and steps beside it.
// These name the same parent, lie in its time, and were given the same user message or none. Some instrumentations write runs so:
// they hang every span below the span of the application, which is no evidence.
func gather(frags []*fragment.Fragment) []*fragment.Fragment {
	beside := map[spantree.Siblings][]*fragment.Fragment{}
	for _, f := range frags {
		key := spantree.SiblingsOf(f.Heads[0])
		beside[key] = append(beside[key], f)
	}
	gathered := map[*fragment.Fragment]bool{}
	for _, f := range frags {
		var run *fragment.Fragment
		for _, g := range beside[spantree.SiblingsOf(f.Heads[0])] {
			if g != f && !gathered[g] && g.Root != nil && !spantree.HoldsCall(g.Root) && around(g, f) && (run == nil || around(g, run)) {
				run = g
			}
		}
		if run == nil {
			continue
		}
		gathered[f] = true
		for _, n := range f.Heads {
			n.Up, n.Adopted = run.Root, true
		}
		f.Within = run
	}
	kept := frags[:0:0]
	for _, f := range frags {
		if !gathered[f] {
			kept = append(kept, f)
			continue
		}
		run := f.Within
		for gathered[run] {
			run = run.Within
		}
		run.Entry = append(run.Entry, f.Entry...)
		for _, n := range f.Heads {
			n.Up = run.Root
			run.Root.Kids = append(run.Root.Kids, n)
		}
	}
	for _, f := range kept {
		if f.Root != nil {
			slices.SortFunc(f.Root.Kids, spantree.CompareNodes)
		}
	}
	return kept
}

// around reports that a fragment lies in the time of this one and speaks of nothing else than it does.
func around(f *fragment.Fragment, inner *fragment.Fragment) bool {
	for _, n := range inner.Heads {
		if n.Parent.IsEmpty() || !n.Within(f.Root) || n.Start == f.Root.Start && n.End == f.Root.End && spantree.CompareNodes(n, f.Root) < 0 {
			return false
		}
	}
	asked := inner.UserText()
	return asked == "" || asked == f.UserText()
}
