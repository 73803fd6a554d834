// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// byDelegation unites the run of an agent with the one that ran it as a tool, where the context of the trace was lost on the way: the tool was handed
// what the agent was asked and returned what it answered, word for word, and the agent ran while the tool did, in the same service.
func (s *stitcher) byDelegation() {
	type holder struct {
		f    *fragment
		tool *node
	}
	returned := map[string][]holder{}
	for _, f := range s.all {
		for _, n := range f.tools() {
			if text := strings.TrimSpace(n.obs.Result.Value.Str()); text != "" {
				returned[text] = append(returned[text], holder{f, n})
			}
		}
	}
	if len(returned) == 0 {
		return
	}
	for _, g := range s.all {
		task, answer := s.delegated(g)
		if task == "" || answer == "" {
			continue
		}
		start, end := g.interval()
		owner := map[*fragment]bool{}
		list := returned[answer]
		for _, h := range list[:min(len(list), maxAskings)] {
			if s.find(h.f) != s.find(g) && !s.sameTrace(h.f, g) && sameService(h.f, g) && h.tool.start <= start && end <= h.tool.end && isHanded(h.tool.obs.Args.Value, task) {
				owner[s.find(h.f)] = true
			}
		}
		if f := only(owner); f != nil {
			s.unite(f, g, byCall)
		}
	}
}

// delegated returns what an agent was asked, and what it answered at last; of a part that is no agent's run of its own, nothing.
func (s *stitcher) delegated(g *fragment) (task, answer string) {
	if !g.ownRun() {
		return "", ""
	}
	task, answer = g.userText(), textOf(newMessage(ownAnswer(g.root)))
	if turns := s.turns[g]; answer == "" && len(turns) > 0 {
		last := slices.MaxFunc(turns, func(a, b *turn) int { return cmp.Compare(a.n.end, b.n.end) })
		if response := last.n.obs.Response; len(response) > 0 && !decode.HasCalls(response[0]) {
			answer = textOf(newMessage(response[0]))
		}
	}
	return strings.TrimSpace(task), answer
}

// isHanded reports arguments of which one is the text.
func isHanded(args exactjson.Value, text string) bool {
	return slices.ContainsFunc(args.Members(), func(m exactjson.Member) bool { return strings.TrimSpace(m.Value.Str()) == text })
}
