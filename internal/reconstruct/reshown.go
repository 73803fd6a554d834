// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

// maxReshown bounds the calls of one answer of which each is compared with each result.
const maxReshown = 64

// tellShown gives results without ids to the calls that tell them. Results are taken to stand in the order of the
// calls; some programs keep them in the order in which the tools ended.
//
// Needs: results of all calls of one answer, which one request shows; a span for each call that tells one of them.
// Refuses: a call that tells two results which differ; results that stand in the order of the calls.
// Seen in: LlamaIndex.
func (c *collector) tellShown() {
	for _, m := range c.models {
		if len(m.asked) < 2 || len(m.asked) > maxReshown || slices.ContainsFunc(m.asked, func(a *asked) bool {
			return a.tool == nil || len(a.tool.nodes) == 0 || a.shown == nil || a.by != m.asked[0].by || a.shown.ID != "" || a.shown.Label != ""
		}) || !slices.ContainsFunc(m.asked, func(a *asked) bool { return !tellsShown(a.tool, a.shown) }) {
			continue
		}
		if told := toldResults(m.asked); told != nil {
			for i, a := range m.asked {
				a.shown = told[i]
			}
		}
	}
}

// toldResults are the results of some requested calls, in the order of these, by what each call tells; nil where one
// tells none or several.
func toldResults(asks []*asked) (told []*genai.Part) {
	var free []*genai.Part
	for _, a := range asks {
		free = append(free, a.shown)
	}
	for _, a := range asks {
		at := onlyTold(a.tool, free)
		if at < 0 {
			return nil
		}
		told, free = append(told, free[at]), slices.Delete(free, at, at+1)
	}
	return told
}

// onlyTold is the place of the only result that a call tells, -1 where there is none or others too. Several that say
// the same are as good as one.
func onlyTold(t *call, results []*genai.Part) int {
	at := -1
	for i, p := range results {
		switch {
		case !tellsShown(t, p):
		case at < 0:
			at = i
		case !sameContent(results[at].Result, p.Result):
			return -1
		}
	}
	return at
}

// tellsShown reports that the span of a call holds a result that a model was shown, or the failure that it was told of.
func tellsShown(t *call, shown *genai.Part) bool {
	o := t.obs
	if !o.Result.Present() {
		return wordsOf(o.Error, shown.Result)
	}
	if sameContent(o.Result.Value, shown.Result) {
		return true
	}
	literal, ok := decode.PythonStr(shown.Result.Str())
	return ok && sameValue(o.Result.Value, literal)
}
