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

// groupLoose makes runs of the calls without an agent span, and adds them to those of numbered turns.
//
// Needs: calls below one local root, calls that miss the same parent, calls of one conversation, or a request
// that continues that of the call before.
// Refuses: a conversation or a request below a span that is no call: that span begins a run.
// Seen in: programs that call a model without a framework.
func groupLoose(frags []*fragment.Fragment, roots []*spantree.Node, loose map[*spantree.Node]bool) []*fragment.Fragment {
	byParent, byConversation := map[pcommon.SpanID]*fragment.Fragment{}, map[string]*fragment.Fragment{}
	closed := func(n *spantree.Node) bool { return loose[n] || spantree.IsAgent(n) }
	for _, r := range roots {
		top := []*spantree.Node{r}
		heads := spantree.Search(top, func(n *spantree.Node) bool { return loose[n] }, closed)
		var f *fragment.Fragment
		if r.Missing {
			f = byParent[r.Parent]
		}
		if len(heads) > 0 {
			conversation := heads[0].Obs.ConversationID
			if f == nil && loose[r] {
				if f = byConversation[conversation]; f == nil {
					f = continued(frags, heads[0])
				}
			}
			if f == nil {
				f = &fragment.Fragment{}
				frags = append(frags, f)
			}
			f.Heads = append(f.Heads, heads...)
			f.Entry = append(f.Entry, reversed(spantree.Search(top, spantree.Is(genai.Entry), closed))...)
			if r.Missing {
				byParent[r.Parent] = f
			}
			if conversation != "" && byConversation[conversation] == nil {
				byConversation[conversation] = f
			}
		}
		if f != nil { // one of its calls may have asked for a function beside it
			f.Heads = append(f.Heads, spantree.Search(top, isLooseFunction, closed)...)
		}
	}
	return frags
}

// isLooseFunction reports a step that ran a function of the program and holds no calls.
func isLooseFunction(n *spantree.Node) bool {
	return n.Obs.Called != nil && n.Obs.Class == genai.Structure && !spantree.HoldsCall(n)
}

// continued finds the run of loose calls that a call without any ids continues. Its request extends that of
// the run's last model call by the answer of that, and by assistant and tool messages only.
func continued(frags []*fragment.Fragment, n *spantree.Node) *fragment.Fragment {
	if n.Obs.Class != genai.Model || len(n.Obs.Request) == 0 {
		return nil
	}
	for _, f := range slices.Backward(frags) {
		last := lastModel(f.Heads)
		if last != nil && chat.Extends(last.Request(), n.Request()) && spantree.RepeatsAnswer(last, n, chat.AfterSystem(n.Request())) {
			return f
		}
	}
	return nil
}

// lastModel is the last model call among the heads of a run, nil if there is none.
func lastModel(heads []*spantree.Node) *spantree.Node {
	for _, n := range slices.Backward(heads) {
		if n.Obs.Class == genai.Model {
			return n
		}
	}
	return nil
}
