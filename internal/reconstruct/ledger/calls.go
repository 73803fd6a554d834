// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// Ledger is the ledger of one run: its calls, while rules decide which there were and what belongs to
// each.
type Ledger struct {
	Run                               *fragment.Fragment
	Rules                             *rule.Run // which rules are applied, and what they change
	part                              int       // index of the part that is read
	Models, Tools, Agents, Retrievals []*Call
	Noise                             map[string]int64
	States                            []*spantree.Node // agents and steps that recorded an output
	Unfinished                        []*spantree.Node // agents and steps that recorded an input alone
	Transcripts                       map[*Call]Transcript
	Functions                         []*Call                 // steps of the program, see PairFunctions
	Holders                           []*Call                 // those of them that hold calls, see takeHolders
	Recovered                         *chat.Messages          // of model calls that no span reports
	Returned                          map[*Call]*chat.Message // answers of agents whose calls no span reports
	Posts                             []Post                  // messages between parts of the program
	Closing                           *chat.Message           // the last of the posts, where no model wrote it
	HandedOver                        []*Call                 // hand-offs, see handoffs
	learnt
}

// learnt is what the calls of the run tell together, read when it is asked for.
type learnt struct {
	signatures map[string]signature       // see signature
	leftOut    map[spantree.ScopeKey]bool // see LeavesOutEmpty
	Parameters map[[2]string]bool         // tool and name of each in a request, see takes
	repeated   int                        // see HasRoom
}

// maxRepeated bounds the messages that the requests of recovered calls hold together. Each repeats those
// before it, so they grow with the square of the turns that one attribute tells.
const maxRepeated = 1 << 18

// HasRoom takes room for a recovered request of n messages, and reports whether the run has it.
func (c *Ledger) HasRoom(n int) bool {
	c.repeated += n
	return c.repeated <= maxRepeated
}

// Collect reads the calls of a run from its spans and settles which reports tell of one call.
func Collect(f *fragment.Fragment) *Ledger {
	c := &Ledger{Run: f, Noise: map[string]int64{}, Recovered: chat.NewMessages(0), Returned: map[*Call]*chat.Message{}, Transcripts: map[*Call]Transcript{}}
	parts := f.Leaves()
	for c.part = range parts {
		c.readPart(parts[c.part])
	}
	for _, list := range c.lists() {
		for _, x := range *list {
			part := parts[x.Part]
			x.Start, x.End, x.Shift = x.Start+part.Behind, x.End+part.Behind, part.Behind
			if part.Root == nil {
				x.Within = part.RanBy
			}
		}
	}
	return c
}

// lists are all lists of calls.
func (c *Ledger) lists() []*[]*Call {
	return []*[]*Call{&c.Models, &c.Tools, &c.Agents, &c.Retrievals, &c.Functions, &c.Holders}
}

// readPart reads the spans of one part of a run. The span of the run, and any wrapper above it, is no call.
func (c *Ledger) readPart(part *fragment.Fragment) {
	for _, head := range part.Heads {
		c.collectStates(head)
		if part.Root == nil || part.AsTool {
			c.node(head, nil, c.toolOf(part.RanBy))
			continue
		}
		spantree.Walk(head, func(n *spantree.Node) bool {
			if n == part.Root {
				c.agentBody(n, nil, nil)
			}
			return n != part.Root
		})
	}
}

// collectStates remembers the agents and steps with an output, and those with an input alone: they failed.
func (c *Ledger) collectStates(head *spantree.Node) {
	spantree.Walk(head, func(n *spantree.Node) bool {
		switch class := n.Obs.Class; {
		case class != genai.Agent && class != genai.Structure && class != genai.Entry && class != genai.Noise:
		case n.Obs.OutputData.Present():
			c.States = append(c.States, n)
		case n.Obs.InputData.Present():
			c.Unfinished = append(c.Unfinished, n)
		}
		return true
	})
}

// toolOf is the tool call that a span reports, nil if there is none.
func (c *Ledger) toolOf(n *spantree.Node) *Call {
	i := slices.IndexFunc(c.Tools, func(t *Call) bool { return n != nil && slices.Contains(t.Nodes, n) })
	if i < 0 {
		return nil
	}
	return c.Tools[i]
}

// CompareCalls orders calls by start. Of two model calls the one with the shorter request comes first.
func CompareCalls(a, b *Call) int {
	if c := cmp.Compare(a.Start, b.Start); c != 0 {
		return c
	}
	if c := cmp.Compare(len(a.Request), len(b.Request)); c != 0 && a.Kind == tape.EventModelCall && b.Kind == tape.EventModelCall {
		return c
	}
	if c := cmp.Compare(a.End, b.End); c != 0 || len(a.Nodes) == 0 || len(b.Nodes) == 0 {
		return c
	}
	return spantree.CompareNodes(a.Nodes[0], b.Nodes[0])
}

func (c *Ledger) SortCalls() {
	for _, list := range c.lists() {
		slices.SortStableFunc(*list, CompareCalls)
	}
}

func (c *Ledger) SortModels() { slices.SortStableFunc(c.Models, CompareCalls) }

// Ignore counts the spans of a call as noise, for a reason.
func (c *Ledger) Ignore(t *Call, reason string) { c.Noise[reason] += int64(t.Nodes[0].Spans) }

// node reads one span and what lies below it. The nested agent around it is given, and the model or tool call
// around it within that agent.
func (c *Ledger) node(n *spantree.Node, agent, around *Call) {
	switch n.Obs.Class {
	case genai.Model:
		around = c.modelSpan(n, agent, around)
	case genai.Tool:
		around = c.toolSpan(n, agent, around)
	case genai.Retrieval:
		c.Retrievals = append(c.Retrievals, c.NewCall(tape.EventRetrieval, n, agent))
	case genai.Agent:
		c.nestedAgent(n, agent, around)
		return
	case genai.Noise:
		c.Noise[n.Obs.NoiseReason] += int64(n.Spans + n.Logs)
	case genai.Structure:
		c.stepSpan(n, agent, around)
	}
	c.kids(n, agent, around)
}

func (c *Ledger) kids(n *spantree.Node, agent, around *Call) {
	for _, k := range n.Kids {
		c.node(k, agent, around)
	}
}

// modelSpan reads the span of a model call and returns the call around what lies below it.
func (c *Ledger) modelSpan(n *spantree.Node, agent, around *Call) *Call {
	nested := around != nil && around.Kind == tape.EventModelCall
	if spantree.IsWrapper(n) || nested && spantree.IsPiece(n.Obs, around.Obs) {
		return around
	}
	if inner := spantree.SummedUp(n); inner != nil {
		handContent(n, inner)
		return around
	}
	if nested && !spantree.LoopsOver(around.Nodes[0], n) {
		around.nest(n)
		return around
	}
	if nested {
		around.Hide(n)
	}
	m := c.NewCall(tape.EventModelCall, n, agent)
	c.Models = append(c.Models, m)
	return m
}

// toolSpan reads the span of a tool call and returns the call around what lies below it.
func (c *Ledger) toolSpan(n *spantree.Node, agent, around *Call) *Call {
	if around != nil && around.Kind == tape.EventToolCall && SameTool(around.Obs, n.Obs) {
		around.Join(n)
		return around
	}
	t := c.NewCall(tape.EventToolCall, n, agent)
	c.Tools = append(c.Tools, t)
	return t
}

// stepSpan reads the span of a step: a summary of model calls, messages between agents, a function of the
// program.
func (c *Ledger) stepSpan(n *spantree.Node, agent, around *Call) {
	if n.Obs.Summary && len(n.Obs.Request) > 0 {
		c.summary(n, agent)
	}
	for i := range n.Obs.Posted {
		c.Posts = append(c.Posts, Post{n, agent, &n.Obs.Posted[i]})
	}
	c.function(n, agent, around)
}

// summary gives the first model call below a step the request that the step recorded, if the call has none.
// Without a model call below it, the step is one.
func (c *Ledger) summary(n *spantree.Node, agent *Call) {
	first := spantree.FirstModel(n)
	switch {
	case first == nil:
		c.Models = append(c.Models, c.NewCall(tape.EventModelCall, n, agent))
	case len(first.Obs.Request) == 0:
		o := first.Obs.Draft()
		o.Request, o.RequestLabel = n.Obs.Request, tape.Recovered
		decode.FillList(&o.System, n.Obs.System)
		decode.FillList(&o.Tools, n.Obs.Tools)
		first.Obs = o.Seal()
	}
}

// function remembers the step of a program that may be a tool. A step that holds calls may be an agent that
// is a tool. A step within a tool or a model call is a part of it, unless the span of that model call is one
// of a loop that runs tools.
func (c *Ledger) function(n *spantree.Node, agent, around *Call) {
	switch {
	case n.Obs.Called == nil:
	case spantree.HoldsCall(n):
		if around == nil && n.Up != nil {
			c.Holders = append(c.Holders, c.NewCall(tape.EventToolCall, n, agent))
		}
	case around == nil, n.Obs.Called.Tool && around.Kind == tape.EventModelCall:
		c.Functions = append(c.Functions, c.NewCall(tape.EventToolCall, n, agent))
	case around.Kind == tape.EventToolCall:
		around.tellsTool(n)
	}
}
