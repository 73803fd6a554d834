// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"math"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file finds the run of what says nothing that the run does not say too: what one of its tools did, and steps without calls.

// byAnswer unites a run with what one of its tool calls did. These are calls whose final answer a request of the run shows as the result of
// a tool that it had asked for; an agent of their own lies in the trace of the run. Where the calls were not recorded, their results are user messages. byAnswer also unites the span of a run with the calls below it. These
// were given the same user message and ended with the answer that the span recorded.
func (s *stitcher) byAnswer() {
	type shown struct {
		f *fragment
		n *node
	}
	type answer struct {
		group *fragment
		at    int // its place in the conversation
	}
	lost := map[answer]bool{} // answers whose calls were not recorded
	for _, f := range s.all {
		for _, t := range s.turns[f] {
			if losesCalls(t.n) {
				lost[answer{s.find(f), len(t.sent)}] = true
			}
		}
	}
	results := map[string][]shown{}
	asked := map[*fragment]uint64{}    // when a group asked for its first tool call
	answered := map[*fragment]uint64{} // when the first answer of a group ended, of those that were shown results
	for _, f := range s.all {
		var known []*message
		for _, t := range s.turns[f] {
			said := -1 // where the assistant spoke last
			for i, m := range t.sent {
				if m.tape.Role != tape.RoleUser {
					said = i
				} else if len(lost) > 0 && lost[answer{s.find(f), said}] && textOf(m) != "" {
					results[textOf(m)] = append(results[textOf(m)], shown{f, t.n})
				}
			}
			for _, m := range t.sent[resent(t.sent, known):] {
				for i := range m.parts {
					if text := strings.TrimSpace(toldText(m.parts[i].Result)); m.parts[i].Type == tape.PartToolResult && text != "" {
						results[text] = append(results[text], shown{f, t.n})
						answered[s.find(f)] = math.MaxUint64
					}
				}
			}
			known = t.sent
			if g := s.find(f); asksTools(t.n) && (asked[g] == 0 || t.n.end+f.behind < asked[g]) {
				asked[g] = t.n.end + f.behind
			}
		}
		if n := f.root; n != nil && len(s.turns[f]) == 0 && len(f.tools()) == 0 {
			if text := endOf(n, ownAnswer(n)); text != "" {
				results[text] = append(results[text], shown{f, nil})
			}
		}
	}
	for _, f := range s.all { // where no answer was recorded with its calls, the first of them asked for one
		for _, t := range s.turns[f] {
			if g := s.find(f); answered[g] > 0 && asked[g] == 0 {
				answered[g] = min(answered[g], t.n.end+f.behind)
			}
		}
	}
	for g, end := range answered {
		if asked[g] == 0 {
			asked[g] = end
		}
	}
	below := map[*fragment][]*fragment{} // of the span of a run without calls, those that ended as it did
	apart := map[*fragment][]*fragment{} // those that did in another trace, which the clock of that one puts outside of its time
	above := map[*fragment]int{}         // of how many spans of runs they may be the calls
	around := map[*fragment]int{}        // how many such spans lie around them
	type moment struct {
		n    *node
		text string
	}
	near := map[moment][]*fragment{} // by a request that began a moment before the answer that it shows was given: those who answered so
	told := map[*node][]string{}
	for _, f := range s.all {
		turns := s.turns[f]
		if len(turns) == 0 {
			continue
		}
		last := turns[len(turns)-1].n
		var said genai.Message
		if len(last.obs.Response) > 0 {
			said = last.obs.Response[0]
		}
		text := endOf(last, said)
		if text == "" {
			continue
		}
		owners, exact := map[*fragment]bool{}, false
		var shows shown
		for _, r := range results[text] {
			g := s.find(r.f)
			if g == s.find(f) || !sameService(r.f, f) || f.ownRun() && r.n != nil && !s.sameTrace(r.f, f) {
				continue
			}
			if f.ownRun() && r.n == nil && (s.sameTrace(r.f, f) || !r.f.spans(f) || f.userText() == "") {
				continue // a tracer that keeps its spans in traces apart writes the run again: it was asked the same, answered the same, and lies around all of it
			}
			if r.n == nil && r.f.question() == f.userText() {
				if r.f.spans(f) {
					below[r.f] = append(below[r.f], f)
					around[f]++
				} else if !s.sameTrace(r.f, f) && len(said.Parts) > 0 { // runs fail alike one after the other
					apart[r.f] = append(apart[r.f], f)
					above[f]++
				}
			}
			if r.n != nil && asked[g] > 0 && asked[g] <= f.first().start+f.behind+clockSlack && (last.end <= r.n.start+clockSlack || r.f.behind > 0) {
				owners[g] = true
				shows, exact = r, exact || last.end <= r.n.start || r.f.behind > 0
			}
		}
		switch owner := only(owners); {
		case owner != nil && exact:
			s.unite(owner, f, byContent)
			s.after(f, last, shows.f, shows.n)
		case owner != nil: // a clock that counts whole milliseconds puts the request before the answer that it shows (JavaScript)
			m := moment{shows.n, text}
			near[m] = append(near[m], f)
			told[shows.n] = append(told[shows.n], text)
		}
	}
	for _, f := range s.all {
		for _, t := range s.turns[f] {
			for _, text := range told[t.n] {
				if agents := near[moment{t.n, text}]; len(agents) == 1 {
					s.unite(f, agents[0], byContent)
				}
			}
		}
	}
	for _, f := range s.all {
		switch one := append(below[f], apart[f]...); {
		case len(below[f]) == 1 && (around[one[0]] == 1 || !one[0].ownRun()), len(one) == 1 && above[one[0]] == 1:
			s.unite(f, one[0], byContent)
		}
	}
}

// endOf is how the span of a run or of a model call says that it ended, of what it answered: with a text, or with a failure that tells more than that there was one.
func endOf(n *node, answer genai.Message) string {
	if len(answer.Parts) > 0 {
		return textOf(newMessage(answer))
	}
	if said := failureText(n.obs.Error); (n.obs.Failed || n.obs.StatusError) && len(said) >= minQuoted {
		return "\x00" + said // of no text of a conversation
	}
	return ""
}

// resent is how many messages of a request the one before it held already: none where it begins with what a tool returned, which is new.
func resent(sent, before []*message) int {
	if len(sent) > 0 && slices.ContainsFunc(sent[0].parts, func(p genai.Part) bool { return p.Type == tape.PartToolResult }) {
		return 0
	}
	return min(len(sent), len(before))
}

// readSoon is how long after a stream was handed out it is read, at most, in ns.
const readSoon = 10_000_000_000

// byStream unites the span of a run that was over when it handed out a stream, before anything took place, with the calls that the reading of the stream made:
// they were asked what the run was asked, and began next. Where several such runs or several such calls follow each other, nobody knows whose they are. The span of a function that was over
// when it handed out what is awaited later is such a span too, alone in its trace (OpenLIT's decorator around an asynchronous function).
func (s *stitcher) byStream() {
	type asked struct{ service, text string }
	parts := map[asked][]*fragment{} // in order of time: the spans of such runs, and the first part of each group of calls
	hollow := map[*fragment]bool{}
	seen := map[*fragment]bool{}
	for _, f := range s.all {
		g := s.find(f)
		calls := len(s.turns[f]) > 0
		if !calls {
			hollow[f] = g == f && f.root != nil && (f.ownRun() || len(f.root.kids) == 0) && len(f.tools()) == 0 && !seen[g] && !f.root.obs.Failed && !f.root.obs.StatusError && textOf(newMessage(ownAnswer(f.root))) == ""
		}
		if text := f.userText(); text != "" && (calls && !seen[g] || hollow[f]) {
			k := asked{serviceOf(f.first().resource).Name, text}
			parts[k] = append(parts[k], f)
		}
		seen[g] = true
	}
	for _, list := range parts {
		for i, f := range list {
			if !hollow[f] || i+1 == len(list) || hollow[list[i+1]] || i > 0 && hollow[list[i-1]] || i+2 < len(list) && !hollow[list[i+2]] {
				continue
			}
			_, over := f.interval()
			if calls := list[i+1]; !calls.ownRun() && over <= calls.first().start+clockSlack && calls.first().start <= over+readSoon {
				s.unite(f, calls, byContent)
			}
		}
	}
}

// toldText is the text that a result tells the model, also of providers that take objects alone: they are told one member with it. Of JSON that holds no one text it is the JSON, as it was
// written.
func toldText(v exactjson.Value) string {
	v = decode.UnwrapResult(genai.Content{Value: v}).Content.Value
	written := v.Str()
	if inner, ok := decoded(v); ok && (inner.Kind() == exactjson.Object || inner.Kind() == exactjson.String) { // a program may write every result as JSON
		v = inner
	}
	if v.Kind() == exactjson.Object && v.Len() == 1 {
		v = v.Members()[0].Value
	}
	if v.Kind() != exactjson.String && len(written) >= minQuoted {
		return written
	}
	return v.Str()
}

// steps unites spans that hold no call and nothing but what a run holds too with that run: one of the same trace, or, for steps that lost their
// trace context, the only one of the service that was going on at that time.
func (s *stitcher) steps() {
	var bare []*fragment
	runs := map[string][]*fragment{} // by trace
	said := map[string][]*fragment{} // by what a user said, a tool returned, a model answered or asked one tool
	for _, f := range s.all {
		if s.bareStep(f) || s.isStep(f) && holdsConversation(f.root) {
			bare = append(bare, f)
			continue
		}
		for _, t := range f.traces {
			runs[t] = append(runs[t], f)
		}
	}
	if len(bare) == 0 {
		return
	}
	times := map[*fragment]interval{}        // of groups
	texts := map[*fragment]map[string]bool{} // what users said, one set for all fragments of a group
	for _, f := range s.all {
		g := s.find(f)
		if !s.isStep(f) {
			times[g] = times[g].of(f)
		}
		if texts[g] == nil {
			texts[g] = map[string]bool{}
		}
		texts[f] = texts[g]
		for _, t := range s.turns[f] {
			for _, m := range t.sent {
				if text := textOf(m); m.tape.Role == tape.RoleUser && !texts[g][text] {
					texts[g][text] = true
					said[text] = append(said[text], f)
				}
			}
		}
		for _, t := range s.turns[f] {
			if len(t.n.obs.Response) > 0 {
				for _, key := range answerKeys(t.n.obs.Response[0]) {
					said[key] = append(said[key], f)
				}
				for _, p := range callsOf(t.n.obs.Response[0].Parts) {
					if text := onlyTextOf(p.Args); text != "" {
						said[stepKey(p.Name, text)] = append(said[stepKey(p.Name, text)], f)
					}
				}
			}
		}
		for _, n := range f.tools() {
			if text := strings.TrimSpace(n.obs.Result.Value.Str()); text != "" {
				said[text] = append(said[text], f)
			}
		}
	}
	join := func(owner, f *fragment) {
		both := times[s.find(owner)].of(f)
		s.unite(owner, f, byContent)
		times[s.find(f)] = both
	}
	var rest []*fragment // those that hold no answer
	var holding []*fragment
	keys := map[*fragment][]string{}
	for _, f := range bare {
		if keys[f] = s.held(f, runs); len(keys[f]) == 0 {
			rest = append(rest, f)
			continue
		}
		holding = append(holding, f)
		for _, key := range keys[f] {
			said[key] = append(said[key], f)
		}
	}
	// what a step holds beyond the responses tells whose steps are those that hold it too
	for again := true; again; {
		again = false
		holding = slices.DeleteFunc(holding, func(f *fragment) bool {
			for _, key := range keys[f] {
				if owner := s.during(f, said[key], times); owner != nil {
					join(owner, f)
					again = true
					return true
				}
			}
			return false
		})
	}
	for _, f := range rest {
		asked := strings.TrimSpace(lastUserText(f.root.obs.Input))
		if asked == "" {
			continue
		}
		var owner *fragment
		alone := true // in its trace
		for _, t := range f.traces {
			for _, g := range runs[t] {
				alone = false
				if !texts[g][asked] && !s.holdsResult(g, asked) {
					continue
				}
				if owner == nil || f.beside(g) && !f.beside(owner) || f.beside(g) == f.beside(owner) && g.first().start <= f.first().start {
					owner = g
				}
			}
		}
		// what says how it ended is looked at in byAnswer
		if own := textOf(newMessage(ownAnswer(f.root))); alone && (own == "" || own == asked) {
			owner = s.during(f, said[asked], times)
			if name := f.root.obs.Agent.Name; owner == nil && own == "" && name != "" {
				owner = s.during(f, said[stepKey(name, asked)], times)
			}
		}
		if owner != nil {
			join(owner, f)
		}
	}
}

// stepKey is what tells the function of a tool that lost its trace context, and whose span says no more than its name and the one text that it was given: the call that a model asked for.
func stepKey(name, text string) string { return "step " + name + "\x00" + text }

// onlyTextOf is the value of arguments that are one text and nothing else.
func onlyTextOf(args exactjson.Value) string {
	if args.Kind() != exactjson.Object || args.Len() != 1 {
		return ""
	}
	return strings.TrimSpace(args.Members()[0].Value.Str())
}

// held are the keys of what the model answered since the user spoke last, as a step recorded it as its state or, where no run lies in its trace, was
// given it: the last answer, and all calls by their ids.
func (s *stitcher) held(f *fragment, runs map[string][]*fragment) (keys []string) {
	messages := conversationOf(f.root)
	if messages == nil && !slices.ContainsFunc(f.traces, func(t string) bool { return len(runs[t]) > 0 }) {
		messages = f.root.obs.Input
	}
	first := true
	for _, m := range slices.Backward(messages) {
		if m.Role == tape.RoleUser {
			break
		}
		if m.Role == tape.RoleAssistant && (first || len(callsOf(m.Parts)) > 0) {
			keys = append(keys, answerKeys(m)...)
			first = false
		}
	}
	return keys
}

// during finds the only group of the same service that was going on while a step took place, of those that hold what it holds. Where more hold it than
// can be looked at, none is taken.
func (s *stitcher) during(step *fragment, holders []*fragment, times map[*fragment]interval) *fragment {
	if len(holders) > maxAskings {
		return nil
	}
	groups := map[*fragment]bool{}
	for _, g := range holders {
		if first := s.find(g); sameService(g, step) && times[first].touches(interval{}.of(step)) {
			groups[first] = true
		}
	}
	return only(groups)
}

// interval is a time, ns since the epoch.
type interval struct{ start, end uint64 }

// of is the interval with that of a fragment.
func (i interval) of(f *fragment) interval {
	start, end := f.interval()
	if i.end == 0 {
		return interval{start, end}
	}
	return interval{min(i.start, start), max(i.end, end)}
}

// touches reports that two intervals have a moment in common, as far as clocks tell.
func (i interval) touches(other interval) bool {
	return i.start <= other.end+clockSlack && other.start <= i.end+clockSlack
}

// isStep reports a step of a graph without calls.
func (s *stitcher) isStep(f *fragment) bool {
	return f.root != nil && f.root.obs.WeakAgent && len(s.turns[f]) == 0 && len(f.tools()) == 0
}

// bareStep reports a step without calls or an answer. One that failed and was given no more than a user message may be a run that went no further.
func (s *stitcher) bareStep(f *fragment) bool {
	if !s.isStep(f) || holdsConversation(f.root) {
		return false
	}
	return !f.root.obs.Failed && !f.root.obs.StatusError || len(sinceUser(handed(f))) > 1
}

// answerKeys are what tells an answer from others: the ids of its calls or, without any, a text that is no mere word.
func answerKeys(m genai.Message) (keys []string) {
	for _, p := range callsOf(m.Parts) {
		if p.ID != "" {
			keys = append(keys, "call "+p.ID)
		}
	}
	if text := textOf(newMessage(m)); len(keys) == 0 && len(text) >= minQuoted {
		keys = append(keys, "answer "+text)
	}
	return keys
}

// holdsResult reports that a tool of the fragment returned the text.
func (s *stitcher) holdsResult(f *fragment, text string) bool {
	return slices.ContainsFunc(f.tools(), func(n *node) bool {
		v := n.obs.Result.Value
		return v.Kind() == exactjson.String && strings.TrimSpace(v.Str()) == text
	})
}
