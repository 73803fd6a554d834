// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// Results without ids are taken to stand in the order of the calls. Some programs keep them in the order in which the tools ended, and what the spans of the tools tell says so.

// maxReshown bounds the calls of one answer of which each is compared with each result.
const maxReshown = 64

// tellShown gives results without ids, which one request shows of the calls of one answer, to the calls that tell them, where those that were given them by position tell others. Each call has to tell one of them, and only
// one: several that say the same are as good as one.
func (c *collector) tellShown() {
	for _, m := range c.models {
		if len(m.asked) < 2 || len(m.asked) > maxReshown || slices.ContainsFunc(m.asked, func(a *asked) bool {
			return a.tool == nil || len(a.tool.nodes) == 0 || a.shown == nil || a.by != m.asked[0].by || a.shown.ID != "" || a.shown.Label != ""
		}) {
			continue
		}
		if !slices.ContainsFunc(m.asked, func(a *asked) bool { return !tellsShown(a.tool, a.shown) }) {
			continue
		}
		free := make([]*genai.Part, 0, len(m.asked))
		for _, a := range m.asked {
			free = append(free, a.shown)
		}
		told := make([]*genai.Part, 0, len(m.asked))
		for _, a := range m.asked {
			at := -1
			for i, p := range free {
				switch {
				case !tellsShown(a.tool, p):
				case at < 0:
					at = i
				case !sameContent(free[at].Result, p.Result):
					at = len(free) // two of them
				}
				if at == len(free) {
					break
				}
			}
			if at < 0 || at == len(free) {
				break
			}
			told, free = append(told, free[at]), slices.Delete(free, at, at+1)
		}
		if len(free) > 0 {
			continue
		}
		for i, a := range m.asked {
			a.shown = told[i]
		}
	}
}

// tellsShown reports that the span of a call holds a result that a model was shown, or the failure that it was told of.
func tellsShown(t *call, shown *genai.Part) bool {
	o := t.obs
	if o.Result.Present() {
		if sameContent(o.Result.Value, shown.Result) {
			return true
		}
		literal, ok := decode.PythonStr(shown.Result.Str())
		return ok && sameValue(o.Result.Value, literal)
	}
	return wordsOf(o.Error, shown.Result)
}
