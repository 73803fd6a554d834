// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
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
		k := key{t.service, withoutTail(first), withoutTail(last), len(t.sent)}
		waiting[k] = slices.DeleteFunc(waiting[k], func(o *turn) bool {
			return s.find(o.f) == s.find(t.f) || o.n.end+maxToolTime < t.n.start
		})
		before := only(slices.DeleteFunc(slices.Clone(waiting[k]), func(o *turn) bool {
			return !t.retries() && !(o.unsaid() && o.sent[0].id == first.id && o.sent[len(o.sent)-1].id == last.id)
		}))
		if before != nil && before.n.end <= t.n.start+clockSlack && s.otherTrace(before.f, t.f) && s.oneConversation(before.f, before.n, t.f, t.n) {
			s.propose(t.f, byConversation, before.f)
			waiting[k] = slices.DeleteFunc(waiting[k], func(o *turn) bool { return o == before })
		}
		if (t.unsaid() || t.asksForTools()) && !t.done {
			waiting[k] = append(waiting[k], t)
		}
	}
}

// looseTurns are the model calls of parts without the span of an agent, in order of time.
func (s *stitcher) looseTurns() []*turn {
	loose := slices.DeleteFunc(slices.Clone(s.all), func(f *part) bool { return f.ownRun() })
	return turnsOf(loose, compareTurns)
}

// retries reports a request whose last message ends with what the framework says of a step that failed.
func (t *turn) retries() bool {
	return len(t.sent) > 0 && withoutTail(t.sent[len(t.sent)-1]) != t.sent[len(t.sent)-1].id
}

// asksForTools reports an answer with a call of a tool that runs.
func (t *turn) asksForTools() bool {
	return slices.ContainsFunc(t.n.asks(), func(p *genai.Part) bool { return !slices.Contains(t.n.obs.OutputTools, p.Name) })
}

// withoutTail is the id of a message without what the framework put behind it.
func withoutTail(m *message) string {
	n := len(m.parts)
	for n > 0 && m.parts[n-1].Injected {
		n--
	}
	if n == 0 || n == len(m.parts) {
		return m.id
	}
	return newMessage(genai.Message{Role: m.tape.Role, Name: m.tape.Name, Parts: m.parts[:n]}).id
}
