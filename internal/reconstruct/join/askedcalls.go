// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// byCalls unites parts that hold tool calls, and no model call beside them, with the run that asked for
// these.
//
// Needs: a call id of one run; else the name and arguments of a call that is open in one run; else the one
// run whose answer was handed to the step around the tool, that may hide the call, or that was told its
// result or its failure next.
// Refuses: several runs; a second report of a call that is known.
// Seen in: tools in services of their own; steps that lost their trace context, as in LangChain.js under
// Traceloop.
func (s *stitcher) byCalls() {
	c := s.asked()
	var parts []*part
	for _, f := range s.all {
		for _, n := range f.tools {
			c.meets[n.Scope] = c.meets[n.Scope] || n.Obs.CallID != "" && len(c.byID[n.Obs.CallID]) > 0
		}
		if len(f.tools) > 0 && !f.OwnRun() && !slices.ContainsFunc(f.turns, func(t *turn) bool { return !inTool(t.n) }) {
			parts = append(parts, f)
			continue
		}
		for _, n := range f.tools {
			s.execute(n, f)
		}
	}
	again := s.reportedAgain(parts)
	signs := []func(*part) []sought{
		func(f *part) []sought { return soughtBy(f, c.withID, nil) },
		func(f *part) []sought { return soughtBy(f, c.open, again) },
		s.handedOn, s.hidden, s.heard,
	}
	for _, f := range parts {
		for _, sign := range signs {
			if found := sign(f); len(found) > 0 {
				s.giveTo(f, found)
				break
			}
		}
		for _, n := range f.tools {
			if !again[n] {
				s.execute(n, f)
			}
		}
	}
}

// sought says that a run may have asked for a tool.
type sought struct {
	run   *part
	asked *spantree.Node // the model call that was answered so; nil: not known
	tool  *spantree.Node
}

// giveTo proposes the runs that may have asked for the tools of a part. The tools ran after the first call
// that asked for one of them.
func (s *stitcher) giveTo(f *part, found []sought) {
	var runs []*part
	for _, one := range found {
		if s.find(one.run) != s.find(f) {
			runs = append(runs, one.run)
		}
	}
	if s.propose(f, fragment.ByCall, runs...) && found[0].asked != nil {
		s.after(found[0].run, found[0].asked, f, found[0].tool)
	}
}

// soughtBy looks the tools of a part up in what was asked for, without those that are reported again.
func soughtBy(f *part, list func(*spantree.Node) []*asking, again map[*spantree.Node]bool) (found []sought) {
	for _, n := range f.tools {
		if again[n] {
			continue
		}
		for _, a := range list(n) {
			found = append(found, sought{a.f, a.n, n})
		}
	}
	return found
}

// handedOn finds the model call whose answer was handed to the step around a part: they have the same text,
// and the calls were recorded with the step alone.
func (s *stitcher) handedOn(f *part) []sought {
	up := f.Heads[0].Up
	if up == nil || up.Obs.Class != genai.Structure || !up.Obs.InputData.Present() {
		return nil
	}
	answer := spantree.HandedAnswer(up)
	if answer == nil || len(chat.TextOf(answer)) < chat.MinQuoted {
		return nil
	}
	if s.lost == nil {
		s.lost = map[string][]*turn{}
		for t := range s.turns() {
			if len(t.n.Obs.Response) > 0 && spantree.LosesCalls(t.n) {
				text := chat.SpokenText(t.n.Obs.Response[0])
				s.lost[text] = append(s.lost[text], t)
			}
		}
	}
	if t := chat.Only(s.lost[chat.TextOf(answer)]); t != nil && s.sameService(t.f, f) {
		return []sought{{t.f, t.n, f.tools[0]}}
	}
	return nil
}

// hidden lists the runs of the same trace whose latest model call before the first tool of a part may have
// asked for it: of its answer neither a text nor a call was recorded, or nothing at all where the tool has
// the id of a provider.
func (s *stitcher) hidden(f *part) (found []sought) {
	first := f.tools[0]
	latest := map[*part]*turn{}
	for _, trace := range f.Traces {
		turns := s.ended(trace)
		before, _ := slices.BinarySearchFunc(turns, first.Start+spantree.ClockSlack+1, endsAt)
		for _, t := range slices.Backward(turns[max(0, before-maxOpenTurns):before]) {
			if run := s.find(t.f); latest[run] == nil || latest[run].n.End < t.n.End {
				latest[run] = t
			}
		}
	}
	for run, t := range latest {
		unheard := len(first.Obs.CallID) >= decode.MinDrawnID && !t.n.Failed() && len(t.n.Obs.Response) == 0
		if (t.unsaid() || unheard) && s.oneConversation(t.f, t.n, f, first) {
			found = append(found, sought{run: run})
		}
	}
	return found
}

// ended lists the turns of a trace in order of their end.
func (s *stitcher) ended(trace string) []*turn {
	if s.ends == nil {
		s.ends = map[string][]*turn{}
		for _, f := range s.all {
			for _, t := range f.Traces {
				s.ends[t] = append(s.ends[t], f.turns...)
			}
		}
		for _, turns := range s.ends {
			slices.SortStableFunc(turns, compareEnds)
		}
	}
	return s.ends[trace]
}

// hearing is a result that a request shows first.
type hearing struct {
	f    *part
	n    *spantree.Node // the model call that was told
	from uint64         // when the call before it began
	lost bool           // that call's answer lacks the calls that it asked for
	text string
}

// heard lists the runs of the service in which a model was told, after a tool ended and with a call before it
// began, what the tool returned where nothing shows the calls any more, or its failure where such a call is
// open under another name. Instrumentations of steps that lose the trace context leave calls out of answers
// too, and names out of calls that failed.
func (s *stitcher) heard(f *part) (found []sought) {
	if s.hearings == nil {
		s.hearings = s.allHearings()
	}
	for _, n := range f.tools {
		list, failed := s.hearings[saidText(n.Obs.Result.Value)], ""
		if said := chat.FailureText(n.Obs.Error); len(said) >= chat.MinQuoted {
			list, failed = s.hearings[""], said
		} else if !n.Obs.Result.Present() {
			continue
		}
		if len(list) > maxAskings {
			continue
		}
		for _, h := range list {
			if h.from > n.Start+spantree.ClockSlack || !endsBefore(n, h.n) || !strings.Contains(h.text, failed) || !s.sameService(h.f, f) {
				continue
			}
			if h.lost || failed != "" && len(s.asked().byName[n.Obs.Name]) == 0 && s.openIn(h.f, n) {
				found = append(found, sought{run: h.f})
			}
		}
	}
	return found
}

// openIn reports that a call with the arguments of a tool span was asked for in the run of a part and
// executed by no span.
func (s *stitcher) openIn(f *part, n *spantree.Node) bool {
	list := s.asked().byArgs[n.Obs.Args.Value.JSON()]
	return slices.ContainsFunc(atMost(list, maxAskings), func(a *asking) bool { return !a.executed && s.find(a.f) == s.find(f) })
}

// saidText is the text of a result that a request may tell: that of ToldText, or the JSON of any other value.
func saidText(v exactjson.Value) string {
	if text := strings.TrimSpace(chat.ToldText(v)); text != "" {
		return text
	}
	if inner, ok := chat.Decoded(v); ok {
		v = inner
	}
	if v.IsEmpty() {
		return ""
	}
	return v.JSON()
}

// allHearings lists what requests tell of tools: by the text, and all of them under no text.
func (s *stitcher) allHearings() map[string][]hearing {
	all := map[string][]hearing{}
	for _, run := range s.runs() {
		turns := turnsOf(run, compareTurns)
		for i := 1; i < len(turns); i++ {
			before, t := turns[i-1], turns[i]
			asks := false // the message before the results shows calls
			for at, m := range t.sent {
				if m.Tape.Role != tape.RoleTool {
					asks = chat.HasToolCall(m)
				}
				for k := range m.Parts {
					if at < len(before.sent) || m.Parts[k].Type != tape.PartToolResult {
						continue
					}
					if text := saidText(m.Parts[k].Result); text != "" {
						one := hearing{run[0], t.n, before.n.Start, !asks || spantree.LosesCalls(before.n), text}
						all[text], all[""] = append(all[text], one), append(all[""], one)
					}
				}
			}
		}
	}
	return all
}

// inTool reports a span that lies below the span of a tool call.
func inTool(n *spantree.Node) bool {
	for up := n.Up; up != nil; up = up.Up {
		if up.Obs.Class == genai.Tool {
			return true
		}
	}
	return false
}
