// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// sequence holds the turns of a tape in the order in which its agents took them. It tells which turn goes on
// after the calls of another one where no request is recorded. A turn that goes on after no calls begins a
// thread: the main conversation, that of another agent, or a side turn such as a title.
const (
	// maxOpen bounds how many threads of one agent wait for results at the same time.
	maxOpen = 64
	// maxLookBack bounds how many served turns are searched for the answer that a live request shows.
	maxLookBack = 256
)

// agentKey is what tells the agents of a tape apart.
type agentKey struct {
	parent int
	caller string
}

func keyOfAgent(e *tape.Event) agentKey { return agentKey{e.Parent, e.Caller} }

// follow adds the turns of a tape, which begin at first, and what they have to do with each other.
func (s *Stub) follow(t *tape.Tape, first int) {
	turns := s.turns[first:]
	calls := callsOf(t, turns)
	last := map[agentKey]int{}
	for i, n := range turns {
		last[keyOfAgent(n.event)] = i
	}
	for i, n := range turns {
		n.answerWith(calls[n.event.Seq], last[keyOfAgent(n.event)] == i && t.Run.Status == tape.StatusOK)
		n.name(len(s.tapes) > 1)
		for _, p := range n.message.Parts {
			if p.Type != tape.PartToolCall {
				continue
			}
			if at, twice := s.byCall[p.ID]; twice && at != first+i {
				s.byCall[p.ID] = ambiguous
			} else {
				s.byCall[p.ID] = first + i
			}
		}
	}
	s.thread(first, calls)
	s.sides(first)
}

// ambiguous stands for an id that several turns gave to a call, none for no turn.
const (
	none      = -1
	ambiguous = -2
)

// callsOf are the tool calls that each turn asked for, by its sequence number: those that say it, and of the
// others those that came between this turn of their agent and the next one that can have asked for them.
func callsOf(t *tape.Tape, turns []*turn) map[int][]*tape.Event {
	calls := map[int][]*tape.Event{}
	asked := map[agentKey]*turn{} // the newest turn that can have asked for calls
	next := 0
	for i := range t.Events {
		e := &t.Events[i]
		if e.Type == tape.EventModelCall {
			for next < len(turns) && turns[next].event.Seq <= e.Seq {
				if n := turns[next]; n.mayAsk() {
					asked[keyOfAgent(n.event)] = n
				}
				next++
			}
			continue
		}
		if e.Type != tape.EventToolCall || e.ToolKind == tape.ToolServer {
			continue
		}
		if e.RequestedBy != 0 {
			calls[e.RequestedBy] = append(calls[e.RequestedBy], e)
		} else if n := asked[keyOfAgent(e)]; n != nil && n.lacksCalls() && !e.StartedAt.Before(n.event.StartedAt) {
			calls[n.event.Seq] = append(calls[n.event.Seq], e)
		}
	}
	return calls
}

// mayAsk reports that a turn can have asked for tools: it did not fail, was offered some as far as is known,
// and did not stop for another reason.
func (n *turn) mayAsk() bool {
	e := n.event
	if e.Status == tape.EventError {
		return false
	}
	if r := e.Request; r != nil && len(r.Messages) > 0 && len(r.Tools) == 0 && !cut(e.Provenance, "request.tools", false) && n.toolsKnown {
		return false
	}
	return e.Response == nil || len(e.Response.FinishReasons) == 0 || n.stoppedForTools() || n.showsCalls()
}

func (n *turn) stoppedForTools() bool {
	e := n.event
	return e.Response != nil && slices.ContainsFunc(e.Response.FinishReasons, func(reason string) bool {
		// Some providers end with stop also where they ask for a tool.
		return tape.AsksForTools(reason) || strings.EqualFold(reason, "stop") || strings.EqualFold(reason, "completed")
	})
}

// lacksCalls reports that the recorded answer does not show the calls that it asked for.
func (n *turn) lacksCalls() bool {
	return !n.hasMessage || cut(n.event.Provenance, "response", false) && !n.showsCalls()
}

func (n *turn) showsCalls() bool {
	return slices.ContainsFunc(n.message.Parts, func(p tape.Part) bool { return p.Type == tape.PartToolCall })
}

// answerWith says what a turn answers: what is recorded, or the calls that followed it. final says that it is
// the last turn of its agent in a run that ended well.
func (n *turn) answerWith(calls []*tape.Event, final bool) {
	n.calls = calls
	e := n.event
	failed := e.Status == tape.EventError
	switch damaged := cut(e.Provenance, "response", false); {
	case !n.hasMessage && failed, n.hasMessage && !damaged:
		return
	case n.hasMessage && !n.lacksCalls():
		n.reason = "truncated"
		return
	}
	if len(calls) == 0 {
		switch asks := e.Response != nil && slices.ContainsFunc(e.Response.FinishReasons, tape.AsksForTools); {
		case n.hasMessage:
			n.reason = "truncated"
		case !asks && n.unheard() && (final || e.Response != nil && len(e.Response.FinishReasons) > 0):
			n.standsIn = true
			n.message = tape.Message{Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartText, Text: standIn}}}
		default:
			n.reason = "missing"
		}
		return
	}
	n.rebuilt = true
	n.message.Role, n.message.Parts = tape.RoleAssistant, slices.Clone(n.message.Parts)
	for _, c := range calls {
		if c.Args.IsAbsent() || cut(c.Provenance, "args", false) {
			n.reason, n.rebuilt = "missing", false // a part of the calls is another answer
			return
		}
		n.message.Parts = append(n.message.Parts, tape.Part{Type: tape.PartToolCall, ID: c.ToolCallID, Name: c.Name, Args: c.Args})
	}
}

// standIn is the text of an answer that asked for nothing, of which a tape without texts holds that it was
// given.
const standIn = "(This answer is not on the tape.)"

// unheard reports that the tape holds neither what a turn was asked nor what it answered.
func (n *turn) unheard() bool {
	return n.sent.unknown && len(n.sent.entries) == 0 && !n.hasMessage && n.event.Status != tape.EventError
}

// name gives an id to each call of the answer that has none, the same each time.
func (n *turn) name(several bool) {
	n.message.Parts = slices.Clone(n.message.Parts)
	run, calls := "", 0
	if several {
		run = itoa(n.tape+1) + "_"
	}
	for i := range n.message.Parts {
		if p := &n.message.Parts[i]; p.Type == tape.PartToolCall {
			calls++
			if p.ID == "" {
				p.ID = "call_" + run + itoa(n.event.Seq) + "_" + itoa(calls)
			}
		}
	}
}

// thread finds for each turn the one after whose calls it goes on: by the ids of the calls that its request
// shows, else by time. A turn that lies within a call is one of an agent behind that call.
func (s *Stub) thread(first int, calls map[int][]*tape.Event) {
	open := map[agentKey][]int{} // turns whose calls nobody went on after, in order
	for i, n := range s.turns[first:] {
		key, at := keyOfAgent(n.event), first+i
		n.after = s.answered(&n.sent, at)
		waiting := open[key]
		if n.after == none && n.sent.unknown {
			for j := len(waiting) - 1; j >= max(0, len(waiting)-maxOpen); j-- {
				p := s.turns[waiting[j]]
				if sameModel(p.event, n.event) && !within(n.event, calls[p.event.Seq]) {
					n.after = waiting[j]
					break
				}
			}
		}
		if n.after != none {
			n.depth = s.turns[n.after].depth
			if s.turns[n.after].event.Status != tape.EventError {
				n.depth++
			}
		}
		if n.event.Status == tape.EventError {
			continue // the next attempt goes on where this one did
		}
		if j := slices.Index(waiting, n.after); j >= 0 {
			waiting = slices.Delete(waiting, j, j+1)
		}
		if len(calls[n.event.Seq]) > 0 || n.showsCalls() {
			waiting = append(waiting, at)
			if len(waiting) > maxOpen {
				waiting = slices.Delete(waiting, 0, 1)
			}
		}
		open[key] = waiting
	}
}

// answered is the turn before a request, by the ids of the calls that its last answer shows; none where they
// do not tell.
func (s *Stub) answered(c *conversation, before int) int {
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i].role != tape.RoleAssistant {
			continue
		}
		for _, call := range c.entries[i].calls {
			if at, known := s.byCall[call.id]; known && call.id != "" && at >= 0 && at < before {
				return at
			}
		}
		return none
	}
	return none
}

// within reports that a turn began and ended while one of the calls was under way.
func within(e *tape.Event, calls []*tape.Event) bool {
	end := ends(e)
	return slices.ContainsFunc(calls, func(c *tape.Event) bool {
		return c.DurationMS > 0 && !e.StartedAt.Before(c.StartedAt) && !end.After(ends(c))
	})
}

func ends(e *tape.Event) time.Time {
	return e.StartedAt.Add(time.Duration(e.DurationMS) * time.Millisecond)
}

// sameModel reports that two calls asked one model, as far as is known.
func sameModel(a, b *tape.Event) bool {
	return a.Model == "" || b.Model == "" || asksModel(a, b.Model) || asksModel(b, a.Model) || a.Response != nil && a.Response.Model != "" && asksModel(b, a.Response.Model)
}

// asksModel reports that a call asked a model, by the name under which it was asked or answered.
func asksModel(e *tape.Event, name string) bool {
	return e.Model == name || e.Response != nil && e.Response.Model == name
}

// sides marks turns that stand alone beside the conversation of their agent: they begin and end a thread, and
// ask for no tool, where another thread of the same agent asks for tools.
func (s *Stub) sides(first int) {
	asks := map[agentKey]bool{}
	goesOn := map[int]bool{}
	for _, n := range s.turns[first:] {
		asks[keyOfAgent(n.event)] = asks[keyOfAgent(n.event)] || n.showsCalls()
		goesOn[n.after] = true
	}
	for i, n := range s.turns[first:] {
		n.side = n.after == none && !goesOn[first+i] && !n.showsCalls() && asks[keyOfAgent(n.event)]
	}
}

// place is where a live request stands in the sequence of an agent.
type place struct {
	after int  // the turn whose answer it shows last; none
	begin bool // it shows no answer
}

// placeOf finds the turn that gave the last answer that a live request shows: by the ids of its calls, else
// by what it says.
func (s *Session) placeOf(live *conversation) place {
	for i := len(live.entries) - 1; i >= 0; i-- {
		e := live.entries[i]
		if e.role != tape.RoleAssistant {
			continue
		}
		if at := s.stub.answered(live, len(s.stub.turns)); at != none {
			return place{after: at}
		}
		for j := len(s.served) - 1; j >= max(0, len(s.served)-maxLookBack); j-- {
			if saidBy(e, &s.stub.turns[s.served[j]].message) {
				return place{after: s.served[j]}
			}
		}
		return place{after: none}
	}
	return place{after: none, begin: true}
}

// plainly tells what an agent sends back from what it was answered.
var plainly oracle.Normal

// saidBy reports that an entry of a live request is an answer that was served: the same calls, or without
// calls the same text.
func saidBy(e *entry, m *tape.Message) bool {
	text, calls := "", 0
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case tape.PartText:
			text = joined(text, p.Text)
		case tape.PartToolCall:
			if calls >= len(e.calls) || e.calls[calls].name != p.Name || !plainly.Agree(oracle.Compared{Recorded: p.Args, Live: e.calls[calls].args, Lines: true}).Agrees {
				return false
			}
			calls++
		}
	}
	return calls == len(e.calls) && (calls > 0 || strings.TrimSpace(text) == strings.TrimSpace(e.text))
}

// stands reports that a turn is one that comes next at a place.
func (s *Session) stands(i int, at place, live *conversation) bool {
	n := s.stub.turns[i]
	switch {
	case at.begin:
		return n.after == none
	case at.after >= 0 && n.after == at.after:
		return true
	case at.after >= 0 && n.after != none:
		return false
	case at.after >= 0: // the user went on after an answer
		p := s.stub.turns[at.after]
		return !p.showsCalls() && !n.side && i > at.after && p.tape == n.tape && keyOfAgent(p.event) == keyOfAgent(n.event) && sameModel(p.event, n.event)
	case n.after != none: // nothing that it shows was served here: the number of answers, behind what was served
		return n.depth == live.answers() && s.used[n.after]
	}
	return s.next(i) == i && live.answers() == s.answersBefore(i)
}

// against says what speaks against a turn of which no request is recorded: a model that other turns asked,
// tools that are offered to one and not to the other, a side turn in place of a main one or the reverse,
// other instructions; nil where nothing does.
func (s *Session) against(r *Request, i int, live *conversation) *Difference {
	n := s.stub.turns[i]
	// Programs ask now one model for a title, now another one; without tools it is none of the main
	// conversation.
	titled := n.side && len(r.Tools) == 0
	if r.Model != "" && n.event.Model != "" && !asksModel(n.event, r.Model) && s.stub.models[r.Model] && !titled {
		return &Difference{Place: "model", Recorded: n.event.Model, Live: r.Model}
	}
	offered := &Difference{Place: "tools", Recorded: strings.Join(n.tools, ", "), Live: strings.Join(r.Tools, ", ")}
	if len(r.Tools) == 0 && (len(n.tools) > 0 || n.showsCalls() && !s.untold(n)) {
		return offered
	}
	if len(r.Tools) > 0 && (n.side && !s.alone(r.Model, n) || n.toolsKnown && n.event.Request != nil && len(n.event.Request.Messages) > 0 && len(n.tools) == 0) {
		return offered
	}
	if n.sent.system != "" {
		x := comparison{stub: s.stub, labels: map[Label]bool{}}
		x.system(&n.sent, live)
		return x.diff
	}
	return nil
}

// untold reports that nothing tells which requests of a program offer tools: its tape holds no tools and no
// side turn, and no request of the session had one.
func (s *Session) untold(n *turn) bool {
	return !n.toolsKnown && !s.offered && !slices.ContainsFunc(s.stub.turns, func(other *turn) bool { return other.side && other.tape == n.tape })
}

// alone reports that the model of a side turn is one that no other turn of its agent asked: the model tells
// then that it is not the main one.
func (s *Session) alone(model string, side *turn) bool {
	return model != "" && asksModel(side.event, model) && !slices.ContainsFunc(s.stub.turns, func(n *turn) bool {
		return !n.side && n.tape == side.tape && keyOfAgent(n.event) == keyOfAgent(side.event) && (n.event.Model == "" || asksModel(n.event, model))
	})
}

// expected is the turn that a request which was not served stands for: the one that comes next at its place,
// and how it differs; none where nothing tells.
func (s *Session) expected(r *Request, live *conversation, found []agreement) (best int, differs *Difference) {
	at, best := s.placeOf(live), none
	for i, n := range s.stub.turns {
		if at.begin != (n.after == none) || !at.begin && n.after != at.after {
			continue
		}
		d := found[i].differs
		if d == nil && n.sent.unknown {
			d = s.against(r, i, live)
		}
		if d == nil || at.begin && (len(r.Tools) == 0) == (len(n.tools) > 0 || n.showsCalls()) {
			continue
		}
		better := best == none || found[i].depth > found[best].depth
		if best != none && s.used[i] != s.used[best] {
			better = s.used[best]
		}
		if better {
			best, differs = i, d
		}
	}
	return best, differs
}
