// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// maxReshown bounds the calls of one answer of which each is compared with each result.
const maxReshown = 64

// TellShown gives results without ids to the calls that tell them. Results are taken to stand in the order of
// the calls; some programs keep them in the order in which the tools ended.
//
// Needs: results of all calls of one answer, which one request shows; a span for each call that tells one of
// them.
// Refuses: a call that tells two results which differ; results that stand in the order of the calls.
// Seen in: LlamaIndex.
func TellShown(c *ledger.Ledger) {
	for _, m := range c.Models {
		if len(m.Asked) < 2 || len(m.Asked) > maxReshown || slices.ContainsFunc(m.Asked, func(a *ledger.Asked) bool {
			return a.Tool == nil || len(a.Tool.Nodes) == 0 || a.Shown == nil || a.By != m.Asked[0].By || a.Shown.ID != "" || a.Shown.Label != ""
		}) || !slices.ContainsFunc(m.Asked, func(a *ledger.Asked) bool { return !tellsShown(a.Tool, a.Shown) }) {
			continue
		}
		if told := toldResults(m.Asked); told != nil {
			for i, a := range m.Asked {
				a.Shown = told[i]
			}
		}
	}
}

// toldResults are the results of some requested calls, in the order of these, by what each call tells; nil
// where one tells none or several.
func toldResults(asks []*ledger.Asked) (told []*genai.Part) {
	var free []*genai.Part
	for _, a := range asks {
		free = append(free, a.Shown)
	}
	for _, a := range asks {
		at := onlyTold(a.Tool, free)
		if at < 0 {
			return nil
		}
		told, free = append(told, free[at]), slices.Delete(free, at, at+1)
	}
	return told
}

// onlyTold is the place of the only result that a call tells, -1 where there is none or others too. Several
// that say the same are as good as one.
func onlyTold(t *ledger.Call, results []*genai.Part) int {
	at := -1
	for i, p := range results {
		switch {
		case !tellsShown(t, p):
		case at < 0:
			at = i
		case !chat.SameContent(results[at].Result, p.Result):
			return -1
		}
	}
	return at
}

// tellsShown reports that the span of a call holds a result that a model was shown, or the failure that it
// was told of.
func tellsShown(t *ledger.Call, shown *genai.Part) bool {
	o := t.Obs
	if !o.Result.Present() {
		return chat.WordsOf(o.Error, shown.Result)
	}
	if chat.SameContent(o.Result.Value, shown.Result) {
		return true
	}
	literal, ok := decode.PythonStr(shown.Result.Str())
	return ok && chat.SameValue(o.Result.Value, literal)
}
