// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// twinCalls finds the calls that another instrumentation reports once more.
type twinCalls struct {
	*stitcher
	keys       map[*turn]string   // the last message and the answer
	told       map[string][]*turn // by these
	unanswered map[string][]*turn // by their requests, those whose answer was not recorded
	recorded   map[*turn]bool     // those of them whose answer was found
	costs      map[cost][]*turn
}

// byTwin unites parts that report model calls of a run once more, in traces of their own: the context was
// lost below the spans of another instrumentation, or the one that read a stream wrote its answer elsewhere.
//
// Needs: for each call of the part, one around it in time, of another trace, that tells the same last message
// and answer, the same cost, or the same request and no answer.
// Refuses: a tool in the part; calls of several runs; a report of the same instrumentation, unless it records
// the answer.
// Seen in: OpenLIT beside other instrumentations; Langfuse; Logfire.
func (s *stitcher) byTwin() {
	w := twinCalls{s, map[*turn]string{}, map[string][]*turn{}, map[string][]*turn{}, map[*turn]bool{}, map[cost][]*turn{}}
	for t := range s.turns() {
		w.add(t)
	}
	for _, f := range s.all {
		if !f.onlyModelCalls() {
			continue
		}
		var runs []*part
		twins := map[*turn]*turn{}
		for _, t := range f.turns {
			for _, find := range []func(*turn) []*turn{w.retold, w.toldInPart, w.withoutAnswer} {
				if fit := find(t); len(fit) > 0 {
					for _, of := range fit {
						runs, twins[t] = append(runs, of.f), of
					}
					break
				}
			}
		}
		if len(twins) == len(f.turns) && s.propose(f, fragment.ByContent, runs...) {
			for t, of := range twins {
				t.n.Reports = of.n
			}
		}
	}
}

func (w *twinCalls) add(t *turn) {
	if c, ok := costOf(t); ok {
		w.costs[c] = append(w.costs[c], t)
	}
	switch {
	case len(t.sent) == 0:
	case len(t.n.Obs.Response) > 0:
		if answer := chat.AnswerKeys(t.n.Obs.Response[0]); len(answer) > 0 {
			last := t.sent[len(t.sent)-1]
			key := strings.Join(append(answer, string(last.Tape.Role), chat.TextOf(last)), "\x00")
			w.keys[t] = key
			w.told[key] = append(w.told[key], t)
		}
	case !t.n.Failed():
		w.unanswered[requestOf(t)] = append(w.unanswered[requestOf(t)], t)
	}
}

func requestOf(t *turn) string {
	ids := make([]string, len(t.sent))
	for i, m := range t.sent {
		ids[i] = m.ID
	}
	return strings.Join(ids, " ")
}

// retold are the calls that tell what t tells.
func (w *twinCalls) retold(t *turn) (fit []*turn) {
	list := w.told[w.keys[t]]
	for _, of := range atMost(list, maxAskings) {
		if of.n.Scope != t.n.Scope && len(of.sent) == len(t.sent) && liesIn(t.n, of.n) && w.mayReport(t, of) {
			fit = append(fit, of)
		}
	}
	return fit
}

// withoutAnswer is the only call that sent what t sent, and of which no answer was recorded.
func (w *twinCalls) withoutAnswer(t *turn) []*turn {
	if len(w.unanswered) == 0 || len(t.sent) == 0 || len(t.n.Obs.Response) == 0 {
		return nil
	}
	var fit []*turn
	list := w.unanswered[requestOf(t)]
	for _, of := range atMost(list, maxAskings) {
		during := of.n.Scope != t.n.Scope && liesIn(t.n, of.n)
		if spantree.SameModel(of.n.Obs, t.n.Obs) && (during || recordsAnswer(t.n, of.n) && !w.recorded[of]) && w.mayReport(t, of) {
			fit = append(fit, of)
		}
	}
	if w.onlyTurn(t.f, fit) == nil {
		return nil
	}
	w.recorded[fit[0]] = true
	return fit
}

// mayReport reports that a call may be reported once more by one in another trace.
func (w *twinCalls) mayReport(t, of *turn) bool {
	return of.n.Reports == nil && w.otherTrace(of.f, t.f) && w.sameService(of.f, t.f)
}

// recordsAnswer reports a record of one moment that may be of the answer to a call of the same
// instrumentation, which took time and began before. Nothing stands above the two.
func recordsAnswer(record, n *spantree.Node) bool {
	return record.Scope == n.Scope && record.Start == record.End && n.End > n.Start && n.Start <= record.Start && record.Up == nil && n.Up == nil
}

// cost is what a model call of a conversation took, and how far the conversation had come: what the user said
// and what tools returned. How answers are divided into messages is each instrumentation's own.
type cost struct {
	service         string
	in, out         int64
	asked, returned int
	question        string
}

func costOf(t *turn) (c cost, ok bool) {
	u := t.n.Obs.Usage
	if len(t.sent) == 0 || u.InputTokens == nil || u.OutputTokens == nil || *u.OutputTokens == 0 || t.n.Failed() {
		return cost{}, false
	}
	c = cost{service: t.service, in: *u.InputTokens, out: *u.OutputTokens}
	for _, m := range t.sent {
		if m.Tape.Role == tape.RoleUser {
			c.asked++
			c.question = m.ID
		}
		for i := range m.Tape.Parts {
			if m.Tape.Parts[i].Type == tape.PartToolResult {
				c.returned++
			}
		}
	}
	return c, c.asked > 0
}

// toldInPart is the only call around t in time with the same cost, where one of the two tells an answer in
// part: its text without the calls that it asked for, or nothing. Two calls that both fit t, or of which t is
// one of two, are not known apart.
func (w *twinCalls) toldInPart(t *turn) (fit []*turn) {
	c, ok := costOf(t)
	if !ok || len(w.costs[c]) > maxAskings {
		return nil
	}
	for _, of := range w.costs[c] {
		if of == t || !liesIn(t.n, of.n) {
			continue
		}
		alike := spantree.SameModel(of.n.Obs, t.n.Obs) && mayBeOne(of.n.Obs.Response, t.n.Obs.Response)
		if len(fit) > 0 || of.n.Scope == t.n.Scope || of.n.Reports != nil || !alike || !w.otherTrace(of.f, t.f) {
			return nil
		}
		fit = []*turn{of}
	}
	return fit
}

// mayBeOne reports that two records of an answer do not contradict each other: where both hold a text, or
// calls, these are the same.
func mayBeOne(a, b []genai.Message) bool {
	said := func(list []genai.Message) (text string, calls []string) {
		for _, m := range list {
			text += chat.SpokenText(m)
			for p := range chat.EachCall(m.Parts) {
				calls = append(calls, p.ID)
			}
		}
		return text, calls
	}
	x, calls := said(a)
	y, others := said(b)
	return (x == "" || y == "" || x == y) && (len(calls) == 0 || len(others) == 0 || slices.Equal(calls, others))
}
