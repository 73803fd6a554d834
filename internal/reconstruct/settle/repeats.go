// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// maxOpenCalls bounds how many calls that were made at the same time are compared.
const maxOpenCalls = 64

// DropRepeats unites a model span that tells a request once more, and nothing of an answer, with the call
// around it in time.
//
// Needs: another scope below the same span, the same model, as many messages and the same question.
// Refuses: a second repeat of one call: calls made at the same time have one each.
// Seen in: LiteLLM and the client below it, of which neither makes its span the current one.
func DropRepeats(c *ledger.Ledger) {
	var open []*ledger.Call
	taken := map[*ledger.Call]bool{}
	c.Models = slices.DeleteFunc(slices.Clone(c.Models), func(m *ledger.Call) bool {
		if len(m.Nodes) != 1 || m.Nodes[0].Spans == 0 {
			return false
		}
		open = slices.DeleteFunc(open, func(outer *ledger.Call) bool { return outer.End < m.Start })
		if TellsRequestAlone(m) && len(m.Nodes[0].Kids) == 0 {
			if i := slices.IndexFunc(open, func(outer *ledger.Call) bool { return !taken[outer] && isRepeated(outer, m) }); i >= 0 {
				open[i].Join(m.Nodes[0])
				taken[open[i]] = true
				return true
			}
		}
		if len(open) < maxOpenCalls {
			open = append(open, m)
		}
		return false
	})
}

func TellsRequestAlone(m *ledger.Call) bool {
	o := m.Obs
	return len(o.Request) > 0 && len(o.Response) == 0 && o.ResponseID == "" && !chat.UsageKnown(o.Usage)
}

// isRepeated reports a call that another span within its time tells the request of.
func isRepeated(outer, m *ledger.Call) bool {
	a, o, n, around := outer.Obs, m.Obs, m.Nodes[0], outer.Nodes[0]
	return m.End <= outer.End && spantree.SiblingsOf(around) == spantree.SiblingsOf(n) && around.Source.ScopeName != n.Source.ScopeName &&
		(len(a.Response) > 0 || ledger.FailedCall(outer)) && ledger.FailedCall(outer) == ledger.FailedCall(m) && a.Model != "" && spantree.SameModel(a, o) &&
		len(a.Request) == len(o.Request) && sameQuestion(a.Request, o.Request)
}

func sameQuestion(a, b []genai.Message) bool {
	asked := chat.LastUserText(a)
	return asked != "" && asked == chat.LastUserText(b)
}
