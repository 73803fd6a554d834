// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// tokens is what a call took of a service. Of a call that failed and tells no tokens they are bothFailed.
type tokens struct {
	service string
	in, out int64
}

const bothFailed = -1

// hollowTwins finds the calls that calls without content report.
type hollowTwins struct {
	*stitcher
	told     map[tokens][]*turn
	costless map[string][]*turn // those that tell no tokens, by their services
}

// byHollowTwin unites a model call without any content, alone in its trace, with the call of another
// instrumentation, or of another name, that it reports: the client of a provider writes spans of its own, and
// the context was lost in a stream.
//
// Needs: the same model and tokens, or two failures, at the same time; around a call without tokens it lies
// in its time.
// Refuses: several calls that fit; several such spans for one call.
// Seen in: SDKs of providers beside LangChain, which tells no input tokens of Anthropic's streams; Pipecat
// under OpenInference.
func (s *stitcher) byHollowTwin() {
	h := hollowTwins{s, map[tokens][]*turn{}, map[string][]*turn{}}
	var hollow []*turn
	for t := range s.turns() {
		switch k, known := tokensOf(t); {
		case !known && len(t.sent) > 0 && !t.n.Failed() && !chat.UsageKnown(t.n.Obs.Usage):
			h.costless[t.service] = append(h.costless[t.service], t)
		case known && len(t.sent) > 0 && (len(t.n.Obs.Response) > 0 || k.in < 0):
			h.told[k] = append(h.told[k], t)
		case known && len(t.sent)+len(t.n.Obs.Response) == 0 && t.f.onlyModelCall() && !t.f.OwnRun():
			hollow = append(hollow, t)
		}
	}
	var claims []claim[*turn]
	for _, t := range hollow {
		if of := s.onlyTurn(t.f, h.reportedBy(t)); of != nil {
			claims = append(claims, claim[*turn]{t.f, of.f, of})
		}
	}
	for _, c := range proposeClaims(s, fragment.ByContent, claims) {
		c.part.turns[0].n.Reports = c.of.n
	}
}

// reportedBy lists the calls that a call without content may report.
func (h *hollowTwins) reportedBy(t *turn) (fit []*turn) {
	add := func(list []*turn, atThatTime func(of *spantree.Node) bool) {
		for _, of := range atMost(list, maxAskings) {
			if of.n.Reports == nil && modelsAgree(of.n.Obs, t.n.Obs) && atThatTime(of.n) && h.otherTrace(of.f, t.f) {
				fit = append(fit, of)
			}
		}
	}
	beside := func(of *spantree.Node) bool { return otherReporter(of, t.n) && overlaps(of, t.n) }
	k, _ := tokensOf(t)
	add(h.told[k], beside)
	if k.in > 0 { // no request is without a token: a zero is what a stream did not tell
		add(h.told[tokens{k.service, 0, k.out}], beside)
	}
	if k.in >= 0 {
		add(h.costless[k.service], func(of *spantree.Node) bool { return of.Scope != t.n.Scope && t.n.Within(of) })
	}
	return fit
}

// tokensOf is what a call took, where the span names a model.
func tokensOf(t *turn) (k tokens, known bool) {
	o := t.n.Obs
	switch {
	case o.ResponseModel == "" && o.Model == "":
		return k, false
	case t.n.Failed() && !chat.UsageKnown(o.Usage):
		return tokens{t.service, bothFailed, bothFailed}, true
	case o.Usage.InputTokens == nil || o.Usage.OutputTokens == nil:
		return k, false
	}
	return tokens{t.service, *o.Usage.InputTokens, *o.Usage.OutputTokens}, true
}

// modelsAgree reports that the same model answered or, where one of two spans does not name it, was asked.
func modelsAgree(a, b *genai.Report) bool {
	if a.ResponseModel != "" && b.ResponseModel != "" {
		return a.ResponseModel == b.ResponseModel
	}
	return a.Model != "" && a.Model == b.Model
}
