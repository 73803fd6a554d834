// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modeltap

import (
	"crypto/sha256"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// A conversation is one run: the calls of one agent, of which each goes on where an earlier one ended. Others
// that the same program asks, for the title of a session or for an agent below this one, begin conversations
// of their own.

// conversation holds the calls in their order.
type conversation struct{ calls []*placed }

// placed is a call with its place.
type placed struct {
	*call
	of *conversation
	// spoken are digests of the messages but for instructions. last is the place of the last answer among
	// them, -1 without one.
	spoken        [][sha256.Size]byte
	last          int
	system, tools string
}

// maxCandidates bounds how many earlier calls are compared for each rule.
const maxCandidates = 64

// grouping finds the conversation of a call.
type grouping struct {
	conversations []*conversation
	asked         map[string][]*placed            // by id of a tool call, who was answered with it
	answered      map[[sha256.Size]byte][]*placed // by digest of the answer
	failed        map[[sha256.Size]byte][]*placed // by digest of the request, calls that failed
	byID          map[string]*placed              // by id of the answer
}

// group puts calls, in the order in which they began, into conversations.
func group(calls []*call) []*conversation {
	g := grouping{asked: map[string][]*placed{}, answered: map[[sha256.Size]byte][]*placed{}, failed: map[[sha256.Size]byte][]*placed{}, byID: map[string]*placed{}}
	for _, c := range calls {
		g.place(c)
	}
	return g.conversations
}

func (g *grouping) place(c *call) {
	p := &placed{call: c, last: -1, system: c.systemText(), tools: c.toolNames()}
	before := g.byID[c.previous]
	if c.previous == "" {
		before = nil
	}
	if before != nil { // the provider knows what came before
		whole := append(slices.Clone(before.messages), before.answer...)
		c.messages = append(slices.DeleteFunc(whole, func(m decode.Message) bool { return m.Role == tape.RoleSystem }), c.messages...)
	}
	for i := range c.messages {
		m := &c.messages[i]
		if m.Role == tape.RoleSystem {
			continue
		}
		if m.Role == tape.RoleAssistant {
			p.last = len(p.spoken)
		}
		p.spoken = append(p.spoken, said(m))
	}
	if before == nil {
		before = g.before(p)
	}
	if before != nil {
		p.of = before.of
	} else {
		p.of = &conversation{}
		g.conversations = append(g.conversations, p.of)
	}
	p.of.calls = append(p.of.calls, p)
	g.remember(p)
}

func (g *grouping) remember(p *placed) {
	if p.failure != nil {
		key := p.key()
		g.failed[key] = append(g.failed[key], p)
		return
	}
	if p.id != "" {
		g.byID[p.id] = p
	}
	for i := range p.answer {
		m := &p.answer[i]
		if len(m.Parts) == 0 {
			continue
		}
		key := said(m)
		g.answered[key] = append(g.answered[key], p)
		for k := range m.Parts {
			if part := &m.Parts[k]; part.Type == tape.PartToolCall && part.ID != "" {
				g.asked[part.ID] = append(g.asked[part.ID], p)
			}
		}
	}
}

// key sums up all that a call asks.
func (p *placed) key() [sha256.Size]byte { return digest(p.system, p.tools, p.spoken) }

// before is the call that this one goes on from: the one whose tool calls it answers, else the one whose
// answer it shows last, else the one that it tries again. nil begins a conversation.
func (g *grouping) before(p *placed) *placed {
	for _, m := range slices.Backward(p.messages) {
		for _, part := range slices.Backward(m.Parts) {
			if part.Type == tape.PartToolResult && part.ID != "" {
				if found := p.nearest(g.asked[part.ID], func(*placed) bool { return true }); found != nil {
					return found
				}
			}
		}
	}
	if p.last >= 0 {
		if found := p.nearest(g.answered[p.spoken[p.last]], func(q *placed) bool {
			return (q.system == p.system || q.tools == p.tools) && (p.shares(q) > 0 || q.system == p.system && q.system != "")
		}); found != nil {
			return found
		}
	}
	return p.nearest(g.failed[p.key()], func(q *placed) bool { return !q.ended.After(p.began) })
}

// nearest is the call that shares the longest beginning with p, the latest of those.
func (p *placed) nearest(among []*placed, fits func(*placed) bool) (found *placed) {
	best := -1
	for i, q := range slices.Backward(among) {
		if len(among)-i > maxCandidates {
			break
		}
		if !fits(q) {
			continue
		}
		n := 2 * p.shares(q)
		if q.system == p.system {
			n++
		}
		if n > best {
			best, found = n, q
		}
	}
	return found
}

// shares counts the messages at the beginning that both calls have.
func (p *placed) shares(q *placed) (n int) {
	for n < len(p.spoken) && n < len(q.spoken) && p.spoken[n] == q.spoken[n] {
		n++
	}
	return n
}
