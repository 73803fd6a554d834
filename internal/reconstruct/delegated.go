// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// handing is a call of a tool in a run: what it was handed, and between which times its answer came.
type handing struct {
	f          *fragment
	n          *node // its span; nil: none tells of it
	args       exactjson.Value
	start, end uint64
}

// byDelegation unites the run of an agent with the one that ran it as a tool, where the context of the trace was lost on the way: the tool was handed
// what the agent was asked and returned what it answered, word for word, or both failed with the same error, and the agent ran while the tool did, in the same service. Where no span tells
// of the tool, it ran between the answer that asked for it and the next request, which shows what it returned.
func (s *stitcher) byDelegation() {
	returned := map[string][]handing{}
	for _, f := range s.all {
		for _, n := range f.tools() {
			text, _ := decode.WholeText(n.obs.Result.Value) // some write a text that a tool returned as JSON
			if text == "" && n.obs.Result.Value.Kind() >= exactjson.Array {
				text = n.obs.Result.Value.JSON()
			}
			if text == "" {
				text = failedWith(n)
			}
			if text = spelled(text); text != "" {
				returned[text] = append(returned[text], handing{f, n, n.obs.Args.Value, n.start, n.end})
			}
		}
	}
	for _, turns := range s.loops() {
		shownBetween(turns, func(text string, h handing) {
			text = spelled(text)
			returned[text] = append(returned[text], h)
		})
	}
	if len(returned) == 0 {
		return
	}
	type exchange struct{ task, answer string }
	said := map[exchange]map[*fragment]bool{} // loops without the span of an agent
	for _, g := range s.all {
		if task, answer := s.delegated(g); g.root == nil && len(task) >= minQuoted && answer != "" {
			k := exchange{task, spelled(answer)}
			if said[k] == nil {
				said[k] = map[*fragment]bool{}
			}
			said[k][s.find(g)] = true
		}
	}
	for _, g := range s.all {
		task, answer := s.delegated(g)
		if answer == "" && g.root != nil {
			answer = failedWith(g.root)
		}
		if task == "" || answer == "" {
			continue
		}
		start, end := g.interval()
		once := g.root != nil || len(said[exchange{task, spelled(answer)}]) == 1
		owner := map[*fragment]bool{}
		var by []*node
		list := returned[spelled(answer)]
		for _, h := range list[:min(len(list), maxAskings)] {
			if !sameService(h.f, g) || h.start > start+rounding || end > h.end+rounding || !isHanded(h.args, task) {
				continue
			}
			switch {
			case h.n == nil && !once: // two loops that nothing but what they say tells apart from others, where others say it too, or in a few words
			case h.f != g && !s.sameTrace(h.f, g):
				owner[s.find(h.f)] = true
				if h.n != nil {
					by = append(by, h.n)
				}
			case g.root == nil: // a tool of its own run made these calls, as far as anybody knows
				owner[s.find(g)] = true
			}
		}
		if f := only(owner); f != nil && f != s.find(g) {
			s.unite(f, g, byCall)
			if g.asTool = true; len(by) == 1 {
				g.ranBy = by[0]
			}
		}
	}
}

// failedWith is how a tool or an agent failed, as what it came to: the first line of its error. It is "" where it did not fail.
func failedWith(n *node) string {
	if !n.obs.Failed && !n.obs.StatusError || n.obs.Error == nil {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimSpace(n.obs.Error.Message), "\n")
	if first = withoutClass(first); first == "" {
		return ""
	}
	return "failed: " + first
}

// spelled is a text without the white space around it and, where it is JSON of an object or a list, in it: some read what a tool returned and write it again.
func spelled(text string) string {
	text = strings.TrimSpace(text)
	if v, ok := decode.ParseStructure(text); ok {
		return v.JSON()
	}
	return text
}

// loops are the turns of each run as far as it is known, in order of time: a loop that was written by hand may have a trace for each.
func (s *stitcher) loops() [][]*turn {
	var runs []*fragment
	of := map[*fragment][]*turn{}
	for _, f := range s.all {
		run := s.find(f)
		if of[run] == nil && len(s.turns[f]) > 0 {
			runs = append(runs, run)
		}
		of[run] = append(of[run], s.turns[f]...)
	}
	loops := make([][]*turn, 0, len(runs))
	for _, run := range runs {
		slices.SortStableFunc(of[run], func(a, b *turn) int { return cmp.Compare(a.n.start, b.n.start) })
		loops = append(loops, of[run])
	}
	return loops
}

// shownBetween tells of each call that a model call asked for, and of which the next request shows the result as a text.
func shownBetween(turns []*turn, found func(text string, h handing)) {
	asked := map[string]handing{}
	for _, t := range turns {
		for i := len(t.sent) - 1; i >= 0 && t.sent[i].tape.Role == tape.RoleTool; i-- {
			for k := range t.sent[i].parts {
				p := &t.sent[i].parts[k]
				h, open := asked[p.ID]
				if text := strings.TrimSpace(p.Result.Str()); open && p.Type == tape.PartToolResult && text != "" {
					h.end = t.n.start
					found(text, h)
				}
			}
		}
		clear(asked)
		for _, r := range t.n.obs.Response {
			for _, p := range callsOf(r.Parts) {
				if p.ID != "" {
					asked[p.ID] = handing{f: t.f, args: p.Args, start: t.n.end}
				}
			}
		}
	}
}

// delegated returns what an agent was asked, and what it answered at last; of a step of a graph, nothing, unless it is a graph whose model was asked and which failed or answered by a call, or one
// without the span of a model whose state is the whole conversation. Calls without the span of an agent around them tell it
// as well (TanStack AI).
func (s *stitcher) delegated(g *fragment) (task, answer string) {
	weak := g.root != nil && !g.ownRun()
	whole := weak && len(s.turns[g]) == 0 && holdsExchange(g.root)
	if weak && !whole && (len(s.turns[g]) == 0 || failedWith(g.root) == "" && echo(decode.Transcript(g.root.obs.OutputData.Value)) == nil) {
		return "", ""
	}
	task = g.userText()
	if g.root != nil && failedWith(g.root) == "" {
		answer = textOf(newMessage(ownAnswer(g.root)))
		if by := echo(decode.Transcript(g.root.obs.OutputData.Value)); by != nil { // what it handed on is what the model answered by a call
			answer = saidBy(by)
		}
	}
	if turns := s.turns[g]; answer == "" && len(turns) > 0 && !weak {
		last := slices.MaxFunc(turns, func(a, b *turn) int { return cmp.Compare(a.n.end, b.n.end) })
		if response := last.n.obs.Response; len(response) > 0 && !decode.HasCalls(response[0]) {
			answer = textOf(newMessage(response[0]))
		}
	}
	if g.root != nil && task == "" { // JSON, which reads as no message
		task = given(g.root.obs.InputData)
	}
	if g.root != nil && answer == "" && !weak {
		answer = given(g.root.obs.OutputData)
	}
	return strings.TrimSpace(task), strings.TrimSpace(answer)
}

// holdsExchange reports a span that was given what a user said, alone, and recorded that and what came of it as its state.
func holdsExchange(n *node) bool {
	given, state := decode.Transcript(n.obs.InputData.Value), decode.Transcript(n.obs.OutputData.Value)
	return n.obs.OutputData.Label == "" && len(given) == 1 && given[0].Role == tape.RoleUser && len(state) > 1 && state[0].Role == tape.RoleUser &&
		textOf(newMessage(state[0])) == textOf(newMessage(given[0])) && state[len(state)-1].Role == tape.RoleAssistant
}

// isHanded reports arguments of which one is the text, or that are the text: some record the only argument bare.
func isHanded(args exactjson.Value, text string) bool {
	return text != "" && strings.TrimSpace(args.Str()) == text || slices.ContainsFunc(args.Members(), func(m exactjson.Member) bool { return strings.TrimSpace(m.Value.Str()) == text })
}
