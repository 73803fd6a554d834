// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// unheardEnd finds agents that answered after the tools that their last recorded answer asked for, and no record holds that answer.
//
// Needs:    a last answer of which calls were executed; what the agent came to: the output of the run or of its own span, the result of the tool in whose time it was
// asked. Or a run that no span stands for
// Refuses:  what an answer of the agent or a tool below it says, or was handed: the agent ended with the tool. What names the call: the agent waits for it. Calls that
// hand over to another agent. An agent of which nothing tells what it came to: a limit may have ended it, and the tape says that no answer is on record
// Seen in:  spans that a sampler dropped, last steps whose span was never ended
func unheardEnd(of *calls) (missing []missingTurn) {
	t := of.t
	run := &agentEnd{}
	agents, tools := map[int]*agentEnd{}, map[int]*agentEnd{} // by seq
	for i, around := range of.around() {
		e := &t.Events[i]
		if e.Type == tape.EventAgentCall && agents[e.Seq] == nil {
			agents[e.Seq] = &agentEnd{parent: e.Parent}
		}
		for _, tool := range around {
			if tools[tool.Seq] == nil {
				tools[tool.Seq] = &agentEnd{}
			}
			tools[tool.Seq].take(e, true)
		}
		own, above := len(around) == 0, e.Parent
		for depth := 0; agents[above] != nil && depth < maxAround; depth++ { // whoever runs an agent hears what is said below it
			agents[above].take(e, depth == 0)
			own, above = false, agents[above].parent
		}
		run.take(e, own)
	}
	answer := exactjson.Value{}
	if t.Output.Text != nil {
		answer = exactjson.StringValue(*t.Output.Text)
	}
	for i := range t.Events {
		e := &t.Events[i]
		came := e.Output
		if e.Relation == tape.RelationHandoff && came.IsEmpty() && !run.says(of, answer) {
			came = answer
		}
		if agents[e.Seq] != nil && agents[e.Seq].unheard(of, came) {
			missing = append(missing, missingTurn{e.Seq, "output", "no recorded answer is that of the agent, and its last one asks for tools"})
		} else if tools[e.Seq] != nil && tools[e.Seq].unheard(of, e.Result) {
			missing = append(missing, missingTurn{e.Seq, "result", "models were asked while the tool ran; no recorded answer is what it returned, and the last one asks for tools"})
		}
	}
	switch {
	case run.unheard(of, answer), run.inTools() && saidInTool(t, run.last, tools):
		missing = append(missing, missingTurn{0, "output.text", "no recorded answer is that of the run, and the last one asks for tools"})
	case t.Output.Text == nil && run.inTools() && rootless(t) && t.Run.Status == tape.StatusIncomplete:
		missing = append(missing, missingTurn{0, "output.text", "the last recorded answer asks for tools, which ran, and no span of the run tells that it ended so"})
	}
	return missing
}

// saidInTool reports that the answer of the run was said while a tool ran that a model call asked for: no record of the run itself told a later one.
func saidInTool(t *tape.Tape, by *tape.Event, tools map[int]*agentEnd) bool {
	for i := range t.Events {
		e := &t.Events[i]
		if tools[e.Seq] != nil && e.RequestedBy == by.Seq && t.Output.Message != "" &&
			slices.ContainsFunc(tools[e.Seq].own, func(m *tape.Event) bool { return m.Response != nil && m.Response.Message == t.Output.Message }) {
			return true
		}
	}
	return false
}

// agentEnd is what is known of how an agent ended.
type agentEnd struct {
	own, below []*tape.Event // model calls of the agent, and of those that it ran
	tools      []*tape.Event
	last       *tape.Event // its last model call
	ran        bool        // a tool that this asked for was executed
	handed     bool        // it handed over after that
	parent     int         // seq of the agent that ran it
}

// take notes an event of the agent itself, or of one that it ran.
func (a *agentEnd) take(e *tape.Event, own bool) {
	switch e.Type {
	case tape.EventToolCall:
		a.tools = append(a.tools, e)
		if own && a.last != nil && (e.RequestedBy == a.last.Seq || e.RequestedBy == 0) && !unanswered(e) {
			a.ran = true
		}
	case tape.EventModelCall:
		if !own {
			a.below = append(a.below, e)
			return
		}
		a.own = append(a.own, e)
		a.last, a.ran, a.handed = e, false, false
	case tape.EventAgentCall:
		a.handed = a.handed || own && e.Relation == tape.RelationHandoff
	}
}

// answers are the texts of the answers of model calls.
func answers(of *calls, models []*tape.Event) []string {
	h := newHeard(of)
	for _, m := range models {
		h.answer(m)
	}
	return h.told().all
}

// says reports that an answer in the time of the agent says a value.
func (a *agentEnd) says(of *calls, v exactjson.Value) bool {
	text := squeezed(v.Text())
	return slices.ContainsFunc(slices.Concat(answers(of, a.own), answers(of, a.below)), func(said string) bool { return strings.Contains(said, text) })
}

func (a *agentEnd) inTools() bool {
	return a.last != nil && a.ran && !a.handed
}

// unheard reports that what the agent came to was said behind the tools that its last answer asked for.
func (a *agentEnd) unheard(of *calls, came exactjson.Value) bool {
	if !a.inTools() {
		return false
	}
	text := squeezed(came.Text())
	if text == "" {
		return false
	}
	rest, own := text, answers(of, a.own) // some programs give back all that was said
	for _, said := range own[max(0, len(own)-maxAlike):] {
		if strings.Contains(said, text) {
			return false
		}
		rest = strings.Replace(rest, said, "", 1)
	}
	waits := func(c requested) bool {
		return c.ID != "" && strings.Contains(text, c.ID) && strings.Contains(text, squeezed(c.Name))
	}
	says := func(said string) bool { return strings.Contains(said, text) }
	inner := plain(came)
	holds := func(v exactjson.Value) bool {
		return plain(v).Equal(inner) || isRepr(v, came) || slices.ContainsFunc(textsOf(v, 0), says)
	}
	return rest != "" && !slices.ContainsFunc(answers(of, a.below), says) && !slices.ContainsFunc(of.response(a.last), waits) &&
		!slices.ContainsFunc(a.tools, func(e *tape.Event) bool { return holds(e.Args) || holds(e.Result) })
}
