// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// maxOpenCalls bounds how many calls that were made at the same time are compared.
const maxOpenCalls = 64

// dropRepeats unites a model span that tells a request once more, and nothing of an answer, with the call
// around it in time.
//
// Needs: another scope below the same span, the same model, as many messages and the same question.
// Refuses: a second repeat of one call: calls made at the same time have one each.
// Seen in: LiteLLM and the client below it, of which neither makes its span the current one.
func (c *collector) dropRepeats() {
	var open []*call
	taken := map[*call]bool{}
	c.models = slices.DeleteFunc(slices.Clone(c.models), func(m *call) bool {
		if len(m.nodes) != 1 || m.nodes[0].spans == 0 {
			return false
		}
		open = slices.DeleteFunc(open, func(outer *call) bool { return outer.end < m.start })
		if tellsRequestAlone(m) && len(m.nodes[0].kids) == 0 {
			if i := slices.IndexFunc(open, func(outer *call) bool { return !taken[outer] && isRepeated(outer, m) }); i >= 0 {
				open[i].join(m.nodes[0])
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

func tellsRequestAlone(m *call) bool {
	o := m.obs
	return len(o.Request) > 0 && len(o.Response) == 0 && o.ResponseID == "" && !usageKnown(o.Usage)
}

// isRepeated reports a call that another span within its time tells the request of.
func isRepeated(outer, m *call) bool {
	a, o, n, around := outer.obs, m.obs, m.nodes[0], outer.nodes[0]
	return m.end <= outer.end && siblingsOf(around) == siblingsOf(n) && around.source.ScopeName != n.source.ScopeName &&
		(len(a.Response) > 0 || failedCall(outer)) && failedCall(outer) == failedCall(m) && a.Model != "" && sameModel(a, o) &&
		len(a.Request) == len(o.Request) && sameQuestion(a.Request, o.Request)
}

func sameQuestion(a, b []genai.Message) bool {
	asked := lastUserText(a)
	return asked != "" && asked == lastUserText(b)
}
