// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// maxHeard bounds how many of the messages before an answer are taken for what the model was sent.
const maxHeard = 512

// RecoverPosted makes a model call of each message that tells what an answer cost, when it was made. A text
// of the same sender right before the calls belongs to that answer.
//
// Needs: a run without a span of a model call, whose agents send each other messages.
// Refuses: a message that came before.
// Seen in: AutoGen.
func RecoverPosted(c *ledger.Ledger, f *fragment.Fragment) {
	if len(c.Models) > 0 || len(c.Posts) == 0 {
		return
	}
	made := map[spantree.SpanKey]uint64{} // when
	for _, top := range f.Tops() {
		fragment.RelaysIn(top, func(n *spantree.Node) { made[spantree.SpanKeyOf(n)] = n.Start })
	}
	slices.SortStableFunc(c.Posts, func(a, b ledger.Post) int { return spantree.CompareNodes(a.N, b.N) })
	seen := map[string]bool{}
	talks := map[*ledger.Call]*talk{} // by the agent
	for i := range c.Posts {
		p := &c.Posts[i]
		if p.ID != "" && seen[p.ID] {
			continue
		}
		seen[p.ID] = true
		if talks[p.Agent] == nil {
			talks[p.Agent] = &talk{}
		}
		if heard, answer := talks[p.Agent].take(p); answer != nil {
			c.Models = append(c.Models, modelCall(p, heard, *answer, made))
		}
	}
	if own := talks[nil]; own != nil && own.thought != nil {
		c.Closing = chat.NewMessage(own.thought.Message)
	}
}

// talk is what an agent heard and said so far.
type talk struct {
	said    []genai.Message
	thought *ledger.Post // the text behind that, of which nothing says that a model wrote it
}

// take adds a message. It returns an answer of a model, and what that was given.
func (t *talk) take(p *ledger.Post) (heard []genai.Message, answer *genai.Message) {
	heard = t.said
	m, thought := p.Message, t.thought
	t.thought = nil
	switch {
	case thought == nil:
	case p.Answered && p.Source == thought.Source && len(chat.CallsOf(m.Parts)) > 0:
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
func modelCall(p *ledger.Post, heard []genai.Message, answer genai.Message, made map[spantree.SpanKey]uint64) *ledger.Call {
	when, label := p.N.Start, tape.Recovered
	for key := range spantree.Linked(p.N) {
		if t := made[key]; t > 0 {
			when = min(t, when)
			break
		}
	}
	if len(heard) > maxHeard {
		heard, label = heard[len(heard)-maxHeard:], tape.Truncated
	}
	return &ledger.Call{
		Kind: tape.EventModelCall,
		Obs: genai.NewReport(genai.Model, func(o *genai.Draft) {
			o.Operation, o.Request, o.RequestLabel = "chat", slices.Clip(heard), label
			o.Response, o.ResponseLabel, o.Usage = []genai.Message{answer}, tape.Recovered, p.Usage
		}),
		Agent: p.Agent, Start: when, End: when,
		Notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: "no span reports this call; a message between agents holds its answer"}},
	}
}
