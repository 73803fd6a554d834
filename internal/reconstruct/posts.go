// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// post is a message that one part of the program sent another, the span that holds it and the nested agent around that.
type post struct {
	n     *node
	agent *call
	*genai.Posted
}

// maxHeard bounds how many of the messages before an answer are taken for what the model was sent.
const maxHeard = 512

// answersByPost reports the run of an agent whose messages tell what a model answered.
func (f *fragment) answersByPost() (found bool) {
	for _, h := range f.heads {
		walk(h, func(n *node) bool {
			found = found || slices.ContainsFunc(n.obs.Posted, func(p genai.Posted) bool { return p.Answered })
			return !found
		})
	}
	return found && f.ownRun()
}

// recoverPosted makes a model call of each message that tells what an answer cost, when it was made. A text of the same
// sender right before the calls belongs to that answer.
//
// Needs: a run without a span of a model call, whose agents send each other messages.
// Refuses: a message that came before.
// Seen in: AutoGen.
func (c *collector) recoverPosted(f *fragment) {
	if len(c.models) > 0 || len(c.posts) == 0 {
		return
	}
	made := map[spanKey]uint64{} // when
	for _, top := range f.tops() {
		relaysIn(top, func(n *node) { made[spanKeyOf(n)] = n.start })
	}
	slices.SortStableFunc(c.posts, func(a, b post) int { return compareNodes(a.n, b.n) })
	seen := map[string]bool{}
	talks := map[*call]*talk{} // by the agent
	for i := range c.posts {
		p := &c.posts[i]
		if p.ID != "" && seen[p.ID] {
			continue
		}
		seen[p.ID] = true
		if talks[p.agent] == nil {
			talks[p.agent] = &talk{}
		}
		if heard, answer := talks[p.agent].take(p); answer != nil {
			c.models = append(c.models, p.modelCall(heard, *answer, made))
		}
	}
	if own := talks[nil]; own != nil && own.thought != nil {
		c.closing = newMessage(own.thought.Message)
	}
}

// talk is what an agent heard and said so far.
type talk struct {
	said    []genai.Message
	thought *post // the text behind that, of which nothing says that a model wrote it
}

// take adds a message. It returns an answer of a model, and what that was given.
func (t *talk) take(p *post) (heard []genai.Message, answer *genai.Message) {
	heard = t.said
	m, thought := p.Message, t.thought
	t.thought = nil
	switch {
	case thought == nil:
	case p.Answered && p.Source == thought.Source && len(callsOf(m.Parts)) > 0:
		m.Parts = slices.Concat(thought.Message.Parts, m.Parts)
	default:
		heard = append(heard, thought.Message)
	}
	if !p.Answered && m.Role == tape.RoleAssistant {
		t.thought, t.said = p, heard
		return nil, nil
	}
	t.said = append(heard, m)
	if !p.Answered {
		return nil, nil
	}
	return heard, &m
}

// modelCall is the call that a message answers, at the time when the message was made.
func (p *post) modelCall(heard []genai.Message, answer genai.Message, made map[spanKey]uint64) *call {
	when, label := p.n.start, tape.Recovered
	for key := range linked(p.n) {
		if t := made[key]; t > 0 {
			when = min(t, when)
			break
		}
	}
	if len(heard) > maxHeard {
		heard, label = heard[len(heard)-maxHeard:], tape.Truncated
	}
	return &call{
		kind: tape.EventModelCall,
		obs: &genai.Observation{
			Class: genai.Model, Operation: "chat", Request: slices.Clip(heard), RequestLabel: label,
			Response: []genai.Message{answer}, ResponseLabel: tape.Recovered, Usage: p.Usage,
		},
		agent: p.agent, start: when, end: when,
		notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: "no span reports this call; a message between agents holds its answer"}},
	}
}
