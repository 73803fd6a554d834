// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// collector is the ledger of one run: its calls, while rules decide which there were and what belongs to
// each.
type collector struct {
	run                               *fragment
	part                              int // index of the part that is read
	models, tools, agents, retrievals []*call
	noise                             map[string]int64
	states                            []*node // agents and steps that recorded an output
	unfinished                        []*node // agents and steps that recorded an input alone
	transcripts                       map[*call]transcript
	functions                         []*call              // steps of the program, see pairFunctions
	holders                           []*call              // those of them that hold calls, see takeHolders
	recovered                         *messages            // of model calls that no span reports
	returned                          map[*call]*message   // answers of agents whose calls no span reports
	signatures                        map[string]signature // see signature
	leftOut                           map[scopeKey]bool    // see leavesOutEmpty
	posts                             []post               // messages between parts of the program
	parameters                        map[[2]string]bool   // tool and name of each in a request, see takes
	closing                           *message             // the last of the posts, where no model wrote it
	handedOver                        []*call              // hand-offs, see handoffs
}

// collect reads the calls of a run from its spans and settles which reports tell of one call.
func collect(f *fragment) *collector {
	c := &collector{run: f, noise: map[string]int64{}, recovered: newMessages(), returned: map[*call]*message{}, transcripts: map[*call]transcript{}}
	parts := f.leaves()
	for c.part = range parts {
		c.readPart(parts[c.part])
	}
	for _, list := range c.lists() {
		for _, x := range *list {
			part := parts[x.part]
			x.start, x.end, x.shift = x.start+part.behind, x.end+part.behind, part.behind
			if part.root == nil {
				x.within = part.ranBy
			}
		}
	}
	return c
}

// lists are all lists of calls.
func (c *collector) lists() []*[]*call {
	return []*[]*call{&c.models, &c.tools, &c.agents, &c.retrievals, &c.functions, &c.holders}
}

// readPart reads the spans of one part of a run. The span of the run, and any wrapper above it, is no call.
func (c *collector) readPart(part *fragment) {
	for _, head := range part.heads {
		c.collectStates(head)
		if part.root == nil || part.asTool {
			c.node(head, nil, c.toolOf(part.ranBy))
			continue
		}
		walk(head, func(n *node) bool {
			if n == part.root {
				c.agentBody(n, nil, nil)
			}
			return n != part.root
		})
	}
}

// collectStates remembers the agents and steps with an output, and those with an input alone: they failed.
func (c *collector) collectStates(head *node) {
	walk(head, func(n *node) bool {
		switch class := n.obs.Class; {
		case class != genai.Agent && class != genai.Structure && class != genai.Entry && class != genai.Noise:
		case n.obs.OutputData.Present():
			c.states = append(c.states, n)
		case n.obs.InputData.Present():
			c.unfinished = append(c.unfinished, n)
		}
		return true
	})
}

// toolOf is the tool call that a span reports, nil if there is none.
func (c *collector) toolOf(n *node) *call {
	i := slices.IndexFunc(c.tools, func(t *call) bool { return n != nil && slices.Contains(t.nodes, n) })
	if i < 0 {
		return nil
	}
	return c.tools[i]
}

// compareCalls orders calls by start. Of two model calls the one with the shorter request comes first.
func compareCalls(a, b *call) int {
	if c := cmp.Compare(a.start, b.start); c != 0 {
		return c
	}
	if c := cmp.Compare(len(a.request), len(b.request)); c != 0 && a.kind == tape.EventModelCall && b.kind == tape.EventModelCall {
		return c
	}
	if c := cmp.Compare(a.end, b.end); c != 0 || len(a.nodes) == 0 || len(b.nodes) == 0 {
		return c
	}
	return compareNodes(a.nodes[0], b.nodes[0])
}

func (c *collector) sortCalls() {
	for _, list := range c.lists() {
		slices.SortStableFunc(*list, compareCalls)
	}
}

func (c *collector) sortModels() { slices.SortStableFunc(c.models, compareCalls) }

// ignore counts the spans of a call as noise, for a reason.
func (c *collector) ignore(t *call, reason string) { c.noise[reason] += int64(t.nodes[0].spans) }

// node reads one span and what lies below it. The nested agent around it is given, and the model or tool call
// around it within that agent.
func (c *collector) node(n *node, agent, around *call) {
	switch n.obs.Class {
	case genai.Model:
		around = c.modelSpan(n, agent, around)
	case genai.Tool:
		around = c.toolSpan(n, agent, around)
	case genai.Retrieval:
		c.retrievals = append(c.retrievals, c.newCall(tape.EventRetrieval, n, agent))
	case genai.Agent:
		c.nestedAgent(n, agent, around)
		return
	case genai.Noise:
		c.noise[n.obs.NoiseReason] += int64(n.spans + n.logs)
	case genai.Structure:
		c.stepSpan(n, agent, around)
	}
	c.kids(n, agent, around)
}

func (c *collector) kids(n *node, agent, around *call) {
	for _, k := range n.kids {
		c.node(k, agent, around)
	}
}

// modelSpan reads the span of a model call and returns the call around what lies below it.
func (c *collector) modelSpan(n *node, agent, around *call) *call {
	nested := around != nil && around.kind == tape.EventModelCall
	if isWrapper(n) || nested && isPiece(n.obs, around.obs) {
		return around
	}
	if inner := summedUp(n); inner != nil {
		handContent(n, inner)
		return around
	}
	if nested && !loopsOver(around.nodes[0], n) {
		around.nest(n)
		return around
	}
	if nested {
		around.hide(n)
	}
	m := c.newCall(tape.EventModelCall, n, agent)
	c.models = append(c.models, m)
	return m
}

// toolSpan reads the span of a tool call and returns the call around what lies below it.
func (c *collector) toolSpan(n *node, agent, around *call) *call {
	if around != nil && around.kind == tape.EventToolCall && sameTool(around.obs, n.obs) {
		around.join(n)
		return around
	}
	t := c.newCall(tape.EventToolCall, n, agent)
	c.tools = append(c.tools, t)
	return t
}

// stepSpan reads the span of a step: a summary of model calls, messages between agents, a function of the
// program.
func (c *collector) stepSpan(n *node, agent, around *call) {
	if n.obs.Summary && len(n.obs.Request) > 0 {
		c.summary(n, agent)
	}
	for i := range n.obs.Posted {
		c.posts = append(c.posts, post{n, agent, &n.obs.Posted[i]})
	}
	c.function(n, agent, around)
}

// summary gives the first model call below a step the request that the step recorded, if the call has none.
// Without a model call below it, the step is one.
func (c *collector) summary(n *node, agent *call) {
	first := firstModel(n)
	switch {
	case first == nil:
		c.models = append(c.models, c.newCall(tape.EventModelCall, n, agent))
	case len(first.obs.Request) == 0:
		o := *first.obs
		o.Request, o.RequestLabel = n.obs.Request, tape.Recovered
		decode.FillList(&o.System, n.obs.System)
		decode.FillList(&o.Tools, n.obs.Tools)
		first.obs = &o
	}
}

// firstModel is the earliest model call below n.
func firstModel(n *node) *node {
	var first *node
	walk(n, func(m *node) bool {
		if m.obs.Class == genai.Model && (first == nil || compareNodes(m, first) < 0) {
			first = m
		}
		return true
	})
	return first
}

// function remembers the step of a program that may be a tool. A step that holds calls may be an agent that
// is a tool. A step within a tool or a model call is a part of it, unless the span of that model call is one
// of a loop that runs tools.
func (c *collector) function(n *node, agent, around *call) {
	switch {
	case n.obs.Called == nil:
	case holdsCall(n):
		if around == nil && n.up != nil {
			c.holders = append(c.holders, c.newCall(tape.EventToolCall, n, agent))
		}
	case around == nil, n.obs.Called.Tool && around.kind == tape.EventModelCall:
		c.functions = append(c.functions, c.newCall(tape.EventToolCall, n, agent))
	case around.kind == tape.EventToolCall:
		around.tellsTool(n)
	}
}
