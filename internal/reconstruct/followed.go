// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// A program may append to the very list of messages that it handed to the client, and an instrumentation may write that list down only when the call, or the whole
// batch of spans, is done: such a request holds the answer to itself, and what came after it.

// splitAtAnswer divides a recorded request before the answer to it, which no request can hold: a call with the id of one that the response asks for. What follows was said later.
func splitAtAnswer(request []*message, response []genai.Message) (sent, followed []*message) {
	if len(response) == 0 || len(request) < 2 {
		return request, nil
	}
	ids := map[string]bool{}
	for _, p := range callsOf(response[0].Parts) {
		if tellsOneCall(p) {
			ids[p.ID] = true
		}
	}
	if len(ids) == 0 {
		return request, nil
	}
	at := slices.IndexFunc(request, func(m *message) bool {
		return m.tape.Role == tape.RoleAssistant && slices.ContainsFunc(m.parts, func(p genai.Part) bool { return p.Type == tape.PartToolCall && ids[p.ID] })
	})
	if at < 1 {
		return request, nil
	}
	said := textOf(newMessage(response[0]))
	for at > 1 && request[at-1].tape.Role == tape.RoleAssistant && !hasToolCall(request[at-1]) && said != "" && strings.Contains(said, textOf(request[at-1])) {
		at-- // its text stands before its calls
	}
	return request[:at:at], request[at:]
}

// dropEarlierAnswers takes out of answers the answers before them: some packages write down as what a model said all that it said since the user did (Strands under OpenInference's processor 0.1.2).
// A call with the drawn id of one that an earlier answer asked for is none that is asked for again, where the answer goes on behind it, or holds those of several answers. An answer that is
// all of one earlier answer may come from a cache, if the call did not fail.
func (c *collector) dropEarlierAnswers() {
	models := slices.Clone(c.models)
	slices.SortStableFunc(models, compareCalls)
	first := map[string]*call{} // which model call asked for the call of an id
	for _, m := range models {
		if m.response == nil || len(m.obs.Response) == 0 {
			continue
		}
		parts, from, earlier := m.response.parts, 0, map[*call]bool{}
		for i := range parts {
			if p := &parts[i]; p.Type != tape.PartToolCall || !tellsOneCall(p) {
				continue
			}
			switch before := first[parts[i].ID]; {
			case before == nil:
				first[parts[i].ID] = m
			case before != m && before.end <= m.start+clockSlack:
				from, earlier[before] = i+1, true
			}
		}
		if from == 0 || from == len(parts) && len(earlier) == 1 && !m.obs.StatusError {
			continue
		}
		o := *m.obs
		o.Response, m.response = nil, nil
		if from < len(parts) {
			said := m.obs.Response[0]
			said.Parts = slices.Clone(parts[from:])
			o.Response, m.response = []genai.Message{said}, newMessage(said)
		}
		m.obs = &o
	}
}

// readFollowed makes model calls that no span reports from what stands behind the answer in the request of the last call that one does.
func (c *collector) readFollowed() {
	var last *call
	end := uint64(0)
	for _, list := range [][]*call{c.models, c.tools} {
		for _, k := range list {
			end = max(end, k.end)
		}
	}
	for _, m := range c.models {
		if m.agent == nil && len(m.nodes) > 0 && (last == nil || m.start >= last.start) {
			last = m
		}
	}
	if last == nil {
		return
	}
	followed := last.followed()
	answered, ran := 0, c.placeByTools(last)
	for i, m := range followed {
		if m.tape.Role == tape.RoleAssistant && (i == 0 || followed[i-1].tape.Role != tape.RoleAssistant) {
			answered++
		}
		if answered < 2 || m.tape.Role != tape.RoleAssistant || followed[i-1].tape.Role == tape.RoleAssistant {
			continue
		}
		said := turnAt(followed[i:])
		if said == nil {
			return
		}
		o, at := *last.obs, end
		if hasToolCall(said) {
			at = ran(said)
		}
		c.models = append(c.models, &call{
			kind:    tape.EventModelCall,
			obs:     &genai.Observation{Class: genai.Model, Operation: o.Operation, Model: o.Model, Provider: o.Provider, RequestLabel: tape.Recovered, ResponseLabel: tape.Recovered},
			start:   at,
			end:     at,
			request: append(slices.Clip(slices.Clone(last.request)), followed[:i]...),
			notes:   []genai.Note{{Code: tape.CodeModelCallHidden, Detail: "no span reports this call; the request of an earlier one was recorded after it and holds its answer"}},

			response: said,
		})
	}
}

// askedIDs are the ids of the calls that answers on record ask for.
func (c *collector) askedIDs() map[string]bool {
	ids := map[string]bool{}
	for _, m := range c.models {
		if m.response != nil {
			for _, p := range callsOf(m.response.parts) {
				ids[p.ID] = true
			}
		}
	}
	return ids
}

// recoverBetween makes model calls that no span reports from what stands between an answer and the request that goes on from it: messages that ask for tools, whose ids no answer on record
// has, with the results behind them. Only a model that was asked in between can have said that.
func (c *collector) recoverBetween() {
	known := c.askedIDs()
	for i, m := range slices.Clone(c.models) {
		before := c.predecessor(i)
		if before == nil || before.agent != m.agent || before.response == nil || len(m.nodes) == 0 || m.obs.RequestLabel != "" {
			continue
		}
		at := len(before.request) + 1
		if at >= len(m.request) || commonPrefix(before.conversation(), m.request) < at {
			continue
		}
		ran := c.placeByTools(before)
		for _, a := range answersIn(m.request[at:]) {
			k, said, calls := a.at, a.said, callsOf(a.said.parts)
			unreported := len(calls) > 0 && !slices.ContainsFunc(calls, func(p *genai.Part) bool {
				return !tellsOneCall(p) || known[p.ID] || resultsOf(p.ID, m.request[at+a.end:]) == 0
			})
			if !unreported {
				continue
			}
			for _, p := range calls {
				known[p.ID] = true
			}
			when := min(ran(said), m.start)
			c.models = append(c.models, m.another(when, slices.Clip(m.request[:at+k]), said, "no span reports this call; a later request holds its answer"))
		}
	}
	c.recoverBefore(known)
	slices.SortStableFunc(c.models, compareCalls)
}

// spoken is an answer in a conversation, and its place there.
type spoken struct {
	at, end int
	said    *message
}

// answersIn lists the answers in messages. What the assistant says in several with nothing between them is
// one: a model does not go on before it has the results.
func answersIn(messages []*message) (answers []spoken) {
	for i := 0; i < len(messages); i++ {
		if messages[i].tape.Role != tape.RoleAssistant {
			continue
		}
		a := spoken{i, i + 1, messages[i]}
		for a.end < len(messages) && messages[a.end].tape.Role == tape.RoleAssistant {
			a.end++
		}
		if a.end > i+1 {
			whole := genai.Message{Role: tape.RoleAssistant, Name: messages[i].tape.Name}
			for _, m := range messages[i:a.end] {
				whole.Parts = append(whole.Parts, m.parts...)
			}
			a.said = newMessage(whole)
		}
		answers = append(answers, a)
		i = a.end
	}
	return answers
}

// recoverBefore makes model calls that no span reports from what the request of the first one that a span does holds of its turn: messages that ask for tools whose calls, by their ids, spans of
// the run tell of. A tool that ran in this run was asked for in it; what is history has no span. Nor is history what stands with its results behind the text that the run was asked, as its own span
// says: it came about since.
func (c *collector) recoverBefore(known map[string]bool) {
	i := slices.IndexFunc(c.models, func(m *call) bool { return m.agent == nil && len(m.nodes) > 0 })
	if i < 0 || c.predecessor(i) != nil || c.models[i].obs.RequestLabel != "" {
		return
	}
	first := c.models[i]
	if !slices.ContainsFunc(c.models, func(m *call) bool { return !m.obs.Failed && !m.obs.StatusError }) { // of calls that failed less is recorded: their instructions may be missing
		return
	}
	ran := map[string]bool{}
	for _, t := range c.tools {
		ran[t.obs.CallID] = t.agent == first.agent && t.end <= first.start+rounding
	}
	turn := sinceUser(first.request)
	question := questionOf(c.run.root)
	since := len(turn) > 0 && question != "" && textOf(turn[0]) == question
	place := c.placeSince(first.agent, 0, first.start)
	for _, a := range answersIn(turn) {
		k, said, calls := a.at, a.said, callsOf(a.said.parts)
		if len(calls) == 0 || slices.ContainsFunc(calls, func(p *genai.Part) bool {
			return !tellsOneCall(p) || known[p.ID] || !ran[p.ID] && !(since && resultsOf(p.ID, turn[a.end:]) > 0)
		}) {
			continue
		}
		for _, p := range calls {
			known[p.ID] = true
		}
		request := first.request[:len(first.request)-len(turn)+k]
		c.models = append(c.models, first.another(min(place(said), first.start), slices.Clip(request), said, "no span reports this call; a later request holds its answer"))
	}
}

// questionOf is what the span of a run says that a user asked, and nothing of what was said since.
func questionOf(root *node) string {
	if root == nil || slices.ContainsFunc(root.obs.Input, func(m genai.Message) bool { return m.Role != tape.RoleUser && m.Role != tape.RoleSystem }) {
		return ""
	}
	return lastUserText(root.obs.Input)
}

// recoverBehind makes model calls that no span reports from what stands behind the answer of the last call that one does, in the state that a step or an agent around all calls ended with. The
// answer is found by the id of a call in it, and what is put back asks for calls whose ids no answer on record has, or is what the state ends with when all of these had results.
func (c *collector) recoverBehind() {
	var last *call
	for _, m := range c.models {
		if m.agent == nil && len(m.nodes) > 0 && (last == nil || m.start >= last.start) {
			last = m
		}
	}
	if last == nil || last.response == nil || !hasToolCall(last.response) {
		return
	}
	state, at := c.stateBehind(last)
	if state == nil {
		return
	}
	behind, ran := make([]*message, 0, len(state)-at), c.placeByTools(last)
	for _, read := range state[at:] {
		behind = append(behind, c.recovered.message(read))
	}
	known := c.askedIDs()
	open, found := 0, false // calls that were put back and have no result yet
	for i, said := range behind {
		if said.tape.Role != tape.RoleAssistant {
			for _, p := range said.parts {
				if p.Type == tape.PartToolResult && p.ID != "" {
					open--
				}
			}
			continue
		}
		calls := callsOf(said.parts)
		switch {
		case i == 0 || behind[i-1].tape.Role != tape.RoleTool:
			return // nothing was answered: who said it is not known
		case len(calls) > 0 && slices.ContainsFunc(calls, func(p *genai.Part) bool { return !tellsOneCall(p) || known[p.ID] }):
			return
		case len(calls) == 0 && (i < len(behind)-1 || found && open > 0):
			return
		}
		for _, p := range calls {
			known[p.ID] = true
		}
		open, found = open+len(calls), true
		when := max(ran(said), last.end)
		request := append(append(slices.Clip(slices.Clone(last.request)), last.response), behind[:i]...)
		c.models = append(c.models, last.another(when, request, said, "no span reports this call; the state of a step around it holds its answer"))
	}
	slices.SortStableFunc(c.models, compareCalls)
}

// stateBehind is the conversation that the outermost step or agent around a model call ended with, and the place in it behind the answer of that call.
func (c *collector) stateBehind(last *call) (state []genai.Message, at int) {
	ids := map[string]bool{}
	for _, p := range callsOf(last.response.parts) {
		if tellsOneCall(p) {
			ids[p.ID] = true
		}
	}
	var outermost *node
	for _, n := range c.states[:min(len(c.states), maxTranscripts)] {
		if n.start > last.start || n.end < last.end || n.obs.OutputData.Label != "" || outermost != nil && (outermost.end-outermost.start > n.end-n.start || compareNodes(outermost, n) < 0) {
			continue
		}
		messages := conversationIn(n.obs.OutputData)
		i := slices.IndexFunc(messages, func(m genai.Message) bool {
			return m.Role == tape.RoleAssistant && slices.ContainsFunc(m.Parts, func(p genai.Part) bool { return p.Type == tape.PartToolCall && ids[p.ID] })
		})
		if i >= 0 && i < len(messages)-1 {
			outermost, state, at = n, messages, i+1
		}
	}
	return state, at
}

// placeByTools returns a function that says when answers after that of a model call, given one after the other, were there: when the first of the tools that they ask for began to run,
// by name and arguments, else when those before had ended.
func (c *collector) placeByTools(last *call) func(said *message) uint64 {
	place := c.placeSince(last.agent, last.start, last.end)
	if len(last.obs.Response) > 0 {
		place(newMessage(last.obs.Response[0]))
	}
	return place
}

// placeSince does so for answers given to an agent since a time, of which the first was there at another.
func (c *collector) placeSince(agent *call, since, at uint64) func(said *message) uint64 {
	open := slices.Clone(c.tools) // in order of time
	return func(said *message) uint64 {
		began, ended := uint64(0), at
		for _, p := range callsOf(said.parts) {
			i := slices.IndexFunc(open, func(t *call) bool {
				return t.agent == agent && t.start >= since && nameOf(t) == p.Name && (t.obs.CallID == p.ID || t.obs.CallID == "" || p.ID == "") && equalArgs(t.obs.Args.Value, p.Args, sameValue)
			})
			if i < 0 {
				continue
			}
			if t := open[i]; began == 0 || t.start < began {
				began = t.start
			}
			ended = max(ended, open[i].end)
			open = slices.Delete(open, i, i+1)
		}
		if began == 0 {
			began = at
		}
		at = ended
		return began
	}
}

// followed is what stands behind the answer in the request of a model call.
func (t *call) followed() []*message {
	for _, n := range t.nodes {
		if n.request(); len(n.followed) > 0 {
			return n.followed
		}
	}
	return nil
}

// resultsBehind takes the results that stand behind the answer in the request of the call itself.
func (c *collector) resultsBehind() {
	for _, m := range c.models {
		for _, msg := range m.followed() {
			for k := range msg.parts {
				for _, a := range m.asked {
					if p := &msg.parts[k]; p.Type == tape.PartToolResult && p.ID != "" && p.ID == a.part.ID && a.shown == nil {
						a.show(p, nil)
					}
				}
			}
		}
	}
}

// answerLoops takes the text behind the last call of an answer for that of a model call which no span reports, where all calls of the answer ran below the span of the model call itself: it stands
// for a loop of model calls, and holds what all of them said (Google's client, which calls functions by itself).
func (c *collector) answerLoops() {
	for _, m := range slices.Clone(c.models) {
		if m.response == nil || len(m.nodes) == 0 || len(m.asked) == 0 || slices.ContainsFunc(m.asked, func(a *asked) bool { return a.tool == nil || !hangsBelow(m, a.tool) }) {
			continue
		}
		parts := m.response.parts
		last := len(parts) - 1
		for last >= 0 && parts[last].Type == tape.PartText {
			last--
		}
		if last < 0 || last == len(parts)-1 || parts[last].Type != tape.PartToolCall {
			continue
		}
		name := m.response.tape.Name
		m.response = newMessage(genai.Message{Role: tape.RoleAssistant, Name: name, Parts: parts[: last+1 : last+1]})
		said := newMessage(genai.Message{Role: tape.RoleAssistant, Name: name, Parts: parts[last+1:]})
		c.models = append(c.models, m.another(m.end, append(slices.Clone(m.request), m.response), said, "no span reports this call; that of the loop around it holds its answer"))
	}
	slices.SortStableFunc(c.models, compareCalls)
}
