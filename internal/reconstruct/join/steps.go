// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// heldSteps finds the runs of steps by what these hold.
type heldSteps struct {
	*stitcher
	runs  map[string][]*part        // by trace: parts that are no bare steps
	said  map[string][]*part        // by what a user said, a tool returned, a model answered or asked one tool
	texts map[*part]map[string]bool // what users said, one set for all parts of a run
	times map[*part]interval        // of runs, by their first parts
}

// bySteps unites the steps of a graph that hold no call, and nothing but what a run holds too, with that run.
//
// Needs: a step that was given what a run of its trace was asked, or whose state holds what one run of the
// service going on at that time was asked or answered.
// Refuses: several runs; words of the user in another trace when the step tells how it ended.
// Seen in: LangGraph and LangChain, whose steps lose the span above them or their trace context.
func (s *stitcher) bySteps() {
	h := heldSteps{s, map[string][]*part{}, map[string][]*part{}, map[*part]map[string]bool{}, map[*part]interval{}}
	var bare []*part
	for _, f := range s.all {
		if isStep(f) && (fragment.HoldsConversation(f.Root) || isNoRun(f)) {
			bare = append(bare, f)
			continue
		}
		for _, t := range f.Traces {
			h.runs[t] = append(h.runs[t], f)
		}
	}
	if len(bare) == 0 {
		return
	}
	for _, f := range s.all {
		h.add(f)
	}
	keys := map[*part][]string{}
	holding := slices.DeleteFunc(slices.Clone(bare), func(f *part) bool {
		for _, key := range h.held(f) {
			keys[f] = append(keys[f], key)
			h.said[key] = append(h.said[key], f)
		}
		return keys[f] == nil
	})
	for open := len(holding) + 1; len(holding) < open; { // a step tells whose steps are those that hold what it holds
		open = len(holding)
		holding = slices.DeleteFunc(holding, func(f *part) bool {
			return slices.ContainsFunc(keys[f], func(key string) bool { return h.during(f, h.said[key]) })
		})
	}
	for _, f := range bare {
		if asked := strings.TrimSpace(chat.LastUserText(f.Root.Obs.Input)); keys[f] == nil && asked != "" {
			h.giveAsked(f, asked)
		}
	}
}

// add takes what a part says.
func (h *heldSteps) add(f *part) {
	run := h.find(f)
	if !isStep(f) {
		h.times[run] = h.times[run].with(f)
	}
	if h.texts[run] == nil {
		h.texts[run] = map[string]bool{}
	}
	h.texts[f] = h.texts[run]
	say := func(key string) { h.said[key] = append(h.said[key], f) }
	for _, t := range f.turns {
		for _, m := range t.sent {
			if m.Tape.Role != tape.RoleUser {
				continue
			}
			if text := chat.TextOf(m); !h.texts[run][text] {
				h.texts[run][text] = true
				say(text)
			}
		}
		if len(t.n.Obs.Response) > 0 {
			for _, key := range chat.AnswerKeys(t.n.Obs.Response[0]) {
				say(key)
			}
		}
		for _, p := range t.n.Asks() {
			if text := onlyTextOf(p.Args); text != "" {
				say(stepKey(p.Name, text))
			}
		}
	}
	for _, n := range f.tools {
		if text := strings.TrimSpace(n.Obs.Result.Value.Str()); text != "" {
			say(text)
		}
	}
}

// giveAsked unites a step that holds no answer with the run that was asked what it was given: the one of its
// trace that misses the same parent, else that began last before it. Without a run in its trace, the step
// must not tell how it ended, see byAnswer.
func (h *heldSteps) giveAsked(f *part, asked string) {
	var run *part
	alone := true
	for _, t := range f.Traces {
		for _, g := range h.runs[t] {
			alone = false
			if !h.texts[g][asked] && !returnedBy(g, asked) {
				continue
			}
			if run == nil || f.beside(g) && !f.beside(run) || f.beside(g) == f.beside(run) && g.earliest.Start <= f.earliest.Start {
				run = g
			}
		}
	}
	if run != nil {
		h.assign(f, run)
	}
	own := chat.SpokenText(spantree.OwnAnswer(f.Root))
	if !alone || own != "" && own != asked || h.during(f, h.said[asked]) {
		return
	}
	if name := f.Root.Obs.Agent.Name; own == "" && name != "" {
		h.during(f, h.said[stepKey(name, asked)])
	}
}

// stepKey tells the function of a tool whose span says no more than its name and the one text that it was
// given: the call that a model asked for.
func stepKey(name, text string) string { return "step " + name + "\x00" + text }

// onlyTextOf is the value of arguments that are one text and nothing else.
func onlyTextOf(args exactjson.Value) string {
	if args.Kind() != exactjson.Object || args.Len() != 1 {
		return ""
	}
	return strings.TrimSpace(args.Members()[0].Value.Str())
}

// held are the keys of what the model answered since the user spoke last: the last answer, and all calls by
// their ids. A step recorded it as its state or, where no run lies in its trace, was given it.
func (h *heldSteps) held(f *part) (keys []string) {
	messages := fragment.ConversationOf(f.Root)
	if messages == nil && !slices.ContainsFunc(f.Traces, func(t string) bool { return len(h.runs[t]) > 0 }) {
		messages = f.Root.Obs.Input
	}
	first := true
	for _, m := range slices.Backward(messages) {
		if m.Role == tape.RoleUser {
			break
		}
		if m.Role == tape.RoleAssistant && (first || len(chat.CallsOf(m.Parts)) > 0) {
			keys = append(keys, chat.AnswerKeys(m)...)
			first = false
		}
	}
	return keys
}

// during proposes the runs of the service that were going on while a step took place, of those that hold what
// it holds. Where more hold it than can be looked at, none is proposed.
func (h *heldSteps) during(step *part, holders []*part) (taken bool) {
	if len(holders) > maxAskings {
		return false
	}
	var runs []*part
	for _, g := range holders {
		if h.times[h.find(g)].touches(step.time()) && h.sameService(g, step) {
			runs = append(runs, g)
		}
	}
	return h.assign(step, runs...)
}

// assign proposes runs for a step. A run that it is given lasts as long as the step does.
func (h *heldSteps) assign(step *part, runs ...*part) (taken bool) {
	if len(runs) == 0 {
		return false
	}
	both := h.times[h.find(runs[0])].with(step)
	taken = h.propose(step, fragment.ByContent, runs...)
	if taken {
		h.times[h.find(step)] = both
	}
	return taken
}

// with is the interval with that of a part.
func (i interval) with(f *part) interval {
	time := f.time()
	if i.end == 0 {
		return time
	}
	return interval{min(i.start, time.start), max(i.end, time.end)}
}

// touches reports that two intervals have a moment in common, as far as clocks tell.
func (i interval) touches(other interval) bool {
	return i.start <= other.end+spantree.ClockSlack && other.start <= i.end+spantree.ClockSlack
}

// isStep reports a step of a graph without calls.
func isStep(f *part) bool { return f.Root != nil && f.Root.Obs.WeakAgent && f.noCalls() }

// isNoRun reports that a step without a conversation as its state is no run. One that failed and was given no
// more than a user message may be a run that went no further.
func isNoRun(f *part) bool { return !f.Root.Failed() || len(chat.SinceUser(handed(f))) > 1 }

// returnedBy reports that a tool of the part returned the text.
func returnedBy(f *part, text string) bool {
	return slices.ContainsFunc(f.tools, func(n *spantree.Node) bool { return strings.TrimSpace(n.Obs.Result.Value.Str()) == text })
}
