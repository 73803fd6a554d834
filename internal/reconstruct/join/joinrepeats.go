// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// maxToolTime is how long after an answer that asked for tools a request may come that goes on with it and shows nothing of
// them, in ns.
const maxToolTime = 10 * 60 * 1_000_000_000

// byRepeat unites a model call with the run that it goes on with where calls and results are left out of what is sent or
// recorded: it repeats the request before word for word.
//
// Needs: an answer before that asked for tools and shows none, or says nothing. Behind a step that failed the framework
// leaves out calls that were recorded too, and says so at the end of the request.
// Refuses: several runs that wait so; another conversation; the same trace; more than ten minutes.
// Seen in: OpenLIT on a provider's SDK without a span around it; smolagents.
func (s *stitcher) byRepeat() {
	type key struct {
		service, first, last string
		length               int
	}
	waiting := map[key][]*turn{}
	for _, t := range s.looseTurns() {
		if len(t.sent) == 0 {
			continue
		}
		first, last := t.sent[0], t.sent[len(t.sent)-1]
		k := key{t.service, WithoutTail(first), WithoutTail(last), len(t.sent)}
		waiting[k] = slices.DeleteFunc(waiting[k], func(o *turn) bool {
			return s.find(o.f) == s.find(t.f) || o.n.End+maxToolTime < t.n.Start
		})
		fit := slices.DeleteFunc(slices.Clone(waiting[k]), func(o *turn) bool {
			return !t.retries() && !(o.unsaid() && o.sent[0].ID == first.ID && o.sent[len(o.sent)-1].ID == last.ID)
		})
		if before := s.onlyTurn(t.f, fit); before != nil && before.n.End <= t.n.Start+spantree.ClockSlack && s.otherTrace(before.f, t.f) && s.oneConversation(before.f, before.n, t.f, t.n) {
			s.propose(t.f, fragment.ByConversation, before.f)
			waiting[k] = slices.DeleteFunc(waiting[k], func(o *turn) bool { return o == before })
		}
		if (t.unsaid() || t.asksForTools()) && !t.done {
			waiting[k] = append(waiting[k], t)
		}
	}
}

// looseTurns are the model calls of parts without the span of an agent, in order of time.
func (s *stitcher) looseTurns() []*turn {
	loose := slices.DeleteFunc(slices.Clone(s.all), func(f *part) bool { return f.OwnRun() })
	return turnsOf(loose, compareTurns)
}

// retries reports a request whose last message ends with what the framework says of a step that failed.
func (t *turn) retries() bool {
	return len(t.sent) > 0 && WithoutTail(t.sent[len(t.sent)-1]) != t.sent[len(t.sent)-1].ID
}

// asksForTools reports an answer with a call of a tool that runs.
func (t *turn) asksForTools() bool {
	return slices.ContainsFunc(t.n.Asks(), func(p *genai.Part) bool { return !slices.Contains(t.n.Obs.OutputTools, p.Name) })
}

// WithoutTail is the id of a message without what the framework put behind it.
func WithoutTail(m *chat.Message) string {
	n := len(m.Parts)
	for n > 0 && m.Parts[n-1].Injected {
		n--
	}
	if n == 0 || n == len(m.Parts) {
		return m.ID
	}
	return chat.NewMessage(genai.Message{Role: m.Tape.Role, Name: m.Tape.Name, Parts: m.Parts[:n]}).ID
}
