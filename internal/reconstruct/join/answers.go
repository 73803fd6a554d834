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

// shownAnswers finds whose answer a request shows as the result of a tool, or a span as what a run came to.
type shownAnswers struct {
	*stitcher
	results map[string][]*turn // by their texts, the requests that show them
	runs    map[string][]*part // by how they ended, the spans of runs without calls
	asked   map[*part]uint64   // when a run asked for its first tool call, by its first part
	near    []claim[shownText]
	below   map[*part][]*part // by the span of a run, the parts in its time that ended as it did
	apart   map[*part][]*part // and those in other traces, which their clocks put outside of its time
	around  map[*part]int     // of how many spans of runs a part is one below
	above   map[*part]int     // and of how many one apart
}

// shownText is a text that a request shows.
type shownText struct {
	n    *spantree.Node
	text string
}

// byAnswer unites a run with what one of its tools did, and the span of a run with its calls.
//
// Needs: a last answer, or failure, that a request of the service shows as the result of a tool that was
// asked for before; or that the span of a run without calls tells as its own, which was asked the same.
// Refuses: several runs, or several agents that answered alike at the same time; an agent with a span in
// another trace than the run of the tool; another span around an agent.
// Seen in: agents that a tool ran without its trace context; tracers that keep their spans in traces apart.
func (s *stitcher) byAnswer() {
	a := shownAnswers{
		stitcher: s, results: map[string][]*turn{}, runs: map[string][]*part{}, asked: map[*part]uint64{},
		below: map[*part][]*part{}, apart: map[*part][]*part{}, around: map[*part]int{}, above: map[*part]int{},
	}
	a.read()
	for _, f := range s.all {
		if len(f.turns) == 0 {
			continue
		}
		last := f.turns[len(f.turns)-1].n
		var said genai.Message
		if len(last.Obs.Response) > 0 {
			said = last.Obs.Response[0]
		}
		if text := endOf(last, said); text != "" {
			a.spanOf(f, text, len(said.Parts) > 0)
			a.toolOf(f, last, text)
		}
	}
	proposeClaims(s, fragment.ByContent, a.near)
	for _, f := range s.all {
		below := chat.Only(a.below[f])
		one := chat.Only(slices.Concat(a.below[f], a.apart[f]))
		if below != nil && (a.around[below] == 1 || !below.OwnRun()) {
			s.propose(below, fragment.ByContent, f)
		} else if one != nil && a.above[one] == 1 {
			s.propose(one, fragment.ByContent, f)
		}
	}
}

// read takes what requests show of results, and how spans of runs tell that these ended. Where no answer of a
// run was recorded with its calls, the first of them asked for one.
func (a *shownAnswers) read() {
	lost := a.lostAnswers()
	answered := map[*part]uint64{} // when the first answer of a run ended
	shown := map[*part]bool{}      // runs that were shown results
	for _, f := range a.all {
		run := a.find(f)
		var known []*chat.Message
		for _, t := range f.turns {
			spoke := -1 // where somebody but the user spoke last
			for i, m := range t.sent {
				if m.Tape.Role != tape.RoleUser {
					spoke = i
				} else if lost[placeIn{run, spoke}] {
					a.show(t, chat.TextOf(m))
				}
			}
			for _, m := range t.sent[resent(t.sent, known):] {
				for i := range m.Parts {
					if m.Parts[i].Type == tape.PartToolResult && a.show(t, strings.TrimSpace(chat.ToldText(m.Parts[i].Result))) {
						shown[run] = true
					}
				}
			}
			known = t.sent
			end := t.n.End + f.Behind
			if spantree.AsksTools(t.n) && (a.asked[run] == 0 || end < a.asked[run]) {
				a.asked[run] = end
			}
			if first, some := answered[run]; !some || end < first {
				answered[run] = end
			}
		}
		if f.Root != nil && f.noCalls() {
			if text := endOf(f.Root, spantree.OwnAnswer(f.Root)); text != "" {
				a.runs[text] = append(a.runs[text], f)
			}
		}
	}
	for run := range shown {
		if a.asked[run] == 0 {
			a.asked[run] = answered[run]
		}
	}
}

func (a *shownAnswers) show(t *turn, text string) (some bool) {
	if text != "" {
		a.results[text] = append(a.results[text], t)
	}
	return text != ""
}

// placeIn is a place in the conversation of a run.
type placeIn struct {
	run *part
	at  int
}

// lostAnswers are the places of answers whose calls were not recorded. The results of such calls are user
// messages.
func (s *stitcher) lostAnswers() map[placeIn]bool {
	lost := map[placeIn]bool{}
	for t := range s.turns() {
		if spantree.LosesCalls(t.n) {
			lost[placeIn{s.find(t.f), len(t.sent)}] = true
		}
	}
	return lost
}

// spanOf finds the spans of runs that tell the end of a part as their own. A tracer that keeps its spans in
// traces apart writes a run again: that was asked the same, and lies around all of it.
func (a *shownAnswers) spanOf(f *part, text string, spoken bool) {
	for _, run := range a.runs[text] {
		if a.find(run) == a.find(f) || !a.sameService(run, f) || run.question() != f.userText() {
			continue
		}
		around := run.spans(f)
		if f.OwnRun() && (!around || f.userText() == "" || sameTrace(run, f)) {
			continue
		}
		if around {
			a.below[run] = append(a.below[run], f)
			a.around[f]++
		} else if spoken && !sameTrace(run, f) { // runs fail alike one after the other
			a.apart[run] = append(a.apart[run], f)
			a.above[f]++
		}
	}
}

// toolOf finds the runs in which a tool returned the end of a part, and proposes the only one. A clock that
// counts whole milliseconds puts the request before the answer that it shows: then nobody else may have
// answered so.
func (a *shownAnswers) toolOf(f *part, last *spantree.Node, text string) {
	var runs []*part
	var shows *turn
	exact := false
	for _, t := range a.results[text] {
		asked := a.asked[a.find(t.f)]
		late := last.End <= t.n.Start || t.f.Behind > 0
		if asked == 0 || asked > f.earliest.Start+f.Behind+spantree.ClockSlack || !late && last.End > t.n.Start+spantree.ClockSlack {
			continue
		}
		if a.find(t.f) == a.find(f) || f.OwnRun() && !sameTrace(t.f, f) || !a.sameService(t.f, f) {
			continue
		}
		runs, shows, exact = append(runs, t.f), t, exact || late
	}
	switch run := a.sole(f, runs...); {
	case run == nil:
	case exact:
		a.propose(f, fragment.ByContent, run)
		a.after(f, last, shows.f, shows.n)
	default:
		a.near = append(a.near, claim[shownText]{f, shows.f, shownText{shows.n, text}})
	}
}

// endOf is how the span of a run or of a model call says that it ended, of what it answered: with a text, or
// with a failure that tells more than that there was one.
func endOf(n *spantree.Node, answer genai.Message) string {
	if len(answer.Parts) > 0 {
		return chat.SpokenText(answer)
	}
	if said := chat.FailureText(n.Obs.Error); n.Failed() && len(said) >= chat.MinQuoted {
		return "\x00" + said // of no text of a conversation
	}
	return ""
}

// resent is how many messages of a request the one before it held already: none where it begins with what a
// tool returned, which is new.
func resent(sent, before []*chat.Message) int {
	if len(sent) > 0 && slices.ContainsFunc(sent[0].Parts, func(p genai.Part) bool { return p.Type == tape.PartToolResult }) {
		return 0
	}
	return min(len(sent), len(before))
}
